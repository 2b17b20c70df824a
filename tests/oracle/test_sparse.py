"""Sparse tensors beside PyTorch: random programs, gradients and their layouts, optimizers, refusals, text."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainrule
import chainrule.nn.functional as OUR_F
from chainrule import optim as our_optim

torch = pytest.importorskip("torch")
F: dict[Any, Any] = {chainrule: OUR_F, torch: torch.nn.functional}
OPTIM: dict[Any, Any] = {chainrule: our_optim, torch: torch.optim}

warnings.filterwarnings("ignore", category=UserWarning)


def numbers(t: Any) -> Any:
    """All elements, put together here: PyTorch's to_dense reads values with steps of 0 as zeros."""
    t = t.detach()
    if not t.is_sparse:
        return np.asarray(t.numpy())
    found = np.zeros(tuple(t.shape), np.asarray(t._values().numpy()).dtype)
    if t.sparse_dim():
        np.add.at(found, tuple(t._indices().numpy()), t._values().numpy())
    else:
        found += t._values().numpy().sum(0)
    return found


def same(got: Any, want: Any, flags: bool = True) -> None:
    """Layout, shape, dtype; of sparse ones places and values in their order; of all the elements."""
    assert str(got.layout) == str(want.layout)
    assert tuple(got.shape) == tuple(want.shape) and str(got.dtype) == str(want.dtype)
    np.testing.assert_allclose(numbers(got), numbers(want), rtol=1e-5, atol=1e-6)
    if want.is_sparse and flags:
        assert got._indices().tolist() == want._indices().tolist()
        np.testing.assert_allclose(np.asarray(got._values().numpy()), want._values().numpy(), rtol=1e-5, atol=1e-6)
        assert got.is_coalesced() == want.is_coalesced() and got._nnz() == want._nnz()


# ------------------------------------------------------------------------------------------------------ random programs


def sparse(rng: random.Random, shape: tuple[int, ...], sparse_dim: int) -> tuple[Any, Any, Any]:
    nnz = rng.randrange(6)
    indices = [[rng.randrange(n) for _ in range(nnz)] for n in shape[:sparse_dim]]
    values = np.round(np.random.default_rng(rng.randrange(99)).normal(size=(nnz, *shape[sparse_dim:])), 2)
    return np.array(indices, np.int64).reshape(sparse_dim, nnz), values, shape


def leaf(lib: Any, parts: Any, dtype: str, grad: bool) -> Any:
    indices, values, shape = parts
    if indices is None:
        return lib.tensor(values.tolist(), dtype=getattr(lib, dtype), requires_grad=grad)
    values = lib.tensor(values.tolist(), dtype=getattr(lib, dtype)).reshape(tuple(values.shape))
    places = lib.tensor(indices.tolist(), dtype=lib.int64).reshape(tuple(indices.shape))
    return lib.sparse_coo_tensor(places, values, shape, requires_grad=grad)


def sums_up(lib: Any, a: Any, b: Any) -> Any:
    return lib.add(b, a, alpha=3) if not b.is_sparse else a + b


UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "x * 2": lambda lib, x: x * 2,
    "-x": lambda lib, x: -x,
    "x / 4": lambda lib, x: x / 4,
    "coalesce": lambda lib, x: x.coalesce() if x.is_sparse else x,
    "clone": lambda lib, x: x.clone(),
    "detach": lambda lib, x: x.detach(),
    "to_dense": lambda lib, x: x.to_dense(),
    "to_sparse": lambda lib, x: x.to_sparse(x.sparse_dim()) if x.is_sparse else x.to_sparse(),
    "to_sparse, hybrid": lambda lib, x: x.to_dense().to_sparse(1),
    "double": lambda lib, x: x.double(),
    "x**2": lambda lib, x: x**2,
    "transpose": lambda lib, x: x.transpose(0, 1),
    "sum over axis 0": lambda lib, x: lib.sparse.sum(x, 0),
    "sum over both axes": lambda lib, x: lib.sparse.sum(x, (0, 1)),
    "sum": lambda lib, x: lib.sparse.sum(x),
    "taken apart": lambda lib, x: lib.sparse_coo_tensor(x.coalesce().indices(), x.coalesce().values() * 2, x.shape),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "times a 0-d tensor": lambda lib, x: x * lib.tensor(0.5),
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a + b": lambda lib, a, b: a + b,
    "a - b": lambda lib, a, b: a - b,
    "a * b": lambda lib, a, b: a * b if a.shape == b.shape else a,
    "add with alpha": sums_up,
    "add_": lambda lib, a, b: a.clone().add_(b),
    "sub_ with alpha": lambda lib, a, b: a.detach().clone().sub_(b.detach(), alpha=2),
    "sparse_mask": lambda lib, a, b: a.sparse_mask(b.coalesce()),
    "a @ b.t()": lambda lib, a, b: a @ b.t().to(a.dtype) if a.dim() == b.dim() == 2 else a,
    "sparse.mm": lambda lib, a, b: lib.sparse.mm(a, b.t().to(a.dtype)),
}


def attempt(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (RuntimeError, AttributeError, IndexError) as error:
        return error


def step(rng: random.Random, pools: dict[Any, list[Any]]) -> None:
    """One random call on both; what PyTorch cannot do is left out, what it can do must come out alike."""
    count = len(pools[torch])
    at, other = rng.randrange(count), rng.randrange(count)
    if rng.random() < 0.5:
        name: str = rng.choice(list(UNARY))
        results = {lib: attempt(lambda lib=lib: UNARY[name](lib, pool[at])) for lib, pool in pools.items()}
    else:
        name = rng.choice(list(BINARY))
        results = {
            lib: attempt(lambda lib=lib: BINARY[name](lib, pool[at], pool[other])) for lib, pool in pools.items()
        }
    got, want = results[chainrule], results[torch]
    if isinstance(want, Exception):
        return
    if isinstance(got, Exception):
        raise AssertionError(f"{name}: PyTorch gives {want}, we raise") from got
    try:
        same(got, want)
        assert got.requires_grad == want.requires_grad
    except AssertionError as error:
        flags = [t.is_sparse and t.is_coalesced() for t in (pools[torch][at], pools[torch][other], got, want)]
        error.add_note(f"{name} of {pools[torch][at]} and {pools[torch][other]}:\n{got}\nnot\n{want}\n{flags}")
        raise
    pools[chainrule].append(got)
    pools[torch].append(want)


@pytest.mark.parametrize("seed", range(120))
def test_random_program(seed: int) -> None:
    rng = random.Random(seed)
    shape, pools = (rng.randrange(1, 4), rng.randrange(1, 4)), {chainrule: [], torch: []}
    kinds: list[tuple[Any, str]] = []
    for _ in range(4):
        parts = sparse(rng, shape, rng.choice((2, 2, 1))) if rng.random() < 0.7 else (None, np.ones(shape) * 0.5, shape)
        kinds.append((parts, rng.choice(("float32", "float32", "float64"))))
    wants = [rng.random() < 0.6 for _ in kinds]
    for lib, pool in pools.items():
        pool.extend(leaf(lib, parts, dtype, grad) for (parts, dtype), grad in zip(kinds, wants))
    for _ in range(12):
        step(rng, pools)
    leaves = len(kinds)
    at = [i for i, t in enumerate(pools[torch]) if i >= leaves and t.requires_grad]
    for i in at[-3:]:
        outcome = {lib: attempt(lambda lib=lib: pull(pools[lib][i])) for lib in pools}
        if isinstance(outcome[torch], Exception):
            return
        assert not isinstance(outcome[chainrule], Exception), outcome[chainrule]
        for ours, theirs in zip(pools[chainrule][:leaves], pools[torch][:leaves]):
            assert (ours.grad is None) == (theirs.grad is None)
            if theirs.grad is not None:
                same(ours.grad, theirs.grad, flags=False)


def pull(t: Any) -> None:
    (t.to_dense() * 3).sum().backward(retain_graph=True)


# --------------------------------------------------------------------------------------------- gradients, one by one

I, V = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0]
IDX = [[1, 3], [1, 4]]


