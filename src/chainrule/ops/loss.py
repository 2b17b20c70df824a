"""Losses. Those that PyTorch records as one node are one op here; the others are made of their parts.

`reduction` says what becomes of the elements: "none", their "sum", or their "mean".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from chainrule.autograd.grad_mode import no_grad
from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import COMPLEX, OF_NUMPY
from chainrule.core.family import Elementwise, call, general, is_hollow, spread
from chainrule.core.op import Array, Op
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, integers, real, samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops import names
from chainrule.ops.domains import not_for

__all__ = ["check_reduction", "legacy_reduction", "nll_loss", "nll_loss2d"]

REDUCTIONS = ("none", "mean", "sum")
INT64 = np.dtype(np.int64)
_add, _least = np.add.reduce, np.minimum.reduce
BLOCK = 4096  # elements per dot product: long sums of float32 in one go lose digits


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """What the two old arguments mean."""
    average, folded = size_average is not False, reduce is not False
    found = "none" if not folded else "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=4
    )
    return found


def check_reduction(reduction: str) -> None:
    """One of the three words."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
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
    check=not_for("mse_cpu", COMPLEX),
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


_mse.vjp(
    input=lambda g, input, target, reduction: (input - target) * share(g, reduction, input.shape, 2.0),
    target=lambda g, input, target, reduction: (target - input) * share(g, reduction, input.shape, 2.0),
)


@loss(
    spelled="", name="smooth_l1_loss", node="SmoothL1Loss", check=not_for("smooth_l1_cpu", COMPLEX),
    samples=samples(real, one, reduction=list(REDUCTIONS), beta=[0.7]),
)  # fmt: skip
def _smooth_l1(xp: Any, input: Array, target: Array, *, reduction: str, beta: float) -> Array:
    """Quadratic within `beta`, linear beyond."""
    z = xp.abs(input - target)
    return folded(xp.where(z < beta, 0.5 / beta * z * z, z - 0.5 * beta), reduction)


def _kinked(g: Any, d: Any, reduction: str, knee: float, steep: float) -> Any:
    """The slope of a parabola that goes on straight beyond `knee`: `steep` there."""
    return call("clamp", d, -knee, knee) * share(g, reduction, d.shape, steep / knee)


_smooth_l1.vjp(
    input=lambda g, input, target, reduction, beta: _kinked(g, input - target, reduction, beta, 1.0),
    target=lambda g, input, target, reduction, beta: _kinked(g, target - input, reduction, beta, 1.0),
)


@loss(
    spelled="", name="huber_loss", check=not_for("huber_cpu", COMPLEX),
    samples=samples(real, one, reduction=list(REDUCTIONS), delta=[0.7]),
)  # fmt: skip
def _huber(xp: Any, input: Array, target: Array, *, reduction: str, delta: float) -> Array:
    """Quadratic within `delta`, linear with slope `delta` beyond."""
    z = xp.abs(input - target)
    return folded(xp.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), reduction)


_huber.vjp(
    input=lambda g, input, target, reduction, delta: _kinked(g, input - target, reduction, delta, delta),
    target=lambda g, input, target, reduction, delta: _kinked(g, target - input, reduction, delta, delta),
)


# ------------------------------------------------------------------------------------------------- yes or no


