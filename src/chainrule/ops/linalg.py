"""Linear algebra: factorisations, solutions, inverses, spectra, norms of matrices. Kernels: backends.cpu.linalg.

Every op takes batches (*batch, rows, columns). Rules of holomorphic ops are plain transposes (`flipped`); those whose
definition takes conjugates, norms or real parts (Cholesky, QR, spectra) write the adjoint (`adjoint`) and say so.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any, NoReturn

import numpy as np

from chainrule.backends import meta
from chainrule.core.dtype import OF_NUMPY, float64, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, cast, dtype_of, general, sum_to
from chainrule.core.op import Array
from chainrule.core.public import composite, spell
from chainrule.core.samples import Drawn, real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor, fresh
from chainrule.core.types import return_type
from chainrule.ops.along import SAME_OUT, packed, rank_of
from chainrule.ops.contract import conj, flipped, in_best_order, matmul, product
from chainrule.ops.reduce import norm_pull, vector_norm
from chainrule.ops.writing import into

__all__ = [
    "adjoint", "cholesky", "det", "eigh", "inv", "inv_ex", "lstsq", "matrix_norm", "matrix_power", "norm", "pinv", "qr",
    "slogdet", "solve", "svd",
]  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- helpers


def adjoint(x: Any) -> Any:
    """The conjugate transpose, on arrays or tensors."""
    return conj(flipped(x))


def _diagonal(x: Any) -> Any:
    return call("diagonal", x, 0, -2, -1)


def _eye(like: Any, n: int) -> Any:
    """An identity matrix of the dtype, array or tensor as `like` is."""
    if isinstance(like, Tensor):
        return fresh(np.eye(n, dtype=like.dtype.numpy))
    return np.eye(n, dtype=like.dtype)


def _on_diagonal(v: Any) -> Any:
    """Diagonal matrices with the given diagonals."""
    return v[..., :, None] * _eye(v, v.shape[-1])


def _tril(x: Any, k: int = 0) -> Any:
    return call("tril", x, k)


def _triu(x: Any, k: int = 0) -> Any:
    return call("triu", x, k)


def _real(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.real if x.dtype.is_complex else x
    return x.real


def _imag_times_i(x: Any) -> Any:
    """x without its real part."""
    return x - _real(x)


def _is_complex(x: Any) -> bool:
    return x.dtype.is_complex if isinstance(x, Tensor) else x.dtype.kind == "c"


def run(kernel: Any, *args: Any, **params: Any) -> Any:
    """A kernel on arrays; on arrays without elements, on identities of their shape, for the shapes of its results."""
    if not any(isinstance(a, np.ndarray) and a.__class__ is not np.ndarray for a in args):
        return kernel(*args, **params)
    results = kernel(*(_stand_in(a) if isinstance(a, np.ndarray) else a for a in args), **params)
    if isinstance(results, tuple):
        return tuple(meta.empty(r.shape, r.dtype) for r in results)
    return meta.empty(results.shape, results.dtype)


def _stand_in(a: Any) -> Any:
    if a.ndim < 2 or a.dtype.kind == "i":
        return np.ones(a.shape, a.dtype)
    return np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape)


def by_columns(x: Any) -> Any:
    """The same matrices with their columns contiguous, as LAPACK leaves them."""
    return np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2)


def whole_batch(name: str) -> Any:
    """An op of one matrix runs on a batch as it is: the batch joins the batch axes."""

    def batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        return call(name, *values, **params)

    return batch


def _front(x: Any, is_batched: bool, size: int, rank: int) -> Any:
    """A value with the batch in front and `rank` axes behind it."""
    if not is_batched:
        return x
    shape = tuple(x.shape)
    return x if len(shape) - 1 == rank else x.reshape((size, *(1,) * (rank - len(shape) + 1), *shape[1:]))


def aligned_batch(name: str) -> Any:
    """An op of two matrices runs on a batch when their ranks agree."""

    def batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        rank = max(rank_of(v) - b for v, b in zip(values, batched))
        if params.get("vector"):
            rank = max(rank_of(values[0]) - batched[0], rank_of(values[1]) - batched[1] + 1)
            lined = (_front(values[0], batched[0], size, rank), _front(values[1], batched[1], size, rank - 1))
        else:
            lined = tuple(_front(v, b, size, rank) for v, b in zip(values, batched))
        return call(name, *lined, **params)

    return batch


def _public(op_fn: Any, name: str, places: str = "l") -> None:
    spell(name, op_fn.public, places)


def _regular(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Away from singular: random with a strong diagonal."""
    return rng.normal(size=shape) + 3 * np.eye(shape[-2], shape[-1])


