"""Arrays of which only some elements are written down, by their places (COO); all others are zero.

A `SparseArray` is a record, no ndarray: `indices[k, i]` is where on axis k the i-th element lies, `values[i]` is the
element, or a dense block where `values` has more axes. One place may be named several times: its element is the sum.
`coalesced` says that places ascend and none repeats.

It takes part in NumPy's protocols, so a formula written for arrays runs on it as far as it has a meaning there: sums,
products with numbers and arrays, matrix products, and every function of one element that leaves zero zero. All else
raises `Unsupported`. What meets a sparse array in an addition may be dense: cotangents of both kinds meet in sums.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from chainrule.core.shape import broadcast_shapes

__all__ = ["SparseArray", "Unsupported", "each", "from_dense", "is_sparse", "nothing", "values_at"]


class Unsupported(NotImplementedError):
    """An operation that needs all elements; `name` is what was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: it has no sparse form here. "
            "Use to_dense() first."
        )


def refuse(name: str) -> NoReturn:
    """Raise for what has no sparse form."""
    raise Unsupported(name)


class _Tagged(dict[np.dtype[Any], np.dtype[Any]]):
    """The dtype of sparse arrays: equal to the ordinary one but another object, so that code which compares dtypes with
    `is` before it takes a shortcut takes none."""

    def __missing__(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        made = self[dtype] = np.dtype(dtype, metadata={"layout": "sparse"})
        return made


_tagged = _Tagged()
_sum: Any = np.add.reduce


class _Flags:
    """What NumPy says of memory, said of what has none of its own."""

    __slots__ = ()
    writeable = c_contiguous = f_contiguous = False


class _Steps(tuple[int, ...]):
    """The steps of what does not lie in memory: 0 is not among them, and none can be had."""

    __slots__ = ()

    def __iter__(self) -> NoReturn:
        refuse("stride")

    def __getitem__(self, key: Any) -> NoReturn:
        refuse("stride")


class SparseArray(NDArrayOperatorsMixin):
    """An array of which only some elements are written down."""

    __slots__ = ("coalesced", "dtype", "indices", "shape", "values")

    base, flags, strides = None, _Flags(), _Steps()

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...], coalesced: bool | None = None) -> None:
        self.indices, self.values, self.shape = indices, values, tuple(shape)
        self.dtype = _tagged[values.dtype]
        self.coalesced = len(values) < 2 if coalesced is None else coalesced

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nnz(self) -> int:
        """How many elements (or blocks) are written down."""
        return len(self.values)

    @property
    def sparse_dim(self) -> int:
        """How many axes, the first ones, the places have."""
        return len(self.indices)

    @property
    def T(self) -> SparseArray:
        return self.transpose()

    @property
    def real(self) -> SparseArray:
        return self.with_values(self.values.real)

    @property
    def imag(self) -> SparseArray:
        return self.with_values(self.values.imag)

    def with_values(self, values: Any) -> SparseArray:
        """Other values, or blocks of another shape, in the same places."""
        shape = self.shape[: self.sparse_dim] + values.shape[1:]
        return SparseArray(self.indices, values, shape, self.coalesced)

    def become(self, other: SparseArray) -> None:
        """Hold what `other` holds."""
        self.indices, self.values, self.shape = other.indices, other.values, other.shape
        self.dtype, self.coalesced = other.dtype, other.coalesced

    # ------------------------------------------------------------------------------------- what arrays can do

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> SparseArray:
        """The values in another dtype."""
        return self.with_values(self.values.astype(np.dtype(dtype).type))

    def copy(self, order: str = "C") -> SparseArray:
        """The same in memory of its own."""
        return SparseArray(self.indices.copy(), self.values.copy(), self.shape, self.coalesced)

    def conj(self) -> SparseArray:
        """The complex conjugate."""
        return self.with_values(self.values.conj())

    def fill(self, value: Any) -> None:
        """Forget all elements; no other value can be everywhere."""
        if np.any(value != 0):
            refuse("fill_")
        self.become(nothing(self.shape, self.sparse_dim, self.values))

    def transpose(self, *axes: Any) -> SparseArray:
        """The axes in another order: sparse ones among themselves, dense ones among themselves."""
        given = axes[0] if len(axes) == 1 else axes
        order = [a % self.ndim for a in given] if given else list(range(self.ndim))[::-1]
        k = self.sparse_dim
        if any([(at < k) is not (axis < k) for at, axis in enumerate(order)]):
            raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {k}")
        values = self.values.transpose(0, *(1 + axis - k for axis in order[k:]))
        stays = self.coalesced and (order[:k] == list(range(k)) or not self.nnz)
        return SparseArray(self.indices[order[:k]], values, tuple(self.shape[a] for a in order), stays)

    def swapaxes(self, first: int, second: int) -> SparseArray:
        """Two axes swapped."""
        order = list(range(self.ndim))
        try:
            order[first], order[second] = order[second], order[first]
        except IndexError:
            raise ValueError("an axis is out of bounds") from None
        return self.transpose(order)

    def todense(self) -> Any:
        """All elements, as an array."""
        found = np.zeros(self.shape, self.values.dtype)
        add_into(found, self)
        return found

    def coalesce(self) -> SparseArray:
        """Places in ascending order, each once; itself if it is so already."""
        if self.coalesced:
            return self
        places, values = summed(flat_places(self.indices, self.shape), self.values)
        return SparseArray(unflattened(places, self), values, self.shape, True)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not Ellipsis:
            raise TypeError("Cannot assign to a sparse tensor")
        if value.__class__ is SparseArray:
            self.become(value.copy())
        else:
            self.fill(value)

    def __getitem__(self, key: Any) -> Any:
        refuse("index")

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'SparseArray' object has no attribute {name!r}")
        refuse(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.indices, self.values, self.shape, self.coalesced)

    def __repr__(self) -> str:
        return f"SparseArray(indices={self.indices!r}, values={self.values!r}, shape={self.shape})"

    # ------------------------------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        into = out[0] if out and out[0] is not Ellipsis else None
        if method == "reduce" and ufunc is np.add:
            return total(self, kwargs.get("axis", 0), kwargs.get("keepdims", False))
        if method != "__call__" or kwargs:
            refuse(f"{ufunc.__name__}.{method}")
        if into.__class__ is np.ndarray and ufunc in _SIGNS and inputs[0] is into and is_sparse(inputs[1]):
            check_same_size(into, inputs[1])
            return add_into(into, inputs[1], _SIGNS[ufunc])
        known = _UFUNCS.get(ufunc)
        result = known(*inputs) if known is not None else mapped(ufunc, inputs)
        if into is None:
            return result
        if is_sparse(into) and is_sparse(result):
            into.become(result.astype(into.dtype))
        else:
            into[...] = result.todense() if is_sparse(result) else result
        return into

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = _FUNCTIONS.get(func)
        return known(*args, **kwargs) if known is not None else refuse(func.__name__)


