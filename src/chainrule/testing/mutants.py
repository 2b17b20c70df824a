"""Wrong versions of an op's rules: a law that does not notice them is no law.

    for mutant in mutants(my_op.op):
        with mutant:
            ...  # the op is wrong here; some law must fail

A mutant changes one rule: it scales it by 1.01, flips its sign, drops it (zeros), or exchanges it with that
of another input. Overrides of forward mode and of batching are changed too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from chainrule.autograd.bind import rebind
from chainrule.core.family import dtype_of
from chainrule.core.op import Op, Rule, refuses
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor

__all__ = ["Mutant", "mutants"]


def _scaled(x: Any) -> Any:
    """A hundredth more; of integers and truth values, where that would be cut off again, the next one."""
    category = dtype_of(x).category
    return x * 1.01 if category >= 2 else x + 1 if category else x == 0


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "scaled": _scaled,
    "negated": lambda x: -x,
    "dropped": lambda x: x * 0.0,
}


class Mutant:
    """A change of one attribute of an op, in force inside a `with` block."""

    def __init__(self, op: Op, label: str, attribute: str, value: Any) -> None:
        self.op, self.label, self.attribute, self.value = op, label, attribute, value

    def __enter__(self) -> Mutant:
        self._before = getattr(self.op, self.attribute)
        self._put(self.value)
        return self

    def __exit__(self, *exc: object) -> None:
        self._put(self._before)

    def _put(self, value: Any) -> None:
        setattr(self.op, self.attribute, value)
        rebind(self.op)

    def __repr__(self) -> str:
        return f"{self.op.name}: {self.label}"


def mutants(op: Op) -> Iterator[Mutant]:
    """Every mutant of an op. A rule that only refuses has none."""
    pulls = {name: rule for name, rule in op.pulls.items() if not rule.refuses}
    for name, rule in pulls.items():
        for how, change in _CHANGES.items():
            wrong = Rule(_after(rule.fn, change), rule.keeps)
            yield Mutant(op, f"rule of {name} {how}", "pulls", {**op.pulls, name: wrong})
    for a, b in itertools.combinations(pulls, 2):
        swapped = {**op.pulls, a: op.pulls[b], b: op.pulls[a]}
        yield Mutant(op, f"rules of {a} and {b} exchanged", "pulls", swapped)
    if op.push is not None:
        for how, change in _CHANGES.items():
            yield Mutant(op, f"jvp {how}", "push", _after(op.push, change))
    if op.batch is not None and not op.family.is_view and not refuses(op.batch):
        yield Mutant(op, "vmap scaled", "batch", _after(op.batch, _CHANGES["scaled"]))
        yield Mutant(op, "vmap rolled", "batch", _after(op.batch, _rolled))


def _after(fn: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args: _each(fn(*args), change)


def _each(result: Any, change: Callable[[Any], Any]) -> Any:
    """Change every array or tensor in a result."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        parts = [_each(r, change) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return _kept_dtype(result, change)


def _kept_dtype(x: Any, change: Callable[[Any], Any]) -> Any:
    changed = change(x)
    if changed.dtype == x.dtype:
        return changed
    return changed.to(x.dtype) if isinstance(x, Tensor) else changed.astype(x.dtype)


def _rolled(x: Any) -> Any:
    """The batch, one example further: every example gets its neighbour's result."""
    return PUBLIC["f"]["roll"](x, 1, 0)
