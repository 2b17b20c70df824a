"""Singular values of large matrices of low rank, from products with some random vectors: `svd_lowrank` and its kin."""

from __future__ import annotations

from typing import Any

from chainrule.config import settings
from chainrule.core.family import call
from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops.contract import matmul
from chainrule.ops.linalg_basics import adjoint

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that span nearly what A spans (Halko, Martinsson and Tropp 2009, algorithm 4.4)."""
    dtype = A.dtype if A.dtype.category >= 2 else settings.default_dtype
    Q = _orthonormal(matmul(A, call("randn", A.shape[-1], q, dtype=dtype, device=A.device)))
    for _ in range(niter):
        Q = _orthonormal(matmul(A, _orthonormal(matmul(adjoint(A), Q))))
    return Q


def _orthonormal(X: Any) -> Any:
    return call("linalg_qr", X)[0]


def _lowrank(A: Any, q: int, niter: int) -> tuple[Any, Any, Any]:
    rows, columns = A.shape[-2:]
    if rows < columns:
        U, S, V = _lowrank(adjoint(A), q, niter)
        return V, S, U
    Q = _basis(A, q, niter)
    U, S, Vh = call("linalg_svd", matmul(adjoint(Q), A), full_matrices=False)
    return matmul(Q, U), S, adjoint(Vh)


@composite("f")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of nearly the `q` largest singular values of A, or of A - M."""
    return _lowrank(A if M is None else A - M, 6 if q is None else q, 2 if niter is None else niter)


@composite("f")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows: U, S and V of nearly the `q` largest singular values, columns first centred."""
    least = min(A.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
