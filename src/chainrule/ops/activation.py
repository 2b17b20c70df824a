"""Activation functions and softmax.

What PyTorch treats as one node is one op with its own rule; what it composes is composed. Functions of
`torch.nn.functional` with an `inplace` argument stand at the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.autograd.bind_inplace import inplace_of
from chainrule.core.dtype import BOOL, COMPLEX, FLOAT, INT, OF_NUMPY, bool_, finfo, float64, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, elementwise, general, scan
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import alias, composite, spell
from chainrule.core.samples import apart, nonzero, real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT, packed
from chainrule.ops.arithmetic import one
from chainrule.ops.compare import kept, select
from chainrule.ops.domains import Check, no_complex, not_for, unimplemented
from chainrule.ops.exponential import exp
from chainrule.ops.trigonometric import tanh

__all__: list[str] = []


def floats_only(kernel: str) -> Check:
    """Refuse what is no real floating point number."""
    return not_for(kernel, BOOL, INT, COMPLEX)


# ----------------------------------------------------------------------------------------------- from one formula


def _check_relu(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].dtype is bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    no_complex("clamp is not supported for complex types", NotImplementedError)(inputs, params)


@elementwise(samples=samples(nonzero, one), check=_check_relu, spelled="fmiF", straight=True)
def relu(xp: Any, input: Array) -> Array:
    """Zero where negative."""
    return xp.activations.relu(input)


relu.vjp(input=lambda g, out: kept(g, out != 0))  # NaN passes


@elementwise(samples=samples(real, one), promote="float", spelled="fmiF")
def sigmoid(xp: Any, input: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + xp.exp(-input))


sigmoid.vjp(input=lambda g, out: g * (out * (1 - out)))


@elementwise(
    samples=samples(nonzero, one, negative_slope=[0.01, 0.2]), check=floats_only("leaky_relu_cpu"), spelled="",
    straight=True,
)  # fmt: skip
def leaky_relu(xp: Any, input: Array, negative_slope: float = 0.01) -> Array:
    """x where positive, negative_slope * x elsewhere."""
    if 0 <= negative_slope <= 1:
        return xp.maximum(input, input * negative_slope)
    return xp.masks.choose(input > 0, input, input * negative_slope)


leaky_relu.vjp(input=lambda g, input, negative_slope: select(input > 0, g, g * negative_slope))


@elementwise(
    samples=samples(nonzero, one, alpha=[1.0, 0.5], scale=[1.0, 2.0], input_scale=[1.0, 0.5]),
    check=floats_only("elu_cpu"), spelled="",
)  # fmt: skip
def elu(xp: Any, input: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    """scale * x where positive, scale * alpha * (exp(input_scale * x) - 1) elsewhere."""
    below = xp.expm1(xp.minimum(input, 0) * input_scale) * (alpha * scale)
    return xp.masks.choose(input > 0, input * scale, below)


def _pull_elu(g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = exp(kept(input, input < 0) * input_scale) * (alpha * scale * input_scale)  # its own slope at 0 is 0
    return select(input <= 0, g * below, g if scale == 1 else g * scale)


elu.vjp(input=_pull_elu)


@elementwise(samples=samples(nonzero, one, alpha=[1.0, 0.5]), check=floats_only("elu_cpu"), spelled="")
def celu(xp: Any, input: Array, alpha: float = 1.0) -> Array:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    return xp.masks.choose(input > 0, input, xp.expm1(xp.minimum(input, 0) / alpha) * alpha)


celu.vjp(input=lambda g, input, alpha: select(input <= 0, g * exp(kept(input, input < 0) / alpha), g))

ROOT_2_OVER_PI, CUBIC = math.sqrt(2 / math.pi), 0.044715


def _check_gelu(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if params["approximate"] not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    floats_only("GeluKernelImpl")(inputs, params)


@elementwise(samples=samples(real, one, approximate=["none", "tanh"]), check=_check_gelu, spelled="n")
def gelu(xp: Any, input: Array, *, approximate: str = "none") -> Array:
    """x times the area under the normal curve up to x, exactly or with a tanh."""
    if approximate == "none":
        return xp.activations.gelu(input)
    if approximate != "tanh":
        _check_gelu((), {"approximate": approximate})
    return xp.activations.gelu_tanh(input)


def _pull_gelu(g: Any, input: Any, approximate: str) -> Any:
    square = input * input
    if approximate == "none":
        density = exp(square * -0.5) * (input * (0.5 * math.sqrt(2 / math.pi)))
        return g * ((call("erf", input * math.sqrt(0.5)) + 1) * 0.5 + density)
    t = tanh((square * CUBIC + 1) * (input * ROOT_2_OVER_PI))
    slope = (square * (3 * CUBIC) + 1) * ROOT_2_OVER_PI
    return g * (0.5 * (t + 1 + input * ((1 - t * t) * slope)))


gelu.vjp(input=_pull_gelu)


def _check_silu(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    not_for("silu_cpu", BOOL, INT)(inputs, params)


@elementwise(samples=samples(real, one), check=_check_silu, spelled="", real_slopes=True)
def silu(xp: Any, input: Array) -> Array:
    """x * sigmoid(x)."""
    return input / (1 + xp.exp(-input))


def _pull_silu(g: Any, input: Any) -> Any:
    s = sigmoid(input)
    return g * (s * (1 + input * (1 - s)))


silu.vjp(input=_pull_silu)


@elementwise(samples=samples(real, one), check=floats_only("mish_cpu"), spelled="")
def mish(xp: Any, input: Array) -> Array:
    """x * tanh(softplus(x))."""
    return input * xp.tanh(xp.logaddexp(input, 0))


def _pull_mish(g: Any, input: Any) -> Any:
    t, s = tanh(softplus(input)), sigmoid(input)
    return g * (t + input * (s * (1 - t * t)))


mish.vjp(input=_pull_mish)


@elementwise(
    samples=samples(real, one, beta=[1.0, 2.0], threshold=[20.0]), check=floats_only("softplus_cpu"), spelled="n"
)
def softplus(xp: Any, input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta * x)) / beta: a smooth relu; x itself where beta * x is above the threshold."""
    return xp.activations.softplus(input, beta, threshold)


