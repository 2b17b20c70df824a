"""Linear and bilinear layers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.autograd.unfold import around, following, kept, split
from chainrule.core.dtype import NARROW, widened
from chainrule.core.family import call, contraction, front, sum_to
from chainrule.core.op import Array
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import expand_shape
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops.along import SAME_OUT, rank_of
from chainrule.ops.contract import flipped, matmul, mm, mm_right, product, refuse_bool, same_dtype
from chainrule.ops.writing import into

__all__ = ["linear"]


def _linear_dtypes(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    bias, x, weight = inputs if len(inputs) == 3 else (None, *inputs)
    if bias is not None and x.dtype is not weight.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {x.dtype.title} and {weight.dtype.title}")
    same_dtype(x, weight)
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {bias.dtype.title} and {x.dtype.title}")
    if 0 not in (*x.shape, *weight.shape):
        refuse_bool(x, "addmm_impl_cpu_")


def _rows(x: Any) -> Any:
    return x if len(x.shape) == 2 else x.reshape((-1, x.shape[-1]) if x.shape[-1] else (prod(x.shape[:-1]), 0))


def _check_linear(x: Any, weight: Any) -> None:
    if x.shape[-1] != weight.shape[1]:
        n, k = prod(x.shape[:-1]), x.shape[-1]
        m, p = weight.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {p}x{m})")


def _linear(x: Any, weight: Any) -> Any:
    if x.shape[-1] != weight.shape[1]:
        _check_linear(x, weight)
    if len(x.shape) == 2:
        return product(x, weight.T)
    return product(_rows(x), weight.T).reshape((*x.shape[:-1], weight.shape[0]))


def _linear_biased(bias: Any, x: Any, weight: Any) -> Any:
    out = _linear(x, weight)
    if bias.ndim > out.ndim or (bias.ndim and bias.shape[-1] not in (1, out.shape[-1])):
        expand_shape(bias.shape, bias.strides, (prod(out.shape[:-1]), out.shape[-1]))
    if out.dtype in NARROW:
        return (widened(out) + widened(bias)).astype(out.dtype)
    return np.add(out, bias, out)


def _to_input(g: Any, weight: Any, shape: Any) -> Any:
    """The cotangent of a linear map's input: rows of g times the weight."""
    if len(shape) == 2:
        return mm(g, weight) if isinstance(g, Tensor) or g.dtype in NARROW else np.dot(g, weight)
    return product(_rows(g), weight).reshape(tuple(shape))


def _linear_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    bias, x, weight = values if len(values) == 3 else (None, *values)
    marks = batched if len(values) == 3 else (False, *batched)
    out = _linear_over_batch(x, weight, rank_of(x) - marks[1], marks)
    if bias is None:
        return out
    if not any(marks[1:]):
        out = out.unsqueeze(0)
    return out + (front(bias, rank_of(out) - 1) if marks[0] else bias)


def _linear_over_batch(x: Any, weight: Any, rank: int, marks: Any) -> Any:
    """Examples of a linear map, where `rank` is the rank of one example's input."""
    if not marks[2]:
        return matmul(x, flipped(weight))
    rows = x if rank > 1 else x.unsqueeze(-2)
    out = matmul(rows, front(flipped(weight), max(rank, 2)))
    return out if rank > 1 else out.squeeze(-2)


def _turned(g: Any) -> Any:
    return g if g is None else flipped(g) if isinstance(g, Tensor) else g.T


def _unfold_rows(node: Any) -> None:
    """PyTorch's graph of a linear map: a product with a transposed weight."""
    if node.edges[-1] is not None:
        following(node, len(node.edges) - 1, "TBackward0", _turned)
        around(node, lambda g: g, lambda gs: (*gs[:-1], _turned(gs[-1])))


def _unfold_batch(node: Any) -> None:
    """And of rows: the input is brought to a matrix before, the result to its shape after."""
    shape, biased = kept(node, "input_shape"), len(node.edges) == 3
    product_of_rows = split(node, "AddmmBackward0" if biased else "MmBackward0", _rows)
    at, turns = len(node.edges[0].edges) - 2, product_of_rows.edges[-1] is not None
    following(product_of_rows, at, "ViewBackward0", lambda g: g.reshape(tuple(shape)), rank=2 if biased else 1)
    following(product_of_rows, at + 1, "TBackward0", _turned, rank=1 if biased else 2)
    around(
        product_of_rows,
        lambda g: g.reshape((*shape[:-1], g.shape[-1])),
        lambda gs: (*gs[:at], gs[at] if gs[at] is None else _rows(gs[at]), _turned(gs[-1]) if turns else None),
    )


_linear_facts: dict[str, Any] = {"check": _linear_dtypes, "vmap": _linear_batch, "spelled": ""}


@contraction(node="Addmm", unfold=_unfold_rows, samples=samples(real, [((2,), (3, 4), (2, 4))]), **_linear_facts)
def linear_rows(xp: Any, bias: Array, input: Array, weight: Array) -> Array:
    """x @ weight.T + bias, of a matrix."""
    if input.shape[1] != weight.shape[1] or bias.shape != weight.shape[:1] or input.dtype in NARROW:
        return _linear_biased(bias, input, weight)
    out = xp.dot(input, weight.T)
    return xp.add(out, bias, out)


