"""Losses of values and of pairs. Those that PyTorch records as one node are one op here; the others are made of their
parts.

`reduction` says what becomes of the elements: "none", their "sum", or their "mean".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from chainrule.autograd.grad_mode import no_grad
from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import OF_NUMPY, bool_, can_cast
from chainrule.core.family import Elementwise, call, is_hollow
from chainrule.core.notices import warn
from chainrule.core.op import Array, Op
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops import names
from chainrule.ops.domains import only_floats, only_floats_of

__all__ = ["REDUCTIONS", "asked_reduction", "check_reduction", "folded", "legacy_reduction", "share"]


# ----------------------------------------------------------------------------------------------------------------- head


REDUCTIONS = ("none", "mean", "sum")
BLOCK = 4096  # elements per dot product: long sums of float32 in one go lose digits


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """What the two old arguments mean."""
    average, folded = size_average is not False, reduce is not False
    found = "none" if not folded else "mean" if average else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def check_reduction(reduction: str) -> None:
    """One of the three words."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def asked_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    check_reduction(reduction)
    return reduction


def folded(values: Any, reduction: str) -> Any:
    """Reduce what a loss is for every element."""
    if reduction == "none":
        return values
    total = np.add.reduce(values, None)
    return total if reduction == "sum" else np.true_divide(total, values.size, dtype=values.dtype)


def share(g: Any, reduction: str, shape: tuple[int, ...], factor: float = 1.0) -> Any:
    """The cotangent of every element, times a factor."""
    if reduction == "mean":
        factor = factor / max(1, prod(shape))
    return g if factor == 1.0 else g * factor


def fold(t: Any, reduction: str) -> Any:
    """The same of a tensor."""
    return t.mean() if reduction == "mean" else t.sum() if reduction == "sum" else t


class Folded(Elementwise):
    """Elementwise, then a reduction: dtypes meet as in arithmetic, and all inputs have one shape."""

    name = "loss"
    diagonal = False

    def compute(self, xp: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        result = Elementwise.compute(self, xp, op, inputs, params)
        return hollow((), result.dtype) if is_hollow(result) and params["reduction"] != "none" else result

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        shape = next(tuple(v.shape) for v, b in zip(values, batched) if b)
        wide = tuple(v if v is None or b else v.expand(shape) for v, b in zip(values, batched))
        each = op.call(wide, {**params, "reduction": "none"})
        if params["reduction"] == "none" or each.ndim == 1:
            return each
        return getattr(each.flatten(1), params["reduction"])(1)


class FoldedInto(Folded):
    """The same with the result in the dtype of one input, whatever dtypes met."""

    def __init__(self, at: int) -> None:
        self.at = at

    def compute(self, xp: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        result, want = super().compute(xp, op, inputs, params), inputs[self.at].dtype
        have = OF_NUMPY[result.dtype]
        if not can_cast(have, want):
            raise RuntimeError(f"result type {have.title} can't be cast to the desired output type {want.title}")
        return result if have is want else result.astype(want.numpy)


loss = Folded().decorate
one: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((), ())]


def _sum_of_squares(d: Any) -> Any:
    flat = d.reshape(-1)
    if flat.size <= BLOCK or d.dtype.itemsize == 2:
        return np.vecdot(flat, flat) if d.dtype.itemsize > 2 else np.add.reduce(np.square(flat))
    whole = flat.size - flat.size % BLOCK
    rows, rest = flat[:whole].reshape(-1, BLOCK), flat[whole:]
    return np.add.reduce(np.vecdot(rows, rows)) + np.vecdot(rest, rest)


@loss(
    spelled="",
    name="mse_loss",
    check=only_floats_of("mse_cpu"),
    samples=samples(real, one, reduction=list(REDUCTIONS)),
)
def _mse(xp: Any, input: Array, target: Array, *, reduction: str) -> Array:
    """The square of the difference."""
    d = input - target
    if reduction == "none":
        return d * d
    if d.dtype.kind != "f":
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{OF_NUMPY[d.dtype].title}'")
    total = _sum_of_squares(d)
    return total if reduction == "sum" else np.true_divide(total, d.size, dtype=d.dtype)


def _gap(a: Any, b: Any) -> Any:
    """a - b, where truths count as 0 and 1."""
    if isinstance(a, Tensor) and (a.dtype is bool_ or b.dtype is bool_):
        return -b + a.to(b.dtype) if a.dtype is bool_ else a - b.to(a.dtype)
    return a - b


_mse.vjp(
    input=lambda g, input, target, reduction: _gap(input, target) * share(g, reduction, input.shape, 2.0),
    target=lambda g, input, target, reduction: _gap(target, input) * share(g, reduction, input.shape, 2.0),
)


@loss(
    spelled="", name="smooth_l1_loss", node="SmoothL1Loss", check=only_floats_of("smooth_l1_cpu"),
    samples=samples(real, one, reduction=list(REDUCTIONS), beta=[0.7]),
)  # fmt: skip
def _smooth_l1(xp: Any, input: Array, target: Array, *, reduction: str, beta: float) -> Array:
    """Quadratic within `beta`, linear beyond."""
    z = xp.abs(input - target)
    return folded(xp.where(z < beta, 0.5 / beta * z * z, z - 0.5 * beta), reduction)


def _kinked(g: Any, d: Any, reduction: str, knee: float, steep: float) -> Any:
    """The slope of a parabola that goes on straight beyond `knee`: `steep` there."""
    if isinstance(d, Tensor):  # the knee itself belongs to what is straight: a clamp would call it curved
        return call("where", call("abs", d) < knee, d, call("sign", d) * knee) * share(
            g, reduction, d.shape, steep / knee
        )
    return call("clamp", d, -knee, knee) * share(g, reduction, d.shape, steep / knee)


_smooth_l1.vjp(
    input=lambda g, input, target, reduction, beta: _kinked(g, _gap(input, target), reduction, beta, 1.0),
    target=lambda g, input, target, reduction, beta: _kinked(g, _gap(target, input), reduction, beta, 1.0),
)


@FoldedInto(0).decorate(
    spelled="", name="huber_loss", check=only_floats_of("huber_cpu"),
    samples=samples(real, one, reduction=list(REDUCTIONS), delta=[0.7]),
)  # fmt: skip
def _huber(xp: Any, input: Array, target: Array, *, reduction: str, delta: float) -> Array:
    """Quadratic within `delta`, linear with slope `delta` beyond."""
    z = xp.abs(input - target)
    return folded(xp.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), reduction)


