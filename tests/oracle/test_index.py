"""Subscripts and index ops compared with live PyTorch: values, gradients, node names, errors."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore")


def both(fn: Any) -> tuple[Any, Any]:
    """What `fn(package)` gives in PyTorch and here: a description, or the error."""
    return outcome(fn, torch), outcome(fn, chainrule)


def outcome(fn: Any, package: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(fn(package))
    except Exception as error:  # any error is an outcome to compare
        return type(error).__name__, str(error).split("\n")[0]


def described(x: Any) -> Any:
    if hasattr(x, "tolist") and hasattr(x, "grad_fn"):
        return x.tolist(), tuple(x.shape), str(x.dtype), None if x.grad_fn is None else type(x.grad_fn).__name__
    return [described(y) for y in x] if isinstance(x, (tuple, list)) else x


class Keys:
    """Random subscripts as text, so that each package can read them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def shape(self) -> tuple[int, ...]:
        return tuple(self.rng.choice([1, 2, 3, 4, 5]) for _ in range(self.rng.choice([0, 1, 2, 2, 3, 3, 4])))

    def key(self, shape: tuple[int, ...]) -> str:
        parts, at, together = [], 0, self.rng.choice([1, 2, 3])
        ellipsis = False
        while at < len(shape):
            kind = self.rng.random()
            if kind < 0.08:
                parts.append("None")
            elif kind < 0.14 and not ellipsis:
                ellipsis = True
                parts.append("...")
                at += self.rng.randrange(len(shape) - at + 1)
            elif kind < 0.2:
                break
            else:
                used, text = self.part(shape[at:], together)
                parts.append(text)
                at += used
        if self.rng.random() < 0.05:
            parts.append(self.rng.choice(["0", "None", "...", "True", "7"]))
        return parts[0] if len(parts) == 1 and self.rng.random() < 0.6 else "(" + "".join(p + ", " for p in parts) + ")"

    def part(self, shape: tuple[int, ...], together: int) -> tuple[int, str]:
        n, rng = shape[0], self.rng
        kind = rng.random()
        if kind < 0.25:
            return 1, str(rng.randrange(-n, n) if rng.random() < 0.95 else n)
        if kind < 0.55:
            ends = [rng.choice(["", str(rng.randrange(-n - 1, n + 2))]) for _ in range(2)]
            return 1, f"slice({ends[0] or None}, {ends[1] or None}, {rng.choice(['None', '1', '2', '3'])})"
        if kind < 0.62:
            return 1, str([rng.randrange(-n, n) for _ in range(together)])
        if kind < 0.68:
            return 1, f"np.array({[rng.randrange(n) for _ in range(together)]})"
        if kind < 0.76 and len(shape) > 1:
            mask = [[rng.random() < 0.5 for _ in range(shape[1])] for _ in range(n)]
            return 2, f"T.tensor({mask})"
        if kind < 0.82:
            return 1, f"T.tensor({[rng.random() < 0.5 for _ in range(n)]})"
        if kind < 0.86:
            return 1, f"T.tensor({rng.randrange(-n, n)})"
        rows = [[rng.randrange(-n, n) for _ in range(together)] for _ in range(rng.choice([1, 2]))]
        return 1, f"T.tensor({rows}, dtype=T.{rng.choice(['int64', 'int32'])})"


def read(shape: tuple[int, ...], key: str) -> Any:
    data = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)

    def fn(package: Any) -> Any:
        x = package.from_numpy(data.copy()).requires_grad_()
        y = x[eval(key, {"T": package, "np": np})]
        weight = package.from_numpy(np.arange(1.0, 1 + y.numel()).reshape(y.shape).astype(np.float32))
        (y * weight).sum().backward()
        return y, x.grad

    return fn


def write(shape: tuple[int, ...], key: str, whole: bool) -> Any:
    def fn(package: Any) -> Any:
        x = package.zeros(shape, requires_grad=True)
        y = x * 1
        k = eval(key, {"T": package, "np": np})
        size = y[k].shape
        value = package.full(tuple(size) if whole else (1,) * len(size), 3.0, requires_grad=True)
        y[k] = value
        (y * 2).sum().backward()
        return y, x.grad, value.grad.sum()

    return fn


@pytest.mark.parametrize("seed", range(40))
def test_reading_with_random_subscripts(seed: int) -> None:
    keys = Keys(seed)
    for _ in range(15):
        shape = keys.shape()
        key = keys.key(shape)
        theirs, ours = both(read(shape, key))
        assert ours == theirs, f"{shape} [{key}]"


@pytest.mark.parametrize("seed", range(40))
def test_writing_with_random_subscripts(seed: int) -> None:
    keys = Keys(1000 + seed)
    for _ in range(10):
        shape = keys.shape()
        key = keys.key(shape)
        theirs, ours = both(write(shape, key, keys.rng.random() < 0.5))
        if isinstance(theirs, list):
            theirs[0], ours[0] = theirs[0][:3], ours[0][:3]  # PyTorch's name of the last node depends on no-op views
        assert ours == theirs, f"{shape} [{key}]"


