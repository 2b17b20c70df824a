"""Functions of matrices: exponential, powers, products of several, tensors as linear maps."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.family import call, general
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import castable
from chainrule.ops.contract import CPP_NAMES, conj, flipped, matmul
from chainrule.ops.linalg_basics import joined, require_square, run, spell_op, squares, whole_batch
from chainrule.ops.linalg_solve import inv, solve
from chainrule.ops.tensor_products import MULTI_OUT, in_best_order
from chainrule.ops.writing import into

__all__ = ["matrix_power"]


# -------------------------------------------------------------------------------------------------- exponential, powers


@general(
    name="linalg_matrix_exp", spelled="", node="LinalgMatrixExp", vmap=whole_batch("linalg_matrix_exp"),
    samples=samples(real, squares),
)  # fmt: skip
def matrix_exp(xp: Any, A: Array) -> Array:
    """The exponential of a matrix."""
    return run(xp.linalg.matrix_exp, A)


def _exp_pull(g: Any, A: Any) -> Any:
    """The exponential of [[A^T, g], [0, A^T]] holds the derivative above its diagonal."""
    n, turned = A.shape[-1], flipped(A)
    above = joined((turned, g), -1)
    below = joined((turned * 0, turned), -1)
    return matrix_exp(joined((above, below), -2))[..., :n, n:]


matrix_exp.vjp(A=lambda g, A: _exp_pull(g, A))
spell_op(matrix_exp, "matrix_exp", "lfm")


@composite(spelled="lfm")
def matrix_power(input: Any, n: int, *, out: Any = None) -> Tensor:
    """A matrix multiplied with itself n times; its inverse for a negative n."""
    require_square("linalg.matrix_power", input)
    return into("matrix_power", _powered(input, n), out, (input,), castable("matrix_power"))  # type: ignore[no-any-return]


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
    for at, x in enumerate(given):
        if x.dtype is not given[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{CPP_NAMES[given[0].dtype.name]} and tensor {at} {CPP_NAMES[x.dtype.name]}"
            )
    shape, chain = _as_matrices(given)
    for i in range(len(chain) - 1):
        if chain[i].shape[-1] != chain[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(chain[i].shape)} and "
                f"{list(chain[i + 1].shape)} cannot be multiplied"
            )
    return into("multi_dot", in_best_order(chain).reshape(shape), out, tuple(given), MULTI_OUT)  # type: ignore[no-any-return]


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
    return into("tensorinv", inv(A.reshape((n, n))).reshape((*rest, *first)), out, (A,), castable("tensorinv"))


@composite(spelled="l")
def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        moved = [normalize_dim(d, A.ndim) for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    rest = tuple(A.shape[B.ndim :])
    n = B.shape.numel()
    if prod(rest) != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(rest)} != {n}"
        )
    return into(
        "tensorsolve", solve(A.reshape((n, n)), B.reshape((n,))).reshape(rest), out, (A, B), castable("tensorsolve")
    )


@composite(spelled="l")
def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Tensor:
    """Sums of products along an axis, the first factor conjugated."""
    for each in (x, y):
        if each.dtype.category < 2:
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {each.dtype.title}"
            )
    found: Tensor = (conj(x) * y).sum(dim)
    return into("vecdot", found, out, (x, y), "linalg.vecdot: Expected out of dtype{result} but found {out}")


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
