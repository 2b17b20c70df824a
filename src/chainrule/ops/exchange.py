"""Other memory for a tensor: another tensor's, a storage's, more of its own."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.cuts import cut_of, written_behind
from chainrule.autograd.eager import check_writable, edges_through
from chainrule.autograd.node import leave_accumulator
from chainrule.autograd.refusing import without_derivative
from chainrule.autograd.versions import CountingStore, InferenceStore, store_of, touch
from chainrule.autograd.views import rebase, refresh
from chainrule.backends import meta
from chainrule.backends.cpu import memory
from chainrule.backends.sparse import is_sparse
from chainrule.core import shape as shapes
from chainrule.core.ambient import here
from chainrule.core.dtype import dtype as DType
from chainrule.core.dtype import int64
from chainrule.core.layout import preserve_format
from chainrule.core.notices import warn
from chainrule.core.public import attribute, method, quiet_method, spell
from chainrule.core.tensor import CPU, LEAF, WRAPPERS, Tensor, fresh
from chainrule.ops.arguments import as_int, one_of, read_ints
from chainrule.ops.storages import StorageBase, bottom, storage_of
from chainrule.ops.typed_storage import TypedStorage

__all__ = ["array_over", "tensor_over"]

Shape = tuple[int, ...]


def _data(self: Tensor) -> Tensor:
    """The same memory without history and with a version of its own: changes through it are not noticed."""
    alias = self.rewrapped() if self.__class__ is not Tensor else fresh(self.raw)
    if self.__class__ in WRAPPERS:
        alias.store = alias.viewed = None
    if isinstance(self.store, InferenceStore):
        alias.store = self.store if here().inference else CountingStore()
    alias.cut = cut_of(self, ".data")
    if alias.cut is None:
        written_behind(self)
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


attribute("data", _data, _set_data, _refuse_del)


def _unrecorded(t: Tensor, what: str) -> None:
    if t.viewed is not None:
        refresh(t)
    if t.edge is not None and not here().inference:
        raise RuntimeError(f"cannot {what} variables that require grad")


_FORMS = (
    "set_() received an invalid combination of arguments - got ({}), but expected one of:\n * ()\n"
    " * (torch.Storage source)\n"
    " * (torch.Storage source, int storage_offset, tuple of ints size, tuple of ints stride = None)\n"
    " * (Tensor source)\n"
    " * (Tensor source, int storage_offset, tuple of ints size, tuple of ints stride = None)\n"
)
_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "bool": "bool", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "complex32": "c10::complex<c10::Half>",
}  # fmt: skip


def _c_name(dtype: DType) -> str:
    return _C_NAMES.get(dtype.name, f"c10::{dtype.title}")


@quiet_method
def set_(self: Tensor, source: Any = None, storage_offset: Any = None, size: Any = None, stride: Any = None) -> Tensor:
    """Look at other memory: a tensor's, or a storage from an offset with a shape and steps."""
    if (storage_offset is None) is not (size is None) or (size is None and stride is not None):
        _refuse_set(source, storage_offset, size, stride)
    edges = edges_through((self, source)) if here().grad else ()
    check_writable(self, any(e is not None for e in edges), "set_")
    leave_accumulator(self, forget=True)
    if source is None:
        self.raw = meta.empty((0,), self.raw.dtype) if self.device is not CPU else np.empty(0, bottom(self).dtype)
        store_of(self).kept = None
    elif isinstance(source, Tensor) and size is None:
        _check_source(self, source.dtype, source.device, _TENSORS)
        self.raw = source.raw
    else:
        _set_storage(self, source, storage_offset, size, stride)
    touch(self, "set_")
    if any(e is not None for e in edges):
        rebase(self, without_derivative("set_", edges))
    return self


def _refuse_set(*args: Any) -> NoReturn:
    raise TypeError(_FORMS.format(", ".join(type(a).__name__ for a in args if a is not None)))


_TENSORS = "Could not set tensor of type {} to a tensor of type {}"
_STORAGES = "Expected a Storage of type {1} or an UntypedStorage, but got type {0} for argument 1 'storage'"


def _check_source(self: Tensor, dtype: Any, device: Any, says: str) -> None:
    if dtype is not None and dtype is not self.dtype:
        given = _c_name(dtype) if says is _TENSORS else dtype.title
        raise RuntimeError(says.format(given, _c_name(self.dtype)))
    if device is not self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{device}".  This is no longer allowed; the devices must match.'
        )


def _set_storage(self: Tensor, source: Any, offset: Any, size: Any, stride: Any) -> None:
    if isinstance(source, Tensor):
        dtype, held = source.dtype, storage_of(source)
    elif isinstance(source, TypedStorage):
        dtype, held = source._dtype, source._untyped_storage
    else:
        dtype, held = None, source
    if not isinstance(held, StorageBase) or any(not isinstance(x, (tuple, list, type(None))) for x in (size, stride)):
        _refuse_set(source, offset, size, stride)
    _check_source(self, dtype, held.device, _TENSORS if isinstance(source, Tensor) else _STORAGES)
    raw = array_over(held, self.raw, offset, size, stride)
    self.raw, store_of(self).kept = raw, held


