"""Losses over classes that PyTorch records as one node each: margins, and sequences (CTC)."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.forward import refuse as refuse_forward
from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import COMPLEX
from chainrule.core.family import call, fused, general
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, apart, integers, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.arithmetic import no_derivative
from chainrule.ops.domains import no_complex, not_for
from chainrule.ops.loss import REDUCTIONS, asked_reduction, check_reduction, folded, share

__all__ = ["multi_margin_op", "multilabel_margin_op"]

Ints = tuple[int, ...]


def _column(g: Any) -> Any:
    """One number per row, beside its row."""
    return call("unsqueeze", g, -1) if isinstance(g, Tensor) else np.asarray(g)[..., None]


# --------------------------------------------------------------------------------------------- the right class


def _lead(input: Any, target: Any, margin: float) -> tuple[Any, Any]:
    """By how much each class comes too near the right one, and which class that is: both (..., classes)."""
    right = _one_hot(target, input)
    best = call("sum", call("where", right, input, 0.0), -1, True)
    return call("where", right, 0.0, margin - best + input), right


def _one_hot(target: Any, like: Any) -> Any:
    classes = np.arange(like.shape[-1])
    if isinstance(like, Tensor):
        return target.unsqueeze(-1) == names.from_numpy(classes)
    return np.asarray(target)[..., None] == classes


def _row_meta(raws: Any, params: dict[str, Any]) -> Any:
    return hollow(raws[0].shape[:-1] if params["reduction"] == "none" else (), raws[0].dtype)


@fused(
    name="multi_margin_loss", spelled="", meta=_row_meta, fixed=("weight",), check=no_complex(
        "\"multi_margin_loss_cpu_kernel\" not implemented for complex dtypes", NotImplementedError
    ),
    samples=samples(apart, [((3, 4), Drawn(integers(4), 3), None)], p=[1, 2], margin=[1.0], reduction=list(REDUCTIONS)),
)  # fmt: skip
def multi_margin_op(
    xp: Any, input: Array, target: Array, weight: Array | None, p: int, margin: float, reduction: str
) -> Array:
    """The hinge between the right class and every other, to the power p."""
    if target.size and (target.min() < 0 or target.max() >= input.shape[-1]):
        raise RuntimeError("target out of range")
    z, _ = _lead(input, target, margin)
    z = np.maximum(z, 0)
    each = np.add.reduce(z if p == 1 else z * z, -1) / input.shape[-1]
    return folded(np.asarray(each if weight is None else each * weight[target]).astype(input.dtype), reduction)


def _pull_multi_margin(g: Any, input: Any, target: Any, weight: Any, p: int, margin: float, reduction: str) -> Any:
    z, right = _lead(input, target, margin)
    slope = (z > 0) * (call("ones_like", z) if p == 1 else 2.0 * z)
    if weight is not None:
        slope = slope * _column(weight[target])
    slope = call("where", right, -call("sum", slope, -1, True), slope)
    g = share(g, reduction, tuple(target.shape), 1.0 / input.shape[-1])
    return slope * (_column(g) if reduction == "none" else g)


multi_margin_op.vjp(input=_pull_multi_margin)


@composite(spelled="n")
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The hinge between the right class and every other, to the power p."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if input.ndim not in (1, 2) or input.shape[-1] == 0:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: " + str(list(input.shape))
        )
    rows = input.shape[:-1]
    if target.ndim > 1 or (target.numel() != (rows[0] if rows else 1)):
        raise RuntimeError(f"inconsistent target size, expected {rows[0] if rows else 1} but got {list(target.shape)}")
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}")
    target = target.view(rows) if tuple(target.shape) != tuple(rows) else target
    return multi_margin_op.public(input, target, weight, p, margin, reduction)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------- several right classes


def _gaps(input: Any, target: Any) -> tuple[Any, Any, Any]:
    """(1 - x[right] + x[other], whether that counts, the right classes), for every entry of the list and every class.

    An entry is valid before the first -1; a class is right if a valid entry names it.
    """
    valid = call("cumprod", (target >= 0) * call("ones_like", target), -1)
    index = target * valid
    listed = call("scatter_add", call("zeros_like", target), -1, index, valid) > 0
    counts = call("unsqueeze", valid > 0, -1) & ~call("unsqueeze", listed, -2)
    right = call("gather", input, -1, index)
    return 1.0 - _column(right) + call("unsqueeze", input, -2), counts, index


@fused(
    name="multilabel_margin_loss", spelled="", meta=_row_meta, check=not_for("multilabel_margin_loss", COMPLEX),
    samples=samples(apart, [((3, 4), Drawn(integers(4), 3, 4))], reduction=list(REDUCTIONS)),
)  # fmt: skip
def multilabel_margin_op(xp: Any, input: Array, target: Array, reduction: str) -> Array:
    """The hinge between every right class and every other."""
    gaps, counts, _ = _gaps(input, target)
    each = np.where(counts, np.maximum(gaps, 0), 0).sum((-2, -1)) / input.shape[-1]
    return folded(np.asarray(each).astype(input.dtype), reduction)


def _pull_multilabel(g: Any, input: Any, target: Any, reduction: str) -> Any:
    gaps, counts, index = _gaps(input, target)
    slope = counts & (gaps > 0)
    slope = slope * call("ones_like", gaps)
    pushed, pulled = call("sum", slope, -2), call("sum", slope, -1)
    zeros = pushed * 0
    down = call("scatter_add", zeros, -1, index, pulled)
    g = share(g, reduction, tuple(input.shape[:-1]), 1.0 / input.shape[-1])
    return (pushed - down) * (_column(g) if reduction == "none" else g)


multilabel_margin_op.vjp(input=_pull_multilabel)


@composite(spelled="n")
def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The hinge between every right class (listed in `target`, ended by -1) and every other."""
    reduction = asked_reduction(size_average, reduce, reduction)
    if input.ndim > 2 or input.shape[-1:] == (0,):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if input.ndim == 0:
        return multilabel_margin_op.public(input.unsqueeze(0), target.unsqueeze(0), reduction)  # type: ignore[no-any-return]
    return multilabel_margin_op.public(input, target, reduction)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- sequences (CTC)


