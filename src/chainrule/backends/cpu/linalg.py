"""Linear algebra over batches of matrices: LAPACK through NumPy, with PyTorch's refusals and conventions.

Each function takes arrays of shape (*batch, rows, columns), empty ones included. Those that can fail on the
values have an `_ex` form that returns an int32 `info` per matrix in place of an exception: 0, or the
1-based pivot or leading minor at which LAPACK would have stopped. NumPy has no LU factorisation to offer;
the one here is ours.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from chainrule.backends.cpu._array import Array, is_half, through_float32, title
from chainrule.errors import LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "geqrf",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
]


# --------------------------------------------------------------------------------------------------- refusals


def _require_matrix(a: Array, name: str, argument: str = "A") -> None:
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def _require_square(a: Array, name: str) -> None:
    _require_matrix(a, name)
    rows, columns = a.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def _require_floating(a: Array, name: str) -> None:
    if not is_half(a.dtype) and a.dtype.kind not in "fc":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {title(a)}")


def _require_wide(a: Array, name: str) -> None:
    _require_floating(a, name)
    if is_half(a.dtype):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {title(a)}")


def _require_implemented(a: Array, routine: str) -> None:
    if a.dtype.kind not in "fc" or is_half(a.dtype):
        raise NotImplementedError(f"\"{routine}\" not implemented for '{title(a)}'")


def _raise_at(name: str, info: Array, text: str) -> None:
    """Raise for the first matrix whose `info` is not zero; `text` may name it."""
    failed = np.flatnonzero(info)
    if not failed.size:
        return
    which = f"(Batch element {failed[0]}): " if info.ndim else ""
    raise LinAlgError(f"{name}: {which}{text.format(info.reshape(-1)[failed[0]])}")


def _transposed(a: Array) -> Array:
    return a.swapaxes(-1, -2)


def _adjoint(a: Array) -> Array:
    return a.swapaxes(-1, -2).conj()


def _square_matrices(a: Array) -> Array:
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


# ------------------------------------------------------------------------------------------------- triangular


def _substitute_back(u: Array, b: Array) -> Array:
    """The solution of an upper triangular system, with a zero on the diagonal giving infinities."""
    x = b.astype(np.result_type(u, b), copy=True)
    with np.errstate(all="ignore"):
        for row in range(u.shape[-1] - 1, -1, -1):
            tail = np.matmul(u[..., row : row + 1, row + 1 :], x[..., row + 1 :, :])
            x[..., row : row + 1, :] = (x[..., row : row + 1, :] - tail) / u[..., row, row, None, None]
    return x


def _solve_upper(u: Array, b: Array) -> Array:
    # LAPACK's LU of an upper triangle finds nothing to eliminate and goes straight to substitution.
    try:
        return np.linalg.solve(u, b)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(u.shape[:-2], b.shape[:-2])
        return _substitute_back(u, np.broadcast_to(b, batch + b.shape[-2:]))


def _require_equation(a: Array, b: Array, left: bool, name: str) -> None:
    if b.shape[-2 if left else -1] != a.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        shapes = f"{a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]}"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({shapes})")


def _triangle(a: Array, upper: bool, unitriangular: bool) -> Array:
    part = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        diagonal = np.arange(a.shape[-1])
        part[..., diagonal, diagonal] = 1
    return part


def _solve_triangle(a: Array, b: Array, upper: bool, unitriangular: bool = False) -> Array:
    part = _triangle(a, upper, unitriangular)
    if upper:
        return _solve_upper(part, b)
    return np.flip(_solve_upper(np.flip(part, (-1, -2)), np.flip(b, -2)), -2)


def solve_triangular(a: Array, b: Array, upper: bool, left: bool = True, unitriangular: bool = False) -> Array:
    """X with a @ X = b (or X @ a = b), reading one triangle of a, with or without its diagonal."""
    name = "linalg.solve_triangular"
    _require_square(a, name)
    _require_matrix(b, name, "B")
    _require_equation(a, b, left, name)
    _require_implemented(a, "triangular_solve_cpu")
    if left:
        return _solve_triangle(a, b, upper, unitriangular)
    return _transposed(_solve_triangle(_transposed(a), _transposed(b), not upper, unitriangular))


# --------------------------------------------------------------------------------------------------------- LU

# Columns factored one by one before the rest is updated with a matrix product.
PANEL = 32


def _swap_rows(work: Array, row: int, other: Array) -> None:
    batch = np.arange(len(work))
    kept = work[:, row].copy()
    work[:, row] = work[batch, other]
    work[batch, other] = kept


def _factor_panel(work: Array, pivots: Array, start: int, stop: int) -> None:
    for j in range(start, stop):
        column = work[:, j:, j]
        # LAPACK measures complex pivots so; the choice decides the factors.
        size = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
        chosen = j + size.argmax(1)
        pivots[:, j] = chosen + 1
        _swap_rows(work, j, chosen)
        pivot = work[:, j, j]
        work[:, j + 1 :, j] /= np.where(pivot == 0, 1, pivot)[:, None]
        work[:, j + 1 :, j + 1 : stop] -= work[:, j + 1 :, j, None] * work[:, j, None, j + 1 : stop]


def _factor(work: Array, pivots: Array) -> None:
    """LU in place, with partial pivoting, a panel of columns at a time."""
    for start in range(0, pivots.shape[1], PANEL):
        stop = min(start + PANEL, pivots.shape[1])
        _factor_panel(work, pivots, start, stop)
        if stop < work.shape[2]:
            corner = work[:, start:stop, start:stop]
            work[:, start:stop, stop:] = _solve_triangle(corner, work[:, start:stop, stop:], False, True)
            work[:, stop:, stop:] -= np.matmul(work[:, stop:, start:stop], work[:, start:stop, stop:])


def _first_zero_pivot(packed: Array) -> Array:
    diagonal = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    if not diagonal.shape[-1]:
        return np.zeros(diagonal.shape[:-1], np.int32)
    return np.where(diagonal.any(-1), diagonal.argmax(-1) + 1, 0).astype(np.int32)


def lu_factor_ex(a: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """L (below) and U (above the diagonal) in one array, the row each step swapped with, and info."""
    if a.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead"
        )
    _require_implemented(a, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    rank = min(a.shape[-2:])
    work = _square_matrices(a).copy()
    pivots = np.empty((len(work), rank), np.int32)
    with np.errstate(all="ignore"):
        _factor(work, pivots)
    packed = work.reshape(a.shape)
    return packed, pivots.reshape(*a.shape[:-2], rank), _first_zero_pivot(packed)


def lu_factor(a: Array, pivot: bool = True) -> tuple[Array, Array]:
    """lu_factor_ex, refusing a zero pivot."""
    packed, pivots, info = lu_factor_ex(a, pivot)
    text = (
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want "
        "to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )
    _raise_at("torch.linalg.lu_factor", info, text)
    return packed, pivots


def _permutation(pivots: Array, rows: int) -> Array:
    """Which row of the matrix each row of L @ U is, from the swaps in their order."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    for step in range(flat.shape[1]):
        _swap_rows(order, step, flat[:, step] - 1)
    return order.reshape(*pivots.shape[:-1], rows)


