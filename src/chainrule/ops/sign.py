"""Sizes and signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core.dtype import BOOL, COMPLEX, bool_
from chainrule.core.family import call, elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import alias, composite
from chainrule.core.samples import Drawn, nonzero, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.arithmetic import is_complex, no_derivative, one, two, zeros_like
from chainrule.ops.compare import kept, over
from chainrule.ops.domains import EXACT, no_complex, not_for

__all__: list[str] = []


def _write_abs(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    (target,) = inputs
    if target.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    not_for("abs_cpu", BOOL)(inputs, params)
    memory.refuse_overlap(target.raw)
    xp.absolute(target.raw, out=target.raw)


@elementwise(
    samples=samples(nonzero, one), holomorphic=False, check=not_for("abs_cpu", BOOL), name="abs", write=_write_abs,
    exact=EXACT, integers="i", spelled="fmiF",
)  # fmt: skip
def absolute(xp: Any, input: Array) -> Array:
    """The size of every element, its distance from 0."""
    return xp.absolute(input)


absolute.vjp(input=lambda g, input: g * sgn(input))  # type: ignore[has-type]
alias(absolute, "absolute", spelled="fmi")


def _signs(xp: Any, x: Any) -> Any:
    """x / |x|; 0 at 0 and of NaN."""
    if x.dtype.kind == "b":
        return x.copy("K")
    if x.dtype.kind == "c":
        return xp.masks.keep(x / xp.absolute(x), x != 0)
    out = xp.sign(x)
    return xp.masks.keep(out, x == x) if x.dtype.kind == "f" else out


@elementwise(
    samples=samples(nonzero, one),
    check=no_complex(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
        NotImplementedError,
    ),
    exact=EXACT,
)
def sign(xp: Any, input: Array) -> Array:
    """-1, 0 or 1."""
    if input.dtype.kind == "b":
        return input.copy("K")
    out = xp.sign(input)
    return out if input.dtype.kind != "f" else xp.where(out == out, out, input.dtype.type(0))  # PyTorch: nan has sign 0


sign.vjp(input=lambda g: zeros_like(g))


@elementwise(samples=samples(nonzero, one), holomorphic=False, exact=EXACT)
def sgn(xp: Any, input: Array) -> Array:
    """The direction of every element: x / |x|, 0 at 0."""
    return _signs(xp, input)


def _pull_sgn(g: Any, input: Any, out: Any) -> Any:
    if not is_complex(input):
        return zeros_like(g)
    along = call("real", g * call("conj", out))
    return over(g - along * out, absolute(input))


sgn.vjp(input=_pull_sgn)


@elementwise(
    promote="none", samples=samples(nonzero, one), exact="signbit does not support non-boolean outputs.", spelled="fm",
    check=no_complex("signbit is not implemented for complex tensors.", NotImplementedError),
)  # fmt: skip
def signbit(xp: Any, input: Array) -> Array:
    """Where the sign is negative (-0.0 counts)."""
    if input.dtype.kind in "bu":
        return xp.zeros(input.shape, bool)
    return input < 0 if input.dtype.kind == "i" else xp.signbit(input)


@elementwise(
    samples=samples(nonzero, two),
    promote="float",
    check=not_for("copysign_cpu", COMPLEX),
    node={"TT": "CopysignBackward0", "TN": "CopysignBackward1"},
)
def copysign(xp: Any, input: Array, other: Array | Number) -> Array:
    """The size of the first with the sign of the second."""
    return xp.copysign(input, other)


copysign.vjp(input=lambda g, input, out: g * kept(out / input, input != 0), other=lambda g: zeros_like(g))


def signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Of -1, 0 and 1."""
    return rng.integers(-1, 2, size=shape).astype(np.float64)


_COMPLEX = "heaviside is not yet implemented for complex tensors."
_OTHER_DTYPE = "heaviside is not yet implemented for tensors with different dtypes."


def _check_heaviside(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if any(t.dtype.is_complex for t in inputs):
        raise RuntimeError(_COMPLEX)
    if inputs[0].dtype is not inputs[1].dtype:
        raise RuntimeError(_OTHER_DTYPE)


@elementwise(
    samples=samples(real, [((3, 4), (3, 4)), (Drawn(signs, 3, 4), (4,))]), check=_check_heaviside,
    node={"": "NotImplemented"}, promote="none",
    exact=lambda out, **_: _COMPLEX if out.dtype.is_complex else _OTHER_DTYPE,
)  # fmt: skip
def heaviside(xp: Any, input: Array, values: Array) -> Array:
    """0 below 0, 1 above, `values` at 0."""
    return xp.where(input == 0, values, (input > 0).astype(input.dtype))


heaviside.vjp(input=no_derivative("heaviside"), values=no_derivative("heaviside"))


@composite(spelled="fm")
def positive(input: Tensor) -> Tensor:
    """The tensor itself; refuses bool."""
    if input.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