def _pull_softplus(g: Any, input: Any, beta: float, threshold: float) -> Any:
    z = input * beta
    return select(z > threshold, g, g * sigmoid(z))


softplus.vjp(input=_pull_softplus)


@elementwise(
    samples=samples(real, one), check=floats_only("log_sigmoid_cpu"), name="logsigmoid", node="LogSigmoid", spelled="n",
    ordered=False,
)  # fmt: skip
def logsigmoid(xp: Any, input: Array) -> Array:
    """log(sigmoid(x)), exact at both ends."""
    return packed(xp.minimum(input, 0) - xp.log1p(xp.exp(-xp.absolute(input))))


logsigmoid.vjp(input=lambda g, input: g * sigmoid(-input))


# ------------------------------------------------------------------------------------------------ from pieces


def _check_hardtanh(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    found, low = inputs[0].dtype, params["min_val"]
    if found is bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if not found.is_signed and low < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if found.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")


@elementwise(
    samples=samples(real, one, min_val=[-0.5], max_val=[0.5]), check=_check_hardtanh, spelled="", straight=True
)
def hardtanh(xp: Any, input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """x moved into [min_val, max_val]."""
    low, high = (np.asarray(v).astype(input.dtype) for v in (min_val, max_val))
    return xp.minimum(high, xp.maximum(low, input))


def outside(input: Any, low: float, high: float) -> Any:
    """Where x is not in [low, high]; NaN is not."""
    return call("logical_not", (input >= low) & (input <= high))


def inside(input: Any, low: float, high: float) -> Any:
    """Where x is neither low, or lower, nor high, or higher; NaN is neither."""
    return call("logical_not", (input <= low) | (input >= high))


hardtanh.vjp(input=lambda g, input, min_val, max_val: kept(g, inside(input, min_val, max_val)))


@elementwise(samples=samples(real, one), check=floats_only("hardsigmoid_cpu"), spelled="", straight=True)
def hardsigmoid(xp: Any, input: Array) -> Array:
    """(x + 3) / 6, moved into [0, 1]."""
    return xp.minimum(xp.maximum(input + 3, 0), 6) / 6


hardsigmoid.vjp(input=lambda g, input: kept(g * (1 / 6), (input > -3) & (input < 3)))


@elementwise(samples=samples(real, one), check=floats_only("hardswish_cpu"), spelled="")
def hardswish(xp: Any, input: Array) -> Array:
    """x * hardsigmoid(x)."""
    return input * xp.minimum(xp.maximum(input + 3, 0), 6) / 6


hardswish.vjp(input=lambda g, input: select(input < 3, kept(g * (input * (1 / 3) + 0.5), input > -3), g))


@elementwise(
    samples=samples(nonzero, one, lambd=[0.7]),
    check=floats_only("hardshrink_cpu"),
    promote="native",
    spelled="fmn",
    straight=True,
)
def hardshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """x, but 0 within lambd of 0."""
    return xp.masks.keep(input, ~((input >= -lambd) & (input <= lambd)))


hardshrink.vjp(input=lambda g, input, lambd: kept(g, outside(input, -lambd, lambd)))


@elementwise(
    samples=samples(nonzero, one, lambd=[0.7]), check=floats_only("softshrink_cpu"), spelled="n", straight=True
)
def softshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """x moved lambd toward 0, but not past it."""
    if lambd < 0:
        found = OF_NUMPY[input.dtype]
        top = finfo(found).max
        raise RuntimeError(f"lambda must be in range [0, {top:g}] for input dtype {found.title}, but found {lambd:g}")
    return input - xp.minimum(xp.maximum(input, -lambd), lambd)


softshrink.vjp(input=lambda g, input, lambd: kept(g, outside(input, -lambd, lambd)))


@elementwise(
    samples=samples(apart, one, threshold=[0.1], value=[20.0]),
    check=not_for("threshold_cpu", BOOL, COMPLEX),
    straight=True,
    spelled="",
)
def threshold(xp: Any, input: Array, threshold: float, value: float) -> Array:
    """x where it is above the threshold, else `value`."""
    return xp.masks.choose(input <= threshold, np.asarray(value).astype(input.dtype), input)


threshold.vjp(input=lambda g, input, threshold: kept(g, call("logical_not", input <= threshold)))


@elementwise(
    samples=samples(nonzero, [((2, 3, 4), (1, 3, 1)), ((3,), (1,))]),
    name="prelu_kernel",
    node="PreluKernel",
    spelled="",
    check=floats_only("prelu_cpu"),
    straight=True,
)
def _prelu(xp: Any, input: Array, weight: Array) -> Array:
    """x where positive, weight * x elsewhere."""
    return xp.masks.choose(input > 0, input, input * weight)


_prelu.vjp(
    input=lambda g, input, weight: select(input > 0, g, g * weight),
    weight=lambda g, input: kept(g * input, input <= 0),
)


@composite(spelled="fmn")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, weight * x elsewhere; one weight, or one per channel (axis 1)."""
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.title} and {weight.dtype.title}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    count = weight.numel()
    if count != 1 or weight.ndim:
        channels = 1 if input.ndim < 2 else input.shape[1]
        if input.ndim == 0 and count != 1:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if count != 1 and count != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} "
                f"and channel size = {channels}."
            )
        if input.ndim >= 2:
            weight = call("reshape", weight, (1, count, *(1,) * (input.ndim - 2)))
        elif input.ndim == 0:
            weight = call("reshape", weight, ())
    result: Tensor = _prelu.public(input, weight)
    return result


@elementwise(
    samples=samples(nonzero, [((3, 4), (3, 4))]), name="rrelu_with_noise", node="RreluWithNoise", spelled="",
    straight=True,
)  # fmt: skip
def _rrelu(xp: Any, input: Array, noise: Array) -> Array:
    """The elements times slopes that were drawn for them."""
    return input * noise


_rrelu.vjp(input=lambda g, noise: g * noise)


@composite(spelled="fn")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Leaky relu with a slope per element, drawn in training, the mean of the bounds otherwise."""
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, but got {lower:g} and {upper:g}"
        )
    if not training:
        return _form(leaky_relu, inplace)(input, (lower + upper) / 2)  # type: ignore[no-any-return]
    return _form(_rrelu, inplace)(input, _slopes(input, lower, upper))  # type: ignore[no-any-return]


def _slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """1 where positive, elsewhere a number drawn between the bounds, in the elements' order."""
    noise: Tensor = call("ones_like", input.detach())
    below = input.raw <= 0
    drawn = call("empty", int(below.sum()), dtype=float64).uniform_(lower, upper)
    noise.raw[below] = drawn.raw.astype(noise.raw.dtype)
    return noise


def _halves(x: Any, dim: int) -> tuple[Any, Any]:
    """The two halves along an axis."""
    if isinstance(x, Tensor):
        half = x.shape[dim] // 2
        return call("narrow", x, dim, 0, half), call("narrow", x, dim, half, half)
    first, second = np.split(x, 2, axis=dim)
    return first, second


def _halved(input: Any, dim: int) -> int:
    """The axis, if it can be halved."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    at = normalize_dim(dim, input.ndim)
    if input.shape[at] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {input.shape[at]}")
    return at


def _batch_glu(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    rank = values[0].ndim - 1
    return glu.public(values[0], 1 + normalize_dim(params["dim"], rank)) if rank else None


def _check_glu(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    _halved(inputs[0], params["dim"])
    floats_only("glu_cpu")(inputs, params)


@general(
    samples=samples(real, [((3, 4),), ((2, 3, 2),)], dim=[-1]),
    check=_check_glu,
    spelled="n",
    vmap=_batch_glu,
)
def glu(xp: Any, input: Array, dim: int = -1) -> Array:
    """The first half along an axis, times the sigmoid of the second."""
    a, b = _halves(widened(input), _halved(input, dim))
    return (a * sigmoid(b)).astype(input.dtype, copy=False)


def _pull_glu(g: Any, input: Any, dim: int) -> Any:
    a, b = _halves(input, dim)
    s = sigmoid(b)
    parts = (g * s, g * (a * (s * (1 - s))))
    return call("cat", parts, dim=dim) if isinstance(g, Tensor) else np.concatenate(parts, axis=dim)


glu.vjp(input=_pull_glu)


# -------------------------------------------------------------------------------------------------------- softmax


def _check_softmax(name: str) -> Check:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        found = params["dtype"] or inputs[0].dtype
        if inputs[0].numel() and (found.category < FLOAT or found.is_complex):
            rank = inputs[0].ndim
            last = rank == 0 or normalize_dim(params["dim"], rank) == rank - 1
            raise unimplemented(f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl", found)

    return check


def _normal(input: Any, dim: int, dtype: DType | None) -> tuple[Any, int, Any]:
    """The array to compute on, the axis, the dtype of the result."""
    want = input.dtype if dtype is None else dtype.numpy
    axis = normalize_dim(dim, input.ndim)
    return widened(input.astype(want, copy=False)), axis, want


def along(x: Any, dim: int) -> Any:
    """The sum along an axis, which stays at size 1."""
    if isinstance(x, Tensor):
        return call("sum", x, dim=dim, keepdim=True)
    return np.add.reduce(x, axis=dim, keepdims=True) if x.ndim else x


@scan(
    samples=samples(real, [((3, 4),), ((2, 3, 4),)], dim=[0, -1]),
    check=_check_softmax("softmax"),
    exact=SAME_OUT,
    spelled="fm",
)
def softmax(xp: Any, input: Array, dim: int, dtype: DType | None = None) -> Array:
    """Exponentials along an axis, divided by their sum."""
    x, axis, want = _normal(input, dim, dtype)
    return xp.activations.softmax(x, axis).astype(want, copy=False) if x.size else x.astype(want)


def _pull_softmax(g: Any, out: Any, dim: int) -> Any:
    weighted = g * out
    return weighted - out * along(weighted, dim)


softmax.vjp(input=_pull_softmax)


@scan(
    samples=samples(real, [((3, 4),), ((2, 3, 4),)], dim=[0, -1]),
    check=_check_softmax("log_softmax"),
    exact=SAME_OUT,
    spelled="fm",
)
def log_softmax(xp: Any, input: Array, dim: int, dtype: DType | None = None) -> Array:
    """The logarithm of `softmax`, without overflow."""
    x, axis, want = _normal(input, dim, dtype)
    return xp.activations.log_softmax(x, axis).astype(want, copy=False) if x.size else x.astype(want)


log_softmax.vjp(input=lambda g, out, dim: g - exp(out) * along(g, dim))
alias(softmax, "softmax", spelled="s")
alias(log_softmax, "log_softmax", spelled="s")


def _guessed(name: str, rank: int) -> int:
    """The axis that old programs meant when they gave none."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
    )
    return 0 if rank in (0, 1, 3) else 1