def _unpickled(indices: Any, values: Any, shape: tuple[int, ...], coalesced: bool) -> SparseArray:
    """What pickle kept: the dtypes it makes are objects of their own."""
    return SparseArray(indices.view(np.dtype(np.int64)), values.view(np.dtype(values.dtype.type)), shape, coalesced)


def is_sparse(x: Any) -> bool:
    """Is this an array of which only some elements are written down?"""
    return x.__class__ is SparseArray


def nothing(shape: tuple[int, ...], sparse_dim: int, like: Any) -> SparseArray:
    """Zeros: no element written down."""
    empty = np.empty((0, *shape[sparse_dim:]), like.dtype)
    return SparseArray(np.empty((sparse_dim, 0), np.int64), empty, shape, True)


def from_dense(x: Any, sparse_dim: int) -> SparseArray:
    """What of an array is not zero, in places of `sparse_dim` axes."""
    used = (x != 0).any(tuple(range(sparse_dim, x.ndim))) if x.ndim > sparse_dim else x != 0
    places = np.nonzero(used) if x.ndim else (np.zeros(int(used), np.int64),)
    values = x[places] if x.ndim else x.reshape(1)[: len(places[0])].copy()
    indices = np.array(places, np.int64) if x.ndim else np.empty((0, len(values)), np.int64)
    return SparseArray(indices, values, x.shape, True)


# ------------------------------------------------------------------------------------------------------------- places


