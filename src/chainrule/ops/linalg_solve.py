"""Inverses, determinants, solutions of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.family import call, general, sum_to
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, real, samples
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import SAME_OUT, rank_of
from chainrule.ops.contract import conj, flipped, product
from chainrule.ops.linalg_basics import (
    adjoint,
    aligned_batch,
    is_complex,
    lower_part,
    named,
    real_of,
    regular,
    run,
    spell_op,
    squares,
    triangle,
    upper_part,
    whole_batch,
)
from chainrule.ops.writing import into

__all__ = ["column", "det", "inv", "inv_ex", "is_vector", "slogdet", "solve", "solve_triangular", "solved"]


def _imag_times_i(x: Any) -> Any:
    """x without its real part."""
    return x - real_of(x)


# --------------------------------------------------------------------------------------------------------- inverse, det


@general(
    name="linalg_inv_ex", exact=SAME_OUT, spelled="", outs=("inverse", "info"), vmap=whole_batch("linalg_inv_ex"),
    samples=samples(regular, squares),
)  # fmt: skip
def inv_ex(xp: Any, A: Array, *, check_errors: bool = False) -> Array:
    """The inverse, and per matrix an int32 that is not 0 where there is none."""
    if check_errors:
        inverse = run(xp.linalg.inv, A)
        return inverse, np.zeros_like(inverse[..., 0, 0] if inverse.size else inverse, np.int32, shape=A.shape[:-2])
    return run(xp.linalg.inv_ex, A)


inv_ex.vjp(A=lambda g, inverse: -product(flipped(inverse), product(g, flipped(inverse))))
spell_op(inv_ex, "inv_ex")


@composite(spelled="l")
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of a square matrix."""
    return into("linalg_inv", inv_ex.public(A, check_errors=True)[0], out, (A,), SAME_OUT)  # type: ignore[no-any-return]


@composite()
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `linalg.inv`."""
    return inv(input, out=out)


@general(
    name="linalg_det", exact=SAME_OUT, spelled="", vmap=whole_batch("linalg_det"), samples=samples(regular, squares)
)
def det(xp: Any, A: Array) -> Array:
    """The determinant."""
    return run(xp.linalg.det, A)


def _cofactors(a: Any) -> Any:
    """Derivatives of the determinant by each element, singular matrices included: from the singular values."""
    if isinstance(a, Tensor):
        left, values, right = call("linalg_svd", a, full_matrices=True)
        others = call("where", fresh(np.eye(a.shape[-1], dtype=bool)), 1.0, values.unsqueeze(-2)).prod(-1)
        phase = det(left) * det(right)
    elif not a.size:
        return a
    else:
        left, values, right = np.linalg.svd(a)
        others = np.where(np.eye(values.shape[-1], dtype=bool), 1, values[..., None, :]).prod(-1)
        phase = np.linalg.det(left) * np.linalg.det(right)
    return phase[..., None, None] * (conj(left) * others[..., None, :] @ conj(right))


def _det_pull(g: Any, A: Any, out: Any) -> Any:
    if isinstance(g, Tensor):
        if out.raw.__class__ is np.ndarray and not np.all(out.raw):  # inside a transform nobody can look
            return g[..., None, None] * _cofactors(A)
        inverse = inv_ex(A)[0]
        return (g * out)[..., None, None] * flipped(inverse)
    if not np.all(out):
        return np.asarray(g)[..., None, None] * _cofactors(A).astype(A.dtype)
    return np.asarray(g * out)[..., None, None] * flipped(np.linalg.inv(A))


det.vjp(A=_det_pull)
spell_op(det, "det", "lfm")


@general(
    name="linalg_slogdet", exact=SAME_OUT, spelled="", outs=("sign", "logabsdet"), differentiable=(0, 1),
    holomorphic=False, gaps=True, vmap=whole_batch("linalg_slogdet"), samples=samples(regular, squares),
)  # fmt: skip
def slogdet(xp: Any, A: Array) -> Array:
    """The sign (or phase) of the determinant, and the logarithm of its size."""
    return run(xp.linalg.slogdet, A)


def _slogdet_pull(g: Any, A: Any, sign: Any) -> Any:
    """Of log det = logabsdet + i angle: the size feels the real part of tr(A^-1 dA), the angle the imaginary one."""
    g_sign, g_log = g
    weight = g_log
    if is_complex(A) and g_sign is not None:
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
spell_op(slogdet, "slogdet")


@composite(name="slogdet")
def _slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
    return named("slogdet", ("sign", "logabsdet"), slogdet.public(input, out=out))


@composite()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative."""
    sign, size = slogdet.public(input)
    if input.dtype.is_complex:
        return sign.log() + size  # type: ignore[no-any-return]
    return call("where", sign == -1.0, float("nan"), size)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------ solutions


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
    name="linalg_solve_ex", exact=SAME_OUT, spelled="", outs=("result", "info"), check=_check_solve, vmap=_solve_batch,
    samples=samples(regular, [((3, 3), Drawn(real, 3, 2)), ((2, 3, 3), Drawn(real, 2, 3, 2))], vector=[False]),
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


def solved(a: Any, b: Any, left: bool = True, vector: bool = False) -> Any:
    return solve_op(a, b, left=left, vector=vector)[0]


def column(x: Any, vector: bool) -> Any:
    return x[..., None] if vector else x


def _solve_pull_a(g: Any, A: Any, result: Any, left: bool, vector: bool) -> Any:
    pulled = column(solved(flipped(A), g, left, vector), vector)
    x = column(result, vector)
    found = -product(pulled, flipped(x)) if left else -product(flipped(x), pulled)
    return sum_to(found, tuple(A.shape))


solve_op.vjp(
    A=lambda g, A, result, left, vector: _solve_pull_a(g, A, result, left, vector),
    B=lambda g, A, B_shape, left, vector: sum_to(solved(flipped(A), g, left, vector), tuple(B_shape)),
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
    return into("linalg_solve", found, out, (A, B), SAME_OUT)  # type: ignore[no-any-return]


@general(
    name="linalg_solve_triangular",
    exact="expected scalar type {result} but found {out}",
    spelled="",
    vmap=aligned_batch("linalg_solve_triangular"),
    samples=samples(triangle, [((3, 3), Drawn(real, 3, 2)), ((2, 3, 3), Drawn(real, 2, 3, 2))], upper=[False]),
)
def solve_triangular(
    xp: Any, A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """X with A X = B (or X A = B), reading one triangle of A."""
    return run(xp.linalg.solve_triangular, A, B, upper, left, unitriangular)


def _triangular_pull_a(g: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    pulled = _triangular_back(g, A, upper, left, unitriangular)
    found = -product(pulled, flipped(out)) if left else -product(flipped(out), pulled)
    part = upper_part(found, int(unitriangular)) if upper else lower_part(found, -int(unitriangular))
    return sum_to(part, tuple(A.shape))


def _triangular_back(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return solve_triangular(flipped(A), g, upper=not upper, left=left, unitriangular=unitriangular)


solve_triangular.vjp(
    A=lambda g, A, out, upper, left, unitriangular: _triangular_pull_a(g, A, out, upper, left, unitriangular),
    B=lambda g, A, B_shape, upper, left, unitriangular: sum_to(
        _triangular_back(g, A, upper, left, unitriangular), tuple(B_shape)
    ),
)
spell_op(solve_triangular, "solve_triangular")


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
    result = named("triangular_solve", ("solution", "cloned_coefficient"), (found, A.clone()))
    return into("triangular_solve", result, out, (b, A), SAME_OUT)
