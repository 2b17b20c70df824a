"""Copies in another arrangement: repeated, rolled, turned, cut to a triangle, put on a diagonal, shuffled."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core import dtype as dtypes
from chainrule.core.family import call, general, shape_of
from chainrule.core.layout import contiguous_format
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import dense_strides, normalize_dim, normalize_dims
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT, laid_as, packed, packed_or_last
from chainrule.ops.arguments import as_int, one_of, read_ints, read_list
from chainrule.ops.copying import clone
from chainrule.ops.join import spread, stack
from chainrule.ops.parts import diagonal, place_diagonal, select, slice_view
from chainrule.ops.strided import check_bounds, geometry
from chainrule.ops.views import expand, flatten, reshape, unsqueeze, view_op

__all__ = ["diag_embed", "flip", "repeat", "roll", "rot90", "tril", "triu"]

Shape = tuple[int, ...]


# ---------------------------------------------------------------------------------------------------------- repeating


def _batch_repeat(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,), times = values, params["repeats"]
    have = shape_of(v)[1:]
    v = view_op(v, (size, *(1,) * (len(times) - len(have)), *have))
    return _repeat(v, repeats=(1, *times))


@general(
    linear=True,
    spelled="",
    name="repeat",
    vmap=_batch_repeat,
    samples=samples(real, [((2, 3),)], repeats=[(2, 1), (1, 2, 3)]),
)
def _repeat(xp: Any, input: Array, *, repeats: Shape) -> Array:
    """Copies of the tensor, so many along each axis."""
    have = (1,) * (len(repeats) - input.ndim) + input.shape
    pairs = [x for r, n in zip(repeats, have) for x in (r, n)]
    apart = input.reshape([x for n in have for x in (1, n)])
    result = xp.empty(pairs, input.dtype)
    result[...] = apart
    return result.reshape([r * n for r, n in zip(repeats, have)])


def _unrepeat(g: Any, input_shape: Shape, repeats: Shape) -> Any:
    have = (1,) * (len(repeats) - len(input_shape)) + input_shape
    apart = g.reshape(tuple([x for r, n in zip(repeats, have) for x in (r, n)]))
    return apart.sum(tuple(range(0, 2 * len(have), 2))).reshape(input_shape) if have else g


_repeat.vjp(input=_unrepeat)


@composite("m", quick=True)
def repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """Copies of the tensor, so many along each axis; there may be more axes than the tensor has, in front."""
    given = one_of("repeat", repeats, named, "repeats")
    if not repeats and not named:
        raise TypeError('repeat() missing 1 required positional arguments: "repeats"')
    times = read_ints("repeat", "repeats", given)
    if len(times) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    have = (1,) * (len(times) - self.ndim) + tuple(self.shape)
    if any(r < 0 for r in times):
        sizes = [r * n for r, n in zip(times, have)]
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(s for s, r in zip(sizes, times) if r < 0)}: {sizes}"
        )
    return _repeat(self, repeats=times)  # type: ignore[no-any-return]


@composite("f", name="tile", quick=True)
def _tile(input: Tensor, dims: Any) -> Tensor:
    """`repeat`, with missing counts taken as 1."""
    return tile(input, read_list("tile", "dims", dims, 2))


@composite("m", quick=True)
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """`repeat`, with missing counts taken as 1."""
    times = read_ints("tile", "dims", one_of("tile", dims, named, "dims"))
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@composite()
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Every element (or part along `dim`) repeated; with a single tensor of counts, the index that would do it."""
    if repeats is None:
        return _positions(input)
    if isinstance(repeats, Tensor) and repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if dim is None:
        input, dim = flatten(input), 0
    if not input.ndim and isinstance(repeats, Tensor):
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = normalize_dim(dim, input.ndim)
    if not input.ndim:
        normalize_dim(dim + 1, 0)  # there is no axis behind it, along which parts would be repeated: PyTorch's words
    if isinstance(repeats, Tensor):
        alone = repeats.shape.numel() == 1
        return _by_counts(input, expand(repeats, (input.shape[dim],)) if alone else repeats, dim, output_size)
    times = as_int("repeat_interleave", "repeats", 2, repeats)
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    have = tuple(input.shape)
    if output_size is not None and output_size != have[dim] * times:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {have[dim] * times} but got {output_size}"
        )
    wide = expand(unsqueeze(input, dim + 1), (*have[: dim + 1], times, *have[dim + 1 :]))
    return view_op.public(  # type: ignore[no-any-return]
        clone(wide, memory_format=contiguous_format), (*have[:dim], have[dim] * times, *have[dim + 1 :])
    )


