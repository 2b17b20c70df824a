"""Reading and writing by index: gather, scatter and their relatives, and the gradient of an embedding.

Every kernel is pure: it returns a fresh array and leaves its inputs alone. All of them reduce to one idea,
flat offsets into a contiguous array, because NumPy's `ufunc.at` over one flat axis takes about 1 ns per
element and over several axes five times that. Adjoint pairs: gather and scatter_add, index_select and
index_add, take and put(accumulate=True), masked_select and masked_scatter, embedding and embedding_weight.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array, is_half, through_float32, title
from chainrule.core.shape import broadcast_shapes

__all__ = [
    "bincount",
    "embedding",
    "embedding_renorm",
    "embedding_weight",
    "embedding_weight_adjoint",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "masked_scatter",
    "masked_scatter_source",
    "masked_select",
    "put",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "take",
    "take_along_dim",
]

Shape = tuple[int, ...]


# ----------------------------------------------------------------------------------------------------- ranges


def _outside(index: Array, low: int, high: int) -> int | None:
    """The first index outside [low, high), if there is one."""
    if not index.size or (index.min() >= low and index.max() < high):
        return None
    return int(index[(index < low) | (index >= high)].flat[0])


def _require_within_dim(index: Array, size: int, dim: int, error: type[Exception] = RuntimeError, low: int = 0) -> None:
    wrong = _outside(index, low, size)
    if wrong is not None:
        raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def _require_within_self(index: Array, size: int) -> None:
    if _outside(index, 0, size) is not None:
        raise IndexError("index out of range in self")


def _require_within_numel(index: Array, numel: int, nothing: str) -> None:
    if index.size and not numel:
        raise IndexError(nothing)
    wrong = _outside(index, -numel, numel)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {numel} elements.")


def _require_integer(index: Array, name: str) -> None:
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _require_same_dtype(name: str, x: Array, source: Array, what: str) -> None:
    if x.dtype != source.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to {what}.dtype")


# ---------------------------------------------------------------------------------------------------- offsets


def _flat_copy(x: Array) -> Array:
    return np.array(x, order="C", copy=True).reshape(-1)


def _element_positions(shape: Shape, dim: int, index: Array) -> Array:
    """Offsets into a contiguous array of `shape` of the elements that `index` names along `dim`."""
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    others: Any = 0
    for axis, extent in enumerate(index.shape):
        if axis != dim and extent > 1:
            column = (extent,) + (1,) * (index.ndim - axis - 1)
            others = others + (np.arange(extent) * steps[axis]).reshape(column)
    return np.asarray(index * np.int64(steps[dim]) + others)


def _row_positions(shape: Shape, dim: int, index: Array) -> Array:
    """Offsets, shaped (before, index, after), of the slices that a vector `index` names along `dim`."""
    before, after = prod(shape[:dim]), prod(shape[dim + 1 :])
    start = np.arange(before)[:, None] * shape[dim] + index
    return np.asarray(start[:, :, None] * after + np.arange(after))


def _at_least_1d(x: Array, index: Array, dim: int) -> tuple[Array, Array, int]:
    if x.ndim and index.ndim:
        return x, index, dim % x.ndim
    return x.reshape(x.shape or (1,)), index.reshape(index.shape or (1,)), 0


def _require_rank(x: Array, index: Array, name: str) -> None:
    if index.size:
        _require_integer(index, name)
    if index.size and max(x.ndim, 1) != max(index.ndim, 1):
        whole = "input" if name == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whole} tensor")


def _fits(index: Shape, shape: Shape, dim: int) -> bool:
    return all(axis == dim or inner <= outer for axis, (inner, outer) in enumerate(zip(index, shape, strict=True)))


# ----------------------------------------------------------------------------------------- element by element


def gather(x: Array, dim: int, index: Array) -> Array:
    """out[i][j][k] = x[index[i][j][k]][j][k] for dim = 0, and so on (`index` may be smaller than x)."""
    _require_rank(x, index, "gather")
    if not index.size:
        return np.empty(index.shape, x.dtype)
    rows, columns, dim = _at_least_1d(x, index, dim)
    if not _fits(columns.shape, rows.shape, dim):
        raise RuntimeError(
            f"Size does not match at dimension {_first_misfit(columns.shape, rows.shape, dim)} expected "
            f"index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim}"
        )
    _require_within_dim(columns, rows.shape[dim], dim)
    if not columns.size:
        return np.empty(index.shape, x.dtype)
    return rows.reshape(-1).take(_element_positions(rows.shape, dim, columns)).reshape(index.shape)


def _first_misfit(index: Shape, shape: Shape, dim: int) -> int:
    return next(axis for axis, size in enumerate(index) if axis != dim and size > shape[axis])


def _targets(x: Array, dim: int, index: Array, src: Array | None, name: str = "scatter") -> tuple[Array, Any]:
    """Where a scatter writes (flat offsets into x), and what: the part of `src` that `index` covers."""
    _require_rank(x, index, name)
    if not index.size:
        return np.empty(0, np.int64), None if src is None else src.reshape(-1)[:0]
    if src is not None and max(src.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    rows, columns, dim = _at_least_1d(x, index, dim)
    if index.size and not _fits(columns.shape, rows.shape, dim):
        raise RuntimeError(_scatter_misfit(x, dim, index, src))
    values = None
    if src is not None:
        _require_same_dtype("scatter", x, src, "src")
        source = src.reshape(src.shape or (1,))
        if index.size and not _fits(columns.shape, source.shape, -1):
            raise RuntimeError(_scatter_misfit(x, dim, index, src))
        values = source[tuple(map(slice, columns.shape))] if index.size else source.reshape(-1)[:0]
    _require_within_dim(columns, rows.shape[dim], dim)
    return _element_positions(rows.shape, dim, columns), values


def _scatter_misfit(x: Array, dim: int, index: Array, src: Array | None) -> str:
    text = f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)}"
    text = f"{text} apart from dimension {dim}"
    return text if src is None else f"{text} and to be no larger size than src {list(src.shape)}"


def scatter(x: Array, dim: int, index: Array, src: Array | complex, reduce: str | None = None) -> Array:
    """x with src written (the last duplicate wins), added or multiplied where `index` names."""
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    array = src if isinstance(src, np.ndarray) else None
    positions, values = _targets(x, dim, index, array)
    if array is None:
        values = np.asarray(src).astype(x.dtype)
    if reduce is None:
        return _assign(x, positions, values)
    return _accumulate(np.add if reduce == "add" else np.multiply, x, positions, values)


def _assign(x: Array, positions: Array, values: Any) -> Array:
    out = _flat_copy(x)
    if positions.size:
        out[positions] = values
    return out.reshape(x.shape)


def _accumulate(ufunc: np.ufunc, x: Array, positions: Array, values: Any, wide: bool = True) -> Array:
    """x with `values` folded in at flat `positions`, duplicates in turn, half floats in float32 (if `wide`)."""
    out = _flat_copy(x)
    if not positions.size:
        return out.reshape(x.shape)
    if wide and is_half(x.dtype):
        out, values = out.astype(np.float32), values.astype(np.float32)
    with np.errstate(all="ignore"):
        ufunc.at(out, positions.reshape(-1), values.reshape(-1) if values.ndim else values)
    return out.astype(x.dtype, copy=False).reshape(x.shape)


def scatter_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    """The adjoint of gather, added to x."""
    positions, values = _targets(x, dim, index, src, "scatter_add")
    return _accumulate(np.add, x, positions, values)


_FOLDS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if dtype.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def _require_ordered(x: Array, reduce: str, name: str) -> None:
    kind = x.dtype.kind
    if (kind == "c" and reduce in ("amax", "amin")) or (kind == "b" and reduce == "mean"):
        raise NotImplementedError(f"\"{name}_{reduce}\" not implemented for '{title(x)}'")


def scatter_reduce(x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True) -> Array:
    """x with src folded in by `reduce`; without `include_self`, x shows only where nothing was folded in."""
    if reduce not in _FOLDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _require_ordered(x, reduce, "scatter_reduce")
    positions, values = _targets(x, dim, index, src, "scatter_reduce")
    return _reduce_at(x, positions, values, reduce, include_self)


def _reduce_at(x: Array, positions: Array, values: Array, reduce: str, include_self: bool, wide: bool = True) -> Array:
    start = x if include_self else _assign(x, positions, _identity(reduce, x.dtype))
    if reduce != "mean":
        return _accumulate(_FOLDS[reduce], start, positions, values, wide)
    if wide and is_half(x.dtype):
        return _mean_at(start.astype(np.float32), positions, values.astype(np.float32), include_self).astype(x.dtype)
    return _mean_at(start, positions, values, include_self, wide)


def _mean_at(start: Array, positions: Array, values: Array, include_self: bool, wide: bool = True) -> Array:
    total = _accumulate(np.add, start, positions, values, wide)
    count = np.bincount(positions.reshape(-1), minlength=start.size).reshape(start.shape) + int(include_self)
    divide = np.floor_divide if start.dtype.kind in "iu" else np.true_divide
    return np.asarray(divide(total, np.maximum(count, 1).astype(start.dtype)), dtype=start.dtype)


# --------------------------------------------------------------------------------------------- slice by slice


def _vector(index: Array, name: str) -> Array:
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {title(index)}")
    return index.reshape(-1)


def index_select(x: Array, dim: int, index: Array) -> Array:
    """The slices of x along `dim` that the vector `index` names."""
    index = _vector(index, "index_select")
    rows = x.reshape(x.shape or (1,))
    dim %= rows.ndim
    if rows.ndim > 1 and index.size and not rows.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if x.ndim == 0 and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    talks = dim == 1 or (rows.ndim > 1 and not rows.size)  # other axes say less
    wrong = index[(index < 0) | (index >= rows.shape[dim])] if talks else index[:0]
    if wrong.size:
        wrong = wrong[0]
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={rows.shape[dim]}")
    _require_within_self(index, rows.shape[dim])
    out = rows.take(index, axis=dim, mode="clip") if index.size else np.empty(_replaced(rows, dim, 0), x.dtype)
    return out.reshape(()) if x.ndim == 0 else out


def _replaced(x: Array, dim: int, size: int) -> Shape:
    return (*x.shape[:dim], size, *x.shape[dim + 1 :])


def _slices(x: Array, dim: int, index: Array, src: Array) -> tuple[Array, Array]:
    """Flat offsets of the named slices of x, and src in the same (before, index, after) shape."""
    shape = x.shape or (1,)
    positions = _row_positions(shape, dim, index)
    return positions, src.reshape(positions.shape)


def _require_slices(x: Array, dim: int, index: Array, src: Array, name: str, error: type[Exception]) -> None:
    shape, source = x.shape or (1,), src.shape or (1,)
    extent = source[dim] if dim < len(source) else 1
    if index.size != extent:
        comma = ", for dim: " + str(dim) if error is RuntimeError else ""
        colon = ":" if error is RuntimeError else ""
        raise error(
            f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim){colon} ({extent}){comma}"
        )
    ranks_apart = x.ndim != src.ndim and name != "index_copy"
    if ranks_apart or shape[:dim] + shape[dim + 1 :] != source[:dim] + source[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x.shape)} source.shape = {list(src.shape)}"
        )


def index_add(x: Array, dim: int, index: Array, src: Array, alpha: complex = 1) -> Array:
    """x with alpha * src added to the slices `index` names: the adjoint of index_select, added to x."""
    index, dim = _vector(index, "index_add"), dim % max(x.ndim, 1)
    _require_slices(x, dim, index, src, "index_add", RuntimeError)
    if x.ndim > 1 and not x.size:
        return x.copy()
    size = (x.shape or (1,))[dim]
    if x.ndim > 1 and dim in (0, x.ndim - 1) and alpha == 1 and index.dtype == np.int64:  # a scatter to PyTorch
        _require_within_dim(index, size, dim)
    _require_within_self(index, size)
    positions, values = _slices(x, dim, index, src)
    return _accumulate(np.add, x, positions, values if alpha == 1 else values * np.asarray(alpha).astype(x.dtype))


def index_copy(x: Array, dim: int, index: Array, src: Array) -> Array:
    """x with the slices `index` names replaced by those of src."""
    if index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {title(index)}")
    index, dim = _vector(index, "index_copy"), dim % max(x.ndim, 1)
    _require_slices(x, dim, index, src, "index_copy", IndexError)
    if index.size and not x.size:
        return _untouched(x, dim)
    wrong = _outside(index, 0, (x.shape or (1,))[dim])
    if wrong is not None:
        size = (x.shape or (1,))[dim]
        raise IndexError(f"index_copy_(): index {wrong} is out of bounds for dimension {dim} with size {size}")
    return _assign(x, *_slices(x, dim, index, src))


def _untouched(x: Array, dim: int) -> Array:
    """What a write along `dim` leaves of an array without elements: nobody looks where, if there are slices at all."""
    if not x.shape[dim] and all(_replaced(x, dim, 1)):
        raise RuntimeError(f"index is out of bounds for dimension {dim} with size 0")
    return x.copy()


def index_fill(x: Array, dim: int, index: Array, value: Any) -> Array:
    """x with `value` in the slices `index` names; negative indices count from the end."""
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    index, dim = _vector(index, "index_fill"), dim % max(x.ndim, 1)
    size = (x.shape or (1,))[dim]
    if index.size and not x.size:
        return _untouched(x, dim)
    _require_within_dim(index, size, dim, IndexError, low=-size)
    return _assign(x, _row_positions(x.shape or (1,), dim, index % max(size, 1)), np.asarray(value).astype(x.dtype))


def index_reduce(x: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True) -> Array:
    """scatter_reduce for whole slices: prod, mean, amax or amin."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    index, dim = _vector(index, "index_reduce"), dim % max(x.ndim, 1)
    _require_ordered(x, reduce, "index_reduce")
    _require_slices(x, dim, index, src, "index_reduce", RuntimeError)
    _require_within_self(index, (x.shape or (1,))[dim])
    # Unlike scatter_reduce, PyTorch rounds half floats here at every step.
    return _reduce_at(x, *_slices(x, dim, index, src), reduce, include_self, wide=False)


