"""Storages counted in elements of one dtype: PyTorch's older view of memory, which it asks to leave.

`FloatStorage` and its siblings make typed storages of their dtype; every typed storage of it counts as their instance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.literal import array_of, cast_number
from chainrule.core.notices import warn
from chainrule.core.public import PUBLIC, spell
from chainrule.core.tensor import META, Tensor
from chainrule.ops.storages import StorageBase, UntypedStorage, place_of, read_buffer, wrap

__all__ = [
    "LEGACY", "TypedStorage", "always_warn", "dtype_to_name", "is_always_warned", "legacy_class", "name_to_dtype",
    "reset_warning", "set_always_warn", "warn_of_removal",
]  # fmt: skip

_NAMED = {
    "DoubleStorage": dtypes.float64, "FloatStorage": dtypes.float32, "HalfStorage": dtypes.float16,
    "LongStorage": dtypes.int64, "IntStorage": dtypes.int32, "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_, "BFloat16Storage": dtypes.bfloat16,
    "ComplexDoubleStorage": dtypes.complex128, "ComplexFloatStorage": dtypes.complex64,
    "QInt8Storage": dtypes.NAMES["qint8"], "QInt32Storage": dtypes.NAMES["qint32"],
    "QUInt8Storage": dtypes.NAMES["quint8"], "QUInt4x2Storage": dtypes.NAMES["quint4x2"],
    "QUInt2x4Storage": dtypes.NAMES["quint2x4"],
}  # fmt: skip
_NAMES = {d: name for name, d in _NAMED.items()}
# Quantized numbers are stored as whole ones.
_STORED: dict[DType, np.dtype[Any]] = {
    dtypes.NAMES["qint8"]: np.dtype(np.int8), dtypes.NAMES["qint32"]: np.dtype(np.int32),
    dtypes.NAMES["quint8"]: np.dtype(np.uint8), dtypes.NAMES["quint4x2"]: np.dtype(np.uint8),
    dtypes.NAMES["quint2x4"]: np.dtype(np.uint8),
}  # fmt: skip


def dtype_to_name() -> dict[DType, str]:
    """Dtypes, and the names of the classes that make storages of them."""
    return dict(_NAMES)


def name_to_dtype() -> dict[str, DType]:
    """The same the other way round."""
    return dict(_NAMED)


# ------------------------------------------------------------------------------------------------------ the warning

_warning = {"always": False, "said": False}


def set_always_warn(always: bool) -> None:
    """Say each time that typed storages will go, not once."""
    if not isinstance(always, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always)}")
    _warning["always"] = always


def is_always_warned() -> bool:
    """Is it said each time?"""
    return _warning["always"]


def always_warn() -> bool:
    """Will it be said now?"""
    return _warning["always"] or not _warning["said"]


def reset_warning() -> None:
    """Forget that it was said."""
    _warning["said"] = False


def warn_of_removal() -> None:
    """Say, once, that typed storages will go."""
    if _warning["said"] and not _warning["always"]:
        return
    _warning["said"] = True
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()"
    )


def _public(fn: Callable[..., Any]) -> Any:
    """A method that warns; `_fn` is the same without."""

    @wraps(fn)
    def warned(self: Any, *args: Any, **named: Any) -> Any:
        warn_of_removal()
        return fn(self, *args, **named)

    return warned


_FORMS = {
    False: "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n",
    True: "{}.__new__ received an invalid combination of arguments. Expected one of:\n"
    " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n",
}


def _check(cls: Any, args: tuple[Any, ...], held: Any, dtype: Any, device: Any) -> None:
    """Refuse arguments that no form takes; `cls` is a legacy class or TypedStorage."""
    legacy = cls is not TypedStorage
    forms = _FORMS[legacy].format(cls)
    if legacy and device is not None:
        raise RuntimeError(f"{forms}Keyword argument 'device' cannot be specified")
    if legacy and dtype is not None:
        raise RuntimeError(f"{forms}Keyword argument 'dtype' cannot be specified")
    if held is not None:
        if args:
            raise RuntimeError(f"{forms}No positional arguments should be given when using 'wrap_storage'")
        if not legacy and dtype is None:
            raise RuntimeError(f"{forms}Argument 'dtype' must be specified")
        if not legacy and not isinstance(dtype, DType):
            raise TypeError(f"{forms}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        if device is not None:
            raise RuntimeError(f"{forms}Argument 'device' should not be specified when 'wrap_storage' is given")
        if not isinstance(held, StorageBase):
            raise TypeError(f"{forms}Argument 'wrap_storage' must be UntypedStorage, but got {type(held)}")
        return
    if len(args) > 1:
        raise RuntimeError(f"{forms}Too many positional arguments")
    if dtype is not None and not isinstance(dtype, DType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    if args and not _is_count(args[0]) and not _is_sequence(args[0]):
        raise TypeError(f"{forms}Argument type not recognized: {type(args[0])}")


def _is_count(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _is_sequence(x: Any) -> bool:
    known = isinstance(x, (Tensor, StorageBase, TypedStorage))
    return not known and hasattr(x, "__len__") and hasattr(x, "__getitem__")


def _stored(dtype: DType) -> np.dtype[Any]:
    return _STORED.get(dtype) or dtype.numpy


def _new_bytes(given: Any, dtype: DType, device: Any) -> Any:
    """The untyped storage for so many elements, or for those of a sequence."""
    where = place_of("UntypedStorage", device)
    kind = _stored(dtype)
    if _is_count(given):
        if where is META:
            return UntypedStorage(int(given) * kind.itemsize, device="meta")
        return UntypedStorage(int(given) * kind.itemsize)
    if isinstance(given, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(given).__name__}'")
    held = array_of(list(given), None if dtype in _STORED else dtype).reshape(-1).astype(kind, copy=False)
    if where is META:
        return UntypedStorage(held.nbytes, device="meta")
    return wrap(UntypedStorage, held)


class TypedStorage:
    """The bytes that tensors look at, counted in elements of one dtype."""

    _untyped_storage: Any
    _dtype: DType

    def __new__(
        cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> Any:
        if not _internal:
            warn_of_removal()
        _check(cls, args, wrap_storage, dtype, device)
        made = object.__new__(TypedStorage)
        made._dtype = cls._dtype if cls is not TypedStorage else dtype or settings.default_dtype
        made._untyped_storage = wrap_storage or _new_bytes(args[0] if args else 0, made._dtype, device)
        return made

    # ------------------------------------------------------------------------------------------------------- facts

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        warn_of_removal()
        return self._dtype

    @property
    def device(self) -> Device:
        """Where the elements are."""
        warn_of_removal()
        return self._untyped_storage.device  # type: ignore[no-any-return]

    @property
    def is_cuda(self) -> bool:
        """False: there is no such device here."""
        warn_of_removal()
        return False

    @property
    def is_hpu(self) -> bool:
        """False: there is no such device here."""
        warn_of_removal()
        return False

    @property
    def filename(self) -> str | None:
        """The file the elements are mapped from."""
        return self._untyped_storage.filename  # type: ignore[no-any-return]

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata  # type: ignore[no-any-return]

    is_sparse = False

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // self._dtype.itemsize  # type: ignore[no-any-return]

    def _nbytes(self) -> int:
        return self._untyped_storage.nbytes()  # type: ignore[no-any-return]

    def _element_size(self) -> int:
        return self._dtype.itemsize

    def _data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()  # type: ignore[no-any-return]

    def _is_shared(self) -> bool:
        return self._untyped_storage.is_shared()  # type: ignore[no-any-return]

    def _pickle_storage_type(self) -> str:
        found = _NAMES.get(self._dtype)
        if found is None:
            raise KeyError(f"dtype {self._dtype} is not recognized")
        return found

    def size(self) -> int:
        """How many elements."""
        warn_of_removal()
        return self._size()

    def __len__(self) -> int:
        warn_of_removal()
        return self._size()

    nbytes = _public(_nbytes)
    element_size = _public(_element_size)
    data_ptr = _public(_data_ptr)
    is_shared = _public(_is_shared)
    pickle_storage_type = _public(_pickle_storage_type)

    def get_device(self) -> int | None:
        """The number of the GPU: none."""
        warn_of_removal()
        return None

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Is the memory page-locked?"""
        warn_of_removal()
        return False

    def resizable(self) -> bool:
        """May the number of elements change?"""
        warn_of_removal()
        return self._untyped_storage.resizable()  # type: ignore[no-any-return]

    def untyped(self) -> Any:
        """The same bytes, without a dtype."""
        warn_of_removal()
        return self._untyped_storage

    def _get_legacy_storage_class(self) -> Any:
        return legacy_class(self._dtype) if self._dtype in _NAMES else None

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the type, `torch.FloatStorage`; or the elements in another type."""
        warn_of_removal()
        if dtype is None:
            found = _NAMES.get(self._dtype)
            return f"torch.{found}" if found is not None else "torch.storage.TypedStorage"
        if isinstance(dtype, str):
            dtype = _NAMED[dtype.rpartition(".")[2]]
        return self._converted(dtype if isinstance(dtype, DType) else dtype._dtype)

    # ---------------------------------------------------------------------------------------------------- elements

    def _elements(self) -> Any:
        held = self._untyped_storage._bytes()
        kind = _stored(self._dtype)
        return held[: held.size // kind.itemsize * kind.itemsize].view(kind)

    def _at(self, at: Any) -> int:
        if isinstance(at, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(at, (int, np.integer)):
            raise RuntimeError(f"can't index a {type(self)} with {type(at)}")
        place = int(at) + self._size() if at < 0 else int(at)
        if not 0 <= place < self._size():
            raise IndexError(f"index {at} out of range for storage of size {self._size()}")
        return place

    def __getitem__(self, at: Any) -> Any:
        warn_of_removal()
        if self._untyped_storage.device is META:
            raise NotImplementedError("Not available for 'meta' device type")
        value = self._elements()[self._at(at)].item()
        return value if isinstance(value, (bool, int, complex)) else float(value)

    def _setitem(self, at: Any, value: Any) -> None:
        if not isinstance(at, (int, np.integer, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(at)}")
        if isinstance(value, (StorageBase, TypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if not isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{self._dtype.title}Tensor")
        if self._untyped_storage.device is META:
            return
        if not isinstance(at, slice) and not -self._size() <= at < self._size():
            raise IndexError(f"index {at} is out of bounds for dimension 0 with size {self._size()}")
        number = value.item() if isinstance(value, (np.number, np.bool_)) else value
        plain = self._dtype in _STORED
        self._untyped_storage.own_memory()
        self._elements()[at] = int(number.real) if plain else cast_number(number, self._dtype)

    __setitem__ = _public(_setitem)

    def fill_(self, value: Any) -> TypedStorage:
        """One value everywhere."""
        warn_of_removal()
        self._setitem(slice(None), value)
        return self

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        warn_of_removal()
        return self._list()

    def _list(self) -> list[Any]:
        found = self._elements()
        return (found if found.dtype.isbuiltin == 1 else found.astype(np.float32)).tolist()  # type: ignore[no-any-return]

    def __iter__(self) -> Any:
        warn_of_removal()
        return iter(self._list())

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Overwrite the bytes."""
        warn_of_removal()
        self._untyped_storage.copy_(source, bool(non_blocking))
        return self

    def clone(self) -> TypedStorage:
        """A copy."""
        warn_of_removal()
        return self._over(self._untyped_storage.clone())

    def _over(self, untyped: Any, dtype: DType | None = None) -> TypedStorage:
        return TypedStorage(  # type: ignore[no-any-return]
            wrap_storage=untyped, dtype=dtype or self._dtype, _internal=True
        )

    def __copy__(self) -> TypedStorage:
        return self._over(self._untyped_storage.clone())

    def _deepcopy(self, memo: dict[int, Any]) -> TypedStorage:
        return self._over(self._untyped_storage.__deepcopy__(memo))

    __deepcopy__ = _public(_deepcopy)

    def __reduce__(self) -> Any:
        return _rebuilt, (self._untyped_storage, self._dtype)

    # ------------------------------------------------------------------------------------------------ other memory

    def _resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self._dtype.itemsize)

    resize_ = _public(_resize_)

    def _share_memory_(self) -> TypedStorage:
        self._untyped_storage.share_memory_()
        return self

    share_memory_ = _public(_share_memory_)

    def _share_fd_cpu_(self, *args: Any) -> NoReturn:
        self._untyped_storage._share_fd_cpu_(*args)
        raise AssertionError("unreachable")

    def _share_filename_cpu_(self, *args: Any) -> NoReturn:
        self._untyped_storage._share_filename_cpu_(*args)
        raise AssertionError("unreachable")

    def _write_file(self, *args: Any) -> None:
        self._untyped_storage._write_file(*args)

    def cpu(self) -> TypedStorage:
        """The elements on the CPU."""
        warn_of_removal()
        return self._over(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> NoReturn:
        """The elements on a GPU: there is none."""
        if self._dtype in _STORED:
            raise RuntimeError("Cannot create CUDA storage with quantized dtype")
        raise AssertionError("Torch not compiled with CUDA enabled")

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The elements on a device."""
        warn_of_removal()
        return self._over(self._untyped_storage.to(device=as_device(device)))

    def pin_memory(self, device: Any = "cuda") -> NoReturn:
        """Page-lock the memory: there is no accelerator to copy to."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def _converted(self, dtype: DType) -> TypedStorage:
        if self._untyped_storage.device is META:
            return TypedStorage(  # type: ignore[no-any-return]
                self._size(), dtype=dtype, device="meta", _internal=True
            )
        return self._over(wrap(UntypedStorage, dtypes.cast_array(self._elements(), dtype).copy()), dtype)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> Any:
        """The elements in a file, mapped: `shared` writes changes back, and makes the file that long."""
        warn_of_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        held = UntypedStorage.from_file(filename, shared, size * cls._dtype.itemsize)
        return TypedStorage(wrap_storage=held, dtype=cls._dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **named: Any) -> Any:
        """A copy of the elements in a Python buffer: `(buffer, byte_order, count=-1, offset=0)`."""
        warn_of_removal()
        if cls is not TypedStorage:
            if dtype is not None or device is not None or len(args) == 5:
                raise RuntimeError("from_buffer: 'dtype' can only be specified in TypedStorage.from_buffer")
            dtype = cls._dtype
        if dtype is not None and not isinstance(dtype, DType):
            raise TypeError(f"'dtype' must be torch.dtype, not {type(dtype)}")
        place_of("UntypedStorage", device)
        dtype = dtype or settings.default_dtype
        held = wrap(UntypedStorage, read_buffer(dtype, *args, **named))
        return TypedStorage(wrap_storage=held, dtype=dtype, _internal=True)

    # ------------------------------------------------------------------------------------------------------- Python

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes()

    def __repr__(self) -> str:
        where = self._untyped_storage.device
        end = f"[torch.storage.TypedStorage(dtype={self._dtype}, device={where}) of size {self._size()}]"
        if where is META:
            return f"...\n{end}"
        rows = "\n ".join(map(str, self._list()))
        return f" {rows}\n{end}"

    __str__ = __repr__


TypedStorage.__module__ = "chainrule.storage"


def _rebuilt(untyped: Any, dtype: DType) -> TypedStorage:
    made: TypedStorage = TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)
    return made


