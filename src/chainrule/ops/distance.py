"""Distances and similarities between vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.autograd.grad_mode import no_grad
from chainrule.core.dtype import promote_types
from chainrule.core.family import call, general, shape_of
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import apart, samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.along import packed
from chainrule.ops.domains import no_complex

__all__ = ["cdist_op", "cosine_similarity", "normalize", "pairwise_distance"]


@composite(spelled="fn")
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    dtype = promote_types(x1.dtype, x2.dtype) if x1.dtype is not x2.dtype else x1.dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.title}")
    x1, x2 = (x if x.dtype.is_floating_point else x.to(dtype) for x in (x1, x2))
    a, b = (x if tuple(x.shape) == shape else x.expand(shape) for x in (x1, x2))
    lengths = tuple(call("linalg_vector_norm", x, 2, dim, True).clone() for x in (a, b))
    with no_grad():
        for length in lengths:
            length.clamp_min_(eps)
    return ((a / lengths[0]) * (b / lengths[1])).sum(dim)  # type: ignore[no-any-return]


@composite(spelled="fn")
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference of corresponding vectors."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)  # type: ignore[no-any-return]


@composite(spelled="n")
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Vectors along an axis scaled to p-norm 1."""
    length = call("linalg_vector_norm", input, p, dim, True).clamp_min(eps).expand_as(input)
    return input / length if out is None else names.div(input, length, out=out)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------- all pairs


def _distances(d: Any, p: float) -> Any:
    """p-norms of differences along the last axis."""
    if p == 0:
        return (d != 0).sum(-1).astype(d.dtype)
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", d, d))
    a = np.abs(d)
    if p == 1:
        return a.sum(-1)
    if p == math.inf:
        return a.max(-1) if a.shape[-1] else np.zeros(a.shape[:-1], a.dtype)
    return np.power(np.power(a, p).sum(-1), 1.0 / p)


def _towards(d: Any, distance: Any, g: Any, p: float) -> Any:
    """The cotangent of every difference: zero where a distance is zero. `g` and `distance` lack the last axis."""
    g, distance = call("unsqueeze", g, -1), call("unsqueeze", distance, -1)
    if p == 0:
        return d * (g * 0)
    if p == 1:
        return call("sign", d) * g
    if p == math.inf:
        return call("sign", d) * (call("abs", d) == distance) * g
    apart_ = call("where", distance == 0, call("ones_like", distance), distance)
    g = call("where", distance == 0, g * 0, g)
    if p == 2:
        return d * (g / apart_)
    size = call("abs", d)
    safe = call("where", size == 0, call("ones_like", size), size)
    power = call("where", size == 0, size, safe ** (p - 1))
    return call("sign", d) * power * (g / apart_ ** (p - 1))


def _vmap_cdist(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    return cdist_op(*(v if b else v.expand(size, *v.shape) for v, b in zip(values, batched)), **params)


def _cdist_parts(g: Any, x1: Any, x2: Any, out: Any, p: float) -> Any:
    return _towards(call("unsqueeze", x1, -2) - call("unsqueeze", x2, -3), out, g, p)


@general(
    name="_cdist", node="Cdist", spelled="", vmap=_vmap_cdist,
    check=no_complex("cdist only supports floating-point dtypes"),
    samples=samples(apart, [((2, 3, 4), (2, 2, 4))], p=[2.0, 1.0, 3.0]),
)  # fmt: skip
def cdist_op(xp: Any, x1: Array, x2: Array, p: float) -> Array:
    """The p-norm of the difference of every row of `x1` and every row of `x2`."""
    return packed(_distances(x1[..., :, None, :] - x2[..., None, :, :], p))


cdist_op.vjp(
    x1=lambda g, x1, x2, out, p: call("sum", _cdist_parts(g, x1, x2, out, p), -2),
    x2=lambda g, x1, x2, out, p: -call("sum", _cdist_parts(g, x1, x2, out, p), -3),
)

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@composite(spelled="f")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of every row of `x1` to every row of `x2`."""
    for at, x in (("X1", x1), ("X2", x2)):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {at} got: {x.dtype.title}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {at} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    lead = broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    a, b = (x if tuple(x.shape[:-2]) == lead else x.expand(*lead, *x.shape[-2:]) for x in (x1, x2))
    return cdist_op.public(a, b, float(p))  # type: ignore[no-any-return]


def _upper(n: int) -> tuple[Any, Any]:
    return np.triu_indices(n, 1)


@general(
    name="_pdist", node="Pdist", spelled="", check=no_complex("pdist only supports floating-point dtypes"),
    samples=samples(apart, [((4, 3),)], p=[2.0, 1.0, 3.0]),
)  # fmt: skip
def pdist_op(xp: Any, input: Array, p: float) -> Array:
    """The p-norm of the difference of every two rows."""
    i, j = _upper(input.shape[0])
    return _distances(input[i] - input[j], p)


def _pull_pdist(g: Any, input: Any, out: Any, p: float) -> Any:
    n, m = shape_of(input)
    if isinstance(input, Tensor):
        i, j = (names.from_numpy(k) for k in _upper(n))
        pulled = _towards(input[i] - input[j], out, g, p)
        zeros = names.zeros((n, m), dtype=pulled.dtype)
        return zeros.index_add(0, i, pulled).index_add(0, j, -pulled)
    i, j = _upper(n)
    pulled = _towards(input[i] - input[j], out, g, p)
    total = np.zeros((n, m), pulled.dtype)
    np.add.at(total, i, pulled)
    np.subtract.at(total, j, pulled)
    return total


pdist_op.vjp(input=_pull_pdist)


@composite(spelled="fn")
def pdist(input: Any, p: float = 2) -> Tensor:
    """The p-norm distance of every two rows."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pdist_op.public(input, float(p))  # type: ignore[no-any-return]
