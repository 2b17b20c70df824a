"""Normalisation layers: values brought to mean 0 and variance 1 over some axes, then scaled and shifted.

All of them are one formula. With s = sum(g) and d = sum(g x) over the n values that are folded, and r = 1 / deviation,

    the cotangent of x is  r (g - s / n - k (x - mean)),   k = (d - s mean) r^2 / n.

They differ in which axes are folded, of the input laid out in two or three: (rows, width) for layers and groups,
(batch, channels, space) for batches. Mean and r are kept from the forward; a backward that is to be differentiated
again computes them anew, as part of the graph.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any
from weakref import ref

import numpy as np

from chainrule.autograd.grad_mode import no_grad
from chainrule.core import dtype as dtypes
from chainrule.core.dtype import FLOAT, OF_NUMPY, bfloat16, finfo, float16, widened
from chainrule.core.family import call, fused, spread
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import dense_strides, is_contiguous, suggested_format
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.along import laid_as, packed, packed_or_last
from chainrule.ops.arguments import read_list
from chainrule.ops.domains import unimplemented

__all__ = ["batch_norm_op", "native_group_norm", "native_layer_norm"]

Ints = tuple[int, ...]
_add, _einsum = np.add.reduce, np.einsum
LONG, SHORT = 8192, 128  # rows too long for a plain sum, rows too short for a BLAS call each


# ------------------------------------------------------------------------------------- sums over the folded axes


@lru_cache(maxsize=64)
def _ones(n: int, dtype: Any) -> Any:
    return np.ones(n, dtype)


def _sum_last(x: Any) -> Any:
    """Sums along the last axis. A product with ones is BLAS's, four to ten times as fast as NumPy's sum (measured);
    very long rows are left to NumPy, which adds them in pairs and loses fewer digits."""
    if isinstance(x, Tensor):
        return call("sum", x, -1)
    return x @ _ones(x.shape[-1], x.dtype) if x.shape[-1] <= LONG else _add(x, -1)


def _sum_first(x: Any) -> Any:
    """Sums along the first axis."""
    return call("sum", x, 0) if isinstance(x, Tensor) else _ones(x.shape[0], x.dtype) @ x


def _dot_last(a: Any, b: Any) -> Any:
    """Sums of products along the last axis."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return call("sum", a * b, -1)
    return np.vecdot(a, b) if a.shape[-1] >= SHORT else _einsum("...i,...i->...", a, b)


def _sum(x: Any, axes: Ints) -> Any:
    """The sum over the folded axes, which are kept."""
    if isinstance(x, Tensor):
        return call("sum", x, axes, True)
    if axes == (1,):
        return _sum_last(x)[:, None]
    return _sum_first(x)[None] if axes == (0,) else _sum_first(_sum_last(x))[None, :, None]


