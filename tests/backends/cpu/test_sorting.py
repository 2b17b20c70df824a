"""Laws of order: a sort is a permutation, a selection is part of it, a running sum has a transpose."""

import numpy as np
import pytest

from chainrule.backends.cpu import sorting as k


@pytest.mark.parametrize("seed", range(20))
def test_selections_are_parts_of_the_sort(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (3, int(rng.integers(1, 200)))).astype("f")
    values, indices = k.sort(x, 1)
    assert (np.sort(indices, 1) == np.arange(x.shape[1])).all()
    assert (np.diff(values, axis=1) >= 0).all()
    count = int(rng.integers(1, x.shape[1] + 1))
    assert (k.topk(x, count, 1, largest=False)[0] == values[:, :count]).all()
    assert (k.topk(x, count, 1)[0] == values[:, ::-1][:, :count]).all()
    assert (k.kthvalue(x, count, 1)[0] == values[:, count - 1]).all()
    assert (k.median(x, 1)[0] == values[:, (x.shape[1] - 1) // 2]).all()


@pytest.mark.parametrize("seed", range(20))
def test_distinct_elements_put_together_again(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, tuple(rng.integers(1, 6, 2)))
    for kernel in (k.unique, k.unique_consecutive):
        values, inverse, counts = kernel(x)
        assert (values[inverse] == x).all() and counts.sum() == x.size
        for dim in (0, 1):
            values, inverse, counts = kernel(x, dim)
            assert (values.take(inverse, dim) == x).all() and counts.sum() == x.shape[dim]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_sums_and_products(dim):
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 4, 5))
    assert np.vdot(g, x.cumsum(dim)) == pytest.approx(np.vdot(k.reversed_cumsum(g, dim), x))
    x[2, 3] = x[1, 1] = 0
    step = 1e-6 * rng.standard_normal(x.shape)
    change = ((x + step).cumprod(dim) - (x - step).cumprod(dim)) / 2
    assert np.vdot(g, change) == pytest.approx(np.vdot(k.cumprod_gradient(g, x, dim), step), rel=1e-5)
    np.testing.assert_allclose(k.logcumsumexp(x, dim), np.log(np.exp(x).cumsum(dim)))


def test_scalars_and_bfloat16():
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x = np.array([2, np.nan, 1], dtype)
    values, indices = k.sort(x, 0, descending=True)
    assert values.dtype == dtype and indices.tolist() == [1, 0, 2]
    assert k.cummax(x, 0)[0].dtype == dtype
    scalar = np.float32(3).reshape(())
    for kernel in (k.sort, k.median, k.mode, k.nanmedian):
        values, indices = kernel(scalar)
        assert values == 3 and indices == 0 and values.shape == indices.shape == ()
