"""Special functions against each other, against the standard library, and at their edges."""

import math

import numpy as np
import pytest

from chainrule.backends.cpu import special as k

X = np.concatenate([np.linspace(-6, 6, 2401), np.logspace(-12, 2, 200)])
POSITIVE = np.concatenate([np.linspace(0.01, 40, 2000), np.logspace(-10, 5, 200)])
INF, NAN = math.inf, math.nan


def ulps(ours, exact):
    return (np.abs(ours.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(ours.dtype))).max()


# math.lgamma loses digits near its zeros, 1 and 2: there PyTorch is the witness, in tests/oracle.
AWAY = POSITIVE[(POSITIVE < 0.5) | (POSITIVE > 2.5)]


@pytest.mark.parametrize("name, x, double, single", [("erf", X, 4, 5), ("erfc", X, 6, 2), ("lgamma", AWAY, 20, 2)])
def test_the_standard_library_agrees(name, x, double, single):
    exact = np.array([getattr(math, name)(v) for v in x.tolist()])
    assert ulps(getattr(k, name)(x), exact) <= double
    rough = x.astype(np.float32)
    exact = np.array([getattr(math, name)(v) for v in rough.tolist()])
    normal = np.abs(exact) > 1e-37
    assert ulps(getattr(k, name)(rough)[normal], exact[normal]) <= single


def test_inverses():
    x = np.linspace(-0.999, 0.999, 999)
    np.testing.assert_allclose(k.erf(k.erfinv(x)), x, rtol=1e-14, atol=1e-16)
    p = np.concatenate([np.logspace(-300, -1, 300), np.linspace(0.1, 0.999, 100)])
    np.testing.assert_allclose(k.ndtr(k.ndtri(p)), p, rtol=2e-12)
    np.testing.assert_allclose(k.log_ndtr(k.ndtri(p)), np.log(p), rtol=1e-13)


def test_recurrences():
    x = POSITIVE[POSITIVE > 1e-3]
    np.testing.assert_allclose(k.digamma(x + 1), k.digamma(x) + 1 / x, rtol=1e-12, atol=1e-13)
    for n in (1, 2, 3):
        step = (-1) ** n * math.factorial(n) / x[x > 0.01] ** (n + 1)
        y = x[x > 0.01]
        np.testing.assert_allclose(k.polygamma(n, y), k.polygamma(n, y + 1) - step, rtol=1e-10)
    np.testing.assert_allclose(k.erfcx(x[x < 5]) * np.exp(-(x[x < 5] ** 2)), k.erfc(x[x < 5]), rtol=1e-13)
    np.testing.assert_allclose(k.i0e(x[x < 500]) * np.exp(x[x < 500]), k.i0(x[x < 500]), rtol=1e-12)
    np.testing.assert_allclose(k.zeta(np.full(3, 2.0), np.arange(1.0, 4)), [math.pi**2 / 6 - c for c in (0, 1, 1.25)])


def test_pieces_meet():
    for name, seam in (
        ("erf", 1.0),
        ("erfc", 0.5),
        ("lgamma", 8.0),
        ("i0", 20.0),
        ("i1e", 20.0),
        ("log_ndtr", -1.0),
    ):
        left, right = getattr(k, name)(np.array([np.nextafter(seam, -INF), np.nextafter(seam, INF)]))
        assert left == pytest.approx(right, rel=1e-14), name


EDGES = [
    ("erf", [INF, -INF, NAN, -0.0], [1, -1, NAN, -0.0]),
    ("erfc", [INF, -INF, NAN], [0, 2, NAN]),
    ("erfinv", [1, -1, 2, NAN, 0], [INF, -INF, NAN, NAN, 0]),
    ("ndtri", [0, 1, -1, 2, 0.5, NAN], [-INF, INF, NAN, NAN, 0, NAN]),
    ("log_ndtr", [INF, -INF, NAN], [0, -INF, NAN]),
    ("lgamma", [0, -1, -2, INF, -INF, NAN, 1, 2], [INF, INF, INF, INF, INF, NAN, 0, 0]),
    ("digamma", [0.0, -0.0, -1, INF, NAN], [-INF, INF, NAN, INF, NAN]),
    ("i0", [0, INF, NAN], [1, INF, NAN]),
    ("i1", [0, INF, -INF, NAN], [0, INF, -INF, NAN]),
    ("logit", [0, 1, 0.5, 2], [-INF, INF, 0, NAN]),
]


@pytest.mark.parametrize("name, x, expected", EDGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges(name, x, expected, dtype):
    np.testing.assert_array_equal(getattr(k, name)(np.array(x, dtype)), np.array(expected, dtype))


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma", "i0e", "logit"])
def test_any_shape_and_half_precision(name):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    kernel, x = getattr(k, name), np.full((2, 3), 0.25, dtype)
    assert kernel(x).dtype == dtype and kernel(x).shape == (2, 3)
    scalar = kernel(np.float32(0.25).reshape(()))
    assert isinstance(scalar, np.ndarray) and scalar.shape == ()
    assert kernel(np.zeros((0, 2), "f")).shape == (0, 2)
    turned = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    np.testing.assert_array_equal(kernel(turned.T), kernel(np.ascontiguousarray(turned.T)))