def _dot(a: Any, b: Any, axes: Ints) -> Any:
    """The sum of products over the folded axes, which are kept."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return call("sum", a * b, axes, True)
    if axes == (1,):
        return _dot_last(a, b)[:, None]
    return _einsum("nc,nc->c", a, b)[None] if axes == (0,) else _sum_first(_dot_last(a, b))[None, :, None]


def _statistics(x: Any, axes: Ints, count: int, eps: float) -> tuple[Any, Any, Any, Any]:
    """Mean, variance, 1 / sqrt(variance + eps), and x - mean."""
    mean = _sum(x, axes) / count
    d = x - mean
    var = _dot(d, d, axes) / count
    return mean, var, call("rsqrt", var + eps), d


def _pull(g: Any, x: Any, mean: Any, r: Any, s: Any, d: Any, count: int) -> Any:
    """The formula above, in the order that lets NumPy work in one buffer."""
    k = (d - s * mean) * (r * r / -count)
    return ((x - mean) * k + g - s / count) * r


def _laid_out(x: Any, shape: Ints) -> Any:
    """In another shape; 16-bit tensors in 32 bits, as their arrays are."""
    if not isinstance(x, Tensor):
        return x.reshape(shape)
    x = call("to_dtype", x, dtype=dtypes.float32) if x.dtype.itemsize == 2 else x
    return call("reshape", x, shape)


def _kept(x: Any, mean: Any, r: Any, axes: Ints, count: int, eps: float) -> tuple[Any, Any]:
    """Mean and r: as kept, or again from x if the backward is to be differentiated."""
    if isinstance(x, Tensor):
        mean, _, r, _ = _statistics(x, axes, count, eps)
        return mean, r
    return widened(mean), widened(r)


# ------------------------------------------------------------------------------------------------- layer norm


def _check_layer(input: Any, normalized_shape: Ints, weight: Any, bias: Any) -> None:
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for what, w in (("weight", weight), ("bias", bias)):
        if w is not None and tuple(w.shape) != normalized_shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(w.shape)} and "
                f"normalized_shape = {list(normalized_shape)}"
            )
    if tuple(input.shape[input.ndim - len(normalized_shape) :]) != normalized_shape or input.ndim < len(
        normalized_shape
    ):
        listed = ", ".join(map(str, normalized_shape))
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, {listed}], but got "
            "input of "
            f"size{list(input.shape)}"
        )
    _check_float(input, "LayerNormKernelImpl")


def _check_float(input: Any, kernel: str) -> None:
    if input.dtype.kind not in "fV":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{OF_NUMPY[input.dtype].title}'")


def _check_mixed(input: Any, *params: Any) -> None:
    for p in params:
        if p is not None and p.dtype != input.dtype and input.dtype.itemsize != 2:
            found = OF_NUMPY[p.dtype].title
            raise RuntimeError(f"expected scalar type {OF_NUMPY[input.dtype].title} but found {found}")


def _rows(shape: Ints, normalized_shape: Ints) -> Ints:
    if len(normalized_shape) == 1:
        return (prod(shape[:-1]), shape[-1])
    return (prod(shape[: len(shape) - len(normalized_shape)]), prod(normalized_shape))


_layer_samples = samples(
    real, [((2, 3, 4), (4,), (4,))], normalized_shape=[(4,)], eps=[1e-5]
)  # fmt: skip


def _vmap_layer(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    if batched == (True, False, False):
        return native_layer_norm(values[0], params["normalized_shape"], *values[1:], params["eps"])
    x = spread(values[0], batched[0], size)
    shape = tuple(params["normalized_shape"])
    out, mean, rstd = native_layer_norm(x, shape, None, None, params["eps"])
    return _scaled(out, values[1:], batched[1:], (*(1,) * (x.ndim - 1 - len(shape)), *shape)), mean, rstd


def _scaled(out: Any, affine: Any, batched: Any, shape: Ints) -> Any:
    """A batch of normalised values times the weights plus the biases, each of which may be one per example."""
    for at, (p, b) in enumerate(zip(affine, batched)):
        if p is not None:
            p = p.reshape((p.shape[0], *shape) if b else shape)
            out = out + p if at else out * p
    return out


@fused(outs=("out", "mean", "rstd"), spelled="f", samples=_layer_samples, vmap=_vmap_layer)
def native_layer_norm(
    xp: Any, input: Array, normalized_shape: Ints, weight: Array | None, bias: Array | None, eps: float
) -> Any:
    """The last axes of each example brought to mean 0 and variance 1; the mean and 1 / deviation too."""
    normalized_shape = tuple(normalized_shape)
    _check_layer(input, normalized_shape, weight, bias)
    _check_mixed(input, weight, bias)
    x = input.reshape(_rows(input.shape, normalized_shape))
    mean, _, r, d = _statistics(x, (1,), max(1, x.shape[1]), eps)
    d *= r
    if weight is not None:
        d *= weight.reshape(-1)
    if bias is not None:
        d += bias.reshape(-1)
    lead = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    return packed(d.reshape(input.shape)), mean.reshape(lead), r.reshape(lead)


def _layer_input(
    g: Any, input: Any, weight: Any, mean: Any, rstd: Any, input_shape: Ints, normalized_shape: Ints, eps: float
) -> Any:
    rows = _rows(input_shape, normalized_shape)
    count, one = max(1, rows[1]), (rows[0], 1)
    g, x = _laid_out(g, rows), _laid_out(input, rows)
    mean, r = _kept(x, _laid_out(mean, one), _laid_out(rstd, one), (1,), count, eps)
    gx = g * x
    if weight is None:
        s, d = _sum_last(g), _sum_last(gx)
    else:
        w = _laid_out(weight, rows[1:])
        s, d = g @ w, gx @ w  # the weight is folded into the sums: two products with vectors
        g = g * w
    s, d = _laid_out(s, one), _laid_out(d, one)
    k = (d - s * mean) * (r * r / -count)
    return _laid_out((x * k + g - (k * mean + s / count)) * r, input_shape)


def _layer_weight(
    g: Any, input: Any, mean: Any, rstd: Any, input_shape: Ints, normalized_shape: Ints, eps: float
) -> Any:
    rows = _rows(input_shape, normalized_shape)
    one = (rows[0], 1)
    g, x = _laid_out(g, rows), _laid_out(input, rows)
    mean, r = _kept(x, _laid_out(mean, one), _laid_out(rstd, one), (1,), max(1, rows[1]), eps)
    r, shift = _laid_out(r, rows[:1]), _laid_out(mean * r, rows[:1])
    return _laid_out(r @ (g * x) - shift @ g, normalized_shape)


def _layer_bias(g: Any, input_shape: Ints, normalized_shape: Ints) -> Any:
    return _laid_out(_sum_first(_laid_out(g, _rows(input_shape, normalized_shape))), normalized_shape)


native_layer_norm.vjp(input=_layer_input, weight=_layer_weight, bias=_layer_bias)


# ------------------------------------------------------------------------------------------------- batch norm


def _by_channel(shape: Ints) -> tuple[Ints, Ints, Ints, int]:
    """(batch, channels, space) or (batch, channels); the shape of a number per channel; the folded axes; their size."""
    n, c, space = shape[0], shape[1], prod(shape[2:])
    if space == 1:
        return (n, c), (1, c), (0,), max(1, n)
    return (n, c, space), (1, c, 1), (0, 2), max(1, n * space)


def _check_batch(input: Any, *channel_tensors: tuple[str, Any]) -> None:
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{max(1, input.ndim)}, "
            f"{max(1, input.ndim) - 1}], but got 1)"
        )
    for what, t in channel_tensors:
        if t is not None and t.size != input.shape[1]:
            raise RuntimeError(f"{what} should contain {input.shape[1]} elements not {t.size}")
    _check_float(input, "batch_norm")


_batch_samples = samples(
    real, [((4, 3, 2), (3,), (3,), None, None)], training=[True], eps=[1e-5]
)  # fmt: skip


def _vmap_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """The examples' channels side by side: each has statistics of its own."""
    x, *rest = (spread(v, b, size) for v, b in zip(values, batched))
    channels = x.shape[2]
    joined = x.transpose(0, 1).flatten(1, 2)
    out, *kept = batch_norm_op.op.call((joined, *(None if t is None else t.flatten() for t in rest)), params)
    return out.unflatten(1, (size, channels)).transpose(0, 1), *(t.unflatten(0, (size, channels)) for t in kept)


