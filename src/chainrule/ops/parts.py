"""Views of parts: an index, a slice, a diagonal, windows; and a tensor cut into several."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core import shape as shapes
from chainrule.core.family import call, general, shape_of, view
from chainrule.core.layout import contiguous_format
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.arguments import as_int, one_of, read_ints
from chainrule.ops.views import view_op

__all__ = [
    "AXES", "diagonal", "narrow", "place", "place_diagonal", "select", "slice_view", "split", "split_with_sizes",
    "unbind", "unfold",
]  # fmt: skip

Shape = tuple[int, ...]
AXES = [(slice(None),) * n for n in range(65)]  # an index of the axes before the one that matters


@view(linear=True, samples=samples(real, [((3, 4),), ((5, 4, 2),)], dim=[0, -1], index=[1, -1]))
def select(xp: Any, input: Array, dim: int, index: int) -> Array:
    """The part at `index` of the axis `dim`, without that axis."""
    at = dim if dim >= 0 else _selected_dim(dim, input)
    try:
        return input[(*AXES[at], index, ...)]
    except IndexError:
        return _refuse_select(input, dim, index)


def _selected_dim(dim: int, input: Any) -> int:
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return normalize_dim(dim, input.ndim)


def _refuse_select(input: Any, dim: int, index: int) -> NoReturn:
    dim = _selected_dim(dim, input)
    raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}")


select.vjp(
    input=lambda g, input_shape, dim, index: place(g, shape=input_shape, key=_select_key(len(input_shape), dim, index))  # type: ignore[has-type]
)


def _select_key(rank: int, dim: int, index: int) -> tuple[Any, ...]:
    return (*AXES[normalize_dim(dim, rank)], index, ...)


def _batch_keyed(fn: Any) -> Any:
    def rule(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        (v,) = values
        more = {"shape": (size, *params["shape"])} if "shape" in params else {}
        return fn[0](v, **more, key=(slice(None), *params["key"]))

    return rule


_cut: list[Any] = []
_place: list[Any] = []


_keys = [(slice(1, 3),), (0, ...)]


@general(
    linear=True, spelled="", node="SelectBackward", vmap=_batch_keyed(_place),
    samples=samples(real, [((2, 3),)], shape=[(4, 3)], key=_keys[:1]),
)  # fmt: skip
def place(xp: Any, g: Array, *, shape: Shape, key: tuple[Any, ...]) -> Array:
    """Zeros of a shape with `g` at the basic index `key`: the adjoint of reading there."""
    whole = xp.zeros(shape, g.dtype)
    whole[key] = g
    return whole


@view(linear=True, spelled="", node="Slice", vmap=_batch_keyed(_cut), samples=samples(real, [((4, 3),)], key=_keys))
def cut(xp: Any, input: Array, *, key: tuple[Any, ...]) -> Array:
    """The elements at a basic index."""
    return input[key]


place.vjp(g=lambda g, key: cut(g, key=key))
cut.vjp(input=lambda g, input_shape, key: place(g, shape=input_shape, key=key))
_cut.append(cut)
_place.append(place)


@view(
    linear=True, name="slice", spelled="",
    samples=samples(real, [((5, 4),)], dim=[0, 1], start=[0, 1, -3], end=[4, -1, 100], step=[1, 2]),
)  # fmt: skip
def slice_view(xp: Any, input: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    """The elements from `start` to `end` of the axis `dim`, every `step`-th."""
    if step < 1:
        raise ValueError("slice step must be positive")
    at = dim if 0 <= dim < input.ndim else _sliced_dim(dim, input)
    part = input[(*AXES[at], slice(start, end, step))]
    return part if not start or part.size else _nothing_from(input, part, at, start)


def _nothing_from(input: Any, part: Any, at: int, start: int) -> Any:
    """A slice without elements lies where it begins, and may grow there; NumPy says that it lies at the front."""
    if part.__class__ is not np.ndarray:
        return part
    steps = memory.element_strides(input)
    return memory.strided(input, part.shape, steps, slice(start, None).indices(input.shape[at])[0] * steps[at])


def _sliced_dim(dim: int, input: Any) -> int:
    if not input.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    return normalize_dim(dim, input.ndim)


slice_view.vjp(
    input=lambda g, input_shape, dim, start, end, step: place(
        g, shape=input_shape, key=(*AXES[normalize_dim(dim, len(input_shape))], slice(start, end, step))
    )
)


@composite(quick=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements of the axis `dim`, from `start` on."""
    if isinstance(start, Tensor):
        if start.ndim or start.dtype.is_floating_point or start.dtype.is_complex or start.dtype.title == "Bool":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim.__class__ is not int or start.__class__ is not int or length.__class__ is not int:
        dim, start = as_int("narrow", "dim", 1, dim), as_int("narrow", "start", 2, start)
        length = as_int("narrow", "length", 3, length)
    dim = normalize_dim(dim, input.ndim)
    first = shapes.narrow_start(start, length, input.shape[dim])
    return slice_view.public(input, dim, first, first + length, 1)  # type: ignore[no-any-return]