_huber.vjp(
    input=lambda g, input, target, reduction, delta: _kinked(g, _gap(input, target), reduction, delta, delta),
    target=lambda g, input, target, reduction, delta: _kinked(g, _gap(target, input), reduction, delta, delta),
)


# ------------------------------------------------------------------------------------------------------------ yes or no


def chance(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Strictly between 0 and 1."""
    return rng.uniform(0.1, 0.9, size=shape)


def _log_floor(x: Any) -> Any:
    return np.maximum(np.log(x), x.dtype.type(-100))


@loss(
    spelled="",
    name="binary_cross_entropy",
    fixed=("weight",),
    check=only_floats("binary_cross_entropy"),
    samples=samples(chance, [((3, 4), (3, 4), None)], reduction=list(REDUCTIONS)),
)
def _bce(xp: Any, input: Array, target: Array, weight: Array | None, *, reduction: str) -> Array:
    """Minus the log-probability of the target, the logarithm no less than -100."""
    if input.size and not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.size and not ((target >= 0) & (target <= 1)).all():
        raise RuntimeError("all elements of target should be between 0 and 1")
    each = (target - 1) * _log_floor(1 - input) - target * _log_floor(input)
    return folded(each if weight is None else each * weight, reduction)


def _weighted(x: Any, weight: Any) -> Any:
    return x if weight is None else x * weight


def _bce_slope(g: Any, input: Any, target: Any, weight: Any, reduction: str) -> Any:
    slope = (input - target) / call("clamp", (1 - input) * input, 1e-12)
    return _weighted(slope * share(g, reduction, input.shape), weight)


def _bce_target_slope(g: Any, input: Any, weight: Any, reduction: str) -> Any:
    odds = call("log1p", -input) - call("log", input)
    return _weighted(call("clamp", odds, -100.0, 100.0) * share(g, reduction, input.shape), weight)


_bce.vjp(input=_bce_slope, target=_bce_target_slope)


@FoldedInto(1).decorate(
    spelled="", name="binary_cross_entropy_with_logits", check=only_floats("log_sigmoid_cpu"),
    fixed=("weight", "pos_weight"),
    samples=samples(real, one, reduction=list(REDUCTIONS)),
)  # fmt: skip
def _bce_logits(
    xp: Any,
    input: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    *,
    reduction: str,
) -> Array:
    """The same of the sigmoid of the input, without computing it."""
    miss = xp.log1p(xp.exp(-xp.abs(input))) + xp.maximum(-input, 0)
    if pos_weight is not None:
        miss = ((pos_weight - 1) * target + 1) * miss
    return folded(_weighted((1 - target) * input + miss, weight), reduction)


def _logits_slope(g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    p = call("sigmoid", input)
    if pos_weight is None:
        slope = p - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * p - positive
    return _weighted(slope * share(g, reduction, input.shape), weight)


def _log_sigmoid(x: Any) -> Any:
    return call("clamp", x, None, 0.0) - call("log1p", call("exp", -call("abs", x)))


def _logits_target_slope(g: Any, input: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    slope = -input if pos_weight is None else (1 - pos_weight) * _log_sigmoid(input) - input
    return _weighted(slope * share(g, reduction, input.shape), weight)


_bce_logits.vjp(input=_logits_slope, target=_logits_target_slope)


@loss(
    spelled="", name="soft_margin_loss", fixed=("target",), samples=samples(real, one, reduction=list(REDUCTIONS))
)  # fmt: skip
def _soft_margin(xp: Any, input: Array, target: Array, *, reduction: str) -> Array:
    """log(1 + exp(-target input))."""
    return folded(xp.log1p(xp.exp(-target * input)), reduction)


_soft_margin.vjp(
    input=lambda g, input, target, reduction: (
        call("sigmoid", -target * input) * -target * share(g, reduction, input.shape)
    )
)


# --------------------------------------------------------------------------------------------------------------- public


def extent_of(t: Any) -> tuple[int, ...]:
    """The shape; of an ordinary tensor that of its array, which costs less."""
    shape: tuple[int, ...] = t.raw.shape if t.__class__ in PLAIN else tuple(t.shape)
    return shape


def _same_size(input: Any, target: Any, what: str = "target") -> None:
    if input.shape != target.shape:
        warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


def _broadcast(*tensors: Any) -> tuple[Any, ...]:
    shape = tensors[0].shape
    if all(t.shape == shape for t in tensors[1:]):
        return tensors
    shape = broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in tensors)


def _weighted_mean(each: Any, weight: Any, reduction: str) -> Any:
    if tuple(weight.shape) != tuple(each.shape):
        raise ValueError("Inputs and weights must have the same size.")
    weighted = each * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return fold(weighted, reduction)


@composite(spelled="n")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The square of the difference."""
    if extent_of(input) != extent_of(target):
        _same_size(input, target)
        input, target = _broadcast(input, target)
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = asked_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted_mean((input - target) ** 2, weight, reduction)  # type: ignore[no-any-return]
    return _mse.public(input, target, reduction=reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|."""
    _same_size(input, target)
    reduction = asked_reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    each = (input - target).abs()
    return fold(each, reduction) if weight is None else _weighted_mean(each, weight, reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Quadratic within `beta`, linear beyond."""
    _same_size(input, target)
    reduction = asked_reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return fold((input - target).abs(), reduction)  # type: ignore[no-any-return]
    return _smooth_l1.public(input, target, reduction=reduction, beta=beta)  # type: ignore[no-any-return]


@composite(spelled="n")
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Quadratic within `delta`, linear with slope `delta` beyond."""
    _same_size(input, target)
    check_reduction(reduction)
    input, target = _broadcast(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return _huber.public(input, target, reduction=reduction, delta=delta)  # type: ignore[no-any-return]
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Inputs and weights must have the same size.")
    return fold(_huber.public(input, target, reduction="none", delta=delta) * weight, reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the target under `input`."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. "
            "Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.title} but expected {input.dtype.title}")
    if weight is not None:
        weight = weight.expand(broadcast_shapes(tuple(target.shape), tuple(weight.shape)))
    return _bce.public(input, target, weight, reduction=reduction)  # type: ignore[no-any-return]


@composite(spelled="fn")
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Tensor:
    """Minus the log-probability of the target under the sigmoid of `input`."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    weight, pos_weight = _expanded(weight, input), _expanded(pos_weight, input)
    return _bce_logits.public(input, target, weight, pos_weight, reduction=reduction)  # type: ignore[no-any-return]


def _expanded(weight: Any, like: Any) -> Any:
    if weight is None or weight.shape == like.shape:
        return weight
    return weight.expand(broadcast_shapes(tuple(like.shape), tuple(weight.shape)))


@composite(spelled="n")
def kl_div(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of `input`, log-probabilities, from `target`."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    elif reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
        )
    if reduction != "batchmean":
        check_reduction(reduction)
    for t in (input, target):
        if not t.dtype.is_floating_point:
            kind = "Complex" if t.dtype.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    each = target.exp() * (target - input) if log_target else names.xlogy(target, target) - target * input
    if reduction != "batchmean":
        return fold(each, reduction)  # type: ignore[no-any-return]
    total = each.sum()
    return total / input.shape[0] if input.ndim else total  # type: ignore[no-any-return]


@composite(spelled="n")
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of counts under a Poisson distribution."""
    reduction = asked_reduction(size_average, reduce, reduction)
    each = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        each = each + stirling.masked_fill(target <= 1, 0)
    return fold(each, reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Minus the log-likelihood of values under normal distributions."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * names.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    var = _variance_per_value(input, var)
    check_reduction(reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    each = 0.5 * (var.log() + (input - target) ** 2 / var)
    return fold(each + 0.5 * math.log(2 * math.pi) if full else each, reduction)  # type: ignore[no-any-return]


def _variance_per_value(input: Any, var: Any) -> Any:
    if var.shape == input.shape:
        return var
    if input.shape[:-1] == var.shape:
        return var.unsqueeze(-1)
    if input.ndim == var.ndim and sum(a != b for a, b in zip(input.shape, var.shape)) == 1 and 1 in var.shape:
        return var
    raise ValueError("var is of incorrect size")


@composite(spelled="fn")
def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, its distance below `margin` where it is -1."""
    reduction = asked_reduction(size_average, reduce, reduction)
    far = names.where(target != 1, (margin - input).clamp_min(0), names.zeros_like(input))
    near = names.where(target != -1, input, names.zeros_like(input))
    return fold(far + near, reduction)  # type: ignore[no-any-return]


@composite(spelled="fn")
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """By how much the better of two fails to lead by `margin`."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if not (input1.ndim == input2.ndim == target.ndim):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return fold((-target * (input1 - input2) + margin).clamp_min(0), reduction)  # type: ignore[no-any-return]


@composite(spelled="fn")
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine for pairs that belong together, its excess over `margin` for those that do not."""
    reduction = asked_reduction(size_average, reduce, reduction)
    _check_pairs(input1, input2, target)
    axis, tiny = target.ndim, 1e-12
    along = (input1 * input2).sum(axis)
    lengths = (((input1 * input1).sum(axis) + tiny) * ((input2 * input2).sum(axis) + tiny)).sqrt()
    cosine = along / lengths
    zero = names.zeros_like(cosine)
    apart = names.where(target == 1, 1 - cosine, zero)
    close = names.where(target == -1, (cosine - margin).clamp_min(0), zero)
    return fold(apart + close, reduction)  # type: ignore[no-any-return]


def _check_pairs(input1: Any, input2: Any, target: Any) -> None:
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    sizes = f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
    if target.ndim == 1 and (input1.ndim != 2 or input2.ndim != 2):
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {sizes[:-1]}.")
    if target.ndim == 0 and (input1.ndim != 1 or input2.ndim != 1):
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {sizes[:-1]}.")


@composite(spelled="fn")
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """By how much the anchor fails to be nearer to the positive than to the negative, by `margin`."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not (anchor.ndim == positive.ndim == negative.ndim):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near = names.pairwise_distance(anchor, positive, p, eps)
    far = names.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = names.minimum(far, names.pairwise_distance(positive, negative, p, eps))
    return fold((margin + near - far).clamp_min(0), reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The same with a distance of one's own."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not (anchor.ndim == positive.ndim == negative.ndim):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = names.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = names.minimum(far, distance(positive, negative))
    return fold((margin + near - far).clamp_min(0), reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input))."""
    reduction = asked_reduction(size_average, reduce, reduction)
    return _soft_margin.public(*_broadcast(input, target), reduction=reduction)  # type: ignore[no-any-return]


@composite(spelled="n")
def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean of one yes-or-no loss per class."""
    reduction = asked_reduction(size_average, reduce, reduction)
    each = -(target * names.logsigmoid(input) + (1 - target) * names.logsigmoid(-input))
    if weight is not None:
        each = each * weight
    return fold(each.sum(-1) / input.shape[-1], reduction)  # type: ignore[no-any-return]
