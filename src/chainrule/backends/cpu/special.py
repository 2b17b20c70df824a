"""Special functions of real arrays, in NumPy alone.

Each is computed in double precision and rounded to the array's own type, block by block so that
intermediate arrays stay in cache; only erf, the heart of GELU, has a single-precision formula of its own.
Where a series converges it is summed, with coefficients from their definition; the two tables that remain
are fits, and say of what. Arrays must be floating; NaN goes in and out, and no floating-point warning
escapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.backends.cpu._array import Array

__all__ = [
    "choose",
    "digamma",
    "double",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "horner",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "polygamma",
    "zeta",
]

Core = Callable[..., Any]

# Elements per block: a dozen temporaries of 64 KiB fit a level-two cache.
BLOCK = 1 << 13


def _run(core: Core, arrays: Sequence[Array], work: type[np.floating[Any]]) -> Array:
    out: Array = memory.room_like(arrays[0])
    flat, sources = out, list(arrays)
    if not out.flags.c_contiguous:
        order = sorted(range(out.ndim), key=lambda axis: -out.strides[axis])
        flat, sources = out.transpose(order), [array.transpose(order) for array in arrays]
    flat, sources = flat.reshape(-1), [array.reshape(-1) for array in sources]
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, BLOCK):
            part = slice(start, start + BLOCK)
            flat[part] = core(*(source[part].astype(work) for source in sources))
    return out


def double(core: Core) -> Callable[[Array], Array]:
    """Make a function of arrays of any shape and float type from one of flat float64 arrays."""

    @wraps(core)
    def run(x: Array) -> Array:
        return _run(core, (x,), np.float64)

    return run


def horner(z: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, lowest first."""
    total = np.asarray(z * coefficients[-1])
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient  # a Python float takes the array's type
        total *= z
    total += coefficients[0]
    return total


def choose(x: Array, chosen: Array, yes: Core, no: Core) -> Array:
    """yes(x) where chosen, no(x) elsewhere, neither computed for the other's elements."""
    if chosen.all():
        return np.asarray(yes(x))
    if not chosen.any():
        return np.asarray(no(x))
    out = np.empty_like(x)
    out[chosen] = yes(x[chosen])
    rest = ~chosen
    out[rest] = no(x[rest])
    return out


# -------------------------------------------------------------------------------------------- error functions

# atanh(erf(x)) / x in powers of x**2, fitted on [0, 4.2] for the least relative error of its tanh: 1e-7. The
# last coefficient is positive, so that beyond 4.2 the tanh is 1. With NumPy's tanh the whole is within 4 ulp.
_ERF_SINGLE = (
    1.1283792257, 0.10276905447, -1.9183050608e-4, -6.1978492886e-4, 8.7637439719e-5, -5.6684948504e-6,
    1.4185337704e-7,
)  # fmt: skip

# (1 + 2 x) erfcx(x) in powers of (x - 4) / (x + 4): the Chebyshev expansion, 2 ulp over [0, inf).
_ERFCX = (
    1.2329951186255526, -0.1396211168405623, 0.015379652102610473, 0.06809705425466908, -0.10103906603586531,
    0.0937328349990944, -0.06633036582031154, 0.03716751552655567, -0.016197733981455194,
    0.005031970067657489, -0.000757773707063825, -0.00019925714661091188, 0.00015062309720018628,
    -2.4397746422436416e-05, -1.1225101875659178e-05, 5.706604414895734e-06, 2.9801353803031333e-07,
    -8.210939042560568e-07, 7.115337800585303e-08, 1.0633855618594884e-07, -1.6371779763566967e-08,
    -1.234686604382353e-08, 1.5738283774192037e-09, 9.311744978232572e-10,
)  # fmt: skip

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
# erf(x) / x in powers of x**2, to 1e-17 for |x| <= 1.
_ERF_SERIES = tuple(_TWO_OVER_ROOT_PI * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(19))


def _erf_single(x: Array) -> Array:
    inner = horner(x * x, _ERF_SINGLE)
    inner *= x
    return np.asarray(np.tanh(inner, out=inner))


def _erf_near(x: Array) -> Array:
    return np.asarray(x * horner(x * x, _ERF_SERIES))


def _erf_double(x: Array) -> Array:
    return choose(x, np.abs(x) < 1, _erf_near, lambda y: np.copysign(1 - _erfc_positive(np.abs(y)), y))


