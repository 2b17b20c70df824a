"""Tensors from data: lists, arrays, buffers, storages."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.cuts import EXITS, cut_of, known
from chainrule.backends import meta
from chainrule.backends.cpu.memory import rooted
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import LISTENING, here
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import override
from chainrule.core.literal import array_of, check_array
from chainrule.core.notices import warn, warn_once
from chainrule.core.public import spell
from chainrule.core.tensor import CPU, LEAF, Tensor
from chainrule.ops.create import (
    COMMON,
    check_options,
    creation,
    cut_before,
    dtype_from,
    full,
    made,
    made_of,
    over_storage,
    place,
)
from chainrule.ops.storages import fix
from chainrule.ops.typed_storage import is_storage

__all__ = ["shared", "tensor"]


_new = object.__new__
F32 = np.dtype(np.float32)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new leaf with a copy of the data: a number, nested lists, an array."""
    if LISTENING or dtype is not None or device is not None or pin_memory or settings.default_device is not CPU:
        return _tensor_with(data, dtype, device, requires_grad, pin_memory)
    if data.__class__ is float and settings.default_dtype is dtypes.float32:
        raw = np.array(data, F32)
    elif isinstance(data, Tensor):
        return _copy_constructed(data, None, None, requires_grad)
    elif data.__class__ not in COMMON and is_storage(data):
        return over_storage(data, None, requires_grad)
    else:
        raw = array_of(data, None)
    t: Tensor = _new(Tensor)
    t.raw = raw
    t.edge = t.store = t.viewed = t.extra = t.cut = None
    if requires_grad:
        if raw.dtype.kind not in "fcVW":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t.edge = LEAF
    elif data.__class__ is not float:
        t.cut = cut_before(data, raw)
    elif EXITS:
        t.cut = known(data)
    return t


spell("tensor", tensor, "f")


def _tensor_with(data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    state = here()
    if state.modes:
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        kwargs = {k: v for k, v in given.items() if v is not None and v is not False}
        done, result = override(tensor, (data,), (data,), kwargs, state)
        if done:
            return result  # type: ignore[no-any-return]
    check_options("tensor", None, pin_memory)
    kind = None if dtype is None else dtype_from(dtype, "tensor")
    if isinstance(data, Tensor):
        return _copy_constructed(data, kind, device, requires_grad)
    if data.__class__ not in COMMON and is_storage(data):
        t = over_storage(data, kind, requires_grad)
        return t if place(device) is CPU else t.to(place(device))
    raw = array_of(data, kind)
    return made_of(data, raw if place(device) is CPU else meta.empty(raw.shape, raw.dtype), requires_grad)


def _copy_constructed(data: Tensor, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
    )
    copy: Tensor = data.detach().clone()
    copy.cut = cut_of(data, "copy")
    if dtype is not None or device is not None:
        copy = copy.to(dtype=dtype or data.dtype, device=place(device) if device is not None else data.device)
    return copy.requires_grad_() if requires_grad else copy


@creation()
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor: itself if it is one, sharing memory with an array, else a copy."""
    return _as_tensor(data, None if dtype is None else dtype_from(dtype, "as_tensor"), device, None)


def _as_tensor(data: Any, dtype: DType | None, device: Any, copy: bool | None) -> Tensor:
    if isinstance(data, Tensor):
        return _converted(data, dtype, device, bool(copy))
    if isinstance(data, np.ndarray) and not copy:
        return _converted(over_array(data), dtype, device, False)
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return _tensor_with_no_modes(data, dtype, device)


def _tensor_with_no_modes(data: Any, dtype: DType | None, device: Any) -> Tensor:
    if data.__class__ not in COMMON and is_storage(data):
        return over_storage(data, dtype)
    raw = array_of(data, dtype)
    return made_of(data, raw if place(device) is CPU else meta.empty(raw.shape, raw.dtype))


def _converted(t: Tensor, dtype: DType | None, device: Any, copy: bool) -> Tensor:
    to_dtype = dtype is not None and dtype is not t.dtype
    to_device = device is not None and place(device) is not t.device
    if not (to_dtype or to_device or copy):
        return t
    where = t.device if device is None else place(device)
    return t.to(dtype=dtype or t.dtype, device=where, copy=copy)


def shared(array: Any) -> Any:
    """An ndarray as a tensor's memory, or why it cannot be."""
    check_array(array)
    for step in array.strides:
        if step < 0 and array.size:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your "
                "array  with array.copy().) "
            )
        if step % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. "
                "Copy the numpy array to reallocate the memory."
            )
    if not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed "
            "for the rest of this program."
        )
    return rooted(array)


