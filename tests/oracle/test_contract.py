"""Matrix products, their relatives and Einstein's notation against live PyTorch."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.oracle.comparing import agree, refuse  # noqa: E402


def drawn(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed + sum(shape))
    if dtype.startswith(("int", "uint")):
        return np.asarray(rng.integers(-5, 5, shape), dtype)
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x, dtype)


SIDES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((2, 3, 4), (1, 4, 5)),
    ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 0, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((2, 2, 3, 4), (2, 2, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SIDES, ids=str)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    agree(lambda m, t: m.matmul(t[0], t[1]), [drawn(*a), drawn(*b, seed=1)], second=True)
    for dtype in ("float32", "complex128", "int64"):
        agree(lambda m, t: t[0] @ t[1], [drawn(*a, dtype=dtype), drawn(*b, dtype=dtype, seed=1)])


@pytest.mark.parametrize(("a", "b"), SIDES[:10], ids=str)
def test_matmul_nodes_and_out(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    import chainrule

    names = []
    for m in (chainrule, torch):
        x, y = m.ones(a, requires_grad=True), m.ones(b, requires_grad=True)
        names.append((x @ y).grad_fn.name().rstrip("0123456789"))
        out = m.empty(0)
        assert m.matmul(x.detach(), y.detach(), out=out) is out and tuple(out.shape) == tuple((x @ y).shape)
    assert names[0] == names[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    import chainrule

    a, b = drawn(3, 40, dtype="float32"), drawn(40, 5, dtype="float32", seed=1)
    results = []
    for m in (chainrule, torch):
        x, y = m.tensor(a).to(getattr(m, dtype)).requires_grad_(), m.tensor(b).to(getattr(m, dtype)).requires_grad_()
        out = x @ y
        out.float().sum().backward()
        results.append([np.array(t.float().tolist()) for t in (out, x.grad, y.grad)])
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2)


def test_layouts() -> None:
    a, b = drawn(4, 6), drawn(4, 6, seed=1)
    agree(lambda m, t: t[0] @ t[1], [a.T, b], second=True)
    agree(lambda m, t: t[0] @ t[1], [a, b.T])
    agree(lambda m, t: t[0] @ t[1], [a[::2], b.T[:, ::2]])
    agree(lambda m, t: t[0] @ t[1], [np.broadcast_to(a[:1], (4, 6)), b.T])
    agree(lambda m, t: m.nn.functional.linear(t[0], t[1]), [a[:, ::2], b[:, ::2]])


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_products_of_vectors(dtype: str) -> None:
    v, u, x = drawn(4, dtype=dtype), drawn(4, dtype=dtype, seed=1), drawn(3, 4, dtype=dtype)
    second = dtype == "float64"
    for name in ("dot", "vdot", "inner", "outer", "ger"):
        agree(lambda m, t: getattr(m, name)(t[0], t[1]), [v, u], second=second)
    agree(lambda m, t: m.mv(t[0], t[1]), [x, v], second=second)
    agree(lambda m, t: m.inner(t[0], t[1]), [x, v])
    agree(lambda m, t: m.inner(t[0], t[1]), [x, drawn(2, 4, dtype=dtype)])
    agree(lambda m, t: m.inner(t[0], t[1]), [np.asarray(v[0]), x])
    agree(lambda m, t: m.trace(t[0]), [x])
    agree(lambda m, t: m.kron(t[0], t[1]), [x, v])
    agree(lambda m, t: m.kron(t[0], t[1]), [x, drawn(2, 3, 2, dtype=dtype)])


ADDED: list[tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = [
    ("addmm", [(3, 4), (4, 5)], [(3, 5), (5,), (3, 1), ()]),
    ("addmv", [(3, 4), (4,)], [(3,), (1,), ()]),
    ("addr", [(3,), (4,)], [(3, 4), (4,), ()]),
    ("addbmm", [(2, 3, 4), (2, 4, 5)], [(3, 5), (5,), ()]),
    ("baddbmm", [(2, 3, 4), (2, 4, 5)], [(2, 3, 5), (3, 5), (5,), ()]),
]


@pytest.mark.parametrize(("name", "factors", "addends"), ADDED, ids=[row[0] for row in ADDED])
def test_products_with_addition(name: str, factors: list[Any], addends: list[Any]) -> None:
    for addend, (beta, alpha) in product(addends, ((1, 1), (0.5, 2), (0, 1), (1, 0))):
        for dtype in ("float64", "complex128"):
            arrays = [drawn(*addend, dtype=dtype), *(drawn(*f, dtype=dtype, seed=i) for i, f in enumerate(factors))]
            agree(lambda m, t: getattr(m, name)(*t, beta=beta, alpha=alpha), arrays, second=dtype == "float64")
    arrays = [drawn(*addends[0], dtype="int64"), *(drawn(*f, dtype="int64") for f in factors)]
    agree(lambda m, t: getattr(m, name)(*t, beta=2, alpha=3), arrays)

    def in_place(m: Any, t: Any) -> Any:
        x = t[0].clone()
        getattr(x, name + "_")(*t[1:], beta=0.5, alpha=2)
        return x

    agree(in_place, [drawn(*addends[0]), *(drawn(*f) for f in factors)])
    holes = np.full(addends[0], np.nan)
    agree(lambda m, t: getattr(m, name)(*t, beta=0), [holes, *(drawn(*f) for f in factors)], grad=False)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4), (0, 4), (2, 0, 4)], ids=str)
def test_linear(shape: tuple[int, ...]) -> None:
    for dtype in ("float64", "float32", "complex128"):
        x, w, b = drawn(*shape, dtype=dtype), drawn(5, 4, dtype=dtype), drawn(5, dtype=dtype)
        second = dtype == "float64"
        agree(lambda m, t: m.nn.functional.linear(t[0], t[1], t[2]), [x, w, b], second=second)
        agree(lambda m, t: m.nn.functional.linear(t[0], t[1]), [x, w], second=second)
    agree(lambda m, t: m.nn.functional.linear(t[0], t[1]), [drawn(*shape), drawn(4)])


def test_linear_nodes() -> None:
    import chainrule

    for shape, bias in product([(3, 4), (4,), (2, 3, 4)], (True, False)):
        names = []
        for m in (chainrule, torch):
            x, w, b = m.ones(shape, requires_grad=True), m.ones(5, 4, requires_grad=True), m.ones(5, requires_grad=True)
            names.append(m.nn.functional.linear(x, w, b if bias else None).grad_fn.name())
        assert names[0] == names[1] or (shape == (4,) and not bias)


def test_bilinear() -> None:
    for shape in ((3,), (5, 3), (2, 5, 3)):
        arrays = [drawn(*shape), drawn(*shape[:-1], 2), drawn(4, 3, 2), drawn(4)]
        agree(lambda m, t: m.nn.functional.bilinear(*t), arrays, second=True)
        agree(lambda m, t: m.nn.functional.bilinear(*t), arrays[:3])


def test_cross() -> None:
    agree(lambda m, t: m.linalg.cross(t[0], t[1]), [drawn(2, 3), drawn(2, 3, seed=1)], second=True)
    agree(lambda m, t: m.linalg.cross(t[0], t[1], dim=0), [drawn(3, 4), drawn(3, 1, seed=1)])
    agree(
        lambda m, t: m.cross(t[0], t[1], dim=1),
        [drawn(2, 3, dtype="complex128"), drawn(2, 3, seed=1, dtype="complex128")],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda m, t: m.cross(t[0], t[1]), [drawn(3, 3), drawn(3, 3, seed=1)])


def test_tensordot() -> None:
    a, b = drawn(2, 3, 4), drawn(4, 3, 5)
    for dims in (0, 1, ([2], [0]), ([1, 2], [1, 0]), ([2, 1], [0, 1])):
        agree(lambda m, t: m.tensordot(t[0], t[1], dims), [a, b], second=True)
    agree(lambda m, t: m.tensordot(t[0], t[1], 2), [drawn(2, 3), drawn(2, 3, seed=1)])
    agree(lambda m, t: m.tensordot(t[0], t[1], ([0, 1], [1, 0])), [drawn(2, 3), drawn(3, 2, seed=1)])
    agree(lambda m, t: m.tensordot(t[0], t[1], ([1], [0])), [drawn(2, 1), drawn(3, 2, seed=1)])


def test_chains() -> None:
    chain = [drawn(2, 5), drawn(5, 3), drawn(3, 7), drawn(7, 2)]
    agree(lambda m, t: m.linalg.multi_dot(t), chain, second=True)
    agree(lambda m, t: m.linalg.multi_dot(t), chain[:2])
    agree(lambda m, t: m.linalg.multi_dot(t), [drawn(5), drawn(5, 3), drawn(3)])
    agree(lambda m, t: m.linalg.multi_dot(t), [drawn(5), drawn(5, 3)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda m, t: m.chain_matmul(*t), chain[:3])


SIZES = {"i": 2, "j": 3, "k": 4, "b": 2, "h": 2, "l": 5, "A": 3}
EQUATIONS = [
    "ij,jk->ik", "ij,jk", "kj,ji", "ij->ji", "ji", "ii->i", "ii", "ij,ij->ij", "bij,bjk->bik", "bhij,bhkj->bhik",
    "ij,kj->ik", "i,j->ij", "i,i->", "ij,j->i", "bij,jk->bik", "...ij,...jk->...ik", "ij...->...ji", "ij,jk,kl->il",
    "i,ij,j->", "bik,bjk,bij->b", "ijk->", "ij->j", "bi,bj,k->ijk", "iij->j", "...i,i->...", "ib,jb->ijb", "...->...",
    "hij,hj->ih", "Ai,iA->", "i...,i->...", "ijk,kji->i", " ij , jk -> ik ", "bhik,bhjk,bhj->bhi",
]  # fmt: skip


def operands(equation: str, dtype: str = "float64") -> list[Any]:
    found = []
    for at, term in enumerate(equation.replace(" ", "").split("->")[0].split(",")):
        letters = [SIZES[c] for c in term.replace("...", "")]
        if "..." in term:
            split = len(term.split("...")[0])
            letters[split:split] = [3, 2]
        found.append(drawn(*letters, dtype=dtype, seed=at))
    return found


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str) -> None:
    agree(lambda m, t: m.einsum(equation, *t), operands(equation), second=True)
    agree(lambda m, t: m.einsum(equation, *t), operands(equation, "complex128"))


def test_einsum_forms() -> None:
    a, b = drawn(2, 3), drawn(3, 4)
    agree(lambda m, t: m.einsum(t[0], [0, 1], t[1], [1, 2], [0, 2]), [a, b])
    agree(lambda m, t: m.einsum(t[0], [0, 1], t[1], [1, 2]), [a, b])
    agree(lambda m, t: m.einsum(t[0], [0, ...], [...]), [a])
    agree(lambda m, t: m.einsum(t[0], [..., 1], t[1], [1, 2], [2, ...]), [a, b])
    agree(lambda m, t: m.einsum("ij,jk->ik", [t[0], t[1]]), [a, b])
    agree(lambda m, t: m.einsum("ij,jk->ik", *t), [drawn(2, 1), b])
    agree(lambda m, t: m.einsum("ij,ij->ij", *t), [drawn(2, 1), drawn(1, 3)])
    agree(lambda m, t: m.einsum("ij,ij->", *t), [drawn(2, 1), drawn(2, 3)])
    agree(lambda m, t: m.einsum("...,...->...", *t), [drawn(3, 1), drawn(4)])


A, B, V, U, W, I = drawn(2, 3), drawn(4, 5), drawn(3), drawn(4), drawn(2, 2, 3), drawn(2, 3, dtype="int64")
F32 = A.astype("float32")
REFUSED: list[tuple[str, Any, list[Any]]] = [
    ("mm", lambda m, t: t[0].mm(t[1]), [A, B]),
    ("matmul", lambda m, t: t[0] @ t[1], [F32, B.astype("float32")]),
    ("mm rank", lambda m, t: t[0].mm(t[1]), [A, V]),
    ("mm dtypes", lambda m, t: t[0] @ t[1].T, [A, F32]),
    ("mm int", lambda m, t: t[0] @ t[1].T, [A, I]),
    ("mm bool", lambda m, t: t[0] @ t[0], [np.ones((2, 2), bool)]),
    ("matmul scalar", lambda m, t: t[0] @ t[1], [A, np.array(1.0)]),
    ("mv", lambda m, t: t[0].mv(t[1]), [A, U]),
    ("vm", lambda m, t: t[1] @ t[0], [A, U]),
    ("dot", lambda m, t: t[0].dot(t[1]), [V, U]),
    ("dot rank", lambda m, t: t[0].dot(t[1]), [A, V]),
    ("dot dtypes", lambda m, t: t[0].dot(t[1]), [V, V.astype("float32")]),
    ("batches", lambda m, t: t[0] @ t[1], [W, drawn(2, 4, 4)]),
    ("batch sizes", lambda m, t: t[0] @ t[1], [W, drawn(3, 3, 4)]),
    ("bmm", lambda m, t: t[0].bmm(t[1]), [W, drawn(2, 4, 4)]),
    ("bmm rank", lambda m, t: t[0].bmm(t[1]), [W, A]),
    ("bmm sizes", lambda m, t: t[0].bmm(t[1]), [W, drawn(3, 3, 4)]),
    ("bmm dtypes", lambda m, t: t[0].bmm(t[1]), [W, drawn(2, 3, 4, dtype="float32")]),
    ("inner", lambda m, t: m.inner(t[0], t[1]), [A, U]),
    ("outer", lambda m, t: m.outer(t[0], t[1]), [A, V]),
    ("addmm", lambda m, t: m.addmm(t[0], t[0], t[1]), [A, B]),
    ("addmm addend", lambda m, t: m.addmm(t[0], t[1], t[2]), [U, A, drawn(3, 5)]),
    ("addmm dtypes", lambda m, t: m.addmm(t[0], t[1], t[1].T), [drawn(2, 2, dtype="float32"), A]),
    ("addmv", lambda m, t: m.addmv(t[0], t[1], t[2]), [U, A, V]),
    ("trace", lambda m, t: m.trace(t[0]), [V]),
    ("cross", lambda m, t: m.linalg.cross(t[0], t[0]), [B]),
    ("cross ranks", lambda m, t: m.linalg.cross(t[0], t[1]), [A, V]),
    ("multi_dot", lambda m, t: m.linalg.multi_dot([t[0], t[0]]), [A]),
    ("multi_dot one", lambda m, t: m.linalg.multi_dot([t[0]]), [A]),
    ("multi_dot rank", lambda m, t: m.linalg.multi_dot([t[0], t[1], t[0]]), [A, V]),
    ("tensordot", lambda m, t: m.tensordot(t[0], t[1], 1), [A, B]),
    ("tensordot negative", lambda m, t: m.tensordot(t[0], t[0], -1), [A]),
    ("linear", lambda m, t: m.nn.functional.linear(t[0], t[1]), [A, B]),
    ("linear bias", lambda m, t: m.nn.functional.linear(t[0], t[0], t[1]), [A, U]),
    ("linear dtypes", lambda m, t: m.nn.functional.linear(t[0], t[1]), [A, F32]),
    ("bilinear", lambda m, t: m.nn.functional.bilinear(t[0], t[0], t[1]), [A, drawn(4, 3, 2)]),
    ("einsum output", lambda m, t: m.einsum("ij->k", t[0]), [A]),
    ("einsum sizes", lambda m, t: m.einsum("ij,kj", t[0], t[1]), [A, B]),
    ("einsum rank", lambda m, t: m.einsum("i", t[0]), [A]),
    ("einsum twice", lambda m, t: m.einsum("i->ii", t[0]), [V]),
    ("einsum fewer", lambda m, t: m.einsum("ij,jk->ik", t[0]), [A]),
    ("einsum digit", lambda m, t: m.einsum("i1->i", t[0]), [A]),
    ("einsum dot", lambda m, t: m.einsum(".i->i", t[0]), [V]),
    ("einsum diagonal", lambda m, t: m.einsum("ii->i", t[0]), [A]),
    ("einsum none", lambda m, t: m.einsum("ij->i"), []),
    ("einsum range", lambda m, t: m.einsum(t[0], [0, 100], [0]), [A]),
    ("matmul number", lambda m, t: m.matmul(t[0], 3), [A]),
    ("operator number", lambda m, t: t[0] @ 3, [A]),
]


@pytest.mark.parametrize(("call", "arrays"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals(call: Any, arrays: list[Any]) -> None:
    refuse(call, arrays)


@pytest.mark.parametrize("shape", [(2, 1, 3, 2), (1, 3, 2), (2, 3, 3, 2), (1, 1, 3, 2), (3, 3, 2)], ids=str)
def test_a_change_after_a_batched_product_spoils_what_is_no_copy(shape: tuple[int, ...]) -> None:
    import chainrule

    outcomes = []
    for m in (chainrule, torch):
        a, b = m.ones(shape).requires_grad_() * 2, m.ones(2, 3, 2, 4, requires_grad=True)
        out = (a @ b).sum()
        a.mul_(2)
        try:
            out.backward()
            outcomes.append(b.grad.tolist())
        except RuntimeError as error:
            outcomes.append("modified by an inplace operation" in str(error))
    assert outcomes[0] == outcomes[1]
