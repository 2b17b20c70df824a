"""Losses of classes: the right one of several, by its number or by chances for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import call, general, spread
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, integers, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.domains import only_floats
from chainrule.ops.loss import REDUCTIONS, asked_reduction, extent_of, fold

__all__ = ["cross_entropy", "nll_loss", "nll_loss2d"]

INT64 = np.dtype(np.int64)
_add = np.add.reduce
_least = np.minimum.reduce


def _class_weights(target: Any, weight: Any, ignore_index: int, classes: int, dtype: Any) -> tuple[Any, Any, Any]:
    """The targets with ignored ones made 0, the weight of each (None: all 1), and which are ignored (None: none)."""
    ignored = target == ignore_index
    some = bool(ignored.any())
    safe = np.where(ignored, 0, target) if some else target
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        wrong = safe[(safe < 0) | (safe >= classes)].flat[0]
        raise IndexError(f"Target {wrong} is out of bounds.")
    if weight is None:
        return (safe, (~ignored).astype(dtype), ignored) if some else (safe, None, None)
    w = weight[safe]
    return (safe, np.where(ignored, dtype.type(0), w), ignored) if some else (safe, w, None)


def _kept(each: Any, ignored: Any) -> Any:
    """0 for what is ignored, where 0 times an infinity would be NaN."""
    return each if ignored is None else np.where(ignored, each.dtype.type(0), each)


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
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {found}")
    single = input.ndim == 1
    rows, at = _spread_out(input), target.reshape(-1) if single else target
    safe, w, ignored = _class_weights(at, weight, ignore_index, rows.shape[1], input.dtype)
    if rows.ndim == 2:
        each = rows[np.arange(len(rows)), safe]
    else:
        each = np.take_along_axis(rows, safe[:, None], 1)[:, 0]
    each = -each if w is None else _kept(each * -w, ignored)
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
    safe, w, ignored = _class_weights(at, weight, ignore_index, rows.shape[1], g.dtype)
    if reduction == "mean":
        g = g / _total(w, at, g.dtype)
    each = -(g if w is None else _kept(g * w, ignored))
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


@general(
    spelled="", samples=_classes, meta=_nll_meta, check=only_floats("nll_loss_out_frame"), straight=True,
    fixed=("weight",),
    vmap=_nll_batched(lambda: nll_loss),  # type: ignore[has-type]
)  # fmt: skip
def nll_loss(xp: Any, input: Array, target: Array, weight: Array | None, *, ignore_index: int, reduction: str) -> Array:
    """Minus the log-probability of the right class."""
    return _picked(input, target, weight, ignore_index, reduction)


_pixels = samples(
    real, [((2, 5, 3), Drawn(integers(5), 2, 3), None)], ignore_index=[-100, 1], reduction=list(REDUCTIONS)
)


@general(
    spelled="", node="NllLoss2D", samples=_pixels, meta=_nll_meta, check=only_floats("nll_loss2d_forward_out_frame"),
    straight=True, fixed=("weight",), vmap=_nll_batched(lambda: nll_loss2d),  # type: ignore[has-type]
)  # fmt: skip
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
    check=only_floats("nll_loss_backward_out_frame"),
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


def _check_classes(input: Any, target: Any) -> None:
    given, wanted = extent_of(input), extent_of(target)
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
    rank = len(extent_of(input))
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
    reduction = asked_reduction(size_average, reduce, reduction)
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
    reduction = asked_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input.ndim == 1 else 1
    if extent_of(input) == extent_of(target):
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.title}"
            )
        input.size(axis)  # refuses, where there is no such axis
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
    return total if reduction == "sum" else total / (input.numel() // classes if classes else 0)


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