# ---------------------------------------------------------------------------------------------- flat and mask


def take(x: Array, index: Array) -> Array:
    """The elements of flattened x that `index` names, in the shape of `index`."""
    _require_integer(index, "take")
    _require_within_numel(index, x.size, "take(): tried to take from an empty tensor")
    return np.asarray(x.reshape(-1).take(index)) if index.size else np.empty(index.shape, x.dtype)


def put(x: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """x with source written (or added) at flat offsets."""
    _require_integer(index, "put_")
    if x.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {title(x)} and source.dtype = {title(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _require_within_numel(index, x.size, "put_(): Tried to put elements into an empty tensor")
    positions, values = index.reshape(-1) % max(x.size, 1), source.reshape(-1)
    return _accumulate(np.add, x, positions, values) if accumulate else _assign(x, positions, values)


def take_along_dim(x: Array, index: Array, dim: int | None = None) -> Array:
    """gather with broadcasting between x and `index`; without `dim`, over the flattened x."""
    if dim is None:
        return gather(x.reshape(-1), 0, index.reshape(-1))
    if x.ndim != index.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {x.ndim} dimensions for input, and {index.ndim} dimensions for indices"
        )
    dim %= max(x.ndim, 1)
    shape = broadcast_shapes(_replaced(x, dim, 1), _replaced(index, dim, 1)) if x.ndim else ()
    wide_x = np.broadcast_to(x, (*shape[:dim], *x.shape[dim : dim + 1], *shape[dim + 1 :]))
    wide_index = np.broadcast_to(index, (*shape[:dim], *index.shape[dim : dim + 1], *shape[dim + 1 :]))
    return gather(wide_x, dim, wide_index)


def masked_select(x: Array, mask: Array) -> Array:
    """The elements of x where mask holds, both broadcast, as a vector."""
    if mask.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(x.shape, mask.shape) or (1,)
    out: Array = np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]
    return out


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    """x with the leading elements of source written, in order, where mask holds."""
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {title(mask)}")
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{title(x)} and {title(source)}"
        )
    shape = broadcast_shapes(x.shape, mask.shape)
    out = np.array(np.broadcast_to(x, shape), order="C", copy=True)
    positions = np.flatnonzero(np.broadcast_to(mask, shape))
    if positions.size > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out.reshape(-1)[positions] = source.reshape(-1)[: positions.size]
    return out


