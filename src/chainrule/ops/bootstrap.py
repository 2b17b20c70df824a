"""A first handful of ops of each family (to be moved to their subjects)."""

from __future__ import annotations

from typing import Any

import numpy as np

slice_ = slice

from chainrule.core.dtype import OF_NUMPY, dtype as DType
from chainrule.core.family import call, elementwise, general, view
from chainrule.core.op import Array, Number
from chainrule.core.public import composite, method, spell
from chainrule.core.samples import nonzero, positive, real, samples
from chainrule.core.shape import infer_size, make_size, normalize_dims
from chainrule.core.tensor import LEAF, Extra, Tensor, fresh

one: list[tuple[Any, ...]] = [((3, 4),), ((),)]


@view(linear=True, name="view", node="View", spelled="")
def view_op(xp: Any, input: Array, *, shape: tuple[int, ...]) -> Array:
    """The same elements in the same order, under a new shape."""
    return xp.reshape(input, shape, copy=False)


view_op.vjp(input=lambda g, input_shape: reshape(g, input_shape))


@view(linear=True, spelled="", name="expand")
def expand(xp: Any, input: Array, *, size: tuple[int, ...]) -> Array:
    """The tensor repeated, without copying, until it has the given shape."""
    return xp.broadcast_to(input, size)


def unexpand(g: Any, input_shape: tuple[int, ...]) -> Any:
    """Sum over what `expand` repeated."""
    lead = len(g.shape) - len(input_shape)
    ones = tuple(lead + i for i, n in enumerate(input_shape) if n == 1 and g.shape[lead + i] != 1)
    g = call("sum", g, dim=(*range(lead), *ones)) if lead or ones else g
    return reshape(g, input_shape)


expand.vjp(input=unexpand)


@general(spelled="m", linear=True)
def clone(xp: Any, input: Array, *, memory_format: Any = None) -> Array:
    """A copy with its own memory; gradients flow through."""
    return xp.array(input, copy=True, order="K")


clone.vjp(input=lambda g: g)


def reshape(input: Any, shape: tuple[int, ...]) -> Any:
    """The same elements in the same order: a view where strides allow, else a copy."""
    if not isinstance(input, Tensor):
        return np.reshape(input, shape)
    return view_op.public(input, shape=infer_size(tuple(shape), input.numel()))


spell("reshape", reshape, "fm")


@view(linear=True, spelled="fm")
def transpose(xp: Any, input: Array, dim0: int, dim1: int) -> Array:
    """Two axes swapped."""
    return xp.swapaxes(input, dim0, dim1)


transpose.vjp(input=lambda g, dim0, dim1: transpose(g, dim0, dim1))


@elementwise(samples=samples(nonzero, one), spelled="fmi")
def relu(xp: Any, input: Array) -> Array:
    """Zero where negative."""
    return xp.maximum(input, 0)


relu.vjp(input=lambda g, out: g * (out > 0))


@elementwise(promote="none", spelled="", name="to_dtype", node="ToCopy", linear=True)
def to_dtype(xp: Any, input: Array, *, dtype: DType) -> Array:
    """The values in another dtype."""
    return input.astype(dtype.numpy)


to_dtype.vjp(input=lambda g: g)


@view(linear=True, spelled="fm")
def select(xp: Any, input: Array, dim: int, index: int) -> Array:
    """One slice along an axis, which goes away."""
    return input[(slice_(None),) * (dim % input.ndim) + (index, ...)]


select.vjp(input=lambda g, input_shape, dim, index: placed(g, input_shape, (slice_(None),) * (dim % len(input_shape)) + (index, ...)))


@view(linear=True, spelled="")
def slice(xp: Any, input: Array, dim: int, start: int, end: int, step: int) -> Array:
    """Every `step`-th slice from `start` to `end` along an axis."""
    return input[(slice_(None),) * dim + (slice_(start, end, step),)]


slice.vjp(input=lambda g, input_shape, dim, start, end, step: placed(g, input_shape, (slice_(None),) * dim + (slice_(start, end, step),)))


@general(spelled="", linear=True, name="placed_at")
def placed(xp: Any, input: Array, shape: tuple[int, ...], key: Any) -> Array:
    """Zeros of a shape, with the input at a key."""
    whole = xp.zeros(shape, input.dtype)
    whole[key] = input
    return whole


placed.vjp(input=lambda g, key: g[key])


@view(linear=True, spelled="fm")
def unsqueeze(xp: Any, input: Array, dim: int) -> Array:
    """A new axis of size 1."""
    return xp.expand_dims(input, dim)


@view(linear=True, spelled="")
def alias(xp: Any, input: Array) -> Array:
    """The same tensor again."""
    return input[...]


alias.vjp(input=lambda g: g)
unsqueeze.vjp(input=lambda g, input_shape: reshape(g, input_shape))
