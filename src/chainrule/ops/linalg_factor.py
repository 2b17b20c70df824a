"""Factors of matrices: Cholesky, LU, QR."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from chainrule.backends import meta
from chainrule.core.dtype import dtype as DType
from chainrule.core.dtype import float64
from chainrule.core.family import dtype_of, front, general, spread, sum_to
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, real, samples
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import SAME_OUT, castable, rank_of
from chainrule.ops.contract import conj, flipped, matmul, product
from chainrule.ops.linalg_basics import (
    adjoint,
    aligned_batch,
    by_columns,
    diagonals,
    joined,
    lower_part,
    made_hermitian,
    made_triangle,
    named,
    on_diagonal,
    positive_definite,
    real_of,
    regular,
    require_square,
    run,
    spell_op,
    squares,
    triangle,
    upper_part,
    whole_batch,
)
from chainrule.ops.linalg_solve import solve_triangular
from chainrule.ops.writing import into

__all__ = ["cholesky", "qr", "solution_shape"]

_SAME_AS_INPUT = (
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} and result has dtype "
    "{out}"
)


def _row_swaps(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """What LAPACK says of row exchanges: each row, counted from one, with itself or one further down."""
    rows = np.arange(1, shape[-1] + 1)
    return (rows + rng.integers(0, shape[-1] - rows + 1, size=shape)).astype(np.int32)


# ------------------------------------------------------------------------------------------------------------- Cholesky


@general(
    name="linalg_cholesky_ex", exact=SAME_OUT, spelled="", outs=("L", "info"), holomorphic=False,
    vmap=whole_batch("linalg_cholesky_ex"),
    samples=samples(positive_definite, squares, keeping=made_hermitian, upper=[False, True]),
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
    phi = lower_part(product(adjoint(L), g))
    phi = phi - on_diagonal(diagonals(phi)) * 0.5
    inner = solve_triangular(adjoint(L), phi, upper=True)
    found = solve_triangular(L, inner, upper=False, left=False)
    return (found + adjoint(found)) * 0.5


cholesky_ex.vjp(input=lambda g, L, upper: _cholesky_pull(g, L, upper))
spell_op(cholesky_ex, "cholesky_ex")


@composite(spelled="l")
def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower factor L with A = L L^H (or the upper one, U^H U)."""
    return into("linalg_cholesky", cholesky_ex.public(A, upper=upper, check_errors=True)[0], out, (A,), SAME_OUT)  # type: ignore[no-any-return]


