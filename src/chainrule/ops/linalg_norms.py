"""Norms of matrices, conditions, `renorm`."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from chainrule.core.blame import kind_of
from chainrule.core.dtype import FLOAT, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, cast, dtype_of, general
from chainrule.core.op import Array, Number
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT, castable, packed, rank_of
from chainrule.ops.contract import conj
from chainrule.ops.linalg_basics import plain_number, real_of
from chainrule.ops.linalg_solve import inv_ex
from chainrule.ops.linalg_spectra import svdvals
from chainrule.ops.reduce import norm_pull, vector_norm
from chainrule.ops.writing import into

__all__ = ["matrix_norm", "norm"]


# ---------------------------------------------------------------------------------------------------------------- norms


def _two_dims(A: Any, dim: Any) -> tuple[int, int]:
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dims = (int(dim),) if isinstance(dim, (int, np.integer)) else tuple(dim)
    if len(dims) != 2:
        shown = dims[0] if len(dims) == 1 else list(dims)
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (normalize_dim(d, A.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


def _exactly(name: str) -> str:
    return f"linalg.{name} expected out tensor dtype {{result}} but got: {{out}}"


@composite(spelled="l")
def matrix_norm(
    input: Any,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Any = None,
) -> Tensor:
    """A norm of matrices: "fro", "nuc", or one of inf, 1, 2 and their negatives."""
    if not isinstance(ord, (int, float, complex, str)):
        raise TypeError(
            f"linalg_matrix_norm() received an invalid combination of arguments: ord must be Number, not {kind_of(ord)}"
        )
    rows, columns = _two_dims(input, dim)
    if input.dtype.category < 2:
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}"
        )
    found = _matrix_norm(input, ord, rows, columns, keepdim, dtype)
    return into("linalg_matrix_norm", found, out, (input,), _exactly("matrix_norm"), True)  # type: ignore[no-any-return]


def _matrix_norm(A: Any, ord: Any, rows: int, columns: int, keepdim: bool, dtype: DType | None) -> Any:
    ord = ord.item() if isinstance(ord, np.generic) else ord
    if ord == "fro":
        return vector_norm.public(A, 2, (rows, columns), keepdim, dtype=dtype)
    A = A if dtype is None else A.to(dtype)
    if ord == "nuc":
        return _spectral(A, rows, columns, keepdim, lambda s: s.sum(-1, keepdim=keepdim))
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
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
    if ord > 0 and x.shape[dim] == 0:
        return x.detach().sum(dim, keepdim=keepdim)  # the norm of nothing is 0
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
    input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None, out: Any = None,
    axis: Any = None, keepdims: Any = None,
) -> Tensor:  # fmt: skip
    """A norm of vectors or matrices, by how many axes there are."""
    dim, keepdim = (axis if dim is None else dim), (keepdim if keepdims is None else keepdims)
    if isinstance(dim, Tensor) and not dim.ndim:
        dim = dim.item()
    dims = (int(dim),) if isinstance(dim, (int, np.integer)) else None if dim is None else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    matrix = ord is not None and (len(dims) if dims is not None else input.ndim) == 2
    if matrix or isinstance(ord, str):
        found = matrix_norm(input, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    else:
        found = vector_norm.public(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)
    return into("linalg_norm", found, out, (input,), _exactly("norm"), True)


@composite(name="norm")
def _norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: DType | None = None,
    *, axis: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The p-norm of all elements or over axes; "fro" is 2, "nuc" the sum of singular values."""
    dim, keepdim = (dim if axis is None else axis), (keepdim if keepdims is None else keepdims)
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
    if not A.numel() and (not isinstance(p, str) or A.shape[-1] == A.shape[-2]):
        zeros: Tensor = A.detach().abs().sum((-2, -1))
        return into("linalg_cond", zeros, out, (A,), castable("linalg.cond"), True)
    if p in (None, 2, -2):
        s = svdvals(A)
        big, small = s[..., :1], s[..., -1:]
        return into(
            "linalg_cond", (small / big if p == -2 else big / small).squeeze(-1), out, (A,), castable("linalg.cond")
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {A.shape[-2]} "
            f"by {A.shape[-1]} matrices"
        )
    if p not in ("fro", "nuc", inf, -inf, 1, -1):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    inverse, info = inv_ex.public(A)
    singular, size = info != 0, matrix_norm(A, p)
    found = size * matrix_norm(call("where", singular[..., None, None], 0.0, inverse), p)
    found = call("where", singular, size * inf if p == "nuc" else inf, found)  # nuc of zeros: NaN, as in PyTorch
    return into("linalg_cond", found, out, (A,), castable("linalg.cond"), True)  # type: ignore[no-any-return]


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
    normalize_dim(dim, rank_of(x))
    if dtype_of(x).category < FLOAT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype_of(x).title}"
        )


def _others(rank: int, dim: int) -> tuple[int, ...]:
    axis = normalize_dim(dim, rank)
    return tuple(a for a in range(rank) if a != axis)


def _renorm_factor(norms: Any, maxnorm: Any) -> Any:
    return call("where", norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def _renorm_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """The slices of all examples, one after another."""
    (x,) = values
    dim = 1 + normalize_dim(params["dim"], x.ndim - 1)
    first = call("movedim", x, source=dim, destination=1)
    flat = call("reshape", first, shape=(size * first.shape[1], *first.shape[2:]))
    found = renorm.public(flat, params["p"], 0, params["maxnorm"])
    return call("movedim", call("view", found, shape=tuple(first.shape)), source=1, destination=dim)


@general(
    spelled="fmi",
    holomorphic=False,
    vmap=_renorm_batched,
    check=_check_renorm,
    exact=SAME_OUT,
    samples=samples(real, [((3, 4),)], p=[2, 1], dim=[0, 1], maxnorm=[1.0]),
)
def renorm(xp: Any, input: Array, p: Number, dim: int, maxnorm: Number) -> Array:
    """Slices along an axis, scaled down to a p-norm of at most `maxnorm`."""
    maxnorm = float(plain_number(maxnorm))
    _renorm_arguments(input, p, dim, maxnorm)
    wide = widened(input)
    norms = vector_norm(wide, p, _others(input.ndim, dim), True)
    return packed((wide * _renorm_factor(norms, maxnorm)).astype(input.dtype))


def _renorm_pull(g: Any, input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axes, maxnorm = _others(rank_of(input), dim), float(plain_number(maxnorm))
    norms = vector_norm(input, p, axes, True)
    feels = call("sum", real_of(conj(input) * g), axes, True)
    g_norm = -maxnorm * feels / ((norms + 1e-7) * (norms + 1e-7))
    scaled = g * _renorm_factor(norms, maxnorm) + norm_pull(g_norm, input, norms, p, axes)
    return cast(call("where", norms > maxnorm, scaled, g), dtype_of(input))


renorm.vjp(input=lambda g, input, p, dim, maxnorm: _renorm_pull(g, input, p, dim, maxnorm))
