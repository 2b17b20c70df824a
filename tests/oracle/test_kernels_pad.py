"""Padding and its gradient against live PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from chainrule.backends.cpu import pad as k  # noqa: E402


def draw(seed, mode):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    space = rng.integers(4, 8, rank)
    low = -1 if seed % 3 == 0 else 0
    padding = tuple(int(n) for n in rng.integers(low, 4, 2 * rank))
    return rng, rng.standard_normal((2, 3, *space)), padding


@pytest.mark.parametrize("mode", k.MODES)
@pytest.mark.parametrize("seed", range(40))
def test_values_and_gradients(mode, seed):
    rng, x, padding = draw(seed, mode)
    tx = torch.from_numpy(x).requires_grad_()
    theirs = F.pad(tx, padding, mode, 1.5 if mode == "constant" else None)
    ours = k.pad(x, padding, mode, 1.5)
    np.testing.assert_array_equal(ours, theirs.detach().numpy())
    g = rng.standard_normal(ours.shape)
    (expected,) = torch.autograd.grad(theirs, tx, torch.from_numpy(g))
    np.testing.assert_allclose(k.pad_adjoint(g, x.shape, padding, mode), expected.numpy(), rtol=1e-12)


def test_a_fraction_around_integers():
    x = np.arange(3)
    np.testing.assert_array_equal(k.pad(x, (1, 1), value=2.5), F.pad(torch.from_numpy(x), (1, 1), value=2.5).numpy())


X = np.arange(5.0)[None, None]
ERRORS = [
    ((7, 1), "reflect", r"Argument #4: Padding size should be less than the corresponding input dimension"),
    ((5, 1), "reflect", r"but got: padding \(5, 1\) at dimension 2 of input \[1, 1, 5\]"),
    ((-3, -2), "reflect", r"input \(W: 5\) is too small. Calculated output W: 0"),
    ((-3, -3), "replicate", r"input \(W: 5\) is too small. Calculated output W: -1"),
    ((7, 1), "circular", "Padding value causes wrapping around more than once"),
    ((-3, -3), "circular", "Negative padding value is resulting in an empty dimension"),
    ((-3, -3), "constant", "length must be non-negative"),
    ((1, 1, 1), "constant", "Padding length must be divisible by 2"),
    ((1, 1), "foo", "Unrecognised padding mode foo"),
]


@pytest.mark.parametrize("padding, mode, phrase", ERRORS)
def test_errors(padding, mode, phrase):
    with pytest.raises((RuntimeError, NotImplementedError), match=phrase) as theirs:
        F.pad(torch.from_numpy(X), padding, mode)
    with pytest.raises(theirs.type, match=phrase):
        k.pad(X, padding, mode)