@contraction(
    node="View",
    unfold=_unfold_batch,
    samples=samples(real, [((2,), (2, 3, 4), (2, 4)), ((2,), (4,), (2, 4))]),
    **_linear_facts,
)
def linear_batch(xp: Any, bias: Array, input: Array, weight: Array) -> Array:
    """x @ weight.T + bias, of a vector or a batch."""
    return _linear_biased(bias, input, weight)


@contraction(node="Mm", unfold=_unfold_rows, linear=True, samples=samples(real, [((3, 4), (2, 4))]), **_linear_facts)
def linear_rows_plain(xp: Any, input: Array, weight: Array) -> Array:
    """x @ weight.T, of a matrix."""
    return _linear(input, weight)


@contraction(
    node="UnsafeView", unfold=_unfold_batch, linear=True, samples=samples(real, [((2, 3, 4), (2, 4))]), **_linear_facts
)
def linear_batch_plain(xp: Any, input: Array, weight: Array) -> Array:
    """x @ weight.T, of a vector or a batch."""
    return _linear(input, weight)


for _form in (linear_rows, linear_batch):
    _form.vjp(
        bias=lambda g, bias_shape: sum_to(g, tuple(bias_shape)),
        input=lambda g, weight, input_shape: _to_input(g, weight, input_shape),
        weight=lambda g, input: _to_weight_of(g, input),
    )
for _form in (linear_rows_plain, linear_batch_plain):
    _form.vjp(
        input=lambda g, weight, input_shape: _to_input(g, weight, input_shape),
        weight=lambda g, input: _to_weight_of(g, input),
    )


def _rows_in_steps(x: Any, weight: Any, bias: Any = None) -> Any:
    """The same as the products that PyTorch makes of it."""
    turned = call("t", weight)
    if len(x.shape) == 2:
        return call("mm", x, turned) if bias is None else call("addmm", bias, x, turned)
    out = _rows_in_steps(call("reshape", x, (-1, x.shape[-1])), weight, bias)
    return call("view", out, (*x.shape[:-1], weight.shape[0]))


for _form in (linear_rows, linear_batch):
    _form.op.steps = lambda bias, input, weight: _rows_in_steps(input, weight, bias)
for _form in (linear_rows_plain, linear_batch_plain):
    _form.op.steps = _rows_in_steps


def _to_weight_of(g: Any, x: Any) -> Any:
    """The cotangent of the weight: g transposed times the input, over all rows."""
    rows_g, rows_x = (g, x) if len(x.shape) == 2 else (_rows(g), _rows(x))
    return mm_right(rows_x, rows_g)


_linear_rows, _linear_nd = linear_rows.public, linear_batch.public
_linear_rows_plain, _linear_nd_plain = linear_rows_plain.public, linear_batch_plain.public


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """x @ weight.T + bias: rows of the weight are outputs."""
    if out is not None:
        inputs = (input, weight) if bias is None else (input, weight, bias)
        return into("linear", linear(*inputs), out, inputs, SAME_OUT)
    if input.__class__ in PLAIN and weight.__class__ in PLAIN and (bias is None or bias.__class__ in PLAIN):
        if len(weight.raw.shape) == 2:
            rank = len(input.raw.shape)
            if rank == 2:
                return _linear_rows_plain(input, weight) if bias is None else _linear_rows(bias, input, weight)
            if rank:
                return _linear_nd_plain(input, weight) if bias is None else _linear_nd(bias, input, weight)
    return _linear_unusual(input, weight, bias)


@composite(spelled="", name="linear")
def _linear_unusual(input: Any, weight: Any, bias: Any = None) -> Any:
    for at, (name, x) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(x, Tensor) and not (x is None and at == 3):
            raise TypeError(f"linear(): argument '{name}' (position {at}) must be Tensor, not {type(x).__name__}")
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 2:
        forms = (_linear_rows_plain, _linear_rows) if input.ndim == 2 else (_linear_nd_plain, _linear_nd)
        return forms[0](input, weight) if bias is None else forms[1](bias, input, weight)
    if weight.ndim == 1 and bias is not None and (bias.ndim or input.ndim == 2):
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    out = matmul(input, weight if weight.ndim == 1 else flipped(weight))
    return out if bias is None else out + bias


spell("linear", linear, "n")


@composite(spelled="n")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k], for each output k."""
    _check_bilinear(input1, input2, weight, bias)
    left = product(input1.reshape((-1, input1.shape[-1])), weight.permute(1, 0, 2).reshape((weight.shape[1], -1)))
    parts = left.reshape((-1, weight.shape[0], weight.shape[2]))
    out = matmul(parts, input2.reshape((-1, input2.shape[-1], 1)))
    out = out.reshape((*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias  # type: ignore[no-any-return]


def _check_bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if a.ndim != b.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {a.ndim} and {b.ndim}")
    for i in range(a.ndim - 1):
        if a.shape[i] != b.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {a.shape[i]} and {b.shape[i]}"
            )
    for at, x in ((1, a), (2, b)):
        if x.shape[-1] != weight.shape[at]:
            raise RuntimeError(
                f"bilinear(): input{at} size does not match weight size: got {x.shape[-1]} but "
                f"expected {weight.shape[at]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
