"""Sums, products, quotients, powers, and what is left of a division."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from chainrule.core.dtype import BOOL, COMPLEX, FLOAT, INT, complex32
from chainrule.core.dtype import bool_ as _BOOL
from chainrule.core.family import call, common_dtype, elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import alias
from chainrule.core.samples import nonzero, positive, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.domains import EXACT, both, not_for, unimplemented

__all__: list[str] = []

one: list[tuple[Any, ...]] = [((3, 4),), ((),)]
_ARITHMETIC = ("wrapped", "exact", "alone")  # what is done with numbers: see core.op
two: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (3,)), ((3,), 2.5)]


def zeros_like(g: Any) -> Any:
    """Zeros in the place of a cotangent."""
    return call("zeros_like", g)


# ------------------------------------------------------------------------------------------- sums and differences


NO_FLOAT_ALPHA = "For integral input tensors, argument alpha must not be a floating point number."
NO_COMPLEX_ALPHA = "For non-complex input tensors, argument alpha must not be a complex number."


def _check_alpha(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    alpha = params["alpha"]
    if alpha.__class__ is int:
        return
    met = common_dtype(inputs)
    if isinstance(alpha, bool) and met is not _BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and met.category < FLOAT:
        raise RuntimeError(NO_FLOAT_ALPHA)
    if isinstance(alpha, complex) and not met.is_complex:
        raise RuntimeError(NO_COMPLEX_ALPHA)


def check_difference(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    bools = [isinstance(t, bool) or (isinstance(t, Tensor) and t.dtype is _BOOL) for t in inputs]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def times(x: Any, alpha: Any) -> Any:
    """An array times a Python number, in the array's dtype: integers wrap around."""
    if isinstance(alpha, Tensor):
        if alpha.requires_grad:
            raise TypeError("a factor with a gradient is no number")
        alpha = alpha.item()
    if not isinstance(x, (np.ndarray, np.generic)):
        return x * alpha
    if x.dtype.kind in "fc":
        if isinstance(alpha, complex) and x.dtype.kind == "f":
            raise RuntimeError(NO_COMPLEX_ALPHA)
        return x * alpha
    if isinstance(alpha, float):
        raise RuntimeError(NO_FLOAT_ALPHA)
    return x * np.asarray(alpha).astype(x.dtype)


def _addend(input: Any, other: Any, alpha: Any) -> Any:
    if isinstance(alpha, float) and getattr(input, "dtype", None) == np.int64:  # others meet `_check_alpha`
        raise RuntimeError(NO_FLOAT_ALPHA)
    return times(other, alpha)


