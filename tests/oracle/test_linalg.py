"""Linear algebra against live PyTorch. Factors that are unique only up to signs are compared through what is unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

from tests.oracle.comparing import agree, refuse  # noqa: E402

inf = float("inf")


def drawn(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed + sum(shape))
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x, dtype)


def positive(*shape: int, dtype: str = "float64") -> Any:
    x = drawn(*shape, dtype=dtype)
    return np.asarray(x @ x.swapaxes(-1, -2).conj() + np.eye(shape[-1]), dtype)


def triangle(*shape: int, dtype: str = "float64") -> Any:
    return np.asarray(np.tril(drawn(*shape, dtype=dtype)) + 2 * np.eye(shape[-1]), dtype)


SQUARE = [(3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 3, 3)]
DTYPES = ["float64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_inverse_and_determinant(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    second = dtype == "float64"
    agree(lambda m, t: m.linalg.inv(t[0]), [x], second=second)
    agree(lambda m, t: m.inverse(t[0]), [x])
    agree(lambda m, t: m.linalg.inv_ex(t[0]), [x])
    agree(lambda m, t: m.linalg.det(t[0]), [x], second=second and 0 not in shape)
    agree(lambda m, t: m.linalg.slogdet(t[0]), [x], second=second and 0 not in shape)
    agree(lambda m, t: m.slogdet(t[0])[1], [x])
    if 0 not in shape:
        agree(lambda m, t: m.logdet(t[0]), [positive(*shape, dtype=dtype)])


def test_singular_determinant() -> None:
    for x in (np.zeros((2, 2)), np.ones((3, 3))):
        agree(lambda m, t: m.linalg.det(t[0]), [x], tol=1e-7)
    x = chainrule.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    x.det().backward()  # PyTorch says 0 here
    np.testing.assert_allclose(x.grad.numpy(), [[4, -2], [-2, 1]], rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype: str) -> None:
    a = drawn(3, 3, dtype=dtype)
    second = dtype == "float64"
    for b in (drawn(3, dtype=dtype), drawn(3, 2, dtype=dtype), drawn(2, 3, 4, dtype=dtype)):
        agree(lambda m, t: m.linalg.solve(t[0], t[1]), [a, b], second=second)
    agree(lambda m, t: m.linalg.solve(t[0], t[1], left=False), [a, drawn(2, 3, dtype=dtype)], second=second)
    batch = drawn(2, 3, 3, dtype=dtype)
    for b in (drawn(2, 3, dtype=dtype), drawn(3, 4, dtype=dtype), drawn(2, 3, 4, dtype=dtype), drawn(3, dtype=dtype)):
        agree(lambda m, t: m.linalg.solve(t[0], t[1]), [batch, b])
    agree(lambda m, t: m.linalg.solve_ex(t[0], t[1]), [a, drawn(3, dtype=dtype)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular(dtype: str) -> None:
    a, b = triangle(3, 3, dtype=dtype), drawn(3, 2, dtype=dtype)
    second = dtype == "float64"
    for unit in (False, True):
        agree(
            lambda m, t: m.linalg.solve_triangular(t[0], t[1], upper=False, unitriangular=unit), [a, b], second=second
        )
        agree(lambda m, t: m.linalg.solve_triangular(t[0], t[1], upper=True, unitriangular=unit), [a.T, b])
    agree(lambda m, t: m.linalg.solve_triangular(t[0], t[1], upper=False, left=False), [a, drawn(2, 3, dtype=dtype)])
    agree(lambda m, t: m.linalg.solve_triangular(t[0], t[1], upper=False), [triangle(2, 3, 3, dtype=dtype), b])
    for flags in ((True, False, False), (False, True, False), (True, True, True)):
        agree(lambda m, t: m.triangular_solve(t[1], t[0], *flags)[0], [a.T if flags[0] else a, b])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype: str) -> None:
    second = dtype == "float64"
    for shape in ((3, 3), (2, 3, 3), (0, 0)):
        a = positive(*shape, dtype=dtype)

        def free(m: Any, t: Any) -> Any:  # the imaginary part of the diagonal is 0, whatever a cotangent says
            factor = m.linalg.cholesky((t[0] + t[0].mH) / 2)
            return factor.tril(-1), factor.diagonal(0, -2, -1).real

        agree(free, [a], second=second)
        agree(lambda m, t: m.linalg.cholesky(t[0], upper=True), [a], grad=second)
        agree(lambda m, t: m.linalg.cholesky_ex(t[0]), [a], grad=second)
    low, b = np.linalg.cholesky(positive(3, 3, dtype=dtype)), drawn(3, 2, dtype=dtype)
    for upper in (False, True):
        factor = low.T.conj() if upper else low
        part = "triu" if upper else "tril"  # PyTorch's gradient of the other triangle, which is not read, is not 0
        agree(lambda m, t: m.cholesky_solve(t[0], getattr(t[1], part)(), upper), [b, factor], second=second)
        agree(lambda m, t: m.cholesky_inverse(getattr(t[0], part)(), upper), [factor], second=second)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 3, 3), (2, 4, 3)], ids=str)
def test_lu(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    second = dtype == "float64"
    agree(lambda m, t: m.linalg.lu(t[0]), [x], second=second)
    agree(lambda m, t: m.linalg.lu_factor(t[0]), [x], second=second)
    agree(lambda m, t: m.lu_unpack(*m.linalg.lu_factor(t[0])), [x])
    if shape[-1] == shape[-2]:
        b = drawn(*shape[:-1], 2, dtype=dtype)
        for left, adjoint in ((True, False), (True, True), (False, False), (False, True)):
            right = b if left else b.swapaxes(-1, -2).copy()
            agree(
                lambda m, t: m.linalg.lu_solve(*m.linalg.lu_factor(t[0]), t[1], left=left, adjoint=adjoint),
                [x, right],
                second=second,
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 4, 3)], ids=str)
def test_qr(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    agree(lambda m, t: m.linalg.qr(t[0]), [x], second=dtype == "float64" and shape[-2] >= shape[-1])
    agree(lambda m, t: m.linalg.qr(t[0], mode="r")[1], [x], grad=False)
    agree(lambda m, t: m.linalg.qr(t[0], mode="complete"), [x], grad=shape[-2] <= shape[-1])
    agree(lambda m, t: m.qr(t[0])[1], [x])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 4, 3)], ids=str)
def test_svd(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    second = dtype == "float64"
    agree(lambda m, t: m.linalg.svdvals(t[0]), [x], second=second)

    def invariant(m: Any, t: Any) -> Any:
        u, s, vh = m.linalg.svd(t[0], full_matrices=False)
        return s, u[..., :, :1] @ vh[..., :1, :], (u * s.unsqueeze(-2)) @ vh, u[..., :, :2] @ u[..., :, :2].mH

    agree(invariant, [x], second=second, tol=1e-8)

    def turned(m: Any, t: Any) -> Any:
        u, s, v = m.svd(t[0])
        return s, u[..., :, :1] @ v[..., :, :1].mH

    agree(turned, [x], tol=1e-8)
    agree(lambda m, t: m.linalg.svd(t[0])[1], [x])


@pytest.mark.parametrize("dtype", DTYPES)
def test_spectra(dtype: str) -> None:
    second = dtype == "float64"
    for shape in ((3, 3), (2, 3, 3)):
        a = positive(*shape, dtype=dtype)
        agree(lambda m, t: m.linalg.eigvalsh(t[0]), [a], second=second)
        agree(lambda m, t: m.linalg.eigvalsh(t[0], "U"), [a])

        def projectors(m: Any, t: Any) -> Any:
            values, vectors = m.linalg.eigh(t[0])
            return values, vectors[..., :, :1] @ vectors[..., :, :1].mH

        agree(projectors, [a], second=second, tol=1e-8)
        x = drawn(*shape, dtype=dtype)

        def powers(m: Any, t: Any) -> Any:
            values, vectors = m.linalg.eig(t[0])
            return (values**2).sum(-1), (vectors * (values**2).unsqueeze(-2)) @ m.linalg.inv(vectors)

        agree(powers, [x], tol=1e-8)
        agree(lambda m, t: (m.linalg.eigvals(t[0]) ** 3).sum(-1), [x], tol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 4, 3)], ids=str)
def test_least_squares(shape: tuple[int, ...], dtype: str) -> None:
    a, b = drawn(*shape, dtype=dtype), drawn(*shape[:-1], 2, dtype=dtype)
    second = dtype == "float64"
    agree(lambda m, t: m.linalg.pinv(t[0]), [a], second=second, tol=1e-8)
    agree(lambda m, t: m.linalg.pinv(t[0], rtol=0.3), [a], grad=False)
    agree(lambda m, t: m.linalg.lstsq(t[0], t[1])[0], [a, b], second=second, tol=1e-8)
    agree(lambda m, t: m.linalg.lstsq(t[0], t[1], driver="gelsd"), [a, b], grad=False, tol=1e-8)
    agree(lambda m, t: m.linalg.matrix_rank(t[0]), [a])
    agree(lambda m, t: m.linalg.matrix_rank(t[0], tol=1.0), [a])
    agree(lambda m, t: m.linalg.matrix_rank(t[0], atol=1.0, rtol=0.1), [a])
    if shape[-1] == shape[-2]:
        agree(lambda m, t: m.linalg.pinv(t[0], hermitian=True), [positive(*shape, dtype=dtype)], tol=1e-8)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ldl(dtype: str, hermitian: bool) -> None:
    """The factors and pivots are LAPACK's own, blocks of two rows among them."""
    for n in (0, 1, 2, 5, 12):
        x = drawn(2, n, n, dtype=dtype)
        x = x + (x.conj() if hermitian else x).swapaxes(-1, -2)
        x[:, range(n), range(n)] *= 0.1
        b = drawn(2, n, 2, dtype=dtype)

        def solved(m: Any, t: Any) -> Any:
            packed, pivots, info = m.linalg.ldl_factor_ex(t[0], hermitian=hermitian)
            return packed, pivots, info, m.linalg.ldl_solve(packed, pivots, t[1], hermitian=hermitian)

        agree(solved, [x, b], grad=False, tol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_and_exponentials(dtype: str) -> None:
    x = drawn(3, 3, dtype=dtype)
    for n in (0, 1, 2, 3, 5, -1, -2):
        agree(lambda m, t: m.linalg.matrix_power(t[0], n), [x], second=dtype == "float64" and n > 1, tol=1e-8)
    agree(lambda m, t: m.linalg.matrix_exp(t[0]), [x], second=dtype == "float64", tol=1e-8)
    agree(lambda m, t: m.matrix_exp(t[0]), [drawn(2, 3, 3, dtype=dtype) * 4], tol=1e-8)


def test_reflectors() -> None:
    for shape, k in (((4, 3), 3), ((4, 3), 2), ((2, 4, 3), 3)):
        agree(
            lambda m, t: m.linalg.householder_product(t[0], t[1]), [drawn(*shape), drawn(*shape[:-2], k)], second=True
        )
    agree(lambda m, t: m.geqrf(t[0]), [drawn(4, 3)], grad=False)
    for left, transpose in ((True, False), (True, True), (False, False), (False, True)):
        other = drawn(4, 2) if left else drawn(2, 4)
        agree(lambda m, t: m.ormqr(t[0], t[1], t[2], left, transpose), [drawn(4, 3), drawn(3), other])


def test_tensors() -> None:
    agree(lambda m, t: m.linalg.tensorinv(t[0], 1), [drawn(6, 2, 3)])
    agree(lambda m, t: m.linalg.tensorsolve(t[0], t[1]), [drawn(2, 3, 6), drawn(2, 3)])
    agree(lambda m, t: m.linalg.tensorsolve(t[0], t[1], dims=(0,)), [drawn(6, 2, 3), drawn(2, 3)])
    agree(lambda m, t: m.linalg.vander(t[0]), [drawn(4)], second=True)
    agree(lambda m, t: m.linalg.vander(t[0], N=2), [drawn(2, 4)])
    agree(lambda m, t: m.linalg.vecdot(t[0], t[1]), [drawn(2, 3), drawn(3)], second=True)
    agree(
        lambda m, t: m.linalg.vecdot(t[0], t[1], dim=0),
        [drawn(2, 3, dtype="complex128"), drawn(2, 3, seed=1, dtype="complex128")],
    )
    agree(lambda m, t: m.linalg.diagonal(t[0]), [drawn(2, 3, 4)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_of_matrices(dtype: str) -> None:
    for shape, dim in (((3, 4), (-2, -1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (2, 0))):
        x = drawn(*shape, dtype=dtype)
        for order in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
            for keepdim in (False, True):
                agree(lambda m, t: m.linalg.matrix_norm(t[0], order, dim, keepdim), [x], tol=1e-8)
                agree(lambda m, t: m.linalg.norm(t[0], order, dim, keepdim), [x], tol=1e-8)
    x = drawn(3, 4, dtype=dtype)
    for order in (None, 1, 2, "fro", "nuc", inf):
        agree(lambda m, t: m.linalg.norm(t[0], order), [x], tol=1e-8)
    agree(lambda m, t: m.linalg.norm(t[0], 3), [x[0]])
    agree(lambda m, t: m.norm(t[0], "nuc"), [x], tol=1e-8)
    agree(lambda m, t: m.norm(t[0], "nuc", (0, 1), True), [x], tol=1e-8)
    for p in (None, 2, -2):
        agree(lambda m, t: m.linalg.cond(t[0], p), [x], tol=1e-8)
    for p in ("fro", "nuc", 1, -1, inf, -inf):
        agree(
            lambda m, t: m.linalg.cond(t[0], p), [drawn(3, 3, dtype=dtype)], tol=1e-7, grad=False
        )  # PyTorch's backward fails


def test_single_precision() -> None:
    a, b = drawn(3, 3, dtype="float32"), drawn(3, 2, dtype="float32")
    agree(lambda m, t: m.linalg.solve(t[0], t[1]), [a, b], tol=1e-4)
    agree(lambda m, t: m.linalg.cholesky(t[0]), [positive(3, 3).astype("float32")], tol=1e-4)
    agree(lambda m, t: m.linalg.svdvals(t[0]), [a], tol=1e-4)
    agree(lambda m, t: m.linalg.eigvalsh(t[0]), [positive(3, 3).astype("float32")], tol=1e-4)


REFLECTED = [
    (True, (10,), (2,), (2,)), (True, (2, 2), (2,), (2,)), (True, (6, 6), (5,), (5, 5)),
    (True, (1, 2, 2), (2, 2), (1, 2, 2)), (True, (1, 2, 2), (1, 2), (2, 2, 2)), (False, (2, 4, 3), (2, 2), (2, 3, 10)),
    (True, (4, 3), (2,), (4, 4)),
]  # fmt: skip
EQUATIONS = ["a->... .", "a->..", "... ...", "a->$", "a->a->a", "a,$"]


def _of_pivots(m: Any, t: Any, call: str, pivot: int) -> Any:
    pivots = m.tensor([pivot, 2, 3], dtype=m.int32)
    return m.lu_unpack(t, pivots) if call == "lu_unpack" else getattr(m.linalg, call[7:])(t, pivots, t)


X, V, Z, I = drawn(2, 3), drawn(3), np.zeros((3, 3)), np.arange(4).reshape(2, 2)
S = drawn(3, 3)
C = drawn(3, 3, dtype="complex128")
REFUSED: list[tuple[str, Any, list[Any]]] = [
    *(
        (f"{n} shape", lambda m, t, n=n: getattr(m.linalg, n)(t[0]), [X])
        for n in ("inv", "det", "cholesky", "eigh", "eig", "matrix_exp")
    ),
    *(
        (f"{n} rank", lambda m, t, n=n: getattr(m.linalg, n)(t[0]), [V])
        for n in ("inv", "qr", "svd", "lu", "lu_factor", "pinv", "matrix_rank", "cond")
    ),
    ("inv singular", lambda m, t: m.linalg.inv(t[0]), [Z]),
    ("inv batch", lambda m, t: m.linalg.inv(t[0]), [np.stack([np.eye(3), Z])]),
    ("inv int", lambda m, t: m.linalg.inv(t[0]), [I]),
    ("det int", lambda m, t: m.linalg.det(t[0]), [I]),
    ("cholesky", lambda m, t: m.linalg.cholesky(t[0]), [-np.eye(3)]),
    ("solve singular", lambda m, t: m.linalg.solve(t[0], t[1]), [Z, V]),
    ("solve shapes", lambda m, t: m.linalg.solve(t[0], t[1]), [S, drawn(4)]),
    ("solve dtypes", lambda m, t: m.linalg.solve(t[0], t[1]), [S, V.astype("float32")]),
    ("solve_triangular rank", lambda m, t: m.linalg.solve_triangular(t[0], t[1], upper=True), [S, V]),
    ("qr mode", lambda m, t: m.linalg.qr(t[0], mode="foo"), [X]),
    ("uplo", lambda m, t: m.linalg.eigh(t[0], "a"), [S]),
    ("eig infinite", lambda m, t: m.linalg.eig(t[0]), [S * inf]),
    ("lu_factor singular", lambda m, t: m.linalg.lu_factor(t[0]), [Z]),
    ("lu pivot", lambda m, t: m.linalg.lu(t[0], pivot=False), [X]),
    ("lstsq driver", lambda m, t: m.linalg.lstsq(t[0], t[1], driver="foo"), [X, drawn(2, 1)]),
    ("tensorinv", lambda m, t: m.linalg.tensorinv(t[0]), [X]),
    ("tensorinv ind", lambda m, t: m.linalg.tensorinv(t[0], ind=0), [S]),
    ("householder", lambda m, t: m.linalg.householder_product(t[0], t[1]), [X, V]),
    ("matrix_norm order", lambda m, t: m.linalg.matrix_norm(t[0], 3), [X]),
    ("matrix_norm word", lambda m, t: m.linalg.matrix_norm(t[0], "foo"), [X]),
    ("matrix_norm rank", lambda m, t: m.linalg.matrix_norm(t[0]), [V]),
    ("matrix_norm dims", lambda m, t: m.linalg.matrix_norm(t[0], dim=(0, 0)), [X]),
    ("norm dims", lambda m, t: m.linalg.norm(t[0], 2, dim=(0, 1, 0)), [X]),
    ("norm rank", lambda m, t: m.linalg.norm(t[0], "fro"), [drawn(2, 2, 2)]),
    ("vector_norm word", lambda m, t: m.linalg.vector_norm(t[0], "fro"), [X]),
    ("matrix_power", lambda m, t: m.linalg.matrix_power(t[0], 2), [X]),
    ("cond", lambda m, t: m.linalg.cond(t[0], "fro"), [X]),
    ("vander", lambda m, t: m.linalg.vander(t[0], N=0), [V]),
    ("cholesky_solve", lambda m, t: m.cholesky_solve(t[0], t[1]), [V, S]),
    ("vector_norm order", lambda m, t: m.linalg.vector_norm(t[0], 1j), [X]),
    ("lstsq dtypes", lambda m, t: m.linalg.lstsq(t[0], t[1].long()), [S, S]),
    ("tensorsolve", lambda m, t: m.linalg.tensorsolve(t[0], t[1]), [drawn(2, 3, 6), S]),
    ("householder dtypes", lambda m, t: m.linalg.householder_product(t[0], t[1]), [S, V.astype("float32")]),
    *(
        (f"ormqr {n}", lambda m, t, left=left: m.ormqr(t[0], t[1], t[2], left), [drawn(*shape) for shape in shapes])
        for n, (left, *shapes) in enumerate(REFLECTED)
    ),
    *(
        (f"{call} {pivot}", lambda m, t, call=call, pivot=pivot: _of_pivots(m, t[0], call, pivot), [S])
        for call in ("lu_unpack", "linalg.lu_solve", "linalg.ldl_solve")
        for pivot in (0, 4)
    ),
    *(
        (
            f"{call} {name}",
            lambda m, t, call=call, name=name: getattr(m.linalg, call)(t[0], **{name: t[0][0, 0] * 1j}),
            [S],
        )
        for call in ("pinv", "matrix_rank")
        for name in ("atol", "rtol")
    ),
    ("cross out", lambda m, t: m.linalg.cross(t[0], t[1], out=t[0]), [S, S]),
    ("ldl shape", lambda m, t: m.linalg.ldl_factor_ex(t[0]), [X]),
    ("ldl int", lambda m, t: m.linalg.ldl_factor_ex(t[0]), [I]),
    ("ldl_solve shapes", lambda m, t: m.linalg.ldl_solve(t[0], t[1].int(), t[2]), [S, V, drawn(2, 1)]),
    ("ldl_solve pivots", lambda m, t: m.linalg.ldl_solve(t[0], t[1].int(), t[0]), [S, drawn(2)]),
    ("ldl_solve floats", lambda m, t: m.linalg.ldl_solve(t[0], t[1], t[0]), [S, V]),
    ("pca_lowrank", lambda m, t: m.pca_lowrank(t[0], 9), [X]),
    ("pca_lowrank steps", lambda m, t: m.pca_lowrank(t[0], niter=-1), [X]),
    ("svd phase", lambda m, t: m.linalg.svd(t[0].requires_grad_())[0].sum().abs().backward(), [C]),
    ("eig phase", lambda m, t: m.linalg.eig(t[0].requires_grad_())[1].sum().abs().backward(), [C]),
    *((f"einsum {e}", lambda m, t, e=e: m.einsum(e, *t), [V]) for e in EQUATIONS),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_lowrank(dtype: str) -> None:
    """The random vectors are PyTorch's, so that even what is not the whole truth agrees; signs are free."""

    def whole(m: Any, found: Any) -> Any:
        U, S, V = found
        return S, (U * S.unsqueeze(-2)) @ V.mH

    for shape in ((6, 4), (4, 6), (2, 7, 5)):
        x = drawn(*shape, dtype=dtype)

        def svd(m: Any, t: Any) -> Any:
            m.manual_seed(1)
            return whole(m, m.svd_lowrank(t[0], 3)), whole(m, m.svd_lowrank(t[0], 2, niter=0, M=t[0] * 0.5))[0]

        def pca(m: Any, t: Any) -> Any:
            m.manual_seed(1)
            return *whole(m, m.pca_lowrank(t[0], 2)), whole(m, m.pca_lowrank(t[0], center=False))[0]

        agree(lambda m, t: (*svd(m, t)[0], svd(m, t)[1]), [x], tol=1e-7)
        agree(pca, [x], tol=1e-7)


def test_extremes_and_dtypes_that_meet() -> None:
    x, v = drawn(3, 3), drawn(3)
    for k in (2**63 - 1, -(2**63)):
        agree(lambda m, t, k=k: (m.triu(t[0], k), m.tril(t[0], k)), [x])
    for a, b, c in (("float16", "int64", "float16"), ("int32", "float32", "bool"), ("complex64", "int64", "float16")):
        agree(lambda m, t: m.addr(*t), [x.astype(a), v.astype(b), v.astype(c)], grad=False, tol=1e-2)
    agree(lambda m, t: m.tensordot(t[0], t[0], 1, out=m.empty(1, dtype=t[0].dtype)) * 2, [x])
    one = np.ones((1, 1))
    agree(lambda m, t: m.linalg.lstsq(t[0], t[0], rcond=1.0, driver="gelsd")[0], [one], grad=False)


@pytest.mark.parametrize(("call", "arrays"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals(call: Any, arrays: list[Any]) -> None:
    refuse(call, arrays)


@pytest.mark.parametrize(
    "name", ["det", "slogdet", "inv_ex", "cholesky_ex", "qr", "eigh", "svd", "matrix_exp", "pinv", "eig"]
)
@pytest.mark.parametrize("shape", [(2, 2), (3,), (0, 4)])
def test_a_batch_of_vectors_is_no_matrix(name: str, shape: tuple[int, ...]) -> None:
    for package in (torch, chainrule):
        with pytest.raises(RuntimeError, match="2 (dimensions|or more dimensions)"):
            package.func.vmap(getattr(package.linalg, name))(package.ones(*shape))
