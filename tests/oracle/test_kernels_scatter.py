"""The index kernels against live PyTorch: values, dtypes and the errors people search for."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from chainrule.backends.cpu import scatter as k  # noqa: E402

DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.complex64, np.bool_]
REDUCES = ["sum", "prod", "mean", "amax", "amin"]


def array(rng, shape, dtype):
    if dtype == np.bool_:
        return rng.random(shape) > 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 5, shape).astype(dtype)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def same(ours, theirs, rtol=1e-5, atol=1e-6):
    theirs = theirs.numpy()
    assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
    loose = 2e-2 if theirs.dtype == np.float16 else rtol
    np.testing.assert_allclose(ours, theirs, rtol=loose, atol=max(atol, loose / 10))


def problem(seed, dtype=np.float32, big_src=False):
    """x, dim, index, src: index no larger than x apart from dim, and no larger than src."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    dim = int(rng.integers(0, len(shape)))
    extent = [int(rng.integers(0 if seed % 7 == 0 else 1, n + 1)) for n in shape]
    extent[dim] = int(rng.integers(1, 8))
    index = rng.integers(0, shape[dim], extent)
    src = array(rng, tuple(n + int(big_src) for n in extent), dtype)
    return array(rng, shape, dtype), dim - (len(shape) if seed % 2 else 0), index, src


def t(value):
    return torch.from_numpy(np.array(value))


SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter(seed, dtype):
    x, dim, index, src = problem(seed, dtype, big_src=True)
    same(k.gather(x, dim, index), t(x).gather(dim, t(index)))
    same(k.scatter(x, dim, index[:1, ...], src), t(x).scatter(dim, t(index)[:1, ...], t(src)))
    same(k.scatter(x, dim, index, 1), t(x).scatter(dim, t(index), 1))
    same(k.scatter_add(x, dim, index, src), t(x).scatter_add(dim, t(index), t(src)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_scatter_with_a_reduction(seed, dtype):
    x, dim, index, src = problem(seed, dtype)
    for reduce in ("add", "multiply"):
        same(k.scatter(x, dim, index, src, reduce), t(x).scatter(dim, t(index), t(src), reduce=reduce))
        same(k.scatter(x, dim, index, 3, reduce), t(x).scatter(dim, t(index), 3, reduce=reduce))
    for reduce in REDUCES:
        for include in (True, False):
            theirs = t(x).scatter_reduce(dim, t(index), t(src), reduce, include_self=include)
            same(k.scatter_reduce(x, dim, index, src, reduce, include), theirs)


def test_nan_wins_in_amax_and_amin():
    x, index, src = np.zeros(3, "f"), np.array([0, 0, 1]), np.array([np.nan, 1, 2], "f")
    for reduce in ("amax", "amin"):
        same(k.scatter_reduce(x, 0, index, src, reduce), t(x).scatter_reduce(0, t(index), t(src), reduce))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_whole_slices(seed, dtype):
    rng = np.random.default_rng(seed)
    x, dim, *_ = problem(seed, dtype)
    index = rng.integers(0, x.shape[dim], rng.integers(0, 6))
    src = array(rng, (*x.shape[: dim % x.ndim], index.size, *x.shape[dim % x.ndim + 1 :]), dtype)
    same(k.index_select(x, dim, index), t(x).index_select(dim, t(index)))
    same(k.index_add(x, dim, index, src), t(x).index_add(dim, t(index), t(src)))
    same(k.index_add(x, dim, index, src, 2), t(x).index_add(dim, t(index), t(src), alpha=2))
    same(k.index_copy(x, dim, index, src), t(x).index_copy(dim, t(index), t(src)))
    same(k.index_fill(x, dim, index - x.shape[dim], 3), t(x).index_fill(dim, t(index - x.shape[dim]), 3))
    # Half-precision index_reduce ends in an internal assertion of PyTorch.
    for reduce in () if dtype == np.float16 else REDUCES[1:]:
        for include in (True, False):
            theirs = t(x).index_reduce(dim, t(index), t(src), reduce, include_self=include)
            same(k.index_reduce(x, dim, index, src, reduce, include), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_flat_and_masked(seed):
    rng = np.random.default_rng(seed)
    x = array(rng, (3, 4), np.float32)
    index = rng.integers(-12, 12, (2, 3))
    source = array(rng, (2, 3), np.float32)
    mask = rng.random((4,) if seed % 2 else (3, 4)) > 0.5
    same(k.take(x, index), t(x).take(t(index)))
    same(k.put(x, index, source, True), t(x).put(t(index), t(source), True))
    same(k.put(x, index[:1, :1], source[:1, :1]), t(x).put(t(index[:1, :1]), t(source[:1, :1])))
    same(k.masked_select(x, mask), t(x).masked_select(t(mask)))
    same(k.masked_scatter(x, mask, x * 2), t(x).masked_scatter(t(mask), t(x * 2)))
    order = rng.integers(0, 4, (1, 5) if seed % 2 else (3, 2))
    same(k.take_along_dim(x, order, 1), torch.take_along_dim(t(x), t(order), 1))
    same(k.take_along_dim(x, order), torch.take_along_dim(t(x), t(order)))


@pytest.mark.parametrize("key", [(2,), ([0, 0, 2],), ([0, 0], [1, 1]), (slice(None), [1, 1]), ([[0, 1], [0, 2]], 1)])
def test_index_put(key):
    rng = np.random.default_rng(0)
    x, key = (
        array(rng, (3, 4), np.float32),
        tuple(np.array(part) if isinstance(part, list) else part for part in key),
    )
    values = array(rng, x[key].shape, np.float32)
    theirs = t(x).clone()
    rows = torch.arange(12).reshape(3, 4)[tuple(t(p) if isinstance(p, np.ndarray) else p for p in key)]
    theirs.view(-1).index_add_(0, rows.reshape(-1), t(values).reshape(-1))
    same(k.index_put(x, key, values, True), theirs)


@pytest.mark.parametrize("padding_idx", [None, 1])
@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_embedding(padding_idx, by_frequency, dtype):
    rng = np.random.default_rng(3)
    weight, indices = array(rng, (6, 5), dtype), rng.integers(0, 6, (3, 4))
    g = array(rng, (3, 4, 5), dtype)
    w = t(weight).requires_grad_()
    out = F.embedding(t(indices), w, padding_idx=padding_idx, scale_grad_by_freq=by_frequency)
    out.backward(t(g))
    same(k.embedding(weight, indices), out.detach())
    same(k.embedding_weight(g, indices, 6, padding_idx, by_frequency), w.grad)
    renormed = t(weight.astype(np.float32))
    F.embedding(t(indices), renormed, max_norm=0.5)
    same(k.embedding_renorm(weight.astype(np.float32), indices, 0.5), renormed)


@pytest.mark.parametrize("weights", [None, np.float32, np.float16, np.int32])
def test_bincount(weights):
    x = np.array([3, 1, 1, 0])
    w = None if weights is None else np.array([1, 2, 3, 4]).astype(weights)
    same(k.bincount(x, w, 6), torch.bincount(t(x), None if w is None else t(w), 6))


X, L = np.arange(6, dtype=np.float32).reshape(3, 2), np.array
ERRORS = [
    (lambda m, a, x: m.gather(x, 0, a([[5, 0]])), "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda m, a, x: m.gather(x, 0, a([[-1, 0]])), "index -1 is out of bounds"),
    (lambda m, a, x: m.gather(x, 0, a([[0, 0, 0]])), "Size does not match at dimension 1"),
    (lambda m, a, x: m.gather(x, 0, a([0])), "same number of dimensions as input"),
    (lambda m, a, x: m.gather(x, 0, a([[0.0]])), "Expected dtype int32/int64 for index"),
    (
        lambda m, a, x: m.scatter_add(x, 0, a([[5, 0]]), x),
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    (lambda m, a, x: m.scatter_add(x, 0, a([[0, 0, 0]]), x), r"to be no larger than self \[3, 2\]"),
    (lambda m, a, x: m.scatter_reduce(x, 0, a([[0, 0]]), x, "foo"), "sum, prod, mean, amax or amin, got foo"),
    (lambda m, a, x: m.index_select(x, 0, a([5])), "index out of range in self"),
    (lambda m, a, x: m.index_select(x, 0, a([-1])), "index out of range in self"),
    (lambda m, a, x: m.index_select(x, 0, a([[0]])), "Index is supposed to be a vector"),
    (
        lambda m, a, x: m.index_add(x, 0, a([5]), x[:1]),
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    (
        lambda m, a, x: m.index_add(x, 0, a([0, 1]), x[:1]),
        r"Number of indices \(2\) should be equal to source.size\(dim\)",
    ),
    (
        lambda m, a, x: m.index_copy(x, 0, a([5]), x[:1]),
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    (
        lambda m, a, x: m.index_copy(x, 0, a([0, 1]), x[:1]),
        r"Number of indices \(2\) should be equal to source.size\(dim\)",
    ),
    (lambda m, a, x: m.index_fill(x, 0, a([5]), 1.0), "index 5 is out of bounds for dimension 0 with size 3"),
    (
        lambda m, a, x: m.index_reduce(x, 0, a([1]), x[:1], "sum"),
        "to be one of prod, mean, amax or amin but got sum",
    ),
    (lambda m, a, x: m.index_reduce(x, 0, a([5]), x[:1], "prod"), "index out of range in self"),
    (lambda m, a, x: m.take(x, a([10])), "tried to access index 10 on a tensor of 6 elements"),
    (lambda m, a, x: m.put(x, a([0, 1]), x[0, :1]), "source.numel"),
    (
        lambda m, a, x: m.masked_scatter(x, x >= 0, x[:1]),
        "Number of elements of source < number of ones in mask",
    ),
    (lambda m, a, x: m.masked_select(x, x), "masked_select: expected BoolTensor for mask"),
    (lambda m, a, x: m.bincount(a([-1])), "bincount only supports 1-d non-negative integral inputs"),
]


class Theirs:
    def __getattr__(self, name):
        return getattr(torch, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call, phrase", ERRORS)
def test_errors(call, phrase):
    with pytest.raises((RuntimeError, IndexError), match=phrase) as theirs:
        call(Theirs(), torch.tensor, t(X))
    with pytest.raises(theirs.type, match=phrase):
        call(k, np.array, X)