def flat_places(indices: Any, shape: tuple[int, ...]) -> Any:
    """The places as numbers that ascend as they do."""
    flat = np.zeros(indices.shape[1], np.int64)
    for row, n in zip(indices, shape):
        flat *= n
        flat += row
    return flat


def unflattened(flat: Any, like: SparseArray) -> Any:
    """Numbers as places in the sparse axes of `like`."""
    k = like.sparse_dim
    if not k:
        return np.empty((0, len(flat)), np.int64)
    return np.array(np.unravel_index(flat, like.shape[:k]), np.int64).reshape(k, len(flat))


def summed(flat: Any, values: Any) -> tuple[Any, Any]:
    """Each number once, ascending, and the sum of its values."""
    if not (flat[1:] >= flat[:-1]).all():
        order = np.argsort(flat, kind="stable")
        flat, values = flat[order], values[order]
    starts = np.flatnonzero(np.append(True, flat[1:] != flat[:-1])) if len(flat) else np.empty(0, np.int64)
    return flat[starts], _runs_summed(values, starts)


_ROUNDS = 64  # repeats: blocks are added in so many rounds at most, each a tenth of what reduceat takes


def _runs_summed(values: Any, starts: Any) -> Any:
    """The sum of each run of values; `starts` says where the runs begin."""
    if len(starts) == len(values):
        return values
    lengths = np.diff(starts, append=len(values))
    longest = int(lengths.max())
    if values.ndim == 1 or longest > _ROUNDS:
        return np.add.reduceat(values, starts, 0, values.dtype)
    found = values[starts]
    for k in range(1, longest):
        long = np.flatnonzero(lengths > k)
        found[long] += values[starts[long] + k]
    return found


def lookup(flat: Any, wanted: Any) -> tuple[Any, Any]:
    """Where each wanted number is among ascending ones, and whether it is there."""
    at = np.searchsorted(flat, wanted)
    at[at == len(flat)] = 0
    return at, flat[at] == wanted if len(flat) else np.zeros(len(wanted), np.bool_)


def values_at(x: Any, indices: Any) -> Any:
    """The elements (or blocks) of an array, dense or sparse, at given places."""
    if not is_sparse(x):
        return x[tuple(indices)] if len(indices) else np.broadcast_to(x, (indices.shape[1], *x.shape)).copy()
    x = x.coalesce()
    if len(indices) != x.sparse_dim:
        return values_at(x.todense(), indices)
    found = np.zeros((indices.shape[1], *x.values.shape[1:]), x.values.dtype)
    at, there = lookup(flat_places(x.indices, x.shape), flat_places(indices, x.shape))
    found[there] = x.values[at[there]]
    return found


# --------------------------------------------------------------------------------------------------------------- sums


def add_into(target: Any, x: SparseArray, sign: int = 1) -> Any:
    """Add the elements of `x` to an array, in place: as much work as there are elements written down."""
    x = x.coalesce()
    where = tuple(x.indices) if x.sparse_dim else ()
    values = x.values if x.sparse_dim else _sum(x.values, 0, x.values.dtype)
    found = target[where] - values if sign < 0 else target[where] + values
    target[where] = found if found.dtype is target.dtype else found.astype(target.dtype)
    return target


def check_same_size(a: Any, b: Any) -> None:
    """Sums with dense arrays do not broadcast."""
    if np.shape(a) != np.shape(b):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(np.shape(a))} while other "
            f"has size {list(np.shape(b))} (FYI: dense-sparse addition does not currently support broadcasting)"
        )


def plus(a: Any, b: Any) -> Any:
    """The sum: sparse of two sparse arrays, dense if one is."""
    if is_sparse(a) and is_sparse(b):
        return merged(a, b)
    dense, sparse = (b, a) if is_sparse(a) else (a, b)
    check_same_size(dense, sparse)
    return add_into(np.array(dense, np.result_type(dense, sparse.values)), sparse)


def minus(a: Any, b: Any) -> Any:
    """The difference, of the same kind as the sum."""
    return plus(a, -b)


