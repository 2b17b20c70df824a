"""Bessel functions and their relatives, of real arrays, in NumPy alone.

Near 0 each is an integral over a period, or over a line where it falls off quickly: sums over equally spaced nodes
converge to those faster than any power of the spacing. Far out it is an asymptotic series with coefficients from their
definition. Everything is computed in double precision and rounded to the array's own type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array
from chainrule.backends.cpu.special import choose, double, horner, i0, i1

__all__ = ["airy_ai", "i0", "i1", "j0", "j1", "k0", "k0e", "k1", "k1e", "spherical_j0", "y0", "y1"]

_FAR = 20.0  # from here on the asymptotic series reach 1e-17
_TERMS = 32


# ------------------------------------------------------------------------------------------------- far from zero


def _hankel(order: float) -> list[float]:
    """Coefficients of 1/x in the asymptotic series of K(x), which J and Y share."""
    terms = [1.0]
    for k in range(1, _TERMS):
        terms.append(terms[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return terms


def _wave(order: float, phase: float) -> Callable[[Array], Array]:
    """P(x) cos(x - phase) - Q(x) sin(x - phase), with the even and the odd terms of the series."""
    terms = [a if k % 4 < 2 else -a for k, a in enumerate(_hankel(order))]
    cos, sin = math.cos(phase), math.sin(phase)

    def wave(x: Array) -> Array:
        z, c, s = 1 / (x * x), np.cos(x), np.sin(x)
        return horner(z, terms[::2]) * (c * cos + s * sin) - horner(z, terms[1::2]) / x * (s * cos - c * sin)

    return wave


def _fading(order: float, phase: float) -> Callable[[Array], Array]:
    wave = _wave(order, phase)
    return lambda x: wave(x) * np.sqrt(2 / math.pi / x)


# ------------------------------------------------------------------------------------------------ J and Y near zero

# cos(x sin t) summed over 128 nodes of a circle; of nodes with the same |sin t| there are four (at the ends two).
_ANGLES = np.arange(33) * (2 * math.pi / 128)
_SINES = np.sin(_ANGLES)
_SHARE = np.where((_ANGLES == 0) | (_ANGLES == _ANGLES[-1]), 2, 4) / 128
# Neumann's series of Y0 has J(2k) / k with changing signs: the same sum with these weights.
_NEUMANN = _SHARE * sum((-1) ** k * np.cos(2 * k * _ANGLES) / k for k in range(1, 33))


def _cosines(x: Array) -> Any:
    return np.cos(np.multiply.outer(x, _SINES))


def _sines(x: Array) -> Any:
    return np.sin(np.multiply.outer(x, _SINES))


def _log(x: Array) -> Any:
    return np.log(x / 2) + np.euler_gamma


def _y0_near(x: Array) -> Any:
    c = _cosines(x)
    return (2 * _log(x) * (c @ _SHARE) - 4 * (c @ _NEUMANN)) / math.pi


def _y1_near(x: Array) -> Any:
    s = _sines(x)
    waves = 2 * _log(x) * (s @ (_SHARE * _SINES)) - 4 * (s @ (_NEUMANN * _SINES))
    return (waves - 2 / x * (_cosines(x) @ _SHARE)) / math.pi


_J0_FAR, _J1_FAR = _fading(0, math.pi / 4), _fading(1, 3 * math.pi / 4)
# Y lags a quarter of a period behind J.
_Y0_FAR, _Y1_FAR = _fading(0, 3 * math.pi / 4), _fading(1, 5 * math.pi / 4)


@double
def j0(x: Array) -> Array:
    """The Bessel function of the first kind, of order zero."""
    size = np.abs(x)
    return choose(size, size < _FAR, lambda y: _cosines(y) @ _SHARE, _J0_FAR)


@double
def j1(x: Array) -> Array:
    """The Bessel function of the first kind, of order one."""
    size = np.abs(x)
    found = choose(size, size < _FAR, lambda y: _sines(y) @ (_SHARE * _SINES), _J1_FAR)
    return np.where(x < 0, -found, np.where(x == 0, x, found))


@double
def y0(x: Array) -> Array:
    """The Bessel function of the second kind, of order zero."""
    return np.where(x == 0, -np.inf, choose(x, x < _FAR, _y0_near, _Y0_FAR))


@double
def y1(x: Array) -> Array:
    """The Bessel function of the second kind, of order one."""
    return np.where(x == 0, -np.inf, choose(x, x < _FAR, _y1_near, _Y1_FAR))


@double
def spherical_j0(x: Array) -> Array:
    """sin(x) / x."""
    return np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, np.sin(x) / x))


# -------------------------------------------------------------------------------------------------------------- K

_STEPS = np.arange(31) * 0.15
_DEPTHS = 2 * np.sinh(_STEPS / 2) ** 2  # cosh(t) - 1
_HARMONIC = [0.0, *np.cumsum(1 / np.arange(1, 16)).tolist()]
_I0 = [1 / math.factorial(k) ** 2 for k in range(15)]
_I1 = [1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(15)]
_K0 = [a * h for a, h in zip(_I0, _HARMONIC)]
_K1 = [a * (_HARMONIC[k] + _HARMONIC[k + 1]) / 2 for k, a in enumerate(_I1)]


@cache
def _k_far(order: float) -> Callable[[Array], Array]:
    terms = _hankel(order)
    return lambda x: horner(1 / x, terms) * np.sqrt(math.pi / 2 / x)


def _k_scaled(order: float, x: Array) -> Array:
    """exp(x) K(x) for x >= 1: the integral of exp(-x (cosh(t) - 1)) cosh(order t), or the series."""
    weights = 0.15 * np.cosh(order * _STEPS)
    weights[0] /= 2
    middle = lambda y: np.exp(np.multiply.outer(-y, _DEPTHS)) @ weights
    return choose(x, x < _FAR, middle, _k_far(order))


def _k0_near(x: Array) -> Any:
    z = x * x / 4
    return horner(z, _K0) - _log(x) * horner(z, _I0)


def _k1_near(x: Array) -> Any:
    z = x * x / 4
    return 1 / x + x / 2 * (_log(x) * horner(z, _I1) - horner(z, _K1))


_K_NEAR = (_k0_near, _k1_near)


def _k(order: int, x: Array, scaled: bool) -> Array:
    near, infinite = _K_NEAR[order], np.inf
    small = near if not scaled else lambda y: near(y) * np.exp(y)
    large = lambda y: _k_scaled(order, y) * (1 if scaled else np.exp(-y))
    found = choose(x, x < 1, small, large)
    return np.where(x == 0, infinite, np.where(x == infinite, 0.0, found))


@double
def k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order zero."""
    return _k(0, x, scaled=False)


