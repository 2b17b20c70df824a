"""Folding axes away: sums, products, extremes, logical folds, norms of vectors.

`dim` is an axis, several, or None for all; () means all too, except for `all` and `any`. 16-bit floats are accumulated
in 32 bits, sums and products of integers in 64.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from chainrule.core.dtype import NARROW, OF_NUMPY, dtype as DType
from chainrule.core.family import call, reduction
from chainrule.core.op import Array
from chainrule.core.samples import apart, nonzero, positive, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.along import axes_of, count, masked, restored, unfolded

__all__ = ["fold", "mean", "sum"]

PLAIN_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
INT64 = np.dtype(np.int64)
one: list[tuple[Any, ...]] = [((3, 4),), ((),), ((2, 3, 2),)]
_add, _multiply = np.add.reduce, np.multiply.reduce
_everywhere: dict[str, list[Any]] = {"dim": [None, 0, (0,), (-1,)], "keepdim": [False, True]}


def check_keepdim(name: str, keepdim: Any) -> None:
    """A number in keepdim's place is a mistake: sum(0, 1) does not mean two axes."""
    if keepdim.__class__ is not bool:
        raise TypeError(f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}")


def wanted(input: Any, dtype: DType | None) -> np.dtype[Any]:
    """The dtype of a sum or product."""
    if dtype is not None:
        return dtype.numpy
    return INT64 if input.dtype.kind in "biu" else input.dtype


def as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """`x` in another dtype, the imaginary part dropped without a word."""
    if x.dtype == dtype:
        return x
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)


def fold(name: str, ufunc: Any, input: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Any:
    """A ufunc's reduction with PyTorch's dtypes."""
    check_keepdim(name, keepdim)
    want = wanted(input, dtype)
    narrow = want in NARROW
    x = as_dtype(input, np.dtype(np.float32) if narrow else want)
    out = ufunc(x, axes_of(dim, input.ndim), want if not narrow else None, None, keepdim)
    return out.astype(want) if narrow else out


@reduction(linear=True, overload="dim", samples=samples(real, one, **_everywhere))
def sum(xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Sum over the given axes, or over all."""
    if dim is None and dtype is None and keepdim is False and input.dtype in PLAIN_FLOATS:
        return _add(input, axis=None, out=...)
    return fold("sum", _add, input, dim, keepdim, dtype)


sum.vjp(input=lambda g, input_shape, dim: unfolded(g, input_shape, dim))


def _mean_dtype(input: Any, dtype: DType | None) -> DType:
    given = OF_NUMPY[input.dtype] if dtype is None else dtype
    if given.category < 2:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {given.title}"
        )
    return given


@reduction(linear=True, overload="dim", samples=samples(real, one, **_everywhere))
def mean(xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Mean over the given axes, or over all."""
    if dim is None and dtype is None and keepdim is False and input.dtype in PLAIN_FLOATS and input.size:
        return _add(input, None) / input.size
    want = _mean_dtype(input, dtype).numpy
    x = as_dtype(input, np.dtype(np.float32) if want in NARROW else want)
    total = fold("mean", _add, x, dim, keepdim, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / x.dtype.type(count(input.shape, dim))).astype(want)


mean.vjp(input=lambda g, input_shape, dim: unfolded(g / (count(input_shape, dim) or 1), input_shape, dim))