def lu_unpack(packed: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """P, L and U with P @ L @ U the matrix that was factored."""
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    packed = np.ascontiguousarray(packed)
    lower, upper = _triangle(packed[..., :rank], False, False), np.triu(packed[..., :rank, :])
    diagonal = np.arange(rank)
    lower[..., diagonal, diagonal] = 1
    order = _permutation(pivots, rows)
    swap = (np.arange(rows)[:, None] == order[..., None, :]).astype(packed.dtype)
    return swap, lower, upper


def lu(a: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """P, L and U with a = P @ L @ U."""
    if a.ndim < 2:
        shape = list(a.shape)
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {shape} instead")
    packed, pivots, _ = lu_factor_ex(a, pivot)
    return lu_unpack(packed, pivots)


def lu_solve(packed: Array, pivots: Array, b: Array, left: bool = True, adjoint: bool = False) -> Array:
    """X with A @ X = b (or X @ A = b) for the factored A, or for its adjoint."""
    _require_square(packed, "torch.linalg.lu_solve")
    _require_equation(packed, b, left, "linalg.lu_solve")
    if not left:
        return _adjoint(lu_solve(packed, pivots, _adjoint(b), True, not adjoint))
    swap, lower, upper = lu_unpack(packed, pivots)
    if not adjoint:
        return _solve_upper(upper, _solve_triangle(lower, np.matmul(_transposed(swap), b), False, True))
    half = _solve_triangle(_adjoint(upper), b, False)
    return np.asarray(np.matmul(swap, _solve_triangle(_adjoint(lower), half, True, True)))


# ---------------------------------------------------------------------------------- inverses and determinants


def det(a: Array) -> Array:
    """The determinant."""
    _require_square(a, "linalg.det")
    _require_floating(a, "linalg.det")
    _require_implemented(a, "lu_cpu")
    return np.asarray(np.linalg.det(a))


def slogdet(a: Array) -> tuple[Array, Array]:
    """The determinant's sign (or phase) and the logarithm of its size."""
    _require_square(a, "linalg.slogdet")
    _require_wide(a, "linalg.slogdet")
    sign, size = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(size)


def _singular(a: Array) -> Array:
    return lu_factor_ex(a)[2]


def inv_ex(a: Array) -> tuple[Array, Array]:
    """The inverse, infinite where there is none, and info."""
    _require_square(a, "linalg.inv")
    _require_wide(a, "linalg.inv")
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = _singular(a)
        safe = np.where(info[..., None, None] == 0, a, np.eye(a.shape[-1], dtype=a.dtype))
        return np.where(info[..., None, None] == 0, np.linalg.inv(safe), np.inf).astype(a.dtype), info


_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


def inv(a: Array) -> Array:
    """The inverse."""
    inverse, info = inv_ex(a)
    _raise_at("linalg.inv", info, _SINGULAR)
    return inverse


def _is_vector(a: Array, b: Array) -> bool:
    """Whether b is a batch of vectors, rather than of matrices: PyTorch's rule."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def solve_ex(a: Array, b: Array, left: bool = True) -> tuple[Array, Array]:
    """X with a @ X = b (or X @ a = b), infinite where there is none, and info."""
    _require_square(a, "linalg.solve")
    _require_floating(a, "linalg.solve")
    _require_implemented(a, "lu_cpu")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, "
            f"but found A of type {title(a)} and B of type {title(b)} instead"
        )
    if _is_vector(a, b):
        found, info = solve_ex(a, b[..., None], True)
        return found[..., 0], info
    _require_equation(a, b, left, "linalg.solve")
    if not left:
        found, info = solve_ex(_transposed(a), _transposed(b))
        return _transposed(found), info
    try:
        return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = _singular(a)
        safe = np.where(info[..., None, None] == 0, a, np.eye(a.shape[-1], dtype=a.dtype))
        return np.where(info[..., None, None] == 0, np.linalg.solve(safe, b), np.inf).astype(a.dtype), info


def solve(a: Array, b: Array, left: bool = True) -> Array:
    """X with a @ X = b, or X @ a = b."""
    found, info = solve_ex(a, b, left)
    _raise_at("torch.linalg.solve", info, "The solver failed because the input matrix is singular.")
    return found


def matrix_power(a: Array, n: int) -> Array:
    """a multiplied with itself n times; its inverse for a negative n."""
    _require_square(a, "linalg.matrix_power")
    if n < 0:
        return matrix_power(inv(a), -n)
    return _nonnegative_power(a, n)


@through_float32
def _nonnegative_power(a: Array, n: int) -> Array:
    return np.linalg.matrix_power(a, n)


# --------------------------------------------------------------------------------------------------- Cholesky


def _failing_minor(a: Array) -> int:
    """The order of the first leading minor that is not positive definite; 0 for none."""
    for order in range(1, len(a) + 1):
        try:
            if np.isnan(np.linalg.cholesky(a[:order, :order])[-1, -1]):
                return order
        except np.linalg.LinAlgError:
            return order
    return 0


def cholesky_ex(a: Array, upper: bool = False) -> tuple[Array, Array]:
    """The lower (or upper) factor, NaN where there is none, and info; only that triangle of a is read."""
    _require_square(a, "linalg.cholesky")
    _require_floating(a, "linalg.cholesky")
    _require_implemented(a, "cholesky_cpu")
    source = _adjoint(a) if upper else a
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        factor = np.linalg.cholesky(source)
    except np.linalg.LinAlgError:
        factor = np.full_like(source, np.nan)
    if np.isnan(factor).any():
        factor, info = _cholesky_one_by_one(source)
    return (_adjoint(factor) if upper else factor), info


def _cholesky_one_by_one(a: Array) -> tuple[Array, Array]:
    matrices = _square_matrices(a)
    factors, info = np.full_like(matrices, np.nan), np.zeros(len(matrices), np.int32)
    for i, matrix in enumerate(matrices):
        info[i] = _failing_minor(matrix)
        if not info[i]:
            factors[i] = np.linalg.cholesky(matrix)
    return factors.reshape(a.shape), info.reshape(a.shape[:-2])


def cholesky(a: Array, upper: bool = False) -> Array:
    """L with a = L @ L.H, or U with a = U.H @ U."""
    factor, info = cholesky_ex(a, upper)
    text = (
        "The factorization could not be completed because the input is not positive-definite "
        "(the leading minor of order {} is not positive-definite)."
    )
    _raise_at("linalg.cholesky", info, text)
    return factor


def cholesky_solve(b: Array, factor: Array, upper: bool = False) -> Array:
    """X with A @ X = b, from the Cholesky factor of A."""
    _require_square(factor, "cholesky_solve")
    _require_implemented(factor, "cholesky_solve_cpu")
    lower = _adjoint(factor) if upper else factor
    return _solve_triangle(_adjoint(lower), _solve_triangle(lower, b, False), True)


def cholesky_inverse(factor: Array, upper: bool = False) -> Array:
    """The inverse of A, from its Cholesky factor."""
    _require_implemented(factor, "cholesky_inverse_out_cpu")
    zeros = np.diagonal(factor, axis1=-2, axis2=-1) == 0
    info = np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if zeros.size else np.zeros(zeros.shape[:-1], np.int64)
    text = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
    _raise_at("cholesky_inverse", info, text)
    return cholesky_solve(np.broadcast_to(np.eye(factor.shape[-1], dtype=factor.dtype), factor.shape), factor, upper)


# ---------------------------------------------------------------------------------------------------- spectra


def geqrf(a: Array) -> tuple[Array, Array]:
    """Householder's reflectors of a QR factorisation in the rows of the first result, and their scales."""
    _require_implemented(a, "geqrf_cpu")
    packed, tau = np.linalg.qr(a, "raw")
    return packed, tau


def qr(a: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Q and R with a = Q @ R: "reduced", "complete", or "r" with an empty Q."""
    _require_matrix(a, "linalg.qr")
    _require_floating(a, "linalg.qr")
    _require_implemented(a, "geqrf_cpu")
    if mode == "r":
        return np.empty(0, a.dtype), np.asarray(np.linalg.qr(a, "r"))
    if mode == "complete":
        q, r = np.linalg.qr(a, "complete")
        return q, r
    if mode == "reduced":
        q, r = np.linalg.qr(a, "reduced")
        return q, r
    raise RuntimeError(
        f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
    )


def _require_finite_for_svd(a: Array) -> None:
    bad = np.asarray((~np.isfinite(a)).any((-1, -2)), np.int32)
    text = "The algorithm failed to converge because the input matrix contained non-finite values."
    _raise_at("linalg.svd", bad, text)


def svd(a: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """U, S and Vh with a = U @ diag(S) @ Vh, S falling."""
    _require_matrix(a, "linalg.svd")
    _require_floating(a, "linalg.svd")
    _require_implemented(a, "linalg_svd_cpu")
    _require_finite_for_svd(a)
    left, values, right = np.linalg.svd(a, full_matrices)
    return left, values, right


def svdvals(a: Array) -> Array:
    """The singular values, falling."""
    _require_matrix(a, "linalg.svdvals")
    _require_floating(a, "linalg.svdvals")
    _require_implemented(a, "linalg_svd_cpu")
    _require_finite_for_svd(a)
    return np.asarray(np.linalg.svd(a, compute_uv=False))


def _require_hermitian_arguments(a: Array, uplo: str, name: str) -> Literal["L", "U"]:
    _require_square(a, name)
    _require_implemented(a, "linalg_eigh_cpu")
    if uplo in ("L", "l"):
        return "L"
    if uplo in ("U", "u"):
        return "U"
    raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")


def _finite_or_nan(a: Array) -> tuple[Array, Array]:
    """a with zeros in place of matrices that are not finite, and which those are."""
    bad = np.asarray((~np.isfinite(a)).any((-1, -2)))
    return np.where(bad[..., None, None], 0, a).astype(a.dtype, copy=False), bad


def eigh(a: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """The eigenvalues, rising, and eigenvectors of Hermitian matrices, of which one triangle is read."""
    triangle = _require_hermitian_arguments(a, UPLO, "linalg.eigh")
    safe, bad = _finite_or_nan(a)
    values, vectors = np.linalg.eigh(safe, triangle)
    if bad.any():
        values = np.where(bad[..., None], np.nan, values).astype(values.dtype)
        vectors = np.where(bad[..., None, None], np.nan, vectors).astype(a.dtype)
    return values, vectors


def eigvalsh(a: Array, UPLO: str = "L") -> Array:
    """The eigenvalues of Hermitian matrices, rising."""
    triangle = _require_hermitian_arguments(a, UPLO, "linalg.eigvalsh")
    safe, bad = _finite_or_nan(a)
    values = np.linalg.eigvalsh(safe, triangle)
    return np.where(bad[..., None], np.nan, values).astype(values.dtype) if bad.any() else np.asarray(values)


def _require_general(a: Array, name: str) -> np.dtype[Any]:
    _require_square(a, name)
    _require_implemented(a, "linalg_eig_cpu")
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return np.result_type(a.dtype, np.complex64)


def eig(a: Array) -> tuple[Array, Array]:
    """The eigenvalues and eigenvectors, complex always."""
    dtype = _require_general(a, "linalg.eig")
    values, vectors = np.linalg.eig(a)
    return values.astype(dtype), vectors.astype(dtype)


def eigvals(a: Array) -> Array:
    """The eigenvalues, complex always."""
    dtype = _require_general(a, "linalg.eigvals")
    return np.asarray(np.linalg.eigvals(a).astype(dtype))


# ---------------------------------------------------------------------------------------------- least squares


def _require_for_pinv(a: Array) -> None:
    if a.ndim < 2 or a.dtype.kind not in "fc" or is_half(a.dtype):
        shape = ", ".join(map(str, a.shape))
        raise RuntimeError(
            f"linalg.pinv({title(a)}{{[{shape}]}}): expected a tensor with 2 or more dimensions "
            "of float, double, cfloat or cdouble types"
        )


def _cutoff(a: Array, largest: Array, atol: Array | float | None, rtol: Array | float | None) -> Array:
    """The size below which a singular value counts as zero; without tolerances, rounding's."""
    if rtol is None:
        rtol = 0.0 if atol is not None and np.any(np.asarray(atol) > 0) else _rounding(a)
    return np.asarray(np.maximum(np.asarray(0.0 if atol is None else atol), np.asarray(rtol) * largest))


def _rounding(a: Array) -> float:
    return float(max(a.shape[-2:]) * np.finfo(a.dtype).eps)


def pinv(
    a: Array,
    atol: Array | float | None = None,
    rtol: Array | float | None = None,
    hermitian: bool = False,
) -> Array:
    """Moore and Penrose's inverse, from the singular values above the tolerances."""
    _require_for_pinv(a)
    if not a.size:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, left = eigh(a)
        right = _adjoint(left)
    else:
        left, values, right = svd(a, False)
    sizes = np.abs(values)
    kept = sizes > _cutoff(a, sizes.max(-1), atol, rtol)[..., None]
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)
    return np.asarray(np.matmul(_adjoint(right) * inverse[..., None, :], _adjoint(left)))


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
Solution = tuple[Array, Array, Array, Array]


def lstsq(a: Array, b: Array, rcond: float | None = None, driver: str | None = None) -> Solution:
    """The X of least |a @ X - b|, and of least size among those; residuals, rank, singular values.

    As in PyTorch "gels" takes a to be of full rank and reports none, "gelsy" (the default) reports no
    residuals, and only "gelsd" and "gelss" report singular values; what is not reported is empty.
    """
    _require_least_squares(a, b, driver)
    if _is_vector(a, b):
        found, residuals, rank, values = lstsq(a, b[..., None], rcond, driver)
        return found[..., 0], residuals, rank, values
    none = np.empty(0, np.finfo(a.dtype).dtype)
    if driver == "gels":
        found = _full_rank_solution(a, b)
        return found, _residuals(a, b, found), np.empty(0, np.int64), none
    left, values, right = svd(a, False)
    kept = values > (_rounding(a) if rcond is None else rcond) * values[..., :1]
    if driver == "gelsd" and values.shape[-1] == 1:
        kept = values > 0  # of a single value LAPACK asks no more
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)
    found = np.asarray(np.matmul(_adjoint(right), inverse[..., None] * np.matmul(_adjoint(left), b)))
    rank = np.asarray(kept.sum(-1))
    if driver in (None, "gelsy"):
        return found, none, rank, none
    return found, _residuals(a, b, found) if (rank == a.shape[-1]).all() else none, rank, values


def _require_least_squares(a: Array, b: Array, driver: str | None) -> None:
    name = "torch.linalg.lstsq"
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(DRIVERS)})")
    if a.dtype.kind not in "fc" or is_half(a.dtype):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if b.shape[-1 if _is_vector(a, b) else -2] != a.shape[-2]:
        side = "-1" if _is_vector(a, b) else "-2"
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({side})")


