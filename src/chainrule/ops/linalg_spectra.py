"""Singular values, eigenvalues, and what is made of them: pseudo-inverses, least squares, ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import call, general, spread, sum_to
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import SAME_OUT, castable
from chainrule.ops.contract import conj, product
from chainrule.ops.linalg_basics import (
    adjoint,
    diagonals,
    identity,
    is_complex,
    made_hermitian,
    named,
    on_diagonal,
    plain_number,
    real_of,
    run,
    spell_op,
    squares,
    whole_batch,
)
from chainrule.ops.linalg_solve import column, is_vector, solved
from chainrule.ops.storages import bottom
from chainrule.ops.writing import into

__all__ = ["eigh", "eigvalsh", "lstsq", "pinv", "svd", "svdvals"]


def _spread(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """With eigenvalues that are real and lie apart."""
    return rng.normal(size=shape) * 0.3 + np.diag(3.0 * np.arange(1, shape[-1] + 1))


def _spread_hermitian(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return made_hermitian(_spread(rng, shape))


# -------------------------------------------------------------------------------------------------------------- spectra


@general(
    name="linalg_svd",
    exact=SAME_OUT,
    spelled="",
    outs=("U", "S", "Vh"),
    differentiable=(0, 1, 2),
    holomorphic=False,
    gaps=True,
    vmap=whole_batch("linalg_svd"),
    samples=samples(real, [((3, 3),), ((2, 4, 3),), ((3, 4),)], full_matrices=[False]),
)
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
    gaps = S[..., None, :] * S[..., None, :] - S[..., :, None] * S[..., :, None] + identity(S, k)
    inner, turned = 0, 0  # type: Any, Any
    if g_u is not None:
        turn = _skew(product(adjoint(U), g_u))
        inner, turned = inner + turn / gaps * S[..., None, :], diagonals(turn)
        if is_complex(U):
            inner = inner + on_diagonal(diagonals(turn) / (2 * S))
    if g_vh is not None:
        turn = _skew(product(Vh, adjoint(g_vh)))
        inner, turned = inner + S[..., :, None] * turn / gaps, turned + diagonals(turn)
    if is_complex(U):
        _check_gauge(turned, _GAUGE.format("svd", "singular vectors", "phase term", "making it"))
    if g_s is not None:
        inner = inner + on_diagonal(g_s)
    left = product(U, inner)
    if g_u is not None and rows > k:
        left = left + (g_u - product(U, product(adjoint(U), g_u))) / S[..., None, :]
    found = product(left, Vh)
    if g_vh is not None and columns > k:
        rest = g_vh - product(product(g_vh, adjoint(Vh)), Vh)
        found = found + product(U, rest / S[..., :, None])
    return found


_GAUGE = (
    "{}_backward: The {} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
    "function depends on this {}, {} ill-defined."
)


def _check_gauge(turn: Any, text: str) -> None:
    """Complex vectors are free in phase: a gradient that would turn one has no meaning. The bound is wide."""
    if np.abs(np.imag(bottom(turn))).max(initial=0) > 1e-2:
        raise RuntimeError(text)


def _skew(x: Any) -> Any:
    return x - adjoint(x)


svd.vjp(A=lambda g, U, S, Vh: _svd_pull(g, U, S, Vh))
spell_op(svd, "svd")


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
    return into("svd", named("svd", ("U", "S", "V"), found), out, (input,), SAME_OUT)


@composite(spelled="l")
def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, falling."""
    return into("linalg_svdvals", svd.public(A, False)[1], out, (A,), SAME_OUT)  # type: ignore[no-any-return]


@general(
    name="linalg_eigh",
    exact=SAME_OUT,
    spelled="",
    outs=("eigenvalues", "eigenvectors"),
    differentiable=(0, 1),
    holomorphic=False,
    gaps=True,
    vmap=whole_batch("linalg_eigh"),
    samples=samples(_spread_hermitian, squares, keeping=made_hermitian),
)
def eigh(xp: Any, A: Array, UPLO: str = "L") -> Array:
    """The eigenvalues, rising, and eigenvectors of a Hermitian matrix."""
    return run(xp.linalg.eigh, A, UPLO)