def _labels(targets: Any, lengths: Ints, row: int) -> Any:
    """The labels of one example: a row of a table, or a piece of one long list."""
    if targets.ndim == 2:
        return targets[row, : lengths[row]]
    start = sum(lengths[:row])
    return targets[start : start + lengths[row]]


def _with_blanks(labels: Any, blank: int) -> tuple[Any, Any]:
    """blank, a, blank, b, blank; and which of these may be reached by leaving out the blank before them."""
    path = np.full(2 * len(labels) + 1, blank)
    path[1::2] = labels
    skip = np.zeros(len(path), bool)
    skip[3::2] = labels[1:] != labels[:-1]
    return path, skip


def _forwards(log_p: Any, skip: Any) -> Any:
    """The log-probability of all ways to be at each place of the path after each step; log_p is (steps, path)."""
    alpha = np.full(log_p.shape, -np.inf, log_p.dtype)
    alpha[0, :2] = log_p[0, :2]
    for t in range(1, len(alpha)):
        before = alpha[t - 1]
        stay = before.copy()
        stay[1:] = np.logaddexp(stay[1:], before[:-1])
        stay[2:] = np.where(skip[2:], np.logaddexp(stay[2:], before[:-2]), stay[2:])
        alpha[t] = stay + log_p[t]
    return alpha


def _total(alpha: Any) -> Any:
    return np.logaddexp.reduce(alpha[-1, -2:]) if len(alpha) else (0.0 if alpha.shape[1] == 1 else -np.inf)


def _occupancy(log_p: Any, skip: Any, alpha: Any) -> Any:
    """The log-probability of all ways through each place at each step."""
    back = _forwards(log_p[::-1, ::-1], np.concatenate([[False, False], skip[::-1][:-2]]) if len(skip) > 1 else skip)
    return alpha + back[::-1, ::-1] - log_p


def _no_forward(primals: Any, tangents: Any, out: Any, params: dict[str, Any]) -> NoReturn:
    refuse_forward("_ctc_loss")


def _labels_drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.integers(1, 4, size=shape)


