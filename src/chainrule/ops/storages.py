"""Storages: the bytes that tensors look at, as objects.

A tensor looks at an array, and a chain of views ends at the array that owns the memory. A storage is the object that
stands for this owner: one per owner, made when first asked for, and alive as long as a tensor over it is (its `Store`
keeps it). Arrays without elements (backends.meta) own nothing, so there each `Store` has a storage of its own.

Memory stays where it is for as long as arrays look at it. Where a storage must move (it grows, or becomes shared), all
tensors over it are looked up among the living objects and sent to the new place: slow, exact, rare.
"""

from __future__ import annotations

import gc
import mmap
from typing import Any, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from chainrule.autograd.versions import store_of
from chainrule.backends.cpu import lazy, memory
from chainrule.core import dtype as dtypes
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import storage_extent
from chainrule.core.tensor import CPU, META, Tensor

__all__ = ["FIXED", "StorageBase", "UntypedStorage", "bottom", "count_users", "fix", "own_memory", "storage_of"]

FIXED = object()  # in a tensor's store, where no storage was asked for yet: others look at the memory, it cannot move

_known: WeakValueDictionary[int, StorageBase] = WeakValueDictionary()  # by the id of the owner, which the storage holds


def bottom(t: Any) -> Any:
    """The array under a tensor, however many transforms lie between."""
    while isinstance(t, Tensor):
        t = t.raw
    return t


_FORMS = (
    "torch.{}() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (*, int allocator = None, torch.device device = None)\n"
    " * (int size, *, int allocator = None, torch.device device = None)\n"
    " * (object sequence, *, int allocator = None, torch.device device = None)\n"
)


def _refuse(cls: type, args: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    got = ", ".join([*(type(a).__name__ for a in args), *(f"{k}={type(v).__name__}" for k, v in named.items())])
    raise TypeError(_FORMS.format(cls.__name__, got))


def place_of(cls_name: str, device: Any) -> Device:
    """The device of a new storage: the CPU or none."""
    where = CPU if device is None else as_device(device)
    if where.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if where.type not in ("cpu", "meta"):
        raise RuntimeError(f"torch.{cls_name}(): Storage device not recognized: {where.type}")
    return CPU if where.type == "cpu" else META


def new_memory(count: int, dtype: Any = np.uint8) -> Any:
    """An array of so many elements."""
    if count < 0:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with "
            f"negative number: {(count * np.dtype(dtype).itemsize) % (1 << 64)}"
        )
    return memory.uninitialised(count, np.dtype(dtype))


Kind = TypeVar("Kind", bound="StorageBase")