def masked_scatter_source(g: Array, mask: Array, source_shape: Shape) -> Array:
    """The adjoint of masked_scatter in its source: what g holds under the mask, then zeros."""
    out = np.zeros(prod(source_shape), g.dtype)
    chosen = masked_select(g, mask)
    out[: chosen.size] = chosen
    return out.reshape(source_shape)


def index_put(x: Array, key: Any, values: Array, accumulate: bool = False) -> Array:
    """x with x[key] = values, or += with every duplicate counted; `key` is any NumPy index."""
    out = np.array(x, order="C", copy=True)
    if not accumulate:
        out[key] = values
        return out
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, np.ndarray) and key.dtype.kind in "iu" and x.ndim:
        return _add_rows(out, key, values)
    positions = _key_positions(x.shape, key)
    return _accumulate(np.add, x, positions, np.broadcast_to(values, positions.shape))


def _key_positions(shape: Shape, key: Any) -> Array:
    """Flat offsets of the elements that a key names. Index arrays and whole slices need no table of them all."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(_is_whole(p) or (isinstance(p, np.ndarray) and p.dtype.kind in "iu") for p in parts):
        return np.asarray(np.arange(prod(shape)).reshape(shape)[key])
    axes = [axis for axis, p in enumerate(parts) if isinstance(p, np.ndarray)]
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    named: Any = 0
    for axis in axes:
        index, size = parts[axis], shape[axis]
        _require_within_dim(index, size, axes.index(axis), IndexError, low=-size)
        named = named + (index % max(size, 1)) * np.int64(steps[axis])
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    others = [axis for axis in range(len(shape)) if axis not in axes]
    return _outer_sum(
        named, [(shape[a], steps[a]) for a in others[:first]], [(shape[a], steps[a]) for a in others[first:]]
    )


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _outer_sum(named: Array, before: list[tuple[int, int]], after: list[tuple[int, int]]) -> Array:
    """Offsets named by index arrays, with every offset of the axes before and after them."""
    rank = len(before) + named.ndim + len(after)
    out = named.reshape(named.shape + (1,) * len(after))
    places = [*range(len(before)), *range(rank - len(after), rank)]
    for place, (size, step) in zip(places, before + after):
        out = out + (np.arange(size) * step).reshape((size,) + (1,) * (rank - place - 1))
    return np.asarray(out)


def _add_rows(x: Array, index: Array, values: Array) -> Array:
    """The commonest key, one integer array over the first axis, without an offset table of x's own size."""
    _require_within_dim(index, x.shape[0], 0, IndexError, low=-x.shape[0])
    positions = _row_positions(x.shape, 0, index.reshape(-1) % max(x.shape[0], 1))
    wide = np.broadcast_to(values, index.shape + x.shape[1:])
    return _accumulate(np.add, x, positions, wide.reshape(positions.shape))


