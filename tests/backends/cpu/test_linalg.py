"""Factorisations multiply back, and solutions solve."""

import numpy as np
import pytest

from chainrule.backends.cpu import linalg as k
from chainrule.errors import LinAlgError

SHAPES = [(1, 1), (3, 3), (2, 5, 5), (0, 3, 3), (2, 0, 0), (70, 70), (2, 3, 4, 4)]
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    out = rng.standard_normal(shape)
    return (out + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else out).astype(dtype)


def close(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    tolerance = 2e-3 if np.finfo(a.dtype).eps > 1e-10 else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (3, 5), (5, 3), (2, 40, 70), (3, 0), (0, 4, 2)])
def test_factors_multiply_back(shape, dtype):
    a = matrix(shape, dtype)
    p, lower, upper = k.lu(a)
    close(p @ lower @ upper, a)
    assert (np.abs(lower) <= 1.5).all()
    q, r = k.qr(a)
    close(q @ r, a)
    u, s, vh = k.svd(a, False)
    close((u * s[..., None, :]).astype(dtype) @ vh, a)
    close(a @ k.pinv(a) @ a, a)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_square_matrices(shape, dtype):
    a, n = matrix(shape, dtype), shape[-1]
    identity = np.broadcast_to(np.eye(n, dtype=dtype), shape)
    close(a @ k.inv(a), identity)
    b = matrix((*shape[:-1], 3), dtype, 1)
    close(a @ k.solve(a, b), b)
    close(k.solve(a, adjoint(b), left=False) @ a, adjoint(b))
    positive = a @ adjoint(a) + n * identity
    factor = k.cholesky(positive)
    close(factor @ adjoint(factor), positive)
    close(k.cholesky(positive, upper=True), adjoint(factor))
    close(positive @ k.cholesky_solve(b, factor), b)
    values, vectors = k.eigh(positive)
    close(positive @ vectors, (vectors * values[..., None, :]).astype(dtype))
    values, vectors = k.eig(a)
    close((a @ vectors).astype(values.dtype), vectors * values[..., None, :])
    packed, pivots = k.lu_factor(a)
    for left in (True, False):
        for turned in (True, False):
            wanted = b if left else adjoint(b)
            x = k.lu_solve(packed, pivots, wanted, left, turned)
            whole = adjoint(a) if turned else a
            close(whole @ x if left else x @ whole, wanted)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems_read_one_triangle(dtype, upper, left, unit):
    a = matrix((2, 5, 5), dtype) + 4 * np.eye(5, dtype=dtype)
    a[..., 0, 4] *= 9
    b = matrix((2, 5, 3) if left else (2, 3, 5), dtype, 1)
    whole = np.triu(a) if upper else np.tril(a)
    if unit:
        whole[..., range(5), range(5)] = 1
    x = k.solve_triangular(a, b, upper, left, unit)
    close(whole @ x if left else x @ whole, b)


def test_a_zero_on_the_diagonal_gives_infinities():
    x = k.solve_triangular(np.zeros((2, 2)), np.ones((2, 1)), upper=True)
    assert np.isnan(x[0, 0]) and x[1, 0] == np.inf


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1e-3, 1, 30])
def test_exponentials(dtype, size):
    a = size * matrix((3, 4, 4), dtype) / 4
    values, vectors = np.linalg.eig(a.astype(np.complex128))
    exact = (vectors * np.exp(values)[..., None, :]) @ np.linalg.inv(vectors)
    ours = k.matrix_exp(a)
    assert ours.dtype == dtype
    scale = np.abs(exact).max((-1, -2), keepdims=True)
    np.testing.assert_allclose(ours / scale, exact / scale, atol=1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11)


def test_powers():
    a = np.array([[2, 1], [1, 1]])
    assert (k.matrix_power(a, 5) == a @ a @ a @ a @ a).all()
    np.testing.assert_allclose(k.matrix_power(a.astype("d"), -2) @ a @ a, np.eye(2), atol=1e-12)
    assert (k.matrix_power(a, 0) == np.eye(2)).all()


@pytest.mark.parametrize("driver", [None, *k.DRIVERS])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 6, 3), (4, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_least_squares(driver, shape, dtype):
    a, b = matrix(shape, dtype), matrix((*shape[:-1], 2), dtype, 1)
    x = k.lstsq(a, b, driver=driver)[0]
    np.testing.assert_allclose(adjoint(a) @ (a @ x - b), 0, atol=1e-10)
    np.testing.assert_allclose(x, k.pinv(a) @ b, atol=1e-10)


def test_info_says_where():
    a = np.stack([np.eye(2), [[1.0, 2], [2, 4]]])
    inverse, info = k.inv_ex(a)
    assert info.tolist() == [0, 2] and (inverse[0] == np.eye(2)).all() and np.isinf(inverse[1]).all()
    assert k.solve_ex(a, np.ones((2, 2, 1)))[1].tolist() == [0, 2]
    factor, info = k.cholesky_ex(np.stack([np.eye(2), [[1.0, 2], [2, 1]]]))
    assert info.tolist() == [0, 2] and (factor[0] == np.eye(2)).all()
    assert k.lu_factor_ex(a)[2].tolist() == [0, 2]
    with pytest.raises(LinAlgError):
        k.inv(a)
