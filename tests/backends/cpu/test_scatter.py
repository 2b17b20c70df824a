"""Reading by index and writing by index are transposes of each other."""

import numpy as np
import pytest

from chainrule.backends.cpu import scatter as k

SEEDS = range(20)


def inner(a, b):
    return float(np.vdot(a, b))


def draw(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4)))
    return rng, shape, int(rng.integers(0, len(shape)))


@pytest.mark.parametrize("seed", SEEDS)
def test_scatter_add_transposes_gather(seed):
    rng, shape, dim = draw(seed)
    extent = [int(rng.integers(1, n + 1)) for n in shape]
    extent[dim] = 6
    index = rng.integers(0, shape[dim], extent)
    x, y = rng.standard_normal(shape), rng.standard_normal(extent)
    assert inner(k.gather(x, dim, index), y) == pytest.approx(inner(x, k.scatter_add(np.zeros(shape), dim, index, y)))


@pytest.mark.parametrize("seed", SEEDS)
def test_index_add_transposes_index_select(seed):
    rng, shape, dim = draw(seed)
    index = rng.integers(0, shape[dim], 5)
    x, y = rng.standard_normal(shape), rng.standard_normal((*shape[:dim], 5, *shape[dim + 1 :]))
    back = k.index_add(np.zeros(shape), dim, index, y)
    assert inner(k.index_select(x, dim, index), y) == pytest.approx(inner(x, back))


@pytest.mark.parametrize("seed", SEEDS)
def test_flat_and_masked_pairs(seed):
    rng, shape, _ = draw(seed)
    x, index = rng.standard_normal(shape), rng.integers(0, np.prod(shape), 7)
    y = rng.standard_normal(7)
    assert inner(k.take(x, index), y) == pytest.approx(inner(x, k.put(np.zeros(shape), index, y, True)))
    mask = rng.random(shape) > 0.4
    z = rng.standard_normal(int(mask.sum()))
    assert inner(k.masked_select(x, mask), z) == pytest.approx(inner(x, k.masked_scatter(np.zeros(shape), mask, z)))
    source = rng.standard_normal(x.size + 1)
    back = k.masked_scatter_source(x, mask, source.shape)
    assert inner(k.masked_scatter(np.zeros(shape), mask, source), x) == pytest.approx(inner(source, back))


@pytest.mark.parametrize("padding_idx", [None, 2])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding_weight_and_its_transpose(padding_idx, by_frequency):
    rng = np.random.default_rng(0)
    indices, w = rng.integers(0, 5, (3, 4)), rng.standard_normal((5, 6))
    g = rng.standard_normal((3, 4, 6))
    down = k.embedding_weight(g, indices, 5, padding_idx, by_frequency)
    up = k.embedding_weight_adjoint(w, indices, padding_idx, by_frequency)
    assert inner(down, w) == pytest.approx(inner(g, up))


def test_kernels_leave_their_inputs_alone():
    x, index = np.zeros((3, 2), "f"), np.array([[0, 1]])
    k.scatter_add(x, 0, index, np.ones((1, 2), "f"))
    k.index_add(x, 0, np.array([1]), np.ones((1, 2), "f"))
    k.index_put(x, np.array([1]), np.float32(2), True)
    assert not x.any()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_sums_in_float32(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    ones = np.ones(4096, dtype)
    out = k.scatter_add(np.zeros(1, dtype), 0, np.zeros(4096, np.int64), ones)
    assert out.dtype == dtype and float(out[0]) == 4096
