"""Sparse tensors without PyTorch: NumPy and the dense formula are the judges."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainrule as torch
import chainrule.nn.functional as F
from chainrule import nn, optim
from chainrule.backends.sparse import SparseArray, Unsupported
from chainrule.testing import assert_close

I = [[0, 1, 1, 0], [2, 0, 2, 2]]
V = [3.0, 4.0, 5.0, 6.0]
DENSE = np.array([[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]])


def made(coalesced: bool = False, grad: bool = False) -> Any:
    s = torch.sparse_coo_tensor(I, V, (2, 3), dtype=torch.float64)
    return (s.coalesce() if coalesced else s).requires_grad_(grad)


def full(*shape: int) -> Any:
    return (torch.arange(float(np.prod(shape))).reshape(shape) + 1).double()


# ------------------------------------------------------------------------------------------------------------- values

SAME: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "all": (lambda s: s, lambda d: d),
    "twice": (lambda s: s + s, lambda d: d + d),
    "difference": (lambda s: s - s.coalesce() * 3, lambda d: d - 3 * d),
    "dense plus sparse": (lambda s: full(2, 3) + s, lambda d: full(2, 3).numpy() + d),
    "square": (lambda s: s * s, lambda d: d * d),
    "times dense": (lambda s: s * full(2, 3), lambda d: d * full(2, 3).numpy()),
    "times a column": (lambda s: s * full(2, 1), lambda d: d * full(2, 1).numpy()),
    "sine": (lambda s: s.sin(), np.sin),
    "relu of the negative": (lambda s: (-s).relu(), lambda d: np.maximum(-d, 0)),
    "power": (lambda s: s**2, lambda d: d**2),
    "matrix product": (lambda s: s @ full(3, 4), lambda d: d @ full(3, 4).numpy()),
    "from the left": (lambda s: full(4, 2) @ s, lambda d: full(4, 2).numpy() @ d),
    "with a vector": (lambda s: s @ full(3), lambda d: d @ full(3).numpy()),
    "with itself": (lambda s: s @ s.t(), lambda d: d @ d.T),
    "transpose": (lambda s: s.transpose(0, 1), lambda d: d.T),
    "sum": (lambda s: s.sum(), lambda d: d.sum()),
    "sum over an axis": (lambda s: s.sum(1), lambda d: d.sum(1)),
    "half precision": (lambda s: s.half().double(), lambda d: d),
    "hybrid": (lambda s: s.to_dense().to_sparse(1), lambda d: d),
    "over 16 bits": (lambda s: (s.bfloat16() * 2).double(), lambda d: d * 2),
    "in place": (lambda s: s.clone().mul_(2).add_(s).neg_(), lambda d: -3 * d),
    "dense in place": (lambda s: full(2, 3).add_(s, alpha=2).sub_(s), lambda d: full(2, 3).numpy() + d),
    "cleared": (lambda s: s.clone().zero_(), lambda d: 0 * d),
    "copied": (lambda s: torch.zeros_like(s).copy_(s), lambda d: d),
    "pickled": (lambda s: pickle.loads(pickle.dumps(s)), lambda d: d),
    "deep copy": (copy.deepcopy, lambda d: d),
    "norm": (lambda s: s.norm(), np.linalg.norm),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("coalesced", [False, True])
def test_a_sparse_tensor_means_its_dense_one(name: str, coalesced: bool) -> None:
    ours, expected = SAME[name]
    got = ours(made(coalesced))
    np.testing.assert_allclose(got.to_dense().numpy(), expected(DENSE))


def test_large_sums_of_terms_in_any_order() -> None:
    """Beyond a few thousand elements the order of a sum is not PyTorch's; the sum is the sum."""
    rng = np.random.default_rng(0)
    a, b = (torch.sparse_coo_tensor(rng.integers(0, 50, (2, 6000)), rng.normal(size=6000), (50, 50)) for _ in range(2))
    np.testing.assert_allclose((a + b).to_dense().numpy(), a.to_dense().numpy() + b.to_dense().numpy())


def test_adding_to_a_dense_tensor_touches_what_is_written_down_only() -> None:
    big = torch.zeros(1 << 18, 64)
    address = big.data_ptr()
    big.add_(torch.sparse_coo_tensor([[5, 5, 9]], torch.ones(3, 64), big.shape), alpha=3)
    assert big.data_ptr() == address and big._version == 1
    assert big[5].sum().item() == 384 and big.count_nonzero().item() == 128