@fused(
    name="_batch_norm", node="NativeBatchNorm", outs=("out", "mean", "rstd", "var"), spelled="", samples=_batch_samples,
    vmap=_vmap_batch,
)  # fmt: skip
def batch_norm_op(
    xp: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    eps: float,
) -> Any:
    """Each channel brought to mean 0 and variance 1: those of the batch in training, else those given."""
    named = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    _check_batch(input, *named)
    layout, one, axes, count = _by_channel(input.shape)
    x = input.reshape(layout)
    if training:
        mean, var, r, out = _statistics(x, axes, count, eps)
    else:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        mean, var = running_mean.reshape(one), running_var.reshape(one)
        r, out = 1 / np.sqrt(var + eps), x - mean
    out *= r if weight is None else r * weight.reshape(one)
    if bias is not None:
        out += bias.reshape(one)
    return packed_or_last(out.reshape(input.shape)), mean.reshape(-1), r.reshape(-1), var.reshape(-1)


def _batch_kept(x: Any, mean: Any, rstd: Any, one: Ints, axes: Ints, count: int, training: bool, eps: float) -> Any:
    mean, r = _laid_out(mean, one), _laid_out(rstd, one)
    return _kept(x, mean, r, axes, count, eps) if training else (mean, r)


# The rules of input and weight want the same two sums, and run one after the other: the last sums are kept, for the
# same cotangent and the same application (whose mean is its own array). Only the first rule writes, each time anew.
_last: tuple[Any, Any, Any, Any] = (lambda: None, None, None, None)