def _triangle(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.tril(rng.normal(size=shape)) + 3 * np.eye(shape[-1])


def _hermitian(x: Any) -> Any:
    """The Hermitian matrix with the lower triangle of x: what ops read that trust their input to be Hermitian."""
    upper = np.swapaxes(np.tril(x, -1), -1, -2).conj()
    return np.tril(x, -1) + upper + np.eye(x.shape[-1]) * x.real


def _positive_definite(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return _hermitian(rng.normal(size=shape) + 6 * np.eye(shape[-1]))


def _spread(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """With eigenvalues that are real and lie apart."""
    return rng.normal(size=shape) * 0.3 + np.diag(3.0 * np.arange(1, shape[-1] + 1))


def _spread_hermitian(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return _hermitian(_spread(rng, shape))


_squares: list[tuple[Any, ...]] = [((3, 3),), ((2, 3, 3),)]


def _row_swaps(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """What LAPACK says of row exchanges: each row, counted from one, with itself or one further down."""
    rows = np.arange(1, shape[-1] + 1)
    return (rows + rng.integers(0, shape[-1] - rows + 1, size=shape)).astype(np.int32)


# -------------------------------------------------------------------------------------------------------- inverse, det


@general(
    name="linalg_inv_ex", spelled="", outs=("inverse", "info"), vmap=whole_batch("linalg_inv_ex"),
    samples=samples(_regular, _squares),
)  # fmt: skip
def inv_ex(xp: Any, A: Array, *, check_errors: bool = False) -> Array:
    """The inverse, and per matrix an int32 that is not 0 where there is none."""
    if check_errors:
        inverse = run(xp.linalg.inv, A)
        return inverse, np.zeros_like(inverse[..., 0, 0] if inverse.size else inverse, np.int32, shape=A.shape[:-2])
    return run(xp.linalg.inv_ex, A)


inv_ex.vjp(A=lambda g, inverse: -product(flipped(inverse), product(g, flipped(inverse))))
_public(inv_ex, "inv_ex")


@composite(spelled="l")
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of a square matrix."""
    return into("linalg_inv", inv_ex.public(A, check_errors=True)[0], out, (A,))  # type: ignore[no-any-return]


@composite()
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `linalg.inv`."""
    return inv(input, out=out)


@general(name="linalg_det", spelled="", vmap=whole_batch("linalg_det"), samples=samples(_regular, _squares))
def det(xp: Any, A: Array) -> Array:
    """The determinant."""
    return run(xp.linalg.det, A)


def _cofactors(a: Any) -> Any:
    """Derivatives of the determinant by each element, singular matrices included: from the singular values."""
    if not a.size:
        return a
    left, values, right = np.linalg.svd(a)
    n = values.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, values[..., None, :]).prod(-1)
    phase = np.linalg.det(left) * np.linalg.det(right)
    return phase[..., None, None] * np.matmul(left.conj() * others[..., None, :], right.conj())


def _det_pull(g: Any, A: Any, out: Any) -> Any:
    if isinstance(g, Tensor):
        inverse = inv_ex(A)[0]
        return (g * out)[..., None, None] * flipped(inverse)
    if not np.all(out):
        return np.asarray(g)[..., None, None] * _cofactors(A).astype(A.dtype)
    return np.asarray(g * out)[..., None, None] * flipped(np.linalg.inv(A))


det.vjp(A=_det_pull)
_public(det, "det", "lfm")


@general(
    name="linalg_slogdet", spelled="", outs=("sign", "logabsdet"), differentiable=(0, 1), holomorphic=False, gaps=True,
    vmap=whole_batch("linalg_slogdet"), samples=samples(_regular, _squares),
)  # fmt: skip
def slogdet(xp: Any, A: Array) -> Array:
    """The sign (or phase) of the determinant, and the logarithm of its size."""
    return run(xp.linalg.slogdet, A)


def _slogdet_pull(g: Any, A: Any, sign: Any) -> Any:
    """Of log det = logabsdet + i angle: the size feels the real part of tr(A^-1 dA), the angle the imaginary one."""
    g_sign, g_log = g
    weight = g_log
    if _is_complex(A) and g_sign is not None:
        turned = conj(g_sign) * sign
        weight = -_imag_times_i(turned) if weight is None else weight - _imag_times_i(turned)
    if weight is None:
        return A * 0
    return _lifted(weight) * adjoint(_inverse(A))


def _lifted(x: Any) -> Any:
    """A value per matrix, as a factor of the matrix."""
    return x[..., None, None] if isinstance(x, Tensor) else np.asarray(x)[..., None, None]


def _inverse(a: Any) -> Any:
    return inv_ex(a)[0]


slogdet.vjp(A=_slogdet_pull)
_public(slogdet, "slogdet")


def _named(name: str, outs: tuple[str, ...], values: Any) -> Any:
    return return_type(name, outs, list(values))


@composite(name="slogdet")
def _slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
    return _named("slogdet", ("sign", "logabsdet"), slogdet.public(input, out=out))


@composite()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative."""
    sign, size = slogdet.public(input)
    if input.dtype.is_complex:
        return sign.log() + size  # type: ignore[no-any-return]
    return call("where", sign == -1.0, float("nan"), size)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- solutions


def _same_kind(name: str, a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype.title} and B of type "
            f"{b.dtype.title} instead"
        )


def is_vector(a: Any, b: Any) -> bool:
    """Is b a batch of vectors, by PyTorch's rule?"""
    return rank_of(b) == 1 or (rank_of(a) - 1 == rank_of(b) and tuple(b.shape) == tuple(a.shape)[:-1])


def _as_columns(b: Any, vector: bool, rank: int) -> Any:
    b = b[..., None] if vector else b
    return b if b.ndim >= rank else b.reshape((1,) * (rank - b.ndim) + b.shape)


def _solve_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    result, info = aligned_batch("linalg_solve_ex")(values, batched, size, params)
    return result, info if batched[0] else info.expand((size, *info.shape))


def _check_solve(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a = inputs[0]
    if rank_of(a) >= 2 and a.shape[-1] == a.shape[-2] and a.dtype.category >= 2:
        _same_kind("linalg.solve", *inputs)


@general(
    name="linalg_solve_ex", spelled="", outs=("result", "info"), check=_check_solve, vmap=_solve_batch,
    samples=samples(_regular, [((3, 3), Drawn(real, 3, 2)), ((2, 3, 3), Drawn(real, 2, 3, 2))], vector=[False]),
)  # fmt: skip
def solve_op(
    xp: Any, A: Array, B: Array, *, left: bool = True, check_errors: bool = False, vector: bool = False
) -> Array:
    """X with A X = B (or X A = B), and per matrix an int32 that is not 0 where there is none."""
    columns = _as_columns(B, vector, A.ndim)
    if check_errors:
        found = run(xp.linalg.solve, A, columns, left)
        info = np.zeros(A.shape[:-2], np.int32)
    else:
        found, info = run(xp.linalg.solve_ex, A, columns, left)
    return (found[..., 0] if vector else found), info


def _solved(a: Any, b: Any, left: bool = True, vector: bool = False) -> Any:
    return solve_op(a, b, left=left, vector=vector)[0]


def _column(x: Any, vector: bool) -> Any:
    return x[..., None] if vector else x


def _solve_pull_a(g: Any, A: Any, result: Any, left: bool, vector: bool) -> Any:
    pulled = _column(_solved(flipped(A), g, left, vector), vector)
    x = _column(result, vector)
    found = -product(pulled, flipped(x)) if left else -product(flipped(x), pulled)
    return sum_to(found, tuple(A.shape))


solve_op.vjp(
    A=lambda g, A, result, left, vector: _solve_pull_a(g, A, result, left, vector),
    B=lambda g, A, B_shape, left, vector: sum_to(_solved(flipped(A), g, left, vector), tuple(B_shape)),
)


@composite(spelled="l")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """X with A X = B, and per matrix an int32 that is not 0 where there is none."""
    vector = rank_of(A) >= 2 and is_vector(A, B)
    return solve_op.public(A, B, left=left, check_errors=check_errors, vector=vector, out=out)


@composite(spelled="l")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """X with A X = B, or X A = B."""
    vector = rank_of(A) >= 2 and is_vector(A, B)
    found = solve_op.public(A, B, left=left, check_errors=True, vector=vector)[0]
    return into("linalg_solve", found, out, (A, B))  # type: ignore[no-any-return]


@general(
    name="linalg_solve_triangular", spelled="", vmap=aligned_batch("linalg_solve_triangular"),
    samples=samples(_triangle, [((3, 3), Drawn(real, 3, 2)), ((2, 3, 3), Drawn(real, 2, 3, 2))], upper=[False]),
)  # fmt: skip
def solve_triangular(
    xp: Any, A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """X with A X = B (or X A = B), reading one triangle of A."""
    return run(xp.linalg.solve_triangular, A, B, upper, left, unitriangular)


def _triangular_pull_a(g: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    pulled = _triangular_back(g, A, upper, left, unitriangular)
    found = -product(pulled, flipped(out)) if left else -product(flipped(out), pulled)
    part = _triu(found, int(unitriangular)) if upper else _tril(found, -int(unitriangular))
    return sum_to(part, tuple(A.shape))


def _triangular_back(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return solve_triangular(flipped(A), g, upper=not upper, left=left, unitriangular=unitriangular)


solve_triangular.vjp(
    A=lambda g, A, out, upper, left, unitriangular: _triangular_pull_a(g, A, out, upper, left, unitriangular),
    B=lambda g, A, B_shape, upper, left, unitriangular: sum_to(
        _triangular_back(g, A, upper, left, unitriangular), tuple(B_shape)
    ),
)
_public(solve_triangular, "solve_triangular")


@composite()
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """The older spelling of `linalg.solve_triangular`; returns the solution and a copy of A."""
    for name, x in (("b", b), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                f"{x.ndim} dimensions instead"
            )
    a, up = (flipped(A), not upper) if transpose else (A, upper)
    found = solve_triangular.public(a, b, upper=up, unitriangular=unitriangular)
    result = _named("triangular_solve", ("solution", "cloned_coefficient"), (found, A.clone()))
    return into("triangular_solve", result, out, (b, A))


# ----------------------------------------------------------------------------------------------------------- Cholesky


@general(
    name="linalg_cholesky_ex", spelled="", outs=("L", "info"), holomorphic=False,
    vmap=whole_batch("linalg_cholesky_ex"),
    samples=samples(_positive_definite, _squares, keeping=_hermitian, upper=[False, True]),
)  # fmt: skip
def cholesky_ex(xp: Any, input: Array, *, upper: bool = False, check_errors: bool = False) -> Array:
    """The Cholesky factor, and per matrix an int32 that is not 0 where there is none."""
    if check_errors:
        return by_columns(run(xp.linalg.cholesky, input, upper)), np.zeros(input.shape[:-2], np.int32)
    factor, info = run(xp.linalg.cholesky_ex, input, upper)
    return by_columns(factor), info


def _cholesky_pull(g: Any, L: Any, upper: bool) -> Any:
    if upper:
        g, L = adjoint(g), adjoint(L)
    phi = _tril(product(adjoint(L), g))
    phi = phi - _on_diagonal(_diagonal(phi)) * 0.5
    inner = solve_triangular(adjoint(L), phi, upper=True)
    found = solve_triangular(L, inner, upper=False, left=False)
    return (found + adjoint(found)) * 0.5


cholesky_ex.vjp(input=lambda g, L, upper: _cholesky_pull(g, L, upper))
_public(cholesky_ex, "cholesky_ex")


@composite(spelled="l")
def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower factor L with A = L L^H (or the upper one, U^H U)."""
    return into("linalg_cholesky", cholesky_ex.public(A, upper=upper, check_errors=True)[0], out, (A,))  # type: ignore[no-any-return]


@composite(name="cholesky")
def _cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The older spelling of `linalg.cholesky`."""
    return cholesky(input, upper=upper, out=out)


def _check_cholesky_solve(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    for name, x in (("b", inputs[0]), ("u", inputs[1])):
        if rank_of(x) < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {rank_of(x)} dimensions instead")


@general(
    name="cholesky_solve", holomorphic=False, vmap=aligned_batch("cholesky_solve"),
    samples=samples(_triangle, [(Drawn(real, 3, 2), (3, 3))], upper=[False]),
)  # fmt: skip
def cholesky_solve(xp: Any, input: Array, input2: Array, upper: bool = False) -> Array:
    """X with A X = input, from the Cholesky factor of A."""
    _check_cholesky_solve((input, input2), {})
    return run(xp.linalg.cholesky_solve, input, input2, upper)


def _cholesky_solve_pull(g: Any, factor: Any, out: Any, upper: bool) -> Any:
    pulled = -product(cholesky_solve(g, factor, upper), adjoint(out))
    both = pulled + adjoint(pulled)
    found = _triu(product(factor, both)) if upper else _tril(product(both, factor))
    return sum_to(found, tuple(factor.shape))


cholesky_solve.vjp(
    input=lambda g, input2, input_shape, upper: sum_to(cholesky_solve(g, input2, upper), tuple(input_shape)),
    input2=lambda g, input2, out, upper: _cholesky_solve_pull(g, input2, out, upper),
)


@general(
    name="cholesky_inverse",
    holomorphic=False,
    vmap=whole_batch("cholesky_inverse"),
    samples=samples(_triangle, _squares),
)
def cholesky_inverse(xp: Any, input: Array, upper: bool = False) -> Array:
    """The inverse of A, from its Cholesky factor."""
    if input.ndim < 2:
        raise RuntimeError("cholesky_inverse: The input tensor A must have at least 2 dimensions.")
    _require_square("cholesky_inverse", input)
    eye = xp.broadcast_to(xp.eye(input.shape[-1], dtype=input.dtype), input.shape)
    return run(xp.linalg.cholesky_solve, eye, input, upper)


def _cholesky_inverse_pull(g: Any, factor: Any, out: Any, upper: bool) -> Any:
    pulled = -product(out, product(g, out))
    both = pulled + adjoint(pulled)
    return _triu(product(factor, both)) if upper else _tril(product(both, factor))


cholesky_inverse.vjp(input=lambda g, input, out, upper: _cholesky_inverse_pull(g, input, out, upper))


# ----------------------------------------------------------------------------------------------------------------- LU


@general(
    name="linalg_lu_factor_ex", spelled="", outs=("LU", "pivots", "info"), vmap=whole_batch("linalg_lu_factor_ex"),
    samples=samples(_regular, [((3, 3),), ((2, 3, 4),), ((4, 3),)]),
)  # fmt: skip
def lu_factor_ex(xp: Any, A: Array, *, pivot: bool = True, check_errors: bool = False) -> Array:
    """L and U in one matrix, the row swaps, and per matrix an int32 that is not 0 where a pivot is 0."""
    if check_errors:
        packed, pivots = run(xp.linalg.lu_factor, A, pivot)
        return packed, pivots, np.zeros(A.shape[:-2], np.int32)
    return run(xp.linalg.lu_factor_ex, A, pivot)


@general(
    spelled="", vmap=whole_batch("swapped_rows"),
    samples=samples(real, [(Drawn(_row_swaps, 3),), (Drawn(_row_swaps, 2, 3),)], rows=[3, 4], dtype=[float64]),
)  # fmt: skip
def swapped_rows(xp: Any, input: Array, *, rows: int, dtype: DType) -> Array:
    """The permutation matrix P of A = P L U, from the swaps of rows."""
    flat = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    orders = xp.tile(xp.arange(rows), (len(flat), 1))
    for order, swaps in zip(orders, flat):
        for i, j in enumerate(swaps - 1):
            order[i], order[j] = order[j], order[i]
    found = xp.eye(rows, dtype=dtype.numpy)[orders].swapaxes(-1, -2)
    return found.reshape(*input.shape[:-1], rows, rows)


def _permutation(pivots: Any, rows: int, like: Any) -> Any:
    return swapped_rows(pivots, rows=rows, dtype=dtype_of(like))


def _triangles(packed: Any) -> tuple[Any, Any]:
    """L, with ones on its diagonal, and U."""
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    lower, upper = _tril(packed[..., :, :k], -1), _triu(packed[..., :k, :])
    ones = np.eye(rows, k)
    return lower + (
        fresh(ones.astype(packed.dtype.numpy)) if isinstance(packed, Tensor) else ones.astype(packed.dtype)
    ), upper


def _unit_solve(lower: Any, b: Any) -> Any:
    """L^-T b for a lower triangle with ones."""
    return solve_triangular(flipped(lower), b, upper=True, unitriangular=True)


def lu_pull(g_lower: Any, g_upper: Any, lower: Any, upper: Any, order: Any) -> Any:
    """The cotangent of A = P L U, of any shape: the square block both ways, the rest one way."""
    (rows, k), columns = lower.shape[-2:], upper.shape[-1]
    l1, u1, gl1, gu1 = lower[..., :k, :], upper[..., :, :k], g_lower[..., :k, :], g_upper[..., :, :k]
    below, above = product(flipped(l1), gl1), product(gu1, flipped(u1))
    if columns > k:
        gu2, u2 = g_upper[..., :, k:], upper[..., :, k:]
        below = below - product(gu2, flipped(u2))
    if rows > k:
        gl2, l2 = g_lower[..., k:, :], lower[..., k:, :]
        above = above - product(flipped(l2), gl2)
    inner = _unit_solve(l1, _tril(below, -1) + _triu(above))
    found = solve_triangular(flipped(u1), inner, upper=False, left=False)
    if columns > k:
        found = _joined((found, _unit_solve(l1, gu2)), -1)
    if rows > k:
        found = _joined((found, solve_triangular(flipped(u1), gl2, upper=False, left=False)), -2)
    return product(order, found)


def _joined(parts: tuple[Any, ...], dim: int) -> Any:
    return call("cat", parts, dim=dim) if isinstance(parts[0], Tensor) else np.concatenate(parts, dim)


def _lu_factor_pull(g: Any, LU: Any, pivots: Any) -> Any:
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    lower, upper = _triangles(LU)
    return lu_pull(_tril(g[..., :, :k], -1), _triu(g[..., :k, :]), lower, upper, _permutation(pivots, rows, LU))


lu_factor_ex.vjp(A=lambda g, LU, pivots: _lu_factor_pull(g, LU, pivots))
_public(lu_factor_ex, "lu_factor_ex")


@composite(spelled="l")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U in one matrix, and the row swaps."""
    packed, pivots, _ = lu_factor_ex.public(A, pivot=pivot, check_errors=True)
    return into("linalg_lu_factor", _named("linalg_lu_factor", ("LU", "pivots"), (packed, pivots)), out, (A,))


@composite(name="lu")
def _lu_packed(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The older spelling of `linalg.lu_factor`."""
    packed, pivots, info = lu_factor_ex.public(A, pivot=pivot)
    return into("lu", (packed, pivots, info) if get_infos else (packed, pivots), out, (A,))


@general(
    name="linalg_lu", spelled="", outs=("P", "L", "U"), differentiable=(1, 2), vmap=whole_batch("linalg_lu"),
    samples=samples(_regular, [((3, 3),), ((2, 3, 4),), ((4, 3),)]),
)  # fmt: skip
def lu(xp: Any, A: Array, *, pivot: bool = True) -> Array:
    """P, L and U with A = P L U."""
    return run(xp.linalg.lu, A, pivot)


lu.vjp(A=lambda g, P, L, U: lu_pull(_tril(g[0], -1), _triu(g[1]), L, U, P))
_public(lu, "lu")


@general(
    name="lu_unpack", outs=("P", "L", "U"), differentiable=(1, 2), spelled="f",
    samples=samples(
        real,
        [((3, 3), Drawn(_row_swaps, 3)), ((2, 3, 4), Drawn(_row_swaps, 2, 3)), ((4, 3), Drawn(_row_swaps, 3))],
    ),
)  # fmt: skip
def lu_unpack(xp: Any, LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True) -> Array:
    """P, L and U, from what `lu_factor` gives."""
    if LU_pivots.dtype != np.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    order, lower, upper = run(xp.linalg.lu_unpack, LU_data, LU_pivots)
    none = xp.empty(0, LU_data.dtype)
    return order if unpack_pivots else none, *((lower, upper) if unpack_data else (none, none))


def _unpack_pull(g: Any, shape: tuple[int, ...]) -> Any:
    rows, columns = shape[-2:]
    k = min(rows, columns)
    lower, upper = _tril(g[0], -1), _triu(g[1])
    if columns > k:
        lower = _joined((lower, upper[..., :, k:] * 0), -1)
    if rows > k:
        upper = _joined((upper, lower[..., k:, :] * 0), -2)
    return lower + upper


lu_unpack.vjp(LU_data=lambda g, LU_data_shape: _unpack_pull(g, tuple(LU_data_shape)))


@general(
    name="linalg_lu_solve", spelled="", holomorphic=False,
    samples=samples(
        _regular,
        [((3, 3), Drawn(_row_swaps, 3), Drawn(real, 3, 3)), ((2, 3, 3), Drawn(_row_swaps, 2, 3), Drawn(real, 2, 3, 3))],
        left=[True, False], adjoint=[False, True],
    ),
)  # fmt: skip
def lu_solve_op(xp: Any, LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """X with A X = B (or X A = B), from the factors of A; with `adjoint` of its conjugate transpose."""
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    return run(xp.linalg.lu_solve, LU, pivots, B, left, adjoint)


def _lu_solve_back(g: Any, LU: Any, pivots: Any, left: bool, adjoint: bool) -> Any:
    """The cotangent of B: the solution for the other one of A and its conjugate transpose."""
    return lu_solve_op(LU, pivots, g, left=left, adjoint=not adjoint)


def _lu_solve_pull(g: Any, LU: Any, pivots: Any, out: Any, left: bool, adjoint: bool) -> Any:
    pulled = _lu_solve_back(g, LU, pivots, left, adjoint)
    found = -product(pulled, _adj(out)) if left else -product(_adj(out), pulled)
    found = _adj(found) if adjoint else found
    lower, upper = _triangles(LU)
    turned = product(flipped(_permutation(pivots, LU.shape[-2], LU)), found)
    return sum_to(_tril(product(turned, _adj(upper)), -1) + _triu(product(_adj(lower), turned)), tuple(LU.shape))


_adj = adjoint
lu_solve_op.vjp(
    LU=lambda g, LU, pivots, out, left, adjoint: _lu_solve_pull(g, LU, pivots, out, left, adjoint),
    B=lambda g, LU, pivots, B_shape, left, adjoint: sum_to(
        _lu_solve_back(g, LU, pivots, left, adjoint), tuple(B_shape)
    ),
)
_public(lu_solve_op, "lu_solve")


@composite()
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """The older spelling of `linalg.lu_solve`."""
    return lu_solve_op.public(LU_data, LU_pivots, b, out=out)  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------------------------------- QR


@general(
    name="linalg_qr", spelled="", outs=("Q", "R"), differentiable=(0, 1), holomorphic=False,
    vmap=whole_batch("linalg_qr"), samples=samples(real, [((3, 3),), ((2, 4, 3),), ((3, 4),)]),
)  # fmt: skip
def qr(xp: Any, A: Array, mode: str = "reduced") -> Array:
    """Q and R with A = Q R."""
    return run(xp.linalg.qr, A, mode)


def _qr_pull(g: Any, Q: Any, R: Any, mode: str) -> Any:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to require its gradient."
        )
    rows, columns = Q.shape[-2], R.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    g_q, g_r = g
    if columns <= rows:
        return _qr_tall(g_q, g_r, Q, R)
    right, g_right = R[..., :, rows:], g_r[..., :, rows:]
    square = R[..., :, :rows]
    y = product(Q, right)
    first = _qr_tall(g_q + product(y, adjoint(g_right)), g_r[..., :, :rows], Q, square)
    return _joined((first, product(Q, g_right)), -1)


def _qr_tall(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    skewed = product(r, adjoint(_triu(g_r))) - product(adjoint(g_q), q)
    lower = _tril(skewed, -1)
    middle = lower + adjoint(lower) + _on_diagonal(_real(_diagonal(skewed)))
    found = g_q + product(q, middle)
    return adjoint(solve_triangular(r, adjoint(found), upper=True))


qr.vjp(A=lambda g, Q, R, mode: _qr_pull(g, Q, R, mode))
_public(qr, "qr")


@composite(name="qr")
def _qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """The older spelling of `linalg.qr`."""
    found = qr.public(input, "reduced" if some else "complete")
    return into("qr", _named("qr", ("Q", "R"), found), out, (input,))


@general(
    name="geqrf", outs=("a", "tau"), differentiable=(0, 1), samples=samples(real, [((3, 3),), ((2, 4, 3),), ((3, 4),)])
)
def geqrf(xp: Any, input: Array) -> Array:
    """Householder's reflectors of a QR factorisation, packed, and their scales."""
    packed, tau = run(lambda a: np.linalg.qr(a, "raw"), input)
    return xp.swapaxes(xp.ascontiguousarray(packed), -1, -2), tau


def _no_geqrf_derivative(g: Any) -> NoReturn:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


geqrf.vjp(input=_no_geqrf_derivative)


@composite(spelled="l")
def householder_product(A: Any, tau: Any, *, out: Any = None) -> Tensor:
    """The first columns of the product of Householder's reflectors."""
    _check_reflectors("torch.linalg.householder_product", A, tau)
    (*lead, rows, columns), k = A.shape, tau.shape[-1]
    result = fresh(np.broadcast_to(np.eye(rows, columns, dtype=A.dtype.numpy), (*lead, rows, columns)).copy())
    for i in reversed(range(k)):
        v = _reflector(A, i)
        result = result - tau[..., i, None, None] * matmul(v, matmul(adjoint(v), result))
    return into("linalg_householder_product", result, out, (A, tau))


def _reflector(A: Any, i: int) -> Any:
    rows = A.shape[-2]
    mask = fresh((np.arange(rows) > i).astype(A.dtype.numpy)[:, None])
    one = fresh((np.arange(rows) == i).astype(A.dtype.numpy)[:, None])
    return A[..., :, i, None] * mask + one


def _check_reflectors(name: str, A: Any, tau: Any) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {A.dtype}")


@composite()
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `linalg.householder_product`."""
    return householder_product(input, input2, out=out)


@composite()
def ormqr(
    input: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False, *, out: Any = None
) -> Tensor:
    """The product of a matrix and of the Q that Householder's reflectors stand for."""
    order = range(input2.shape[-1])
    result = input3
    for i in order if (left == transpose) else reversed(order):
        v, t = _reflector(input, i), input2[..., i, None, None]
        t = conj(t) if transpose else t
        if left:
            result = result - t * matmul(v, matmul(adjoint(v), result))
        else:
            result = result - t * matmul(matmul(result, v), adjoint(v))
    return into("ormqr", result, out, (input, input2, input3))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------ spectra


@general(
    name="linalg_svd", spelled="", outs=("U", "S", "Vh"), differentiable=(0, 1, 2), holomorphic=False, gaps=True,
    vmap=whole_batch("linalg_svd"), samples=samples(real, [((3, 3),), ((2, 4, 3),), ((3, 4),)], full_matrices=[False]),
)  # fmt: skip
def svd(xp: Any, A: Array, full_matrices: bool = True, *, driver: str | None = None) -> Array:
    """U, S and Vh with A = U diag(S) Vh, S falling."""
    return run(xp.linalg.svd, A, full_matrices)


def _svd_pull(g: Any, U: Any, S: Any, Vh: Any) -> Any:
    g_u, g_s, g_vh = g
    k = S.shape[-1]
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    if g_u is None and g_vh is None:
        return product(U * g_s[..., None, :], Vh)
    g_u = None if g_u is None else g_u[..., :, :k]
    g_vh = None if g_vh is None else g_vh[..., :k, :]
    return _svd_whole(g_u, g_s, g_vh, U, S, Vh)


def _svd_whole(g_u: Any, g_s: Any, g_vh: Any, U: Any, S: Any, Vh: Any) -> Any:
    rows, columns, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    gaps = S[..., None, :] * S[..., None, :] - S[..., :, None] * S[..., :, None] + _eye(S, k)
    inner: Any = 0
    if g_u is not None:
        turn = _skew(product(adjoint(U), g_u))
        inner = inner + turn / gaps * S[..., None, :]
        if _is_complex(U):
            inner = inner + _on_diagonal(_diagonal(turn) / (2 * S))
    if g_vh is not None:
        inner = inner + S[..., :, None] * _skew(product(Vh, adjoint(g_vh))) / gaps
    if g_s is not None:
        inner = inner + _on_diagonal(g_s)
    left = product(U, inner)
    if g_u is not None and rows > k:
        left = left + (g_u - product(U, product(adjoint(U), g_u))) / S[..., None, :]
    found = product(left, Vh)
    if g_vh is not None and columns > k:
        rest = g_vh - product(product(g_vh, adjoint(Vh)), Vh)
        found = found + product(U, rest / S[..., :, None])
    return found


def _skew(x: Any) -> Any:
    return x - adjoint(x)


svd.vjp(A=lambda g, U, S, Vh: _svd_pull(g, U, S, Vh))
_public(svd, "svd")


@composite(name="svd")
def _svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """The older spelling of `linalg.svd`: U, S and V."""
    if compute_uv:
        u, s, vh = svd.public(input, not some)
        found = (u, s, adjoint(vh))
    else:
        rows, columns = input.shape[-2:]
        found = (
            input.new_zeros((*input.shape[:-2], rows, rows)),
            svdvals(input),
            input.new_zeros((*input.shape[:-2], columns, columns)),
        )
    return into("svd", _named("svd", ("U", "S", "V"), found), out, (input,))


@composite(spelled="l")
def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, falling."""
    return into("linalg_svdvals", svd.public(A, False)[1], out, (A,))  # type: ignore[no-any-return]


@general(
    name="linalg_eigh", spelled="", outs=("eigenvalues", "eigenvectors"), differentiable=(0, 1), holomorphic=False,
    gaps=True, vmap=whole_batch("linalg_eigh"), samples=samples(_spread_hermitian, _squares, keeping=_hermitian),
)  # fmt: skip
def eigh(xp: Any, A: Array, UPLO: str = "L") -> Array:
    """The eigenvalues, rising, and eigenvectors of a Hermitian matrix."""
    return run(xp.linalg.eigh, A, UPLO)


def _gaps(values: Any) -> Any:
    """Differences of eigenvalues, 1 on the diagonal."""
    return values[..., None, :] - values[..., :, None] + _eye(values, values.shape[-1])


def _eigh_pull(g: Any, values: Any, vectors: Any) -> Any:
    g_values, g_vectors = g
    if g_vectors is None:
        return product(vectors * g_values[..., None, :], adjoint(vectors))
    n = values.shape[-1]
    inner = product(adjoint(vectors), g_vectors) / _gaps(values) * (1 - _eye(values, n))
    if g_values is not None:
        inner = inner + _on_diagonal(g_values)
    return product(vectors, product((inner + adjoint(inner)) * 0.5, adjoint(vectors)))


eigh.vjp(A=lambda g, eigenvalues, eigenvectors: _eigh_pull(g, eigenvalues, eigenvectors))
_public(eigh, "eigh")


@composite(spelled="l")
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix, rising."""
    return into("linalg_eigvalsh", eigh.public(A, UPLO)[0], out, (A,))  # type: ignore[no-any-return]


@general(
    name="linalg_eig", spelled="", outs=("eigenvalues", "eigenvectors"), differentiable=(0, 1), holomorphic=False,
    gaps=True, vmap=whole_batch("linalg_eig"), samples=samples(_spread, _squares),
)  # fmt: skip
def eig(xp: Any, input: Array) -> Array:
    """The eigenvalues and eigenvectors of a square matrix, complex always."""
    if input.dtype.kind in "biu":
        raise RuntimeError(f"Unknown Complex ScalarType for {OF_NUMPY[input.dtype].title}")
    return run(xp.linalg.eig, input)


def _eig_pull(g: Any, values: Any, vectors: Any) -> Any:
    """Eigenvectors have norm 1: what would stretch them is taken out."""
    g_values, g_vectors = g
    back = adjoint(vectors)
    if g_vectors is None:
        return _solved(back, g_values[..., :, None] * back)
    turned = product(back, g_vectors)
    inner = turned - product(back, vectors * _real(_diagonal(turned))[..., None, :])
    n = values.shape[-1]
    inner = inner / conj(_gaps(values)) * (1 - _eye(values, n))
    if g_values is not None:
        inner = inner + _on_diagonal(g_values)
    return _solved(back, product(inner, back))


eig.vjp(input=lambda g, eigenvalues, eigenvectors: _eig_pull(g, eigenvalues, eigenvectors))
_public(eig, "eig")


@composite(spelled="l")
def eigvals(input: Tensor, *, out: Any = None) -> Tensor:
    """The eigenvalues of a square matrix, complex always."""
    return into("linalg_eigvals", eig.public(input)[0], out, (input,))  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------- pseudo-inverse, least squares


@general(
    name="linalg_pinv", spelled="", holomorphic=False, vmap=whole_batch("linalg_pinv"),
    samples=samples(real, [((3, 3),), ((4, 3),), ((2, 3, 4),)]),
)  # fmt: skip
def pinv_op(xp: Any, input: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    """Moore and Penrose's inverse, from the singular values above the tolerances."""
    if hermitian and input.ndim >= 2 and input.shape[-1] != input.shape[-2]:
        xp.linalg.eigh(input)  # raises in PyTorch's words
    return run(xp.linalg.pinv, input, _plain(atol), _plain(rtol), hermitian)


def _plain(x: Any) -> Any:
    while isinstance(x, Tensor):
        x = x.raw
    return x


def pinv_pull(g: Any, a: Any, p: Any) -> Any:
    """Golub and Pereyra's formula; p is the pseudo-inverse of a."""
    gh, ph = adjoint(g), adjoint(p)
    if a.shape[-2] <= a.shape[-1]:
        k = product(gh, p)
        kp = product(k, ph)
        rest = product(product(ph, p), gh - product(k, a))
        return -adjoint(product(p, k)) + kp - product(product(a, p), kp) + rest
    k = product(p, gh)
    pk = product(ph, k)
    rest = product(product(gh - product(a, k), p), ph)
    return -adjoint(product(k, p)) + rest + pk - product(product(pk, p), a)


pinv_op.vjp(input=lambda g, input, out: pinv_pull(g, input, out))


@composite(spelled="l")
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """Moore and Penrose's inverse."""
    found = pinv_op.public(A, atol=atol, rtol=rcond if rtol is None else rtol, hermitian=hermitian)
    return into("linalg_pinv", found, out, (A,))  # type: ignore[no-any-return]


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Another name of `linalg.pinv`."""
    return pinv(input, rcond)


@general(
    name="linalg_lstsq", spelled="", outs=("solution", "residuals", "rank", "singular_values"), holomorphic=False,
    samples=samples(real, [((4, 3), (4, 2)), ((2, 4, 3), (2, 4, 2))]),
)  # fmt: skip
def lstsq(xp: Any, A: Array, B: Array, rcond: float | None = None, *, driver: str | None = None) -> Array:
    """The X of least |A X - B|; residuals, rank, singular values."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not B.ndim:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    return run(xp.linalg.lstsq, A, B, rcond, driver)


def _least_pull(g: Any, A: Any, B: Any, solution: Any, at: int) -> Any:
    vector = is_vector(A, B)
    p = pinv_op(A)
    g = _column(g, vector)
    if at:
        found = product(adjoint(p), g)
        return sum_to(found[..., 0] if vector else found, tuple(B.shape))
    return sum_to(pinv_pull(product(g, adjoint(_column(B, vector))), A, p), tuple(A.shape))


lstsq.vjp(
    A=lambda g, A, B, solution: _least_pull(g, A, B, solution, 0),
    B=lambda g, A, B, solution: _least_pull(g, A, B, solution, 1),
)
_public(lstsq, "lstsq")


@composite(spelled="l")
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """How many singular values are above the tolerances."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    values = eigvalsh(A.detach()).abs() if hermitian else svdvals(A.detach())
    if not values.shape[-1]:
        return into("matrix_rank", values.sum(-1).long(), out, (A,))
    largest = values.amax(-1, keepdim=True)
    if tol is not None:
        cut: Any = tol[..., None] if isinstance(tol, Tensor) and tol.ndim else tol
    else:
        cut = _rank_cut(A, largest, atol, rtol)
    return into("matrix_rank", (values > cut).sum(-1), out, (A,))  # type: ignore[no-any-return]


def _rank_cut(A: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    a, r = (x[..., None] if isinstance(x, Tensor) and x.ndim else x for x in (atol, rtol))
    if r is None:
        given = np.any(np.asarray(_plain(atol)) > 0) if atol is not None else False
        r = 0.0 if given else max(A.shape[-2:]) * float(np.finfo(A.dtype.to_real().numpy).eps)
    scaled = largest * r
    if a is None:
        return scaled
    return call("maximum", scaled, a if isinstance(a, Tensor) else fresh(np.asarray(a, scaled.dtype.numpy)))


# -------------------------------------------------------------------------------------------------- exponential, powers


@general(
    name="linalg_matrix_exp", spelled="", node="LinalgMatrixExp", vmap=whole_batch("linalg_matrix_exp"),
    samples=samples(real, _squares),
)  # fmt: skip
def matrix_exp(xp: Any, A: Array) -> Array:
    """The exponential of a matrix."""
    return run(xp.linalg.matrix_exp, A)


def _exp_pull(g: Any, A: Any) -> Any:
    """The exponential of [[A^T, g], [0, A^T]] holds the derivative above its diagonal."""
    n, turned = A.shape[-1], flipped(A)
    above = _joined((turned, g), -1)
    below = _joined((turned * 0, turned), -1)
    return matrix_exp(_joined((above, below), -2))[..., :n, n:]


matrix_exp.vjp(A=lambda g, A: _exp_pull(g, A))
_public(matrix_exp, "matrix_exp", "lfm")


def _require_square(name: str, A: Any) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


@composite(spelled="lfm")
def matrix_power(input: Any, n: int, *, out: Any = None) -> Tensor:
    """A matrix multiplied with itself n times; its inverse for a negative n."""
    _require_square("linalg.matrix_power", input)
    return into("matrix_power", _powered(input, n), out, (input,))  # type: ignore[no-any-return]


def _powered(a: Any, n: int) -> Any:
    if n == 0:
        eye = fresh(np.eye(a.shape[-1], dtype=a.dtype.numpy))
        return a.clone().copy_(eye.expand(a.shape))
    if n < 0:
        a, n = inv(a), -n
    if n == 1:
        return a.clone()
    if n == 3:
        return matmul(matmul(a, a), a)
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        square = matmul(square, square) if n else square
    return result


@composite(spelled="l")
def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """The product of several matrices, in the cheapest order; the first and last may be vectors."""
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    if any(x.dtype is not given[0].dtype for x in given):
        raise RuntimeError(
            f"multi_dot(): all tensors must have be the same dtype but got {[str(x.dtype) for x in given]}"
        )
    shape, chain = _as_matrices(given)
    for i in range(len(chain) - 1):
        if chain[i].shape[-1] != chain[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(chain[i].shape)} and "
                f"{list(chain[i + 1].shape)} cannot be multiplied"
            )
    return into("multi_dot", in_best_order(chain).reshape(shape), out, tuple(given))  # type: ignore[no-any-return]


def _as_matrices(given: list[Any]) -> tuple[tuple[int, ...], list[Any]]:
    for at, x in enumerate(given):
        ends = at in (0, len(given) - 1)
        if x.ndim != 2 and not (ends and x.ndim == 1):
            want = "1D or 2D" if ends else "2D"
            where = "the first tensor" if at == 0 else "the last tensor" if ends else f"tensor {at}"
            raise RuntimeError(f"multi_dot(): {where} must be {want} but got {x.ndim}D")
    first, last = given[0], given[-1]
    shape = (*first.shape[:-1], *last.shape[1:])
    chain = [*given]
    chain[0] = first.unsqueeze(0) if first.ndim == 1 else first
    chain[-1] = last.unsqueeze(1) if last.ndim == 1 else last
    return shape, chain


# -------------------------------------------------------------------------------------------------------------- tensors


@composite(spelled="l")
def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of the linear map that a tensor is, `ind` axes to the rest."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if prod(first) != prod(rest):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(rest)} != {prod(first)}"
        )
    n = prod(first)
    return into("tensorinv", inv(A.reshape((n, n))).reshape((*rest, *first)), out, (A,))


@composite(spelled="l")
def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        moved = [normalize_dim(d, A.ndim) for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    rest = tuple(A.shape[B.ndim :])
    n = B.shape.numel()
    if prod(rest) != n:
        raise (
            RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                f"prod(self.shape[:other.ndim]), but got {prod(rest)} != {n}"
            )
            if prod(A.shape) == n * n
            else RuntimeError(f"shape '{[n, n]}' is invalid for input of size {prod(A.shape)}")
        )
    return into("tensorsolve", solve(A.reshape((n, n)), B.reshape((n,))).reshape(rest), out, (A, B))


@composite(spelled="l")
def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Tensor:
    """Sums of products along an axis, the first factor conjugated."""
    for each in (x, y):
        if each.dtype.category < 2:
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {each.dtype.title}"
            )
    return into("vecdot", (conj(x) * y).sum(dim), out, (x, y))  # type: ignore[no-any-return]


@composite(spelled="l")
def vander(x: Any, N: int | None = None) -> Tensor:
    """The powers 0, 1, ... of each value, side by side."""
    count = x.shape[-1] if N is None and x.ndim else 0 if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x.dtype.category else x.long()
    repeated = x.unsqueeze(-1).expand((*x.shape, count - 1))
    ones = x.new_ones((*x.shape, 1), dtype=repeated.cumprod(-1).dtype)
    return call("cat", (ones, repeated.cumprod(-1)), dim=-1)  # type: ignore[no-any-return]


@composite(spelled="l", name="diagonal")
def _diagonal_of(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return call("diagonal", A, offset, dim1, dim2)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------------- norms


def _two_dims(A: Any, dim: Any) -> tuple[int, int]:
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        shown = dims[0] if len(dims) == 1 else list(dims)
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (normalize_dim(d, A.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


@composite(spelled="l")
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None, out: Any = None
) -> Tensor:
    """A norm of matrices: "fro", "nuc", or one of inf, 1, 2 and their negatives."""
    rows, columns = _two_dims(A, dim)
    if A.dtype.category < 2:
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype.title}"
        )
    return into("linalg_matrix_norm", _matrix_norm(A, ord, rows, columns, keepdim, dtype), out, (A,))  # type: ignore[no-any-return]


def _matrix_norm(A: Any, ord: Any, rows: int, columns: int, keepdim: bool, dtype: DType | None) -> Any:
    if ord == "fro":
        return vector_norm.public(A, 2, (rows, columns), keepdim, dtype=dtype)
    A = A if dtype is None else A.to(dtype)
    if ord == "nuc":
        return _spectral(A, rows, columns, keepdim, lambda s: s.sum(-1, keepdim=keepdim))
    size = abs(ord) if isinstance(ord, (int, float)) else None
    if size == 2:
        return _spectral(A, rows, columns, keepdim, lambda s: _extreme(s, ord, -1, keepdim))
    if size not in (1, inf):
        shown = f"{ord:g}" if size is not None else ord
        raise RuntimeError(f"linalg.matrix_norm: Order {shown} not supported.")
    summed, chosen = (columns, rows) if size == inf else (rows, columns)
    sums = vector_norm.public(A, 1, summed, keepdim)
    at = chosen if keepdim or chosen < summed else chosen - 1
    return _extreme(sums, ord, at, keepdim)


def _extreme(x: Any, ord: float, dim: int, keepdim: bool) -> Any:
    return x.amax(dim, keepdim=keepdim) if ord > 0 else x.amin(dim, keepdim=keepdim)


def _spectral(A: Any, rows: int, columns: int, keepdim: bool, fold: Any) -> Any:
    order = [d for d in range(A.ndim) if d not in (rows, columns)] + [rows, columns]
    found = fold(svdvals(A.permute(order) if order != list(range(A.ndim)) else A))
    if not keepdim:
        return found
    found = found.unsqueeze(-1)
    return found.permute([order.index(d) for d in range(A.ndim)])


@composite(spelled="l")
def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None, out: Any = None,
    axis: Any = None, keepdims: Any = None,
) -> Tensor:  # fmt: skip
    """A norm of vectors or matrices, by how many axes there are."""
    dim, keepdim = (axis if dim is None else dim), (keepdim if keepdims is None else keepdims)
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    matrix = ord is not None and (len(dims) if dims is not None else A.ndim) == 2
    if matrix or isinstance(ord, str):
        return matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    return vector_norm.public(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype, out=out)  # type: ignore[no-any-return]


@composite(name="norm")
def _norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: DType | None = None,
    **aliased: Any,
) -> Tensor:  # fmt: skip
    """The p-norm of all elements or over axes; "fro" is 2, "nuc" the sum of singular values."""
    dim, keepdim = aliased.pop("axis", dim), aliased.pop("keepdims", keepdim)
    if p == "nuc":
        if dim is None:
            dim = tuple(range(input.ndim))
        return matrix_norm(input, "nuc", dim, keepdim, dtype=dtype, out=out)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    order = 2 if p == "fro" or p is None else p
    return vector_norm.public(input, order, dim, keepdim, dtype=dtype, out=out)  # type: ignore[no-any-return]


@composite(spelled="f")
def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The sum of the singular values."""
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


@composite(spelled="f")
def frobenius_norm(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The root of the sum of squares."""
    return vector_norm.public(input, 2, dim, keepdim, out=out)  # type: ignore[no-any-return]


def _removed(name: str, instead: str) -> None:
    def gone(*args: Any, **named: Any) -> Any:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is deprecated in favor "
            f"of `torch.linalg.{instead}`."
        )

    gone.__name__ = gone.__qualname__ = name
    gone.__doc__ = f"Gone: use `linalg.{instead}`."
    spell(name, gone, "f" if name == "matrix_rank" else "fm")


for _old, _instead in (
    ("eig", "eig"), ("lstsq", "lstsq"), ("matrix_rank", "matrix_rank"), ("solve", "solve"), ("symeig", "eigh"),
):  # fmt: skip
    _removed(_old, _instead)


@composite(spelled="l")
def cond(A: Any, p: Any = None, *, out: Any = None) -> Tensor:
    """How far a matrix is from singular: the norm of it times the norm of its inverse."""
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        s = svdvals(A)
        big, small = s[..., :1], s[..., -1:]
        return into("linalg_cond", (small / big if p == -2 else big / small).squeeze(-1), out, (A,))
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {A.shape[-2]} "
            f"by {A.shape[-1]} matrices"
        )
    inverse, info = inv_ex.public(A)
    inverse = call("where", (info != 0)[..., None, None], inf, inverse)
    return into("linalg_cond", matrix_norm(A, p) * matrix_norm(inverse, p), out, (A,))


# --------------------------------------------------------------------------------------------------------------- renorm


def _check_renorm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    _renorm_arguments(inputs[0], params["p"], params["dim"], params["maxnorm"])


def _renorm_arguments(x: Any, p: Any, dim: int, maxnorm: Any) -> None:
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if rank_of(x) < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank_of(x)} dimensions")


def _others(rank: int, dim: int) -> tuple[int, ...]:
    axis = normalize_dim(dim, rank)
    return tuple(a for a in range(rank) if a != axis)


def _renorm_factor(norms: Any, maxnorm: Any) -> Any:
    return call("where", norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@general(
    spelled="fmi",
    holomorphic=False,
    check=_check_renorm,
    exact=SAME_OUT,
    samples=samples(real, [((3, 4),)], p=[2, 1], dim=[0, 1], maxnorm=[1.0]),
)
def renorm(xp: Any, input: Array, p: Any, dim: int, maxnorm: Any) -> Array:
    """Slices along an axis, scaled down to a p-norm of at most `maxnorm`."""
    maxnorm = float(_plain(maxnorm))
    _renorm_arguments(input, p, dim, maxnorm)
    wide = widened(input)
    norms = vector_norm(wide, p, _others(input.ndim, dim), True)
    return packed((wide * _renorm_factor(norms, maxnorm)).astype(input.dtype))


def _renorm_pull(g: Any, input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axes, maxnorm = _others(rank_of(input), dim), float(_plain(maxnorm))
    norms = vector_norm(input, p, axes, True)
    feels = call("sum", _real(conj(input) * g), axes, True)
    g_norm = call("where", norms > maxnorm, -maxnorm * feels / ((norms + 1e-7) * (norms + 1e-7)), 0.0)
    return cast(g * _renorm_factor(norms, maxnorm) + norm_pull(g_norm, input, norms, p, axes), dtype_of(input))


renorm.vjp(input=lambda g, input, p, dim, maxnorm: _renorm_pull(g, input, p, dim, maxnorm))