# ----------------------------------------------------------------------------------------- counts, embeddings


def bincount(x: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each integer occurs, or the sum of its weights: float32 for float32 ones, else float64."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{title(x)}'")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(x, minlength=minlength)
    if weights.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    dtype = np.float32 if weights.dtype == np.float32 else np.float64
    return np.bincount(x, weights.astype(np.float64), minlength).astype(dtype)


def embedding(weight: Array, indices: Array) -> Array:
    """The rows of `weight` that `indices` names."""
    _require_integer(indices, "embedding")
    if indices.size and not weight.shape[0]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    _require_within_self(indices, weight.shape[0])
    if not indices.size:
        return np.empty(indices.shape + weight.shape[1:], weight.dtype)
    return weight.take(indices, axis=0, mode="clip")


def _row_scale(indices: Array, padding_idx: int | None, scale_by_freq: bool, dtype: Any) -> Array | None:
    """What each looked-up row's gradient is multiplied by; None where that is 1 throughout."""
    flat = indices.reshape(-1)
    if scale_by_freq and flat.size:
        scale = (1 / np.bincount(flat)[flat]).astype(dtype)
    elif padding_idx is not None:
        scale = np.ones(flat.shape, dtype)
    else:
        return None
    if padding_idx is not None:
        scale[flat == padding_idx] = 0
    return np.asarray(scale[:, None])