def made(lib: Any, coalesced: bool = False) -> Any:
    s = lib.sparse_coo_tensor(lib.tensor(I), lib.tensor(V), (2, 3))
    return (s.coalesce() if coalesced else s).requires_grad_()


def full(lib: Any, *shape: int) -> Any:
    return (lib.arange(float(np.prod(shape))).reshape(shape) + 1).requires_grad_()


def coo(lib: Any, values: Any) -> Any:
    return lib.sparse_coo_tensor(lib.tensor(I), values, (2, 3))


def table(lib: Any) -> list[Any]:
    return [full(lib, 5, 2)]


def looked_up(lib: Any, w: Any, flip: bool = False, **options: Any) -> Any:
    named = lib.tensor(IDX)
    return F[lib].embedding(named.flip(0) if flip else named, w, sparse=True, **options)


def bag(lib: Any, w: Any, mode: str = "mean", **options: Any) -> Any:
    return F[lib].embedding_bag(lib.tensor(IDX), w, mode=mode, sparse=True, **options)


def picked(lib: Any, x: Any, dim: int, index: Any) -> Any:
    return x.gather(dim, lib.tensor(index), sparse_grad=True)


GRADIENTS: dict[str, tuple[Callable[[Any], list[Any]], Callable[..., Any]]] = {
    "values": (lambda lib: [lib.tensor(V, requires_grad=True)], coo),
    "to_dense": (lambda lib: [made(lib)], lambda lib, s: s.to_dense()),
    "to_dense, unmasked": (lambda lib: [made(lib)], lambda lib, s: s.to_dense(masked_grad=False)),
    "values of a leaf": (lambda lib: [made(lib, True)], lambda lib, s: s.values() ** 2),
    "sum": (lambda lib: [made(lib)], lambda lib, s: s.sum()),
    "sparse.sum": (lambda lib: [made(lib)], lambda lib, s: lib.sparse.sum(s)),
    "sparse.sum over an axis": (lambda lib: [made(lib, True)], lambda lib, s: lib.sparse.sum(s, 0)),
    "mm": (lambda lib: [made(lib), full(lib, 3, 4)], lambda lib, s, w: s.mm(w)),
    "sparse.mm": (lambda lib: [made(lib), full(lib, 3, 4)], lambda lib, s, w: lib.sparse.mm(s, w)),
    "sparse.mm, both": (lambda lib: [made(lib), made(lib)], lambda lib, a, b: lib.sparse.mm(a, b.t())),
    "dense @ sparse": (lambda lib: [full(lib, 4, 2), made(lib)], lambda lib, w, s: w @ s),
    "mv": (lambda lib: [made(lib), full(lib, 3)], lambda lib, s, w: s.mv(w)),
    "sparse.addmm": (
        lambda lib: [full(lib, 2, 4), made(lib), full(lib, 3, 4)],
        lambda lib, m, s, w: lib.sparse.addmm(m, s, w, beta=2.0, alpha=3.0),
    ),
    "dense + sparse": (lambda lib: [full(lib, 2, 3), made(lib)], lambda lib, d, s: d + s),
    "product of both": (lambda lib: [made(lib, True), full(lib, 2, 3)], lambda lib, s, d: s * d),
    "times a 0-d tensor": (lambda lib: [made(lib), lib.tensor(2.0, requires_grad=True)], lambda lib, s, k: s * k),
    "to_sparse": (lambda lib: [full(lib, 2, 3)], lambda lib, d: d.to_sparse()),
    "sparse_mask": (lambda lib: [full(lib, 2, 3)], lambda lib, d: d.sparse_mask(made(lib).detach())),
    "gather": (lambda lib: [full(lib, 2, 3)], lambda lib, d: picked(lib, d, 1, [[0, 0], [2, 1]])),
    "gather of a number": (lambda lib: [full(lib)], lambda lib, d: picked(lib, d, 0, [0, 0])),
    "gather by a number": (lambda lib: [full(lib, 3)], lambda lib, d: picked(lib, d, 0, 1)),
    "embedding": (table, looked_up),
    "embedding, padding": (table, lambda lib, w: looked_up(lib, w, padding_idx=1)),
    "embedding twice": (table, lambda lib, w: looked_up(lib, w) * looked_up(lib, w, flip=True)),
    "bag, sum": (table, lambda lib, w: bag(lib, w, "sum")),
    "bag, mean, padding": (table, lambda lib, w: bag(lib, w, padding_idx=1)),
    "bag, weights": (
        lambda lib: [*table(lib), full(lib, 2, 2)],
        lambda lib, w, p: bag(lib, w, "sum", per_sample_weights=p),
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradient(name: str, create_graph: bool) -> None:
    make, call = GRADIENTS[name]
    grads = {}
    for lib in (chainrule, torch):
        leaves = make(lib)
        out = call(lib, *leaves)
        out = out.to_dense() if out.is_sparse else out
        for _ in range(2):  # the second time into what the first one left
            (out * lib.arange(float(out.numel())).reshape(out.shape)).sum().backward(
                retain_graph=True, create_graph=create_graph
            )
        grads[lib] = [x.grad for x in leaves]
    for got, want in zip(grads[chainrule], grads[torch]):
        same(got, want, flags=False)
        assert not want.is_sparse or got._nnz() <= want._nnz()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_gradients_of_two_kinds_meet(order: tuple[int, int], create_graph: bool) -> None:
    def meet(lib: Any) -> Any:
        x = full(lib, 2, 3)
        terms = [lambda: x.gather(1, lib.tensor([[0, 0], [2, 1]]), sparse_grad=True).sum(), lambda: (x * x).sum()]
        (terms[order[0]]() + terms[order[1]]()).backward(create_graph=create_graph)
        met = x.grad
        x.grad, kept = None, []
        for k in order:
            terms[k]().backward(create_graph=create_graph)
            kept.append(x.grad)
        return met, x.grad, kept[0] is kept[1]

    ours, theirs = meet(chainrule), attempt(lambda: meet(torch))
    if isinstance(theirs, Exception):
        assert create_graph  # where PyTorch may add in the order that it refuses itself
        return
    same(ours[0], theirs[0])
    same(ours[1], theirs[1])
    assert ours[2] == theirs[2]


def test_second_derivatives_through_a_sparse_gradient() -> None:
    found = {}
    for lib in (chainrule, torch):
        x = full(lib, 2, 3)
        y = x.gather(1, lib.tensor([[0, 0], [2, 1]]), sparse_grad=True)
        (g,) = lib.autograd.grad((y**3).sum(), x, create_graph=True)
        g.to_dense().sum().backward()
        found[lib] = g, x.grad
    for got, want in zip(found[chainrule], found[torch]):
        same(got, want)


# ------------------------------------------------------------------------------------------------------------ the rest


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.2, "maximize": True}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"betas": (0.5, 0.6), "maximize": True}),
    ("Adam", {}),
    ("AdamW", {}),
    ("RMSprop", {}),
]