def merged(a: SparseArray, b: SparseArray) -> SparseArray:
    """The sum of two sparse arrays, the elements in PyTorch's order."""
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )
    want = np.result_type(a.values, b.values)
    if not a.nnz or not b.nnz:
        return (a if a.nnz or not b.nnz else b).astype(want)
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {a.sparse_dim} sparse dimensions "
            f"while 'other' has {b.sparse_dim} sparse dimensions"
        )
    if not a.values.flags.c_contiguous or not b.values.flags.c_contiguous:
        return _stacked(a, b, want)
    if a.indices.shape == b.indices.shape and (a.indices == b.indices).all():
        return SparseArray(a.indices, np.add(a.values, b.values, dtype=want), a.shape, a.coalesced and b.coalesced)
    if a.coalesced and b.coalesced:
        return SparseArray(*_joined(a, b, want), a.shape, False).coalesce()
    return _side_by_side(a, b, want)


def _joined(a: SparseArray, b: SparseArray, want: Any) -> tuple[Any, Any]:
    """All elements of one, then all of the other."""
    values = np.concatenate((a.values.astype(want, copy=False), b.values.astype(want, copy=False)))
    return np.concatenate((a.indices, b.indices), 1), values


def _stacked(a: SparseArray, b: SparseArray, want: Any) -> SparseArray:
    """All elements of both, unless they are more than places."""
    both = SparseArray(*_joined(a, b, want), a.shape, False)
    both = both.coalesce() if both.nnz > both.size else both
    both.coalesced = a.coalesced and b.coalesced and both.coalesced
    return both


_FEW = 1 << 13  # elements: up to here the order of a sum that is not coalesced is PyTorch's, whatever it takes


def _side_by_side(a: SparseArray, b: SparseArray, want: Any) -> SparseArray:
    """The lesser of the next places first, equal ones added: PyTorch's walk, though places need not ascend."""
    if a.nnz + b.nnz > _FEW:
        return _stacked(a, b, want)
    left, right = (flat_places(x.indices, a.shape).tolist() for x in (a, b))
    slots: list[int] = []  # where in the result each element of a, then of b, goes
    others: list[int] = []
    i = j = n = 0
    while i < len(left) or j < len(right):
        first = j == len(right) or (i < len(left) and left[i] <= right[j])
        second = i == len(left) or (j < len(right) and right[j] <= left[i])
        if first:
            slots.append(n)
            i += 1
        if second:
            others.append(n)
            j += 1
        n += 1
    indices, values = _joined(a, b, want)
    places = np.array(slots + others)
    _, first = np.unique(places, return_index=True)
    _, found = summed(places, values)
    return SparseArray(indices[:, first], found, a.shape, a.coalesced and b.coalesced)


_SIGNS = {np.add: 1, np.subtract: -1}


def total(x: SparseArray, axis: Any, keepdims: bool) -> Any:
    """The sum over axes: dense if no sparse axis is left."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    k, kind = x.sparse_dim, x.values.dtype
    values = _sum(x.values, tuple([1 + a - k for a in axes if a >= k]), kind, None, keepdims)
    shape = tuple([1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes])
    if all([a in axes for a in range(k)]):
        return np.asarray(_sum(values, 0, kind)).reshape(shape)
    gone = np.zeros_like(x.indices[0])
    rows = [gone if a in axes else x.indices[a] for a in range(k) if keepdims or a not in axes]
    return SparseArray(np.array(rows), values, shape, False).coalesce()


# ----------------------------------------------------------------------------------------------------------- products


def times(a: Any, b: Any) -> Any:
    """The product: with a number, an array, or another sparse array."""
    if is_sparse(a) and is_sparse(b):
        return intersection(a, b)
    sparse, other = (a, b) if is_sparse(a) else (b, a)
    return sparse.with_values(sparse.values * _facing(sparse, other))


def over(a: Any, b: Any) -> Any:
    """The quotient by a number: by anything else zeros would become NaN where nothing is written down."""
    if np.ndim(b):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for divisor)"
        )
    return a.with_values(a.values / b)


def _facing(x: SparseArray, other: Any) -> Any:
    """What of a number or an array stands where `x` has its elements."""
    if np.size(other) == 1 and np.ndim(other) <= x.ndim:
        return np.reshape(other, ())[()] if isinstance(other, np.ndarray) else other
    if broadcast_shapes(other.shape, x.shape) != x.shape:
        raise NotImplementedError(
            f"mul(): a sparse tensor of shape {list(x.shape)} is not stretched to the shape of a dense one, "
            f"{list(other.shape)}"
        )
    return values_at(np.broadcast_to(other, x.shape), x.indices)


def intersection(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product of two sparse arrays: places that both name, or all that one names which is not coalesced."""
    if a.shape == b.shape and not (a.nnz and b.nnz):
        return nothing(a.shape, a.sparse_dim, np.empty(0, np.result_type(a.values, b.values)))
    if a.shape != b.shape or a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            "dimensions, and shape of sparse dimensions"
        )
    if not b.coalesced and (a.coalesced or b.nnz <= a.nnz):
        a, b = b, a
    if not a.coalesced:
        return a.with_values(a.values * values_at(b, a.indices))
    at, there = lookup(flat_places(b.indices, b.shape), flat_places(a.indices, a.shape))
    return SparseArray(a.indices[:, there], a.values[there] * b.values[at[there]], a.shape, a.coalesced)