@composite(spelled="n", name="softmax")
def _softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
    dim = _guessed("softmax", input.ndim) if dim is None else dim
    return softmax.public(input, dim, dtype)  # type: ignore[no-any-return]


@composite(spelled="n", name="log_softmax")
def _log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, without overflow."""
    dim = _guessed("log_softmax", input.ndim) if dim is None else dim
    return log_softmax.public(input, dim, dtype)  # type: ignore[no-any-return]


@composite(spelled="n")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """`softmax` of -x."""
    dim = _guessed("softmin", input.ndim) if dim is None else dim
    return softmax.public(-input, dim, dtype)  # type: ignore[no-any-return]


# -------------------------------------------------------------------- torch.nn.functional, with `inplace` arguments


def _form(fn: Any, inplace: bool) -> Any:
    """The op, or its in-place form."""
    return inplace_of(fn) if inplace else fn.public


def _functional(fn: Any, name: str, *, into: bool = False) -> None:
    """An op of one input as a function with `inplace`; `into`: in-place under its own name too."""
    op, over = fn.public, inplace_of(fn)

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return over(input) if inplace else op(input)  # type: ignore[no-any-return]

    function.__doc__ = fn.op.doc
    composite(spelled="n", name=name)(function)
    if into:
        spell(name + "_", over, "n")


for _fn, _name in ((silu, "silu"), (mish, "mish"), (hardsigmoid, "hardsigmoid"), (hardswish, "hardswish")):
    _functional(_fn, _name)
_functional(relu, "relu", into=True)


@composite(spelled="n", name="leaky_relu")
def _leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere."""
    return _form(leaky_relu, inplace)(input, negative_slope)  # type: ignore[no-any-return]