def _by_counts(input: Tensor, counts: Tensor, dim: int, output_size: int | None) -> Tensor:
    if counts.shape[0] != input.shape[dim]:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.shape[0]} and input.size({dim}) = {input.shape[dim]}"
        )
    index = _positions(counts)
    if output_size is not None and output_size != index.shape[0]:
        raise RuntimeError("allocated size does not match required size")
    return call("index_select", input, dim=dim, index=index)  # type: ignore[no-any-return]


def _positions(counts: Tensor) -> Tensor:
    if counts.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{counts.dtype.title}'")
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    raw: Any = counts.raw
    if (raw < 0).any():
        raise RuntimeError("repeats can not be negative")
    return call("from_numpy", np.repeat(np.arange(raw.size), raw).astype(raw.dtype))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------ turning


def _batch_roll(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,), dims = values, params["dims"]
    have = shape_of(v)
    if not dims:
        return view_op(_roll(reshape(v, (size, -1)), shifts=params["shifts"], dims=(1,)), have)
    return _roll(v, shifts=params["shifts"], dims=tuple([1 + normalize_dim(d, len(have) - 1) for d in dims]))


@general(
    linear=True,
    spelled="",
    name="roll",
    vmap=_batch_roll,
    samples=samples(real, [((3, 4),)], shifts=[(1,)], dims=[(), (0,), (-1,)]),
)
def _roll(xp: Any, input: Array, *, shifts: Shape, dims: Shape) -> Array:
    """The elements moved around along some axes."""
    return packed_or_last(xp.roll(input, shifts[0] if not dims else shifts, dims or None))


_roll.vjp(input=lambda g, shifts, dims: _roll(g, shifts=tuple([-s for s in shifts]), dims=dims))


@composite(quick=True)
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """The elements moved around: what leaves at one end of an axis comes in at the other."""
    steps = read_ints("roll", "shifts", shifts if isinstance(shifts, tuple) else (shifts,))
    axes = () if dims is None else read_ints("roll", "dims", dims if isinstance(dims, tuple) else (dims,), 2)
    if not steps:
        raise RuntimeError("`shifts` required")
    if len(steps) != (len(axes) or 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}")
    if not input.numel():
        axes = ()  # PyTorch does not look at them then
    for d in axes:
        normalize_dim(d, input.ndim, wrap_scalar=False)
    return _roll(input, shifts=steps, dims=axes)  # type: ignore[no-any-return]


def _batch_flip(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    return _flip(v, dims=tuple([1 + d for d in normalize_dims(params["dims"], rank)])) if rank else clone(v)


@general(
    linear=True, spelled="", name="flip", vmap=_batch_flip, samples=samples(real, [((3, 4),)], dims=[(0,), (0, -1)])
)
def _flip(xp: Any, input: Array, *, dims: Shape) -> Array:
    """The order of the elements along some axes reversed."""
    axes = normalize_dims(dims, input.ndim)
    if not input.ndim:
        return input.copy()
    result = memory.room_like(input)
    result[...] = input[tuple([slice(None, None, -1) if d in axes else slice(None) for d in range(input.ndim)])]
    return result


_flip.vjp(input=lambda g, dims: _flip(g, dims=dims))


@composite("f", name="flip", quick=True)
def _flip_by(input: Tensor, dims: Any) -> Tensor:
    """A copy with the order of the elements along some axes reversed."""
    return _flip(input, dims=read_list("flip", "dims", dims, 2))  # type: ignore[no-any-return]


@composite("m", quick=True)
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """A copy with the order of the elements along some axes reversed."""
    if not dims and not named:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    return _flip(input, dims=read_ints("flip", "dims", one_of("flip", dims, named, "dims")))  # type: ignore[no-any-return]


@composite(quick=True)
def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, dims=(1,))  # type: ignore[no-any-return]


@composite(quick=True)
def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, dims=(0,))  # type: ignore[no-any-return]


