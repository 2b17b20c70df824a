"""Bessel functions, held to identities that tie them together and to values known to all digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chainrule.backends.cpu import bessel

X = np.concatenate([np.geomspace(1e-6, 1, 200), np.linspace(1, 60, 4000), np.linspace(60, 1000, 500)])

KNOWN = [
    ("j0", 1.0, 0.7651976865579665514), ("j0", 25.0, 0.0962667832759581162), ("j1", 5.0, -0.3275791375914652220),
    ("y0", 2.0, 0.5103756726497451196), ("y1", 2.0, -0.1070324315409375469), ("k0", 1.0, 0.4210244382407083333),
    ("k1", 3.0, 0.0401564311281942040), ("airy_ai", 0.0, 0.3550280538878172393),
    ("airy_ai", -5.0, 0.3507610090241142839), ("airy_ai", 5.0, 1.0834442813607441e-4),
]  # fmt: skip


@pytest.mark.parametrize("name, x, want", KNOWN)
def test_known_values(name: str, x: float, want: float) -> None:
    assert getattr(bessel, name)(np.array([x]))[0] == pytest.approx(want, rel=4e-15)


def test_j_and_y_have_their_wronskian() -> None:
    found = bessel.j1(X) * bessel.y0(X) - bessel.j0(X) * bessel.y1(X)
    np.testing.assert_allclose(found * X * (math.pi / 2), 1, rtol=1e-14)


def test_i_and_k_have_their_wronskian() -> None:
    x = X[X < 300]
    found = bessel.i0(x) * bessel.k1(x) + bessel.i1(x) * bessel.k0(x)
    np.testing.assert_allclose(found * x, 1, rtol=1e-14)


@pytest.mark.parametrize("name", ["k0", "k1"])
def test_scaled(name: str) -> None:
    x = X[X < 300]
    np.testing.assert_allclose(getattr(bessel, name + "e")(x), getattr(bessel, name)(x) * np.exp(x), rtol=1e-12)


def test_airy_solves_its_equation() -> None:
    """Sums of Taylor series, the wave and the falling side: y'' = x y by differences, also across the seams."""
    x, h = np.linspace(-14, 4, 3001), 1e-2
    y = [bessel.airy_ai(x + k * h) for k in (-2, -1, 0, 1, 2)]
    second = (-y[0] + 16 * y[1] - 30 * y[2] + 16 * y[3] - y[4]) / (12 * h * h)
    np.testing.assert_allclose(second, x * y[2], rtol=1e-5, atol=2e-5)


def test_edges() -> None:
    zero, infinite, below = np.array([0.0]), np.array([np.inf]), np.array([-1.0])
    assert bessel.y0(zero)[0] == bessel.y1(zero)[0] == -np.inf
    assert bessel.k0(zero)[0] == bessel.k1e(zero)[0] == np.inf
    assert bessel.k0(infinite)[0] == bessel.k1e(infinite)[0] == bessel.spherical_j0(infinite)[0] == 0
    assert np.isnan([bessel.y0(below)[0], bessel.k1(below)[0]]).all()
    assert bessel.j1(below)[0] == -bessel.j1(-below)[0] and bessel.spherical_j0(zero)[0] == 1