# The rule is PyTorch's: the derivative along changes that keep the probabilities of each step summing to one. It takes
# the log-softmax before it into account: it is no slope of this op alone, and has no transpose for forward mode.
@general(
    name="_ctc_loss", node="CtcLoss", spelled="", jvp=_no_forward,
    meta=lambda raws, params: hollow(raws[0].shape[1:2], raws[0].dtype),
)  # fmt: skip
def ctc_op(
    xp: Any,
    log_probs: Array,
    targets: Array,
    input_lengths: Ints,
    target_lengths: Ints,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """Minus the log-probability of each sequence of labels, over all its alignments with the input."""
    losses = np.empty(log_probs.shape[1], log_probs.dtype)
    for row, steps in enumerate(input_lengths):
        path, skip = _with_blanks(_labels(targets, target_lengths, row), blank)
        losses[row] = -_total(_forwards(log_probs[:steps, row, path], skip))
    return losses


@general(
    name="_ctc_loss_backward", node="CtcLossBackward", spelled="",
    samples=samples(
        real, [((2,), (5, 2, 4), Drawn(_labels_drawn, 2, 2))],
        input_lengths=[(5, 4)], target_lengths=[(2, 1)], blank=[0], zero_infinity=[False, True],
    ),
    meta=lambda raws, params: hollow(raws[1].shape, raws[1].dtype),
)  # fmt: skip
def ctc_backward(
    xp: Any,
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Ints,
    target_lengths: Ints,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The cotangent of the log-probabilities: those, minus the chance that an alignment passes there."""
    out = np.zeros_like(log_probs)
    for row, steps in enumerate(input_lengths):
        path, skip = _with_blanks(_labels(targets, target_lengths, row), blank)
        log_p = log_probs[:steps, row, path]
        alpha = _forwards(log_p, skip)
        total = _total(alpha)
        if zero_infinity and np.isinf(total):
            continue
        through = np.exp(_occupancy(log_p, skip, alpha) - total)
        passed = np.zeros((steps, log_probs.shape[2]), log_probs.dtype)
        np.add.at(passed, (slice(None), path), through)  # type: ignore[arg-type]
        out[:steps, row] = (np.exp(log_probs[:steps, row]) - passed) * grad[row]
    return out


ctc_op.vjp(
    log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity: ctc_backward(
        g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
    )
)


_once = no_derivative("_ctc_loss_backward")
ctc_backward.vjp(grad=_once, log_probs=_once)


def _length_list(lengths: Any, name: str) -> Ints:
    if isinstance(lengths, Tensor):
        if lengths.dtype.is_floating_point:
            raise RuntimeError(f"{name} must be integral")
        return tuple(int(n) for n in lengths.reshape(-1).tolist())
    return tuple(int(n) for n in lengths)


@composite(spelled="fn")
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of sequences of labels, over all their alignments with the input."""
    check_reduction(reduction)
    single = log_probs.ndim == 2
    whole = log_probs.unsqueeze(1) if single else log_probs
    steps = _length_list(input_lengths, "input_lengths")
    lengths = _length_list(target_lengths, "target_lengths")
    _check_ctc(whole, targets, steps, lengths, blank)
    each = ctc_op.public(whole, targets, steps, lengths, blank, bool(zero_infinity))
    if zero_infinity:
        each = names.where(each == float("inf"), names.scalar_tensor(0, dtype=each.dtype), each)
    if reduction == "mean":
        return (each / names.tensor([max(1, n) for n in lengths], dtype=each.dtype)).mean()  # type: ignore[no-any-return]
    if reduction == "sum":
        return each.sum()  # type: ignore[no-any-return]
    return each.squeeze(0) if single else each  # type: ignore[no-any-return]


def _check_ctc(log_probs: Any, targets: Any, steps: Ints, lengths: Ints, blank: int) -> None:
    time, batch, classes = log_probs.shape
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, found in (("input_lengths", steps), ("target_lengths", lengths)):
        if len(found) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        if min(found, default=0) < 0:
            raise RuntimeError(f"{name} must contain nonnegative values")
    if max(steps, default=0) > time:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {time}, but got value {max(steps)} (while checking "
            "arguments "
            "for ctc_loss_cpu)"
        )
    if targets.ndim == 2 and targets.shape[1] < max(lengths, default=0):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size {targets.shape[1]} for "
            "argument #2 'targets' (while checking arguments for ctc_loss_cpu)"
        )
