"""Memory of others as arrays: at an address, or in a DLPack capsule.

NumPy speaks DLPack itself, but not for the types that ml_dtypes brings, and takes memory that comes without
a version for read-only.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from chainrule.core import dtype as dtypes
from chainrule.core.dtype import dtype as DType

__all__ = ["at_address", "capsule_of", "imported"]

# DLPack's codes of kinds of numbers, and the bits of one.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_CODES: dict[DType, tuple[int, int]] = {
    dtypes.bool_: (_BOOL, 8), dtypes.bfloat16: (_BFLOAT, 16),
    **{each: (_FLOAT, 8 * each.itemsize) for each in (dtypes.float16, dtypes.float32, dtypes.float64)},
    **{each: (_COMPLEX, 8 * each.itemsize) for each in (dtypes.complex32, dtypes.complex64, dtypes.complex128)},
    **{each: (_INT, 8 * each.itemsize) for each in (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)},
    **{each: (_UINT, 8 * each.itemsize) for each in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)},
}  # fmt: skip
_DTYPES = {code: dtype for dtype, code in _CODES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_FRESH, _USED = b"dltensor", b"used_dltensor"  # the names live as long as the module: capsules point at them


def _capsule_call(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((f"PyCapsule_{name}", ctypes.pythonapi))


# A capsule that dies is given as an address: Python must not count a reference to it any more.
_Dying = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = _capsule_call("New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Dying)
_is_fresh = _capsule_call("IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _capsule_call("GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_rename = _capsule_call("SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

_lent: dict[int, Any] = {}  # what lies at the address of each structure that was handed out


def at_address(pointer: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array over memory that nobody here owns; steps in elements."""
    size = dtype.itemsize * (1 + sum((n - 1) * s for n, s in zip(shape, steps))) if 0 not in shape else 0
    held: Any = (ctypes.c_uint8 * size).from_address(pointer) if size else bytearray()
    return np.ndarray(shape, dtype, held, 0, tuple([s * dtype.itemsize for s in steps]))


def capsule_of(array: Any, dtype: DType) -> Any:
    """A DLPack capsule over the array's memory."""
    if dtype not in _CODES:
        raise BufferError(f"{dtype.title} types are not supported by dlpack")
    made = _Managed()
    t, sizes = made.tensor, ctypes.c_int64 * array.ndim
    t.data, t.device[:], t.ndim = array.__array_interface__["data"][0], (1, 0), array.ndim
    (t.code, t.bits), t.lanes, t.byte_offset = _CODES[dtype], 1, 0
    shape, steps = sizes(*array.shape), sizes(*(s // array.itemsize for s in array.strides))
    t.shape, t.strides = ctypes.cast(shape, type(t.shape)), ctypes.cast(steps, type(t.strides))
    made.deleter = _release
    place = ctypes.addressof(made)
    _lent[place] = (made, array, shape, steps)
    return _new_capsule(place, _FRESH, _unused)


def _give_back(managed: Any) -> None:
    _lent.pop(ctypes.addressof(managed.contents), None)


def _give_back_unused(capsule: int) -> None:
    """A capsule that nobody took."""
    if _is_fresh(capsule, _FRESH):
        _lent.pop(_pointer(capsule, _FRESH), None)


_release, _unused = _Deleter(_give_back), _Dying(_give_back_unused)


def _of_capsule(capsule: Any) -> Any | None:
    """The array in a fresh capsule, which is used up then; None if it is of a kind not known here."""
    if not _is_fresh(id(capsule), _FRESH):
        return None
    managed = ctypes.cast(_pointer(id(capsule), _FRESH), ctypes.POINTER(_Managed))
    t = managed.contents.tensor
    dtype = _DTYPES.get((t.code, t.bits))
    if dtype is None or t.device[0] != 1:
        return None
    shape = tuple(t.shape[: t.ndim])
    steps = tuple(t.strides[: t.ndim]) if t.strides else tuple([int(np.prod(shape[i + 1 :])) for i in range(t.ndim)])
    array = at_address((t.data or 0) + t.byte_offset, shape, steps, dtype.numpy)
    _rename(capsule, _USED)
    release = managed.contents.deleter
    if release and isinstance(array.base, ctypes.Array):
        weakref.finalize(array.base, release, managed)
    elif release:  # without elements nothing looks into the memory
        release(managed)
    return array


class _Capsule:
    """An old-style DLPack capsule with the methods of an exporting object."""

    __slots__ = ("capsule", "home")

    def __init__(self, capsule: Any, home: tuple[int, int]) -> None:
        self.capsule, self.home = capsule, home

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.home


def imported(source: Any) -> Any:
    """Another library's array, or a capsule of one, as an array over the same memory."""
    if hasattr(source, "__dlpack__"):
        capsule, home = source.__dlpack__(), source.__dlpack_device__()
    else:
        capsule, home = source, (1, 0)  # kDLCPU
    array = _of_capsule(capsule) if home[0] == 1 else None
    if array is not None:
        return array
    return np.from_dlpack(_Capsule(capsule, home))
