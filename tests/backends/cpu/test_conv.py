"""conv is bilinear, and conv_input and conv_weight are its transposes."""

import numpy as np
import pytest

from chainrule.backends.cpu import conv as k


def draw(seed):
    rng = np.random.default_rng(seed)
    rank, groups = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    kernel = rng.integers(1, 4, rank)
    stride, dilation, padding = (tuple(map(int, rng.integers(*span, rank))) for span in ((1, 4), (1, 3), (0, 3)))
    space = [int(d * (n - 1) + 1 + e) for d, n, e in zip(dilation, kernel, rng.integers(0, 9, rank))]
    channels, features = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    x = rng.standard_normal((int(rng.integers(1, 4)), channels, *space))
    w = rng.standard_normal((features, channels // groups, *kernel))
    return rng, x, w, (stride, padding, dilation, groups)


@pytest.mark.parametrize("seed", range(60))
def test_transposes(seed):
    rng, x, w, options = draw(seed)
    out = k.conv(x, w, *options)
    g = rng.standard_normal(out.shape)
    assert np.vdot(g, out) == pytest.approx(np.vdot(x, k.conv_input(g, w, x.shape, *options)))
    assert np.vdot(g, out) == pytest.approx(np.vdot(w, k.conv_weight(g, x, w.shape, *options)))


@pytest.mark.parametrize("shape, w_shape", [((0, 2, 5), (3, 2, 3)), ((0, 2, 5), (3, 2, 1)), ((0, 2, 6), (3, 2, 3))])
def test_an_empty_batch(shape, w_shape):
    options = ((1,), (0,), (1,), 1)
    x, w = np.zeros(shape, "f"), np.ones(w_shape, "f")
    out = k.conv(x, w, *options)
    assert out.shape == (0, 3, shape[2] - w_shape[2] + 1) and out.dtype == np.float32
    assert k.conv_input(out, w, shape, *options).shape == shape
    assert not k.conv_weight(out, x, w_shape, *options).any()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_rounds_once(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    _, x, w, options = draw(1)
    x, w = x.astype(dtype), w.astype(dtype)
    out = k.conv(x, w, *options)
    wide = k.conv(x.astype(np.float32), w.astype(np.float32), *options)
    assert out.dtype == dtype and (out == wide.astype(dtype)).all()


def test_arrays_that_are_not_contiguous():
    _, x, w, options = draw(2)
    turned = np.asfortranarray(x)
    np.testing.assert_array_equal(k.conv(turned, np.asfortranarray(w), *options), k.conv(x, w, *options))
