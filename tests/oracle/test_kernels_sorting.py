"""Order along an axis against live PyTorch: values, indices where PyTorch fixes them, and refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from chainrule.backends.cpu import sorting as k  # noqa: E402

DTYPES = [np.float32, np.float64, np.float16, np.int64, np.uint8]


def draw(seed, dtype, nan=True):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    if seed % 5 == 0:
        shape = (*shape[:-1], 200)
    x = rng.integers(0, 6, shape).astype(dtype)
    if nan and np.dtype(dtype).kind == "f" and seed % 2:
        x[rng.random(shape) < 0.2] = np.nan
    return rng, x, int(rng.integers(-x.ndim, x.ndim))


def t(x):
    return torch.from_numpy(np.array(x))


def same(ours, theirs):
    for mine, other in zip(ours, theirs):
        np.testing.assert_array_equal(mine, other.numpy())
        assert mine.dtype == other.numpy().dtype and mine.shape == tuple(other.shape)


def values_and_a_place(x, dim, ours, theirs):
    """The values agree, and the indices find them."""
    np.testing.assert_array_equal(ours[0], theirs[0].numpy())
    assert ours[1].shape == tuple(theirs[1].shape) and ours[1].dtype == np.int64
    np.testing.assert_array_equal(np.take_along_axis(x, ours[1], dim), ours[0])


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_select(seed, dtype):
    rng, x, dim = draw(seed, dtype)
    size = x.shape[dim]
    for descending in (False, True):
        same(k.sort(x, dim, descending), torch.sort(t(x), dim=dim, descending=descending, stable=True))
        count = int(rng.integers(0, size + 1))
        ours = k.topk(x, count, dim, descending)
        values_and_a_place(x, dim, ours, t(x).topk(count, dim, descending))
    count = int(rng.integers(1, size + 1))
    values_and_a_place(x, dim, k.kthvalue(x, count, dim, True), t(x).kthvalue(count, dim, True))
    assert k.kthvalue(x, count, dim)[0].shape == tuple(t(x).kthvalue(count, dim)[0].shape)
    values_and_a_place(x, dim, k.median(x, dim, True), t(x).median(dim, True))
    values_and_a_place(x, dim, k.nanmedian(x, dim, True), t(x).nanmedian(dim, True))
    # With NaN among them PyTorch's mode depends on how its sort meets them.
    x = np.nan_to_num(x)
    same(k.mode(x, dim, True), t(x).mode(dim, True))
    same(k.mode(x, dim), t(x).mode(dim))


def test_the_first_nan_is_the_median():
    x = np.array([[3, np.nan, 4, np.nan], [1, 2, 3, 4]], "f")
    same(k.median(x, 1), t(x).median(1))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_distinct(seed, dtype):
    rng, x, dim = draw(seed, dtype, nan=False)
    everything = {"return_inverse": True, "return_counts": True}
    same(k.unique(x), torch.unique(t(x), **everything))
    same(k.unique(x, dim), torch.unique(t(x), dim=dim, **everything))
    same(k.unique_consecutive(x), torch.unique_consecutive(t(x), **everything))
    same(k.unique_consecutive(x, dim), torch.unique_consecutive(t(x), dim=dim, **everything))


def test_distinct_nans_and_nothing():
    x = np.array([np.nan, 1, np.nan], "f")
    same(k.unique(x), torch.unique(t(x), return_inverse=True, return_counts=True))
    same(k.unique(x[:0]), torch.unique(t(x[:0]), return_inverse=True, return_counts=True))
    same(
        k.unique_consecutive(x[:0]),
        torch.unique_consecutive(t(x[:0]), return_inverse=True, return_counts=True),
    )


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searching(right, dtype):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (3, 5)).astype(dtype)
    ordered, values = np.sort(rows, -1), rng.integers(0, 9, (3, 4)).astype(dtype)
    pairs = [(ordered, values), (ordered[0], values), (ordered[0], np.array(values[0, 0]))]
    for sequence, wanted in pairs:
        same(
            [k.searchsorted(sequence, wanted, right=right)],
            [torch.searchsorted(t(sequence), torch.from_numpy(wanted), right=right)],
        )
    order = np.argsort(rows, -1, kind="stable")
    theirs = torch.searchsorted(t(rows), t(values), right=right, sorter=t(order))
    same([k.searchsorted(rows, values, right=right, sorter=order)], [theirs])
    same(
        [k.bucketize(values, ordered[0], True, right)],
        [torch.bucketize(t(values), t(ordered[0]), out_int32=True, right=right)],
    )


@pytest.mark.parametrize("low, high", [(0, 0), (-1, 1), (0, 4), (0.3, 0.7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_histc(low, high, dtype):
    x = np.random.default_rng(1).standard_normal(500).astype(dtype)
    same([k.histc(x, 17, low, high)], [torch.histc(t(x), 17, low, high)])
    same([k.histc(x[:1], 4)], [torch.histc(t(x[:1]), 4)])


@pytest.mark.parametrize("seed", range(30))
def test_running(seed):
    rng, x, dim = draw(seed, np.float64)
    same(k.cummax(x, dim), t(x).cummax(dim))
    same(k.cummin(x, dim), t(x).cummin(dim))
    finite = np.nan_to_num(x)
    g = rng.standard_normal(x.shape)
    tx = t(finite).requires_grad_()
    (expected,) = torch.autograd.grad(tx.cumprod(dim), tx, t(g))
    np.testing.assert_allclose(k.cumprod_gradient(g, finite, dim), expected.numpy(), rtol=1e-10, atol=1e-10)
    (expected,) = torch.autograd.grad(tx.cumsum(dim), tx, t(g))
    np.testing.assert_allclose(k.reversed_cumsum(g, dim), expected.numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k.logcumsumexp(x, dim), t(x).logcumsumexp(dim).numpy(), rtol=1e-12)


def test_logcumsumexp_of_infinities():
    for x in ([-np.inf, 1, np.inf, 2], [-np.inf, -np.inf, 1], [1, np.nan, 1]):
        x = np.array(x)
        np.testing.assert_allclose(k.logcumsumexp(x, 0), t(x).logcumsumexp(0).numpy())


X = np.array([1.0, 3.0, 5.0])
CLASH = {"right": True, "side": "left"}
ERRORS = [
    (lambda: t(X).topk(4), lambda: k.topk(X, 4), "selected index k out of range"),
    (lambda: t(X).kthvalue(4), lambda: k.kthvalue(X, 4), "number k out of range"),
    (lambda: t(X[:0]).median(0), lambda: k.median(X[:0], 0), "dim 0 to have non-zero size"),
    (lambda: torch.unique(torch.zeros(2, 0), dim=0), lambda: k.unique(np.zeros((2, 0)), 0), "0 sized dim"),
    (lambda: torch.searchsorted(t(X), t(X), side="up"), lambda: k.searchsorted(X, X, side="up"), "got up"),
    (lambda: torch.searchsorted(t(X), t(X), **CLASH), lambda: k.searchsorted(X, X, **CLASH), "to opposites"),
    (lambda: torch.searchsorted(t(X)[None], t(X)), lambda: k.searchsorted(X[None], X), "first N-1"),
    (lambda: torch.bucketize(t(X), t(X)[None]), lambda: k.bucketize(X, X[None]), r"got dim\(2\)"),
    (lambda: torch.histc(t(X), 4, 3, 2), lambda: k.histc(X, 4, 3, 2), "max must be larger than min"),
    (lambda: torch.histc(t(X), 4, 0, float("inf")), lambda: k.histc(X, 4, 0, np.inf), "is not finite"),
    (lambda: torch.histc(t(X), 0), lambda: k.histc(X, 0), "bins must be > 0, but got 0"),
    (lambda: t(X + 1j).sort(), lambda: k.sort(X + 1j), "ort does not support complex"),
]  # fmt: skip


@pytest.mark.parametrize("theirs, ours, phrase", ERRORS)
def test_errors(theirs, ours, phrase):
    with pytest.raises((RuntimeError, IndexError), match=phrase) as refusal:
        theirs()
    with pytest.raises(refusal.type, match=phrase):
        ours()
