"""Overwriting: `copy_`, `fill_`, `zero_`. Where nothing is recorded they are one NumPy call."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.cuts import passes_on
from chainrule.autograd.door import NUMBERS, Inplace, door
from chainrule.autograd.versions import InferenceStore, touch
from chainrule.backends.cpu import memory
from chainrule.backends.meta import is_meta
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import is_sparse
from chainrule.core.ambient import LISTENING
from chainrule.core.dtype import OF_NUMPY, cast_array, widened
from chainrule.core.family import call, elementwise, front, general, shape_of, sum_to
from chainrule.core.literal import cast_number
from chainrule.core.notices import warn
from chainrule.core.op import Array, Number
from chainrule.core.public import quiet_method, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import PLAIN, Tensor, fresh

__all__ = ["copy_", "fill_", "inplace_form", "quiet", "write_array", "zero_"]


def inplace_form(op_fn: Any, fn: Any) -> Inplace:
    """The in-place form of an op, behind a function written by hand."""
    form = Inplace(op_fn.op)
    op_fn.op.inplace, form.fn = form, fn
    fn.op, fn.public = form, fn
    return form


def quiet(t: Tensor) -> bool:
    """May the array of `t` be written without a word to autograd?"""
    if t.__class__ not in PLAIN or t.edge is not None or t.extra is not None or t.store.__class__ is InferenceStore:
        return False
    return t.viewed is None or (t.viewed.base.edge is None and t.viewed.base.extra is None)


def check_target(raw: Any) -> None:
    """Refuse to write where elements share memory."""
    if not raw.flags.c_contiguous:
        memory.refuse_overlap(raw)


def check_apart(target: Any, others: tuple[Any, ...]) -> None:
    """Refuse to write over what is read."""
    for t in others:
        if isinstance(t, Tensor) and (t.raw is target or memory.overlaps(t.raw, target)):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def write_array(target: Any, source: Any, overlaps: bool = False) -> None:
    """Values into an array of any other dtype; `overlaps`: where its elements share memory all get the same value."""
    if is_meta(target):
        return
    if is_meta(source):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    source = resolved(source)
    if not overlaps:
        check_target(target)
    if source.dtype.kind in "cW" and target.dtype.kind not in "cWb":  # W: complex32
        warn("Casting complex values to real discards the imaginary part", UserWarning)
        source = widened(source).real
    if source.dtype.kind in "fV" and target.dtype.kind in "iu" and target.dtype != np.uint64:
        source = source.astype(np.int64)
    if target.dtype.itemsize == 1 and target.dtype.kind == "V":
        source = cast_array(source, OF_NUMPY[target.dtype])
    target[...] = source


def _check_shapes(target: tuple[int, ...], source: tuple[int, ...]) -> None:
    if source != target and broadcast_shapes(target, source) != target:
        raise RuntimeError(
            f"output with shape {list(target)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes(target, source))}"
        )


def _write_copy(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    target, source = inputs[0].raw, inputs[1].raw
    if is_sparse(target) or is_sparse(source):
        _copy_sparse(*inputs)
        return
    if memory.has_overlap(target) and memory.is_same(target, source):
        return
    memory.refuse_overlap(target)
    if memory.partly_overlap(target, source):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )
    _check_shapes(target.shape, source.shape)
    write_array(target, source)


def _copy_sparse(target: Tensor, source: Tensor) -> None:
    if target.layout is not source.layout:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{target.type()} and src type = {source.type()}"
        )
    _check_shapes(target.raw.shape, source.raw.shape)
    target.raw.become(source.raw.copy().astype(target.raw.dtype))


def _copy_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, source = values
    if not batched[0]:
        x = call("expand", call("unsqueeze", x, dim=0), size=(size, *shape_of(x)))
    return copy.public(x, front(source, len(shape_of(x)) - 1) if batched[1] else source)


@general(
    vmap_title="inplace arithmetic",
    spelled="",
    node={"TT": "CopyBackwards"},
    write=_write_copy,
    vmap=_copy_batched,
    samples=samples(real, [((3, 4), (3, 4)), ((3, 4), (4,)), ((3,), ())]),
)
def copy(xp: Any, input: Array, src: Array, *, non_blocking: bool = False) -> Array:
    """The values of `src` in the shape and dtype of `input`."""
    result = xp.empty_like(input)
    _check_shapes(input.shape, src.shape)
    write_array(result, src)
    return result


copy.vjp(input=lambda g: call("zeros_like", g), src=lambda g, src_shape: sum_to(g, src_shape))


@quiet_method
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite this tensor with the values of another, broadcast and converted."""
    whole = other.__class__ in PLAIN and (other.viewed is None or other.viewed.base.edge is None)
    if whole and not LISTENING and quiet(self) and other.edge is None and other.extra is None:
        raw, source = self.raw, other.raw
        if raw.base is source.base is None and raw.dtype is source.dtype and raw.shape == source.shape:
            raw[...] = source  # two whole arrays of one kind: nothing to convert, nothing to check
        else:
            _write_copy(None, (self, other), {})
        touch(self, "copy_")
        if other.cut is not None:
            passes_on(other.cut, self)
        return self
    if isinstance(other, NUMBERS):
        other = fresh(np.asarray(other))
    if not isinstance(other, Tensor):
        kind = f"{'numpy.' * isinstance(other, np.ndarray)}{type(other).__name__}"
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {kind}")
    return door(COPY, (self, other), {"non_blocking": non_blocking})  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------- one value


