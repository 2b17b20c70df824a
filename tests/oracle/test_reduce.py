"""Reductions, scans, order and statistics against live PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.oracle.comparing import agree, refuse  # noqa: E402

SHAPES: list[tuple[int, ...]] = [(), (1,), (5,), (3, 4), (2, 3, 4), (0, 3), (3, 1, 2)]
REAL = ["float32", "float64"]
inf, nan = float("inf"), float("nan")


def drawn(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0, ties: bool = False) -> Any:
    rng = np.random.default_rng(seed + len(shape))
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype.startswith(("int", "uint")):
        return np.asarray(rng.integers(0, 9, shape), dtype)
    if ties:
        return np.asarray(rng.integers(0, 3, shape), dtype)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x, dtype)


def dims(shape: tuple[int, ...], several: bool = True) -> list[Any]:
    found: list[Any] = [None, 0, -1]
    if several and len(shape) > 1:
        found += [(0, 1), (-1, 0), [1]]
    return [*found, ()] if several else found


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


FOLDS = ["sum", "mean", "nansum", "nanmean", "amax", "amin", "logsumexp", "count_nonzero", "var", "std"]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_folds_over_axes(name: str, shape: tuple[int, ...]) -> None:
    for dim in dims(shape):
        if name in ("logsumexp", "var", "std") and dim == ():
            continue  # the gradients of PyTorch's own are infinite there
        if name == "logsumexp" and dim is None:
            continue
        empty = 0 in shape and name in ("amax", "amin")
        if empty and (dim is None or 0 in np.atleast_1d(np.asarray(dim)) or dim == () or isinstance(dim, tuple)):
            continue
        for keepdim in (False, True) if name != "count_nonzero" else (False,):
            kept = {"keepdim": True} if keepdim else {}
            given = {} if dim is None and not keepdim and name not in ("logsumexp",) else {"dim": dim}
            for dtype in REAL:
                x = drawn(shape, dtype, ties=name in ("amax", "amin"))
                agree(
                    lambda m, a: getattr(m, name)(a[0], **given, **kept),
                    [x],
                    second=dtype == "float64" and name not in ("std",),
                )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "complex64", "complex128"])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "nansum", "amax", "amin", "all", "any", "count_nonzero", "var", "std", "logsumexp"]
)
def test_folds_of_other_dtypes(name: str, dtype: str) -> None:
    x = drawn((3, 4), dtype)
    given = {"dim": 0} if name == "logsumexp" else {}
    call = lambda m, a: getattr(m, name)(a[0], **given)  # noqa: E731
    try:
        call(torch, [torch.from_numpy(x)])
    except Exception:
        refuse(call, [x])
        return
    agree(call, [x])


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "cumsum", "cumprod"])
def test_dtype_argument(name: str) -> None:
    dim = (0,) if name.startswith("cum") else ()
    for x in (drawn((3, 4), "float32"), drawn((3, 4), "int64")):
        for kind in ("float64", "float32", "int64", "complex64"):
            call = lambda m, a: getattr(m, name)(a[0], *dim, dtype=getattr(m, kind))  # noqa: E731
            try:
                call(torch, [torch.from_numpy(x)])
            except Exception:
                refuse(call, [x])
                continue
            agree(call, [x], grad=x.dtype.kind == "f" and kind.startswith("f"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "mode", "argmax", "argmin", "prod"])
def test_folds_along_one_axis(name: str, shape: tuple[int, ...]) -> None:
    for dim in dims(shape, several=False):
        if 0 in shape and (dim is None or dim == 0) and name not in ("prod",):
            continue
        if dim is None and name == "mode":
            continue
        for keepdim in (False, True):
            if dim is None and keepdim:
                continue
            given = {} if dim is None else {"dim": dim, "keepdim": keepdim}
            for ties in (False, True):
                if ties and name in ("median", "nanmedian", "mode"):
                    continue  # which of several equals is chosen is left open
                x = drawn(shape, ties=ties)
                agree(lambda m, a: getattr(m, name)(a[0], **given), [x], second=True)


def test_sums_of_exponentials_of_large_numbers() -> None:
    for top in (0.0, 800.0, -800.0, 1e4):
        x = drawn((3, 4)) + np.array([top, 0.0, -top, top])
        for dim in (0, 1):
            agree(lambda m, t, dim=dim: m.logcumsumexp(t[0], dim), [x], second=True)


def test_products_with_zeros() -> None:
    for x in ([0.0, 2, 3], [0.0, 2, 0], [1.0, 2, 3], [0.0, 0, 0], [2.0]):
        a = np.array(x)
        agree(lambda m, t: m.prod(t[0]), [a], second=True)
        agree(lambda m, t: m.cumprod(t[0], 0), [a], second=True)
        b = np.stack([a, np.arange(len(a)) * 1.0])
        agree(lambda m, t: m.prod(t[0]), [b], second=True)
        agree(lambda m, t: m.prod(t[0], 1, True), [b], second=True)
        agree(lambda m, t: m.cumprod(t[0], 1), [b], second=True)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans(name: str, shape: tuple[int, ...]) -> None:
    for dim in (0, -1):
        agree(lambda m, a: getattr(m, name)(a[0], dim), [drawn(shape)], second=True)
        agree(lambda m, a: getattr(m, name)(a[0], dim), [drawn(shape, "float32")])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "mean", "prod", "logcumsumexp"])
def test_complex(name: str) -> None:
    dim = (0,) if "cum" in name else ()
    agree(lambda m, a: getattr(m, name)(a[0], *dim), [drawn((3, 4), "complex128")], second=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
def test_layouts(layout: str) -> None:
    x = drawn((4, 6))
    views = {"transposed": x.T, "sliced": x[::2, 1::2], "expanded": np.broadcast_to(x[:1], (4, 6))}
    a = views[layout]
    for name in ("sum", "mean", "prod", "amax", "var", "norm"):
        agree(lambda m, t: getattr(m, name)(t[0]), [a])
    for name in ("cumsum", "sort", "max", "logsumexp"):
        agree(lambda m, t: getattr(m, name)(t[0], 1), [a])


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, inf, -inf, -1, "fro"])
@pytest.mark.parametrize("zero", [False, True])
def test_norm(p: Any, zero: bool) -> None:
    x = drawn((3, 4))
    if zero:
        x[1] = 0
        x[0, 0] = 0
    for dim in (None, 0, 1, (0, 1)):
        for keepdim in (False, True):
            second, grad = not zero and p not in (inf, -inf), p != 0  # of the 0-norm PyTorch's gradient is None, ours 0
            agree(lambda m, a: m.norm(a[0], p, dim, keepdim), [x], second=second, grad=grad)
    agree(lambda m, a: a[0].norm(p), [x], grad=p != 0)
    agree(lambda m, a: m.norm(a[0], p, dtype=m.float64), [x.astype("float32")], grad=False)
    if p != "fro":
        agree(lambda m, a: m.linalg.vector_norm(a[0], p), [np.zeros(3)], grad=p != 0)
        agree(lambda m, a: m.linalg.vector_norm(a[0], p, 0), [drawn((3, 4), "complex128")], grad=p != 0)
        agree(lambda m, a: m.dist(a[0], a[1], p), [x, drawn((4,), seed=3)], grad=p != 0)


SPREADS: list[dict[str, Any]] = [
    {}, {"dim": 0}, {"dim": 1, "correction": 0}, {"unbiased": False}, {"dim": (0, 1), "keepdim": True},
    {"dim": 0, "unbiased": True, "keepdim": True}, {"dim": 0, "correction": 2.5}, {"correction": 20},
]  # fmt: skip


@pytest.mark.parametrize("given", SPREADS)
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_variance(name: str, given: dict[str, Any]) -> None:
    agree(
        lambda m, a: getattr(m, name)(a[0], **given),
        [drawn((3, 4))],
        second="std" not in name and "correction" not in given,
    )
    agree(lambda m, a: getattr(m, name)(a[0], **given), [drawn((3, 4), "complex128")])
    agree(lambda m, a: getattr(m, name)(a[0], False), [drawn((5,))])
    agree(lambda m, a: getattr(m, name)(a[0], 0, False, True), [drawn((5, 2))])


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name: str, interpolation: str) -> None:
    x = drawn((4, 5))
    holes = x.copy()
    holes[0, 1] = holes[2, 2] = nan
    for a in (x, holes):
        for dim in (None, 0, 1):
            for keepdim in (False, True):
                grad = a is x or name == "nanquantile"  # which of several NaNs is the largest is left open
                options = {"dim": dim, "keepdim": keepdim, "interpolation": interpolation}
                agree(lambda m, t: getattr(m, name)(t[0], 0.3, **options), [a], grad=grad)
                q = np.array([0.0, 0.5, 1.0])
                agree(lambda m, t: getattr(m, name)(t[0], t[1].detach(), **options), [a, q], grad=grad)


def test_order() -> None:
    for shape in SHAPES:
        for dim in (0, -1):
            x = drawn(shape)
            for descending in (False, True):
                agree(lambda m, a: m.sort(a[0], dim, descending), [x], second=True)
                agree(lambda m, a: m.sort(a[0], dim=dim, descending=descending, stable=True), [drawn(shape, ties=True)])
                agree(lambda m, a: m.argsort(a[0], dim, descending), [x])
            size = x.shape[dim] if shape else 1
            for k in {0, 1, size}:
                if k <= size:
                    agree(lambda m, a: m.topk(a[0], k, dim), [x])
                    agree(lambda m, a: m.topk(a[0], k, dim, largest=False), [x])
            if size:
                agree(lambda m, a: m.kthvalue(a[0], max(1, size // 2), dim), [x])
                agree(lambda m, a: m.kthvalue(a[0], 1, dim, True), [x])
        if shape:
            agree(lambda m, a: m.msort(a[0]), [drawn(shape)])


def test_distinct_and_counted() -> None:
    x = drawn((4, 5), "int64")
    for options in (
        {},
        {"return_inverse": True},
        {"return_counts": True},
        {"return_inverse": True, "return_counts": True},
        {"dim": 0},
    ):
        agree(lambda m, a: m.unique(a[0], **options), [x])
        agree(lambda m, a: m.unique_consecutive(a[0], **options), [x])
    agree(lambda m, a: m.bincount(a[0]), [x.reshape(-1)])
    agree(lambda m, a: m.bincount(a[0], a[1], minlength=20), [x.reshape(-1), drawn((20,))], grad=False)
    agree(lambda m, a: m.histc(a[0], 7), [drawn((30,), "float32")], grad=False)
    agree(lambda m, a: m.histc(a[0], 7, -1, 1), [drawn((30,), "float32")], grad=False)


def test_searching() -> None:
    edges, x = np.sort(drawn((6,))), drawn((3, 4))
    for right in (False, True):
        agree(lambda m, a: m.searchsorted(a[0], a[1], right=right), [edges, x], grad=False)
        agree(lambda m, a: m.bucketize(a[1], a[0], right=right, out_int32=True), [edges, x], grad=False)
    agree(lambda m, a: m.searchsorted(a[0], a[1]), [np.sort(x, 1), x], grad=False)
    agree(lambda m, a: m.searchsorted(a[0], 0.3), [edges], grad=False)


def test_differences_and_areas() -> None:
    x = drawn((4, 5))
    for n in (0, 1, 2, 7):
        agree(lambda m, a: m.diff(a[0], n), [x])
    agree(lambda m, a: m.diff(a[0], dim=0, prepend=a[1], append=a[0]), [x, drawn((1, 5))])
    agree(lambda m, a: m.diff(a[0]), [drawn((5,), "bool")])
    for dim in (0, 1):
        agree(lambda m, a: m.trapezoid(a[0], dim=dim), [x])
        agree(lambda m, a: m.trapezoid(a[0], dx=0.5, dim=dim), [x])
        agree(lambda m, a: m.trapezoid(a[0], a[1], dim=dim), [x, drawn((x.shape[dim],))])
        agree(lambda m, a: m.cumulative_trapezoid(a[0], a[1], dim=dim), [x, drawn((x.shape[dim],))])


def test_covariance() -> None:
    x = drawn((3, 6))
    agree(lambda m, a: m.cov(a[0]), [x], second=True)
    agree(lambda m, a: m.cov(a[0], correction=0), [drawn((6,))])
    agree(lambda m, a: m.cov(a[0], fweights=a[1]), [x, np.array([1, 2, 1, 3, 1, 1])])
    agree(lambda m, a: m.cov(a[0], fweights=a[1], aweights=a[2].abs()), [x, np.array([1, 2, 1, 3, 1, 1]), drawn((6,))])
    agree(lambda m, a: m.corrcoef(a[0]), [x])
    agree(lambda m, a: m.cov(a[0]), [drawn((3, 6), "complex128")])
    agree(lambda m, a: m.renorm(a[0], 2, 0, 1.0), [x])
    agree(lambda m, a: m.renorm(a[0], 1, 1, 0.5), [x])


def test_aminmax() -> None:
    for ties in (False, True):
        x = drawn((3, 4), ties=ties)
        agree(lambda m, a: m.aminmax(a[0]), [x])
        agree(lambda m, a: m.aminmax(a[0], dim=1, keepdim=True), [x])


def test_not_numbers() -> None:
    for values in ([1.0, nan, 2.0], [nan, nan, 1.0], [inf, -inf, 1.0], [inf, inf, 0.0], [-inf, -inf, -inf]):
        x = np.array(values)
        for name in (
            "sum",
            "mean",
            "nansum",
            "nanmean",
            "amax",
            "amin",
            "max",
            "min",
            "prod",
            "median",
            "nanmedian",
            "var",
        ):
            agree(lambda m, a: getattr(m, name)(a[0]), [x])
        for name in ("logsumexp", "cumsum", "cummax", "cummin", "sort", "max", "min", "logcumsumexp"):
            agree(lambda m, a: getattr(m, name)(a[0], 0), [x])


X, E, I = drawn((2, 3)), np.empty((0, 3)), drawn((2, 3), "int64")
REFUSED: list[tuple[str, Any, list[Any]]] = [
    ("sum dim", lambda m, a: a[0].sum(2), [X]),
    ("sum twice", lambda m, a: a[0].sum((0, -2)), [X]),
    ("sum dtype", lambda m, a: a[0].mean(), [I]),
    ("mean dtype", lambda m, a: a[0].mean(dtype=m.int64), [X]),
    *(
        (f"{n} empty", lambda m, a, n=n: getattr(m, n)(a[0]), [E])
        for n in ("max", "min", "amax", "amin", "aminmax", "argmax", "argmin")
    ),
    *(
        (f"{n} empty axis", lambda m, a, n=n: getattr(m, n)(a[0], 0), [E])
        for n in ("max", "amax", "argmin", "median", "mode")
    ),
    ("kthvalue", lambda m, a: m.kthvalue(a[0], 5), [X]),
    ("kthvalue empty", lambda m, a: m.kthvalue(a[0], 1, 0), [E]),
    ("topk", lambda m, a: m.topk(a[0], 4), [X]),
    ("var int", lambda m, a: a[0].var(), [I]),
    ("norm int", lambda m, a: a[0].norm(), [I]),
    ("norm word", lambda m, a: a[0].norm("foo"), [X]),
    ("norm inf empty", lambda m, a: a[0].norm(inf), [E]),
    ("quantile range", lambda m, a: a[0].quantile(1.5), [X]),
    ("quantile word", lambda m, a: a[0].quantile(0.5, interpolation="foo"), [X]),
    ("quantile empty", lambda m, a: a[0].quantile(0.5), [E]),
    ("quantile int", lambda m, a: a[0].quantile(0.5), [I]),
    ("cumsum dim", lambda m, a: a[0].cumsum(3), [X]),
    ("logcumsumexp int", lambda m, a: a[0].logcumsumexp(0), [I]),
    ("diff order", lambda m, a: m.diff(a[0], n=-1), [X]),
    ("diff scalar", lambda m, a: m.diff(a[0]), [np.array(2.0)]),
    ("cov rank", lambda m, a: m.cov(a[0]), [np.ones((2, 2, 2))]),
    ("cov weights", lambda m, a: m.cov(a[0], fweights=a[1]), [X, np.ones(3)]),
    ("renorm", lambda m, a: a[0].renorm(2, 0, -1), [X]),
    ("bincount", lambda m, a: m.bincount(a[0]), [np.array([-1, 2])]),
    ("bincount dtype", lambda m, a: m.bincount(a[0]), [X]),
    ("histc range", lambda m, a: m.histc(a[0], 4, 3, 1), [X]),
    ("searchsorted side", lambda m, a: m.searchsorted(a[0][0], a[0], side="foo"), [X]),
    ("bucketize rank", lambda m, a: m.bucketize(a[0], a[0]), [X]),
    ("trapezoid scalar", lambda m, a: m.trapezoid(a[0]), [np.array(2.0)]),
]


@pytest.mark.parametrize(("call", "arrays"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals(call: Any, arrays: list[Any]) -> None:
    refuse(call, arrays)


NODES = [
    "sum()", "sum(0)", "mean()", "mean(0)", "prod()", "prod(0)", "max()", "max(0)[0]", "amax(0)", "var(0)", "std()",
    "median()", "median(0)[0]", "nansum()", "norm()", "logsumexp(0)", "cumsum(0)", "cumprod(0)", "sort()[0]",
    "topk(1)[0]", "kthvalue(1)[0]", "mode()[0]", "aminmax()[0]", "cummax(0)[0]", "logcumsumexp(0)", "nanmean()",
    "cov()",
]  # fmt: skip


@pytest.mark.parametrize("text", NODES)
def test_node_names(text: str) -> None:
    import chainrule

    x = drawn((3, 4))
    got, want = (eval(f"m.tensor(x, requires_grad=True).{text}", {"m": m, "x": x}) for m in (chainrule, torch))
    assert got.grad_fn.name() == want.grad_fn.name()


@pytest.mark.parametrize("size", [(), (1,), (4,), (3, 4), (1, 4), (3, 1), (2, 3, 4), (1, 1, 4), (2, 1, 4)], ids=str)
def test_sum_to_size(size: tuple[int, ...]) -> None:
    import chainrule

    agree(lambda m, t: t[0].sum_to_size(size), [drawn((2, 3, 4))], second=True)
    agree(lambda m, t: t[0].sum_to_size(*size) if size else t[0].sum(), [drawn((2, 3, 4), "int64")])
    for m in (chainrule, torch):
        x = m.ones(2, 3, 4)
        assert (x.sum_to_size(size) is x) == (size == (2, 3, 4))


def test_sum_to_size_refuses() -> None:
    for size in ((3, 3), (4, 2, 3, 4), (-1,)):
        refuse(lambda m, t: t[0].sum_to_size(size), [drawn((2, 3, 4))])
