"""Three tensors into one, and other arithmetic of its own kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.dtype import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    OF_NUMPY,
    bfloat16,
    complex128,
    float16,
    float32,
    float64,
    widened,
)  # fmt: skip
from chainrule.core.family import call, cast, common_dtype, dtype_of, elementwise, general
from chainrule.core.literal import cast_number
from chainrule.core.op import Array, Number
from chainrule.core.public import PUBLIC, composite, quiet_method
from chainrule.core.samples import nonzero, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.arithmetic import pow, times, zeros_like
from chainrule.ops.compare import kept, refuse_overflow
from chainrule.ops.domains import EXACT, not_for, same_dtype

__all__: list[str] = []

three: list[tuple[Any, ...]] = [((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), (3, 1)), ((), (3,), ())]


def is_dimensioned(t: Any) -> bool:
    """Is it a tensor with axes? One without may be of another dtype, as a number may."""
    return isinstance(t, Tensor) and t.ndim > 0


def _check_lerp(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    input, end, weight = inputs
    same_dtype(inputs if is_dimensioned(weight) else inputs[:2], ("self", "end", "weight"))
    if not isinstance(weight, Tensor):
        refuse_overflow(weight, float32 if input.dtype in (float16, bfloat16) else input.dtype)
    if isinstance(weight, Tensor):
        not_for("lerp_kernel_tensor", BOOL, INT)(inputs, params)
    else:
        not_for("lerp_kernel_scalar", BOOL, INT)((input, end), params)


@elementwise(
    samples=samples(real, [*three, ((3, 4), (3, 4), 0.3), ((3, 4), (4,), 0.7)]), check=_check_lerp,
    node={"TTT": "LerpBackward1", "TTN": "LerpBackward0"}, exact=EXACT, of_numbers=("exact",),
)  # fmt: skip
def lerp(xp: Any, input: Array, end: Array, weight: Array | Number) -> Array:
    """The point at `weight` of the way from `input` to `end`; exact at both ends."""
    way = end - input
    if isinstance(weight, (int, float)):
        return input + weight * way if abs(weight) < 0.5 else end - way * (1 - weight)
    return xp.where(xp.absolute(weight) < 0.5, input + weight * way, end - way * (1 - weight))


lerp.vjp(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
)


def _times(x: Any, value: Any) -> Any:
    """An array times a number, which for integers is first cut down to one."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu":
        value = cast_number(value, OF_NUMPY[x.dtype])
    return times(x, value)


def _check_addcmul(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    not_for("addcmul_cpu_out", BOOL)(inputs, params)


@elementwise(samples=samples(real, three, value=[1, 0.5]), check=_check_addcmul, early="value")
def addcmul(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """input + value * tensor1 * tensor2."""
    return input + (tensor1 if value == 1 else _times(tensor1, value)) * tensor2


def _scaled(g: Any, value: Any) -> Any:
    return g if value == 1 else g * value


addcmul.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: _scaled(g * tensor2, value),
    tensor2=lambda g, tensor1, value: _scaled(g * tensor1, value),
)


def _check_addcdiv(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if all(t.dtype.category < FLOAT for t in inputs[1:]):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )


@elementwise(samples=samples(nonzero, three, value=[1, 0.5]), check=_check_addcdiv, early="value")
def addcdiv(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """input + value * tensor1 / tensor2."""
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else times(quotient, value))


addcdiv.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: _scaled(g / tensor2, value),
    tensor2=lambda g, tensor1, tensor2, value: _scaled(-g * (tensor1 / (tensor2 * tensor2)), value),
)


@elementwise(
    promote="native",
    samples=samples(real, [((3, 4), (3, 4)), ((3,), ())]),
    check=not_for("nextafter_cpu", BOOL, INT, COMPLEX),
    spelled="fmi",
    node={"": "NextafterBackward0"},
)
def nextafter(xp: Any, input: Array, other: Array) -> Array:
    """The neighbour of a number in the direction of the other."""
    return xp.nextafter(input, other)


nextafter.vjp(input=lambda g, input, other: kept(g, input != other), other=lambda g: zeros_like(g))


def _precise(x: Any, wide: Any) -> Any:
    return x.to(wide) if isinstance(x, Tensor) else x


@composite(spelled="fm")
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """Power in double precision, whatever the dtypes."""
    wide = complex128 if common_dtype((input, exponent)).is_complex else float64
    if out is not None and out.dtype is not wide:
        raise RuntimeError(
            f"the output given to float_power has dtype {out.dtype.title} but the operation's result "
            f"requires dtype {wide.title}"
        )
    base, power = _precise(input, wide), _precise(exponent, wide)
    if not isinstance(base, Tensor) and not isinstance(power, Tensor):
        base = call("tensor", base, dtype=wide)
    result: Tensor = pow.public(base, power, out=out)
    return result


@quiet_method
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of `float_power`."""
    wide = complex128 if common_dtype((self, exponent)).is_complex else float64
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.title} but the operation's result "
            f"requires dtype {wide.title}"
        )
    result: Tensor = PUBLIC["m"]["pow_"](self, _precise(exponent, wide))
    return result


def _check_frexp(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if not inputs[0].dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")


@general(
    outs=("mantissa", "exponent"), check=_check_frexp, samples=samples(nonzero, [((3, 4),), ((),)]), spelled="fm",
    vmap=lambda values, batched, size, params: frexp.public(*values),  # type: ignore[has-type]
)  # fmt: skip
def frexp(xp: Any, input: Array) -> tuple[Array, Array]:
    """Mantissa, in size from 1/2 to 1, and power of 2 of every element."""
    mantissa, exponent = xp.frexp(widened(input))
    return mantissa.astype(input.dtype), exponent


frexp.vjp(input=lambda g, exponent: g / call("exp2", cast(exponent, dtype_of(g))))
