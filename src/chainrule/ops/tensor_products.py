"""Products of tensors made of matrix products and of elementwise ones: outer, tensordot, kron, cross."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.dtype import BOOL, NARROW, widened
from chainrule.core.family import Contraction, call, general, sum_to
from chainrule.core.notices import warn
from chainrule.core.op import Array, Op
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import SAME_OUT, rank_of, sum_dtype
from chainrule.ops.contract import _dot, _mm
from chainrule.ops.domains import not_for
from chainrule.ops.fill import check_apart
from chainrule.ops.views import unsafe_view
from chainrule.ops.writing import into

__all__ = ["MULTI_OUT", "chain_matmul", "cross", "in_best_order", "inner", "kron", "outer", "tensordot", "trace"]

MULTI_OUT = "multi_dot(): expected out tensor to have dtype {result_type} but got {out_type}"
_TENSORDOT_OUT = (
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}"
)


# ---------------------------------------------------------------------------------------------------- composed products


def _outer(input: Any, vec2: Any, out: Any) -> Any:
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return into("outer", input.reshape((input.shape[0], 1)) * vec2, out, (input, vec2))


@composite()
def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """All products of one element of each of two vectors."""
    return _outer(input, vec2, out)  # type: ignore[no-any-return]


@composite()
def ger(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `outer`."""
    return _outer(input, vec2, out)  # type: ignore[no-any-return]


@composite()
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Sums of products over the last axes."""
    if not input.ndim or not other.ndim:
        return into("inner", input * other, out, (input, other), _TENSORDOT_OUT)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return into("inner", tensordot(input, other, ([-1], [-1])), out, (input, other), _TENSORDOT_OUT)


def _contracted_axes(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return first, second


def _check_contracted(a: Tensor, b: Tensor, first: list[int], second: list[int]) -> None:
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(first, second):
        n, m = a.shape[normalize_dim(i, a.ndim)], b.shape[normalize_dim(j, b.ndim)]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )


@composite(spelled="f")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sums of products over the given axes of two tensors."""
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    first, second = _contracted_axes(a, b, dims)
    _check_contracted(a, b, first, second)
    first, second = [normalize_dim(d, a.ndim) for d in first], [normalize_dim(d, b.ndim) for d in second]
    x, y = _without_stretched(a, b, first, second)
    kept_a, kept_b = [d for d in range(a.ndim) if d not in first], [d for d in range(b.ndim) if d not in second]
    inner_size = prod([x.shape[d] for d in first])
    sizes_a, sizes_b = [x.shape[d] for d in kept_a], [y.shape[d] for d in kept_b]
    if not kept_a and not kept_b:
        order = second if first == sorted(first) else [second[i] for i in np.argsort(first)]
        flat = x.reshape((inner_size,)), (y if order == sorted(order) else y.permute(order)).reshape((inner_size,))
        return into("tensordot", _dot(*flat).reshape(()), out, (a, b), _TENSORDOT_OUT, True)  # type: ignore[no-any-return]
    left = x.permute((*kept_a, *first)).reshape((prod(sizes_a), inner_size))
    right = y.permute((*second, *kept_b)).reshape((inner_size, prod(sizes_b)))
    return into("tensordot", _mm(left, right).reshape((*sizes_a, *sizes_b)), out, (a, b), _TENSORDOT_OUT, True)  # type: ignore[no-any-return]


def _without_stretched(a: Any, b: Any, first: list[int], second: list[int]) -> tuple[Any, Any]:
    """Where one contracted size is 1, the other is summed."""
    for i, j in zip(first, second):
        if a.shape[i] == 1 and b.shape[j] != 1:
            b = b.sum(j, keepdim=True)
        elif b.shape[j] == 1 and a.shape[i] != 1:
            a = a.sum(i, keepdim=True)
    return a, b


