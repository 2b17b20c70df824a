"""From data as people write it (numbers, nested lists, ranges, arrays) to an array.

Two ways: rows of plain Python numbers go to NumPy as they are; everything else (NumPy scalars, arrays or tensors inside
lists, sequences of other classes) is walked element by element, as slow as it looks.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.dtype import dtype as DType
from chainrule.core.tensor import Tensor

__all__ = ["SUPPORTED", "array_of", "cast_number", "check_array"]

SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
    "uint32, uint16, uint8, and bool"
)
_PLAIN: set[Any] = {float, int, bool, complex}
_ROWS: set[Any] = {list, tuple}


def array_of(data: Any, dtype: DType | None) -> Any:
    """A new array with the data, in `dtype` or in the type the data suggest."""
    try:
        return _array_of(data, dtype)
    except RecursionError:
        raise TypeError("new(): self-referential lists are incompatible") from None


def _array_of(data: Any, dtype: DType | None) -> Any:
    if isinstance(data, np.ndarray):
        return _copied(check_array(data), dtype)
    kinds: set[type] = set()
    kind = data.__class__
    if kind in _PLAIN:
        kinds.add(kind)
    elif kind in _ROWS:
        _gather(data, kinds)
    else:
        kinds.add(object)
    if not kinds <= _PLAIN:
        data, found = _walked(data)
    else:
        found = _suggested(kinds)
    want = found if dtype is None else dtype
    return _filled(data, want)


def _copied(array: Any, dtype: DType | None) -> Any:
    want = array.dtype if dtype is None else dtype.numpy
    if any([s < 0 for s in array.strides]):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    return np.array(array, dtype=want, copy=True, order="C" if 0 in array.strides else "K", subok=False)


def check_array(array: Any) -> Any:
    """An ndarray whose dtype a tensor can have."""
    if array.dtype not in OF_NUMPY:
        if array.dtype.newbyteorder("=") in OF_NUMPY:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. "
                "Conversion between byte orders is currently not supported."
            )
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only "
            f"supported types are: {SUPPORTED}."
        )
    return array


def _gather(rows: Any, kinds: set[type]) -> None:
    """The classes of all leaves of nested lists."""
    here = set(map(type, rows))
    nested = here & _ROWS
    kinds |= here - _ROWS
    if nested:
        if len(here) > len(nested):
            kinds.add(object)  # ragged: numbers beside lists
            return
        for row in rows:
            _gather(row, kinds)


def _suggested(kinds: set[type]) -> DType:
    if complex in kinds:
        return dtypes.default_complex_dtype(of_data=True)
    if float in kinds or not kinds:
        return settings.default_dtype
    return dtypes.int64 if int in kinds else dtypes.bool_


def _filled(data: Any, want: DType) -> Any:
    """Nested lists of Python numbers as an array."""
    target = want.numpy
    try:
        if target.kind in "iub":
            return _whole_numbers(data, target)
        if target.kind in "VW":
            return np.array(data, dtype=dtypes.wide(target)).astype(target)
        with np.errstate(over="ignore"):
            return np.array(data, dtype=target)
    except (ValueError, TypeError, OverflowError) as error:
        raise _explained(data, want, error) from None


def _whole_numbers(data: Any, target: np.dtype[Any]) -> Any:
    if target.kind == "b":
        return np.array(data).astype(target)
    try:
        return np.array(data, dtype=target)
    except OverflowError:
        wide = np.array(data, dtype=np.int64)
        if target.kind != "u" or target.itemsize == 8 or wide.max() > np.iinfo(target).max:
            raise
        return wide.astype(target)


def _explained(data: Any, want: DType, error: Exception) -> Exception:
    """NumPy's refusal in PyTorch's words."""
    try:
        _check_rows(data, _shape(data), 0)
    except (ValueError, TypeError) as ragged:
        return ragged
    if isinstance(error, OverflowError) or "NaN" in str(error):
        if _first_large(data) is not None:
            return ValueError("Overflow when unpacking long long")
        return RuntimeError(_OVERFLOW.format(want.name))
    if "complex" in str(error):
        whole = want.category == dtypes.INT
        return TypeError(
            "'complex' object cannot be interpreted as an integer" if whole else "must be real number, not complex"
        )
    return error


def _first_large(data: Any) -> int | None:
    """The first int that 64 bits do not hold."""
    if isinstance(data, (list, tuple)):
        return next((found for part in data if (found := _first_large(part)) is not None), None)
    return data if isinstance(data, int) and not -(1 << 63) <= data < 1 << 63 else None


def _shape(data: Any) -> tuple[int, ...]:
    """The shape that the first elements suggest."""
    shape = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return tuple(shape)


def _check_rows(data: Any, shape: tuple[int, ...], at: int) -> None:
    if at == len(shape):
        if isinstance(data, (list, tuple)):
            raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        return
    if not isinstance(data, (list, tuple)):
        raise TypeError("not a sequence")
    if len(data) != shape[at]:
        raise ValueError(f"expected sequence of length {shape[at]} at dim {at} (got {len(data)})")
    for row in data:
        _check_rows(row, shape, at + 1)


# ------------------------------------------------------------------------------------------------- the slow way


def _walked(data: Any) -> tuple[Any, DType]:
    """Nested lists of Python numbers, and the type that all leaves promote to."""
    found: list[DType] = []
    _refuse_leading_text(data)
    plain = _plain(data, found)
    if not found:
        return plain, settings.default_dtype
    want = found[0]
    for each in found[1:]:
        want = dtypes.promote_types(want, each)
    return plain, want


def _refuse_leading_text(data: Any) -> None:
    first = data
    while first.__class__ in _ROWS and first:
        first = first[0]
    if isinstance(first, (str, bytes)) and first is not data:
        raise ValueError(f"too many dimensions '{type(first).__name__}'")


def _plain(data: Any, found: list[DType]) -> Any:
    kind = data.__class__
    if kind in _PLAIN:
        found.append(dtypes.scalar_dtype(data))
        return data
    if isinstance(data, Tensor):
        return _from_tensor(data, found)
    if isinstance(data, (np.ndarray, np.generic)):
        return _from_numpy(data, found)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if isinstance(data, dict) or not (hasattr(kind, "__len__") and hasattr(kind, "__getitem__")):
        return _number_like(data, found)
    try:
        return [_plain(part, found) for part in (data if kind in _ROWS else _elements(data))]
    except TypeError as error:
        if error.args:
            raise
        raise ValueError(f"could not determine the shape of object type '{kind.__name__}'") from None


def _elements(data: Any) -> list[Any]:
    try:
        return [data[i] for i in range(len(data))]
    except TypeError:
        raise TypeError from None


def _from_tensor(t: Tensor, found: list[DType]) -> Any:
    """A tensor in a list stands for its one element."""
    found.append(t.dtype)
    if t.shape.numel() != 1:
        if t.dtype.category < 2:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise ValueError("only one element tensors can be converted to Python scalars")
    return t.item()


def _from_numpy(data: Any, found: list[DType]) -> Any:
    check_array(data)
    found.append(OF_NUMPY[data.dtype])
    return data.tolist()


def _number_like(data: Any, found: list[DType]) -> Any:
    for kind in (bool, int, float, complex):
        if isinstance(data, kind):
            found.append(dtypes.scalar_dtype(data))
            return data
    if hasattr(data, "__index__"):
        found.append(dtypes.int64)
        return data.__index__()
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def cast_number(value: Any, dtype: DType, strict: bool = True) -> Any:
    """A Python number as a 0-d array, refused if it does not fit; not `strict`: 16-bit floats become infinite."""
    if value.__class__ is float and dtype.category == dtypes.FLOAT and -_SMALL <= value <= _SMALL:
        return np.asarray(value, dtype.numpy)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    lax = not strict and dtype.itemsize == 2 and dtype.category == dtypes.FLOAT  # goes by way of a double
    if isinstance(value, complex) and dtype.category not in (dtypes.BOOL, dtypes.COMPLEX):
        if value.imag:
            raise _overflow(dtypes.float64 if lax else dtype)
        value = value.real
    largest = None if lax else _LARGEST.get(dtype)
    if largest is not None and any([isfinite(p) and abs(p) > largest for p in _parts(value)]):
        raise _overflow(dtype)
    try:
        if dtype.category == dtypes.INT and not isinstance(value, int):
            limits = dtypes.iinfo(dtype)
            if not limits.min <= value <= limits.max:
                raise _overflow(dtype)
            value = int(value)
        return _filled(value, dtype)
    except (RuntimeError, OverflowError, ValueError):
        raise _overflow(dtype) from None


def _parts(value: Any) -> tuple[Any, ...]:
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def _overflow(dtype: DType) -> RuntimeError:
    return RuntimeError(_OVERFLOW.format(_C_NAMES.get(dtype.name, dtype.name)))


_SMALL = 448.0  # every floating point type holds it
# The largest a part of a number may be, if finite.
_LARGEST = {
    each: dtypes.finfo(each).max
    for each in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.complex32, dtypes.complex64)
}
_OVERFLOW = "value cannot be converted to type {} without overflow"
_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>", "uint8": "uint8_t",
    "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
}  # fmt: skip
