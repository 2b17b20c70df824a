"""What lies under a tensor: its memory, how it steps through it, and the few ways to exchange either.

A storage is the memory that a chain of views ends at; here it is a light object over the NumPy array that owns it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from chainrule.autograd.cuts import cut_of
from chainrule.autograd.eager import check_writable, edges_through
from chainrule.autograd.node import leave_accumulator
from chainrule.autograd.refusing import without_derivative
from chainrule.autograd.versions import InferenceStore, touch
from chainrule.autograd.views import rebase, refresh
from chainrule.backends.cpu import memory
from chainrule.backends.sparse import is_sparse
from chainrule.core import shape as shapes
from chainrule.core.ambient import here
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.layout import channels_last, channels_last_3d, contiguous_format, preserve_format
from chainrule.core.public import method, spell
from chainrule.core.tensor import LEAF, Tensor, fresh
from chainrule.ops.arguments import as_int, one_of, read_ints
from chainrule.ops.strided import check_strided, geometry

__all__ = ["TypedStorage", "UntypedStorage", "bottom"]

Shape = tuple[int, ...]


def _property(fn: Any) -> Any:
    setattr(Tensor, fn.__name__, property(fn))
    return fn


def bottom(t: Any) -> Any:
    """The array under a tensor, however many transforms lie between."""
    while isinstance(t, Tensor):
        t = t.raw
    return t


# ---------------------------------------------------------------------------------------------------------- storages


class UntypedStorage:
    """The bytes that tensors look at."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Any = None) -> None:
        self._owner = np.empty(owner or 0, np.uint8) if owner is None or isinstance(owner, int) else owner

    def nbytes(self) -> int:
        """How many bytes."""
        return int(self._owner.nbytes)

    size = nbytes
    __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return memory.address(self._owner) if self._owner.nbytes else 0

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return Device("cpu")

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def element_size(self) -> int:
        """Bytes have one byte."""
        return 1

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return self._bytes().tolist()  # type: ignore[no-any-return]

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage(self._bytes().copy())

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Overwrite the bytes."""
        self._bytes()[...] = source.untyped()._bytes()
        return self

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        return False

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Is the memory page-locked?"""
        return False

    def _bytes(self) -> Any:
        flat = self._owner if self._owner.flags.c_contiguous else self._owner.ravel("K")
        return flat.reshape(-1).view(np.uint8)

    def __getitem__(self, at: Any) -> Any:
        found = self._bytes()[at]
        return UntypedStorage(found) if isinstance(at, slice) else int(found)

    def __setitem__(self, at: Any, value: Any) -> None:
        self._bytes()[at] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._owner is other._owner

    def __hash__(self) -> int:
        return id(self._owner)

    def __repr__(self) -> str:
        rows = "".join(f" {b}\n" for b in self.tolist())
        return f"{rows}[torch.storage.UntypedStorage(device=cpu) of size {self.nbytes()}]"


class TypedStorage:
    """The bytes that tensors look at, counted in elements of one dtype."""

    __slots__ = ("_untyped", "dtype")

    def __init__(self, untyped: UntypedStorage, dtype: DType) -> None:
        self._untyped, self.dtype = untyped, dtype

    def size(self) -> int:
        """How many elements."""
        return self._untyped.nbytes() // self.element_size()

    __len__ = size

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """How many bytes."""
        return self._untyped.nbytes()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._untyped.data_ptr()

    def untyped(self) -> UntypedStorage:
        """The same bytes, without a dtype."""
        return self._untyped

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return self._untyped.device

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        return False

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements().tolist()  # type: ignore[no-any-return]

    def _elements(self) -> Any:
        return self._untyped._bytes().view(self.dtype.numpy)

    def __getitem__(self, at: Any) -> Any:
        return self._elements()[at].item()

    def __setitem__(self, at: Any, value: Any) -> None:
        self._elements()[at] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._untyped == other._untyped

    def __hash__(self) -> int:
        return hash(self._untyped)


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes under this tensor."""
    raw = bottom(self)
    if is_sparse(raw):
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")
    return UntypedStorage(memory.owner(raw))


@method
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(untyped_storage(self), self.dtype)


@method
def storage(self: Tensor) -> TypedStorage:
    """The memory under this tensor, counted in its elements."""
    return _typed_storage(self)  # type: ignore[no-any-return]


@method
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    raw = bottom(self)
    if is_sparse(raw):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    return memory.address(raw) if raw.size and raw.__class__ is np.ndarray else 0


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
    return untyped_storage(self) == untyped_storage(tensor) and geometry(self) == geometry(tensor)


@method
def element_size(self: Tensor) -> int:
    """Bytes per element."""
    return self.dtype.itemsize


@_property
def itemsize(self: Tensor) -> int:
    """Bytes per element."""
    return self.dtype.itemsize


@_property
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
    setattr(Tensor, f"is_{_name}", property(lambda self: False, doc=f"False: there are no {_name} tensors here."))


@_property
def is_cpu(self: Tensor) -> bool:
    """Is it in the memory of the CPU?"""
    return self.device.type == "cpu"


@_property
def is_meta(self: Tensor) -> bool:
    """Is it a tensor without elements?"""
    return self.device.type == "meta"


@method
def get_device(self: Tensor) -> int:
    """The number of the GPU: -1 on the CPU."""
    return -1


@method
def is_shared(self: Tensor) -> bool:
    """Is the memory shared with other processes?"""
    return False


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


@method
def _is_view(self: Tensor) -> bool:
    return self.viewed is not None


@_property
def _base(self: Tensor) -> Tensor | None:
    """The tensor this one is a view of."""
    v: Any = self.viewed
    return None if v is None else v.base


# ------------------------------------------------------------------------------------------- other memory for a tensor


def _data(self: Tensor) -> Tensor:
    """The same memory without history and with a version of its own: changes through it are not noticed."""
    alias = self.rewrapped() if self.__class__ is not Tensor else fresh(self.raw)
    if isinstance(self.store, InferenceStore):
        alias.store = self.store
    alias.cut = cut_of(self, ".data")
    return alias


def _set_data(self: Tensor, other: Tensor) -> None:
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    if is_sparse(self.raw) is not is_sparse(other.raw):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    edge = self.edge
    if edge is not None and not (other.dtype.is_floating_point or other.dtype.is_complex):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if edge is LEAF and (other.dtype is not self.dtype or other.shape != self.shape):
        leave_accumulator(self, forget=other.dtype is not self.dtype)
    self.raw = other.raw
    self.viewed = None


def _refuse_del(self: Tensor) -> None:
    raise RuntimeError("cannot delete .data: a tensor always has data")


Tensor.data = property(_data, _set_data, _refuse_del)  # type: ignore[attr-defined]


def _unrecorded(t: Tensor, what: str) -> None:
    if t.viewed is not None:
        refresh(t)
    if t.edge is not None:
        raise RuntimeError(f"cannot {what} variables that require grad")


@method
def set_(self: Tensor, source: Any = None, storage_offset: Any = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Look at other memory: a tensor's, or a storage from an offset with a shape and steps."""
    edges = edges_through((self, source)) if here().grad else ()
    check_writable(self, any(e is not None for e in edges), "set_")
    leave_accumulator(self, forget=True)
    if isinstance(source, Tensor):
        _take_array(self, source, size, stride, storage_offset)
    elif source is None:
        self.raw = np.empty(0, bottom(self).dtype)
    else:
        self.raw = _over(source, self.dtype, as_int("set_", "storage_offset", 2, storage_offset), size, stride)
    touch(self, "set_")
    if any(e is not None for e in edges):
        rebase(self, without_derivative("set_", edges))
    return self