@composite()
def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The Kronecker product."""
    rank = max(input.ndim, other.ndim)
    a, b = ((1,) * (rank - x.ndim) + tuple(x.shape) for x in (input, other))
    x = input.reshape([n for s in a for n in (s, 1)])
    y = other.reshape([n for s in b for n in (1, s)])
    result = unsafe_view(x * y, shape=tuple([n * m for n, m in zip(a, b)]))
    return into("kron", result, out, (input, other))  # type: ignore[no-any-return]


@composite(spelled="f")
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of matrices, in the cheapest order (use linalg.multi_dot)."""
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        UserWarning,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    given = tuple(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    for m in given:
        if m.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {m.ndim}, expected 2 instead.")
    result: Tensor = given[0] if len(given) == 1 else in_best_order(list(given))
    return into("chain_matmul", result, out, given, MULTI_OUT)


def in_best_order(matrices: list[Any]) -> Any:
    """The product of matrices that fit, parenthesised to cost least."""
    if len(matrices) == 2:
        return _mm(*matrices)
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    split = _cheapest(sizes)

    def multiplied(i: int, j: int) -> Any:
        if i == j:
            return matrices[i]
        return _mm(multiplied(i, split[i, j]), multiplied(split[i, j] + 1, j))

    return multiplied(0, len(matrices) - 1)


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For each run of matrices, after which one to split it."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            tries = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            split[i, j] = min(tries, key=tries.__getitem__)
            cost[i, j] = tries[split[i, j]]
    return split


# --------------------------------------------------------------------------------------------------------- cross, trace


def _rolled(x: Any, dim: int, first: int) -> Any:
    """The components (first, first + 1, first + 2) mod 3 along an axis."""
    order = [(first + i) % 3 for i in range(3)]
    return call("index_select", x, dim, fresh(np.array(order))) if isinstance(x, Tensor) else np.take(x, order, dim)


def _crossed(a: Any, b: Any, dim: int) -> Any:
    return _rolled(a, dim, 1) * _rolled(b, dim, 2) - _rolled(a, dim, 2) * _rolled(b, dim, 1)


def _check_cross(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    if a.dtype is not b.dtype:
        raise RuntimeError(f"Expected all tensors to have the same dtype, but got {a.dtype.title} and {b.dtype.title}")


def _check_cross_shapes(a: Any, b: Any, dim: int) -> None:
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    normalize_dim(dim, a.ndim)
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[dim]} and {b.shape[dim]}"
        )


class _Crossing(Contraction):
    """Reads what it has written, were the two the same memory."""

    def check_out(self, op: Op, result: Any, out: Any, inputs: tuple[Any, ...]) -> None:
        check_apart(out.raw, inputs)


def _cross_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = (v if is_batched else v.unsqueeze(0) for v, is_batched in zip(values, batched))
    return linalg_cross(a, b, dim=1 + normalize_dim(params["dim"], rank_of(a) - 1))


@_Crossing().decorate(
    spelled="",
    exact=SAME_OUT,
    check=_check_cross,
    vmap=_cross_batch,
    samples=samples(real, [((2, 3), (2, 3)), ((1, 3), (2, 3))]),
)
def linalg_cross(xp: Any, input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross product along an axis of length 3."""
    _check_cross_shapes(input, other, dim)
    return _crossed(input, other, dim)


linalg_cross.vjp(
    input=lambda g, other, input_shape, dim: sum_to(linalg_cross(other, g, dim=dim), tuple(input_shape)),
    other=lambda g, input, other_shape, dim: sum_to(linalg_cross(g, input, dim=dim), tuple(other_shape)),
)
spell("cross", linalg_cross.public, "l")


@composite()
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product along an axis; by default along the first of length 3."""
    if dim is None:
        warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
            "linalg.cross in a future release.",
            UserWarning,
        )
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross.public(input, other, dim=dim, out=out)  # type: ignore[no-any-return]


def _eye_like(g: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(g, Tensor):
        return fresh(np.eye(*shape, dtype=g.dtype.numpy))
    return np.eye(*shape, dtype=g.dtype)


def _trace_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    _check_matrix(values[0].ndim - 1)
    return call("diagonal", values[0], 0, 1, 2).sum(-1)


def _check_matrix(rank: int) -> None:
    if rank != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {rank}")


@general(
    linear=True,
    vmap=_trace_batched,
    samples=samples(real, [((3, 3),), ((2, 4),)]),
    check=not_for("trace", BOOL),
)
def trace(xp: Any, input: Array) -> Array:
    """The sum of a matrix's diagonal."""
    _check_matrix(input.ndim)
    if input.dtype in NARROW:
        return xp.trace(widened(input)).astype(input.dtype)
    return xp.trace(input, dtype=sum_dtype(input, None))


trace.vjp(input=lambda g, input_shape: _eye_like(g, tuple(input_shape)) * g)