REFUSALS = [
    "x[1.0]", "x['a']", "x[5]", "x[-4]", "x[0, 0, 0]", "x[T.tensor([5])]", "x[:, T.tensor([4])]", "x[T.tensor([0.5])]",
    "x[T.tensor([True, False])]", "x[T.tensor([0, 1]), T.tensor([0, 1, 2])]", "x[::-1]", "x[::0]", "x[0.5:2]", "x[{}]",
    "x[object]", "x[T.tensor([0, 1], dtype=T.int16)]", "T.tensor(1.)[0]", "T.tensor(1.)[:]",
    "T.tensor(1.)[T.tensor([0])]", "x[1j]", "x[:2, T.tensor([True, False])]", "x[:, T.tensor([[True]])]",
    "x[np.bool_(True)]", "x.__setitem__(T.tensor([0, 1]), T.ones(2, 4, dtype=T.float64))",
    "x.__setitem__(0, T.ones(3))", "x.__setitem__(T.tensor([0, 1]), T.ones(3))", "x.__setitem__(0, 'a')",
    "x.__setitem__(0, [1, 2])", "x.__setitem__(0, None)", "x.__setitem__(0, 1j)", "x.__setitem__(5, 1.)",
    "x.__setitem__(T.tensor([5]), 1.)", "x.gather(5, i)", "x.gather(0, x)", "x.index_select(3, i[0])",
    "x.index_select(0, x[0])", "x.scatter(0, i + 7, 1.)", "x.index_add(0, i[0], x)", "x.take(i + 50)",
    "x.masked_select(x)", "x.index_copy(0, i[:, 0], x.double())", "x.index_fill(0, i[0], x)",
    "T.take_along_dim(x, i[0], 0)", "x.put(i, x[:1])", "x.index_put((i[0], i[0], i[0]), x)",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str) -> None:
    def fn(package: Any) -> Any:
        x, i = package.ones(3, 4), package.zeros(3, 4, dtype=package.int64)
        return eval(text, {"T": package, "np": np, "x": x, "i": i})

    theirs, ours = both(fn)
    assert ours[0] == theirs[0], (ours, theirs)
    assert ours[1][:50] == theirs[1][:50]


ALIKE = [
    "x.gather(0, i)", "x.gather(1, j)", "x.gather(-1, j)", "x.scatter(0, i, 2.)", "x.scatter(0, i, x)",
    "x.scatter(1, j, x * 2)", "x.scatter(0, i, 3., reduce='multiply').detach()", "x.scatter_add(0, i, x)",
    "x.scatter_reduce(0, i, x + 1, 'sum')", "x.scatter_reduce(0, i, x + 1, 'prod')",
    "x.scatter_reduce(0, i, x - 5, 'prod')", "x.scatter_reduce(0, i, x + 1, 'mean')",
    "x.scatter_reduce(0, i, x + 1, 'amax')", "x.scatter_reduce(0, i, x, 'amin')",
    "x.scatter_reduce(0, i, x + 1, 'mean', include_self=False)",
    "x.scatter_reduce(0, i, x, 'amax', include_self=False)", "x.scatter_reduce(1, j, x, 'prod', include_self=False)",
    "x.index_select(0, k)", "x.index_select(-1, k)", "x.index_add(0, k, x[:2])", "x.index_add(1, k, x[:, :2], alpha=3)",
    "x.index_copy(0, k, x[:2] * 2)", "x.index_fill(1, k, 5.)", "x.index_fill(1, k, x.sum())",
    "x.index_reduce(0, k, x[:2], 'prod')", "x.index_reduce(0, k, x[:2], 'mean', include_self=False)",
    "x.index_reduce(1, k, x[:, :2], 'amax')", "x.take(i)", "x.put(i[:1], x[:1])", "x.put(i, x, True)",
    "x.masked_select(x > 4)", "x.masked_select(x[:1] > 2)", "x.masked_scatter(x > 4, x * 3)",
    "T.take_along_dim(x, i[:1], 0)", "T.take_along_dim(x, i)", "x.index_put((k, k), x[0, :2])",
    "x.index_put((k,), x[0], accumulate=True)", "x.clone().fill_diagonal_(7)", "T.nonzero(x > 5)",
    "T.nonzero(x > 5, as_tuple=True)", "T.argwhere(x > 3)", "T.isin(x, T.tensor([1., 5.]))",
    "T.isin(i, 1, invert=True)", "x[0].gather(0, k)", "x.sum().gather(0, k[0] * 0)",
    "x.sum().index_select(0, k[:1] * 0)", "x[0, 0].take(k * 0)", "x.clone().copy_(x[0])", "x.clone().zero_()",
    "T.fill(x, 3.)", "x.clone().scatter_(0, i, x)", "x.clone().index_add_(0, k, x[:2])",
    "x.clone().index_put_((k,), x[:2])", "x.clone().masked_scatter_(x > 2, x)", "x.clone().put_(i, x)",
    "x.clone().index_fill_(0, k, 1)", "x.clone().scatter_reduce_(0, i, x, 'amax')",
    "T.zeros(5, 2).fill_diagonal_(1, wrap=True)",
]  # fmt: skip


@pytest.mark.parametrize("text", ALIKE)
def test_index_ops_and_their_gradients(text: str) -> None:
    data = np.arange(12.0, dtype=np.float64).reshape(3, 4)

    def fn(package: Any) -> Any:
        x = package.from_numpy(data.copy()).requires_grad_()
        i = package.tensor([[0, 1, 2, 0], [1, 1, 0, 2], [2, 0, 0, 0]])
        j, k = i % 3, package.tensor([2, 0])
        y = eval(text, {"T": package, "x": x, "i": i, "j": j, "k": k})
        if isinstance(y, tuple) or not y.requires_grad:
            return y
        (g,) = package.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = package.autograd.grad((g * g).sum(), x, allow_unused=True) if g.requires_grad else (None,)
        h = g * 0 if h is None else h
        return y.tolist(), type(y.grad_fn).__name__, g.tolist(), h.tolist()

    theirs, ours = both(fn)
    assert ours == theirs