@through_float32
def embedding_weight(
    g: Array, indices: Array, num_embeddings: int, padding_idx: int | None = None, scale_by_freq: bool = False
) -> Array:
    """The adjoint of embedding: each row of g added to the row it came from.

    The padding row gets nothing, whatever g holds; `scale_by_freq` divides by how often a row was looked up.
    """
    _require_within_self(indices, num_embeddings)
    width = g.shape[-1]
    rows, flat = g.reshape(indices.size, width), indices.reshape(-1)
    if padding_idx is not None:
        kept = flat != padding_idx
        rows, flat = rows[kept], flat[kept]
    scale = _row_scale(flat, None, scale_by_freq, g.dtype)
    out = np.zeros((num_embeddings, width), g.dtype)
    return _accumulate(np.add, out, _row_positions(out.shape, 0, flat)[0], rows if scale is None else rows * scale)


@through_float32
def embedding_weight_adjoint(
    t: Array, indices: Array, padding_idx: int | None = None, scale_by_freq: bool = False
) -> Array:
    """The adjoint of embedding_weight in g: looked up again, under the same mask and scale."""
    out = embedding(t, indices)
    scale = _row_scale(indices, padding_idx, scale_by_freq, t.dtype)
    return out if scale is None else (out.reshape(indices.size, t.shape[-1]) * scale).reshape(out.shape)


@through_float32
def embedding_renorm(weight: Array, indices: Array, max_norm: float, norm_type: float = 2.0) -> Array:
    """weight with the looked-up rows shortened to `max_norm` where they are longer."""
    _require_within_self(indices, weight.shape[0])
    if weight.dtype.kind in "iub":
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {title(weight)} instead."
        )
    rows = np.unique(indices)
    norms = np.linalg.norm(weight[rows], norm_type, axis=1)
    # 1e-7 as in PyTorch: the quotient must not round back above the bound.
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(weight.dtype)
    out = weight.copy()
    out[rows] *= scale[:, None]
    return out