REFUSED: dict[str, Callable[[Any], Any]] = {
    "exp": lambda s: s.exp(),
    "cos": lambda s: s.cos(),
    "view": lambda s: s.view(6),
    "reshape": lambda s: s.reshape(6),
    "select": lambda s: s[0],
    "cat": lambda s: torch.cat((s, s)),
    "stack": lambda s: torch.stack((s, s)),
    "cumsum": lambda s: s.cumsum(0),
    "max": lambda s: s.max(),
    "softmax": lambda s: s.softmax(0),
    "eq": lambda s: s == s,
    "expand": lambda s: s.expand(4, 2, 3),
    "conv1d": lambda s: F.conv1d(s, full(3, 2, 1)),
    "fill_": lambda s: s.fill_(2.0),
    "gather": lambda s: s.gather(0, torch.tensor([[0]])),
    "exp_": lambda s: s.exp_(),
    "ones_like": torch.ones_like,
    "std": lambda s: s.std(),
    "where": lambda s: torch.where(s > 0, s, s),
    "sort": lambda s: s.sort(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_op_that_needs_all_elements_refuses(name: str) -> None:
    s = made(coalesced=True)
    with pytest.raises(Unsupported, match=r"Could not run 'aten::\w+' with arguments from the 'SparseCPU' backend"):
        REFUSED[name](s)
    assert_close(s, made(coalesced=True))


@pytest.mark.parametrize("name", ["csr", "csc", "bsr", "bsc"])
def test_compressed_layouts_are_refused_by_name(name: str) -> None:
    layout = getattr(torch, f"sparse_{name}")
    for call in (
        lambda: full(2, 2).to_sparse(layout=layout),
        lambda: getattr(full(2, 2), f"to_sparse_{name}")(),
        lambda: getattr(torch, f"sparse_{name}_tensor")([0, 1], [0], [1.0]),
    ):
        with pytest.raises(NotImplementedError, match=f"sparse_{name}"):
            call()


# ---------------------------------------------------------------------------------------------------------- gradients


def check_gradient(call: Callable[..., Any], *leaves: Any) -> None:
    """The gradient of a function of sparse leaves, in their places, is that of the dense function."""
    dense = [x.detach().to_dense().requires_grad_() for x in leaves]
    for xs in (leaves, dense):
        out = call(*xs).to_dense()
        (out * full(*out.shape)).sum().backward()
    for x, d in zip(leaves, dense):
        if d.grad is not None:
            named = (DENSE != 0) if x.is_sparse else 1.0
            np.testing.assert_allclose(x.grad.to_dense().numpy() * named, d.grad.numpy() * named)


DIFFERENTIABLE: dict[str, Callable[..., Any]] = {
    "sum of both": lambda s, d: d + s,
    "product of both": lambda s, d: s * d,
    "double": lambda s, d: s * 2 - s / 4,
    "matrix product": lambda s, d: s @ d.t(),
    "masked product": lambda s, d: torch.sparse.mm(s, d.t()) if s.is_sparse else s @ d.t(),
    "square": lambda s, d: s * s,
    "transpose": lambda s, d: s.t(),
    "sum": lambda s, d: s.sum() * d,
    "masked sum": lambda s, d: torch.sparse.sum(s, 0) if s.is_sparse else s.sum(0),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("coalesced", [False, True])
def test_gradients_of_sparse_leaves(name: str, coalesced: bool) -> None:
    check_gradient(DIFFERENTIABLE[name], made(coalesced, True), full(2, 3).requires_grad_())


def test_values_carry_gradients_twice() -> None:
    v = torch.tensor(V, dtype=torch.float64, requires_grad=True)

    def f(v: Any) -> Any:
        s = torch.sparse_coo_tensor(torch.tensor(I), v, (2, 3))
        return (s + made()).coalesce().values().tanh() + torch.sparse.sum(s * s) + s.to_dense().pow(3).sum()

    assert torch.autograd.gradcheck(f, (v,))
    assert torch.autograd.gradgradcheck(f, (v,))


def by_module(w: Any, sparse: bool) -> Any:
    table = nn.Embedding(2, 3, sparse=sparse)
    return torch.func.functional_call(table, {"weight": w}, (torch.tensor([1, 1]),))


LOOKUPS: dict[str, Callable[[Any, bool], Any]] = {
    "gather": lambda w, sparse: w.gather(1, torch.tensor([[0, 0], [2, 1]]), sparse_grad=sparse),
    "embedding": lambda w, sparse: F.embedding(torch.tensor([[1, 0], [1, 1]]), w, sparse=sparse),
    "padding": lambda w, sparse: F.embedding(torch.tensor([1, 0, 1]), w, padding_idx=1, sparse=sparse),
    "bag": lambda w, sparse: F.embedding_bag(torch.tensor([1, 0, 1, 1]), w, torch.tensor([0, 1, 1]), sparse=sparse),
    "module": by_module,
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_lookups_give_sparse_gradients_equal_to_the_dense_ones(name: str) -> None:
    grads = []
    for sparse in (True, False):
        w = full(2, 3).requires_grad_()
        (LOOKUPS[name](w, sparse) ** 2).sum().backward()
        assert w.grad.is_sparse is sparse and w.grad.shape == w.shape
        grads.append(w.grad.to_dense().numpy())
    np.testing.assert_allclose(*grads)


def test_the_gradient_of_a_lookup_of_a_large_table_is_small() -> None:
    w = torch.zeros(10**6, 4, requires_grad=True)
    F.embedding(torch.tensor([3, 10**6 - 1]), w, sparse=True).sum().backward()
    assert w.grad._nnz() == 2 and w.grad._indices().tolist() == [[3, 10**6 - 1]]


def test_an_arriving_record_that_nobody_else_holds_is_kept() -> None:
    """Of two leaves that get the same gradient one takes its arrays, the other copies them."""
    seen: list[int] = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(g._values().data_ptr())
            return g, g

    a, b = (torch.ones(10, 3, requires_grad=True) for _ in range(2))
    (F.embedding(torch.tensor([[1, 2], [2, 9]]), Twice.apply(a, b), sparse=True) ** 2).sum().backward()
    assert [x.grad._values().data_ptr() == seen[0] for x in (a, b)].count(True) == 1


@pytest.mark.parametrize("create_graph", [False, True])
def test_accumulation_keeps_the_layout_of_what_meets(create_graph: bool) -> None:
    """Sparse and sparse stay sparse, in place unless a graph is made; dense takes what comes; sparse gives way."""
    sparse = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0])
    dense = torch.tensor([1.5, 1.5])
    for held, arrives, stays, is_sparse in (
        (sparse, sparse, True, True),
        (dense, sparse, True, False),
        (sparse, dense, False, False),
        (dense, dense, True, False),
    ):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.grad = before = held.clone()
        x.backward(arrives, create_graph=create_graph)
        assert (x.grad is before) is (stays and not create_graph)
        assert x.grad.is_sparse is is_sparse
        assert_close(x.grad.to_dense(), held.to_dense() + arrives.to_dense())


def test_a_saved_sparse_tensor_that_changed_is_refused() -> None:
    s = made(grad=True)
    t = s * 1
    out = (t * t).to_dense()
    with torch.no_grad():
        t.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_gradcheck_leaves_out_or_moves_what_is_not_written_down() -> None:
    x = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64).to_sparse().requires_grad_()
    checked = torch.autograd.gradcheck
    assert checked(lambda x: x.to_dense(), (x,), masked=True)
    assert checked(lambda x: x.to_dense(masked_grad=False), (x,), masked=False)
    assert not checked(lambda x: x.to_dense(), (x,), masked=False, raise_exception=False)
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        checked(lambda x: x * 2, (x,), masked=True)


# ------------------------------------------------------------------------------------------------------------ the rest


@pytest.mark.parametrize("name", ["Adagrad", "SparseAdam"])
def test_rows_that_a_gradient_does_not_name_stay(name: str) -> None:
    """Where all rows are named the formula is the dense one; where few are, the others do not move."""
    w = full(5, 2).requires_grad_()
    optimizer = getattr(optim, name)([w], lr=0.1)
    before = w.detach().clone()
    F.embedding(torch.tensor([1, 3, 1]), w, sparse=True).sum().backward()
    optimizer.step()
    moved = (w.detach() != before).any(1)
    assert moved.tolist() == [False, True, False, True, False]
    assert w._version == 1


def test_invariants_are_checked_where_asked() -> None:
    wrong = [[0, 7]], [1.0, 2.0], (3,)
    torch.sparse_coo_tensor(*wrong)
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="size is inconsistent"):
        torch.sparse_coo_tensor(*wrong)
    with pytest.raises(RuntimeError, match="size is inconsistent"):
        torch.sparse_coo_tensor(*wrong, check_invariants=True)
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_text() -> None:
    assert repr(made(grad=True)).splitlines() == [
        "tensor(indices=tensor([[0, 1, 1, 0],",
        "                       [2, 0, 2, 2]]),",
        "       values=tensor([3., 4., 5., 6.]),",
        "       size=(2, 3), nnz=4, dtype=torch.float64, layout=torch.sparse_coo,",
        "       requires_grad=True)",
    ]


def test_a_transform_sees_through_to_the_layout() -> None:
    g = torch.func.grad(lambda x: torch.sparse.sum(x * x))(made(coalesced=True))
    assert g.layout is torch.sparse_coo
    np.testing.assert_allclose(g.to_dense().numpy(), 2 * DENSE)


def test_the_record_takes_part_in_numpys_protocols() -> None:
    x = SparseArray(np.array(I), np.array(V), (2, 3))
    np.testing.assert_array_equal(x + np.ones((2, 3)), DENSE + 1)
    np.testing.assert_array_equal(np.ones((2, 3)) - x, 1 - DENSE)
    np.testing.assert_array_equal(np.matmul(x, np.ones((3, 2))), DENSE @ np.ones((3, 2)))
    assert np.tanh(x).coalesced and not (x * 2).coalesced
    for refused in (lambda: np.cos(x), lambda: np.concatenate((x, x)), lambda: x.reshape(6), lambda: x[0]):
        with pytest.raises(Unsupported):
            refused()
    with pytest.raises(TypeError, match="can't convert Sparse"):
        np.asarray(x)