def chance(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Strictly between 0 and 1."""
    return rng.uniform(0.1, 0.9, size=shape)


def _log_floor(x: Any) -> Any:
    return np.maximum(np.log(x), x.dtype.type(-100))


@loss(
    spelled="",
    name="binary_cross_entropy",
    check=not_for("binary_cross_entropy", COMPLEX),
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


@loss(
    spelled="", name="binary_cross_entropy_with_logits", check=not_for("log_sigmoid_cpu", COMPLEX),
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
    tail = xp.log1p(xp.exp(-xp.abs(input)))
    if pos_weight is None:
        each = xp.maximum(input, 0) - input * target + tail
    else:
        each = (1 - target) * input + ((pos_weight - 1) * target + 1) * (tail + xp.maximum(-input, 0))
    return folded(_weighted(each, weight), reduction)


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


@loss(spelled="", name="soft_margin_loss", samples=samples(real, one, reduction=list(REDUCTIONS)))
def _soft_margin(xp: Any, input: Array, target: Array, *, reduction: str) -> Array:
    """log(1 + exp(-target input))."""
    return folded(xp.log1p(xp.exp(-target * input)), reduction)


_soft_margin.vjp(
    input=lambda g, input, target, reduction: (
        call("sigmoid", -target * input) * -target * share(g, reduction, input.shape)
    )
)


# ---------------------------------------------------------------------------------------------- right classes


def _class_weights(target: Any, weight: Any, ignore_index: int, classes: int, dtype: Any) -> tuple[Any, Any]:
    """The targets with ignored ones made 0, and the weight of each (None: all 1)."""
    ignored = target == ignore_index
    some = bool(ignored.any())
    safe = np.where(ignored, 0, target) if some else target
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        wrong = safe[(safe < 0) | (safe >= classes)].flat[0]
        raise IndexError(f"Target {wrong} is out of bounds.")
    if weight is None:
        return safe, (~ignored).astype(dtype) if some else None
    w = weight[safe]
    return safe, np.where(ignored, dtype.type(0), w) if some else w


def _total(w: Any, target: Any, dtype: Any) -> Any:
    return dtype.type(target.size) if w is None else np.add.reduce(w, None)


def _spread_out(x: Any) -> Any:
    """(C,) as (1, C)."""
    return x.reshape(1, -1) if x.ndim == 1 else x


def _is_plain(shape: tuple[int, ...], target: Any, weight: Any, ignore_index: int) -> bool:
    """One row per target, no weights, nothing to ignore: indexing alone checks the rest."""
    return (
        len(shape) == 2 and weight is None and ignore_index < 0 and target.dtype is INT64 and target.size > 0
        and _least(target) >= 0
    )  # fmt: skip


def _picked_plainly(input: Any, target: Any, reduction: str) -> Any:
    try:
        each = input[np.arange(len(target)), target]
    except IndexError:
        raise IndexError(f"Target {target.max()} is out of bounds.") from None
    if reduction == "none":
        return -each
    total = _add(each)
    return -total if reduction == "sum" else total / input.dtype.type(-len(target))


def _picked(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """Minus the weighted values at the targets, folded: linear in `input`, whatever that is."""
    if _is_plain(input.shape, target, weight, ignore_index):
        return _picked_plainly(input, target, reduction)
    if target.dtype != np.int64 and target.dtype != np.uint8:
        found = OF_NUMPY[target.dtype].title
        raise RuntimeError(f"expected scalar type Long but found {found}")
    single = input.ndim == 1
    rows, at = _spread_out(input), target.reshape(-1) if single else target
    safe, w = _class_weights(at, weight, ignore_index, rows.shape[1], input.dtype)
    if rows.ndim == 2:
        each = rows[np.arange(len(rows)), safe]
    else:
        each = np.take_along_axis(rows, safe[:, None], 1)[:, 0]
    each = -each if w is None else each * -w
    if reduction == "none":
        return each.reshape(target.shape)
    total = np.add.reduce(each, None)
    return total if reduction == "sum" else total / _total(w, at, input.dtype)


def _scattered(g: Any, target: Any, weight: Any, shape: tuple[int, ...], ignore_index: int, reduction: str) -> Any:
    """The adjoint of `_picked`."""
    out = np.zeros(shape, g.dtype)
    if _is_plain(shape, target, weight, ignore_index):
        out[np.arange(len(target)), target] = g / g.dtype.type(-len(target)) if reduction == "mean" else -g
        return out
    rows, at = _spread_out(out), target.reshape(-1) if len(shape) == 1 else target
    safe, w = _class_weights(at, weight, ignore_index, rows.shape[1], g.dtype)
    if reduction == "mean":
        g = g / _total(w, at, g.dtype)
    each = -(g if w is None else g * w)
    if rows.ndim == 2:
        rows[np.arange(len(rows)), safe] = each
    else:
        values = each.reshape(safe.shape) if each.ndim else np.broadcast_to(each, safe.shape)
        np.put_along_axis(rows, safe[:, None], values[:, None], 1)
    return out


_classes = samples(real, [((3, 5), Drawn(integers(5), 3), None)], ignore_index=[-100, 1], reduction=list(REDUCTIONS))


def _nll_meta(raws: Any, params: dict[str, Any]) -> Any:
    input, target, _ = raws
    return hollow(target.shape if params["reduction"] == "none" else (), input.dtype)


def _flat_nll(op: Any, values: Any, shape: Any, params: dict[str, Any]) -> Any:
    """All examples as one list of rows."""
    x, target, weight = values
    if len(shape) > 1:
        x, target = call("flatten", x, 0, 1), call("flatten", target, 0, 1)
    return op.call((x, target, weight), {**params, "reduction": "none"})


def _nll_batched(op_of: Any) -> Any:
    def rule(values: Any, batched: Any, size: int, params: Any) -> Any:
        if batched[2]:
            return None
        x, target = (spread(v, b, size) for v, b in zip(values[:2], batched[:2]))
        each = _flat_nll(op_of().op, (x, target, values[2]), tuple(x.shape[1:]), params)
        each = call("reshape", each, shape=tuple(target.shape))
        if params["reduction"] == "none":
            return each
        total = _over_examples(each)
        return total if params["reduction"] == "sum" else total / _weights_of_examples(target, values[2], x, params)

    return rule


def _over_examples(x: Any) -> Any:
    return call("sum", x, dim=tuple(range(1, x.ndim))) if x.ndim > 1 else x


def _weights_of_examples(target: Any, weight: Any, x: Any, params: Any) -> Any:
    """The weights of all targets of an example together."""
    kept = target != params["ignore_index"]
    if weight is None:
        return _over_examples(call("to_dtype", kept, dtype=x.dtype))
    safe = call("where", kept, target, 0)
    each = call(
        "reshape", call("index_select", weight, 0, call("reshape", safe, shape=(-1,))), shape=tuple(target.shape)
    )
    return _over_examples(call("where", kept, each, 0.0))


def _nll_backward_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    if batched[2]:
        return None
    g, target = (spread(v, b, size) for v, b in zip(values[:2], batched[:2]))
    shape = tuple(params["shape"])
    if params["reduction"] != "none":
        if params["reduction"] == "mean":
            g = g / _weights_of_examples(target, values[2], g, params)
        g = call("expand", call("reshape", g, shape=(size, *(1,) * (target.ndim - 1))), size=tuple(target.shape))
    whole = (size, *shape) if len(shape) == 1 else (size * shape[0], *shape[1:])
    if len(shape) > 1:
        g, target = call("flatten", g, 0, 1), call("flatten", target, 0, 1)
    found = nll_loss_backward.op.call((g, target, values[2]), {**params, "shape": whole, "reduction": "none"})
    return call("reshape", found, shape=(size, *shape))


@general(spelled="", samples=_classes, meta=_nll_meta, vmap=_nll_batched(lambda: nll_loss))  # type: ignore[has-type]
def nll_loss(xp: Any, input: Array, target: Array, weight: Array | None, *, ignore_index: int, reduction: str) -> Array:
    """Minus the log-probability of the right class."""
    return _picked(input, target, weight, ignore_index, reduction)


_pixels = samples(
    real, [((2, 5, 3), Drawn(integers(5), 2, 3), None)], ignore_index=[-100, 1], reduction=list(REDUCTIONS)
)


@general(spelled="", node="NllLoss2D", samples=_pixels, meta=_nll_meta, vmap=_nll_batched(lambda: nll_loss2d))  # type: ignore[has-type]
def nll_loss2d(
    xp: Any, input: Array, target: Array, weight: Array | None, *, ignore_index: int, reduction: str
) -> Array:
    """The same for every pixel."""
    return _picked(input, target, weight, ignore_index, reduction)


_spread_samples = samples(
    real, [((), Drawn(integers(5), 3), None)], shape=[(3, 5)], ignore_index=[-100, 1], reduction=["mean", "sum"]
)


@general(
    spelled="", node="NllLossBackward", samples=_spread_samples, vmap=_nll_backward_batched,
    meta=lambda raws, params: hollow(params["shape"], raws[0].dtype),
)  # fmt: skip
def nll_loss_backward(
    xp: Any,
    grad: Array,
    target: Array,
    weight: Array | None,
    *,
    shape: tuple[int, ...],
    ignore_index: int,
    reduction: str,
) -> Array:
    """The adjoint of `nll_loss`."""
    return _scattered(np.asarray(grad), target, weight, shape, ignore_index, reduction)


def _nll_pull(g: Any, target: Any, weight: Any, input_shape: Any, ignore_index: int, reduction: str) -> Any:
    return nll_loss_backward(
        g, target, weight, shape=tuple(input_shape), ignore_index=ignore_index, reduction=reduction
    )


nll_loss.vjp(input=_nll_pull)
nll_loss2d.vjp(input=_nll_pull)
nll_loss_backward.vjp(
    grad=lambda g, target, weight, ignore_index, reduction: nll_loss(
        g, target, weight, ignore_index=ignore_index, reduction=reduction
    )
)


# --------------------------------------------------------------------------------------------------- public


def _extent(t: Any) -> tuple[int, ...]:
    """The shape; of an ordinary tensor that of its array, which costs less."""
    shape: tuple[int, ...] = t.raw.shape if t.__class__ in PLAIN else tuple(t.shape)
    return shape


def _same_size(input: Any, target: Any, what: str = "target", level: int = 3) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=level,
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
    if _extent(input) != _extent(target):
        _same_size(input, target, level=4)
        input, target = _broadcast(input, target)
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = _reduction(size_average, reduce, reduction)
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
    _same_size(input, target, level=4)
    reduction = _reduction(size_average, reduce, reduction)
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
    _same_size(input, target, level=4)
    reduction = _reduction(size_average, reduce, reduction)
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
    _same_size(input, target, level=4)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _bce_logits.public(  # type: ignore[no-any-return]
        input, target, _expanded(weight, input), _expanded(pos_weight, input), reduction=reduction
    )


def _expanded(weight: Any, like: Any) -> Any:
    if weight is None or weight.shape == like.shape:
        return weight
    return weight.expand(broadcast_shapes(tuple(like.shape), tuple(weight.shape)))


def _check_classes(input: Any, target: Any) -> None:
    given, wanted = _extent(input), _extent(target)
    if len(given) == 2 and wanted == given[:1]:
        return
    if len(given) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(given)})")
    if len(given) != 1 and given[:1] != wanted[:1]:
        found = wanted[0] if wanted else "none"
        raise ValueError(f"Expected input batch_size ({given[0]}) to match target batch_size ({found}).")
    if len(given) <= 2:
        if len(wanted) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if len(given) == 1 and len(wanted) == 1 and wanted[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
    elif tuple(wanted) != (given[0], *given[2:]):
        raise RuntimeError(f"Expected target size {[given[0], *given[2:]]}, got {list(wanted)}")


def _check_class_weight(weight: Any, classes: int, input: Any) -> None:
    if weight is None:
        return
    if weight.ndim != 1 or weight.shape[0] != classes:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {weight.dtype.title}")


def _nll(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    _check_classes(input, target)
    rank = len(_extent(input))
    if weight is not None:
        _check_class_weight(weight, input.shape[0 if rank == 1 else 1], input)
    chosen = nll_loss if rank <= 2 else nll_loss2d
    return chosen.public(input, target, weight, ignore_index=ignore_index, reduction=reduction)


@composite(spelled="n", name="nll_loss")
def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the right class."""
    reduction = _reduction(size_average, reduce, reduction)
    return _nll(input, target, weight, reduction, ignore_index)  # type: ignore[no-any-return]


@composite(spelled="n")
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log-softmax of the right class, or its mean under given class probabilities."""
    reduction = _reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input.ndim == 1 else 1
    if _extent(input) == _extent(target) and target.dtype.is_floating_point:
        return _soft_targets(input, target, weight, reduction, label_smoothing, axis)  # type: ignore[no-any-return]
    log_p = names.log_softmax(input, axis)
    plain = _nll(log_p, target, weight, reduction, ignore_index)
    if label_smoothing == 0.0:
        return plain  # type: ignore[no-any-return]
    return plain * (1 - label_smoothing) + _smooth(log_p, target, weight, reduction, ignore_index, axis) * (  # type: ignore[no-any-return]
        label_smoothing / input.shape[axis]
    )


def _along(weight: Any, ndim: int, axis: int) -> Any:
    """A weight per class, to be broadcast over the rest."""
    return weight.view([-1 if i == axis else 1 for i in range(ndim)])


def _soft_targets(input: Any, target: Any, weight: Any, reduction: str, smoothing: float, axis: int) -> Any:
    classes = input.shape[axis]
    _check_class_weight(weight, classes, input)
    if smoothing > 0.0:
        target = target * (1 - smoothing) + smoothing / classes
    each = names.log_softmax(input, axis) * target
    if weight is not None:
        each = each * _along(weight, input.ndim, axis)
    if reduction == "none":
        return -each.sum(axis)
    total = -each.sum()
    return total if reduction == "sum" else total / max(1, input.numel() // classes)


def _smooth(log_p: Any, target: Any, weight: Any, reduction: str, ignore_index: int, axis: int) -> Any:
    """What smoothing adds: the mean over all classes, ignored targets left out."""
    each = log_p if weight is None else log_p * _along(weight, log_p.ndim, axis)
    each = -each.sum(axis)
    ignored = target == ignore_index
    each = each.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return fold(each, reduction)
    if weight is None:
        return each.sum() / (~ignored).sum() if ignored.any() else each.mean()
    counted = weight[names.where(ignored, 0, target)].masked_fill(ignored, 0.0)
    return each.sum() / counted.sum()


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
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=3,
        )
    if reduction != "batchmean":
        check_reduction(reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
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
    reduction = _reduction(size_average, reduce, reduction)
    each = -(target * names.logsigmoid(input) + (1 - target) * names.logsigmoid(-input))
    if weight is not None:
        each = each * weight
    return fold(each.sum(-1) / input.shape[-1], reduction)  # type: ignore[no-any-return]