@composite(name="cholesky")
def _cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The older spelling of `linalg.cholesky`."""
    return into("cholesky", cholesky(input, upper=upper), out, (input,), castable("cholesky"))


def _check_cholesky_solve(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    for name, x in (("b", inputs[0]), ("u", inputs[1])):
        if rank_of(x) < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {rank_of(x)} dimensions instead")


def _made_factor(x: Any) -> Any:
    """The square one of the inputs as a Cholesky factor."""
    return made_triangle(x) if x.shape[-1] == x.shape[-2] else x


@general(
    name="cholesky_solve", exact=castable("cholesky_solve"), holomorphic=False, vmap=aligned_batch("cholesky_solve"),
    samples=samples(triangle, [(Drawn(real, 3, 2), (3, 3))], keeping=_made_factor, upper=[False]),
)  # fmt: skip
def cholesky_solve(xp: Any, input: Array, input2: Array, upper: bool = False) -> Array:
    """X with A X = input, from the Cholesky factor of A."""
    _check_cholesky_solve((input, input2), {})
    return by_columns(run(xp.linalg.cholesky_solve, input, input2, upper))


def _cholesky_solve_pull(g: Any, factor: Any, out: Any, upper: bool) -> Any:
    pulled = -product(cholesky_solve(g, factor, upper), adjoint(out))
    both = pulled + adjoint(pulled)
    return sum_to(product(factor, both) if upper else product(both, factor), tuple(factor.shape))


cholesky_solve.vjp(
    input=lambda g, input2, input_shape, upper: sum_to(cholesky_solve(g, input2, upper), tuple(input_shape)),
    input2=lambda g, input2, out, upper: _cholesky_solve_pull(g, input2, out, upper),
)


@general(
    name="cholesky_inverse",
    exact=castable("cholesky_inverse"),
    holomorphic=False,
    vmap=whole_batch("cholesky_inverse"),
    samples=samples(triangle, squares, keeping=made_triangle),
    meta=lambda raws, params: meta.empty(raws[0].shape, raws[0].dtype).swapaxes(-1, -2),
)
def cholesky_inverse(xp: Any, input: Array, upper: bool = False) -> Array:
    """The inverse of A, from its Cholesky factor."""
    if input.ndim < 2:
        raise RuntimeError("cholesky_inverse: The input tensor A must have at least 2 dimensions.")
    require_square("cholesky_inverse", input)
    return by_columns(run(xp.linalg.cholesky_inverse, input, upper))


def _cholesky_inverse_pull(g: Any, factor: Any, out: Any, upper: bool) -> Any:
    pulled = -product(out, product(g, out))
    both = pulled + adjoint(pulled)
    return product(factor, both) if upper else product(both, factor)


cholesky_inverse.vjp(input=lambda g, input, out, upper: _cholesky_inverse_pull(g, input, out, upper))


# ------------------------------------------------------------------------------------------------------------------- LU


@general(
    name="linalg_lu_factor_ex", exact=SAME_OUT, spelled="", outs=("LU", "pivots", "info"),
    vmap=whole_batch("linalg_lu_factor_ex"), samples=samples(regular, [((3, 3),), ((2, 3, 4),), ((4, 3),)]),
)  # fmt: skip
def lu_factor_ex(xp: Any, A: Array, *, pivot: bool = True, check_errors: bool = False) -> Array:
    """L and U in one matrix, the row swaps, and per matrix an int32 that is not 0 where a pivot is 0."""
    if check_errors:
        packed, pivots = run(xp.linalg.lu_factor, A, pivot)
        return packed, pivots, np.zeros(A.shape[:-2], np.int32)
    return run(xp.linalg.lu_factor_ex, A, pivot)


@general(
    spelled="", vmap=whole_batch("swapped_rows", 1),
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
    lower, upper = lower_part(packed[..., :, :k], -1), upper_part(packed[..., :k, :])
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
    inner = _unit_solve(l1, lower_part(below, -1) + upper_part(above))
    found = solve_triangular(flipped(u1), inner, upper=False, left=False)
    if columns > k:
        found = joined((found, _unit_solve(l1, gu2)), -1)
    if rows > k:
        found = joined((found, solve_triangular(flipped(u1), gl2, upper=False, left=False)), -2)
    return product(order, found)


def _lu_factor_pull(g: Any, LU: Any, pivots: Any) -> Any:
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    lower, upper = _triangles(LU)
    return lu_pull(
        lower_part(g[..., :, :k], -1), upper_part(g[..., :k, :]), lower, upper, _permutation(pivots, rows, LU)
    )


lu_factor_ex.vjp(A=lambda g, LU, pivots: _lu_factor_pull(g, LU, pivots))
spell_op(lu_factor_ex, "lu_factor_ex")


@composite(spelled="l")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U in one matrix, and the row swaps."""
    packed, pivots, _ = lu_factor_ex.public(A, pivot=pivot, check_errors=True)
    return into("linalg_lu_factor", named("linalg_lu_factor", ("LU", "pivots"), (packed, pivots)), out, (A,), SAME_OUT)