def _noted_sums(g: Any, x: Any, axes: Ints, laid: Any, mean: Any) -> tuple[Any, Any]:
    global _last
    s, d = _sum(laid, axes), _dot(laid, x, axes)
    if not isinstance(s, Tensor) and g.__class__ is np.ndarray:
        _last = (ref(g), mean, s, d)
    return s, d


def _sums(g: Any, x: Any, axes: Ints, laid: Any, mean: Any) -> tuple[Any, Any]:
    held, of, s, d = _last
    if of is mean and held() is g:
        return s, d
    return _sum(laid, axes), _dot(laid, x, axes)


def _batch_input(
    g: Any, input: Any, weight: Any, mean: Any, rstd: Any, input_shape: Ints, training: bool, eps: float
) -> Any:
    shape = tuple(input_shape)
    layout, one, axes, count = _by_channel(shape)
    laid, x = _laid_out(g, layout), _laid_out(input, layout)
    m, r = _batch_kept(x, mean, rstd, one, axes, count, training, eps)
    s, d = _noted_sums(g, x, axes, laid, mean) if training else (None, None)
    pulled = _pull(laid, x, m, r, s, d, count) if training else laid * r
    return _laid_out(pulled if weight is None else pulled * _laid_out(weight, one), shape)


def _batch_weight(g: Any, input: Any, mean: Any, rstd: Any, input_shape: Ints, training: bool, eps: float) -> Any:
    layout, one, axes, count = _by_channel(tuple(input_shape))
    laid, x = _laid_out(g, layout), _laid_out(input, layout)
    m, r = _batch_kept(x, mean, rstd, one, axes, count, training, eps)
    s, d = _sums(g, x, axes, laid, mean)
    return _laid_out((d - s * m) * r, (-1,))


def _batch_bias(g: Any, input_shape: Ints) -> Any:
    layout, _, axes, _ = _by_channel(tuple(input_shape))
    return _laid_out(_sum(_laid_out(g, layout), axes), (-1,))


batch_norm_op.vjp(input=_batch_input, weight=_batch_weight, bias=_batch_bias)


# ------------------------------------------------------------------------------------------------- group norm


_group_samples = samples(
    real, [((2, 4, 3), (4,), (4,))], N=[2], C=[4], HxW=[3], group=[2], eps=[1e-5]
)  # fmt: skip


