"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.dtype import BOOL, COMPLEX, INT
from chainrule.core.family import elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import alias
from chainrule.core.samples import positive, real, samples
from chainrule.ops.arithmetic import one, two
from chainrule.ops.domains import not_for

__all__: list[str] = []

LN2, LN10 = math.log(2.0), math.log(10.0)


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def exp(xp: Any, input: Array) -> Array:
    """e to the power of every element."""
    return xp.exp(input)


exp.vjp(input=lambda g, out: g * out)


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def exp2(xp: Any, input: Array) -> Array:
    """2 to the power of every element."""
    return xp.exp2(input)


exp2.vjp(input=lambda g, out: g * (out * LN2))


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def expm1(xp: Any, input: Array) -> Array:
    """exp(x) - 1, exact near 0."""
    return xp.expm1(input)


expm1.vjp(input=lambda g, out: g * (out + 1))


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def log(xp: Any, input: Array) -> Array:
    """Natural logarithm of every element."""
    return xp.log(input)


log.vjp(input=lambda g, input: g / input)


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def log2(xp: Any, input: Array) -> Array:
    """Logarithm to base 2."""
    return xp.log2(input)


log2.vjp(input=lambda g, input: g / (input * LN2))


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def log10(xp: Any, input: Array) -> Array:
    """Logarithm to base 10."""
    return xp.log10(input)


log10.vjp(input=lambda g, input: g / (input * LN10))


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def log1p(xp: Any, input: Array) -> Array:
    """log(1 + x), exact near 0."""
    return xp.log1p(input)


log1p.vjp(input=lambda g, input: g / (input + 1))
