"""Sums, products, quotients, powers."""

from __future__ import annotations

from typing import Any

from chainrule.core.family import elementwise
from chainrule.core.op import Array, Number
from chainrule.core.samples import nonzero, positive, real, samples

one = [((3, 4),), ((),)]
two: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (3,))]


@elementwise(samples=samples(real, two, alpha=[1, 2.5]), linear=False)
def add(xp: Any, input: Array, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Sum of two tensors, element by element; `other` is first multiplied by `alpha`."""
    return xp.add(input, other) if alpha == 1 else xp.add(input, alpha * other)


add.vjp(input=lambda g: g, other=lambda g, alpha: g if alpha == 1 else g * alpha)


@elementwise(samples=samples(real, two))
def mul(xp: Any, input: Array, other: Array | Number) -> Array:
    """Product of two tensors, element by element."""
    return xp.multiply(input, other)


mul.vjp(input=lambda g, other: g * other, other=lambda g, input: g * input)


@elementwise(samples=samples(real, two, alpha=[1, 2.5]))
def sub(xp: Any, input: Array, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Difference of two tensors, element by element; `other` is first multiplied by `alpha`."""
    return xp.subtract(input, other) if alpha == 1 else xp.subtract(input, alpha * other)


sub.vjp(input=lambda g: g, other=lambda g, alpha: -g if alpha == 1 else g * -alpha)


@elementwise(samples=samples(nonzero, two), promote="float", name="div")
def _div(xp: Any, input: Array, other: Array | Number) -> Array:
    """Quotient of two tensors, element by element."""
    return xp.true_divide(input, other)


_div.vjp(input=lambda g, other: g / other, other=lambda g, input, other: -g * ((input / other) / other))


@elementwise(samples=samples(real, one))
def neg(xp: Any, input: Array) -> Array:
    """The tensor with every sign flipped."""
    return xp.negative(input)


neg.vjp(input=lambda g: -g)
