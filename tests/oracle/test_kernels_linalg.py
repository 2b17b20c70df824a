"""Linear algebra against live PyTorch: values where they are unique, and every refusal."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
L = torch.linalg

from chainrule.backends.cpu import linalg as k  # noqa: E402
from chainrule.errors import LinAlgError  # noqa: E402


def t(x):
    return torch.from_numpy(np.array(x))


def matrix(shape, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    out = rng.standard_normal(shape)
    return (out + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else out).astype(dtype)


def same(ours, theirs, tolerance=1e-10):
    theirs = theirs.resolve_conj().numpy()
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 3, 3), (0, 0), (40, 40)])
def test_square(shape, dtype):
    a, b = matrix(shape, dtype=dtype), matrix((*shape[:-1], 2), 1, dtype)
    same(k.det(a), L.det(t(a)), 1e-6)
    for ours, theirs in zip(k.slogdet(a), L.slogdet(t(a))):
        same(ours, theirs)
    same(k.inv(a), L.inv(t(a)), 1e-8)
    same(k.solve(a, b), L.solve(t(a), t(b)), 1e-8)
    same(k.matrix_exp(a), L.matrix_exp(t(a)), 1e-6)
    same(k.matrix_power(a, 3), L.matrix_power(t(a), 3))
    for ours, theirs in zip(k.lu(a), L.lu(t(a))):
        same(ours, theirs)
    for ours, theirs in zip(k.lu_factor(a), L.lu_factor(t(a))):
        same(ours, theirs)
    positive = a @ a.swapaxes(-1, -2).conj() + np.eye(shape[-1])
    for upper in (False, True):
        same(k.cholesky(positive, upper), L.cholesky(t(positive), upper=upper), 1e-8)
    for uplo in ("L", "U"):
        same(k.eigh(a, uplo)[0], L.eigh(t(a), uplo)[0])
        same(k.eigvalsh(a, uplo), L.eigvalsh(t(a), uplo))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 3), (3, 0), (0, 4, 2)])
def test_oblong(shape, dtype):
    a = matrix(shape, dtype=dtype)
    for mode in ("reduced", "complete", "r"):
        for ours, theirs in zip(k.qr(a, mode), L.qr(t(a), mode)):
            same(np.abs(ours), theirs.abs())
    same(k.svdvals(a), L.svdvals(t(a)))
    for full in (False, True):
        for ours, theirs in zip(k.svd(a, full), L.svd(t(a), full)):
            assert ours.shape == tuple(theirs.shape)
    same(k.pinv(a), L.pinv(t(a)))
    same(k.pinv(a, rtol=0.5), L.pinv(t(a), rtol=0.5))
    for ours, theirs in zip(k.lu(a), L.lu(t(a))):
        same(ours, theirs)


@pytest.mark.parametrize("driver", [None, *k.DRIVERS])
@pytest.mark.parametrize("shape, b_shape", [((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 5, 3), (2, 5, 2)), ((5, 3), (5,))])
def test_least_squares(driver, shape, b_shape):
    a, b = matrix(shape), matrix(b_shape, 1)
    for ours, theirs in zip(k.lstsq(a, b, driver=driver), L.lstsq(t(a), t(b), driver=driver)):
        same(ours, theirs)


def test_vectors_and_broadcasting():
    a, b = matrix((2, 3, 3)), matrix((2, 3), 1)
    same(k.solve(a, b), L.solve(t(a), t(b)))
    same(k.solve(a[0], b[0]), L.solve(t(a[0]), t(b[0])))
    same(k.solve(a, matrix((3, 4))), L.solve(t(a), t(matrix((3, 4)))))
    lower = np.tril(a)
    same(
        k.solve_triangular(lower, matrix((3, 4)), False),
        L.solve_triangular(t(lower), t(matrix((3, 4))), upper=False),
    )


SINGULAR, NAN, OBLONG = np.array([[1.0, 2], [2, 4]]), np.full((2, 2), np.nan), np.ones((3, 2))
PAIR = np.stack([np.eye(2), SINGULAR])
INDEFINITE = np.array([[1.0, 2], [2, 1]])
ONE = np.ones((2, 1))

ERRORS = [
    (lambda m, c: m.inv(c(SINGULAR)), r"linalg.inv: The diagonal element 2 is zero, the inversion could not"),
    (lambda m, c: m.inv(c(np.zeros((1, 1)))), r"linalg.inv: The diagonal element 1 is zero"),
    (lambda m, c: m.inv(c(PAIR)), r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"),
    (lambda m, c: m.inv(c(OBLONG)), "A must be batches of square matrices, but they are 3 by 2 matrices"),
    (lambda m, c: m.inv(c(np.ones(3))), "linalg.inv: The input tensor A must have at least 2 dimensions"),
    (lambda m, c: m.inv(c(np.eye(2, dtype=int))), "linalg.inv: Expected a floating point or complex tensor"),
    (lambda m, c: m.inv(c(np.eye(2, dtype="e"))), "linalg.inv: Low precision dtypes not supported. Got Half"),
    (lambda m, c: m.det(c(np.eye(2, dtype="e"))), "\"lu_cpu\" not implemented for 'Half'"),
    (lambda m, c: m.slogdet(c(OBLONG)), "linalg.slogdet: A must be batches of square matrices"),
    (lambda m, c: m.solve(c(SINGULAR), c(ONE)), "linalg.solve: The solver failed because the input matrix i"),
    (lambda m, c: m.solve(c(PAIR), c(np.ones((2, 2, 1)))), r"\(Batch element 1\): The solver failed because"),
    (lambda m, c: m.solve(c(np.eye(2)), c(np.ones((3, 2)))), r"Incompatible shapes of A and B for the equat"),
    (lambda m, c: m.solve(c(np.eye(2)), c(ONE.astype("f"))), "same dtype, but found A of type Double and B"),
    (lambda m, c: m.cholesky(c(INDEFINITE)), r"not positive-definite \(the leading minor of order 2 is not"),
    (lambda m, c: m.cholesky(c(NAN)), r"the leading minor of order 1 is not positive-definite"),
    (lambda m, c: m.cholesky(c(np.stack([np.eye(2), INDEFINITE]))), r"linalg.cholesky: \(Batch element 1\):"),
    (lambda m, c: m.svd(c(NAN)), "linalg.svd: The algorithm failed to converge because the input matrix con"),
    (lambda m, c: m.eig(c(NAN)), "input tensor should not contain infs or NaNs"),
    (lambda m, c: m.eigh(c(np.eye(2)), "X"), "Expected UPLO argument to be 'L' or 'U', but got X"),
    (lambda m, c: m.qr(c(np.eye(2)), "foo"), "qr received unrecognized mode 'foo'"),
    (lambda m, c: m.lu(c(np.ones(3))), r"linalg.lu: Expected tensor with 2 or more dimensions. Got size: \["),
    (lambda m, c: m.lu_factor(c(np.zeros((2, 2)))), r"U\[1,1\] is zero and using it on lu_solve would resul"),
    (lambda m, c: m.matrix_power(c(SINGULAR), -1), "linalg.inv: The diagonal element 2 is zero"),
    (lambda m, c: m.pinv(c(np.eye(2, dtype=int))), "expected a tensor with 2 or more dimensions of float, d"),
    (lambda m, c: m.lstsq(c(OBLONG), c(OBLONG), driver="foo"), r"should be one of \(gels, gelsy"),
    (lambda m, c: m.lstsq(c(OBLONG), c(ONE)), r"input.size\(-2\) should match other.size\(-2\)"),
]  # fmt: skip


@pytest.mark.parametrize("call, phrase", ERRORS)
def test_errors(call, phrase):
    with pytest.raises((RuntimeError, NotImplementedError), match=phrase) as theirs:
        call(L, t)
    expected = LinAlgError if theirs.type is L.LinAlgError else theirs.type
    with pytest.raises(expected, match=phrase):
        call(k, np.array)