def _take_array(self: Tensor, source: Tensor, size: Any, stride: Any, offset: Any) -> None:
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.title.lower()} to a tensor of type {self.dtype.title.lower()}"
        )
    if size is None:
        self.raw = source.raw
        return
    self.raw = _over(untyped_storage(source), self.dtype, offset, size, stride)


def _over(held: Any, dtype: DType, offset: int, size: Any, stride: Any) -> Any:
    flat = held.untyped()._bytes()
    flat = flat[: flat.size // dtype.itemsize * dtype.itemsize].view(dtype.numpy)
    if size is None:
        return flat
    want = read_ints("set_", "size", (size,), 3)
    steps = shapes.contiguous_strides(want) if stride is None else read_ints("set_", "stride", (stride,), 4)
    check_strided(want, steps, offset)
    need = (offset + shapes.storage_extent(want, steps)) * dtype.itemsize
    if need > held.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(want)}, strides {list(steps)}, storage offset {offset}, and itemsize "
            f"{dtype.itemsize} requiring a storage size of {need} are out of bounds for storage of size {held.nbytes()}"
        )
    return memory.strided(flat, want, steps, offset)


def resized(raw: Any, want: Shape, format: Any = None) -> Any:
    """The elements in memory order under another shape; new memory only where the old does not suffice."""
    steps = shapes.contiguous_strides(want) if format is None else shapes.strides_for(want, format)
    need = shapes.storage_extent(want, steps)
    if any(step >= 1 << 63 for step in steps):
        raise RuntimeError("Stride calculation overflowed")
    if need * raw.dtype.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(want)}")
    held = memory.owner(raw)
    first = memory.offset_of(raw)
    if (first + need) * raw.dtype.itemsize <= held.nbytes:
        return memory.as_strided(raw, want, steps, first)
    grown = memory.uninitialised(first + need, raw.dtype)
    flat = (held if held.flags.c_contiguous else held.ravel("K")).reshape(-1)
    if flat.dtype == raw.dtype:
        grown[: flat.size] = flat
    return memory.strided(grown, want, steps, first)


@method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None, **named: Any) -> Tensor:
    """Another shape over the same memory, which grows (with undefined values) where it must."""
    want = read_ints("resize_", "size", one_of("resize_", sizes, named, "size"))
    _unrecorded(self, "resize")
    if tuple(self.shape) != want or memory_format is not None:
        _check_sizes(want)
        self.raw = resized(self.raw, want, memory_format)
        touch(self, "resize_")
    return self


def _check_sizes(want: Shape) -> None:
    if any(n < 0 for n in want):
        bad = next(n for n in want if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {list(want)}")


@method
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    format = _suggested(the_template) if memory_format is preserve_format else memory_format
    return resize_(self, tuple(the_template.shape), memory_format=format)  # type: ignore[no-any-return]


def _suggested(t: Tensor) -> Any:
    """The memory format a tensor is in."""
    by_rank = {4: channels_last, 5: channels_last_3d}.get(t.ndim)
    return by_rank if by_rank is not None and not is_contiguous(t) and is_contiguous(t, by_rank) else contiguous_format


def resize_output(out: Tensor, shape: Shape) -> None:
    """Make an `out=` tensor fit; PyTorch warns if it had elements."""
    if out.shape.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning, stacklevel=4,
        )  # fmt: skip
    out.raw = resized(out.raw, tuple(shape))


Tensor._resize_output = resize_output  # type: ignore[attr-defined]


spell("resize_as_", resize_as_, "f")


spell("UntypedStorage", UntypedStorage, "f")
spell("TypedStorage", TypedStorage, "f")


@method
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory to where other processes see it: not possible here."""
    raise NotImplementedError("share_memory_: tensors cannot be shared between processes")


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Page-lock the memory: there is no accelerator to copy to."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