@elementwise(
    vmap_title="inplace arithmetic",
    samples=samples(real, two, alpha=[1, 2.5]), check=_check_alpha, integers="ib", early="alpha",
    of_numbers=_ARITHMETIC,
)  # fmt: skip
def add(xp: Any, input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Sum of two tensors, element by element; `other` is first multiplied by `alpha`."""
    return xp.add(input, other) if alpha == 1 else xp.add(input, _addend(input, other, alpha))


add.vjp(input=lambda g: g, other=lambda g, alpha: g if alpha == 1 else g * alpha)


@elementwise(
    vmap_title="inplace arithmetic",
    samples=samples(real, two, alpha=[1, 2.5]),
    check=both(check_difference, _check_alpha),
    integers="i",
    early="alpha",
    of_numbers=_ARITHMETIC,
)
def sub(xp: Any, input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Difference of two tensors, element by element; `other` is first multiplied by `alpha`."""
    return xp.subtract(input, other) if alpha == 1 else xp.subtract(input, _addend(input, other, alpha))


sub.vjp(input=lambda g: g, other=lambda g, alpha: -g if alpha == 1 else g * -alpha)


@elementwise(
    samples=samples(real, two, alpha=[1, 2.5]),
    check=both(check_difference, _check_alpha),
    node={"TT": "RsubBackward0", "TN": "RsubBackward1"},
    of_numbers=("exact",),
    integers="i",
    spelled="f",
)
def rsub(xp: Any, input: Array, other: Array | Number, *, alpha: Number = 1) -> Array:
    """`other` minus `alpha` times `input`."""
    return xp.subtract(other, input) if alpha == 1 else xp.subtract(other, times(input, alpha))


rsub.vjp(input=lambda g, alpha: -g if alpha == 1 else g * -alpha, other=lambda g: g)


def _refuse_bool_negation(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].dtype is _BOOL:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


@elementwise(
    samples=samples(real, one), linear=True, check=_refuse_bool_negation, exact=EXACT, integers="i", spelled="fmiF"
)  # fmt: skip
def neg(xp: Any, input: Array) -> Array:
    """The tensor with every sign flipped."""
    return xp.negative(input)


neg.vjp(input=lambda g: -g)


# ---------------------------------------------------------------------------------------- products and quotients


@elementwise(vmap_title="inplace arithmetic", samples=samples(real, two), of_numbers=_ARITHMETIC)
def mul(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """Product of two tensors, element by element."""
    return xp.multiply(input, other)


mul.vjp(input=lambda g, other: g * other, other=lambda g, input: g * input)


def _refuse_mode(mode: Any) -> NoReturn:
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


def _check_div(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    mode = params["rounding_mode"]
    if mode not in (None, "trunc", "floor"):
        _refuse_mode(mode)
    if mode is not None:
        not_for(f"div_{mode}_cpu", BOOL, COMPLEX)(inputs, params)
    elif common_dtype(inputs) is complex32:
        raise unimplemented("div_cpu", complex32)


def _refuse_zeros(dividend: Any, divisor: Any) -> None:
    if dividend.dtype.kind in "iu" and divisor.dtype.kind in "iu" and dividend.size and not divisor.all():
        raise RuntimeError("ZeroDivisionError")


def as_arrays(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands as arrays; a Python number takes the other's dtype."""
    if isinstance(b, (int, float, complex)):
        b = np.asarray(b, a.dtype)
    elif isinstance(a, (int, float, complex)):
        a = np.asarray(a, b.dtype)
    return a, b


def divided_down(xp: Any, a: Any, b: Any) -> Any:
    """The quotient, rounded down; integers refuse a zero divisor."""
    _refuse_zeros(a, b)
    return xp.floor_divide(a, b)


def divided_to_zero(xp: Any, a: Any, b: Any) -> Any:
    """The quotient, rounded toward zero; integers refuse a zero divisor."""
    if a.dtype.kind not in "iu":
        return xp.trunc(xp.true_divide(a, b))
    _refuse_zeros(a, b)
    down = xp.floor_divide(a, b)
    return down + ((down < 0) & (down * b != a))


_ROUNDED = {"floor": divided_down, "trunc": divided_to_zero}
# Of short floats the quotient is rounded before it is cut, not while it is rounded down.
_DIV_IN = {None: "float", "floor": "same", "trunc": "native"}


@elementwise(
    vmap_title="inplace arithmetic",
    samples=samples(nonzero, two, rounding_mode=[None, "trunc", "floor"]),
    promote=lambda params: _DIV_IN.get(params["rounding_mode"], "same"),
    check=_check_div,
    of_numbers=_ARITHMETIC,
)
def div(xp: Any, input: Array | Number, other: Array | Number, *, rounding_mode: str | None = None) -> Array:
    """Quotient of two tensors, element by element, true or rounded down ("floor") or toward zero ("trunc")."""
    if rounding_mode is None:
        return xp.true_divide(input, other)
    if rounding_mode not in _ROUNDED:
        _refuse_mode(rounding_mode)
    return _ROUNDED[rounding_mode](xp, *as_arrays(input, other))


div.vjp(
    input=lambda g, other, rounding_mode: g / other if rounding_mode is None else zeros_like(g),
    other=lambda g, input, other, rounding_mode: (
        -g * ((input / other) / other) if rounding_mode is None else zeros_like(g)
    ),
)


@elementwise(
    samples=samples(nonzero, two), check=not_for("div_floor_cpu", BOOL, COMPLEX), integers="i",
    node={"": "NotImplemented"}, of_numbers=("alone",),
)  # fmt: skip
def floor_divide(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """Quotient rounded down; no derivative, as in PyTorch (`div(..., rounding_mode="floor")` has one)."""
    return divided_down(xp, *as_arrays(input, other))


def no_derivative(name: str) -> Any:
    """The rule of an op that takes part in the graph but cannot be differentiated."""

    def refuse(g: Any) -> NoReturn:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return refuse


floor_divide.vjp(input=no_derivative("floor_divide"), other=no_derivative("floor_divide"))


@elementwise(
    samples=samples(nonzero, two),
    check=not_for("remainder_cpu", BOOL, COMPLEX),
    node={"TT": "RemainderBackward1", "TN": "RemainderBackward0"},
    integers="i",
)
def remainder(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """What is left of a division rounded down: has the sign of the divisor, as Python's `%`."""
    _refuse_zeros(*as_arrays(input, other))
    out = xp.remainder(input, other)
    if out.dtype.kind == "f" and not out.all():
        out = xp.where(out == 0, xp.copysign(out, input), out)  # a zero has the sign of the dividend
    return out


remainder.vjp(input=lambda g: g, other=lambda g, input, other: -g * div(input, other, rounding_mode="floor"))


@elementwise(
    samples=samples(nonzero, two),
    check=not_for("fmod_cpu", BOOL, COMPLEX),
    node={"TT": "FmodBackward1", "TN": "FmodBackward0"},
    integers="i",
)
def fmod(xp: Any, input: Array, other: Array | Number) -> Array:
    """What is left of a division rounded toward zero: has the sign of the dividend, as C's `fmod`."""
    _refuse_zeros(*as_arrays(input, other))
    return xp.fmod(input, other)


fmod.vjp(input=lambda g: g, other=lambda g, input, other: -g * div(input, other, rounding_mode="trunc"))


@elementwise(samples=samples(nonzero, one), promote="float", spelled="fmiF")
def reciprocal(xp: Any, input: Array) -> Array:
    """One over every element."""
    return xp.reciprocal(input)


reciprocal.vjp(input=lambda g, out: g * -(out * out))


# --------------------------------------------------------------------------------------------------------- powers


def _check_pow(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    met = common_dtype(inputs)
    base, exponent = inputs
    if met is _BOOL and not _is_one_of(exponent, (0, 1)):
        raise unimplemented("pow", met)
    if met is complex32 and not (_is_one_of(base, (1,)) or _is_one_of(exponent, (0, 1))):
        raise unimplemented("pow", met)
    if met.category == INT and isinstance(exponent, (int, np.integer)) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _is_one_of(x: Any, numbers: tuple[int, ...]) -> bool:
    return not isinstance(x, Tensor) and x in numbers


def _integer_power(xp: Any, base: Any, exponent: Any) -> Any:
    """Powers of integers; a negative exponent leaves 0 of all but 1 and -1."""
    if base.dtype.kind == "b":
        return base | ~exponent
    if exponent.dtype.kind == "u" or not (exponent < 0).any():
        return xp.power(base, exponent)
    size = xp.power(base, xp.where(exponent < 0, exponent & 1, exponent))
    return xp.where((exponent < 0) & (base != 1) & (base != -1), 0, size).astype(base.dtype)


_SHORT_CUTS: dict[Any, Any] = {
    0.5: lambda xp, x: xp.sqrt(x), -0.5: lambda xp, x: 1 / xp.sqrt(x), 1: lambda xp, x: xp.positive(x),
    2: lambda xp, x: xp.square(x), 3: lambda xp, x: x * x * x, -1: lambda xp, x: xp.reciprocal(x),
    -2: lambda xp, x: xp.reciprocal(x * x),
}  # fmt: skip


@elementwise(
    samples=samples(
        positive,
        [
            ((3, 4), (3, 4)),
            ((3, 4), (4,)),
            ((), (3,)),
            *(((3, 4), n) for n in (0, 1, 2, 3, -1, 0.5, -0.5, 1.7)),
            (1.5, (3,)),
        ],
    ),
    check=_check_pow,
    branches=True,
    node={"TT": "PowBackward1", "TN": "PowBackward0", "NT": "PowBackward2"},
)
def pow(xp: Any, input: Array | Number, exponent: Array | Number) -> Array:
    """Power, element by element."""
    if exponent.__class__ is int or exponent.__class__ is float:
        short = _SHORT_CUTS.get(exponent)
        if short is not None:
            return short(xp, input)
    elif getattr(input, "dtype", None) is not None and input.dtype.kind in "biu":
        return _integer_power(xp, input, exponent)
    elif getattr(exponent, "ndim", 1) == 0:
        short = _SHORT_CUTS.get(exponent[()])
        if short is not None and exponent.dtype.kind == "f" and getattr(input, "ndim", 0):
            return short(xp, input)
    out = xp.power(input, exponent)
    if out.dtype.kind == "c" and getattr(exponent, "ndim", 0):
        return xp.where((input == 0) & (exponent == 0), complex("nan+nanj"), out).astype(out.dtype)  # by a logarithm
    return out


def _pull_base(g: Any, input: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float, complex)):
        if not isinstance(input, Tensor):  # of tensors powers too: they have derivatives more
            if exponent == 2:
                return g * (input + input)  # 2 * input to the bit, and 0.25 us less: no number is made an array
            if exponent == 1:
                return g
        return g * (exponent * pow(input, exponent - 1)) if exponent != 0 else zeros_like(g)
    return call("where", exponent == 0, zeros_like(g), g * (exponent * input ** (exponent - 1)))


def _pull_exponent(g: Any, input: Any, exponent: Any, out: Any) -> Any:
    if isinstance(input, (int, float, complex)):
        if input == 0:
            return call("where", _not_negative(exponent), zeros_like(g), g * (out * -math.inf))
        return g * (out * _number_log(complex(input) if is_complex(exponent) else input))
    ends = (input == 0) & _not_negative(exponent)
    base = input + 0j if is_complex(exponent) and not is_complex(input) else input  # a negative base has a complex log
    return call("where", ends, zeros_like(g), g * (out * call("log", base)))


def is_complex(x: Any) -> bool:
    return x.dtype.is_complex if isinstance(x, Tensor) else x.dtype.kind == "c"


def _not_negative(exponent: Any) -> Any:
    return (exponent.imag == 0) & (exponent.real >= 0) if is_complex(exponent) else exponent >= 0


def _number_log(x: Any) -> Any:
    if isinstance(x, complex):
        return complex(np.log(x))
    return math.log(x) if x > 0 else math.nan


pow.vjp(input=_pull_base, exponent=_pull_exponent)


def _check_rpow(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    _check_pow((inputs[1], inputs[0]), params)


@elementwise(
    samples=samples(positive, [((3,), 2.5), ((3, 4), (4,))]), check=_check_rpow, name="rpow", spelled="",
    node={"": "PowBackward2"}, branches=True,
)  # fmt: skip
def rpow(xp: Any, input: Array, base: Array | Number) -> Array:
    """`base` to the power of every element: `2 ** x`."""
    return pow.op.forward(xp, base, input)


rpow.vjp(
    input=lambda g, base, input, out: _pull_exponent(g, base, input, out),
    base=lambda g, base, input: _pull_base(g, base, input),
)


@elementwise(samples=samples(real, one), node="Pow", promote="integer", spelled="fmiF")
def square(xp: Any, input: Array) -> Array:
    """Every element times itself."""
    return xp.square(input)


square.vjp(input=lambda g, input: _pull_base(g, input, 2))


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def sqrt(xp: Any, input: Array) -> Array:
    """Square root of every element."""
    return xp.sqrt(input)


sqrt.vjp(input=lambda g, out: g / (2 * out))


@elementwise(samples=samples(positive, one), promote="float", spelled="fmiF")
def rsqrt(xp: Any, input: Array) -> Array:
    """One over the square root of every element."""
    return 1 / xp.sqrt(input)


rsqrt.vjp(input=lambda g, out: g * (-0.5 * (out * out * out)))


alias(sub, "subtract")
alias(mul, "multiply")
alias(neg, "negative")
alias(div, "divide", "true_divide")
