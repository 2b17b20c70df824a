"""Padding is linear (around zeros), and pad_adjoint is its transpose."""

import numpy as np
import pytest

from chainrule.backends.cpu import pad as k


@pytest.mark.parametrize("mode", k.MODES)
@pytest.mark.parametrize("seed", range(20))
def test_transposes(mode, seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    x = rng.standard_normal(tuple(rng.integers(4, 8, rank)))
    padding = tuple(int(n) for n in rng.integers(-1, 4, 2 * int(rng.integers(0, rank + 1))))
    out = k.pad(x, padding, mode)
    g = rng.standard_normal(out.shape)
    assert np.vdot(g, out) == pytest.approx(np.vdot(k.pad_adjoint(g, x.shape, padding, mode), x))


@pytest.mark.parametrize("mode", k.MODES)
def test_a_fresh_array_even_without_a_border(mode):
    x = np.zeros((2, 3))
    assert not np.shares_memory(k.pad(x, (0, 0), mode), x)
    assert not np.shares_memory(k.pad_adjoint(x, x.shape, (0, 0), mode), x)


def test_an_empty_batch():
    assert k.pad(np.zeros((0, 3, 4)), (1, 2), "reflect").shape == (0, 3, 7)
