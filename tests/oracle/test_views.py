"""Random programs of views and in-place changes beside PyTorch: values, steps, versions, bases, nodes, refusals."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

warnings.filterwarnings("ignore", category=UserWarning)


def views_of(x: Any, rng: random.Random) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """View calls that suit a tensor (and a few that do not)."""
    n, shape = x.dim(), list(x.shape)
    d = rng.randrange(-n, n) if n else 0
    e = rng.randrange(n) if n else 0
    perm = rng.sample(range(n), n)
    flat = x.numel()
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("view", (flat,), {}), ("view", (-1,), {}), ("view", (1, *shape), {}), ("reshape", (-1,), {}),
        ("flatten", (), {}),
        ("unsqueeze", (d,), {}), ("squeeze", (), {}), ("permute", (perm,), {}), ("detach", (), {}),
        ("expand", ([1, *shape],), {}),
        ("t", (), {}), ("contiguous", (), {}), ("clone", (), {}), ("view_as", (), {}), ("alias", (), {}),
    ]  # fmt: skip
    if n:
        size = shape[e]
        calls += [
            ("transpose", (d, e), {}), ("movedim", (d, e), {}), ("select", (e, rng.randrange(-1, max(size, 1))), {}),
            ("narrow", (e, rng.randrange(size + 1), rng.randrange(3)), {}), ("squeeze", (d,), {}), ("unbind", (d,), {}),
            ("split", (rng.randrange(1, 3), d), {}), ("chunk", (2, d), {}), ("tensor_split", (2, d), {}), ("T", (), {}),
            ("split", ([1] * size, e), {}), ("squeeze", ((e,),), {}),
            ("getitem", ((slice(None),) * e + (slice(0, None, 2),),), {}), ("getitem", ((..., None),), {}),
        ]  # fmt: skip
    if n > 1:
        calls += [
            ("diagonal", (rng.randrange(-1, 2), 0, 1), {}),
            ("mT", (), {}),
            ("flatten", (0, 1), {}),
            ("swapaxes", (0, 1), {}),
        ]
        calls += [("as_strided", ([2], [x.stride(0)]), {})] if flat else []
    return calls


INPLACE: list[tuple[str, tuple[Any, ...]]] = [
    ("mul_", (2.0,)), ("add_", (1.0,)), ("zero_", ()), ("fill_", (0.5,)), ("sin_", ()), ("mul_", ("other",)),
    ("copy_", ("other",)), ("add_", ("leaf",)), ("t_", ()), ("unsqueeze_", (0,)), ("squeeze_", ()), ("detach_", ()),
]  # fmt: skip


def call(x: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if name == "alias":
        return x[...]
    if name == "getitem":
        return x[args[0]]
    if name == "view_as":
        return x.view_as(x)
    if name in ("T", "mT"):
        return getattr(x, name)
    return getattr(x, name)(*args, **named)


def asked_of(t: Any, name: str) -> Any:
    """A property, or the beginning of the refusal; of a node the name, without its overload."""
    try:
        value = getattr(t, name)
    except RuntimeError as error:
        return str(error)[:60]
    return value if value is None or isinstance(value, bool) else value.name().split(":")[-1].rstrip("0123456789")


def overlapping(a: Any, b: Any) -> bool:
    """Over the same memory: what happens then is undefined, or refused with words that depend on who looks first."""
    return bool(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())


class World:
    """The tensors of one library, in the order they were made."""

    def __init__(self, lib: Any, seed: int) -> None:
        self.lib = lib
        values = np.random.default_rng(seed).uniform(0.5, 1.5, (2, 3, 2))
        self.leaf = lib.tensor(values.tolist(), dtype=lib.float64, requires_grad=True)
        self.pool = [self.leaf * 2, lib.tensor(values[0].tolist(), dtype=lib.float64), self.leaf]

    def step(self, at: int, name: str, args: tuple[Any, ...], named: dict[str, Any], mode: str, other: int) -> Any:
        x = self.pool[at]
        given = tuple(
            {"other": self.pool[other], "leaf": self.leaf}.get(a, a) if isinstance(a, str) else a for a in args
        )
        try:
            with {"grad": self.lib.enable_grad, "no_grad": self.lib.no_grad}[mode]():
                result = call(x, name, given, named)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            return error
        made = list(result) if isinstance(result, (tuple, list)) else [result]
        self.pool += [t for t in made if not any(t is old for old in self.pool)]
        return None

    def facts(self) -> list[Any]:
        return [self.fact(t) for t in self.pool]

    def fact(self, t: Any) -> Any:
        base = next((i for i, b in enumerate(self.pool) if b is t._base), None) if t._is_view() else None
        steps = tuple(s for s, n in zip(t.stride(), t.shape) if n != 1) if t.numel() else ()
        place = (steps, t.storage_offset()) if t.numel() else ()
        asked = [asked_of(t, name) for name in ("requires_grad", "is_leaf", "grad_fn")]
        return tuple(t.shape), place, t._version, t._is_view(), base, *asked

    def gradients(self, weights: random.Random) -> Any:
        """First and second derivatives of a weighted sum of everything that can be read."""
        total = self.leaf.sum() * 0
        for t in self.pool:
            w = weights.uniform(0.5, 1.5)
            try:
                total = total + (t * t).sum() * w
            except RuntimeError as error:
                weights.random()
                if "modified by an inplace" not in str(error) and "modified inplace" not in str(error):
                    raise
        try:
            (g,) = self.lib.autograd.grad(total, self.leaf, create_graph=True)
            (h,) = self.lib.autograd.grad((g * g).sum(), self.leaf) if g.requires_grad else (g,)
        except RuntimeError as error:
            return "modified" if "modified by an inplace" in str(error) else str(error)[:50]
        return np.array(g.tolist()), np.array(h.tolist())


def show(program: list[Any]) -> str:
    return "\n".join(str(line) for line in program)


def run(seed: int, length: int) -> None:
    rng = random.Random(seed)
    ours, theirs = World(chainrule, seed), World(torch, seed)
    program: list[Any] = []
    for _ in range(length):
        at = rng.randrange(len(theirs.pool))
        if rng.random() < 0.35:
            name, args = rng.choice(INPLACE)
            named: dict[str, Any] = {}
        else:
            name, args, named = rng.choice(views_of(theirs.pool[at], rng))
        mode, other = ("no_grad" if rng.random() < 0.15 else "grad"), rng.randrange(len(theirs.pool))
        if "other" in args and overlapping(theirs.pool[at], theirs.pool[other]):
            continue
        program.append((at, name, args, mode, other))
        got, want = ours.step(at, name, args, named, mode, other), theirs.step(at, name, args, named, mode, other)
        assert (got is None) == (want is None), f"{got!r}\n{want!r}\n{show(program)}"
        if want is not None:
            assert isinstance(got, type(want)), f"{got!r}\n{want!r}\n{show(program)}"
            assert str(got)[:40] == str(want).replace("_()", "()")[:40] or "invalid combination" in str(want), (
                f"{got}\n{want}\n{show(program)}"
            )
        for i, (a, b) in enumerate(zip(ours.facts(), theirs.facts(), strict=True)):
            assert a == b, f"tensor {i}: {a} {b}\n{show(program)}"
            assert np.allclose(ours.pool[i].tolist(), theirs.pool[i].tolist(), equal_nan=True), (
                f"tensor {i}\n{show(program)}"
            )
    got, want = ours.gradients(random.Random(seed)), theirs.gradients(random.Random(seed))
    if isinstance(want, str) or isinstance(got, str):
        assert got is want or got == want, f"{got}\n{want}\n{show(program)}"
        return
    for a, b in zip(got, want):
        assert np.allclose(a, b, equal_nan=True), f"{a}\n{b}\n{show(program)}"


@pytest.mark.parametrize("seed", range(150))
def test_random_program(seed: int) -> None:
    run(seed, 3 + seed % 10)


PROGRAMS = {
    "an operand that is a view of the target": lambda lib, x: (y := x * 2).mul_(y.view(2, 3)[:]) * 1,
    "a saved value that a view overwrites": lambda lib, x: ((y := x * 2).sin(), y.view(-1).add_(1))[0],
    "a saved value that its base overwrites": lambda lib, x: ((y := x * 2).view(-1).sin(), y.add_(1))[0],
    "through three views": lambda lib, x: ((y := x * 2).t().view(3, 2)[0].mul_(3), y)[1],
    "a transposed base": lambda lib, x: ((y := x.t() * 2).t().view(-1)[1:4].mul_(x.reshape(-1)[:3]), y)[1],
    "as_strided": lambda lib, x: ((y := x * 2).as_strided((2, 2), (1, 2), 1).mul_(3), y)[1],
    "as_strided of a transposed base": lambda lib, x: ((y := x.t() * 2).as_strided((2, 2), (1, 2), 1).mul_(3), y)[1],
    "as_strided, overlapping": lambda lib, x: x.as_strided((2, 2), (1, 1), 1) * 3,
    "as_strided_scatter": lambda lib, x: (
        lib.as_strided_scatter(x.sin().detach(), x[:, 1:] * x[:, :2], (2, 2), (1, 2), 1) * 2
    ),
    "as_strided_scatter, overlapping": lambda lib, x: x.as_strided_scatter(x[:, 1:] * 3, (2, 2), (1, 0), 0) * 1,
    "as_strided of a part": lambda lib, x: ((y := x * 2)[1].as_strided((2, 2), (1, 2), 0).mul_(3), y)[1],
    "views made before": lambda lib, x: ((y := x * 2), (v := y[0]), (w := y.view(-1)), v.mul_(x[1]), w)[4],
    "a view takes over": lambda lib, x: (
        (y := lib.zeros(2, 3, dtype=x.dtype)),
        y[0].add_(x[0]),
        y[:, 1].mul_(x[:, 2]),
        y,
    )[3],
    "copy into a view": lambda lib, x: ((y := x * 2), y[:, 0].copy_(x[:, 1]), y)[2],
    "t_ under a view": lambda lib, x: ((y := x * 2), (v := y.view(-1)), y.t_(), v.mul_(2), y * x.t())[4],
    "expand and in place": lambda lib, x: (x[0] * 2).expand(4, 3).add_(1),
    "a detached view": lambda lib, x: ((y := x * 2).exp(), y.detach()[0].zero_())[0],
    "under no_grad": lambda lib, x: quietly(lib, (y := x * 2)[0]) and y * x,
    "a diagonal": lambda lib, x: ((y := x * 2).diagonal().mul_(x.diagonal()), y)[1],
    "an unbound part": lambda lib, x: (x * 2).unbind()[0].mul_(2),
    "the base of unbound parts": lambda lib, x: ((y := x * 2), (p := y.unbind()), y.mul_(2), p[0] * 2)[3],
    "unsafe parts": lambda lib, x: (x * 2).unsafe_chunk(2)[0].mul_(2),
    "data": lambda lib, x: ((y := x * 2).data.mul_(3), y * x)[1],
    "a view of a changed view": lambda lib, x: (
        (y := lib.nn.functional.tanhshrink(x)),
        (v := y.t()),
        (w := v[...]),
        v.sin_(),
        w.sin_(),
        y,
    )[-1],
    "retain": lambda lib, x: ((y := x * 2).retain_grad(), y[0].mul_(3), y)[2],
}


def quietly(lib: Any, t: Any) -> bool:
    with lib.no_grad():
        t.mul_(3)
    return True


def outcome(lib: Any, program: Any) -> Any:
    x = lib.tensor([[0.5, 1.0, 1.5], [2.0, 0.25, 0.75]], dtype=lib.float64, requires_grad=True)
    try:
        y = program(lib, x)
        node = y.grad_fn.name()
        (g,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad((g * g).sum(), x)
    except RuntimeError as error:
        return str(error)[:70]
    return node, y._version, y.tolist(), g.tolist(), h.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    got, want = outcome(chainrule, PROGRAMS[name]), outcome(torch, PROGRAMS[name])
    if isinstance(want, str):
        assert got == want
        return
    assert got[:2] == want[:2]
    for a, b in zip(got[2:], want[2:], strict=True):
        assert np.allclose(a, b)


# Of a view made in no_grad: no gradient flows to it, so what only that gradient would ask for is not kept.
ON_QUIET_VIEWS: dict[str, Any] = {
    "sin": lambda lib, v, w: v.sin(),
    "exp": lambda lib, v, w: v.exp(),
    "mul": lambda lib, v, w: v * w,
    "mul of itself": lambda lib, v, w: v * v,
    "div": lambda lib, v, w: v / w,
    "mm": lambda lib, v, w: v[None] @ w[:, None],
    "atan2": lambda lib, v, w: lib.atan2(v, w),
    "pow": lambda lib, v, w: v**w,
    "where": lambda lib, v, w: lib.where(v > 0, v, w),
}


def quiet_view_facts(lib: Any, op: Any, wants: bool) -> list[str]:
    b = lib.tensor([1.0, 2.0], requires_grad=True) * 2
    with lib.no_grad():
        v = b.view(-1)
    w = lib.tensor([3.0, 4.0], requires_grad=wants)
    with lib.inference_mode():
        unsavable = lib.tensor([1.0, 2.0])
    y = op(lib, v, w)
    facts = [y.grad_fn.name(), str(y.requires_grad)]
    facts += [first_words(lambda: y.sum().backward()) for _ in range(2)]
    z = op(lib, v, w)
    facts.append(first_words(lambda: op(lib, v, unsavable)))
    with lib.no_grad():
        b.mul_(2)
    return [*facts, first_words(lambda: z.sum().backward()), str(w.grad is not None)]


def first_words(act: Any) -> str:
    try:
        act()
    except RuntimeError as error:
        return str(error)[:40]
    return "fine"


@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("name", ON_QUIET_VIEWS)
def test_what_is_kept_of_a_quiet_view(name: str, wants: bool) -> None:
    op = ON_QUIET_VIEWS[name]
    assert quiet_view_facts(chainrule, op, wants) == quiet_view_facts(torch, op, wants)
