"""Views with any shape and any steps. They look at memory: what lies between a tensor and its base does not matter."""

from __future__ import annotations

from typing import Any

from chainrule.backends.cpu import memory
from chainrule.backends.sparse import is_sparse
from chainrule.core import shape as shapes
from chainrule.core.family import general, view
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.arguments import as_int, read_ints

__all__ = ["as_strided", "check_bounds", "check_strided", "geometry"]

Shape = tuple[int, ...]
Origin = tuple[Shape, Shape, int]  # shape, steps and offset of the tensor that is looked at anew


def _check_within(params: dict[str, Any]) -> None:
    """What lies beside an example in memory is another example's, or a part of it that the example does not show."""
    (shape, steps, start), first = params["origin"], params["storage_offset"]
    want, by = params["size"], params["stride"]
    last, end = first + shapes.storage_extent(want, by), start + shapes.storage_extent(shape, steps)
    if first < start or last > end:
        raise RuntimeError(
            f"result = tensor.as_strided({list(want)}, {list(by)}, {first}) can access memory outside of `tensor`. "
            f"`result` can access some memory in range [{first}, {last}], but `tensor` can only access some memory in "
            f"range [{start}, {end}]. This is not supported inside of vmap, please try to rewrite the `as_strided` "
            "call as a sequence of PyTorch view operations"
        )


def _batch_strided(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    (v,) = values
    _check_within(params)
    have, steps, offset = geometry(v)
    moved = params["storage_offset"] - params["origin"][2] + offset
    return as_strided_op(
        v,
        size=(size, *params["size"]),
        stride=(steps[0], *params["stride"]),
        storage_offset=moved,
        origin=(have, steps, offset),
    )


@view(linear=True, turns=True, name="as_strided", spelled="", vmap=_batch_strided)
def as_strided_op(xp: Any, input: Array, *, size: Shape, stride: Shape, storage_offset: int, origin: Origin) -> Array:
    """A view with any shape and any steps; `origin` says how `input` itself lies in memory."""
    return memory.strided(input, size, stride, storage_offset - origin[2])


_steps = samples(
    real,
    [((2, 2),)],
    size=[(2, 2)],
    stride=[(1, 2)],
    storage_offset=[1],
    origin=[((3, 4), (4, 1), 0), ((2, 3), (1, 1), 0)],
)


@general(linear=True, spelled="", node="AsStridedBackward", samples=_steps)
def strided_place(xp: Any, g: Array, *, size: Shape, stride: Shape, storage_offset: int, origin: Origin) -> Array:
    """The adjoint of `as_strided`."""
    return memory.place(g, size, stride, storage_offset, origin)


@general(
    linear=True, spelled="", node="AsStrided",
    samples=samples(real, [((3, 4),)], size=[(2, 2)], stride=[(1, 2)], storage_offset=[1],
                    origin=[((3, 4), (4, 1), 0)]),
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
    if is_sparse(raw):
        return raw.shape, (0,) * raw.ndim, 0
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
    if v is not None and v.parent is not None:  # from the base: in between lies nothing that as_strided would see
        op, params, *_ = v.step
        v.rooted((op, {**params, "origin": geometry(v.base)}, tuple(v.base.shape), None))
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
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {first}, and itemsize {item} "
            f"requiring a storage size of {(first + extent) * item} are out of bounds for storage of size {held}"
        )