def _batch_rot90(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    return _rot90(v, k=params["k"], dims=tuple([1 + normalize_dim(d, rank) for d in params["dims"]]))


@general(
    linear=True,
    spelled="",
    name="rot90",
    vmap=_batch_rot90,
    samples=samples(real, [((2, 3),)], k=[1, 2, -1, 4], dims=[(0, 1), (1, 0)]),
)
def _rot90(xp: Any, input: Array, *, k: int, dims: Shape) -> Array:
    """A plane turned by quarters."""
    first, second = dims
    turned = {0: (), 1: (second,), 2: (first, second), 3: (first,)}[k % 4]
    result = _flip.op.forward(xp, input, dims=turned) if turned else input.copy()
    return result.swapaxes(first, second) if k % 2 else result


_rot90.vjp(input=lambda g, k, dims: _rot90(g, k=-k, dims=dims))


@composite(quick=True)
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two axes turned by `k` quarters, from the first axis towards the second."""
    axes = read_list("rot90", "dims", dims, 3)
    rank = input.ndim
    if len(axes) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(axes)}")
    if rank < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {rank}")
    first, second = axes
    for name, d in (("0", first), ("1", second)):
        if not -rank <= d < rank:
            raise IndexError(f"Rotation dim{name} out of range, dim{name} = {d}")
    if first == second or abs(first - second) == rank:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}")
    return _rot90(input, k=as_int("rot90", "k", 2, k), dims=axes)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------- triangles and diagonals


def _batch_tril(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    _check_matrix("tril", len(shape_of(values[0])) - 1)
    return tril(values[0], **params)


def _batch_triu(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    _check_matrix("triu", len(shape_of(values[0])) - 1)
    return triu(values[0], **params)


def _check_matrix(title: str, rank: int) -> None:
    if rank < 2:
        raise RuntimeError(f"{title}: input tensor must have at least 2 dimensions")


def _masked(xp: Any, input: Any, diagonal: int, lower: bool) -> Any:
    rows, columns = input.shape[-2:]
    if diagonal.__class__ is not int:
        diagonal = as_int("tril" if lower else "triu", "diagonal", 2, diagonal)
    diagonal = min(max(diagonal, -rows), columns)  # all or nothing beyond
    keep = np.tri(rows, columns, diagonal if lower else diagonal - 1, dtype=np.bool_)
    return packed(xp.where(keep if lower else ~keep, input, np.zeros((), input.dtype)))


def _write_zeros(title: str) -> Any:
    """How the in-place forms write: zeros alone, so that elements that share memory do not matter."""

    def write(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        target, diagonal, lower = inputs[0].raw, params["diagonal"], title == "tril"
        _check_matrix(title, target.ndim)
        rows, columns = target.shape[-2:]
        keep = np.tri(rows, columns, diagonal if lower else diagonal - 1, dtype=np.bool_)
        target[..., ~keep if lower else keep] = 0

    return write


_corner = samples(real, [((3, 4),), ((2, 3, 3),)], diagonal=[0, 1, -1])


@general(linear=True, exact=SAME_OUT, spelled="fmi", samples=_corner, vmap=_batch_tril, write=_write_zeros("tril"))
def tril(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """The elements on and below a diagonal, zeros elsewhere."""
    _check_matrix("tril", input.ndim)
    return _masked(xp, input, diagonal, True)


tril.vjp(input=lambda g, diagonal: tril(g, diagonal))


@general(linear=True, exact=SAME_OUT, spelled="fmi", samples=_corner, vmap=_batch_triu, write=_write_zeros("triu"))
def triu(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """The elements on and above a diagonal, zeros elsewhere."""
    _check_matrix("triu", input.ndim)
    return _masked(xp, input, diagonal, False)


triu.vjp(input=lambda g, diagonal: triu(g, diagonal))


def _indices(title: str, row: int, col: int, offset: int, options: dict[str, Any]) -> Tensor:
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")
    found = np.tril_indices(row, offset, col) if title == "tril" else np.triu_indices(row, offset, col)
    kind = options.pop("dtype", None) or dtypes.int64
    if kind is not dtypes.int64 and kind is not dtypes.int32:
        raise RuntimeError(f"\"{title}\" not implemented for '{kind.title}'")
    return call("tensor", np.stack(found), dtype=kind, **options)  # type: ignore[no-any-return]


@composite("f")
def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The positions, in two rows, of the lower triangle of a matrix."""
    return _indices("tril", row, col, offset, _known("tril_indices", options))


@composite("f")
def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The positions, in two rows, of the upper triangle of a matrix."""
    return _indices("triu", row, col, offset, _known("triu_indices", options))


def _known(title: str, options: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in options.items() if k in ("dtype", "device", "pin_memory")}
    odd = set(options) - {"layout", *kept}
    if odd:
        raise TypeError(f"{title}() got an unexpected keyword argument '{odd.pop()}'")
    return kept


def _batch_diag_embed(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v))  # of the result of one example
    return diag_embed(v, params["offset"], *(1 + normalize_dim(params[n], rank) for n in ("dim1", "dim2")))


@general(
    linear=True, exact=SAME_OUT, vmap=_batch_diag_embed,
    samples=samples(real, [((2, 3),)], offset=[0, 1, -1], dim1=[0, -3], dim2=[-1, 1]),
)  # fmt: skip
def diag_embed(xp: Any, input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Zeros with the last axis of the tensor along the diagonals of planes that two new axes span."""
    rank = input.ndim + 1
    first, second = normalize_dim(dim1, rank), normalize_dim(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = (input.shape[-1] if input.ndim else 1) + abs(offset)
    rest = iter(input.shape[:-1])
    shape = tuple([side if d in (first, second) else next(rest) for d in range(rank)])
    whole = xp.zeros(shape, input.dtype)
    diagonal.op.forward(xp, whole, offset, first, second)[...] = input
    return whole


diag_embed.vjp(input=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))


def _batch_diagonal_copy(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    return clone(diagonal(v, params["offset"], *(1 + normalize_dim(params[n], rank) for n in ("dim1", "dim2"))))


@general(linear=True, exact=SAME_OUT, samples=samples(real, [((3, 4),)], offset=[0, 1]), vmap=_batch_diagonal_copy)
def diagonal_copy(xp: Any, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy of the diagonals."""
    return diagonal.op.forward(xp, input, offset, dim1, dim2).copy()


diagonal_copy.op.node_name = "DiagonalBackward0_copy"
diagonal_copy.vjp(
    input=lambda g, input_shape, offset, dim1, dim2: place_diagonal(
        g, shape=input_shape, offset=offset, dim1=dim1, dim2=dim2
    )
)


@composite(quick=True)
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    op = diag_embed if input.ndim == 1 else diagonal_copy
    return op.public(input, diagonal, out=out)  # type: ignore[no-any-return]


@composite(quick=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of the tensor on its diagonal."""
    return diag_embed.public(reshape(input, (-1,)), offset)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------ the inverse of views, as copies


def _batch_pair(values: Any, batched: Any, size: int) -> tuple[Any, Any]:
    return tuple([v if b else spread(v, size) for v, b in zip(values, batched)])


def _fits(have: Shape, want: Shape) -> None:
    if tuple(have) != tuple(want):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. "
            f"src size = {list(have)}, slice size = {list(want)}"
        )


def _kept_strides(x: Any) -> Shape:
    """The steps of a copy: the same, gaps included, but of stretched axes."""
    steps = memory.element_strides(x)
    odd = memory.has_overlap(x) or min(steps, default=0) < 0  # stretched, or read backwards
    return dense_strides(x.shape, tuple([abs(s) for s in steps])) if odd else steps


def _scattered(input: Any, src: Any, window: Any) -> Any:
    whole = memory.relaid(input, _kept_strides(input)) if not input.flags.c_contiguous else input.copy()
    part = window(whole)
    _fits(src.shape, part.shape)
    part[...] = src
    return whole


def _dim_moved(op: Any) -> Any:
    def rule(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        x, src = _batch_pair(values, batched, size)
        rank = len(shape_of(x)) - 1
        return op[0](x, src, **{k: 1 + normalize_dim(v, rank) if k.startswith("dim") else v for k, v in params.items()})

    return rule


_late: dict[str, list[Any]] = {name: [] for name in ("select", "slice", "diagonal")}


@general(vmap=_dim_moved(_late["select"]), samples=samples(real, [((3, 4), (4,))], dim=[0], index=[1, -1]))
def select_scatter(xp: Any, input: Array, src: Array, dim: int, index: int) -> Array:
    """A copy with `src` in the place that `select` would show."""
    return _scattered(input, src, lambda w: select.op.forward(xp, w, dim, index))


select_scatter.vjp(
    input=lambda g, src_shape, dim, index: select_scatter(g, _zeros(g, src_shape), dim, index),
    src=lambda g, dim, index: select(g, dim, index),
)


def _zeros(g: Any, shape: Shape) -> Any:
    return call("new_zeros", g, size=shape) if isinstance(g, Tensor) else np.zeros(shape, g.dtype)


@general(vmap=_dim_moved(_late["slice"]), samples=samples(real, [((4, 3), (2, 3))], dim=[0], start=[1], end=[3]))
def slice_scatter(
    xp: Any, input: Array, src: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Array:
    """A copy with `src` in the place that a slice would show."""
    return _scattered(input, src, lambda w: slice_view.op.forward(xp, w, dim, start, end, step))


slice_scatter.vjp(
    input=lambda g, src_shape, dim, start, end, step: slice_scatter(g, _zeros(g, src_shape), dim, start, end, step),
    src=lambda g, dim, start, end, step: slice_view(g, dim, start, end, step),
)


@general(vmap=_dim_moved(_late["diagonal"]), samples=samples(real, [((3, 4), (3,))], offset=[0, 1]))
def diagonal_scatter(xp: Any, input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy with `src` on the diagonals."""
    return _scattered(input, src, lambda w: diagonal.op.forward(xp, w, offset, dim1, dim2))


diagonal_scatter.vjp(
    input=lambda g, src_shape, offset, dim1, dim2: diagonal_scatter(g, _zeros(g, src_shape), offset, dim1, dim2),
    src=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
)
for _fn, _name in ((select_scatter, "select"), (slice_scatter, "slice"), (diagonal_scatter, "diagonal")):
    _late[_name].append(_fn)


@general(spelled="", name="as_strided_scatter")
def _as_strided_scatter(
    xp: Any, input: Array, src: Array, *, size: Shape, stride: Shape, offset: int, origin: Any
) -> Array:
    """A copy, at the same steps, with `src` where `as_strided` would look."""
    whole = memory.relaid(input, origin[1])
    part = memory.strided(whole, size, stride, offset - origin[2])
    _fits(src.shape, part.shape)
    memory.refuse_overlap(part)
    part[...] = src
    return whole


def _strided_of(g: Any, size: Shape, stride: Shape, offset: int, origin: Any) -> Any:
    return call("strided_take", g, size=size, stride=stride, storage_offset=offset, origin=origin)


_as_strided_scatter.vjp(
    input=lambda g, src_shape, size, stride, offset, origin: _as_strided_scatter(
        g, _zeros(g, src_shape), size=size, stride=stride, offset=offset, origin=origin
    ),
    src=lambda g, size, stride, offset, origin: _strided_of(g, size, stride, offset, origin),
)


@composite(quick=True)
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy with `src` where `as_strided` would look."""
    origin = geometry(input)
    shape, steps = (
        read_ints("as_strided_scatter", "size", (size,)),
        read_ints("as_strided_scatter", "stride", (stride,)),
    )
    first = origin[2] if storage_offset is None else storage_offset
    check_bounds(input, shape, steps, first)
    return _as_strided_scatter(input, src, size=shape, stride=steps, offset=first, origin=origin)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- channels


def _over_batch(op: Any) -> Any:
    return lambda values, batched, size, params: op[0](values[0], **params)


_pixels: dict[str, list[Any]] = {"up": [], "down": [], "channels": []}


@general(
    linear=True,
    spelled="fn",
    vmap=_over_batch(_pixels["up"]),
    samples=samples(real, [((1, 8, 2, 3),)], upscale_factor=[2]),
)
def pixel_shuffle(xp: Any, input: Array, upscale_factor: int) -> Array:
    """Channels become pixels: [..., C*r*r, H, W] to [..., C, H*r, W*r]."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    apart = input.reshape(*lead, c // (r * r), r, r, h, w)
    turned = apart.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return laid_as(xp.ascontiguousarray(turned).reshape(*lead, c // (r * r), h * r, w * r), input)


@general(
    linear=True,
    spelled="fn",
    vmap=_over_batch(_pixels["down"]),
    samples=samples(real, [((1, 2, 4, 6),)], downscale_factor=[2]),
)
def pixel_unshuffle(xp: Any, input: Array, downscale_factor: int) -> Array:
    """Pixels become channels: [..., C, H*r, W*r] to [..., C*r*r, H, W]."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for name, axis, n in (("height", -2, h), ("width", -1, w)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                f"but input.size({axis})={n} is not divisible by {r}"
            )
    n = len(lead)
    apart = input.reshape(*lead, c, h // r, r, w // r, r)
    turned = apart.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return xp.ascontiguousarray(turned).reshape(*lead, c * r * r, h // r, w // r)


pixel_shuffle.vjp(input=lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor))
pixel_unshuffle.vjp(input=lambda g, downscale_factor: pixel_shuffle(g, downscale_factor))


def _batch_channels(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    have = shape_of(v)
    flat = channel_shuffle(reshape(v, (size * have[1], *have[2:])), **params)
    return view_op(flat, have)


@general(linear=True, spelled="fn", vmap=_batch_channels, samples=samples(real, [((1, 6, 2, 2),)], groups=[2, 3]))
def channel_shuffle(xp: Any, input: Array, groups: int) -> Array:
    """The channels of `groups` groups, dealt out in turn."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    b, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    dealt = input.reshape(b, groups, c // groups, *rest).swapaxes(1, 2)
    return xp.ascontiguousarray(dealt).reshape(input.shape)


def _undealt(g: Any, input_shape: Shape, groups: int) -> Any:
    return channel_shuffle(g, input_shape[1] // groups)


channel_shuffle.vjp(input=_undealt)
spell("native_channel_shuffle", channel_shuffle.public, "f")
for _fn, _name in ((pixel_shuffle, "up"), (pixel_unshuffle, "down")):
    _pixels[_name].append(_fn)


# --------------------------------------------------------------------------------------------------------- grids


@composite("f")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors with the shape of the grid they span."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing is None:
        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
        )
    if not listed:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in listed:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    if any(t.dtype is not listed[0].dtype for t in listed):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.device is not listed[0].device for t in listed):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    axes = list(range(len(listed)))
    if indexing == "xy" and len(listed) >= 2:
        axes[:2] = 1, 0
    sizes = [0] * len(listed)
    for axis, t in zip(axes, listed):
        sizes[axis] = t.numel()
    ones = (1,) * len(listed)
    stretched = [view_op.public(t, (*ones[:axis], -1, *ones[axis + 1 :])) for axis, t in zip(axes, listed)]
    return tuple([expand.public(t, tuple(sizes)) for t in stretched])


@composite("f")
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, one per row."""
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]  # type: ignore[no-any-return]
    return stack.public([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)  # type: ignore[no-any-return]


@composite("f")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, one per row, in order."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return call("empty", (0,), dtype=input.dtype)  # type: ignore[no-any-return]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    columns = [call("index_select", input, dim=0, index=call("from_numpy", np.ascontiguousarray(c))) for c in chosen.T]
    return stack.public(columns, 1)  # type: ignore[no-any-return]


def _each(title: str, one: Any, tensors: Any) -> Any:
    if len(tensors) == 1:
        listed = tensors[0]
        return one(listed) if isinstance(listed, Tensor) else tuple([one(t) for t in listed])
    return tuple([one(t) for t in tensors])


@composite("f")
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one axis."""
    return _each("atleast_1d", lambda t: t if t.ndim else reshape(t, (1,)), tensors)


def _to_2d(t: Tensor) -> Tensor:
    return t if t.ndim > 1 else unsqueeze(t, 0) if t.ndim else reshape(t, (1, 1))


def _to_3d(t: Tensor) -> Tensor:
    if t.ndim > 2:
        return t
    if not t.ndim:
        return reshape(t, (1, 1, 1))
    return unsqueeze(t if t.ndim == 2 else unsqueeze(t, 0), -1)  # type: ignore[no-any-return]


@composite("f")
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two axes: a vector becomes a row."""
    return _each("atleast_2d", _to_2d, tensors)


@composite("f")
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three axes."""
    return _each("atleast_3d", _to_3d, tensors)
