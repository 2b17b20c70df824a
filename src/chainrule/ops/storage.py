"""What lies under a tensor: its memory, and how it steps through it. Facts; `ops.exchange` gives it other memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.versions import InferenceStore
from chainrule.backends.cpu import memory
from chainrule.backends.sparse import is_sparse
from chainrule.core import shape as shapes
from chainrule.core.family import is_hollow
from chainrule.core.function_protocol import KEEPS_CLASS
from chainrule.core.layout import contiguous_format, preserve_format
from chainrule.core.layout import memory_format as MemoryFormat
from chainrule.core.public import attribute, getter, method, quiet_method, spell
from chainrule.core.tensor import Tensor
from chainrule.ops.storages import StorageBase, bottom, own_memory, storage_of
from chainrule.ops.strided import geometry
from chainrule.ops.typed_storage import TypedStorage, warn_of_removal

__all__: list[str] = []

Shape = tuple[int, ...]


@method
def untyped_storage(self: Tensor) -> StorageBase:
    """The bytes under this tensor."""
    if is_sparse(bottom(self)):
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")
    return storage_of(self)  # type: ignore[no-any-return]


@quiet_method
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype, _internal=True)  # type: ignore[no-any-return]


@method
def storage(self: Tensor) -> TypedStorage:
    """The memory under this tensor, counted in its elements."""
    warn_of_removal()
    return _typed_storage(self)


@method
def storage_type(self: Tensor) -> Any:
    """The class that makes storages of this dtype: `torch.FloatStorage`."""
    return _typed_storage(self)._get_legacy_storage_class()


@method
def data_ptr(self: Tensor) -> int:
    """The address of the first element, for those who may write there."""
    if not is_sparse(bottom(self)):
        own_memory(self)
    return const_data_ptr(self)


@method
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for those who only read."""
    raw = bottom(self)
    if is_sparse(raw):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    return memory.address(raw) if raw.size and isinstance(raw, np.ndarray) and not is_hollow(raw) else 0


@quiet_method
def _fix_weakref(self: Tensor) -> None:
    """Nothing to mend: a tensor is one object for as long as it lives."""


@method
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The axes from the one with the longest steps to the one whose elements are neighbours."""
    if is_sparse(bottom(self)):
        raise AttributeError(
            f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor "
            "first."
        )
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, bool) and not all(isinstance(f, MemoryFormat) for f in formats or [None]):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    have, steps, _ = geometry(self)
    unclear = formats and sum(shapes.is_contiguous(have, steps, f) for f in formats) != 1
    if unclear or (ambiguity_check is True and not _ordered_one_way(have, steps)):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    order = shapes.dense_strides(have, steps)
    return tuple(sorted(range(len(have)), key=lambda a: -order[a]))


def _ordered_one_way(have: Shape, steps: Shape) -> bool:
    """Can no two axes be swapped? An axis of size 1 may stand anywhere, and so may one of two with the same steps."""
    return 1 not in have and len(set(steps)) == len(steps)


@method
def storage_offset(self: Tensor) -> int:
    """How many elements of the storage lie before the first one."""
    return geometry(self)[2]


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The steps between neighbours along every axis, or along one, in elements."""
    steps = geometry(self)[1] if self.raw.__class__ is not np.ndarray else memory.element_strides(self.raw)
    return steps if dim is None else steps[shapes.normalize_dim(dim, len(steps), wrap_scalar=False)]


@method
def is_contiguous(self: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Do the elements follow one another in memory, in the order of the format?"""
    raw = self.raw
    if memory_format is contiguous_format and isinstance(raw, np.ndarray):
        return bool(raw.flags.c_contiguous)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    have, steps, _ = geometry(self)
    return shapes.is_contiguous(have, steps, memory_format)


@method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """The same storage, looked at in the same way?"""
    return untyped_storage(self) is untyped_storage(tensor) and geometry(self) == geometry(tensor)


@method
def element_size(self: Tensor) -> int:
    """Bytes per element."""
    return self.dtype.itemsize


@getter
def itemsize(self: Tensor) -> int:
    """Bytes per element."""
    return self.dtype.itemsize


@getter
def nbytes(self: Tensor) -> int:
    """Bytes of all elements."""
    if is_sparse(bottom(self)):
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
            "nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, "
            "multiply numel() by element_size()"
        )
    return self.shape.numel() * self.dtype.itemsize


# ------------------------------------------------------------------------------------------------------ plain facts


for _name in (
    "cuda", "ipu", "maia", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse_csr", "vulkan",
    "xla", "xpu",
):  # fmt: skip
    attribute(f"is_{_name}", lambda self: False, doc=f"False: there are no {_name} tensors here.")


@getter
def is_cpu(self: Tensor) -> bool:
    """Is it in the memory of the CPU?"""
    return self.device.type == "cpu"


@getter
def is_meta(self: Tensor) -> bool:
    """Is it a tensor without elements?"""
    return self.device.type == "meta"


@method
def get_device(self: Tensor) -> int:
    """The number of the GPU: -1 on the CPU."""
    return -1


spell("get_device", get_device, "f")


@method
def is_shared(self: Tensor) -> bool:
    """Is the memory shared with other processes?"""
    return storage_of(self).is_shared()  # type: ignore[no-any-return]


@method
def is_pinned(self: Tensor, device: Any = "cuda") -> bool:
    """Is the memory page-locked?"""
    return False


@method
def is_inference(self: Tensor) -> bool:
    """Was it made in inference mode?"""
    return isinstance(self.store, InferenceStore)


spell("is_inference", is_inference, "f")


@method
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Is the shape the same?"""
    return tuple(self.shape) == tuple(other.shape)


spell("is_same_size", is_same_size, "f")


@method
def _is_view(self: Tensor) -> bool:
    return self.viewed is not None


@getter
def _base(self: Tensor) -> Tensor | None:
    """The tensor this one is a view of."""
    v: Any = self.viewed
    return None if v is None else v.base


KEEPS_CLASS.add(vars(Tensor)["_base"].__get__)


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Page-lock the memory: there is no accelerator to copy to."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
