"""Normal numbers from uniform ones, to the last bit of PyTorch's CPU kernels.

Large float32 draws come from single-precision polynomials (Cephes: logf, sinf, cosf) with fused products
and sums. NumPy has none, so `_mad` forms the product exactly in float64; the sum is then rounded twice, which
differs from a fused one about once in 2**29 times (none seen in 16 million numbers). The rest goes through
the C library, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocks32", "blocks64", "fused", "libm_log", "libm_log1p", "pairs64"]

Floats32 = NDArray[np.float32]
Floats64 = NDArray[np.float64]

_CHUNK = 16 * 2048
_TWO_PI = np.float32(2 * math.pi)
_FOUR_OVER_PI = np.float32(4 / math.pi)

_ROOT_HALF = np.int32(0x3F3504F3)
_MANTISSA = np.int32(0x7FFFFF)


def _single(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


_LOG = _single(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_SIN = _single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2_LOW, _LN2_HIGH = np.float32(-2.12194440e-4), np.float32(0.693359375)
_QUARTER_A, _QUARTER_B = np.float32(-0.78515625), np.float32(-2.4187564849853515625e-4)
_QUARTER_C = float(np.float32(-3.77489497744594108e-8))


def _mad(a: Any, wide: Any, c: Any) -> Floats32:
    out: Floats64 = np.multiply(a, wide, dtype=np.float64)
    out += c
    return out.astype(np.float32)


def _horner(coefficients: tuple[float, ...], wide: Floats64) -> Floats32:
    out: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        out = _mad(out, wide, coefficient)
    return out  # type: ignore[no-any-return]


def _log32(u: Floats32) -> Floats32:
    """log of `u` in (0, 1], split as 2**e * (1 + x) with 1 + x between sqrt(1/2) and sqrt(2)."""
    bits = u.view(np.int32) - _ROOT_HALF
    e = (bits >> 23).astype(np.float32)
    bits &= _MANTISSA
    bits += _ROOT_HALF
    x = bits.view(np.float32)
    x -= 1
    y = _horner(_LOG, x.astype(np.float64))
    y *= x
    z = x * x
    y = _mad(y, z, e * _LN2_LOW)
    y -= z * np.float32(0.5)
    x += y
    x += e * _LN2_HIGH
    return x


def _sincos32(theta: Floats32) -> tuple[Floats32, Floats32]:
    """sin and cos of an angle in [0, 2 pi), from the nearest even multiple of pi / 4."""
    octant = (theta * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= -2
    y = octant.astype(np.float32)
    x = theta + y * _QUARTER_A
    x += y * _QUARTER_B
    x = _mad(y, _QUARTER_C, x)
    z = x * x
    wide = z.astype(np.float64)
    cos = _horner(_COS, wide)
    cos *= z
    cos = _mad(cos, wide, z * np.float32(-0.5))
    cos += 1
    sin = _horner(_SIN, wide)
    sin *= z
    sin = _mad(sin, x, x)
    return _turned(octant, sin, cos)


def _turned(octant: NDArray[np.int32], sin: Floats32, cos: Floats32) -> tuple[Floats32, Floats32]:
    """Exchange and negate by octant, on the bits: np.where takes three times as long."""
    sin_bits, cos_bits = sin.view(np.int32), cos.view(np.int32)
    exchange = sin_bits ^ cos_bits
    exchange &= -((octant & 2) >> 1)
    sin_bits ^= exchange
    cos_bits ^= exchange
    sin_bits ^= (octant & 4) << 29
    cos_bits ^= (~(octant - 2) & 4) << 29
    return sin, cos


def _placed32(values: Floats32, mean: float, std: float) -> Floats32:
    if std == 1:
        values += np.float32(mean)
        return values
    return _mad(values, float(np.float32(std)), float(np.float32(mean)))


def blocks32(u: Floats32, mean: float, std: float) -> None:
    """Replace uniform numbers, in blocks of 16 (8 radii, 8 angles), by normal ones (8 cosines, 8 sines)."""
    for start in range(0, u.size, _CHUNK):
        block = u[start : start + _CHUNK].reshape(-1, 2, 8)
        radius = np.float32(-2) * _log32(1 - block[:, 0])
        np.sqrt(radius, out=radius)
        sin, cos = _sincos32(block[:, 1] * _TWO_PI)
        cos *= radius
        sin *= radius
        block[:, 0] = _placed32(cos, mean, std)
        block[:, 1] = _placed32(sin, mean, std)


def blocks64(u: Floats64, mean: float, std: float) -> None:
    """As `blocks32`, in double precision."""
    for start in range(0, u.size, _CHUNK):
        block = u[start : start + _CHUNK].reshape(-1, 2, 8)
        radius = np.sqrt(-2 * libm_log(1 - block[:, 0]))
        theta = block[:, 1] * (2 * math.pi)
        block[:, 0] = fused(radius * np.cos(theta), std, mean)
        block[:, 1] = fused(radius * np.sin(theta), std, mean)


def pairs64(u: Floats64) -> Floats64:
    """Standard normal numbers in place of uniform ones: (angle, radius) becomes (cosine, sine)."""
    pairs = u.reshape(-1, 2)
    radius = np.sqrt(-2 * libm_log1p(-pairs[:, 1]))
    theta = pairs[:, 0] * (2 * math.pi)
    pairs[:, 0] = radius * np.cos(theta)
    pairs[:, 1] = radius * np.sin(theta)
    return u


def _through(function: Any, x: Floats64) -> Floats64:
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def libm_log(x: Floats64) -> Floats64:
    """The C library's log, as in PyTorch; NumPy's differs in the last bit of 0.3 % of all numbers."""
    try:
        return _through(math.log, x)
    except ValueError:  # a zero, once in 2**53 draws
        with np.errstate(divide="ignore"):
            return np.log(x)


def libm_log1p(x: Floats64) -> Floats64:
    """The C library's log1p; NumPy's differs in the last bit of 7 % of all numbers."""
    return _through(math.log1p, x)


def fused(a: Floats64, b: float, c: float) -> Floats64:
    """a * b + c rounded once, in double precision.

    The product and the sum are split into exact parts; the small parts are added rounding to odd, so that the
    last addition rounds as if nothing had been lost (Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums").
    """
    if b == 1:
        return a + c
    if c == 0 or not (math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    product, product_error = _two_product(a, b)
    low, low_error = _two_sum(product_error, c)
    high, high_error = _two_sum(product, low)
    return high + _odd_sum(low_error, high_error)


def _two_sum(a: Floats64, b: Any) -> tuple[Floats64, Floats64]:
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _split(a: Any) -> tuple[Any, Any]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: Floats64, b: float) -> tuple[Floats64, Floats64]:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _odd_sum(a: Floats64, b: Floats64) -> Floats64:
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    inexact_even = (error != 0) & (bits & 1 == 0)
    bits += np.where(inexact_even, np.where((error > 0) == (total > 0), 1, -1), 0)
    return total
