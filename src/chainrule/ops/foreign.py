"""Memory that other libraries own, or that they may look into: DLPack, and a bare address."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.versions import store_of
from chainrule.config import settings
from chainrule.core.public import method, spell
from chainrule.core.shape import contiguous_strides
from chainrule.core.tensor import CPU, Tensor
from chainrule.ops.create import creation, dtype_from, made, place, read_size
from chainrule.ops.from_data import shared
from chainrule.ops.python_protocol import concrete
from chainrule.ops.storages import own_memory

__all__ = ["from_dlpack", "to_dlpack"]


@method
def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and stream != -1:
        raise BufferError("stream should be None on cpu.")
    if self.device is not CPU:
        raise BufferError(f"Unsupported device type {self.device.type}.")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    own_memory(self)
    raw = concrete(self, "numpy")
    if raw.dtype.isbuiltin != 1:
        from chainrule.backends.cpu import foreign  # lazy: ctypes, for the types that NumPy does not export

        return foreign.capsule_of(raw.copy() if copy else raw, self.dtype)
    return raw.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    if self.device is not CPU:
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return (1, 0)  # kDLCPU


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array."""
    if isinstance(ext_tensor, Tensor):
        ext_tensor.__dlpack__()
        t = made(ext_tensor.raw.view())
        t.store = store_of(ext_tensor)
    else:
        from chainrule.backends.cpu.foreign import imported  # lazy: ctypes, for memory of others

        t = made(shared(imported(ext_tensor)))
    if device is not None:
        t = t.to(device)
    return t.clone() if copy else t


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over the tensor's memory."""
    return tensor.__dlpack__()


spell("from_dlpack", from_dlpack, "f")
spell("to_dlpack", to_dlpack, "f")


@creation("f", "_from_blob")
def _from_blob(data: int, sizes: Any, strides: Any = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor over memory that starts at an address. Nobody keeps that memory alive but its owner."""
    if isinstance(data, bool) or not isinstance(data, int):
        raise TypeError(f"_from_blob(): argument 'data' (position 1) must be int, not {type(data).__name__}")
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"_from_blob(): argument 'sizes' (position 2) must be tuple of ints, not {type(sizes).__name__}"
        )
    if device is not None and place(device) is not CPU:
        raise RuntimeError(f"{place(device).type.upper()} device type not an accelerator.")
    shape = read_size((sizes,), "_from_blob")
    steps = contiguous_strides(shape) if strides is None else tuple(strides)
    if len(steps) != len(shape):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    from chainrule.backends.cpu import foreign  # lazy: ctypes, for memory at an address

    kind = settings.default_dtype if dtype is None else dtype_from(dtype, "_from_blob")
    return made(foreign.at_address(data, shape, steps, kind.numpy))