def matrix_product(a: Any, b: Any) -> Any:
    """The product of two matrices, or of a matrix and a vector: sparse if both are."""
    if any([is_sparse(x) and (x.sparse_dim, x.ndim) != (2, 2) for x in (a, b)]) or a.ndim > 2 or b.ndim > 2:
        refuse("mm")
    if is_sparse(a) and is_sparse(b):
        return _matrix_of_both(a, b)
    if is_sparse(b):
        return matrix_product(b.T, a.T).T
    terms = a.values.reshape(-1, *(1,) * (b.ndim - 1)) * b[a.indices[1]]
    found = np.zeros((a.shape[0], *b.shape[1:]), terms.dtype)
    rows, sums = summed(a.indices[0], terms)
    found[rows] = sums
    return found


def _matrix_of_both(a: SparseArray, b: SparseArray) -> SparseArray:
    """Every element of `a` meets the row of `b` that its column names."""
    b = b.coalesce()
    starts = np.searchsorted(b.indices[0], np.arange(b.shape[0] + 1))
    counts = np.diff(starts)[a.indices[1]]
    left = np.repeat(np.arange(a.nnz), counts)
    right = np.arange(len(left)) + np.repeat(starts[a.indices[1]] - (np.cumsum(counts) - counts), counts)
    indices = np.stack((a.indices[0][left], b.indices[1][right]))
    return SparseArray(indices, a.values[left] * b.values[right], (a.shape[0], b.shape[1]), False).coalesce()


# ---------------------------------------------------------------------------------------------- functions of an element


def mapped(ufunc: Any, inputs: tuple[Any, ...]) -> SparseArray:
    """A ufunc on one sparse array, and perhaps numbers."""
    sparse = [x for x in inputs if is_sparse(x)]
    if len(sparse) != 1 or any([np.ndim(x) for x in inputs if not is_sparse(x)]):
        refuse(ufunc.__name__)
    return each(ufunc.__name__, sparse[0], lambda values: ufunc(*[values if is_sparse(x) else x for x in inputs]))


def each(name: str, x: SparseArray, run: Callable[[Any], Any], linear: bool = False) -> SparseArray:
    """A function of one element that leaves zero zero, on those that are written down.

    `linear`: it may work on the terms of an element before they are summed.
    """
    if np.any(run(np.zeros(1, x.values.dtype)) != 0):
        refuse(name)
    x = x if linear else x.coalesce()
    return x.with_values(run(x.values))


_UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: plus, np.subtract: minus, np.multiply: times, np.true_divide: over, np.matmul: matrix_product,
    np.negative: lambda x: x.with_values(-x.values), np.positive: lambda x: x, np.conjugate: SparseArray.conj,
}  # fmt: skip


def _zeros_like(x: SparseArray, dtype: Any = None, **_: Any) -> SparseArray:
    return nothing(x.shape, x.sparse_dim, x.values if dtype is None else np.empty(0, np.dtype(dtype).type))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size, np.dot: matrix_product,
    np.transpose: lambda x, axes=(): x.transpose(*axes), np.swapaxes: SparseArray.swapaxes,
    np.zeros_like: _zeros_like, np.empty_like: _zeros_like,
    np.reshape: lambda x, shape: x if x.shape == shape else x.todense().reshape(shape),
}  # fmt: skip
