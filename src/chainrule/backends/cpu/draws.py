"""What all draws share: the dtypes they come in, and pairs of normal numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainrule.core.dtype import OF_NUMPY

from .boxmuller import pairs64
from .twister import Engine

__all__ = ["DIGITS", "F32", "F64", "I64", "Array", "DType", "Floats64", "cast", "check_dtype", "pairs", "title"]

Array = NDArray[Any]
DType = np.dtype[Any]
Floats64 = NDArray[np.float64]

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
# By the character of a dtype, which is ten times quicker to read than its name; E is bfloat16.
DIGITS = {"e": 11, "E": 8, "f": 24, "d": 53}
_TWO_PI = 2 * math.pi


def title(dtype: DType) -> str:
    """A dtype as PyTorch's errors name it."""
    return OF_NUMPY[dtype].title


def check_dtype(kernel: str, dtype: DType, others: str = "", *, empty: bool = False) -> None:
    """Only float dtypes, and `others` by character, have this kernel; no kernel runs on an `empty` array."""
    if dtype.char not in DIGITS and dtype.char not in others and not empty:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(dtype)}'")


def cast(values: Array, dtype: DType) -> Array:
    """To `dtype`, through float32 for a half type, as PyTorch rounds; an overflow is a quiet infinity."""
    if values.dtype == dtype:
        return values
    if dtype.itemsize > 2 or dtype.char not in DIGITS:
        return values.astype(dtype)
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(dtype)


def pairs(engine: Engine, count: int) -> Floats64:
    """Normal numbers in double precision, cosine and sine by turns."""
    if count > 12:
        return pairs64(engine.unit64(2 * count))
    values: list[float] = []
    for _ in range(count):  # twice as fast as arrays for a handful
        theta = engine.next_unit64() * _TWO_PI
        radius = math.sqrt(-2 * math.log1p(-engine.next_unit64()))
        values += radius * math.cos(theta), radius * math.sin(theta)
    return np.array(values)