def _vmap_group(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """The batch joins the batch axis."""
    x = spread(values[0], batched[0], size)
    joined = {**params, "N": size * params["N"]}
    shared = True not in batched[1:]
    found = native_group_norm.op.call((x.flatten(0, 1), *(values[1:] if shared else (None, None))), joined)
    out, *kept = (t.unflatten(0, (size, params["N"])) for t in found)
    scaled = out if shared else _scaled(out, values[1:], batched[1:], (1, params["C"], *(1,) * (x.ndim - 3)))
    return scaled, *kept


@fused(outs=("out", "mean", "rstd"), spelled="f", samples=_group_samples, vmap=_vmap_group)
def native_group_norm(
    xp: Any, input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """Groups of channels of each example brought to mean 0 and variance 1; the mean and 1 / deviation too."""
    _check_float(input, "GroupNormKernelImpl")
    _check_mixed(input, weight, bias)
    x = input.reshape(N * group, C // group * HxW)
    mean, _, r, d = _statistics(x, (1,), max(1, x.shape[1]), eps)
    d = d.reshape(N, C, HxW)
    scale = np.repeat(r.reshape(N, group), C // group, 1)
    d *= (scale if weight is None else scale * weight)[:, :, None]
    if bias is not None:
        d += bias[:, None]
    return laid_as(packed(d.reshape(input.shape)), input), mean.reshape(N, group), r.reshape(N, group)


def _grouped(x: Any, mean: Any, rstd: Any, rows: Ints, eps: float) -> tuple[Any, Any, Any]:
    """x as (groups, elements), with mean and r of each group."""
    x, one = _laid_out(x, rows), (rows[0], 1)
    return (x, *_kept(x, _laid_out(mean, one), _laid_out(rstd, one), (1,), max(1, rows[1]), eps))


def _group_input(
    g: Any, input: Any, weight: Any, mean: Any, rstd: Any, input_shape: Ints, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> Any:  # fmt: skip
    rows = (N * group, C // group * HxW)
    x, mean, r = _grouped(input, mean, rstd, rows, eps)
    if weight is not None:
        g = _laid_out(g, (N, C, HxW)) * _laid_out(weight, (1, C, 1))
    g = _laid_out(g, rows)
    s, d = _sum(g, (1,)), _dot(g, x, (1,))
    return _laid_out(_pull(g, x, mean, r, s, d, max(1, rows[1])), tuple(input_shape))


def _group_weight(g: Any, input: Any, mean: Any, rstd: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    rows = (N * group, C // group * HxW)
    x, mean, r = _grouped(input, mean, rstd, rows, eps)
    shape = (N, C, HxW)
    g, x = _laid_out(g, shape), _laid_out(x, shape)
    s, d = _by_example(_sum_last(g), N, group), _by_example(_dot_last(g, x), N, group)
    mean, r = _laid_out(mean, (N, group, 1)), _laid_out(r, (N, group, 1))
    return _laid_out(call("sum", (d - s * mean) * r, 0), (C,))


def _by_example(x: Any, N: int, group: int) -> Any:
    return _laid_out(x, (N, group, tuple(x.shape)[1] // group))


native_group_norm.vjp(
    input=_group_input,
    weight=_group_weight,
    bias=lambda g, N, C, HxW: _laid_out(call("sum", _sum_last(_laid_out(g, (N, C, HxW))), 0), (C,)),
)


# --------------------------------------------------------------------------------------------------- public


def _layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    shape = read_list("layer_norm", "normalized_shape", normalized_shape, 2)
    return native_layer_norm.public(input, shape, weight, bias, eps)[0]


@composite(spelled="n")
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The last axes of each example brought to mean 0 and variance 1, then scaled and shifted."""
    return _layer_norm(input, normalized_shape, weight, bias, eps)  # type: ignore[no-any-return]


@composite(spelled="f", name="layer_norm")
def _torch_layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """The last axes of each example brought to mean 0 and variance 1, then scaled and shifted."""
    return _layer_norm(input, normalized_shape, weight, bias, eps)  # type: ignore[no-any-return]


def _group_norm(input: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Any:
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, c = input.shape[:2]
    if num_groups <= 0 or c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for what, w in (("weight", weight), ("bias", bias)):
        if w is not None and (w.ndim != 1 or w.shape[0] != c):
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input, but got {what} "
                "of shape "
                f"{list(w.shape)} and input of shape {list(input.shape)}"
            )
    return native_group_norm.public(input, weight, bias, n, c, prod(input.shape[2:]), num_groups, eps)[0]


@composite(spelled="n")
def group_norm(
    input: Any, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Groups of channels of each example brought to mean 0 and variance 1, then scaled and shifted."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    size = tuple(input.shape)
    _check_several((size[0] * size[1] // num_groups, num_groups, *size[2:]))
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    return _group_norm(input, num_groups, weight, bias, eps)  # type: ignore[no-any-return]


@composite(spelled="f", name="group_norm")
def _torch_group_norm(
    input: Any,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Groups of channels of each example brought to mean 0 and variance 1, then scaled and shifted."""
    return _group_norm(input, num_groups, weight, bias, eps)  # type: ignore[no-any-return]


def _check_several(size: Ints) -> None:
    if size[0] * prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(size)})"
        )


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    if input.numel() == 0:
        return _of_nothing(input, weight, bias)
    out, mean, _, var = batch_norm_op.public(input, weight, bias, running_mean, running_var, bool(training), eps)
    if training and (running_mean is not None or running_var is not None):
        count = input.numel() // max(1, input.shape[1])
        _blend(running_mean, mean, momentum, 1.0)
        _blend(running_var, var, momentum, count / max(1, count - 1))
    return out


def _of_nothing(input: Any, weight: Any, bias: Any) -> Any:
    """Without elements there are no statistics; weight and bias take part, so that they have gradients, of zeros."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def _blend(running: Any, now: Any, momentum: float, factor: float) -> None:
    """The running average moves towards what was seen."""
    if running is not None:
        running.mul_(1 - momentum)
        running.add_(now, alpha=momentum * factor)


@composite(spelled="n")
def batch_norm(
    input: Any,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel brought to mean 0 and variance 1 over the batch, then scaled and shifted."""
    if training and input.ndim >= 2:
        _check_several(tuple(input.shape))
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)  # type: ignore[no-any-return]


@composite(spelled="f", name="batch_norm")
def _torch_batch_norm(
    input: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel brought to mean 0 and variance 1 over the batch, then scaled and shifted."""
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)  # type: ignore[no-any-return]


def _instance_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, use_input_stats: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c = input.shape[:2]
    means, variances = (None if t is None else t.repeat(n) for t in (running_mean, running_var))
    w, b = (None if t is None else t.repeat(n) for t in (weight, bias))
    joined = input.contiguous().view(1, n * c, *input.shape[2:])
    out = _batch_norm(joined, w, b, means, variances, use_input_stats, momentum, eps)
    with no_grad():
        for running, seen in ((running_mean, means), (running_var, variances)):
            if running is not None and seen is not None:
                running.copy_(seen.view(n, c).mean(0))
    return out.view(input.shape)


@composite(spelled="n")
def instance_norm(
    input: Any,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each example brought to mean 0 and variance 1, then scaled and shifted."""
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)  # type: ignore[no-any-return]


@composite(spelled="f", name="instance_norm")
def _torch_instance_norm(
    input: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel of each example brought to mean 0 and variance 1, then scaled and shifted."""
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)  # type: ignore[no-any-return]


@composite(spelled="fn")
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """The last axes of each example brought to root mean square 1, then scaled."""
    shape = read_list("rms_norm", "normalized_shape", normalized_shape, 2)
    _check_rms(input, shape, weight)
    if input.dtype.category < FLOAT:
        raise unimplemented("rms_norm", input.dtype)
    wide = input.float() if input.dtype in (float16, bfloat16) else input  # squares leave the range of 16 bits
    if eps is None:
        eps = finfo(wide.dtype).eps
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    scaled = wide * (wide.pow(2).mean(axes, True) + eps).rsqrt()
    scaled = scaled if weight is None else scaled * weight
    if not input.is_contiguous():
        scaled = _as_suggested(scaled, tuple(input.shape), tuple(input.stride()))
    return scaled.type_as(input)  # type: ignore[no-any-return]


def _as_suggested(scaled: Any, shape: Ints, steps: Ints) -> Any:
    """What was computed from an input of these steps, in the format that they suggest."""
    want = suggested_format(shape, steps)
    return scaled if is_contiguous(shape, dense_strides(shape, steps), want) else scaled.clone(memory_format=want)


def _check_rms(input: Any, shape: Ints, weight: Any) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got normalized_shape = []"
        )
    if weight is not None and tuple(weight.shape) != shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and "
            f"normalized_shape = {list(shape)}"
        )
    if input.ndim < len(shape) or tuple(input.shape[input.ndim - len(shape) :]) != shape:
        listed = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {listed}], but got input of "
            f"size{list(input.shape)}"
        )


@composite(spelled="n")
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each channel divided by a power of the mean square of its neighbours."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input  # type: ignore[no-any-return]
    shape = tuple(input.shape)
    squares = (input * input).unsqueeze(1)
    before, after = size // 2, (size - 1) // 2
    if input.ndim == 3:
        mean = names.avg_pool2d(names.pad(squares, (0, 0, before, after)), (size, 1), stride=1).squeeze(1)
    else:
        squares = squares.view(shape[0], 1, shape[1], shape[2], -1)
        squares = names.pad(squares, (0, 0, 0, 0, before, after))
        mean = names.avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / (mean * alpha + k) ** beta  # type: ignore[no-any-return]
