"""Views of the whole: another shape, other sizes, another order of axes, over the same memory.

Parameters are as users give them: dims may be negative, a shape may hold one -1. The forward asks NumPy first and looks
for PyTorch's refusal only when NumPy refuses. Nothing here ever steps backwards through memory.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.backends.pending import Pending
from chainrule.backends.sparse import is_sparse
from chainrule.core import shape as shapes
from chainrule.core.ambient import LISTENING
from chainrule.core.blame import kind_of
from chainrule.core.dtype import OF_NUMPY, float64, int32
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, general, shape_of, sharing, view
from chainrule.core.layout import contiguous_format
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import asked, attribute, composite, spell
from chainrule.core.samples import integers, real, samples
from chainrule.core.shape import normalize_dim, normalize_dims
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops.arguments import one_of, read_ints, read_list
from chainrule.ops.copying import clone, contiguous

__all__ = [
    "alias_view", "expand", "flatten", "movedim", "permute", "reshape", "squeeze", "squeeze_dim", "squeeze_dims",
    "swapaxes",
    "swapdims", "t", "transpose", "unsafe_view", "unsqueeze", "view_op",
]  # fmt: skip

Shape = tuple[int, ...]
_make = np.ndarray.__new__


class Incompatible(RuntimeError):
    """No view has that shape: only a copy can."""


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
            out = input.reshape(shape)
        except (TypeError, ValueError):
            return _refuse_view(input, shape)
        return out if out.shape == shape else _refuse_view(input, shape)  # NumPy takes any negative size for -1
    want = shapes.infer_size(read_ints("view", "size", tuple(shape)), input.size)
    steps = shapes.compute_view_strides(input.shape, memory.element_strides(input), want)
    if steps is None:
        raise Incompatible(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return memory.strided(input, want, steps)


view_op.vjp(input=lambda g, input_shape: g.reshape(input_shape))


def _refuse_view(input: Any, shape: Any) -> Any:
    return input.reshape(shapes.infer_size(read_ints("view", "size", tuple(shape)), input.size))


def _recast_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (x,), dtype = values, params["dtype"]
    if x.ndim == 1 and x.dtype.itemsize != dtype.itemsize:
        raise RuntimeError(_no_axis(x.dtype, dtype))
    return view_dtype.public(x, dtype)


@sharing(
    name="view_dtype", spelled="", vmap=_recast_batch,
    samples=samples(integers(1000), [((3, 2),)], dtype=[int32, float64]),
)  # fmt: skip
def view_dtype(xp: Any, input: Array, dtype: DType) -> Array:
    """The same bytes, read as another dtype."""
    return _recast(input, dtype)


def _recast(input: Any, dtype: DType) -> Any:
    if isinstance(input, Pending):
        what = "conjugate view tensors" if input.is_conj else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    have, want = input.dtype.itemsize, dtype.numpy.itemsize
    if have == want:
        return input.view(dtype.numpy)
    if input.ndim == 0:
        raise RuntimeError(_no_axis(OF_NUMPY[input.dtype], dtype))
    name = _sizes_differ(OF_NUMPY[input.dtype], dtype)
    *steps, last = memory.element_strides(input)
    if want > have:
        _check_multiple("size(-1)", input.shape[-1], want // have, name)
        _check_multiple("storage_offset()", memory.offset_of(input), want // have, name)
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {name}, but got {last}")
    for axis, step in enumerate(steps if want > have else ()):
        _check_multiple(f"stride({axis})", step, want // have, name)
    count = input.shape[-1] * have // want
    return memory.reread(input, dtype.numpy, (*input.shape[:-1], count), (*(s * have // want for s in steps), 1))


def _sizes_differ(have: DType, want: DType) -> str:
    return f"to view {have.title} as {want.title} (different element sizes)"


def _no_axis(have: DType, want: DType) -> str:
    return f"self.dim() cannot be 0 {_sizes_differ(have, want)}"


def _check_multiple(what: str, got: int, ratio: int, name: str) -> None:
    if got % ratio:
        raise RuntimeError(f"self.{what} must be divisible by {ratio} {name}, but got {got}")


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


@view(
    linear=True, spelled="", name="reshape_alias", vmap=_batch_view, samples=samples(real, [((3, 4),)], shape=[(4, 3)])
)
def reshape_alias(xp: Any, input: Array, *, shape: Shape) -> Array:
    """`view`, as `reshape` does it where memory is not contiguous."""
    return view_op.op.forward(xp, input, shape)


reshape_alias.vjp(input=lambda g, input_shape: g.reshape(input_shape))


def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same elements in the same order: a view where strides allow, else a copy."""
    if named or not shape or LISTENING or input.__class__ not in PLAIN or not input.raw.flags.c_contiguous:
        return _reshape_unusual(input, shape, named)  # type: ignore[no-any-return]
    if len(shape) == 1 and shape[0].__class__ is not tuple and shape[0].__class__ is not int:
        shape = (read_ints("reshape", "shape", shape),)  # no dtype, which a view would take
    return view_public(input, *shape)  # type: ignore[no-any-return]