def _caster(name: str, dtype: DType) -> None:
    def cast(self: TypedStorage) -> TypedStorage:
        warn_of_removal()
        return self._converted(dtype)

    def cast_bytes(self: StorageBase) -> TypedStorage:
        plain = TypedStorage(wrap_storage=self, dtype=dtypes.uint8, _internal=True)
        return plain._converted(dtype)  # type: ignore[no-any-return]

    cast.__name__ = cast_bytes.__name__ = name
    cast.__doc__ = cast_bytes.__doc__ = f"The elements as {dtype}."
    setattr(TypedStorage, name, cast)
    setattr(StorageBase, name, cast_bytes)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "complex_float": dtypes.complex64, "complex_double": dtypes.complex128,
    **{d.name: d for d in dtypes.FLOAT8[:4]},
}.items():  # fmt: skip
    _caster(_name, _dtype)


def _untyped_type(self: StorageBase, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the type; or the bytes as elements of another."""
    if dtype is None:
        return "torch.storage.UntypedStorage"
    plain = TypedStorage(wrap_storage=self, dtype=dtypes.uint8, _internal=True)
    return plain.type(dtype)


StorageBase.type = _untyped_type  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------- the legacy classes


class LegacyMeta(type):
    """The class of `FloatStorage` and its siblings: typed storages of their dtype count as instances."""

    _dtype: DType

    @property
    def dtype(cls) -> DType:
        """The type of the elements."""
        warn_of_removal()
        return cls._dtype

    def __instancecheck__(cls, value: Any) -> bool:
        if cls.__name__ == "_LegacyStorage":
            return isinstance(value, TypedStorage)
        return type(value) is TypedStorage and value._dtype is cls._dtype and value._untyped_storage.device is not META


class _LegacyStorage(TypedStorage, metaclass=LegacyMeta):
    """What `FloatStorage` and its siblings have in common."""

    def __new__(cls, *args: Any, wrap_storage: Any = None, **named: Any) -> Any:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        return super().__new__(cls, *args, wrap_storage=wrap_storage, **named)


_LegacyStorage.__module__ = "chainrule.storage"
LEGACY: dict[DType, Any] = {}
for _name, _dtype in _NAMED.items():
    LEGACY[_dtype] = LegacyMeta(_name, (_LegacyStorage,), {"_dtype": _dtype, "__module__": "chainrule"})
    spell(_name, LEGACY[_dtype], "f")


def legacy_class(dtype: DType) -> Any:
    """The class that makes storages of a dtype."""
    return LEGACY[dtype]


def is_storage(obj: Any, /) -> bool:
    """Is this the memory behind tensors?"""
    return isinstance(obj, (StorageBase, TypedStorage))


spell("is_storage", is_storage, "f")
spell("UntypedStorage", UntypedStorage, "f")
spell("TypedStorage", TypedStorage, "f")
PUBLIC["f"]["_storage_classes"] = {UntypedStorage, TypedStorage, *LEGACY.values()}  # type: ignore[assignment]
