"""Convolution and its transpose, over one, two or three axes.

Two bilinear ops, each the derivative of the other: with <g, convolution(x, w)> held fixed, the cotangent of x is the
transposed convolution of g, and that of w is `convolution_weight(g, x)`, whose own derivatives are convolutions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.backends import cpu
from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import call, general, shape_of, spread
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.along import laid_as

__all__ = ["convolution", "convolution_weight", "per_axis"]

Ints = tuple[int, ...]

_grid: dict[str, list[Any]] = {
    "stride": [(1,), (2,)], "padding": [(1,)], "dilation": [(1,), (2,)], "transposed": [False, True],
    "output_padding": [(0,)], "groups": [1],
}  # fmt: skip


def _refuse_whole(input: Any, transposed: bool, dilation: Ints) -> None:
    """Integers narrower than 64 bits are not for every kernel."""
    if transposed or max(dilation) > 1:
        kernel = f"slow_conv_transpose{max(2, input.ndim - 2)}d_out_cpu" if transposed else "slow_conv_dilated<>"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{OF_NUMPY[input.dtype].title}'")


def _check(input: Any, weight: Any, bias: Any, transposed: bool, dilation: Ints) -> None:
    if input.dtype is not weight.dtype and input.dtype != weight.dtype:
        a, b = OF_NUMPY[input.dtype], OF_NUMPY[weight.dtype]
        raise RuntimeError(f"expected scalar type {a.title} but found {b.title}")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but "
            f"got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if input.dtype.kind == "b":
        raise NotImplementedError(f"\"slow_conv{input.ndim - 2}d_cpu\" not implemented for 'Bool'")
    if input.dtype.kind in "iu" and input.dtype != np.int64:
        _refuse_whole(input, transposed, dilation)
    if bias is not None and bias.dtype != input.dtype:
        names = tuple(str(OF_NUMPY[a.dtype]).removeprefix("torch.") for a in (input, bias))
        short = {
            "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
        }  # fmt: skip
        a, b = (short.get(n, n) for n in names)  # type: ignore[assignment]
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")


def _check_bias(weight: Any, bias: Any, features: int, transposed: bool) -> None:
    if bias.ndim != 1 or bias.shape[0] != features:
        start = "Given transposed=1, weight of size" if transposed else "Given weight of size"
        raise RuntimeError(
            f"{start} {list(weight.shape)}, expected bias to be 1-dimensional with {features} elements, but got "
            "bias of "
            f"size {list(bias.shape)} instead"
        )


def _vmap(values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]) -> Any:
    """A batch of inputs joins the batch axis; a batch of kernels becomes groups."""
    input, weight, bias = values
    in_batch, weight_batch, bias_batch = batched
    _meta([v if v is None else hollow(shape_of(v)[b:], v.dtype.numpy) for v, b in zip(values, batched)], params)
    if in_batch and not weight_batch and not bias_batch:
        out = convolution(input.flatten(0, 1), weight, bias, **params)
        return out.unflatten(0, (size, input.shape[1]))
    if not weight_batch:
        out = convolution(input.flatten(0, 1) if in_batch else input, weight, None, **params)
        out = out.unflatten(0, (size, -1)) if in_batch else out.unsqueeze(0)
        shift = bias.view(size, 1, -1, *(1,) * (out.ndim - 3)) if bias_batch else bias.view(-1, *(1,) * (out.ndim - 3))
        return out + shift
    images = input.transpose(0, 1).flatten(1, 2) if in_batch else input.repeat(1, size, *(1,) * (input.ndim - 2))
    joined = {**params, "groups": params["groups"] * size}
    out = convolution(images, weight.flatten(0, 1), bias.flatten() if bias_batch else None, **joined)
    out = out.unflatten(1, (size, out.shape[1] // size)).transpose(0, 1)
    return out if bias is None or bias_batch else out + bias.view(-1, *(1,) * (input.ndim - 2 - in_batch))


def _meta(raws: Any, params: dict[str, Any]) -> Any:
    input, weight, bias = raws
    _check(input, weight, bias, params["transposed"], params["dilation"])
    return hollow(_out_shape(cpu, input, weight, bias, **params), input.dtype)


def _out_shape(
    xp: Any, input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Ints:  # fmt: skip
    if transposed:
        shape = xp.conv.conv_input_shape(input.shape, weight.shape, stride, padding, output_padding, dilation, groups)
    else:
        shape = xp.conv.conv_output_shape(input.shape, weight.shape, stride, padding, dilation, groups)
    if bias is not None:
        _check_bias(weight, bias, shape[1], transposed)
    return shape  # type: ignore[no-any-return]


@general(samples=samples(real, [((2, 3, 7), (3, 3, 2), (3,))], **_grid), spelled="f", vmap=_vmap, meta=_meta)
def convolution(
    xp: Any,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Array:
    """Cross-correlation of `input` with `weight`, or its transpose."""
    output_padding = tuple(output_padding)
    _check(input, weight, bias, transposed, dilation)
    shape = _out_shape(xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if transposed:
        out = xp.conv.conv_input(input, weight, shape, stride, padding, dilation, groups)
    else:
        out = xp.conv.conv(input, weight, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape((-1,) + (1,) * (input.ndim - 2))
    return laid_as(out, input, weight)


def _to_input(g: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """The transposed convolution that lands on an input of this shape."""
    space = zip(shape[2:], shape_of(g)[2:], shape_of(weight)[2:], stride, padding, dilation)
    extra = tuple(n - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for n, o, k, s, p, d in space)
    return convolution(g, weight, None, stride, padding, dilation, True, extra, groups)


def _pull_input(
    g: Any, weight: Any, input_shape: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int
) -> Any:
    if transposed:
        whole = convolution(g, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups)
        return _cropped(whole, input_shape)
    return _to_input(g, weight, input_shape, stride, padding, dilation, groups)


def _cropped(x: Any, shape: Ints) -> Any:
    """Without what an output_padding of a whole stride (which a wide dilation allows) has added behind the end."""
    extents = tuple(shape[2:])
    return x if tuple(shape_of(x)[2:]) == extents else x[(slice(None), slice(None), *map(slice, extents))]


def _pull_weight(
    g: Any, input: Any, weight_shape: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int
) -> Any:
    out, seen = (input, g) if transposed else (g, input)
    return convolution_weight(out, seen, tuple(weight_shape), stride, padding, dilation, groups)


convolution.vjp(
    input=_pull_input,
    weight=_pull_weight,
    bias=lambda g: call("sum", g, dim=(0, *range(2, len(shape_of(g))))),
)


_weight_samples = samples(
    real, [((2, 3, 6), (2, 3, 7))], shape=[(3, 3, 2)], stride=[(1,)], padding=[(0,)], dilation=[(1,)], groups=[1]
)


def _vmap_weight(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """A batch of kernels, as groups."""
    output, input = (spread(v, b, size).transpose(0, 1).flatten(1, 2) for v, b in zip(values, batched))
    first, *rest = params["shape"]
    joined = {**params, "shape": (size * first, *rest), "groups": params["groups"] * size}
    return convolution_weight.op.call((output, input), joined).unflatten(0, (size, first))


@general(
    spelled="", node="ConvolutionBackward", samples=_weight_samples, vmap=_vmap_weight,
    meta=lambda raws, params: hollow(params["shape"], raws[0].dtype),
)  # fmt: skip
def convolution_weight(
    xp: Any, output: Array, input: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The derivative of <output, convolution(input, weight)> in the weight, which has this shape."""
    return xp.conv.conv_weight(output, input, shape, stride, padding, dilation, groups)


