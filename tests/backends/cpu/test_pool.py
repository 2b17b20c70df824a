"""Pooling: a mean is linear and has a transpose, a maximum is a choice and gathers."""

import numpy as np
import pytest

from chainrule.backends.cpu import pool as k


def draw(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    kernel, stride = (tuple(map(int, rng.integers(1, 4, rank))) for _ in range(2))
    padding = tuple(int(rng.integers(0, n // 2 + 1)) for n in kernel)
    space = tuple(int(n + rng.integers(0, 6)) for n in kernel)
    return rng, rng.standard_normal((2, 3, *space)), kernel, stride, padding


@pytest.mark.parametrize("seed", range(40))
def test_avg_pool_and_its_transpose(seed):
    rng, x, kernel, stride, padding = draw(seed)
    out = k.avg_pool(x, kernel, stride, padding, seed % 2 == 0, seed % 3 == 0)
    g = rng.standard_normal(out.shape)
    back = k.avg_pool_adjoint(g, x.shape[2:], kernel, stride, padding, seed % 3 == 0)
    assert np.vdot(g, out) == pytest.approx(np.vdot(back, x))


@pytest.mark.parametrize("seed", range(20))
def test_adaptive_avg_pool_and_its_transpose(seed):
    rng, x, kernel, *_ = draw(seed)
    out = k.adaptive_avg_pool(x, kernel)
    g = rng.standard_normal(out.shape)
    assert np.vdot(g, out) == pytest.approx(np.vdot(k.adaptive_avg_pool_adjoint(g, x.shape[2:]), x))


@pytest.mark.parametrize("seed", range(40))
def test_a_maximum_gathers_and_its_gradient_scatters(seed):
    rng, x, kernel, stride, padding = draw(seed)
    rank = len(kernel)
    values, indices = k.max_pool(x, kernel, stride, padding, (1,) * rank, seed % 2 == 0)
    assert (k.max_pool_gather(x, indices, rank) == values).all()
    g = rng.standard_normal(values.shape)
    assert np.vdot(g, values) == pytest.approx(np.vdot(k.max_pool_scatter(g, indices, x.shape[2:]), x))


def test_an_empty_batch():
    x = np.zeros((0, 3, 4, 4), "f")
    values, indices = k.max_pool(x, (2, 2), (2, 2), (0, 0), (1, 1))
    assert values.shape == indices.shape == (0, 3, 2, 2)
    assert k.max_pool_scatter(values, indices, (4, 4)).shape == x.shape
    assert k.avg_pool(x, (2, 2), (2, 2), (0, 0)).shape == (0, 3, 2, 2)
    assert k.adaptive_max_pool(x, (3, 3))[0].shape == (0, 3, 3, 3)


def test_bfloat16():
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x = np.arange(16).reshape(1, 1, 4, 4).astype(dtype)
    values, indices = k.max_pool(x, (2, 2), (2, 2), (0, 0), (1, 1))
    assert values.dtype == dtype and indices.tolist() == [[[[5, 7], [13, 15]]]]
    assert k.avg_pool(x, (2, 2), (2, 2), (0, 0)).dtype == dtype
