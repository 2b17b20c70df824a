"""Writes random programs: PyTorch runs along, so that most steps are legal; steps that raise are kept now and then, for
the error is part of the behaviour. A template makes the text of one step.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import torch

from tests.oracle.programs import Step, attempt, look_around, started

SHAPES = [(), (3,), (4,), (2, 3), (3, 4), (3, 3), (2, 3, 4), (1, 3), (3, 1), (2, 1, 3), (1,)]
RARE_SHAPES = [(0,), (2, 0), (1, 1), (2, 2, 2, 2)]
HUGE = 1e5


class Writer:
    """Writes one program, with PyTorch running along."""

    def __init__(self, seed: int, rare: bool = True) -> None:
        self.rng = random.Random(seed)
        self.rare = rare
        self.scope = started(torch)
        self.steps: list[Step] = []
        self.count = 0
        self.every = self.rng.random() < 0.7

    def add(self, kind: str, text: str) -> None:
        before = dict(self.scope)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = attempt(self.scope, text)
            if error is not None and (self.rng.random() < 0.6 or "nternal" in error[1] or "INTERNAL" in error[1]):
                self.scope = before
                return
            if error is None and self.wild():
                # The step changed values out of bounds, and perhaps in place: the run so far cannot be taken back.
                self.scope = started(torch)
                for step in self.steps:
                    attempt(self.scope, step.text)
                return
            self.steps.append(Step(kind, text))
            if self.every:
                look_around(torch, self.scope, {})

    def wild(self) -> bool:
        for t in self.tensors().values():
            if t.numel() and t.dtype.is_floating_point and float(t.detach().abs().nan_to_num(0, 0, 0).max()) > HUGE:
                return True
        return False

    # -- what there is to choose from

    def tensors(self) -> dict[str, Any]:
        return {n: v for n, v in self.scope.items() if isinstance(v, torch.Tensor)}

    def pick(self, wanted: Callable[[Any], bool] = lambda t: True) -> str | None:
        names = [n for n, t in self.tensors().items() if holds(wanted, t)]
        if not names:
            return None
        recent = names[-4:]
        return self.rng.choice(recent if self.rng.random() < 0.5 else names)

    def floating(self, wanted: Callable[[Any], bool] = lambda t: True) -> str | None:
        return self.pick(lambda t: t.dtype.is_floating_point and wanted(t))

    def new(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def new_last(self) -> str:
        """The name that `new` gave last."""
        return f"v{self.count - 1}"

    def t(self, name: str) -> Any:
        return self.scope[name]

    def one(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def dim(self, t: Any) -> int:
        if self.chance(0.03) and t.dim():
            return t.dim() + 1
        return self.rng.randint(-t.dim(), t.dim() - 1) if t.dim() else self.one(0, -1)

    def number(self) -> str:
        return self.one("2", "0.5", "-1.5", "3.0", "1", "-1", "0.1", "True" if self.chance(0.1) else "2.5")

    def partner(self, name: str) -> str | None:
        """A variable that broadcasts with `name`."""
        shape = self.t(name).shape
        return self.pick(lambda t: t.dtype is not torch.bool and broadcasts(shape, t.shape))


def holds(wanted: Callable[[Any], bool], t: Any) -> bool:
    """Does `t` qualify? A view that may not be read any more raises when asked about its history."""
    try:
        return bool(wanted(t))
    except RuntimeError:
        return False


def broadcasts(a: Any, b: Any) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))


TEMPLATES: dict[str, tuple[float, Callable[[Writer], str | None]]] = {}


def template(weight: float) -> Callable[[Any], Any]:
    def enter(fn: Any) -> Any:
        TEMPLATES[fn.__name__] = (weight, fn)
        return fn

    return enter


def literal(w: Writer, shape: tuple[int, ...], draw: Callable[[], str]) -> str:
    if not shape:
        return draw()
    return "[" + ", ".join(literal(w, shape[1:], draw) for _ in range(shape[0])) + "]"