@pytest.mark.parametrize(("name", "settings"), OPTIMIZERS)
def test_optimizer(name: str, settings: dict[str, Any]) -> None:
    results = {}
    for lib in (chainrule, torch):
        w = (full(lib, 5, 2).detach() / 7).requires_grad_()
        optimizer = getattr(OPTIM[lib], name)([w], **settings)

        def train(lib: Any = lib, w: Any = w, optimizer: Any = optimizer) -> Any:
            for t in range(5):
                optimizer.zero_grad(set_to_none=t % 2 == 0)
                (F[lib].embedding(lib.tensor([[1, 3], [1, t % 5]]), w, sparse=True) ** 2).sum().backward()
                optimizer.step()
            return w

        results[lib] = attempt(train), w
    got, want = results[chainrule][0], results[torch][0]
    if isinstance(want, Exception):
        assert type(got) is type(want) and str(want) in str(got)
    else:
        assert not isinstance(got, Exception), got
    same(results[chainrule][1], results[torch][1])


REFUSED: list[Callable[[Any], Any]] = [
    lambda lib: lib.sparse_coo_tensor(lib.tensor(I), lib.tensor(V), (2, 3, 2)),
    lambda lib: lib.sparse_coo_tensor(lib.tensor(I), lib.tensor(V), (1, 3), check_invariants=True),
    lambda lib: lib.sparse_coo_tensor(lib.tensor([[-1, 0]]), lib.tensor([1.0, 2.0])),
    lambda lib: lib.sparse_coo_tensor(lib.tensor(I), lib.tensor([1.0, 2.0]), (2, 3)),
    lambda lib: lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 3)),
    lambda lib: lib.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,), is_coalesced=True, check_invariants=True),
    lambda lib: lib.sparse_coo_tensor([[0, 1]], [1, 2], requires_grad=True),
    lambda lib: made(lib) + lib.ones(2, 3),
    lambda lib: lib.ones(3) + made(lib),
    lambda lib: made(lib) + 1,
    lambda lib: made(lib).values(),
    lambda lib: made(lib).indices(),
    lambda lib: made(lib).detach().copy_(lib.ones(2, 3)),
    lambda lib: made(lib).to_dense(dtype=lib.float64),
    lambda lib: lib.ones(2, 3).to_sparse(0),
    lambda lib: lib.ones(2, 3).to_sparse(5),
    lambda lib: made(lib).to_sparse(1),
    lambda lib: made(lib) / lib.ones(2, 3),
    lambda lib: lib.ones(2, 3).sparse_mask(lib.sparse_coo_tensor([[0]], [1.0], (3,))),
    lambda lib: lib.sparse.sum(lib.ones(2)),
    lambda lib: made(lib).detach().numpy(),
    lambda lib: made(lib).data_ptr(),
    lambda lib: made(lib).nbytes,
    lambda lib: bag(lib, *table(lib), "max"),
    lambda lib: looked_up(lib, *table(lib), scale_grad_by_freq=True).sum().backward(),
    lambda lib: made(lib) + lib.sparse_coo_tensor([[0]], [[1.0, 2.0, 3.0]], (2, 3)),
    lambda lib: lib.zeros(2, 2, 2).to_sparse().t(),
    lambda lib: setattr(lib.ones(2), "data", made(lib)),
]