@composite(spelled="n", name="elu")
def _elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return _form(elu, inplace)(input, alpha)  # type: ignore[no-any-return]


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(spelled="fn")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants that keep mean and variance."""
    return _form(elu, inplace)(input, SELU_ALPHA, SELU_SCALE)  # type: ignore[no-any-return]


@composite(spelled="n", name="celu")
def _celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _form(celu, inplace)(input, alpha)  # type: ignore[no-any-return]


@composite(spelled="f", name="celu")
def _celu_function(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    return _celu(input, alpha)


@composite(spelled="n", name="hardtanh")
def _hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x moved into [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _form(hardtanh, inplace)(input, min_val, max_val)  # type: ignore[no-any-return]


@composite(spelled="n")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x moved into [0, 6]."""
    return _form(hardtanh, inplace)(input, 0.0, 6.0)  # type: ignore[no-any-return]


@composite(spelled="fn", name="threshold")
def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, else `value`."""
    return _form(_THRESHOLD, inplace)(input, threshold, value)  # type: ignore[no-any-return]


_THRESHOLD = threshold


@composite(spelled="n")
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (call("abs", input) + 1)  # type: ignore[no-any-return]


@composite(spelled="n")
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - tanh.public(input)  # type: ignore[no-any-return]


alias(sigmoid, "sigmoid", spelled="n")
alias(tanh, "tanh", spelled="n")
for _name, _fn in {"leaky_relu_": leaky_relu, "elu_": elu, "hardtanh_": hardtanh}.items():
    spell(_name, inplace_of(_fn), "n")
for _name, _fn in {"celu_": celu, "threshold_": threshold}.items():
    spell(_name, inplace_of(_fn), "fn")


@composite(spelled="fn", name="selu_")
def selu_(input: Tensor) -> Tensor:
    """In-place form of `selu`."""
    return selu(input, True)


@composite(spelled="fn", name="rrelu_")
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place form of `rrelu`."""
    return rrelu(input, lower, upper, training, True)
