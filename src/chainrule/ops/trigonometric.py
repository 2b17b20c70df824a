"""Circular and hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.dtype import COMPLEX
from chainrule.core.family import elementwise
from chainrule.core.op import Array
from chainrule.core.public import alias
from chainrule.core.samples import nonzero, positive, real, samples, unit
from chainrule.ops.arithmetic import is_complex, one, sqrt
from chainrule.ops.compare import kept
from chainrule.ops.domains import no_complex, not_for

__all__: list[str] = []


def above_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers above 1."""
    return rng.uniform(1.1, 3.0, size=shape)


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def sin(xp: Any, input: Array) -> Array:
    """Sine."""
    return xp.sin(input)


sin.vjp(input=lambda g, input: g * cos(input))  # type: ignore[has-type]


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def cos(xp: Any, input: Array) -> Array:
    """Cosine."""
    return xp.cos(input)


cos.vjp(input=lambda g, input: -g * sin(input))


@elementwise(samples=samples(unit, one), promote="float", spelled="fmiF")
def tan(xp: Any, input: Array) -> Array:
    """Tangent."""
    return xp.tan(input)


tan.vjp(input=lambda g, out: g * (out * out + 1))


@elementwise(samples=samples(unit, one), promote="float", spelled="fmiF")
def asin(xp: Any, input: Array) -> Array:
    """Inverse sine."""
    return xp.arcsin(input)


asin.vjp(input=lambda g, input: g / sqrt(1 - input * input))


@elementwise(samples=samples(unit, one), promote="float", spelled="fmiF")
def acos(xp: Any, input: Array) -> Array:
    """Inverse cosine."""
    return xp.arccos(input)


acos.vjp(input=lambda g, input: -g / sqrt(1 - input * input))


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def atan(xp: Any, input: Array) -> Array:
    """Inverse tangent."""
    return xp.arctan(input)


atan.vjp(input=lambda g, input: g / (input * input + 1))


@elementwise(
    samples=samples(nonzero, [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]), promote="float",
    check=not_for("atan2_cpu", COMPLEX),
)  # fmt: skip
def atan2(xp: Any, input: Array, other: Array) -> Array:
    """The angle of the point (other, input)."""
    return xp.arctan2(input, other)


def _turn(g: Any, numerator: Any, input: Any, other: Any) -> Any:
    """g * numerator / (input^2 + other^2), 0 where both are 0."""
    square = input * input + other * other
    return g * kept(numerator / square, square != 0)


atan2.vjp(
    input=lambda g, input, other: _turn(g, other, input, other),
    other=lambda g, input, other: _turn(-g, input, input, other),
)


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def sinh(xp: Any, input: Array) -> Array:
    """Hyperbolic sine."""
    return xp.sinh(input)


sinh.vjp(input=lambda g, input: g * cosh(input))  # type: ignore[has-type]


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def cosh(xp: Any, input: Array) -> Array:
    """Hyperbolic cosine."""
    return xp.cosh(input)


cosh.vjp(input=lambda g, input: g * sinh(input))


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def tanh(xp: Any, input: Array) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(input)


tanh.vjp(input=lambda g, out: g * (1 - out * out))


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF", in_place_slope="refused")
def asinh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic sine."""
    return xp.arcsinh(input)


asinh.vjp(input=lambda g, input: g / sqrt(input * input + 1))


@elementwise(samples=samples(above_one, one), promote="float", spelled="fmiF", in_place_slope="refused")
def acosh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic cosine."""
    return xp.arccosh(input)


def _acosh_slope(input: Any) -> Any:
    """1 over the slope; the complex root has its branch cut elsewhere when it is taken in one."""
    return sqrt(input - 1) * sqrt(input + 1) if is_complex(input) else sqrt(input * input - 1)


acosh.vjp(input=lambda g, input: g / _acosh_slope(input))


@elementwise(samples=samples(unit, one), promote="float", spelled="fmiF", in_place_slope="refused")
def atanh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return xp.arctanh(input)


atanh.vjp(input=lambda g, input: g / (1 - input * input))

alias(asin, "arcsin")
alias(acos, "arccos")
alias(atan, "arctan")
alias(atan2, "arctan2", spelled="fmi")
alias(asinh, "arcsinh")
alias(acosh, "arccosh")
alias(atanh, "arctanh")


@elementwise(samples=samples(nonzero, one), promote="float", spelled="fmiFs")
def sinc(xp: Any, input: Array) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    x = input * math.pi
    return xp.where(input == 0, 1, xp.sin(x) / x).astype(x.dtype)


def _pull_sinc(g: Any, input: Any) -> Any:
    x = input * math.pi
    return g * kept((x * cos(x) - sin(x)) / (x * input), input != 0)


sinc.vjp(input=_pull_sinc)


@elementwise(
    samples=samples(real, one), promote="float", linear=True, spelled="fmiF",
    check=no_complex("deg2rad is not supported for complex tensors."),
)  # fmt: skip
def deg2rad(xp: Any, input: Array) -> Array:
    """Degrees to radians."""
    return input * (math.pi / 180)


deg2rad.vjp(input=lambda g: g * (math.pi / 180))


@elementwise(
    samples=samples(real, one), promote="float", linear=True, spelled="fmiF",
    check=no_complex("rad2deg is not supported for complex tensors."),
)  # fmt: skip
def rad2deg(xp: Any, input: Array) -> Array:
    """Radians to degrees."""
    return input * (180 / math.pi)


rad2deg.vjp(input=lambda g: g * (180 / math.pi))


@elementwise(
    samples=samples(positive, [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]), spelled="fmi",
    check=not_for("hypot_cpu", 0, 1, COMPLEX),
)  # fmt: skip
def hypot(xp: Any, input: Array, other: Array) -> Array:
    """The long side of a right triangle: sqrt(x^2 + y^2)."""
    return xp.hypot(input, other)


hypot.vjp(input=lambda g, input, out: g * (input / out), other=lambda g, other, out: g * (other / out))
