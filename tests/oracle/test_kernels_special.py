"""Special functions against live PyTorch, in single and double precision."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from chainrule.backends.cpu import bessel  # noqa: E402
from chainrule.backends.cpu import special as k  # noqa: E402

RNG = np.random.default_rng(0)
REAL = np.concatenate([RNG.standard_normal(2000) * scale for scale in (1e-3, 1, 5)])
POSITIVE = np.concatenate([RNG.uniform(0.05, 30, 4000), 10 ** RNG.uniform(-6, 3, 1000)])
UNIT = np.concatenate([RNG.uniform(0, 1, 4000), 10 ** RNG.uniform(-30, 0, 1000)])
EDGES = np.array([0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])

# Where PyTorch is the less exact of the two, the tolerance is its own error.
CASES = [
    ("erf", REAL, 1e-15, 4e-7),
    ("erfc", REAL, 2e-14, 1e-6),
    ("erfcx", REAL[np.abs(REAL) < 5], 1e-14, 1e-5),
    ("erfinv", np.tanh(REAL), 1e-14, 1e-6),
    ("ndtr", REAL[REAL > -4], 1e-10, 1e-2),
    ("log_ndtr", REAL[REAL < 4], 1e-12, 1e-4),
    ("ndtri", UNIT, 1e-13, 1e-6),
    ("logit", UNIT, 1e-14, 1e-6),
    ("lgamma", POSITIVE, 1e-13, 2e-6),
    ("digamma", POSITIVE[np.abs(POSITIVE - 1.4616) > 0.01], 1e-13, 1e-4),
    ("i0", REAL, 1e-14, 2e-6),
    ("i0e", REAL, 1e-14, 2e-6),
    ("i1", REAL, 1e-14, 4e-6),
    ("i1e", REAL, 1e-14, 4e-6),
]


def theirs(name, *arrays):
    return getattr(torch.special, name.replace("lgamma", "gammaln"))(*arrays).numpy()


@pytest.mark.parametrize("name, x, double, single", CASES)
def test_values(name, x, double, single):
    for dtype, tolerance in ((np.float64, double), (np.float32, single)):
        array = np.concatenate([x, EDGES if name not in ("i0", "i1") else EDGES[:1]]).astype(dtype)
        ours = getattr(k, name)(array)
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs(name, torch.from_numpy(array)), rtol=tolerance, atol=1e-30)


# Beyond 5, PyTorch's J, Y and Ai are good to six digits, of their envelope.
BESSEL = [
    ("j0", "bessel_j0", REAL, 1e-5),
    ("j1", "bessel_j1", REAL, 1e-5),
    ("y0", "bessel_y0", POSITIVE, 1e-5),
    ("y1", "bessel_y1", POSITIVE, 1e-5),
    ("k0", "modified_bessel_k0", POSITIVE[POSITIVE < 600], 1e-14),
    ("k1", "modified_bessel_k1", POSITIVE[POSITIVE < 600], 1e-13),
    ("k0e", "scaled_modified_bessel_k0", POSITIVE, 1e-14),
    ("k1e", "scaled_modified_bessel_k1", POSITIVE, 1e-13),
    ("spherical_j0", "spherical_bessel_j0", REAL, 1e-15),
    ("airy_ai", "airy_ai", REAL, 1e-5),
]


@pytest.mark.parametrize("name, title, x, tolerance", BESSEL)
def test_bessel(name, title, x, tolerance):
    x = np.concatenate([x, [0.0, np.nan, np.inf, -1.0]])
    atol = tolerance if tolerance == 1e-5 else 1e-300
    np.testing.assert_allclose(getattr(bessel, name)(x), theirs(title, torch.from_numpy(x)), rtol=tolerance, atol=atol)
    assert getattr(bessel, name)(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("n", range(6))
def test_polygamma(n):
    x = POSITIVE[np.abs(POSITIVE - 1.4616) > 0.01]
    # PyTorch's trigamma is good to nine digits.
    tolerance = 1e-8 if n == 1 else 1e-12
    np.testing.assert_allclose(k.polygamma(n, x), torch.polygamma(n, torch.from_numpy(x)).numpy(), rtol=tolerance)
    negative = -RNG.uniform(0.05, 6, 500)
    expected = torch.polygamma(n, torch.from_numpy(negative)).numpy()
    np.testing.assert_allclose(k.polygamma(n, negative), expected, rtol=1e-8, atol=1e-8)


def test_zeta():
    x, q = RNG.uniform(1, 20, (40, 1)), np.concatenate([RNG.uniform(0, 30, 200), [-1.0, 0.0, -2.5]])
    expected = torch.special.zeta(torch.from_numpy(x), torch.from_numpy(q)).numpy()
    np.testing.assert_allclose(k.zeta(x, q), expected, rtol=1e-13)


@pytest.mark.parametrize("eps", [None, 1e-3])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_logit_eps(eps, dtype):
    x = np.linspace(-0.5, 1.5, 41).astype(dtype)
    expected = torch.logit(torch.from_numpy(x), eps).numpy()
    np.testing.assert_allclose(k.logit(x, eps), expected, rtol=4e-3 if dtype == np.float16 else 1e-5, atol=1e-6)