def _gaps(values: Any) -> Any:
    """Differences of eigenvalues, 1 on the diagonal."""
    return values[..., None, :] - values[..., :, None] + identity(values, values.shape[-1])


def _eigh_pull(g: Any, values: Any, vectors: Any) -> Any:
    g_values, g_vectors = g
    if g_vectors is None:
        return product(vectors * g_values[..., None, :], adjoint(vectors))
    n = values.shape[-1]
    turned = product(adjoint(vectors), g_vectors)
    if is_complex(vectors):
        _check_gauge(diagonals(turned), _GAUGE.format("linalg_eigh", "eigenvectors", "quantity", "so it is"))
    inner = turned / _gaps(values) * (1 - identity(values, n))
    if g_values is not None:
        inner = inner + on_diagonal(g_values)
    return product(vectors, product((inner + adjoint(inner)) * 0.5, adjoint(vectors)))


eigh.vjp(A=lambda g, eigenvalues, eigenvectors: _eigh_pull(g, eigenvalues, eigenvectors))
spell_op(eigh, "eigh")


@composite(spelled="l")
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix, rising."""
    return into("linalg_eigvalsh", eigh.public(A, UPLO)[0], out, (A,), SAME_OUT)  # type: ignore[no-any-return]


@general(
    name="linalg_eig",
    exact=castable("torch.linalg.eig"),
    spelled="",
    outs=("eigenvalues", "eigenvectors"),
    differentiable=(0, 1),
    holomorphic=False,
    gaps=True,
    vmap=whole_batch("linalg_eig"),
    samples=samples(_spread, squares),
)
def eig(xp: Any, input: Array) -> Array:
    """The eigenvalues and eigenvectors of a square matrix, complex always."""
    if input.dtype.kind in "biu":
        raise RuntimeError(f"Unknown Complex ScalarType for {OF_NUMPY[input.dtype].title}")
    return run(xp.linalg.eig, input)


def _eig_pull(g: Any, input: Any, values: Any, vectors: Any) -> Any:
    """Eigenvectors have norm 1: what would stretch them is taken out. Those of a real matrix count as real, though
    PyTorch refuses to turn them, too."""
    g_values, g_vectors = g
    back = adjoint(vectors)
    if g_vectors is None:
        return solved(back, g_values[..., :, None] * back)
    turned = product(back, g_vectors)
    if is_complex(input):
        _check_gauge(diagonals(turned), _GAUGE.format("linalg_eig", "eigenvectors", "quantity", "so it is"))
    inner = turned - product(back, vectors * real_of(diagonals(turned))[..., None, :])
    n = values.shape[-1]
    inner = inner / conj(_gaps(values)) * (1 - identity(values, n))
    if g_values is not None:
        inner = inner + on_diagonal(g_values)
    return solved(back, product(inner, back))


eig.vjp(input=lambda g, input, eigenvalues, eigenvectors: _eig_pull(g, input, eigenvalues, eigenvectors))
spell_op(eig, "eig")


@composite(spelled="l")
def eigvals(input: Tensor, *, out: Any = None) -> Tensor:
    """The eigenvalues of a square matrix, complex always."""
    return into("linalg_eigvals", eig.public(input)[0], out, (input,), castable("torch.linalg.eigvals", "eigenvalues"))  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------- pseudo-inverse, least squares


@general(
    name="linalg_pinv", spelled="", holomorphic=False, vmap=whole_batch("linalg_pinv"),
    samples=samples(real, [((3, 3),), ((4, 3),), ((2, 3, 4),)]),
)  # fmt: skip
def pinv_op(xp: Any, input: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    """Moore and Penrose's inverse, from the singular values above the tolerances."""
    if hermitian and input.ndim >= 2 and input.shape[-1] != input.shape[-2]:
        xp.linalg.eigh(input)  # raises in PyTorch's words
    return run(xp.linalg.pinv, input, plain_number(atol), plain_number(rtol), hermitian)


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


