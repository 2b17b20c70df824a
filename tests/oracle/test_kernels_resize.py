"""Interpolation and its gradient against live PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from chainrule.backends.cpu import resize as k  # noqa: E402

LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
MODES = [(mode, rank) for rank in (1, 2, 3) for mode in ("nearest", "nearest-exact", LINEAR[rank], "area")]


def aligns(mode):
    return mode != "area" and not mode.startswith("nearest")


def compare(x, size, mode, align, scales, antialias=False, tolerance=1e-12):
    tx = torch.from_numpy(x).requires_grad_()
    scale = None if scales is None else tuple(scales)
    align_corners = align if aligns(mode) else None
    theirs = F.interpolate(tx, None if scales else size, scale, mode, align_corners, antialias=antialias)
    size = tuple(theirs.shape[2:])
    ours = k.interpolate(x, size, mode, align, scales, antialias)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=tolerance, atol=tolerance)
    assert ours.dtype == x.dtype
    g = np.random.default_rng(0).standard_normal(ours.shape).astype(x.dtype)
    (expected,) = torch.autograd.grad(theirs, tx, torch.from_numpy(g))
    back = k.interpolate_adjoint(g, x.shape[2:], mode, align, scales, antialias)
    np.testing.assert_allclose(back, expected.numpy(), rtol=tolerance * 10, atol=tolerance * 10)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("mode, rank", [*MODES, ("bicubic", 2)])
@pytest.mark.parametrize("seed", range(8))
def test_values_and_gradients(mode, rank, seed, dense, monkeypatch):
    monkeypatch.setattr(k, "DENSE", 512 if dense else 0)
    rng = np.random.default_rng(seed)
    space, size = (tuple(map(int, rng.integers(1, 12, rank))) for _ in range(2))
    align = bool(seed % 2) and aligns(mode)
    x = rng.standard_normal((2, 3, *space))
    compare(x, size, mode, align, None)
    compare(x.astype("f"), size, mode, align, None, tolerance=1e-5)
    if mode != "area":
        # At least 2.5: where a scale happens to keep or double a size, PyTorch's gradient of nearest is not
        # that of its forward.
        scales = tuple(float(s) for s in rng.uniform(2.5, 3.5, rank))
        compare(x, None, mode, align, scales)
        compare(x.astype("f"), None, mode, align, scales, tolerance=1e-5)


@pytest.mark.parametrize("scale", [1.1, 1.3, 2.0, 2.2, 0.6])
@pytest.mark.parametrize("mode, rank", MODES)
def test_scales_that_keep_or_double_a_size(mode, rank, scale):
    for n in range(2, 7) if mode != "area" else ():
        x = np.random.default_rng(n).standard_normal((1, 1) + (n,) * rank)
        theirs = F.interpolate(torch.from_numpy(x), scale_factor=scale, mode=mode).numpy()
        ours = k.interpolate(x, theirs.shape[2:], mode, False, (scale,) * rank)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_every_small_size_rounds_alike(mode):
    for dtype in (np.float32, np.float64):
        for n in range(1, 25):
            x = np.arange(n, dtype=dtype)[None, None]
            for out in range(1, 40):
                theirs = F.interpolate(torch.from_numpy(x), out, mode=mode).numpy()
                np.testing.assert_array_equal(k.interpolate(x, (out,), mode), theirs)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("seed", range(10))
def test_antialias(mode, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 3, *rng.integers(2, 16, 2)))
    # To a width of one PyTorch's antialiasing takes the wrong rows.
    compare(x, tuple(map(int, rng.integers(2, 12, 2))), mode, bool(seed % 2), None, True)


def test_bytes_and_halves():
    x = np.random.default_rng(0).integers(0, 255, (1, 2, 5, 7)).astype(np.uint8)
    for mode in ("nearest", "bilinear", "bicubic"):
        theirs = F.interpolate(torch.from_numpy(x), (8, 4), mode=mode).numpy().astype(int)
        assert abs(k.interpolate(x, (8, 4), mode).astype(int) - theirs).max() <= 1
    half = x.astype(np.float16)
    theirs = F.interpolate(torch.from_numpy(half), (8, 4), mode="bilinear").numpy()
    np.testing.assert_allclose(k.interpolate(half, (8, 4), "bilinear"), theirs, rtol=2e-3)


def test_an_infinity_stays_where_it_is():
    x = np.zeros((1, 1, 4, 5))
    x[0, 0, 1, 2] = np.inf
    theirs = F.interpolate(torch.from_numpy(x), (7, 9), mode="bilinear").numpy()
    assert (np.isfinite(k.interpolate(x, (7, 9), "bilinear")) == np.isfinite(theirs)).mean() > 0.85


def test_empty_sizes_are_refused():
    with pytest.raises(RuntimeError, match=r"greater than 0, but got input \(W: 5\) and output \(W: 0\)"):
        F.interpolate(torch.zeros(1, 1, 5), 0)
    with pytest.raises(RuntimeError, match=r"greater than 0, but got input \(W: 5\) and output \(W: 0\)"):
        k.interpolate(np.zeros((1, 1, 5)), (0,))