reshape.public = reshape  # type: ignore[attr-defined]
spell("reshape", reshape, "m")
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
            raise TypeError('reshape() missing 1 required positional arguments: "shape"')
        shape = (read_ints("reshape", "shape", sizes),)
    raw = input.raw
    try:
        if raw.__class__ is np.ndarray and not raw.flags.c_contiguous:
            return reshape_alias.public(input, shape=shape[0])  # type: ignore[no-any-return]
        return view_op.public(input, shape[0])  # type: ignore[no-any-return]
    except Incompatible:
        want = shapes.infer_size(shape[0], input.numel())
        return unsafe_view(clone(input, memory_format=contiguous_format), shape=want)  # type: ignore[no-any-return]


def _reshape_to(input: Any, shape: Any) -> Any:
    """The same elements in the same order: a view where strides allow, else a copy."""
    if shape.__class__ is tuple and not LISTENING and input.__class__ in PLAIN and input.raw.flags.c_contiguous:
        return view_public(input, shape)
    if isinstance(input, (np.ndarray, np.generic)):
        return np.reshape(input, shape)
    done, result = asked(_reshape_to, (input, shape), {})
    return result if done else _reshape(input, read_list("reshape", "shape", shape, 2))


_reshape_to.__name__ = _reshape_to.__qualname__ = "reshape"
_reshape_to.public = _reshape_to  # type: ignore[attr-defined]
spell("reshape", _reshape_to, "f")


@composite("m", quick=True)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with the shape of `other`."""
    return view_op.public(self, tuple(other.shape))  # type: ignore[no-any-return]


@composite("m", quick=True)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of `other`."""
    return reshape(self, tuple(other.shape))


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
    return reshape(input, (*sizes[:first], count, *sizes[last + 1 :]))


@composite(quick=True)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Several axes in the place of one; one of `sizes` may be -1."""
    parts = read_list("unflatten", "sizes", sizes, 2)
    dim = normalize_dim(dim, input.ndim)
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not input.ndim:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    length = input.shape[dim]
    try:
        parts = shapes.infer_size(parts, length)
    except RuntimeError as error:
        if "is invalid for input" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {dim} ({length}) in the "
            "input tensor"
        ) from None
    have = tuple(input.shape)
    return view_op.public(input, (*have[:dim], *parts, *have[dim + 1 :]))  # type: ignore[no-any-return]


@composite(quick=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one axis; a view where possible."""
    return view_op.public(contiguous(input), (-1,))  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------- stretched and squeezed


def _stretched(strides: Shape, have: Shape, size: Shape) -> list[int] | None:
    """The strides of a contiguous array stretched to a size of plain numbers; None for what is less usual."""
    lead = len(size) - len(have)
    if lead < 0:
        return None
    least = 2 if have else 0  # a new axis of size 1 has a stride of its own, unless there was no axis
    for n in size[:lead]:
        if n.__class__ is not int or n < least:
            return None
    steps = [0] * lead
    for now, step, n in zip(have, strides, size[lead:]):
        if n != now and (now != 1 or n.__class__ is not int or n < 0):
            return None
        steps.append(step if n == now else 0)
    return steps


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
    steps = _stretched(input.strides, have, size) if input.flags.c_contiguous else None
    if steps is not None:
        return _make(input.__class__, size, input.dtype, input, 0, steps)
    sizes = read_ints("expand", "size", tuple(size))
    want, at = shapes.expand_shape(
        have, memory.element_strides(input), sizes, lambda: OF_NUMPY[input.dtype].tensor_type
    )
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


@composite("f", name="broadcast_to", quick=True)
def _broadcast_to(input: Tensor, size: Any) -> Tensor:
    """`expand` under NumPy's name."""
    return expand.public(input, read_list("broadcast_to", "size", size, 2))  # type: ignore[no-any-return]


@composite("m", quick=True)
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


@view(
    linear=True,
    name="squeeze_dims",
    spelled="",
    vmap=_batch_squeeze_dims,
    samples=samples(real, [((1, 3, 1),)], dims=[(0, 2), (0, 1)]),
)
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
    if 1 not in have or input.__class__ is not np.ndarray:
        return input.reshape((*have[:at], 1, *have[at:]))
    steps = memory.element_strides(input)  # NumPy would invent others for the axes of size 1
    step = have[at] * steps[at] if at < len(have) else 1
    return memory.strided(input, (*have[:at], 1, *have[at:]), (*steps[:at], step, *steps[at:]))