def _check_tolerances(name: str, **given: Any) -> None:
    for what, t in given.items():
        if isinstance(t, Tensor) and t.dtype.is_complex:
            raise RuntimeError(f"torch.{name}: {what} tensor of complex type is not supported. Got {t.dtype.title}")


@composite(spelled="l")
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """Moore and Penrose's inverse."""
    _check_tolerances("linalg.pinv", rcond=rcond, atol=atol, rtol=rtol)
    found = pinv_op.public(A, atol=atol, rtol=rcond if rtol is None else rtol, hermitian=hermitian)
    return into("linalg_pinv", found, out, (A,), castable("linalg.pinv"))  # type: ignore[no-any-return]


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Another name of `linalg.pinv`."""
    return pinv(input, rcond)


def _lstsq_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    A, B = (spread(v, b, size) for v, b in zip(values, batched))
    if A.ndim - B.ndim not in (0, 1):
        return None
    found = lstsq.public(A, B, **params)
    return tuple([t if tuple(t.shape) != (0,) else t.new_empty((size, 0)) for t in found])  # what is not computed


@general(
    name="linalg_lstsq",
    vmap=_lstsq_batched,
    exact=castable("torch.linalg.lstsq"),
    spelled="",
    outs=("solution", "residuals", "rank", "singular_values"),
    holomorphic=False,
    samples=samples(real, [((4, 3), (4, 2)), ((2, 4, 3), (2, 4, 2))]),
)
def lstsq(xp: Any, A: Array, B: Array, rcond: float | None = None, *, driver: str | None = None) -> Array:
    """The X of least |A X - B|; residuals, rank, singular values."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not B.ndim:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{OF_NUMPY[A.dtype].title} and other's dtype {OF_NUMPY[B.dtype].title}"
        )
    return run(xp.linalg.lstsq, A, B, rcond, driver)


def _least_pull(g: Any, A: Any, B: Any, solution: Any, at: int) -> Any:
    vector = is_vector(A, B)
    p = pinv_op(A)
    g = column(g, vector)
    if at:
        found = product(adjoint(p), g)
        return sum_to(found[..., 0] if vector else found, tuple(B.shape))
    return sum_to(pinv_pull(product(g, adjoint(column(B, vector))), A, p), tuple(A.shape))


lstsq.vjp(
    A=lambda g, A, B, solution: _least_pull(g, A, B, solution, 0),
    B=lambda g, A, B, solution: _least_pull(g, A, B, solution, 1),
)
spell_op(lstsq, "lstsq")


@composite(spelled="l")
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """How many singular values are above the tolerances."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    _check_tolerances("linalg.matrix_rank", atol=atol if tol is None else tol, rtol=rtol)
    values = eigvalsh(A.detach()).abs() if hermitian else svdvals(A.detach())
    if not values.shape[-1]:
        return into("matrix_rank", values.sum(-1).long(), out, (A,), castable("torch.linalg.matrix_rank"))
    largest = values.amax(-1, keepdim=True)
    if tol is not None:
        cut: Any = tol[..., None] if isinstance(tol, Tensor) and tol.ndim else tol
    else:
        cut = _rank_cut(A, largest, atol, rtol)
    return into("matrix_rank", (values > cut).sum(-1), out, (A,), castable("torch.linalg.matrix_rank"))  # type: ignore[no-any-return]


def _rank_cut(A: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    a, r = (x[..., None] if isinstance(x, Tensor) and x.ndim else x for x in (atol, rtol))
    if r is None:
        given = np.any(np.asarray(plain_number(atol)) > 0) if atol is not None else False
        r = 0.0 if given else max(A.shape[-2:]) * float(np.finfo(A.dtype.to_real().numpy).eps)
    scaled = largest * r
    if a is None:
        return scaled
    return call("maximum", scaled, a if isinstance(a, Tensor) else fresh(np.asarray(a, scaled.dtype.numpy)))