def erf(x: Array) -> Array:
    """The error function."""
    if x.dtype == np.float64:
        return _run(_erf_double, (x,), np.float64)
    return _run(_erf_single, (x,), np.float32)


def _erfcx_positive(x: Array) -> Array:
    mapped = np.where(x == np.inf, 1, (x - 4) / (x + 4))
    return np.asarray(horner(mapped, _ERFCX) / (1 + 2 * x))


def _erfc_positive(x: Array) -> Array:
    # exp(-x * x) would lose the digits that rounding x * x loses; the square of a float32 is exact.
    rough = x.astype(np.float32).astype(np.float64)
    tail = np.exp(-rough * rough) * np.exp((rough - x) * (rough + x))
    return np.where(x > 28, 0, tail * _erfcx_positive(x))


def _erfc_outer(x: Array) -> Array:
    upper = _erfc_positive(np.abs(x))
    return np.where(x < 0, 2 - upper, upper)


@double
def erfc(x: Array) -> Array:
    """1 - erf(x), without losing the small values."""
    return choose(x, (x < 0.5) & (x > -1), lambda y: 1 - _erf_near(y), _erfc_outer)


@double
def erfcx(x: Array) -> Array:
    """exp(x**2) * erfc(x)."""
    return choose(x, x < 0, lambda y: 2 * np.exp(y * y) - _erfcx_positive(-y), _erfcx_positive)


def _erfinv_guess(complement: Array) -> Array:
    """Winitzki's closed form for the inverse of erfc in (0, 1], good to 2e-3 over the whole range."""
    log = np.log(complement * (2 - complement))
    middle = 2 / (math.pi * 0.147) + log / 2
    return np.asarray(np.sqrt(np.sqrt(middle * middle - log / 0.147) - middle))


def _erfinv_inner(x: Array) -> Array:
    y = np.copysign(_erfinv_guess(1 - np.abs(x)), x)
    # Halley's step cubes the error: 2e-3, 1e-8, rounding.
    for _ in range(2):
        step = (_erf_double(y) - x) * np.exp(y * y) / _TWO_OVER_ROOT_PI
        y = y - step / (1 + y * step)
    return y


def _erfcinv_small(q: Array) -> Array:
    """The inverse of erfc for q in [0, 1/2]: three Newton steps on its logarithm, nearly a parabola."""
    y, log = _erfinv_guess(q), np.log(q)
    for _ in range(3):
        scaled = _erfcx_positive(y)
        y = y + (np.log(scaled) - y * y - log) * scaled / _TWO_OVER_ROOT_PI
    return np.where(q == 0, np.inf, y)


@double
def erfinv(x: Array) -> Array:
    """The inverse of erf: infinite at -1 and 1, NaN outside."""
    outer = lambda y: np.copysign(_erfcinv_small(1 - np.abs(y)), y)
    return choose(x, np.abs(x) <= 0.5, _erfinv_inner, outer)


# ---------------------------------------------------------------------------------------- normal distribution


def _ndtr(x: Array) -> Array:
    z = x * math.sqrt(0.5)
    near = lambda y: 0.5 + 0.5 * _erf_near(y)
    return choose(z, np.abs(z) < 0.5, near, lambda y: 0.5 * _erfc_outer(-y))


@double
def ndtr(x: Array) -> Array:
    """The distribution function of the standard normal."""
    return _ndtr(x)


@double
def log_ndtr(x: Array) -> Array:
    """log(ndtr(x)), finite far to the left where ndtr underflows."""
    left = lambda y: np.log(_erfcx_positive(y * -math.sqrt(0.5)) / 2) - y * y / 2
    return choose(x, x < -1, left, lambda y: np.log1p(-_ndtr(-y)))


@double
def ndtri(p: Array) -> Array:
    """The inverse of ndtr: infinite at 0 and 1, NaN outside."""
    tail = np.minimum(p, 1 - p)
    inner = lambda y: math.sqrt(2) * _erfinv_inner(2 * y - 1)
    outer = lambda y: np.copysign(math.sqrt(2) * _erfcinv_small(2 * np.minimum(y, 1 - y)), y - 0.5)
    return choose(p, tail > 0.25, inner, outer)


def logit(x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), with x first clamped to [eps, 1 - eps] if eps is given."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        if eps is not None:
            low, high = wide.dtype.type(eps), wide.dtype.type(1 - eps)
            wide = np.where(wide < low, low, np.where(wide > high, high, wide))  # the first bound decides
        return np.asarray(np.log(wide / (1 - wide))).astype(x.dtype, copy=False)