def _full_rank_solution(a: Array, b: Array) -> Array:
    tall = a.shape[-2] >= a.shape[-1]
    q, r = qr(a if tall else _adjoint(a))
    text = (
        "The least squares solution could not be computed because the input matrix does not have full rank "
        "(error code: {})."
    )
    _raise_at("torch.linalg.lstsq", _first_zero_pivot(r), text)
    if tall:
        return _solve_upper(r, np.matmul(_adjoint(q), b))
    return np.asarray(np.matmul(q, _solve_triangle(_adjoint(r), b, False)))


def _residuals(a: Array, b: Array, found: Array) -> Array:
    if a.shape[-2] <= a.shape[-1]:
        return np.empty(0, np.finfo(a.dtype).dtype)
    return np.asarray((np.abs(np.matmul(a, found) - b) ** 2).sum(-2))


# ------------------------------------------------------------------------------------------------ exponential

# Pade's approximant of degree 13, good to rounding for matrices of norm up to 5.37 (Higham 2005).
_PADE = tuple(math.comb(13, k) / math.perm(26, k) for k in range(14))
_PADE_RADIUS = 5.371920351148152


@through_float32
def matrix_exp(a: Array) -> Array:
    """The exponential of a matrix, by scaling and squaring, in double precision throughout."""
    _require_square(a, "linalg.matrix_exp")
    _require_floating(a, "linalg.matrix_exp")
    if not a.size:
        return a.copy()
    wide = a.astype(np.result_type(a.dtype, np.float64))
    norm = np.abs(wide).sum(-2).max(-1)
    with np.errstate(all="ignore"):
        doublings = np.ceil(np.log2(norm / _PADE_RADIUS))
        doublings = np.where(np.isfinite(doublings), np.maximum(doublings, 0), 0).astype(np.int64)
        out = _pade(wide * 0.5 ** doublings[..., None, None].astype(np.float64))
        for step in range(int(doublings.max(initial=0))):
            out = np.where((step < doublings)[..., None, None], np.matmul(out, out), out)
    return out.astype(a.dtype)


def _pade(a: Array) -> Array:
    square = np.matmul(a, a)
    even, odd = _PADE[12] * square, _PADE[13] * square
    identity = np.eye(a.shape[-1])
    for k in range(10, 0, -2):
        even = np.matmul(square, even + _PADE[k] * identity)
        odd = np.matmul(square, odd + _PADE[k + 1] * identity)
    even, odd = even + _PADE[0] * identity, np.matmul(a, odd + _PADE[1] * identity)
    return np.linalg.solve(even - odd, even + odd)
