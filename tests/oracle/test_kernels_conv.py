"""Convolution and its transposes against live PyTorch, over random shapes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from chainrule.backends.cpu import conv as k  # noqa: E402

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def draw(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rank, groups = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    kernel = rng.integers(1, 4, rank)
    stride, dilation, padding = (tuple(map(int, rng.integers(*span, rank))) for span in ((1, 4), (1, 3), (0, 3)))
    if seed % 5 == 0:
        stride, dilation, padding = tuple(map(int, kernel)), (1,) * rank, (0,) * rank
    space = [int(d * (kk - 1) + 1 + e) for d, kk, e in zip(dilation, kernel, rng.integers(0, 9, rank))]
    channels, features = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    x = values(rng, (int(rng.integers(1, 4)), channels, *space), dtype)
    w = values(rng, (features, channels // groups, *kernel), dtype)
    return rng, x, w, (stride, padding, dilation, groups)


def values(rng, shape, dtype):
    out = rng.standard_normal(shape)
    return (out + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else out).astype(dtype)


def theirs(x, w, options, g=None):
    stride, padding, dilation, groups = options
    tx, tw = (torch.from_numpy(v).requires_grad_() for v in (x, w))
    out = CONV[x.ndim - 2](tx, tw, None, stride, padding, dilation, groups)
    grads = torch.autograd.grad(out, (tx, tw), torch.from_numpy(g(out.shape)))
    return [v.detach().numpy() for v in (out, *grads)]


@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-4), (np.complex128, 1e-12)])
def test_values_and_gradients(seed, dtype, tolerance):
    rng, x, w, options = draw(seed, dtype)
    shape = k.conv_output_shape(x.shape, w.shape, *options)
    g = values(rng, shape, dtype)
    expected = theirs(x, w, options, lambda _: g)
    ours = [
        k.conv(x, w, *options),
        k.conv_input(g, w.conj(), x.shape, *options),
        k.conv_weight(g, x.conj(), w.shape, *options),
    ]
    for mine, other in zip(ours, expected):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(30))
def test_transposed_convolution(seed):
    rng, x, w, (stride, padding, dilation, groups) = draw(seed)
    g = rng.standard_normal((2, w.shape[0], *rng.integers(3, 6, x.ndim - 2)))
    extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation))
    padding = tuple(min(p, d * (n - 1)) for p, d, n in zip(padding, dilation, w.shape[2:]))
    expected = TRANSPOSED[x.ndim - 2](
        torch.from_numpy(g), torch.from_numpy(w), None, stride, padding, extra, groups, dilation
    )
    shape = k.conv_input_shape(g.shape, w.shape, stride, padding, extra, dilation, groups)
    assert shape == tuple(expected.shape)
    ours = k.conv_input(g, w, shape, stride, padding, dilation, groups)
    np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("block", [1, 100, 1 << 19])
def test_every_way_of_cutting_into_blocks(block, monkeypatch):
    monkeypatch.setattr(k, "BLOCK", block)
    k._plan.cache_clear()
    rng, x, w, options = draw(3)
    x = rng.standard_normal((3, 4, 40, 41))
    w = rng.standard_normal((6, 2, 3, 3))
    options = ((1, 1), (1, 1), (1, 1), 2)
    g = rng.standard_normal((3, 6, 40, 41))
    expected = theirs(x, w, options, lambda _: g)
    ours = (
        k.conv(x, w, *options),
        k.conv_input(g, w, x.shape, *options),
        k.conv_weight(g, x, w.shape, *options),
    )
    k._plan.cache_clear()
    for mine, other in zip(ours, expected):
        np.testing.assert_allclose(mine, other, rtol=1e-11, atol=1e-11)


ONE = ((1, 1), (0, 0), (1, 1))
ERRORS = [
    (
        (2, 4, 5, 5),
        (3, 3, 3, 3),
        *ONE,
        1,
        r"expected input\[2, 4, 5, 5\] to have 3 channels, but got 4 channels instead",
    ),
    ((2, 4, 5, 5), (3, 2, 3, 3), *ONE, 2, "expected weight to be divisible by 2 at dimension 0"),
    ((2, 4, 5, 5), (3, 4, 3, 3), *ONE, 0, "non-positive groups is not supported"),
    ((2, 4, 5, 5), (3, 4, 3, 3), (0, 1), (0, 0), (1, 1), 1, "non-positive stride is not supported"),
    ((2, 4, 5, 5), (3, 4, 3, 3), (1, 1), (-1, 0), (1, 1), 1, "negative padding is not supported"),
    ((2, 4, 5, 5), (3, 4, 3, 3), (1, 1), (0, 0), (0, 1), 1, "dilation should be greater than zero, but got"),
    (
        (2, 4, 5, 5),
        (3, 4, 7, 3),
        (1, 1),
        (0, 1),
        (1, 1),
        1,
        r"\(5 x 7\). Kernel size: \(7 x 3\). Kernel size can't be greater",
    ),
]


@pytest.mark.parametrize("x_shape, w_shape, stride, padding, dilation, groups, phrase", ERRORS)
def test_errors(x_shape, w_shape, stride, padding, dilation, groups, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        x, w = torch.zeros(x_shape, dtype=torch.float64), torch.zeros(w_shape, dtype=torch.float64)
        F.conv2d(x, w, None, stride, padding, dilation, groups)
    with pytest.raises(RuntimeError, match=phrase):
        k.conv(np.zeros(x_shape), np.zeros(w_shape), stride, padding, dilation, groups)