@composite("m")
def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The same in its own memory."""
    return narrow(self, dim, start, length).clone(memory_format=contiguous_format)


@view(
    linear=True, turns=True, samples=samples(real, [((3, 4, 2),)], offset=[0, 1, -2], dim1=[0, 1], dim2=[2]),
)  # fmt: skip
def diagonal(xp: Any, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonals of the planes that two axes span, along a new last axis."""
    first, second = normalize_dim(dim1, input.ndim), normalize_dim(dim2, input.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    have, steps = input.shape, memory.element_strides(input)
    length = max(0, min(have[first], have[second] - offset) if offset >= 0 else min(have[first] + offset, have[second]))
    start = 0 if not length else offset * steps[second] if offset >= 0 else -offset * steps[first]
    rest = [d for d in range(input.ndim) if d != first and d != second]
    shape = (*[have[d] for d in rest], length)
    return memory.strided(input, shape, (*[steps[d] for d in rest], steps[first] + steps[second]), start)


def _batch_place_diagonal(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    rank = len(params["shape"])
    axes = {n: 1 + normalize_dim(params[n], rank) for n in ("dim1", "dim2")}
    return place_diagonal(values[0], **{**params, **axes, "shape": (size, *params["shape"])})


@general(
    linear=True, spelled="", node="DiagonalBackward", vmap=_batch_place_diagonal,
    samples=samples(real, [((2, 3),)], shape=[(3, 2, 4)], offset=[0], dim1=[0], dim2=[2]),
)  # fmt: skip
def place_diagonal(xp: Any, g: Array, *, shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
    """Zeros with `g` on the diagonals: the adjoint of `diagonal`."""
    whole = xp.zeros(shape, g.dtype)
    diagonal.op.forward(xp, whole, offset, dim1, dim2)[...] = g
    return whole


diagonal.vjp(
    input=lambda g, input_shape, offset, dim1, dim2: place_diagonal(
        g, shape=input_shape, offset=offset, dim1=dim1, dim2=dim2
    )
)
place_diagonal.vjp(g=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))


def _unfold_forms(input: Tensor, dimension: Any = None, size: Any = None, step: Any = None, **named: Any) -> Any:
    dimension = named.pop("dim", dimension)
    if named or size is None or step is None:
        raise TypeError("unfold() missing required arguments (dimension, size, step)")
    plain = (
        as_int("unfold", n, i, v)
        for i, (n, v) in enumerate((("dimension", dimension), ("size", size), ("step", step)), 1)
    )
    return unfold.public(input, *plain)


def _batch_unfold(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    if rank == 0:
        length = params["size"]
        return view_op(unfold(view_op(v, (size, 1)), 1, length, params["step"])[:, :1], (size, length))
    return unfold(v, 1 + normalize_dim(params["dimension"], rank), params["size"], params["step"])


@view(
    linear=True, turns=True, spelled="m", parse=_unfold_forms, vmap=_batch_unfold,
    samples=samples(real, [((7, 3),)], dimension=[0, -2], size=[2, 3], step=[1, 2]),
)  # fmt: skip
def unfold(xp: Any, input: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of `size` elements along an axis, `step` apart, with their elements along a new last axis."""
    axis = normalize_dim(dimension, input.ndim)
    have, steps = input.shape or (1,), memory.element_strides(input) or (1,)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have[axis]:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {have[axis]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    count = (have[axis] - size) // step + 1
    if not input.ndim:
        return memory.strided(input, (size,), (1,))
    shape = (*have[:axis], count, *have[axis + 1 :], size)
    return memory.strided(input, shape, (*steps[:axis], steps[axis] * step, *steps[axis + 1 :], steps[axis]))


def _batch_fold(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    shape = params["shape"]
    if not shape:
        return None
    axis = 1 + normalize_dim(params["dimension"], len(shape))
    return fold_windows(values[0], **{**params, "shape": (size, *shape), "dimension": axis})


@general(
    linear=True, spelled="", node="UnfoldBackward", vmap=_batch_fold,
    samples=samples(real, [((3, 2, 3),)], shape=[(7, 2)], dimension=[0], size=[3], step=[2]),
)  # fmt: skip
def fold_windows(xp: Any, g: Array, *, shape: Shape, dimension: int, size: int, step: int) -> Array:
    """The adjoint of `unfold`: every window is added where it was read."""
    if step <= 0:
        raise ValueError(f"step is {step} but must be > 0")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if not shape:
        return xp.asarray(g.sum(), g.dtype)
    axis = normalize_dim(dimension, len(shape))
    whole = xp.zeros(shape, g.dtype)
    count = g.shape[axis]
    for at in range(size):
        whole[(*AXES[axis], slice(at, at + step * (count - 1) + 1, step))] += g[..., at]
    return whole


unfold.vjp(
    input=lambda g, input_shape, dimension, size, step: fold_windows(
        g, shape=input_shape, dimension=dimension, size=size, step=step
    )
)
fold_windows.vjp(g=lambda g, dimension, size, step: unfold(g, dimension, size, step))


# ------------------------------------------------------------------------------------------------------ several parts


def _split_forms(
    input: Any = None, split_size: Any = None, dim: Any = 0, *, tensor: Any = None, split_size_or_sections: Any = None,
    axis: Any = None, **named: Any,
) -> Any:  # fmt: skip
    """`split` as users write it: a size, or a list of sizes."""
    if named:
        raise TypeError(f"split() got an unexpected keyword argument '{next(iter(named))}'")
    source = tensor if input is None else input
    sizes = split_size if split_size is not None else split_size_or_sections
    dim = as_int("split", "dim", 2, dim if axis is None else axis)
    if isinstance(sizes, (tuple, list)):
        return split_with_sizes.public(source, read_ints("split_with_sizes", "split_sizes", (sizes,)), dim)
    if not isinstance(source, Tensor):
        raise TypeError(f"split(): argument 'tensor' (position 1) must be Tensor, not {type(source).__name__}")
    return split.public(source, as_int("split", "split_size", 1, sizes), dim)


@view(
    linear=True, outs="many", parse=_split_forms, spelled="fm",
    samples=samples(real, [((5, 4),)], split_size=[2, 5], dim=[0, -1]),
)  # fmt: skip
def split(xp: Any, input: Array = None, split_size: int = None, dim: int = 0) -> Any:  # type: ignore  # noqa: RUF013
    """Consecutive parts of `split_size` elements along an axis (the last may be shorter), or of the sizes in a list."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = normalize_dim(dim, input.ndim)
    length = input.shape[at]
    if split_size <= 0:
        _check_split(split_size, length)
        return [input.view()]
    keys = _cuts if length <= _FEW * split_size else _cuts.__wrapped__
    return [input[key] for key in keys(at, length, split_size)]


_FEW = 64  # parts: the subscripts of more are not worth their memory


@lru_cache(maxsize=256)
def _cuts(at: int, length: int, size: int) -> list[tuple[slice, ...]]:
    """The subscripts of consecutive parts of an axis: made anew they would cost half of what they are used for."""
    return [(*AXES[at], slice(i, i + size)) for i in range(0, length or 1, size)]


def _rejoined(g: Any, dim: int) -> Any:
    """What was cut apart, put together again."""
    if all([part.__class__ is np.ndarray for part in g]):
        return np.concatenate(g, dim)
    return call("cat", g, dim=dim)


def _check_split(size: int, length: int) -> None:
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")


split.vjp(input=_rejoined)


@view(
    linear=True, outs="many", spelled="fm", samples=samples(real, [((5, 4),)], split_sizes=[(2, 3), (1, 0, 4)], dim=[0])
)
def split_with_sizes(xp: Any, input: Array, split_sizes: Shape, dim: int = 0) -> Any:
    """Consecutive parts of the given sizes along an axis."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = normalize_dim(dim, input.ndim)
    length, axes, start, parts = input.shape[at], AXES[at], 0, []
    for size in split_sizes:
        if size < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(split_sizes)}"
            )
        parts.append(input[(*axes, slice(start, start + size))])
        start += size
    if start != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {at}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return parts


split_with_sizes.vjp(input=_rejoined)


@view(linear=True, outs="many", samples=samples(real, [((3, 2),)], dim=[0, -1]))
def unbind(xp: Any, input: Array, dim: int = 0) -> Any:
    """The parts at every index of an axis, without that axis."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    at = normalize_dim(dim, input.ndim)
    axes = AXES[at]
    return [input[(*axes, i, ...)] for i in range(input.shape[at])]


def _rebound(g: Any, input_shape: Shape, dim: int) -> Any:
    return call("stack", g, dim=dim)


unbind.vjp(input=_rebound)


def chunk_size(length: int, chunks: int) -> int:
    """The length of each of `chunks` parts; the last may be shorter."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return -(-length // chunks)


@composite(quick=True)
def chunk(input: Tensor, chunks: int, dim: int = 0, **named: Any) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal length (the last may be shorter) along an axis."""
    dim = one_of("chunk", (), named, "axis")[0] if named else dim
    have = input.raw.shape if input.raw.__class__ is np.ndarray else tuple(input.shape)
    if not have:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    length = have[dim if 0 <= dim < len(have) else normalize_dim(dim, len(have))]
    size = chunk_size(length, chunks if chunks.__class__ is int else as_int("chunk", "chunks", 1, chunks))
    if not length:
        return split_with_sizes.public(input, (0,) * chunks, dim)  # type: ignore[no-any-return]
    return split.public(input, size, dim)  # type: ignore[no-any-return]


@composite(quick=True)
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, **named: Any) -> tuple[Tensor, ...]:
    """Parts of nearly equal length, or parts that begin at the given indices, along an axis."""
    for name in ("indices", "sections"):
        indices_or_sections = named.pop(name, indices_or_sections)
    if named:
        raise TypeError(f"tensor_split() got an unexpected keyword argument '{next(iter(named))}'")
    if not isinstance(indices_or_sections, (Tensor, tuple, list)):
        as_int("tensor_split", "sections", 2, indices_or_sections)
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = normalize_dim(dim, input.ndim)
    bounds = _split_points(indices_or_sections, tuple(input.shape)[at])
    return tuple([slice_view.public(input, at, a, b, 1) for a, b in bounds])


def _split_points(where: Any, length: int) -> list[tuple[Any, Any]]:
    if isinstance(where, Tensor):
        where = _tensor_points(where)
    if isinstance(where, (tuple, list)):
        points = [0, *read_ints("tensor_split", "indices", (where,), 2)]
        return list(zip(points, [*points[1:], length]))
    sections = as_int("tensor_split", "sections", 2, where)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    short, extra = divmod(length, sections)
    points = [i * short + min(i, extra) for i in range(sections + 1)]
    return list(pairwise(points))


def _tensor_points(where: Any) -> Any:
    if where.dtype.title != "Long" or where.ndim > 1:
        what = "tensor_split expected tensor_indices_or_sections to "
        raise RuntimeError(
            what + (f"have dtype of long, but got {where.dtype.title}" if where.dtype.title != "Long" else
                    f"be a zero-dimensional or one-dimensional tensor, but got a tensor with {where.ndim} dims")
        )  # fmt: skip
    return where.item() if where.ndim == 0 else where.tolist()


def _along(title: str, least: int, input: Tensor, where: Any, dim: int) -> tuple[Tensor, ...]:
    if input.ndim < least:
        raise RuntimeError(
            f"torch.{title} requires a tensor with at least {least} dimension, "
            f"but got a tensor with {input.ndim} dimensions!"
        )
    if isinstance(where, (str, float)):
        raise TypeError(f"{title}() received an invalid combination of arguments. Got ({type(where).__name__})")
    if isinstance(where, int) and (where <= 0 or input.shape[dim] % where):
        raise RuntimeError(
            f"torch.{title} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} "
            f"is not divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)


@composite(quick=True)
def hsplit(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the columns (along the only axis of a vector)."""
    return _along("hsplit", 1, input, _sections("hsplit", args, named), 0 if input.ndim == 1 else 1)


@composite(quick=True)
def vsplit(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the rows."""
    return _along("vsplit", 2, input, _sections("vsplit", args, named), 0)


@composite(quick=True)
def dsplit(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the third axis."""
    return _along("dsplit", 3, input, _sections("dsplit", args, named), 2)


def _sections(title: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    given = one_of(title, args, {k: (v,) for k, v in named.items()}, "indices_or_sections", "indices", "sections")
    return given[0] if len(given) == 1 else given


def _batch_parts(op_of: Any) -> Any:
    def rule(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        dim = 1 + normalize_dim(params["dim"], len(shape_of(values[0])) - 1)
        return tuple(op_of().op.call(values, {**params, "dim": dim}))

    return rule


@general(
    linear=True, outs="many", spelled="", name="unsafe_split", vmap=_batch_parts(lambda: _unsafe_split),  # type: ignore[has-type]
    samples=samples(real, [((5, 2),)], split_size=[2], dim=[0]),
)  # fmt: skip
def _unsafe_split(xp: Any, input: Array, *, split_size: int, dim: int) -> Any:
    """Parts that share memory with the input without being views of it."""
    return split.op.forward(xp, input, split_size, dim)


@general(
    linear=True, outs="many", spelled="", name="unsafe_split_with_sizes",
    vmap=_batch_parts(lambda: _unsafe_split_with_sizes),  # type: ignore[has-type]
    samples=samples(real, [((5, 2),)], split_sizes=[(2, 3)], dim=[0]),
)  # fmt: skip
def _unsafe_split_with_sizes(xp: Any, input: Array, *, split_sizes: Shape, dim: int) -> Any:
    """Parts of given sizes that share memory with the input without being views of it."""
    return split_with_sizes.op.forward(xp, input, split_sizes, dim)


_unsafe_split.vjp(input=_rejoined)
_unsafe_split_with_sizes.vjp(input=_rejoined)


@composite(quick=True)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """As `split`, but the parts may be changed in place as if they were not views: at the caller's risk."""
    return _unsafe_split(input, split_size=as_int("unsafe_split", "split_size", 1, split_size), dim=dim)


@composite(quick=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """As `split_with_sizes`, but the parts are no views."""
    return _unsafe_split_with_sizes(
        input, split_sizes=read_ints("unsafe_split_with_sizes", "split_sizes", (split_sizes,)), dim=dim
    )


@composite(quick=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """As `chunk`, but the parts are no views."""
    length = tuple(input.shape)[normalize_dim(dim, input.ndim)]
    size = chunk_size(length, as_int("unsafe_chunk", "chunks", 1, chunks))
    return (
        _unsafe_split(input, split_size=size, dim=dim) if length else unsafe_split_with_sizes(input, (0,) * chunks, dim)
    )