@composite(name="lu")
def _lu_packed(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The older spelling of `linalg.lu_factor`."""
    packed, pivots, info = lu_factor_ex.public(A, pivot=pivot)
    return into("lu", (packed, pivots, info) if get_infos else (packed, pivots), out, (A,), SAME_OUT)


@general(
    name="linalg_lu", exact=SAME_OUT, spelled="", outs=("P", "L", "U"), differentiable=(1, 2),
    vmap=whole_batch("linalg_lu"), samples=samples(regular, [((3, 3),), ((2, 3, 4),), ((4, 3),)]),
)  # fmt: skip
def lu(xp: Any, A: Array, *, pivot: bool = True) -> Array:
    """P, L and U with A = P L U."""
    return run(xp.linalg.lu, A, pivot)


lu.vjp(A=lambda g, P, L, U: lu_pull(lower_part(g[0], -1), upper_part(g[1]), L, U, P))
spell_op(lu, "lu")


def _beyond(pivots: Any, high: int | None, low: int | None) -> bool:
    """Is a pivot outside of the rows there are?"""
    if not pivots.size:
        return False
    return (low is not None and bool(pivots.min() < low)) or (high is not None and bool(pivots.max() > high))


def _unpacked_shapes(raws: Any, params: dict[str, Any]) -> Any:
    *lead, rows, columns = raws[0].shape
    k, dtype = min(rows, columns), raws[0].dtype
    P = meta.empty((*lead, rows, rows) if params["unpack_pivots"] else (0,), dtype)
    asked = params["unpack_data"]
    L = meta.empty((*lead, rows, k) if asked else (0,), dtype)
    return P, L, meta.empty((*lead, k, columns) if asked else (0,), dtype)


def solution_shape(raws: Any, params: dict[str, Any]) -> Any:
    """The shape of what solves equations whose factors are given, a batch of them or of what they are to equal."""
    factors, _, B = raws
    return meta.empty((*np.broadcast_shapes(factors.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)


def _unpack_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    if not (params["unpack_data"] and params["unpack_pivots"]):
        return None  # what is not asked for is empty for all examples together
    return lu_unpack.public(*[spread(v, b, size) for v, b in zip(values, batched)])


@general(
    vmap=_unpack_batched, meta=_unpacked_shapes,
    name="lu_unpack", exact=SAME_OUT, outs=("P", "L", "U"), differentiable=(1, 2), spelled="f",
    samples=samples(
        real,
        [((3, 3), Drawn(_row_swaps, 3)), ((2, 3, 4), Drawn(_row_swaps, 2, 3)), ((4, 3), Drawn(_row_swaps, 3))],
    ),
)  # fmt: skip
def lu_unpack(xp: Any, LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True) -> Array:
    """P, L and U, from what `lu_factor` gives."""
    if LU_pivots.dtype != np.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    if unpack_pivots and _beyond(LU_pivots, LU_data.shape[-2], 1):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )
    order, lower, upper = run(xp.linalg.lu_unpack, LU_data, LU_pivots)
    none = xp.empty(0, LU_data.dtype)
    return order if unpack_pivots else none, *((lower, upper) if unpack_data else (none, none))


def _unpack_pull(g: Any, shape: tuple[int, ...]) -> Any:
    rows, columns = shape[-2:]
    k = min(rows, columns)
    lower, upper = lower_part(g[0], -1), upper_part(g[1])
    if columns > k:
        lower = joined((lower, upper[..., :, k:] * 0), -1)
    if rows > k:
        upper = joined((upper, lower[..., k:, :] * 0), -2)
    return lower + upper


lu_unpack.vjp(LU_data=lambda g, LU_data_shape: _unpack_pull(g, tuple(LU_data_shape)))


def _lu_solve_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    LU, pivots, B = values
    together = batched[0] or batched[1]  # the two are of one matrix
    rank = max(LU.ndim - batched[0], B.ndim - batched[2])
    if together:
        LU = front(spread(LU, batched[0], size), rank)
        pivots = front(spread(pivots, batched[1], size), rank - 1)
    return lu_solve_op.public(LU, pivots, front(B, rank) if batched[2] else B, **params)


@general(
    name="linalg_lu_solve", vmap=_lu_solve_batched, meta=solution_shape, exact=SAME_OUT, spelled="", holomorphic=False,
    samples=samples(
        regular,
        [((3, 3), Drawn(_row_swaps, 3), Drawn(real, 3, 3)), ((2, 3, 3), Drawn(_row_swaps, 2, 3), Drawn(real, 2, 3, 3))],
        left=[True, False], adjoint=[False, True],
    ),
)  # fmt: skip
def lu_solve_op(xp: Any, LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """X with A X = B (or X A = B), from the factors of A; with `adjoint` of its conjugate transpose."""
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    for low, text in ((1, "greater or equal to 1"), (None, "smaller or equal to LU.size(-2)")):
        if _beyond(pivots, LU.shape[-2] if low is None else None, low):
            raise RuntimeError(
                f"Pivots given to lu_solve must all be {text}. Did you properly pass the result of lu_factor?"
            )
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
    return sum_to(
        lower_part(product(turned, _adj(upper)), -1) + upper_part(product(_adj(lower), turned)), tuple(LU.shape)
    )


_adj = adjoint
lu_solve_op.vjp(
    LU=lambda g, LU, pivots, out, left, adjoint: _lu_solve_pull(g, LU, pivots, out, left, adjoint),
    B=lambda g, LU, pivots, B_shape, left, adjoint: sum_to(
        _lu_solve_back(g, LU, pivots, left, adjoint), tuple(B_shape)
    ),
)
spell_op(lu_solve_op, "lu_solve")


@composite()
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """The older spelling of `linalg.lu_solve`."""
    return lu_solve_op.public(LU_data, LU_pivots, b, out=out)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------------- QR


@general(
    name="linalg_qr", exact=SAME_OUT, spelled="", outs=("Q", "R"), differentiable=(0, 1), holomorphic=False,
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
    return joined((first, product(Q, g_right)), -1)


def _qr_tall(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    skewed = product(r, adjoint(upper_part(g_r))) - product(adjoint(g_q), q)
    lower = lower_part(skewed, -1)
    middle = lower + adjoint(lower) + on_diagonal(real_of(diagonals(skewed)))
    found = g_q + product(q, middle)
    return adjoint(solve_triangular(r, adjoint(found), upper=True))


qr.vjp(A=lambda g, Q, R, mode: _qr_pull(g, Q, R, mode))
spell_op(qr, "qr")


@composite(name="qr")
def _qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """The older spelling of `linalg.qr`."""
    found = qr.public(input, "reduced" if some else "complete")
    return into("qr", named("qr", ("Q", "R"), found), out, (input,), SAME_OUT)


@general(
    name="geqrf",
    vmap=whole_batch("geqrf"),
    exact=castable("torch.geqrf"),
    outs=("a", "tau"),
    differentiable=(0, 1),
    samples=samples(real, [((3, 3),), ((2, 4, 3),), ((3, 4),)]),
)
def geqrf(xp: Any, input: Array) -> Array:
    """Householder's reflectors of a QR factorisation, packed, and their scales."""
    packed, tau = run(xp.linalg.geqrf, input)
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
    return into("linalg_householder_product", result, out, (A, tau), castable("torch.linalg.householder_product"))


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
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.title} does not match input dtype {A.dtype.title}")


