"""Choices by mask. NumPy's `where` branches on every element; integer arithmetic is six times faster where
the mask is irregular."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array

__all__ = ["choose", "keep"]

SMALL = 8000  # elements: below this, one call of `where` costs less than four of arithmetic
_BITS = {np.dtype(f): np.dtype(i) for f, i in ((np.float16, np.int16), (np.float32, np.int32), (np.float64, np.int64))}


def keep(values: Array, mask: Array) -> Array:
    """The values where the mask holds, else 0, whatever stood there (NaN too)."""
    bits: Any = _BITS.get(values.dtype)
    if bits is None:
        return np.asarray(np.where(mask, values, values.dtype.type(0)))
    if mask.__class__ is np.ndarray:
        mask = mask.astype(bits)  # by itself: inside the product NumPy casts it piece by piece, in twice the time
    kept: Array = (values.view(bits) * mask).view(values.dtype)
    return kept


def choose(mask: Array, a: Any, b: Any) -> Array:
    """`a` where the mask holds, else `b`; both of one dtype, or one of them a Python number."""
    if mask.dtype != np.bool_:
        mask = mask != 0
    if mask.size < SMALL or a.__class__ is not np.ndarray or b.__class__ is not np.ndarray:
        return np.asarray(np.where(mask, a, b))
    kind: Any = _BITS.get(a.dtype)
    if kind is None or a.dtype != b.dtype:
        return np.asarray(np.where(mask, a, b))
    a_bits, b_bits = a.view(kind), b.view(kind)
    picked = np.asarray((a_bits - b_bits) * mask)
    if picked.shape == np.broadcast_shapes(picked.shape, b.shape):
        picked += b_bits
        return picked.view(a.dtype)
    return np.asarray(picked + b_bits).view(a.dtype)
