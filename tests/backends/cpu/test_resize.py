"""Interpolation is linear, and interpolate_adjoint is its transpose, densely and sparsely alike."""

import numpy as np
import pytest

from chainrule.backends.cpu import resize as k


@pytest.mark.parametrize("dense", [512, 0])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "trilinear", "bicubic", "area"])
@pytest.mark.parametrize("seed", range(6))
def test_transposes(mode, seed, dense, monkeypatch):
    monkeypatch.setattr(k, "DENSE", dense)
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    space, size = (tuple(map(int, rng.integers(1, 10, rank))) for _ in range(2))
    x, g = rng.standard_normal((2, 3, *space)), rng.standard_normal((2, 3, *size))
    options = (mode, bool(seed % 2), None, mode in ("trilinear", "bicubic") and seed % 3 == 0)
    out, back = k.interpolate(x, size, *options), k.interpolate_adjoint(g, space, *options)
    assert out.shape == g.shape and back.shape == x.shape
    assert np.vdot(g, out) == pytest.approx(np.vdot(back, x))


@pytest.mark.parametrize("mode", ["linear", "bicubic", "area", "nearest"])
def test_a_constant_stays_constant(mode):
    np.testing.assert_allclose(k.interpolate(np.ones((1, 1, 7)), (11,), mode), 1)


def test_an_empty_batch_and_bfloat16():
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    for mode in ("nearest", "linear"):
        assert k.interpolate(np.zeros((0, 2, 3), dtype), (5,), mode).shape == (0, 2, 5)
        assert k.interpolate(np.ones((1, 2, 3), dtype), (5,), mode).dtype == dtype
        assert k.interpolate_adjoint(np.ones((1, 2, 5), dtype), (3,), mode).dtype == dtype