# ------------------------------------------------------------------------------------------------------ gamma

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138, -236364091 / 2730,
)  # fmt: skip

# zeta(k) - 1 for k = 2, 3, ...
_ZETA_MINUS_ONE = (
    0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993, 0.01734306198444914,
    0.008349277381922827, 0.00407735619794434, 0.0020083928260822143, 0.0009945751278180853,
    0.0004941886041194645, 0.0002460865533080483, 0.00012271334757848915, 6.124813505870483e-05,
    3.058823630702049e-05, 1.528225940865187e-05, 7.637197637899763e-06, 3.81729326499984e-06,
    1.908212716553939e-06, 9.539620338727962e-07, 4.769329867878064e-07, 2.38450502727733e-07,
    1.1921992596531106e-07, 5.960818905125948e-08, 2.980350351465228e-08,
)  # fmt: skip

_EULER = 0.5772156649015329
# lgamma(2 + d) / d: Taylor's series, to 1e-17 for |d| <= 1/2.
_LGAMMA_AT_TWO = (1 - _EULER,) + tuple((-1) ** k * value / k for k, value in enumerate(_ZETA_MINUS_ONE, 2))
_STIRLING = tuple(b / ((2 * k) * (2 * k - 1)) for k, b in enumerate(_BERNOULLI[:9], 1))
_DIGAMMA_TAIL = tuple(-b / (2 * k) for k, b in enumerate(_BERNOULLI[:9], 1))


def _lgamma_large(x: Array) -> Array:
    inverse = 1 / x
    tail = horner(inverse * inverse, _STIRLING) * inverse
    return np.asarray((x - 0.5) * np.log(x) - x + (0.5 * math.log(2 * math.pi) + tail))


def _lgamma_middle(x: Array) -> Array:
    """For x in (0, 8): shifted to 2 +- 1/2 by the recurrence, the steps multiplied under one logarithm."""
    shift = np.floor(x - 1.5)
    up, down = np.ones_like(x), np.ones_like(x)
    for step in range(1, 7):
        up *= np.where(step <= shift, x - step, 1)
    for step in range(2):
        down *= np.where(step < -shift, x + step, 1)
    d = x - (shift + 2)  # one rounding at most, and none near 1 and 2
    return np.asarray(d * horner(d, _LGAMMA_AT_TWO) + (np.log(up) - np.log(down)))


def _lgamma_positive(x: Array) -> Array:
    found = choose(x, x < 8, lambda y: choose(y, y < 1e-300, lambda t: -np.log(t), _lgamma_middle), _lgamma_large)
    return np.where(x == np.inf, np.inf, found)


def _sin_pi(x: Array) -> Array:
    """|sin(pi x)|, exactly zero at the integers."""
    return np.abs(np.sin(math.pi * (x - np.rint(x))))


def _lgamma_negative(x: Array) -> Array:
    found = math.log(math.pi) - np.log(_sin_pi(x) * -x) - _lgamma_positive(-x)
    return np.where((x == np.floor(x)) | np.isinf(x), np.inf, found)


@double
def lgamma(x: Array) -> Array:
    """The logarithm of |gamma(x)|."""
    return choose(x, x <= 0, _lgamma_negative, _lgamma_positive)


def _digamma_positive(x: Array) -> Array:
    total = np.zeros_like(x)
    for _ in range(10):
        small = x < 10
        total -= np.where(small, 1 / x, 0)
        x = np.where(small, x + 1, x)
    inverse = 1 / x
    square = inverse * inverse
    return np.asarray(total + (np.log(x) - 0.5 * inverse + square * horner(square, _DIGAMMA_TAIL)))


def _digamma_negative(x: Array) -> Array:
    found = _digamma_positive(1 - x) - math.pi / np.tan(math.pi * (x - np.rint(x)))
    found[(x == np.floor(x)) | np.isinf(x)] = np.nan
    return np.where(x == 0, np.copysign(np.inf, -x), found)


@double
def digamma(x: Array) -> Array:
    """The derivative of lgamma: infinite at zero, NaN at the negative integers."""
    return choose(x, x <= 0, _digamma_negative, _digamma_positive)


# -------------------------------------------------------------------------------------------------- polygamma


