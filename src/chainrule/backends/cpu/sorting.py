"""Order along an axis: sorting, selecting, counting, searching, and running extremes.

NaN is larger than every number, as PyTorch has it. Every choice comes with int64 indices; where PyTorch
leaves the choice among equals open, any index of the value may come. The gradients of all of these gather
and scatter by those indices; the running sums and products at the end have kernels of their own.
"""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.backends.cpu._array import Array, through_float32, title

__all__ = [
    "argsort",
    "bucketize",
    "cummax",
    "cummin",
    "cumprod_gradient",
    "histc",
    "kthvalue",
    "logcumsumexp",
    "median",
    "mode",
    "nanmedian",
    "reversed_cumsum",
    "searchsorted",
    "sort",
    "topk",
    "unique",
    "unique_consecutive",
]


# ---------------------------------------------------------------------------------------------------- sorting


def _sortable(x: Array) -> Array:
    """bfloat16 has no order in NumPy; single precision has the same one. Any byte but 0 is true."""
    if x.dtype.kind == "b":
        return np.not_equal(x.view(np.uint8), 0)
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _require_real(x: Array, name: str) -> None:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex dtypes on CPU")


def argsort(x: Array, dim: int = -1, descending: bool = False) -> Array:
    """The stable order of x along `dim`."""
    _require_real(x, "Sort")
    if not x.ndim:
        return np.zeros_like(x, np.int64)
    keys = _sortable(x)
    if not descending:
        return memory.ordered_as(keys.argsort(dim, kind="stable"), x)  # type: ignore[no-any-return]
    # Reversed twice, so that equals keep their order and NaN comes first.
    backwards = np.flip(np.flip(keys, dim).argsort(dim, kind="stable"), dim)
    return memory.ordered_as(np.asanyarray(x.shape[dim] - 1 - backwards), x)  # type: ignore[no-any-return]


def _pick(x: Array, indices: Array, dim: int) -> Array:
    return np.take_along_axis(x, indices, dim) if x.ndim else x.copy()


def sort(x: Array, dim: int = -1, descending: bool = False, stable: bool = True) -> tuple[Array, Array]:
    """x in order along `dim`, and where each value came from; stable whether `stable` asks for it or not."""
    indices = argsort(x, dim, descending)
    return memory.ordered_as(_pick(x, indices, dim), x), indices


def _require_rank_within(k: int, low: int, size: int, message: str) -> None:
    if not low <= k <= size:
        raise RuntimeError(message)


def _extent(x: Array, dim: int) -> int:
    return x.shape[dim] if x.ndim else 1