unsqueeze.vjp(input=lambda g, input_shape: g.reshape(input_shape))


# ------------------------------------------------------------------------------------------------------ order of axes


@view(linear=True, turns=True, samples=samples(real, [((2, 3, 4),)], dim0=[0, -1], dim1=[1, 0]))
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


@view(linear=True, name="alias", spelled="", samples=samples(real, [((3,),)]))
def alias_view(xp: Any, input: Array) -> Array:
    """The whole again, as a view."""
    return input.view()


alias_view.vjp(input=lambda g: g)


def _batch_t(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    rank = len(shape_of(v)) - 1
    return _refuse_t(rank) if rank > 2 else transpose(v, 1, 2) if rank == 2 else alias_view(v)


def _refuse_t(rank: int, sparse: Any = None) -> NoReturn:
    if sparse is not None:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse.sparse_dim} sparse and "
            f"{rank - sparse.sparse_dim} dense dimensions"
        )
    raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")


@view(linear=True, turns=True, vmap=_batch_t, samples=samples(real, [((3, 4),), ((3,),), ((),)]))
def t(xp: Any, input: Array) -> Array:
    """The transpose of a matrix; vectors and scalars stay."""
    return input.transpose() if input.ndim <= 2 else _refuse_t(input.ndim, input if is_sparse(input) else None)


t.vjp(input=lambda g: t(g))


def _permute_forms(input: Tensor, *dims: Any, **named: Any) -> Any:
    return permute.public(input, read_ints("permute", "dims", one_of("permute", dims, named, "dims")))


def _batch_permute(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    order = shapes.normalize_permutation(params["dims"], len(shape_of(v)) - 1)
    return permute(v, (0, *[1 + d for d in order]))


@view(
    linear=True, turns=True, spread="dims", parse=_permute_forms, vmap=_batch_permute, spelled="m",
    samples=samples(real, [((2, 3, 4),)], dims=[(2, 0, 1), (-1, 1, 0)]),
)  # fmt: skip
def permute(xp: Any, input: Array, dims: Shape) -> Array:
    """The axes in another order."""
    try:
        return input.transpose(dims) if dims else _permuted(input, dims)
    except (TypeError, ValueError):
        return _permuted(input, dims)


@composite("f", name="permute", quick=True)
def _permute_to(input: Tensor, dims: Any) -> Tensor:
    """The axes in another order."""
    return permute.public(input, dims if dims.__class__ is tuple else read_list("permute", "dims", dims, 2))  # type: ignore[no-any-return]


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
    if isinstance(source, (tuple, list)) is not isinstance(destination, (tuple, list)):
        raise TypeError(
            f"movedim() received an invalid combination of arguments - got (Tensor, {kind_of(source)}, "
            f"{kind_of(destination)}), but expected two ints or two tuples of ints"
        )
    origin = _moved("source", source, rank)
    target = _moved("destination", destination, rank)
    if len(origin) != len(target):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({_shown(source)} dims) should contain the same "
            f"number of dims as destination ({_shown(destination)} dims)"
        )
    if not rank:
        return alias_view.public(input)  # type: ignore[no-any-return]
    rest = iter([d for d in range(rank) if d not in origin])
    places = dict(zip(target, origin))
    return permute.public(input, tuple([places[at] if at in places else next(rest) for at in range(rank)]))  # type: ignore[no-any-return]


def _moved(name: str, dims: Any, rank: int) -> Shape:
    axes = tuple(
        [normalize_dim(d, rank) for d in read_ints("movedim", name, dims if isinstance(dims, tuple) else (dims,))]
    )
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
    if input.ndim == 1:
        raise RuntimeError(f"tensor.{title} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    turned: Tensor = transpose.public(input, -2, -1) if input.ndim else input
    return call("conj", turned) if conjugate and input.dtype.is_complex else turned


# ------------------------------------------------------------------------------------------- properties that transpose


def _whole_transpose(self: Tensor) -> Tensor:
    """The axes in reverse order."""
    if self.ndim not in (0, 2):
        _warn_reversed()
    return permute.public(self, tuple(range(self.ndim - 1, -1, -1)))  # type: ignore[no-any-return]


def _warn_reversed() -> None:
    warn(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
        "an error in a future release: `x.mT` transposes batches of matrices, `x.permute(...)` any order of axes.",
        UserWarning,
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
    return _last_two(self, "H", conjugate=True)


attribute("T", _whole_transpose)
attribute("mT", _matrix_transpose)
attribute("mH", _conjugate_matrix_transpose)
attribute("H", _conjugate_transpose)