def over_array(array: Any) -> Tensor:
    """A tensor over the memory of an array, which stays where it is."""
    t = made_of(array, shared(array))
    fix(t)
    return t


@creation()
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the array's own memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return over_array(ndarray)


@creation()
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """Anything array-like as a tensor; `copy` True always copies, False never."""
    kind = None if dtype is None else dtype_from(dtype, "asarray")
    if isinstance(obj, np.generic) and copy is False:
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    source = _array_like(obj, kind)
    if copy is False and isinstance(source, (Tensor, np.ndarray)):
        _require_alias(source, kind, device)
    t = _as_tensor(source, kind, device, copy)
    if not isinstance(source, Tensor):
        return t.requires_grad_() if requires_grad else t
    return _as_asked(t, source, requires_grad)


def _as_asked(t: Tensor, source: Tensor, requires_grad: bool | None) -> Tensor:
    """A tensor out of a tensor: attached as its source is, unless the caller says otherwise."""
    if requires_grad is None:
        if source.requires_grad:
            warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad. Pass requires_grad "
                "explicitly to silence this warning.",
                UserWarning,
            )
        return t
    if not requires_grad:
        return t.detach() if t.requires_grad else t
    return t if t.requires_grad else t.requires_grad_()


def _array_like(obj: Any, dtype: DType | None) -> Any:
    """What shares its memory as an array or a tensor; the rest (numbers, lists) as it is."""
    if isinstance(obj, (Tensor, np.ndarray, list, tuple, int, float, complex)):
        return obj
    if isinstance(obj, np.generic):
        return np.asarray(obj)
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        from chainrule.backends.cpu.foreign import imported  # lazy: ctypes, for memory of others

        return imported(obj)
    try:
        memoryview(obj)
    except TypeError:
        return obj
    return np.frombuffer(obj, (dtype or settings.default_dtype).numpy)


def _require_alias(source: Any, dtype: DType | None, device: Any) -> None:
    have = source.dtype if isinstance(source, Tensor) else OF_NUMPY.get(source.dtype)
    if dtype is not None and have is not dtype:
        raise ValueError(f"can't alias tensor with dtype '{have.title if have else have}' into dtype '{dtype.title}'.")
    where = source.device if isinstance(source, Tensor) else CPU
    if device is not None and place(device) is not where:
        raise ValueError(f"can't alias tensor from device '{where}' to '{place(device)}'.")


@creation()
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A flat tensor over the memory of a Python buffer."""
    kind = dtype_from(dtype, "frombuffer")
    view = _memory_of(buffer)
    size, itemsize = view.nbytes, kind.itemsize
    if not 0 < size:
        raise ValueError(f"both buffer length ({0 if count < 0 else size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count == 0 or count < -1:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if count < 0 and (size - offset) % itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({itemsize})"
        )
    if count > 0 and offset + count * itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({size} bytes)"
        )
    return made(np.frombuffer(view, kind.numpy, count, offset), requires_grad)


def _memory_of(buffer: Any) -> memoryview:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if view.readonly:
        warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
            "will be suppressed for the rest of this program.",
            UserWarning,
        )
    return view


@creation()
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-d tensor."""
    made_: Tensor = full.__wrapped__(
        (), s, dtype=dtype or settings.default_dtype, layout=layout, device=device, requires_grad=requires_grad,
        pin_memory=pin_memory,
    )  # fmt: skip
    return made_