def _filling(dtype: np.dtype[Any], value: Any, count: int) -> Any:
    """The value in a dtype; what does not fit is refused, but a single 16-bit float becomes infinite."""
    if isinstance(value, (np.ndarray, Tensor)):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return value
    number = value.item() if isinstance(value, np.generic) else value
    return cast_number(number, OF_NUMPY[dtype], strict=count != 1)


def _write_fill(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    target, value = inputs[0].raw, inputs[1]
    filling = _filling(target.dtype, value.raw if isinstance(value, Tensor) else value, target.size)
    write_array(target, filling, overlaps=not isinstance(value, Tensor))


def _fill_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, value = values
    if not batched[0]:
        x = call("expand", call("unsqueeze", x, dim=0), size=(size, *shape_of(x)))
    return copy.public(x, front(value, len(shape_of(x)) - 1)) if batched[1] else fill.public(x, value)


@elementwise(
    vmap_title="fill_",
    promote="none", spelled="f", write=_write_fill, vmap=_fill_batched,
    node={"TN": "FillBackward0", "TT": "FillBackward1"}, samples=samples(real, [((3, 4), ()), ((3, 4), 2.5)]),
)  # fmt: skip
def fill(xp: Any, input: Array, value: Array | Number) -> Array:
    """The shape of the input, one value everywhere."""
    result = memory.room_like(input)
    write_array(result, _filling(input.dtype, value, input.size))
    return result


fill.vjp(input=lambda g: call("zeros_like", g), value=lambda g: g)


def fill_(input: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value."""
    if not LISTENING and quiet(input) and not isinstance(value, Tensor):
        raw = input.raw
        if value.__class__ is float and raw.dtype.kind == "f" and -448.0 <= value <= 448.0:  # all floats hold it
            raw.fill(value)
        else:
            _write_fill(None, (input, value), {})
        touch(input, "fill_")
        return input
    return door(FILL, (input, value), {})  # type: ignore[no-any-return]


@elementwise(
    promote="none",
    spelled="",
    linear=True,
    write=lambda xp, inputs, params: inputs[0].raw.fill(0),
    samples=samples(real, [((3, 4),), ((),)]),
)
def zero(xp: Any, input: Array) -> Array:
    """Zeros."""
    return xp.zeros_like(input)


zero.vjp(input=lambda g: call("zeros_like", g))


def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    if not LISTENING and quiet(input):
        input.raw.fill(0)
        touch(input, "zero_")
        return input
    return door(ZERO, (input,), {})  # type: ignore[no-any-return]


COPY, FILL, ZERO = inplace_form(copy, copy_), inplace_form(fill, fill_), inplace_form(zero, zero_)
spell("fill_", fill_, "fm")
spell("zero_", zero_, "fm")
