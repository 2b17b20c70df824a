"""How a leaf's gradient lies in memory: as the leaf does if that fills its memory exactly, else row by row."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from chainrule.backends.cpu import memory

__all__ = ["POLICY", "empty_for", "fits"]


class _Policy(threading.local):
    loose = False  # may a gradient that is nobody else's be kept however it lies?


POLICY = _Policy()


def fits(g: np.ndarray[Any, Any], raw: Any) -> bool:
    """May `g` become the gradient of a leaf over `raw` without a copy?"""
    if POLICY.loose:
        return True
    if raw.__class__ is not np.ndarray or raw.flags.c_contiguous or not memory.is_dense(raw):
        return g.flags.c_contiguous
    return g.strides == raw.strides


def empty_for(raw: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A new array for the gradient of a leaf over `raw`."""
    like = shape == raw.shape and (raw.__class__ is not np.ndarray or memory.is_dense(raw))
    return np.empty_like(raw, dtype=dtype) if like else np.empty(shape, dtype)
