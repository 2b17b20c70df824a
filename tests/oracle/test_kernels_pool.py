"""Pooling against live PyTorch: values, indices, gradients and refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from chainrule.backends.cpu import pool as k  # noqa: E402

MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
UNPOOL = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVG = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


def draw(seed, with_dilation):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    kernel, stride = (tuple(map(int, rng.integers(1, 4, rank))) for _ in range(2))
    dilation = tuple(map(int, rng.integers(1, 3 if with_dilation else 2, rank)))
    padding = tuple(int(rng.integers(0, n // 2 + 1)) for n in kernel)
    space = tuple(int(d * (n - 1) + 1 + rng.integers(0, 6)) for d, n in zip(dilation, kernel))
    x = rng.integers(-4, 4, (2, 3, *space)).astype(np.float32)
    if seed % 4 == 0:
        x[rng.random(x.shape) < 0.1] = np.nan
    if seed % 4 == 1:
        x[rng.random(x.shape) < 0.5] = -np.inf
    return rng, x, kernel, stride, padding, dilation, bool(seed % 2)


@pytest.mark.parametrize("seed", range(80))
def test_max_pool(seed):
    rng, x, kernel, stride, padding, dilation, ceil_mode = draw(seed, True)
    rank = len(kernel)
    tx = torch.from_numpy(x).requires_grad_()
    values, indices = MAX[rank](tx, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
    mine, places = k.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    np.testing.assert_array_equal(mine, values.detach().numpy())
    np.testing.assert_array_equal(places, indices.numpy())
    assert mine.dtype == x.dtype and places.dtype == np.int64
    g = rng.integers(-3, 4, mine.shape).astype(np.float32)
    (expected,) = torch.autograd.grad(values, tx, torch.from_numpy(g))
    np.testing.assert_array_equal(k.max_pool_scatter(g, places, x.shape[2:]), expected.numpy())
    np.testing.assert_array_equal(k.max_pool_gather(x, places, rank), mine)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float64])
def test_max_pool_of_other_types(dtype):
    x = np.random.default_rng(0).integers(0, 9, (2, 3, 7, 7)).astype(dtype)
    args = (3, 3), (2, 2), (1, 1), (1, 1), True
    values, indices = F.max_pool2d(torch.from_numpy(x), *args, return_indices=True)
    mine, places = k.max_pool(x, *args)
    assert mine.dtype == dtype
    np.testing.assert_array_equal(mine, values.numpy())
    np.testing.assert_array_equal(places, indices.numpy())


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_unpool(rank):
    x = np.random.default_rng(rank).standard_normal((2, 3) + (6,) * rank).astype("f")
    two, none, one = (2,) * rank, (0,) * rank, (1,) * rank
    values, indices = k.max_pool(x, two, two, none, one)
    expected = UNPOOL[rank](torch.from_numpy(values), torch.from_numpy(indices), 2)
    np.testing.assert_array_equal(k.max_unpool(values, indices, x.shape[2:]), expected.numpy())


@pytest.mark.parametrize("seed", range(80))
def test_avg_pool(seed):
    rng, x, kernel, stride, padding, _, ceil_mode = draw(4 * seed + 2, False)
    ceil_mode, include, override = seed % 2 == 0, seed % 3 == 0, (7 if seed % 5 == 0 else None)
    rank, x = len(kernel), x.astype(np.float64)
    if rank == 1:
        override = None
    tx = torch.from_numpy(x).requires_grad_()
    extra = () if rank == 1 else (override,)
    out = AVG[rank](tx, kernel, stride, padding, ceil_mode, include, *extra)
    mine = k.avg_pool(x, kernel, stride, padding, ceil_mode, include, override)
    np.testing.assert_allclose(mine, out.detach().numpy(), rtol=1e-12, atol=1e-12)
    g = rng.standard_normal(mine.shape)
    (expected,) = torch.autograd.grad(out, tx, torch.from_numpy(g))
    back = k.avg_pool_adjoint(g, x.shape[2:], kernel, stride, padding, include, override)
    np.testing.assert_allclose(back, expected.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(50))
def test_adaptive(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    space, out = (tuple(map(int, rng.integers(1, 9, rank))) for _ in range(2))
    x = rng.integers(-4, 4, (2, 3, *space)).astype(np.float64)
    tx = torch.from_numpy(x).requires_grad_()
    mean = ADAPTIVE_AVG[rank](tx, out)
    np.testing.assert_allclose(k.adaptive_avg_pool(x, out), mean.detach().numpy(), rtol=1e-12, atol=1e-12)
    g = rng.standard_normal(mean.shape)
    (expected,) = torch.autograd.grad(mean, tx, torch.from_numpy(g))
    np.testing.assert_allclose(k.adaptive_avg_pool_adjoint(g, space), expected.numpy(), rtol=1e-12, atol=1e-12)
    if seed % 3 == 0:
        x[rng.random(x.shape) < 0.2] = np.nan
    values, indices = ADAPTIVE_MAX[rank](torch.from_numpy(x), out, return_indices=True)
    mine, places = k.adaptive_max_pool(x, out)
    np.testing.assert_array_equal(mine, values.numpy())
    np.testing.assert_array_equal(places, indices.numpy())


X = torch.zeros(1, 1, 4, 4)
PLANE, NONE, ONE = X.numpy(), (0, 0), (1, 1)
ERRORS = [
    (
        lambda: F.max_pool2d(X, 2, padding=2),
        lambda: k.max_pool(PLANE, (2, 2), (2, 2), (2, 2), ONE),
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1",
    ),
    (
        lambda: F.max_pool2d(X, 5),
        lambda: k.max_pool(PLANE, (5, 5), (5, 5), NONE, ONE),
        "Output size is too small",
    ),
    (
        lambda: F.max_pool2d(X, 2, dilation=0),
        lambda: k.max_pool(PLANE, (2, 2), (2, 2), NONE, NONE),
        "dilation should be greater than zero, but got dilation",
    ),
    (
        lambda: F.max_pool2d(X, 2, stride=0),
        lambda: k.max_pool(PLANE, (2, 2), NONE, NONE, ONE),
        "stride should not be zero",
    ),
    (
        lambda: F.avg_pool2d(X, 2, divisor_override=0),
        lambda: k.avg_pool(PLANE, (2, 2), (2, 2), NONE, divisor_override=0),
        "divisor must be not zero",
    ),
    (
        lambda: F.adaptive_avg_pool2d(X, -1),
        lambda: k.adaptive_avg_pool(PLANE, (-1, -1)),
        "elements of output_size must be greater than or equal to 0",
    ),
    (
        lambda: F.max_unpool1d(torch.ones(1, 1, 1), torch.tensor([[[9]]]), 2),
        lambda: k.max_unpool(np.ones((1, 1, 1)), np.array([[[9]]]), (2,)),
        "Found an invalid max index: 9",
    ),
]


@pytest.mark.parametrize("theirs, ours, phrase", ERRORS)
def test_errors(theirs, ours, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        theirs()
    with pytest.raises(RuntimeError, match=phrase):
        ours()
