"""Bits and truth values."""

from __future__ import annotations

from typing import Any

from chainrule.core.dtype import BOOL, COMPLEX, FLOAT
from chainrule.core.family import elementwise
from chainrule.core.op import Array, Number
from chainrule.core.samples import integers, samples
from chainrule.ops.domains import EXACT, not_for

__all__: list[str] = []

few = integers(8)
SHAPES: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]


@elementwise(samples=samples(few, SHAPES), integers="ib", check=not_for("bitwise_and_cpu", FLOAT, COMPLEX))
def bitwise_and(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The bits that are set in both."""
    return xp.bitwise_and(input, other)


@elementwise(samples=samples(few, SHAPES), integers="ib", check=not_for("bitwise_or_cpu", FLOAT, COMPLEX))
def bitwise_or(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The bits that are set in either."""
    return xp.bitwise_or(input, other)


@elementwise(samples=samples(few, SHAPES), integers="ib", check=not_for("bitwise_xor_cpu", FLOAT, COMPLEX))
def bitwise_xor(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The bits that are set in one of the two."""
    return xp.bitwise_xor(input, other)


@elementwise(
    samples=samples(few, [((3, 4),), ((),)]),
    integers="ib",
    check=not_for("bitwise_not_cpu", FLOAT, COMPLEX),
    exact=EXACT,
)
def bitwise_not(xp: Any, input: Array) -> Array:
    """All bits turned over; for bool, the opposite."""
    return xp.invert(input)


@elementwise(samples=samples(few, SHAPES), integers="i", check=not_for("lshift_cpu", BOOL, FLOAT, COMPLEX))
def bitwise_left_shift(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The bits moved up by `other` places; none stay if that is negative or too far."""
    width = input.dtype.itemsize * 8
    inside = (other >= 0) & (other < width)
    return xp.where(inside, xp.left_shift(input, xp.where(inside, other, 0).astype(input.dtype)), 0).astype(input.dtype)


@elementwise(samples=samples(few, SHAPES), integers="i", check=not_for("rshift_cpu", BOOL, FLOAT, COMPLEX))
def bitwise_right_shift(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The bits moved down by `other` places; only the sign stays if that is negative or too far."""
    last = input.dtype.itemsize * 8 - 1
    places = xp.where((other >= 0) & (other < last), other, last)
    moved = xp.right_shift(input, places.astype(input.dtype))
    return xp.where(places == last, 0, moved).astype(input.dtype) if _is_unsigned_far(input, other, last) else moved


def _is_unsigned_far(input: Any, other: Any, last: int) -> bool:
    return bool(input.dtype.kind == "u" and ((other < 0) | (other > last)).any())


@elementwise(vmap_title="inplace arithmetic", promote="compare", samples=samples(few, SHAPES))
def logical_and(xp: Any, input: Array, other: Array) -> Array:
    """Where both are other than 0."""
    return xp.logical_and(input, other)


@elementwise(vmap_title="inplace arithmetic", promote="compare", samples=samples(few, SHAPES))
def logical_or(xp: Any, input: Array, other: Array) -> Array:
    """Where either is other than 0."""
    return xp.logical_or(input, other)


@elementwise(vmap_title="inplace arithmetic", promote="compare", samples=samples(few, SHAPES))
def logical_xor(xp: Any, input: Array, other: Array) -> Array:
    """Where exactly one is other than 0."""
    return xp.logical_xor(input, other)


@elementwise(promote="compare", samples=samples(few, [((3, 4),), ((),)]))
def logical_not(xp: Any, input: Array) -> Array:
    """Where it is 0."""
    return xp.logical_not(input)


@elementwise(samples=samples(few, SHAPES), check=not_for("gcd_cpu", BOOL, FLOAT, COMPLEX), spelled="fmiF")
def gcd(xp: Any, input: Array, other: Array) -> Array:
    """The greatest common divisor."""
    return xp.gcd(input, other)


@elementwise(samples=samples(few, SHAPES), check=not_for("lcm_cpu", BOOL, FLOAT, COMPLEX), spelled="fmiF")
def lcm(xp: Any, input: Array, other: Array) -> Array:
    """The least common multiple, never negative."""
    return xp.lcm(input, other)
