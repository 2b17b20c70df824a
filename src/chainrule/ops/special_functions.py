"""The functions with names of people: error, gamma, Bessel, zeta, and their relatives."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.bind_inplace import inplace_of
from chainrule.backends.cpu import memory
from chainrule.core.dtype import BOOL, COMPLEX, INT, bool_
from chainrule.core.family import call, dtype_of, elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import PUBLIC, alias, composite, quiet_method
from chainrule.core.samples import positive, real, samples, unit
from chainrule.core.tensor import Tensor
from chainrule.ops.activation import sigmoid
from chainrule.ops.along import packed
from chainrule.ops.arithmetic import one
from chainrule.ops.compare import kept
from chainrule.ops.domains import not_for, unimplemented
from chainrule.ops.exponential import exp, log
from chainrule.ops.sign import sgn

__all__: list[str] = []

ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)


def probability(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Strictly inside (0, 1)."""
    return rng.uniform(0.1, 0.9, size=shape)


def above_two(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Numbers above 2."""
    return rng.uniform(2.1, 4.0, size=shape)


def _real(kernel: str) -> Any:
    return not_for(f"{kernel}_cpu", COMPLEX)


@elementwise(samples=samples(real, one), promote="float", check=_real("erf_vml"), spelled="fmiFs")
def erf(xp: Any, input: Array) -> Array:
    """The error function."""
    return xp.special.erf(input)


erf.vjp(input=lambda g, input: g * (2 / ROOT_PI * exp(-(input * input))))


@elementwise(samples=samples(real, one), promote="float", check=_real("erfc_vml"), spelled="fmiFs")
def erfc(xp: Any, input: Array) -> Array:
    """1 - erf(x), exact for large x."""
    return xp.special.erfc(input)


erfc.vjp(input=lambda g, input: g * (-2 / ROOT_PI * exp(-(input * input))))


@elementwise(samples=samples(unit, one), promote="float", check=_real("erfinv_vml"), spelled="fmis")
def erfinv(xp: Any, input: Array) -> Array:
    """The inverse of the error function."""
    return xp.special.erfinv(input)


erfinv.vjp(input=lambda g, out: g * (ROOT_PI / 2 * exp(out * out)))


@elementwise(samples=samples(real, one), promote="float", check=_real("erfcx"), spelled="s", node="SpecialErfcx")
def erfcx(xp: Any, input: Array) -> Array:
    """exp(x^2) erfc(x)."""
    return xp.special.erfcx(input)


erfcx.vjp(input=lambda g, input, out: g * (2 * (input * out) - 2 / ROOT_PI))


@elementwise(samples=samples(positive, one), promote="float", check=_real("lgamma_vml"), spelled="fmi")
def lgamma(xp: Any, input: Array) -> Array:
    """The logarithm of |gamma(x)|."""
    return xp.special.lgamma(input)


lgamma.vjp(input=lambda g, input: g * digamma(input))  # type: ignore[has-type]
alias(lgamma, "gammaln", spelled="s")


@elementwise(samples=samples(positive, one), promote="float", check=_real("digamma"), spelled="fmis")
def digamma(xp: Any, input: Array) -> Array:
    """The derivative of `lgamma`."""
    return xp.special.digamma(input)


digamma.vjp(input=lambda g, input: g * _polygamma(input, n=1))  # type: ignore[has-type]
alias(digamma, "psi", spelled="s")


def _check_order(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if params["n"] < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    _real("polygamma")(inputs, params)


@elementwise(
    samples=samples(positive, one, n=[0, 1, 2]), promote="float", check=_check_order, name="polygamma", spelled=""
)
def _polygamma(xp: Any, input: Array, *, n: int) -> Array:
    """The n-th derivative of `digamma`."""
    if n < 0:
        _check_order((), {"n": n})
    return xp.special.digamma(input) if n == 0 else xp.special.polygamma(n, input)


_polygamma.vjp(input=lambda g, input, n: g * _polygamma(input, n=n + 1))


@composite(spelled="fs")
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma`."""
    result: Tensor = _polygamma.public(input, n=n, out=out)
    return result


def _polygamma_of(self: Tensor, n: int) -> Any:
    """The n-th derivative of `digamma`."""
    return _polygamma.public(self, n=n)


PUBLIC["m"]["polygamma"] = _polygamma_of


@quiet_method
def polygamma_(self: Tensor, n: int) -> Tensor:
    """In-place form of `polygamma`."""
    result: Tensor = inplace_of(_polygamma)(self, n=n)
    return result


def _check_mvlgamma(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if params["p"] < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if inputs and dtype_of(inputs[0]) is bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    _real("mvlgamma")(inputs, params)


@elementwise(
    samples=samples(above_two, one, p=[1, 3]), promote="float", check=_check_mvlgamma, spelled="fmi", ordered=False
)
def mvlgamma(xp: Any, input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        _check_mvlgamma((), {"p": p})
    total = xp.special.lgamma(input) + p * (p - 1) / 4 * math.log(math.pi)
    for j in range(1, p):
        total = total + xp.special.lgamma(input - j / 2)
    return packed(total)


def _pull_mvlgamma(g: Any, input: Any, p: int) -> Any:
    total = digamma(input)
    for j in range(1, p):
        total = total + digamma(input - j / 2)
    return g * total


mvlgamma.vjp(input=_pull_mvlgamma)
alias(mvlgamma, "multigammaln", spelled="s")


@elementwise(samples=samples(real, one), promote="float", check=_real("i0_vml"), spelled="fmiFs")
def i0(xp: Any, input: Array) -> Array:
    """The modified Bessel function of order 0."""
    return xp.where(xp.isinf(input), np.nan, xp.special.i0(input)).astype(input.dtype)  # NaN at infinity, as PyTorch


i0.vjp(input=lambda g, input: g * i1(input))  # type: ignore[has-type]


@elementwise(samples=samples(real, one), promote="float", check=_real("i0e"), spelled="s", node="SpecialI0E")
def i0e(xp: Any, input: Array) -> Array:
    """exp(-|x|) i0(x)."""
    return xp.special.i0e(input)


i0e.vjp(input=lambda g, input, out: g * (i1e(input) - sgn(input) * out))  # type: ignore[has-type]


@elementwise(samples=samples(real, one), promote="float", check=_real("i1"), spelled="s", node="SpecialI1")
def i1(xp: Any, input: Array) -> Array:
    """The modified Bessel function of order 1."""
    return xp.special.i1(input)


def _ratio(out: Any, input: Any) -> Any:
    """out / input, 1/2 at 0."""
    zero = input == 0
    return call("where", zero, 0.5, out / call("where", zero, 1.0, input))


i1.vjp(input=lambda g, input, out: g * (i0(input) - _ratio(out, input)))


@elementwise(samples=samples(real, one), promote="float", check=_real("i1e"), spelled="s", node="SpecialI1E")
def i1e(xp: Any, input: Array) -> Array:
    """exp(-|x|) i1(x)."""
    return xp.special.i1e(input)


i1e.vjp(input=lambda g, input, out: g * (i0e(input) - sgn(input) * out - _ratio(out, input)))


@elementwise(samples=samples(real, one), promote="float", check=_real("ndtr"), spelled="s", node="SpecialNdtr")
def ndtr(xp: Any, input: Array) -> Array:
    """The area under the normal curve, up to x."""
    return xp.special.ndtr(input)


def normal_density(x: Any) -> Any:
    """The normal curve."""
    return exp(x * x * -0.5) * (1 / ROOT_2PI)


ndtr.vjp(input=lambda g, input: g * normal_density(input))


@elementwise(samples=samples(probability, one), promote="float", check=_real("ndtri"), spelled="s", node="SpecialNdtri")
def ndtri(xp: Any, input: Array) -> Array:
    """The inverse of `ndtr`."""
    return xp.special.ndtri(input)


ndtri.vjp(input=lambda g, out: g * (ROOT_2PI * exp(out * out * 0.5)))


@elementwise(samples=samples(real, one), promote="float", check=_real("log_ndtr"), spelled="s", node="SpecialLogNdtr")
def log_ndtr(xp: Any, input: Array) -> Array:
    """log(ndtr(x)), exact far to the left."""
    return xp.special.log_ndtr(input)


log_ndtr.vjp(input=lambda g, input: g / (erfcx(input * (-1 / math.sqrt(2))) * math.sqrt(math.pi / 2)))


@elementwise(samples=samples(positive, one), promote="float", check=_real("entr"), spelled="s", node="SpecialEntr")
def entr(xp: Any, input: Array) -> Array:
    """-x log(x), 0 at 0, -inf below."""
    out = -input * xp.log(xp.where(input > 0, input, 1))
    return xp.where(input < 0, -np.inf, out).astype(out.dtype)


entr.vjp(input=lambda g, input: g * (-log(input) - 1))


@elementwise(
    samples=samples(above_two, [(3.0, (3, 4)), (2.5, (3,)), ((3, 4), (4,))]), promote="float", check=_real("zeta"),
    spelled="s", node={"TT": "SpecialZetaBackward0", "NT": "SpecialZetaBackward1", "TN": "SpecialZetaBackward2"},
)  # fmt: skip
def zeta(xp: Any, input: Array | Number, other: Array | Number) -> Array:
    """The Hurwitz zeta function: the sum of (k + q)**-x over k >= 0. Differentiable in q."""
    like = input if hasattr(input, "dtype") else other
    return xp.special.zeta(np.asarray(input, like.dtype), np.asarray(other, like.dtype))


def _no_order_derivative(g: Any) -> NoReturn:
    raise RuntimeError("derivative for aten::special_zeta is not implemented")


zeta.vjp(input=_no_order_derivative, other=lambda g, input, other: g * (-input * zeta(input + 1, other)))


@elementwise(samples=samples(probability, one, eps=[None, 0.2]), promote="float", check=_real("logit"), spelled="fmiFs")
def logit(xp: Any, input: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), x first moved into [eps, 1 - eps]."""
    return xp.special.logit(input, eps)


def _pull_logit(g: Any, input: Any, eps: float | None) -> Any:
    pulled = g / (input * (1 - input))
    if eps is None:
        return call("where", (input < 0) | (input > 1), math.nan, pulled)
    return kept(pulled, call("logical_not", (input < eps) | (input > 1 - eps)))


logit.vjp(input=_pull_logit)
alias(sigmoid, "expit", spelled="s")


# Without derivatives, as in PyTorch.
_BESSEL = {
    "bessel_j0": ("j0", "The Bessel function of the first kind, of order zero."),
    "bessel_j1": ("j1", "The Bessel function of the first kind, of order one."),
    "bessel_y0": ("y0", "The Bessel function of the second kind, of order zero."),
    "bessel_y1": ("y1", "The Bessel function of the second kind, of order one."),
    "modified_bessel_i0": ("i0", "The modified Bessel function of the first kind, of order zero."),
    "modified_bessel_i1": ("i1", "The modified Bessel function of the first kind, of order one."),
    "modified_bessel_k0": ("k0", "The modified Bessel function of the second kind, of order zero."),
    "modified_bessel_k1": ("k1", "The modified Bessel function of the second kind, of order one."),
    "scaled_modified_bessel_k0": ("k0e", "exp(x) times `modified_bessel_k0`."),
    "scaled_modified_bessel_k1": ("k1e", "exp(x) times `modified_bessel_k1`."),
    "spherical_bessel_j0": ("spherical_j0", "The spherical Bessel function of the first kind, of order zero."),
    "airy_ai": ("airy_ai", "Airy's function Ai."),
}


def _check_wide(kernel: str) -> Any:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        met = inputs[0].dtype
        if met.is_complex or (met.is_floating_point and met.itemsize < 4):
            raise unimplemented(kernel, met)

    return check


def _declare_bessel(name: str, kernel: str, doc: str) -> None:
    def forward(xp: Any, input: Array) -> Any:
        return getattr(xp.bessel, kernel)(input)

    forward.__doc__ = doc
    forward.__annotations__ = {"input": "Array", "return": "Array"}
    elementwise(
        name=name, samples=samples(positive, one), promote="float", check=_check_wide(f"{name}_cpu"), spelled="s"
    )(forward)


for _name, (_kernel, _doc) in _BESSEL.items():
    _declare_bessel(_name, _kernel, _doc)


def _incomplete(name: str, other_name: str, doc: str, sign: int) -> None:
    def forward(xp: Any, input: Array, other: Array) -> Array:
        found = (xp.incomplete.lower if sign > 0 else xp.incomplete.upper)(input, other)
        return memory.ordered_as_met(found, input, other)

    forward.__doc__ = doc
    forward.__annotations__ = {"input": "Array", "other": "Array"}
    fn = elementwise(
        name=name,
        check=not_for(f"{name}_cpu", BOOL, INT, COMPLEX),
        spelled="fmi",
        samples=samples(positive, [((3, 4), (3, 4)), ((3, 4), (4,))]),
    )(forward)

    def pull_other(g: Any, input: Any, other: Any) -> Any:
        return g * (sign * exp((input - 1) * log(other) - other - lgamma(input)))

    def pull_input(g: Any) -> NoReturn:
        raise RuntimeError(f"the derivative for '{name}: input' is not implemented.")

    fn.vjp(input=pull_input, other=pull_other)
    alias(fn, other_name, spelled="s")


_incomplete("igamma", "gammainc", "The part of gamma(input) that lies below other, between 0 and 1.", 1)
_incomplete("igammac", "gammaincc", "1 - igamma(input, other), exact where it is small.", -1)