@double
def k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order one."""
    return _k(1, x, scaled=False)


@double
def k0e(x: Array) -> Array:
    """exp(x) k0(x)."""
    return _k(0, x, scaled=True)


@double
def k1e(x: Array) -> Array:
    """exp(x) k1(x)."""
    return _k(1, x, scaled=True)


# ----------------------------------------------------------------------------------------------------------- Airy

# Between these Ai is its Taylor series around the nearest of centres half a unit apart.
_LEFT, _RIGHT = -10.0, 1.5
_AIRY_FAR = _wave(1 / 3, math.pi / 4)


def _taylor(centre: float, value: float, slope: float) -> list[float]:
    """Taylor coefficients of the solution of y'' = x y with this value and slope."""
    terms = [value, slope, centre * value / 2]
    for n in range(1, 22):
        terms.append((centre * terms[n] + terms[n - 1]) / ((n + 1) * (n + 2)))
    return terms


@cache
def _airy_table() -> Any:
    """A row of coefficients for each centre, found by going from one to the next, away from 0."""
    start = (3 ** (-2 / 3) / math.gamma(2 / 3), -(3 ** (-1 / 3)) / math.gamma(1 / 3))
    rows = {0: _taylor(0.0, *start)}
    for step, last in ((-1, round(2 * _LEFT)), (1, round(2 * _RIGHT))):
        for at in range(step, last + step, step):
            terms, h = rows[at - step], step / 2
            value = sum(a * h**n for n, a in enumerate(terms))
            slope = sum(n * a * h ** (n - 1) for n, a in enumerate(terms) if n)
            rows[at] = _taylor(at / 2, value, slope)
    return np.array([rows[at] for at in sorted(rows)])


def _airy_middle(x: Array) -> Array:
    table = _airy_table()
    nearest = np.rint(2 * x)
    terms = table[nearest.astype(np.int64) - round(2 * _LEFT)].T
    h, total = x - nearest / 2, np.zeros_like(x)
    for a in terms[::-1]:
        total = total * h + a
    return total


def _airy_left(x: Array) -> Array:
    y = -x
    return _AIRY_FAR(y * np.sqrt(y) * (2 / 3)) / np.sqrt(math.pi * np.sqrt(y))


def _airy_right(x: Array) -> Array:
    z = x * np.sqrt(x) * (2 / 3)
    return np.where(z > 1000, 0.0, np.sqrt(x / 3) * _k_scaled(1 / 3, z) * np.exp(-z) / math.pi)


@double
def airy_ai(x: Array) -> Array:
    """Airy's function Ai."""
    outer = lambda y: choose(y, y < 0, _airy_left, _airy_right)
    found = choose(x, (x >= _LEFT) & (x <= _RIGHT), _airy_middle, outer)
    return np.where(np.isinf(x), np.nan, found)
