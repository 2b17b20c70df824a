"""What the ops of linear algebra share: parts and forms of matrices, batches, samples.

Every op takes batches (*batch, rows, columns). Rules of holomorphic ops are plain transposes (`flipped`); those whose
definition takes conjugates, norms or real parts (Cholesky, QR, spectra) write the adjoint (`adjoint`) and say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends import meta
from chainrule.core.family import call
from chainrule.core.public import spell
from chainrule.core.tensor import Tensor, fresh
from chainrule.core.types import return_type
from chainrule.ops.along import rank_of
from chainrule.ops.contract import conj, flipped

__all__ = [
    "adjoint", "aligned_batch", "by_columns", "diagonals", "identity", "is_complex", "joined", "lower_part",
    "made_hermitian", "made_triangle", "named", "on_diagonal", "plain_number", "positive_definite", "real_of",
    "regular", "require_square", "run", "spell_op", "squares", "triangle", "upper_part", "whole_batch",
]  # fmt: skip


def adjoint(x: Any) -> Any:
    """The conjugate transpose, on arrays or tensors."""
    return conj(flipped(x))


def diagonals(x: Any) -> Any:
    return call("diagonal", x, 0, -2, -1)


def identity(like: Any, n: int) -> Any:
    """An identity matrix of the dtype, array or tensor as `like` is."""
    if isinstance(like, Tensor):
        return fresh(np.eye(n, dtype=like.dtype.numpy))
    return np.eye(n, dtype=like.dtype)


def on_diagonal(v: Any) -> Any:
    """Diagonal matrices with the given diagonals."""
    return v[..., :, None] * identity(v, v.shape[-1])


def lower_part(x: Any, k: int = 0) -> Any:
    return call("tril", x, k)


def upper_part(x: Any, k: int = 0) -> Any:
    return call("triu", x, k)


def real_of(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.real if x.dtype.is_complex else x
    return x.real


def is_complex(x: Any) -> bool:
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


def whole_batch(name: str, rank: int = 2) -> Any:
    """An op of one matrix runs on a batch as it is: the batch joins the batch axes. `rank`: of the least example."""

    def batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        if batched[0] and rank_of(values[0]) <= rank:  # no batch of vectors passes for a matrix: the op refuses one
            values = (values[0].new_zeros(tuple(values[0].shape)[1:]), *values[1:])
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


def spell_op(op_fn: Any, name: str, places: str = "l") -> None:
    spell(name, op_fn.public, places)


def regular(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Away from singular: random with a strong diagonal."""
    return rng.normal(size=shape) + 3 * np.eye(shape[-2], shape[-1])


def triangle(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.tril(rng.normal(size=shape)) + 3 * np.eye(shape[-1])


def made_triangle(x: Any) -> Any:
    """The lower triangle of x with a real diagonal: a factor of a Hermitian matrix."""
    return np.where(np.eye(x.shape[-1], dtype=bool), x.real, np.tril(x, -1))


def made_hermitian(x: Any) -> Any:
    """The Hermitian matrix with the lower triangle of x: what ops read that trust their input to be Hermitian."""
    upper = np.swapaxes(np.tril(x, -1), -1, -2).conj()
    return np.tril(x, -1) + upper + np.eye(x.shape[-1]) * x.real


def positive_definite(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return made_hermitian(rng.normal(size=shape) + 6 * np.eye(shape[-1]))


squares: list[tuple[Any, ...]] = [((3, 3),), ((2, 3, 3),)]


def named(name: str, outs: tuple[str, ...], values: Any) -> Any:
    return return_type(name, outs, list(values))


def joined(parts: tuple[Any, ...], dim: int) -> Any:
    return call("cat", parts, dim=dim) if isinstance(parts[0], Tensor) else np.concatenate(parts, dim)


def plain_number(x: Any) -> Any:
    while isinstance(x, Tensor):
        x = x.raw
    return x


def require_square(name: str, A: Any) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
