"""Views: other shapes, other orders of axes and parts, over the same memory.

Parameters are as users give them: dims may be negative, a shape may hold one -1. The forward asks NumPy first and looks
for PyTorch's refusal only when NumPy refuses. Nothing here ever steps backwards through memory.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.bind_views import as_int
from chainrule.backends.cpu import memory
from chainrule.core import shape as shapes
from chainrule.core.ambient import LISTENING
from chainrule.core.dtype import OF_NUMPY, dtype as DType
from chainrule.core.family import call, general, shape_of, sharing, view
from chainrule.core.layout import contiguous_format as CONTIGUOUS, memory_format, preserve_format as PRESERVE
from chainrule.core.op import Array
from chainrule.core.public import asked, composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim, normalize_dims
from chainrule.core.tensor import PLAIN, Tensor

__all__ = [
    "alias_view", "as_strided", "check_bounds", "clone", "contiguous", "detach", "diagonal", "expand", "flatten", "movedim", "narrow",
    "permute", "place", "read_ints", "reshape", "select", "slice_view", "split", "split_with_sizes", "squeeze", "squeeze_dim",
    "squeeze_dims", "transpose", "unbind", "unsafe_view", "unsqueeze", "view_op",
]  # fmt: skip

Shape = tuple[int, ...]
AXES = [(slice(None),) * n for n in range(65)]  # an index of the axes before the one that matters
_make = np.ndarray.__new__
COPIED = "Use .reshape(...) instead."


class Incompatible(RuntimeError):
    """No view has that shape: only a copy can."""


def read_ints(title: str, name: str, args: tuple[Any, ...], position: int = 1) -> Shape:
    """A list of ints that users write as several arguments, or as one tuple or list."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    for at, each in enumerate(args):
        if each.__class__ is not int:
            return _converted(title, name, args, at, position)
    return args


def _converted(title: str, name: str, args: tuple[Any, ...], at: int, position: int) -> Shape:
    try:
        return tuple([as_int(title, name, position, each) for each in args])
    except TypeError:
        kind = type(args[at]).__name__
        raise TypeError(
            f"{title}(): argument '{name}' (position {position}) must be tuple of ints, but found element of type "
            f"{kind} at pos {at}" if len(args) > 1 else
            f"{title}(): argument '{name}' (position {position}) must be tuple of ints, not {kind}"
        ) from None  # fmt: skip


