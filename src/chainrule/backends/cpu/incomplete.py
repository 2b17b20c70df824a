"""The incomplete gamma functions: a power series left of the bend at x = a, a continued fraction right of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.cpu import memory, special
from chainrule.backends.cpu._array import Array

__all__ = ["lower", "upper"]

STEPS = 2000  # enough for a up to 1e5; then the last digits are lost
TINY = 1e-300


def lower(a: Array, x: Array) -> Array:
    """P(a, x): the part of gamma(a) that lies below x, between 0 and 1."""
    return _part(a, x, lower_part=True)


def upper(a: Array, x: Array) -> Array:
    """Q(a, x) = 1 - P(a, x), exact where it is small."""
    return _part(a, x, lower_part=False)


def _part(a: Array, x: Array, *, lower_part: bool) -> Array:
    shape, kind = np.broadcast_shapes(a.shape, x.shape), a.dtype
    a64, x64 = (np.broadcast_to(v, shape).astype(np.float64).reshape(-1) for v in (a, x))
    out = np.full(a64.shape, np.nan)
    with np.errstate(all="ignore"):
        plain = (a64 > 0) & (x64 > 0) & np.isfinite(a64) & np.isfinite(x64)
        left = plain & (x64 <= a64 + 1)
        right = plain & ~left
        series = _series(a64[left], x64[left])
        fraction = _fraction(a64[right], x64[right])
    out[left] = series if lower_part else 1 - series
    out[right] = 1 - fraction if lower_part else fraction
    nothing = ((x64 == 0) & (a64 > 0)) | ((a64 == np.inf) & (x64 >= 0) & np.isfinite(x64))
    everything = ((a64 == 0) & (x64 > 0)) | ((x64 == np.inf) & (a64 >= 0) & np.isfinite(a64))
    out[nothing], out[everything] = (0, 1) if lower_part else (1, 0)
    found = out.reshape(shape).astype(kind)
    return found if a.shape != x.shape else memory.ordered_as(found, a)


def _front(a: Any, x: Any) -> Any:
    """x**a exp(-x) / gamma(a)."""
    return np.exp(a * np.log(x) - x - special.lgamma(a))


def _series(a: Any, x: Any) -> Any:
    term = 1 / a
    total = term.copy()
    for n in range(1, STEPS):
        term = term * (x / (a + n))
        total += term
        if not (np.abs(term) > np.abs(total) * 1e-17).any():
            break
    return total * _front(a, x)


def _fraction(a: Any, x: Any) -> Any:
    """Lentz's method on the continued fraction of Q."""
    b = x + 1 - a
    c = np.full_like(x, 1 / TINY)
    d = 1 / np.where(b == 0, TINY, b)
    h = d.copy()
    for n in range(1, STEPS):
        step = -n * (n - a)
        b = b + 2
        d = step * d + b
        d = 1 / np.where(d == 0, TINY, d)
        c = b + step / c
        c = np.where(c == 0, TINY, c)
        h *= c * d
        if not (np.abs(c * d - 1) > 1e-16).any():
            break
    return h * _front(a, x)
