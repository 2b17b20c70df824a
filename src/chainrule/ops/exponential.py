"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.dtype import BOOL, COMPLEX, INT
from chainrule.core.family import call, elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import alias
from chainrule.core.samples import positive, real, samples
from chainrule.ops.arithmetic import as_arrays, one, zeros_like
from chainrule.ops.compare import kept
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
    return xp.log1p(input) if input.dtype.kind != "c" else _complex_log1p(xp, input)


def _complex_log1p(xp: Any, z: Any) -> Any:
    """By parts: NumPy adds the 1 first, and small numbers are lost."""
    x, y = z.real, z.imag
    out = xp.empty_like(z)
    near = 0.5 * xp.log1p(x * (x + 2) + y * y)
    out.real = xp.where(xp.absolute(z) < 0.5, near, xp.log(xp.hypot(x + 1, y)))
    out.imag = xp.arctan2(y, x + 1)
    return out


log1p.vjp(input=lambda g, input: g / (input + 1))


pairs: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]


def _complex_logaddexp(xp: Any, a: Any, b: Any) -> Any:
    larger = xp.where(a.real >= b.real, a, b)
    smaller = xp.where(a.real >= b.real, b, a)
    out = larger + _complex_log1p(xp, xp.exp(smaller - larger))
    return xp.where(xp.isinf(a) & (a == b), a, out)


@elementwise(samples=samples(real, pairs), check=not_for("logaddexp_cpu", BOOL, INT), spelled="fm")
def logaddexp(xp: Any, input: Array, other: Array) -> Array:
    """log(exp(x) + exp(y)), without overflow."""
    return xp.logaddexp(input, other) if input.dtype.kind == "f" else _complex_logaddexp(xp, input, other)


logaddexp.vjp(
    input=lambda g, input, other: g / (exp(other - input) + 1),
    other=lambda g, input, other: g / (exp(input - other) + 1),
)


@elementwise(samples=samples(real, pairs), check=not_for("logaddexp2_cpu", BOOL, INT, COMPLEX), spelled="fm")
def logaddexp2(xp: Any, input: Array, other: Array) -> Array:
    """log2(2**x + 2**y), without overflow."""
    return xp.logaddexp2(input, other)


logaddexp2.vjp(
    input=lambda g, input, other: g / (exp2(other - input) + 1),
    other=lambda g, input, other: g / (exp2(input - other) + 1),
)


@elementwise(samples=samples(real, pairs), promote="float", spelled="fmiF")
def ldexp(xp: Any, input: Array, other: Array) -> Array:
    """input * 2**other."""
    return input * xp.exp2(other)


ldexp.vjp(input=lambda g, other: g * exp2(other), other=lambda g, out: g * (out * LN2))


def zero_times(xp: Any, x: Any, y: Any, product: Any) -> Any:
    """`product`, but 0 where x is 0, NaN where y is."""
    return xp.where(xp.isnan(y), xp.nan, xp.where(x == 0, 0, product)).astype(product.dtype)


@elementwise(
    samples=samples(positive, [*pairs, ((3,), 2.0), (2.0, (3,))]), promote="float", check=not_for("xlogy_cpu", COMPLEX),
    node={"TT": "XlogyBackward0", "NT": "XlogyBackward1", "TN": "XlogyBackward2"}, spelled="fmiFs",
)  # fmt: skip
def xlogy(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """x log(y), 0 where x is 0."""
    input, other = as_arrays(input, other)
    return zero_times(xp, input, other, input * xp.log(other))


def _pull_x(g: Any, input: Any, factor: Any, undefined: Any) -> Any:
    """g * factor, 0 where both x is 0 and the factor is undefined."""
    return g * kept(factor, call("logical_not", (input == 0) & undefined))


def _log(y: Any) -> Any:
    return (math.log(y) if y > 0 else -math.inf if y == 0 else math.nan) if isinstance(y, (int, float)) else log(y)


def _pull_xlogy_input(g: Any, input: Any, other: Any) -> Any:
    if isinstance(other, (int, float)):
        return call("where", input == 0, zeros_like(g), g * _log(other)) if other <= 0 else g * _log(other)
    return _pull_x(g, input, log(other), other <= 0)


def _pull_xlog1py_input(g: Any, input: Any, other: Any) -> Any:
    if isinstance(other, (int, float)):
        factor = _log(1 + other)
        return call("where", input == 0, zeros_like(g), g * factor) if other <= -1 else g * factor
    return _pull_x(g, input, log1p(other), other <= -1)


xlogy.vjp(input=_pull_xlogy_input, other=lambda g, input, other: g * (input / other))


@elementwise(
    samples=samples(positive, [*pairs, ((3,), 2.0), (2.0, (3,))]), promote="float",
    check=not_for("xlog1py_cpu", COMPLEX),
    node={"TT": "SpecialXlog1PyBackward0", "NT": "SpecialXlog1PyBackward1", "TN": "SpecialXlog1PyBackward2"},
    spelled="s",
)  # fmt: skip
def xlog1py(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """x log(1 + y), 0 where x is 0."""
    input, other = as_arrays(input, other)
    return zero_times(xp, input, other, input * xp.log1p(other))


xlog1py.vjp(input=_pull_xlog1py_input, other=lambda g, input, other: g * (input / (other + 1)))

alias(exp2, "exp2", spelled="s")
alias(expm1, "expm1", spelled="s")
alias(log1p, "log1p", spelled="s")