convolution_weight.vjp(
    output=lambda g, input, output_shape, stride, padding, dilation, groups: _cropped(
        convolution(input, g, None, stride, padding, dilation, False, (0,) * len(stride), groups), output_shape
    ),
    input=lambda g, output, input_shape, stride, padding, dilation, groups: _to_input(
        output, g, input_shape, stride, padding, dilation, groups
    ),
)


# --------------------------------------------------------------------------------------------------- public


def per_axis(value: Any, rank: int, what: str) -> Ints:
    """One number for all axes of space, or one for each."""
    if value.__class__ is int:
        return (value,) * rank
    if isinstance(value, Sequence) and not isinstance(value, str):
        found = tuple(value)
        if len(found) == rank:
            return found
        if len(found) == 1:
            return found * rank
        raise RuntimeError(
            f"expected {what} to be a single integer value or a list of {rank} values to match the convolution "
            f"dimensions, but got {what}={list(found)}"
        )
    try:
        return (value.__index__(),) * rank
    except AttributeError:
        raise TypeError(f"conv{rank}d(): argument '{what}' must be tuple of ints, not {type(value).__name__}") from None


def _tensors(name: str, input: Any, weight: Any, rank: int) -> bool:
    """Is the input unbatched? Checks kinds and ranks."""
    for at, (what, value) in enumerate((("input", input), ("weight", weight))):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): argument '{what}' (position {at + 1}) must be Tensor, not {type(value).__name__}"
            )
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if input.ndim == rank + 2:
        return False
    if input.ndim != rank + 1:
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input.shape)}"
        )
    return True


def _conv(rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    if _tensors(f"conv{rank}d", input, weight, rank):
        return _conv(rank, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    rank = weight.ndim - 2
    stride, dilation = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    if isinstance(padding, str):
        input, padding = _worded_padding(input, weight, padding, stride, dilation)
    padding = per_axis(padding, rank, "padding")
    return convolution.public(input, weight, bias, stride, padding, dilation, False, (0,) * rank, groups)


def _worded_padding(input: Any, weight: Any, word: str, stride: Ints, dilation: Ints) -> tuple[Any, Ints]:
    """The input and the padding that "same" or "valid" mean; an odd element of padding goes behind the end."""
    if word == "valid":
        return input, (0,) * len(stride)
    if word != "same":
        raise RuntimeError(f"Invalid padding string: '{word}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = tuple(d * (k - 1) for d, k in zip(dilation, weight.shape[2:]))
    if any(t % 2 for t in total):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
            "the input "
            "be created",
        )
        behind = [side for t in reversed(total) for side in (0, t % 2)]
        input = call("constant_pad_nd", input, tuple(behind), 0)
    return input, tuple(t // 2 for t in total)


def _conv_transpose(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    if _tensors(f"conv_transpose{rank}d", input, weight, rank):
        whole = _conv_transpose(
            rank, input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation
        )
        return whole.squeeze(0)
    stride, dilation = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    padding, extra = per_axis(padding, rank, "padding"), per_axis(output_padding, rank, "output_padding")
    return convolution.public(input, weight, bias, stride, padding, dilation, True, extra, groups)


@composite(spelled="fn")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of (batch, channels, length) with (out, channels / groups, kernel)."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv1d`."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv2d`."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv3d`."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)  # type: ignore[no-any-return]


@composite(spelled="fn")
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Tensor:
    """`conv1d` of (length, batch, channels) with (kernel, channels, out)."""
    out = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return out.permute(2, 0, 1)