class StorageBase:
    """Bytes in memory (or, on the device "meta", only their number)."""

    __slots__ = ("__weakref__", "_held", "_movable", "_size")
    _held: Any  # the array that owns the memory; None on meta
    _size: int  # how many of its bytes count
    _movable: bool

    def __new__(cls, *args: Any, **named: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        unknown = {k: v for k, v in named.items() if k not in ("allocator", "device")}
        if unknown or len(args) > 1:
            _refuse(cls, args, named)
        if named.get("allocator") is not None:
            raise NotImplementedError(f"torch.{cls.__name__}(): allocator: memory here comes from NumPy")
        where = place_of(cls.__name__, named.get("device"))
        made = object.__new__(cls)
        return _fill_new(made, args[0] if args else 0, where)

    # ------------------------------------------------------------------------------------------------------- facts

    def nbytes(self) -> int:
        """How many bytes."""
        return self._size

    def size(self) -> int:
        """How many bytes."""
        return self._size

    def __len__(self) -> int:
        return self._size

    def element_size(self) -> int:
        """Bytes have one byte."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return 0 if self._held is None or not self._size else memory.address(self._writable())

    @property
    def device(self) -> Device:
        """Where the bytes are."""
        return META if self._held is None else CPU

    @property
    def _cdata(self) -> int:
        return id(self) if self._held is None else id(self._held)

    is_cuda = property(lambda self: False, doc="False: there is no such device here.")
    is_hpu = property(lambda self: False, doc="False: there is no such device here.")
    is_sparse = False
    is_sparse_csr = False

    def get_device(self) -> int | None:
        """The number of the GPU: none."""
        return None

    @property
    def filename(self) -> str | None:
        """The file the bytes are mapped from."""
        found = None if self._held is None else memory.owner(self._held)
        return str(found.filename) if isinstance(found, np.memmap) and found.mode != "c" else None

    def is_shared(self) -> bool:
        """Is the memory shared with other processes?"""
        held = self._held
        while isinstance(held, (np.ndarray, memoryview)):
            held = held.base if isinstance(held, np.ndarray) else held.obj
        return isinstance(held, mmap.mmap)

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Is the memory page-locked?"""
        return False

    def resizable(self) -> bool:
        """May the number of bytes change?"""
        return self._held is None or (self._movable and self._held.base is None)

    def untyped(self) -> StorageBase:
        """Itself."""
        return self

    def _fix_weakref(self) -> None:
        """Nothing to mend: a storage is one object for as long as it lives."""

    # ---------------------------------------------------------------------------------------------------- elements

    def _all_bytes(self) -> Any:
        return memory.bytes_of(self._held)

    def _bytes(self) -> Any:
        if self._held is None:
            raise NotImplementedError("Not available for 'meta' device type")
        found = memory.bytes_of(self._held)
        return found if found.size == self._size else found[: self._size]

    def own_memory(self) -> None:
        """Before a write: a copy that waited for it (backends.cpu.lazy) is made now."""
        held = self._held
        if held is not None and lazy.leave(held):
            self._move(held.copy())

    def _writable(self) -> Any:
        self.own_memory()
        return self._bytes()

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return self._bytes().tolist()  # type: ignore[no-any-return]

    def __getitem__(self, at: Any) -> Any:
        found = self._bytes()
        if isinstance(at, slice):
            start, stop, step = at.indices(self._size)
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            part = found[start : max(stop, start)]
            return wrap(UntypedStorage, part if part.size else np.empty(0, np.uint8), known=False)
        if not isinstance(at, (int, np.integer)):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")
        place = at + self._size if at < 0 else at
        if not 0 <= place < self._size:
            raise IndexError(f"index {place} out of range for storage of size {self._size}")
        return int(found[place])

    def __setitem__(self, at: Any, value: Any) -> None:
        if not isinstance(at, (int, np.integer, slice)):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")
        if not isinstance(value, (int, np.integer)):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if self._held is None:
            return
        if isinstance(at, slice) and at.indices(self._size)[2] != 1:
            raise RuntimeError("Trying to slice with a step other than 1, but only a step of 1 is supported")
        if not isinstance(at, slice) and not 0 <= (at + self._size if at < 0 else at) < self._size:
            raise RuntimeError("out of bounds")
        self._writable()[at] = int(value) & 255

    def fill_(self, value: int) -> StorageBase:
        """The same byte everywhere."""
        if not isinstance(value, (int, np.integer)):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        if self._held is not None:
            self._writable()[...] = int(value) & 255
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> StorageBase:
        """Overwrite the bytes."""
        if not isinstance(source, StorageBase):
            source = getattr(source, "_untyped_storage", source)
        if not isinstance(source, StorageBase):
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type(source).__name__}")
        if source._size != self._size:
            raise RuntimeError(f"size does not match, self was {self._size} bytes but src was {source._size} bytes")
        if self._held is not None:
            if source._held is None:
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            self._writable()[...] = source._bytes()
        return self

    def clone(self) -> UntypedStorage:
        """A copy."""
        if self._held is None:
            return UntypedStorage(self._size, device="meta")  # type: ignore[no-any-return]
        return wrap(UntypedStorage, self._bytes().copy())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> StorageBase:
        """A copy, shared with the copies of tensors over the same memory."""
        if id(self) not in memo:
            memo[id(self)] = self.clone() if self._held is None else storage_over(memory.deep_copy(self._held, memo))
        return memo[id(self)]  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        if self._held is None:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return _from_bytes, (type(self), self._bytes().tobytes())

    def new(self) -> StorageBase:
        """An empty storage."""
        made: StorageBase = type(self)()
        return made

    def byteswap(self, dtype: DType) -> None:
        """Turn the order of bytes in every element of a type; a complex number is two."""
        size = dtype.to_real().itemsize
        if self._size % size:
            raise RuntimeError(f"the length of data is not a multiple of {size}")
        self._writable().reshape(-1, size)[...] = self._bytes().reshape(-1, size)[:, ::-1].copy()

    # ------------------------------------------------------------------------------------------------ other memory

    def resize_(self, size: int) -> StorageBase:
        """Another number of bytes; the memory stays where it is while it suffices."""
        if not isinstance(size, (int, np.integer)):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if self._held is None:
            self._size = int(size)
            return self
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        if size > self._held.nbytes or size < 0:
            self._grow(int(size), np.dtype(np.uint8))
        self._size = int(size)
        return self

    def _grow(self, size: int, dtype: np.dtype[Any]) -> None:
        """More bytes; `dtype` says how to fill the new ones, if they are to be filled."""
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        if self._held is not None:
            grown = new_memory(-(-size // dtype.itemsize), dtype)
            memory.bytes_of(grown)[: self._size] = self._bytes()
            self._move(grown)
        self._size = size

    def _move(self, to: Any) -> None:
        """Look at other memory, and take along every tensor over the old."""
        old = self._held
        lazy.leave(old)
        self._look_at(to)
        repoint({id(old): to})

    def _look_at(self, held: Any) -> None:
        if _known.get(id(self._held)) is self:
            del _known[id(self._held)]
        self._held = held
        _known[id(held)] = self

    def _swap_data_ptr_(self, other: StorageBase) -> None:
        """Exchange the memory of two storages; tensors stay with their storage."""
        if self is other:
            return
        self.own_memory()
        other.own_memory()
        if self.device != other.device:
            raise RuntimeError("Expected self and other to be on the same device")
        if self._size != other._size and self._size and other._size:
            raise RuntimeError(
                f"Expected self and other to have the same nbytes, but got {self._size} and {other._size}"
            )
        self._size, other._size = other._size, self._size
        if self._held is None:
            return
        mine, theirs = self._held, other._held
        _known.pop(id(mine), None), _known.pop(id(theirs), None)
        self._look_at(theirs)
        # The tensors of an emptied storage may look at more than the other had: they get memory of their own size.
        other._look_at(mine if self._size == other._size else new_memory(theirs.nbytes))
        repoint({id(mine): self._held, id(theirs): other._held})

    def share_memory_(self) -> StorageBase:
        """Move the bytes to memory that processes forked from this one share."""
        if self._held is None:
            raise RuntimeError("_share_fd_: only available on CPU")
        if not self.is_shared():
            shared = np.frombuffer(mmap.mmap(-1, max(self._held.nbytes, 1)), np.uint8)[: self._held.nbytes]
            shared[...] = self._all_bytes()
            self._move(memory.owner(shared))
        return self

    def _share_fd_cpu_(self, *args: Any) -> NoReturn:
        self._refuse_sending("_share_fd_")

    def _share_filename_cpu_(self, *args: Any) -> NoReturn:
        self._refuse_sending("_share_filename_")

    def _refuse_sending(self, name: str) -> NoReturn:
        if self._held is None:
            raise RuntimeError(f"{name}: only available on CPU")
        raise NotImplementedError(f"{name}: storages cannot be sent to other processes; forked ones share them")

    # ------------------------------------------------------------------------------------------------ other places

    def cpu(self) -> StorageBase:
        """The bytes on the CPU."""
        if self._held is None:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> NoReturn:
        """The bytes on a GPU: there is none."""
        raise AssertionError("Torch not compiled with CUDA enabled")

    def to(self, *, device: Any, non_blocking: bool = False) -> StorageBase:
        """The bytes on a device."""
        where = place_of("UntypedStorage", device)
        if where is self.device:
            return self
        return self.cpu() if where is CPU else UntypedStorage(self._size, device="meta")

    def pin_memory(self, device: Any = "cuda") -> NoReturn:
        """Page-lock the memory: there is no accelerator to copy to."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
        """The bytes of a file, mapped: `shared` writes changes back, and makes the file that long."""
        return wrap(cls, memory.mapped(filename, shared, nbytes))

    @classmethod
    def from_buffer(cls, buffer: Any, *args: Any, dtype: DType, **named: Any) -> Any:
        """A copy of a Python buffer, turned to the order of bytes of this machine."""
        return wrap(cls, memory.bytes_of(read_buffer(dtype, buffer, *args, **named)))

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to an open file, behind their number of elements if asked."""
        if self._held is None:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if save_size:
            f.write(np.int64(self._size // element_size).tobytes())
        f.write(self._bytes().tobytes())

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._size

    def __repr__(self) -> str:
        rows = "..." if self._held is None else "\n ".join(map(str, self.tolist()))
        shown = rows if self._held is None else f" {rows}"
        return f"{shown}\n[torch.storage.UntypedStorage(device={self.device}) of size {self._size}]"

    __str__ = __repr__

    def __iter__(self) -> Any:
        return iter(self.tolist())


class UntypedStorage(StorageBase):
    """The bytes that tensors look at."""


UntypedStorage.__module__ = "chainrule.storage"  # its public place


def _fill_new(made: Any, given: Any, where: Device) -> Any:
    """Bytes for a new storage: so many, or those of a sequence."""
    made._movable = True
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if where is META:
            made._held, made._size = None, int(given)
            return made
        held = new_memory(int(given))
    else:
        held = _sequence_bytes(type(made), given)
        if where is META:
            made._held, made._size = None, held.size
            return made
    made._held, made._size = held, held.nbytes
    _known[id(held)] = made
    return made


def _sequence_bytes(cls: type, given: Any) -> Any:
    if isinstance(given, Tensor) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise RuntimeError(f"torch.{cls.__name__}(): Expected a sequence type, but got {type(given).__name__}")
    items = list(given)
    for item in items:
        if not isinstance(item, (int, np.integer)):
            raise RuntimeError(
                f"torch.{cls.__name__}(): tried to construct a storage from a sequence ({type(given).__name__}), but "
                f"one of the items was of type {type(item).__name__} instead of int"
            )
    return np.array([int(i) & 255 for i in items], np.uint8)


def _from_bytes(cls: Any, data: bytes) -> Any:
    return wrap(cls, np.frombuffer(bytearray(data), np.uint8).copy())


def wrap(cls: type[Kind], held: Any, known: bool = True) -> Kind:
    """A storage over an array; `known`: it stands for the array's memory from now on."""
    made = object.__new__(cls)
    made._held, made._size, made._movable = held, held.nbytes, True
    if known:
        _known[id(held)] = made
    return made


def storage_over(owner: Any) -> Any:
    """The one storage of an array that owns its memory."""
    found = _known.get(id(owner))
    return wrap(UntypedStorage, owner) if found is None else found


def storage_of(t: Tensor) -> Any:
    """The one storage under a tensor."""
    raw = bottom(t)
    store = store_of(t)
    kept = getattr(store, "kept", None)
    if raw.__class__ is not np.ndarray:
        return kept if isinstance(kept, StorageBase) else _hollow(t, store)
    found = storage_over(memory.owner(raw))
    if kept is not found:
        if kept is FIXED:
            found._movable = False
        store.kept = found
    return found


def _hollow(t: Any, store: Any) -> Any:
    base = t if t.viewed is None else t.viewed.base
    raw = bottom(base)
    extent = memory.offset_of(raw) + storage_extent(raw.shape, memory.element_strides(raw))
    found = store.kept = UntypedStorage(extent * raw.dtype.itemsize, device="meta")
    return found


def own_memory(t: Tensor) -> None:
    """The memory of `t` is about to be written: a lazy copy of it is made now."""
    raw = bottom(t)
    if raw.__class__ is np.ndarray and lazy.is_lazy(raw):
        storage_of(t).own_memory()


def fix(t: Tensor) -> None:
    """Others look at the memory of `t` from now on: it must not move."""
    store = store_of(t)
    kept = getattr(store, "kept", None)
    if isinstance(kept, StorageBase):
        kept._movable = False
    else:
        store.kept = FIXED


def repoint(moves: dict[int, Any]) -> None:
    """Send every tensor over one of the owners, given by id, to the same place of another."""
    for each in gc.get_objects():
        if issubclass(type(each), Tensor):
            raw = getattr(each, "raw", None)
            if raw.__class__ is np.ndarray and (to := moves.get(id(memory.owner(raw)))) is not None:
                each.raw = memory.moved(raw, to)


def count_users(held: int) -> int:
    """How many look at the memory of an owner, given by id: tensors, and the storage that stands for it."""
    tensors = [t for t in gc.get_objects() if issubclass(type(t), Tensor) and hasattr(t, "raw")]
    found = [t for t in tensors if t.raw.__class__ is np.ndarray and id(memory.owner(t.raw)) == held]
    return len(found) + (held in _known)


def read_buffer(
    dtype: DType, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, device: Any = None
) -> Any:
    """The elements in a Python buffer, from `offset` bytes on, in a new array."""
    if byte_order is None and dtype not in (dtypes.uint8, dtypes.int8):
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in ("big", "little", "native", None):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    held = memoryview(buffer).cast("B") if not isinstance(buffer, str) else None
    if held is None:
        raise TypeError("a bytes-like object is required, not 'str'")
    kind = dtype.numpy
    if not 0 <= offset <= len(held):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(held)}"
        )
    left = len(held) - offset
    if count < 0 and left % kind.itemsize:
        raise ValueError(f"buffer size ({left}) must be a multiple of element size ({kind.itemsize})")
    wanted = left // kind.itemsize if count < 0 else count
    if wanted * kind.itemsize > left:
        raise ValueError(
            f"buffer has only {left // kind.itemsize} elements after offset {offset}, but specified a size of {count}"
        )
    found = np.frombuffer(held, np.uint8, wanted * kind.itemsize, offset).copy()
    if dtype is dtypes.bool_:
        return found != 0
    swapped = byte_order == ("little" if np.little_endian is False else "big")
    part = dtype.to_real().itemsize
    return (found.reshape(-1, part)[:, ::-1].reshape(-1).copy() if swapped and part > 1 else found).view(kind)