def _zeta_terms(s: Array, q: Array) -> tuple[Array, Array]:
    """The sum of (q + k)**-s until q + k > 9, at least nine terms, and the q at which it stopped."""
    total = q**-s
    for _ in range(9):
        q = q + 1
        total = total + q**-s
    left = np.flatnonzero(q <= 9)
    while left.size:  # few, or far to the left of the others
        q[left] += 1
        total[left] += q[left] ** -s[left]
        left = left[q[left] <= 9]
    return total, q


def _zeta_tail(s: Array, q: Array) -> Array:
    """Euler and Maclaurin's estimate of the rest after the term (q)**-s."""
    power = q**-s
    total = q ** (1 - s) / (s - 1) - 0.5 * power
    factor, power = s, power / q
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * power
        factor = factor * (s + (2 * k - 1)) * (s + 2 * k)
        power = power / (q * q)
    return np.asarray(total)


def _zeta(s: Array, q: Array) -> Array:
    pole = (q <= 0) & (q == np.floor(q))
    invalid = (s < 1) | ((q < 0) & ~pole & (s != np.floor(s))) | np.isnan(q) | np.isnan(s)
    safe_s, safe_q = np.where(invalid | (s == 1), 2, s), np.where(invalid | pole | (q == np.inf), 1, q)
    total, last = _zeta_terms(safe_s, safe_q)
    found = np.where(q == np.inf, 0, total + _zeta_tail(safe_s, last))
    found = np.where((s == 1) | (pole & (s >= 1)), np.inf, found)
    return np.where(invalid, np.nan, found)


def zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta function, the sum of (q + k)**-x over k >= 0; the arrays are broadcast."""
    if x.shape != q.shape:
        x, q = (np.ascontiguousarray(v) for v in np.broadcast_arrays(x, q))
    return _run(_zeta, (x, q), np.float64)


def _trigamma(x: Array) -> Array:
    reflected = lambda y: (math.pi / _sin_pi(y)) ** 2 - _zeta(np.full_like(y, 2), 1 - y)
    return choose(x, x < 0.5, reflected, lambda y: _zeta(np.full_like(y, 2), y))


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(x)
    if n == 1:
        return _run(_trigamma, (x,), np.float64)
    scale = (-1.0) ** (n + 1) * (math.gamma(n + 1) if n < 171 else math.inf)
    return _run(lambda y: scale * _zeta(np.full_like(y, n + 1), y), (x,), np.float64)


# ----------------------------------------------------------------------------------------------------- Bessel

# Below, the power series has 48 terms, all positive; above, the asymptotic one reaches 1e-16.
_BESSEL_SWITCH = 20.0


def _bessel_series(order: int) -> tuple[float, ...]:
    return tuple(1 / (math.factorial(k) * math.factorial(k + order)) for k in range(48))


def _bessel_tail(order: int) -> tuple[float, ...]:
    """Coefficients of 1/x in exp(-x) sqrt(2 pi x) I(x)."""
    terms = [1.0]
    for k in range(1, 28):
        terms.append(-terms[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return tuple(terms)


_BESSEL = {order: (_bessel_series(order), _bessel_tail(order)) for order in (0, 1)}


def _bessel_scaled(order: int, x: Array) -> Array:
    """exp(-|x|) I(x)."""
    series, tail = _BESSEL[order]
    size = np.abs(x)
    near = lambda y: np.exp(-y) * (y / 2) ** order * horner(y * y / 4, series)
    far = lambda y: horner(1 / y, tail) / np.sqrt(2 * math.pi * y)
    found = choose(size, size <= _BESSEL_SWITCH, near, far)
    return np.copysign(found, x) if order else found


def _bessel(order: int, x: Array) -> Array:
    size = np.abs(x)
    near = lambda y: (y / 2) ** order * horner(y * y / 4, _BESSEL[order][0])
    # In two factors, so that the result overflows where it should and not sooner.
    far = lambda y: np.exp(y / 2) * _bessel_scaled(order, y) * np.exp(y / 2)
    found = choose(size, size <= _BESSEL_SWITCH, near, far)
    found = np.where(size == np.inf, np.inf, found)
    return np.copysign(found, x) if order else found


@double
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, of order zero."""
    return _bessel(0, x)


@double
def i0e(x: Array) -> Array:
    """exp(-|x|) * i0(x)."""
    return _bessel_scaled(0, x)


@double
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, of order one."""
    return _bessel(1, x)


@double
def i1e(x: Array) -> Array:
    """exp(-|x|) * i1(x)."""
    return _bessel_scaled(1, x)