def array_over(held: Any, like: Any, offset: Any, size: Any, stride: Any) -> Any:
    """An array over a storage, in the dtype of `like`; the storage grows where the shape is not that of `like`."""
    item = like.dtype.itemsize
    want = (held.nbytes() // item,) if size is None else read_ints("set_", "size", (size,), 3)
    first = 0 if offset is None else as_int("set_", "storage_offset", 2, offset)
    steps = shapes.contiguous_strides(want) if stride is None else read_ints("set_", "stride", (stride,), 4)
    _check_steps(want, steps, first)
    need = (first + shapes.storage_extent(want, steps)) * item if 0 not in want else 0
    if need > held.nbytes():
        if want == tuple(like.shape):
            raise RuntimeError(
                f"setStorage: sizes {list(want)}, strides {[] if stride is None else list(steps)}, "
                f"storage offset {first}, and itemsize {item} requiring a storage size of {need} are out of bounds for "
                f"storage of size {held.nbytes()}"
            )
        held._grow(need, like.dtype)
    if held._held is None:
        return meta.strided(want, tuple(s * item for s in steps), like.dtype)
    return memory.moved_to(held._held, want, like.dtype, first, steps)


def tensor_over(source: Any, dtype: DType | None, says: str) -> Tensor:
    """A flat tensor over a whole storage; untyped bytes are read as int64 if no dtype is given."""
    typed = isinstance(source, TypedStorage)
    dtype = dtype or (source._dtype if typed else int64)
    if typed and source._dtype is not dtype:
        raise RuntimeError(says.format(dtype.title, source._dtype.title))
    held = source._untyped_storage if typed else source
    if held._held is None:
        raise NotImplementedError("Not available for 'meta' device type")
    like = np.empty(0, dtype.numpy)
    t = fresh(array_over(held, like, None, None, None))
    store_of(t).kept = held
    return t


def _check_steps(want: Shape, steps: Shape, first: int) -> None:
    if len(want) != len(steps):
        raise RuntimeError(f"unequal size length ({len(want)}) and stride length ({len(steps)})")
    if first < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {first}")
    if any(n < 0 for n in want):
        raise RuntimeError("numel: integer multiplication overflow")
    if any(s < 0 for s in steps):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(want)} and strides={list(steps)}")


def resized(t: Tensor, want: Shape, format: Any = None) -> Any:
    """The elements in memory order under another shape; the memory grows only where it does not suffice."""
    raw = t.raw
    steps = shapes.contiguous_strides(want) if format is None else shapes.strides_for(want, format)
    need = shapes.storage_extent(want, steps)
    if any(step >= 1 << 63 for step in steps):
        raise RuntimeError("Stride calculation overflowed")
    if need * raw.dtype.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(want)}")
    first = memory.offset_of(raw)
    kept = getattr(t.store, "kept", None)
    if raw.__class__ is not np.ndarray:
        if isinstance(kept, StorageBase):
            kept.resize_(max(kept.nbytes(), (first + need) * raw.dtype.itemsize))
        return memory.as_strided(raw, want, steps, first)
    held = memory.owner(raw)
    if (first + need) * raw.dtype.itemsize <= (kept.nbytes() if isinstance(kept, StorageBase) else held.nbytes):
        return memory.as_strided(raw, want, steps, first)
    if t.store is not None and held.nbytes:  # others may look at this memory: they move along
        storage_of(t)._grow((first + need) * raw.dtype.itemsize, raw.dtype)
        return memory.as_strided(t.raw, want, steps, first)
    grown = memory.uninitialised(first + need, raw.dtype)
    memory.bytes_of(grown)[: held.nbytes] = memory.bytes_of(held)
    return memory.strided(grown, want, steps, first)


@method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None, **named: Any) -> Tensor:
    """Another shape over the same memory, which grows (with undefined values) where it must."""
    if not sizes and not named:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    want = read_ints("resize_", "size", one_of("resize_", sizes, named, "size"))
    _unrecorded(self, "resize")
    if tuple(self.shape) != want or memory_format is not None:
        _check_sizes(want)
        if memory_format is preserve_format:
            raise RuntimeError("Unsupported memory formatPreserve")
        self.raw = resized(self, want, memory_format)
        touch(self, "resize_")
    return self


def _check_sizes(want: Shape) -> None:
    if any(n < 0 for n in want):
        raise RuntimeError("numel: integer multiplication overflow")


@method
def resize_as_(self: Tensor, the_template: Any, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    if not isinstance(the_template, Tensor):
        kind = type(the_template).__name__
        raise TypeError(f"resize_as_(): argument 'the_template' (position 1) must be Tensor, not {kind}")
    format = _suggested(the_template) if memory_format is preserve_format else memory_format
    return resize_(self, tuple(the_template.shape), memory_format=format)


def _suggested(t: Any) -> Any:
    """The memory format a tensor is in."""
    return shapes.suggested_format(tuple(t.shape), tuple(t.stride()))


def resize_output(out: Tensor, shape: Shape, result: Tensor | None = None) -> None:
    """Make an `out=` tensor fit, in the memory format of the result; PyTorch warns if it had elements."""
    if out.shape.numel():
        warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
        )  # fmt: skip
    out.raw = resized(out, tuple(shape), None if result is None else _suggested(result))


spell("_resize_output", resize_output, "m")


spell("resize_as_", resize_as_, "f")


@method
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory to where processes forked from this one see it."""
    storage_of(self).share_memory_()
    return self