def one_of(title: str, args: tuple[Any, ...], named: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The value of a list argument given by position or under one of its names."""
    for name in names:
        if name in named:
            if args or len(named) > 1:
                raise TypeError(f"{title}() received an invalid combination of arguments")
            value = named[name]
            return value if isinstance(value, tuple) else (value,)
    if named:
        raise TypeError(f"{title}() got an unexpected keyword argument '{next(iter(named))}'")
    return args


# ------------------------------------------------------------------------------------------------------------- shape


def _view_forms(input: Tensor, *shape: Any, **named: Any) -> Any:
    """`view` as users write it: sizes, one list of sizes, or a dtype."""
    given = shape[0] if len(shape) == 1 else named.get("dtype")
    if isinstance(given, DType):
        return view_dtype.public(input, given)
    try:
        return view_op.public(input, read_ints("view", "size", one_of("view", shape, named, "shape", "size")))
    except TypeError as error:
        got = ", ".join(type(each).__name__ for each in shape)
        raise TypeError(f"view() received an invalid combination of arguments - got ({got}): {error}") from None


def _batch_view(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    count = 1
    for n in shape_of(v)[1:]:
        count *= n
    return view_op(v, (size, *shapes.infer_size(params["shape"], count)))


@view(
    linear=True, name="view", spelled="m", spread="shape", parse=_view_forms, vmap=_batch_view,
    samples=samples(real, [((3, 4),), ((2, 6),)], shape=[(12,), (4, 3), (2, -1), (2, 1, 6)]),
)  # fmt: skip
def view_op(xp: Any, input: Array, shape: Shape) -> Array:
    """The same elements in the same order, under a new shape."""
    if input.flags.c_contiguous and shape:
        try:
            return input.reshape(shape)
        except (TypeError, ValueError):
            return _refuse_view(input, shape)
    want = shapes.infer_size(read_ints("view", "size", tuple(shape)), input.size)
    steps = shapes.compute_view_strides(input.shape, memory.element_strides(input), want)
    if steps is None:
        raise Incompatible(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). " + COPIED
        )
    return memory.strided(input, want, steps)


view_op.vjp(input=lambda g, input_shape: g.reshape(input_shape))


def _refuse_view(input: Any, shape: Any) -> Any:
    return input.reshape(shapes.infer_size(read_ints("view", "size", tuple(shape)), input.size))


@sharing(name="view_dtype", spelled="")
def view_dtype(xp: Any, input: Array, dtype: DType) -> Array:
    """The same bytes, read as another dtype."""
    return _recast(input, dtype)


def _recast(input: Any, dtype: DType) -> Any:
    have, want = input.dtype.itemsize, dtype.numpy.itemsize
    if have == want:
        return input.view(dtype.numpy)
    if input.ndim == 0:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {OF_NUMPY[input.dtype].title} as {dtype.title} (different element sizes)"
        )
    if input.shape[-1] != 1 and input.strides[-1] != have:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {OF_NUMPY[input.dtype].title} as {dtype.title} (different element sizes), "
            f"but got {input.strides[-1] // have}"
        )
    if want > have:
        _check_divides(input, dtype, want // have)
    return input.view(dtype.numpy)


def _check_divides(input: Any, dtype: DType, ratio: int) -> None:
    name = f"to view {OF_NUMPY[input.dtype].title} as {dtype.title} (different element sizes)"
    if input.shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {name}, but got {input.shape[-1]}")
    if memory.offset_of(input) % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {name}, but got {memory.offset_of(input)}")
    for axis, step in enumerate(memory.element_strides(input)[:-1]):
        if step % ratio:
            raise RuntimeError(f"self.stride({axis}) must be divisible by {ratio} {name}, but got {step}")


def _batch_unsafe_view(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    return unsafe_view(values[0], shape=(size, *params["shape"]))


@general(
    linear=True, name="unsafe_view", node="UnsafeView", spelled="", vmap=_batch_unsafe_view,
    samples=samples(real, [((3, 4),)], shape=[(4, 3)]),
)  # fmt: skip
def unsafe_view(xp: Any, input: Array, *, shape: Shape) -> Array:
    """A new shape for an array that nobody else looks at."""
    return input.reshape(shape)


unsafe_view.vjp(input=lambda g, input_shape: g.reshape(input_shape))


@view(linear=True, spelled="", name="reshape_alias", vmap=_batch_view, samples=samples(real, [((3, 4),)], shape=[(4, 3)]))
def reshape_alias(xp: Any, input: Array, *, shape: Shape) -> Array:
    """`view`, as `reshape` does it where memory is not contiguous."""
    return view_op.op.forward(xp, input, shape)


reshape_alias.vjp(input=lambda g, input_shape: g.reshape(input_shape))


def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same elements in the same order: a view where strides allow, else a copy."""
    if named or not shape or LISTENING or input.__class__ not in PLAIN or not input.raw.flags.c_contiguous:
        return _reshape_unusual(input, shape, named)
    return view_public(input, *shape)  # type: ignore[no-any-return]


reshape.public = reshape  # type: ignore[attr-defined]
spell("reshape", reshape, "fm")
view_public = view_op.public


def _reshape_unusual(input: Any, shape: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if isinstance(input, (np.ndarray, np.generic)):
        return np.reshape(input, *shape, **named)
    done, result = asked(reshape, (input, *shape), named)
    return result if done else _reshape(input, *shape, **named)


def _reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    if named or len(shape) != 1 or shape[0].__class__ is not tuple:
        sizes = one_of("reshape", shape, named, "shape")
        if not shape and not named:
            raise TypeError("reshape() missing 1 required positional arguments: \"shape\"")
        shape = (read_ints("reshape", "shape", sizes),)
    raw = input.raw
    try:
        if raw.__class__ is np.ndarray and not raw.flags.c_contiguous:
            return reshape_alias.public(input, shape=shape[0])  # type: ignore[no-any-return]
        return view_op.public(input, shape[0])  # type: ignore[no-any-return]
    except Incompatible:
        want = shapes.infer_size(shape[0], input.numel())  # type: ignore[attr-defined]
        return unsafe_view(clone(input, memory_format=CONTIGUOUS), shape=want)  # type: ignore[no-any-return]


@composite("m", quick=True)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with the shape of `other`."""
    return view_op.public(self, tuple(other.shape))  # type: ignore[no-any-return]


@composite("m", quick=True)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of `other`."""
    return reshape(self, tuple(other.shape))  # type: ignore[no-any-return]


@composite(quick=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """One axis in the place of those from `start_dim` to `end_dim`."""
    sizes = input.raw.shape if input.raw.__class__ is np.ndarray else tuple(input.shape)
    rank = len(sizes)
    first, last = normalize_dim(start_dim, rank), normalize_dim(end_dim, rank)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if rank == 0:
        return reshape(input, (1,))
    if first == last:
        return input
    count = 1
    for n in sizes[first : last + 1]:
        count *= n
    return reshape(input, (*sizes[:first], count, *sizes[last + 1 :]))  # type: ignore[no-any-return]


@composite(quick=True)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Several axes in the place of one; one of `sizes` may be -1."""
    if isinstance(sizes, int):
        sizes = (sizes,)
    dim = normalize_dim(dim, input.ndim)
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    length = input.shape[dim]
    parts = read_ints("unflatten", "sizes", (sizes,), 2)
    try:
        parts = shapes.infer_size(parts, length)
    except RuntimeError as error:
        if "is invalid for input" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {dim} ({length}) in the input tensor"
        ) from None
    have = tuple(input.shape)
    return view_op.public(input, (*have[:dim], *parts, *have[dim + 1 :]))  # type: ignore[no-any-return]


@composite(quick=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one axis; a view where possible."""
    return view_op.public(contiguous(input), (-1,))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- stretched and squeezed


def _expand_forms(input: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Any:
    return expand.public(input, read_ints("expand", "size", one_of("expand", size, named, "size")))


def _batch_expand(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,), want = values, tuple(params["size"])
    have = shape_of(v)[1:]
    more = len(want) - len(have)
    if more > 0:
        v = view_op(v, (size, *(1,) * more, *have))
    shapes.expand_shape(have, (0,) * len(have), want)  # its refusals name the sizes of one example
    return expand(v, (size, *want))


@view(
    linear=True, spelled="m", spread="size", parse=_expand_forms, vmap=_batch_expand,
    samples=samples(real, [((3, 1),)], size=[(3, 4), (2, -1, 4)]),
)  # fmt: skip
def expand(xp: Any, input: Array, size: Shape) -> Array:
    """The tensor repeated, without copying, until it has the given shape; -1 keeps a size."""
    have = input.shape
    if len(size) == len(have) and input.flags.c_contiguous:
        steps = list(input.strides)
        for axis, n in enumerate(size):
            if n != have[axis]:
                if have[axis] != 1 or n.__class__ is not int or n < 0:
                    break
                steps[axis] = 0
        else:
            return _make(input.__class__, size, input.dtype, input, 0, steps)
    want, at = shapes.expand_shape(have, memory.element_strides(input), read_ints("expand", "size", tuple(size)))
    return memory.strided(input, want, at)


def unexpand(g: Any, input_shape: Shape) -> Any:
    """Sum over what `expand` repeated."""
    have = shape_of(g)
    lead = len(have) - len(input_shape)
    axes = (*range(lead), *[lead + i for i, n in enumerate(input_shape) if n == 1 and have[lead + i] != 1])
    return (g.sum(axes) if axes else g).reshape(input_shape)


expand.vjp(input=unexpand)


@composite("m", quick=True)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of `other`."""
    return expand.public(self, tuple(other.shape))  # type: ignore[no-any-return]


@composite(quick=True)
def broadcast_to(input: Tensor, *size: Any, **named: Any) -> Tensor:
    """`expand` under NumPy's name."""
    return expand.public(input, read_ints("broadcast_to", "size", one_of("broadcast_to", size, named, "size")))  # type: ignore[no-any-return]


@composite("f")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors with the shape they have together."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    want = shapes.broadcast_shapes(*(tuple(t.shape) for t in listed))
    return tuple([t if tuple(t.shape) == want else expand.public(t, want) for t in listed])


def _batch_squeeze(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    ones = tuple([axis for axis, n in enumerate(shape_of(v)) if axis and n == 1])
    return squeeze_dims(v, ones) if ones else call("alias", v)


@view(linear=True, name="squeeze", spelled="", vmap=_batch_squeeze, samples=samples(real, [((3, 1, 4),), ((),)]))
def squeeze_all(xp: Any, input: Array) -> Array:
    """Without the axes of size 1."""
    return input.squeeze()


squeeze_all.vjp(input=lambda g, input_shape: g.reshape(input_shape))


@view(
    linear=True, name="squeeze_dim", node="Squeeze", spelled="", samples=samples(real, [((3, 1, 4),)], dim=[1, 0, -2]),
)  # fmt: skip
def squeeze_dim(xp: Any, input: Array, dim: int) -> Array:
    """Without the axis `dim`, if its size is 1."""
    try:
        return input.squeeze(dim)
    except ValueError:
        normalize_dim(dim, input.ndim)
        return input.view()


squeeze_dim.vjp(input=lambda g, input_shape: g.reshape(input_shape))
squeeze_dim.op.node_name = "SqueezeBackward1"


def _batch_squeeze_dims(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    dims = normalize_dims(params["dims"], rank)
    return squeeze_dims(v, tuple([1 + d for d in dims])) if rank else call("alias", v)


@view(linear=True, name="squeeze_dims", spelled="", vmap=_batch_squeeze_dims, samples=samples(real, [((1, 3, 1),)], dims=[(0, 2), (0, 1)]))
def squeeze_dims(xp: Any, input: Array, dims: Shape) -> Array:
    """Without those of the axes `dims` whose size is 1."""
    axes = normalize_dims(dims, input.ndim)
    return input.squeeze(tuple([d for d in axes if input.shape[d] == 1])) if input.ndim else input.view()


squeeze_dims.vjp(input=lambda g, input_shape: g.reshape(input_shape))
squeeze_dims.op.node_name = "SqueezeBackward2"


@composite(quick=True)
def squeeze(input: Tensor, dim: Any = None, **named: Any) -> Tensor:
    """Without the axes of size 1: all of them, or those that `dim` names."""
    if named:
        dim = one_of("squeeze", () if dim is None else (dim,), named, "axis", "dims")[0]
    if dim is None:
        return squeeze_all.public(input)  # type: ignore[no-any-return]
    if isinstance(dim, (tuple, list)):
        return squeeze_dims.public(input, read_ints("squeeze", "dim", (dim,), 2))  # type: ignore[no-any-return]
    return squeeze_dim.public(input, dim)  # type: ignore[no-any-return]


def _batch_unsqueeze(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    return unsqueeze(v, 1 + normalize_dim(params["dim"], len(shape_of(v))))


@view(linear=True, vmap=_batch_unsqueeze, samples=samples(real, [((3, 4),), ((),)], dim=[0, -1]))
def unsqueeze(xp: Any, input: Array, dim: int) -> Array:
    """With an axis of size 1 put in at `dim`."""
    have = input.shape
    at = dim if 0 <= dim <= len(have) else normalize_dim(dim, len(have) + 1)
    return input.reshape((*have[:at], 1, *have[at:]))


unsqueeze.vjp(input=lambda g, input_shape: g.reshape(input_shape))


# ------------------------------------------------------------------------------------------------------ order of axes


@view(linear=True, samples=samples(real, [((2, 3, 4),)], dim0=[0, -1], dim1=[1, 0]))
def transpose(xp: Any, input: Array, dim0: int, dim1: int) -> Array:
    """Two axes swapped."""
    try:
        return input.swapaxes(dim0, dim1)
    except ValueError:
        normalize_dim(dim0, input.ndim)
        normalize_dim(dim1, input.ndim)
        return input.view()


transpose.vjp(input=lambda g, dim0, dim1: transpose(g, dim0, dim1))


@composite(quick=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes swapped."""
    return transpose.public(input, axis0, axis1)  # type: ignore[no-any-return]


@composite(quick=True)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes swapped."""
    return transpose.public(input, dim0, dim1)  # type: ignore[no-any-return]


def _batch_t(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    return _refuse_t(rank) if rank > 2 else transpose(v, 1, 2) if rank == 2 else alias_view(v)


def _refuse_t(rank: int) -> NoReturn:
    raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")


@view(linear=True, vmap=_batch_t, samples=samples(real, [((3, 4),), ((3,),), ((),)]))
def t(xp: Any, input: Array) -> Array:
    """The transpose of a matrix; vectors and scalars stay."""
    return input.transpose() if input.ndim <= 2 else _refuse_t(input.ndim)


t.vjp(input=lambda g: t(g))


def _permute_forms(input: Tensor, *dims: Any, **named: Any) -> Any:
    return permute.public(input, read_ints("permute", "dims", one_of("permute", dims, named, "dims")))


def _batch_permute(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    order = shapes.normalize_permutation(params["dims"], len(shape_of(v)) - 1)
    return permute(v, (0, *[1 + d for d in order]))


@view(
    linear=True, spread="dims", parse=_permute_forms, vmap=_batch_permute,
    samples=samples(real, [((2, 3, 4),)], dims=[(2, 0, 1), (-1, 1, 0)]),
)  # fmt: skip
def permute(xp: Any, input: Array, dims: Shape) -> Array:
    """The axes in another order."""
    try:
        return input.transpose(dims) if dims else _permuted(input, dims)
    except (TypeError, ValueError):
        return _permuted(input, dims)


def _permuted(input: Any, dims: Any) -> Any:
    order = shapes.normalize_permutation(read_ints("permute", "dims", tuple(dims)), input.ndim)
    return input.transpose(order) if order else input.view()


def _inverse(dims: Shape) -> Shape:
    rank = len(dims)
    inverse = [0] * rank
    for at, d in enumerate(dims):
        inverse[d] = at
    return tuple(inverse)


permute.vjp(input=lambda g, dims: permute(g, _inverse(dims)))


@composite(quick=True)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places; the rest stay in order."""
    rank = input.ndim
    origin = _moved("source", source, rank)
    target = _moved("destination", destination, rank)
    if len(origin) != len(target):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({_shown(source)} dims) should contain the same number of "
            f"dims as destination ({_shown(destination)} dims)"
        )
    if not rank:
        return alias_view.public(input)  # type: ignore[no-any-return]
    rest = iter([d for d in range(rank) if d not in origin])
    places = dict(zip(target, origin))
    return permute.public(input, tuple([places[at] if at in places else next(rest) for at in range(rank)]))  # type: ignore[no-any-return]


def _moved(name: str, dims: Any, rank: int) -> Shape:
    axes = tuple([normalize_dim(d, rank) for d in read_ints("movedim", name, dims if isinstance(dims, tuple) else (dims,))])
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"movedim: repeated dim in `{name}` ({_shown(dims)})")
    return axes


def _shown(dims: Any) -> list[int]:
    return [dims] if isinstance(dims, int) else list(dims)


spell("moveaxis", movedim, "fm")


@composite(quick=True)
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two axes."""
    return _last_two(input, "adjoint()", conjugate=True)


def _last_two(input: Tensor, title: str, conjugate: bool = False) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.{title} is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    turned: Tensor = transpose.public(input, -2, -1)
    return call("conj", turned) if conjugate and input.dtype.is_complex else turned


# ------------------------------------------------------------------------------------------------------------- parts


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
    raise IndexError(
        f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
    )


select.vjp(input=lambda g, input_shape, dim, index: place(g, shape=input_shape, key=_select_key(len(input_shape), dim, index)))


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
    return input[(*AXES[at], slice(start, end, step))]


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
        start = start.item()  # type: ignore[attr-defined]
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim.__class__ is not int or start.__class__ is not int or length.__class__ is not int:
        dim, start = as_int("narrow", "dim", 1, dim), as_int("narrow", "start", 2, start)
        length = as_int("narrow", "length", 3, length)
    dim = normalize_dim(dim, input.ndim)
    first = shapes.narrow_start(start, length, input.shape[dim])
    return slice_view.public(input, dim, first, first + length, 1)  # type: ignore[no-any-return]


@view(linear=True, name="alias", spelled="", samples=samples(real, [((3,),)]))
def alias_view(xp: Any, input: Array) -> Array:
    """The whole again, as a view."""
    return input.view()


alias_view.vjp(input=lambda g: g)


@view(
    linear=True, samples=samples(real, [((3, 4, 2),)], offset=[0, 1, -2], dim1=[0, 1], dim2=[2]),
)  # fmt: skip
def diagonal(xp: Any, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonals of the planes that two axes span, along a new last axis."""
    first, second = normalize_dim(dim1, input.ndim, wrap_scalar=False), normalize_dim(dim2, input.ndim, wrap_scalar=False)
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
    input=lambda g, input_shape, offset, dim1, dim2: place_diagonal(g, shape=input_shape, offset=offset, dim1=dim1, dim2=dim2)
)
place_diagonal.vjp(g=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))


def _unfold_forms(input: Tensor, dimension: Any = None, size: Any = None, step: Any = None, **named: Any) -> Any:
    dimension = named.pop("dim", dimension)
    if named or size is None or step is None:
        raise TypeError("unfold() missing required arguments (dimension, size, step)")
    plain = (as_int("unfold", n, i, v) for i, (n, v) in enumerate((("dimension", dimension), ("size", size), ("step", step)), 1))
    return unfold.public(input, *plain)


def _batch_unfold(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    if rank == 0:
        length = params["size"]
        return view_op(unfold(view_op(v, (size, 1)), 1, length, params["step"])[:, :1], (size, length))
    return unfold(v, 1 + normalize_dim(params["dimension"], rank), params["size"], params["step"])


@view(
    linear=True, spelled="m", parse=_unfold_forms, vmap=_batch_unfold,
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
def split(xp: Any, input: Array = None, split_size: int = None, dim: int = 0) -> Any:  # type: ignore[assignment]
    """Consecutive parts of `split_size` elements along an axis (the last may be shorter), or of the sizes in a list."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = normalize_dim(dim, input.ndim)
    length, axes = input.shape[at], AXES[at]
    if split_size <= 0:
        _check_split(split_size, length)
        return [input.view()]
    return [input[(*axes, slice(i, i + split_size))] for i in range(0, length or 1, split_size)]


def _check_split(size: int, length: int) -> None:
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")


split.vjp(input=lambda g, dim: call("cat", g, dim=dim))


@view(linear=True, outs="many", spelled="fm", samples=samples(real, [((5, 4),)], split_sizes=[(2, 3), (1, 0, 4)], dim=[0]))
def split_with_sizes(xp: Any, input: Array, split_sizes: Shape, dim: int = 0) -> Any:
    """Consecutive parts of the given sizes along an axis."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = normalize_dim(dim, input.ndim)
    length, axes, start, parts = input.shape[at], AXES[at], 0, []
    for size in split_sizes:
        if size < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}"
            )
        parts.append(input[(*axes, slice(start, start + size))])
        start += size
    if start != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {at}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return parts


split_with_sizes.vjp(input=lambda g, dim: call("cat", g, dim=dim))


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
    length = have[normalize_dim(dim, len(have))]
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
    return list(zip(points, points[1:]))


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
        raise RuntimeError(f"torch.{title} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} dimensions!")
    if isinstance(where, (str, float)):
        raise TypeError(f"{title}() received an invalid combination of arguments. Got ({type(where).__name__})")
    if isinstance(where, int) and (where <= 0 or input.shape[dim] % where):
        raise RuntimeError(
            f"torch.{title} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is "
            f"not divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)  # type: ignore[no-any-return]


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
    linear=True, outs="many", spelled="", name="unsafe_split", vmap=_batch_parts(lambda: _unsafe_split),
    samples=samples(real, [((5, 2),)], split_size=[2], dim=[0]),
)  # fmt: skip
def _unsafe_split(xp: Any, input: Array, *, split_size: int, dim: int) -> Any:
    """Parts that share memory with the input without being views of it."""
    return split.op.forward(xp, input, split_size, dim)


@general(
    linear=True, outs="many", spelled="", name="unsafe_split_with_sizes",
    vmap=_batch_parts(lambda: _unsafe_split_with_sizes),
    samples=samples(real, [((5, 2),)], split_sizes=[(2, 3)], dim=[0]),
)  # fmt: skip
def _unsafe_split_with_sizes(xp: Any, input: Array, *, split_sizes: Shape, dim: int) -> Any:
    """Parts of given sizes that share memory with the input without being views of it."""
    return split_with_sizes.op.forward(xp, input, split_sizes, dim)


_unsafe_split.vjp(input=lambda g, dim: call("cat", g, dim=dim))
_unsafe_split_with_sizes.vjp(input=lambda g, dim: call("cat", g, dim=dim))


@composite(quick=True)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """As `split`, but the parts may be changed in place as if they were not views: at the caller's risk."""
    return _unsafe_split(input, split_size=as_int("unsafe_split", "split_size", 1, split_size), dim=dim)


@composite(quick=True)
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """As `split_with_sizes`, but the parts are no views."""
    return _unsafe_split_with_sizes(input, split_sizes=read_ints("unsafe_split_with_sizes", "split_sizes", (split_sizes,)), dim=dim)


@composite(quick=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """As `chunk`, but the parts are no views."""
    length = tuple(input.shape)[normalize_dim(dim, input.ndim)]
    size = chunk_size(length, as_int("unsafe_chunk", "chunks", 1, chunks))
    return _unsafe_split(input, split_size=size, dim=dim) if length else unsafe_split_with_sizes(input, (0,) * chunks, dim)


# ----------------------------------------------------------------------------------------------------- same memory


@sharing(name="detach", spelled="fm")
def detach(xp: Any, input: Array) -> Array:
    """The same memory, cut from the graph."""
    return input


def _batch_clone(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    form = params["memory_format"]
    if form is not None and form is not PRESERVE and form is not CONTIGUOUS:
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
            f"torch.contiguous_format (got {form})"
        )
    return clone.public(values[0], memory_format=form)


@general(spelled="fm", linear=True, samples=samples(real, [((3, 4),), ((),)]), vmap=_batch_clone)
def clone(xp: Any, input: Array, *, memory_format: Any = None) -> Array:
    """A copy with its own memory; gradients flow through."""
    if memory_format is None or memory_format is PRESERVE:
        return input.copy("K") if 0 not in input.strides or input.flags.c_contiguous else _densely(input)
    return laid_out(input, memory_format)


def _densely(input: Any) -> Any:
    """A copy of something expanded, with the order of axes that PyTorch gives it."""
    return memory.relaid(input, shapes.dense_strides(input.shape, memory.element_strides(input)))


def laid_out(input: Any, want: memory_format) -> Any:
    """A copy in a memory format."""
    if want is CONTIGUOUS:
        return input.copy("C")
    return memory.relaid(input, shapes.strides_for(input.shape, want))


clone.vjp(input=lambda g: g)


@composite("m", quick=True)
def contiguous(self: Tensor, memory_format: Any = CONTIGUOUS) -> Tensor:
    """The tensor itself if its elements follow one another in memory, else a copy where they do."""
    if memory_format is PRESERVE:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self if self.is_contiguous(memory_format=memory_format) else clone(self, memory_format=memory_format)  # type: ignore[attr-defined]


# --------------------------------------------------------------------------------------------------- any steps at all

Origin = tuple[Shape, Shape, int]  # shape, steps and offset of the tensor that is looked at anew


def _batch_strided(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    have, steps, offset = geometry(v)
    moved = params["storage_offset"] - params["origin"][2] + offset
    return as_strided_op(
        v, size=(size, *params["size"]), stride=(steps[0], *params["stride"]), storage_offset=moved, origin=(have, steps, offset)
    )


@view(linear=True, name="as_strided", spelled="", vmap=_batch_strided)
def as_strided_op(xp: Any, input: Array, *, size: Shape, stride: Shape, storage_offset: int, origin: Origin) -> Array:
    """A view with any shape and any steps; `origin` says how `input` itself lies in memory."""
    return memory.strided(input, size, stride, storage_offset - origin[2])


_steps = samples(real, [((2, 2),)], size=[(2, 2)], stride=[(1, 2)], storage_offset=[1], origin=[((3, 4), (4, 1), 0), ((2, 3), (1, 1), 0)])


@general(linear=True, spelled="", node="AsStridedBackward", samples=_steps)
def strided_place(xp: Any, g: Array, *, size: Shape, stride: Shape, storage_offset: int, origin: Origin) -> Array:
    """The adjoint of `as_strided`."""
    return memory.place(g, size, stride, storage_offset, origin)


@general(
    linear=True, spelled="", node="AsStrided",
    samples=samples(real, [((3, 4),)], size=[(2, 2)], stride=[(1, 2)], storage_offset=[1], origin=[((3, 4), (4, 1), 0)]),
)  # fmt: skip
def strided_take(xp: Any, g: Array, *, size: Shape, stride: Shape, storage_offset: int, origin: Origin) -> Array:
    """The adjoint of `strided_place`."""
    return memory.take(g, size, stride, storage_offset, origin)


def _geometric(op: Any) -> Any:
    return lambda g, size, stride, storage_offset, origin: op(
        g, size=size, stride=stride, storage_offset=storage_offset, origin=origin
    )


as_strided_op.vjp(input=_geometric(strided_place))
strided_place.vjp(g=_geometric(strided_take))
strided_take.vjp(g=_geometric(strided_place))


def geometry(t: Any) -> Origin:
    """How a tensor lies in memory: shape, steps and offset, in elements."""
    while isinstance(t, Tensor) and isinstance(t.raw, Tensor) and t.raw.ndim == t.ndim:
        t = t.raw
    raw = t.raw if isinstance(t, Tensor) else t
    if isinstance(raw, Tensor):  # a batch: the geometry of one example
        have, steps, offset = geometry(raw)
        return have[1:], steps[1:], offset
    return raw.shape, memory.element_strides(raw), memory.offset_of(raw)


@composite(quick=True)
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """A view of the tensor's memory with any shape and any steps."""
    shape, steps = read_ints("as_strided", "size", (size,)), read_ints("as_strided", "stride", (stride,), 2)
    origin = geometry(input)
    first = origin[2] if storage_offset is None else as_int("as_strided", "storage_offset", 3, storage_offset)
    check_strided(shape, steps, first)
    check_bounds(input, shape, steps, first)
    out: Tensor = as_strided_op.public(input, size=shape, stride=steps, storage_offset=first, origin=origin)
    v = out.viewed
    if v is not None and len(v.chain) > 1:  # one step from the base: in between lies nothing that as_strided would see
        op, params, _ = v.chain[-1]
        v.chain = ((op, {**params, "origin": geometry(v.base)}, tuple(v.base.shape)),)
    return out


def check_strided(shape: Shape, steps: Shape, first: int) -> None:
    """Refuse shapes and steps that mean nothing."""
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    if first < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {first}")


def check_bounds(input: Any, shape: Shape, steps: Shape, first: int) -> None:
    raw = input
    while isinstance(raw, Tensor):
        raw = raw.raw
    item, extent = raw.dtype.itemsize, shapes.storage_extent(shape, steps)
    if (first + extent) * item >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    held = memory.owner(raw).nbytes
    if extent and (first + extent) * item > held:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {first}, and itemsize {item} requiring a "
            f"storage size of {(first + extent) * item} are out of bounds for storage of size {held}"
        )


# ------------------------------------------------------------------------------------------- properties that transpose


def _whole_transpose(self: Tensor) -> Tensor:
    """The axes in reverse order."""
    if self.ndim not in (0, 2):
        _warn_reversed()
    return permute.public(self, tuple(range(self.ndim - 1, -1, -1)))  # type: ignore[no-any-return]


def _warn_reversed() -> None:
    import warnings  # only needed here

    warnings.warn(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
        "error in a future release: `x.mT` transposes batches of matrices, `x.permute(...)` any order of axes.",
        UserWarning, stacklevel=3,
    )  # fmt: skip


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two axes swapped."""
    return _last_two(self, "mT")


def _conjugate_matrix_transpose(self: Tensor) -> Tensor:
    """The last two axes swapped, conjugated."""
    return _last_two(self, "mH", conjugate=True)


def _conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return _last_two(self, "H", conjugate=True) if self.ndim else alias_view.public(self)


Tensor.T = property(_whole_transpose)  # type: ignore[attr-defined]
Tensor.mT = property(_matrix_transpose)  # type: ignore[attr-defined]
Tensor.mH = property(_conjugate_matrix_transpose)  # type: ignore[attr-defined]
Tensor.H = property(_conjugate_transpose)  # type: ignore[attr-defined]