@composite()
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `linalg.householder_product`."""
    return householder_product(input, input2, out=out)


def _check_ormqr(A: Any, tau: Any, other: Any, left: bool) -> None:
    name, side = "torch.ormqr", -2 if left else -1
    for what, x in (("input", A), ("other", other)):
        if x.ndim < 2:
            raise RuntimeError(f"{name}: {what} must have at least 2 dimensions.")
    if other.shape[side] != A.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], A.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    for what, x, lead in (("tau", tau, tau.shape[:-1]), ("other", other, other.shape[:-2])):
        if lead != A.shape[:-2]:
            raise RuntimeError(
                f"{name}: Expected batch dimensions of {what} to be equal to input.shape[:-2], but got {list(lead)}"
            )
        if x.dtype is not A.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {what} to have the same dtype, but input has dtype{A.dtype.title} and "
                f"{what} has dtype {x.dtype.title}"
            )


@composite()
def ormqr(
    input: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False, *, out: Any = None
) -> Tensor:
    """The product of a matrix and of the Q that Householder's reflectors stand for."""
    _check_ormqr(input, input2, input3, left)
    order = range(input2.shape[-1])
    result = input3
    for i in order if (left == transpose) else reversed(order):
        v, t = _reflector(input, i), input2[..., i, None, None]
        t = conj(t) if transpose else t
        if left:
            result = result - t * matmul(v, matmul(adjoint(v), result))
        else:
            result = result - t * matmul(matmul(result, v), adjoint(v))
    return into("ormqr", result, out, (input, input2, input3), _SAME_AS_INPUT)  # type: ignore[no-any-return]