@pytest.mark.parametrize("at", range(len(REFUSED)))
def test_refusal(at: int) -> None:
    """The same class of error, and the first words are PyTorch's."""
    with pytest.raises((RuntimeError, TypeError, ValueError)) as theirs:
        REFUSED[at](torch)
    with pytest.raises(theirs.type) as ours:
        REFUSED[at](chainrule)
    assert str(ours.value)[:45] == str(theirs.value)[:45]


TEXTS: list[Callable[[Any], Any]] = [
    made,
    lambda lib: made(lib, True) * 2,
    lambda lib: made(lib).detach().double(),
    lambda lib: made(lib).detach().int(),
    lambda lib: lib.sparse_coo_tensor((2, 3)),
    lambda lib: lib.sparse_coo_tensor((2, 0, 3), dtype=lib.float64),
    lambda lib: lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (200000, 2)).to_sparse(),
    lambda lib: lib.sparse_coo_tensor(lib.arange(3000).reshape(1, 3000), lib.arange(3000.0)),
]


@pytest.mark.parametrize("at", range(len(TEXTS)))
def test_repr(at: int) -> None:
    assert repr(TEXTS[at](chainrule)) == repr(TEXTS[at](torch))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
def test_gradcheck_decides_alike(fast: bool, masked: bool, keeps: bool) -> None:
    found = {}
    for lib in (chainrule, torch):
        x = lib.tensor([1.0, 0.0, 2.0], dtype=lib.float64).to_sparse().requires_grad_()
        found[lib] = lib.autograd.gradcheck(
            lambda x: x.to_dense(masked_grad=keeps), (x,), masked=masked, fast_mode=fast, raise_exception=False
        )
    assert found[chainrule] == found[torch]