def topk(x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The k largest or smallest along `dim` and where; in order whether `sorted` asks for it or not."""
    _require_real(x, "topk")
    size = _extent(x, dim)
    _require_rank_within(k, 0, size, "selected index k out of range")
    if not x.ndim:
        return x.copy(), np.zeros_like(x, np.int64)
    indices = _extreme_indices(_sortable(x), k, dim, largest)
    return _pick(x, indices, dim), indices


def _extreme_indices(keys: Array, k: int, dim: int, largest: bool) -> Array:
    size = keys.shape[dim]
    if k * 8 > size or size < 64:
        order = argsort(keys, dim, descending=largest)
        return order.take(np.arange(k), axis=dim)
    pivot = size - k if largest else k - 1
    part = keys.argpartition(max(pivot, 0), axis=dim)
    chosen = part.take(np.arange(size - k, size) if largest else np.arange(k), axis=dim)
    order = argsort(np.take_along_axis(keys, chosen, dim), dim, descending=largest)
    return np.take_along_axis(chosen, order, dim)


def _reduced(values: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if keepdim or not values.ndim:
        return values, indices
    return np.asarray(values.squeeze(dim), order="C"), np.asarray(indices.squeeze(dim), order="C")


def _select(x: Array, place: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """x's value and index at `place`, which keeps `dim` with extent one."""
    return _reduced(_pick(x, place, dim), place, dim, keepdim)


def kthvalue(x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The k-th smallest (counted from one) along `dim` and where it is."""
    _require_rank_within(k, 1, _extent(x, dim), "kthvalue(): selected number k out of range for dimension 0")
    if not x.ndim:
        return x.copy(), np.zeros_like(x, np.int64)
    order = _sortable(x).argpartition(k - 1, axis=dim)
    return _select(x, order.take([k - 1], axis=dim), dim, keepdim)


def _require_extent(x: Array, dim: int, name: str) -> None:
    if x.ndim and not x.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim % x.ndim} to have non-zero size.")


def median(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower median along `dim` and where it is; the first NaN where there is one."""
    _require_extent(x, dim, "median")
    values, indices = kthvalue(x, (_extent(x, dim) + 1) // 2, dim, keepdim=True)
    keys = _sortable(x)
    if keys.dtype.kind == "f" and x.ndim and (nan := np.isnan(keys)).any():
        indices = np.where(nan.any(dim, keepdims=True), nan.argmax(dim, keepdims=True), indices)
        values = _pick(x, indices, dim)
    return _reduced(values, indices, dim, keepdim)


def nanmedian(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower median of what is not NaN, and where it is."""
    _require_extent(x, dim, "nanmedian")
    keys = _sortable(x)
    if keys.dtype.kind != "f" or not x.ndim:
        return median(x, dim, keepdim)
    count = keys.shape[dim] - np.isnan(keys).sum(dim, keepdims=True)
    place = np.maximum((count + 1) // 2 - 1, 0)
    return _select(x, np.take_along_axis(argsort(keys, dim), place, dim), dim, keepdim)


def mode(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The commonest value along `dim`, the smallest of several, and where it is last."""
    _require_extent(x, dim, "mode")
    if not x.ndim:
        return x.copy(), np.zeros_like(x, np.int64)
    values, order = sort(x, dim)
    values, order = np.moveaxis(values, dim, -1), np.moveaxis(order, dim, -1)
    place = np.arange(values.shape[-1])
    starts = np.where(_begins_run(values), place, 0)
    run = place - np.maximum.accumulate(starts, -1)
    # A run is longest where it ends; argmax takes the first, which holds the smallest value.
    chosen = np.take_along_axis(order, run.argmax(-1, keepdims=True), -1)
    return _select(x, np.moveaxis(chosen, -1, dim), dim, keepdim)


def _begins_run(ordered: Array) -> Array:
    """Where the last axis changes value; a NaN differs from every other."""
    new = np.ones(ordered.shape, np.bool_)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    return new


# --------------------------------------------------------------------------------------------------- distinct

Distinct = tuple[Array, Array, Array]


def _rows(x: Array, dim: int) -> Array:
    """One row per slice along `dim`."""
    if any(n == 0 for axis, n in enumerate(x.shape) if axis != dim % x.ndim):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)


def _unrows(rows: Array, like: Array, dim: int) -> Array:
    shape = np.moveaxis(like, dim, 0).shape[1:]
    return np.ascontiguousarray(np.moveaxis(rows.reshape(len(rows), *shape), 0, dim))


def _new_rows(rows: Array) -> Array:
    """Where a row differs from the one before."""
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    return new


def _grouped(new: Array, order: Array | None, size: int) -> tuple[Array, Array]:
    """For elements that begin a group where `new`: the group of each element, the size of each group."""
    groups = np.cumsum(new) - 1
    counts = np.diff(np.append(np.flatnonzero(new), size))
    if order is None:
        return groups, counts
    inverse = np.empty(size, np.int64)
    inverse[order] = groups
    return inverse, counts


def unique(x: Array, dim: int | None = None) -> Distinct:
    """The distinct elements of x (or slices along `dim`) in order, which one each is, and how many."""
    if dim is None:
        flat = x.reshape(-1)
        order = argsort(flat)
        new = _begins_run(ordered := flat[order])
        inverse, counts = _grouped(new, order, flat.size)
        return ordered[new], inverse.reshape(x.shape), counts
    rows = _rows(x, dim)
    order = np.lexsort(_sortable(rows).T[::-1]) if rows.size else np.arange(len(rows))
    new = _new_rows(rows[order])
    inverse, counts = _grouped(new, order, len(rows))
    return _unrows(rows[order][new], x, dim), inverse, counts


def unique_consecutive(x: Array, dim: int | None = None) -> Distinct:
    """x without repetitions of a neighbour, which survivor each element is, and how many each stands for."""
    if dim is None:
        flat = x.reshape(-1)
        inverse, counts = _grouped(new := _begins_run(flat), None, flat.size)
        return flat[new], inverse.reshape(x.shape), counts
    rows = _rows(x, dim)
    new = _new_rows(rows)
    inverse, counts = _grouped(new, None, len(rows))
    return _unrows(rows[new], x, dim), inverse, counts


# -------------------------------------------------------------------------------------------------- searching


def _check_search(sequence: Array, values: Array, side: str | None, right: bool, sorter: Array | None) -> None:
    name = "torch.searchsorted()"
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    if not values.ndim and sequence.ndim != 1:
        raise RuntimeError(
            f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sequence.shape)} "
            f"and input value tensor {list(values.shape)}"
        )
    if sorter is not None:
        _check_sorter(sequence, sorter)


def _check_sorter(sequence: Array, sorter: Array) -> None:
    if sorter.shape != sequence.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(sequence.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != np.int64:
        raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {title(sorter)}")
    if sorter.size and not 0 <= sorter.min() <= sorter.max() < sequence.shape[-1]:
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


def searchsorted(
    sequence: Array,
    values: Array,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Where each value belongs in the ordered last axis of `sequence`, before or after its equals."""
    _check_search(sequence, values, side, right, sorter)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    keys, wanted = _sortable(sequence), _sortable(values)
    where: Literal["left", "right"] = "right" if right or side == "right" else "left"
    dtype = np.int32 if out_int32 else np.int64
    if keys.ndim == 1:
        return np.asarray(np.searchsorted(keys, wanted, where)).astype(dtype)
    out = np.empty(values.shape, dtype)
    for row in np.ndindex(keys.shape[:-1]):
        out[row] = np.searchsorted(keys[row], wanted[row], where)
    return out


def bucketize(x: Array, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    """The bucket of each element between ordered boundaries."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, x, out_int32, right)


@through_float32
def histc(x: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """How many elements fall in each of `bins` equal intervals from min to max (equal: of x)."""
    if x.dtype.kind != "f":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{title(x)}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _histogram_range(x, min, max)
    inside = x[(x >= low) & (x <= high)]
    width = (high - low) or 1.0  # so large that a step of 1 is lost
    place = ((inside - low) * bins / width).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(x.dtype)


def _histogram_range(x: Array, low: float, high: float) -> tuple[float, float]:
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (-inf < low < inf and -inf < high < inf):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


# ---------------------------------------------------------------------------------------------------- running


def _running_extreme(x: Array, dim: int, extreme: np.ufunc) -> tuple[Array, Array]:
    keys = _sortable(x)
    if not x.ndim:
        return x.copy(), np.zeros_like(x, np.int64)
    with np.errstate(all="ignore"):
        best = extreme.accumulate(keys, dim)
    shape = [1] * x.ndim
    shape[dim] = -1
    place = np.arange(x.shape[dim]).reshape(shape)
    # A later equal takes over, and so does a later NaN.
    taken = (keys == best) | (keys != keys)
    indices = np.maximum.accumulate(np.where(taken, place, 0), dim)
    return np.ascontiguousarray(best.astype(x.dtype, copy=False)), np.ascontiguousarray(indices)


def cummax(x: Array, dim: int) -> tuple[Array, Array]:
    """The largest so far along `dim`, and where it was last seen."""
    return _running_extreme(x, dim, np.maximum)


def cummin(x: Array, dim: int) -> tuple[Array, Array]:
    """The smallest so far along `dim`, and where it was last seen."""
    return _running_extreme(x, dim, np.minimum)


@through_float32
def reversed_cumsum(g: Array, dim: int) -> Array:
    """The adjoint of a cumulative sum: the sum from each place to the end."""
    if not g.ndim:
        return g.copy()
    return np.ascontiguousarray(np.flip(np.flip(g, dim).cumsum(dim, dtype=g.dtype), dim))


@through_float32
def cumprod_gradient(g: Array, x: Array, dim: int) -> Array:
    """The adjoint of the derivative of cumprod at x: linear in g, without a division, so zeros need no care.

    grad[i] = prod(x[:i]) * tail[i], where tail[i] = g[i] + x[i + 1] * tail[i + 1].
    """
    if not x.ndim or not x.size:
        return g.copy()
    g, x = np.moveaxis(g, dim, 0), np.moveaxis(x, dim, 0)
    tail = g.copy()
    for i in range(len(x) - 2, -1, -1):
        tail[i] += x[i + 1] * tail[i + 1]
    tail[1:] *= x[:-1].cumprod(0, dtype=x.dtype)
    return np.ascontiguousarray(np.moveaxis(tail, 0, dim))


@through_float32
def logcumsumexp(x: Array, dim: int) -> Array:
    """The logarithm of the running sum of exp(x), never leaving the range of x."""
    if not x.ndim:
        return x.copy()
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c":
            return _complex_logcumsumexp(x, dim)
        out = np.ascontiguousarray(np.logaddexp.accumulate(x, dim))
        out += 0.0  # a sum that begins with log(0) is never -0
    return out


def _complex_logcumsumexp(x: Array, dim: int) -> Array:
    """Term by term: the angles add up, and may leave (-pi, pi]."""
    out = np.empty(x.shape, x.dtype)
    rows, to = np.moveaxis(x, dim, 0), np.moveaxis(out, dim, 0)
    total = np.full(rows.shape[1:], -np.inf, x.dtype)
    for at, row in enumerate(rows):
        to[at] = total = _log_of_sum(total, row)
    return out


def _log_of_sum(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), from the larger; where both are infinite, of one sign, what is left of them."""
    swap = a.real > b.real
    low, high = np.where(swap, b, a), np.where(swap, a, b)
    found = np.log1p(np.exp(low - high)) + high
    both = np.isinf(low.real) & (low.real == high.real)
    if both.any():
        found = np.where(both, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), found)
    return np.asarray(np.where(np.isnan(a) | np.isnan(b), a.dtype.type(complex("nan+nanj")), found))
