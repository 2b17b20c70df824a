"""Tensors at another size: interpolation, windows as columns, sampling at any position."""

from __future__ import annotations

import math
from typing import Any

from chainrule.backends import cpu
from chainrule.backends.meta import empty as hollow
from chainrule.core.family import general
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.along import laid_as
from chainrule.ops.domains import only_floats

__all__ = ["interpolate"]

Ints = tuple[int, ...]


def _at_size(raw: Any, size: Ints) -> Any:
    return hollow(raw.shape[: raw.ndim - len(size)] + tuple(size), raw.dtype)


def _upsampling(mode: str, rank: int, antialias: bool = False) -> Any:
    """The two ops of one mode and rank: resizing, and its adjoint, which is linear too."""
    title = {"nearest": "nearest", "nearest-exact": "nearest_exact"}.get(mode, mode)
    name = f"_upsample_{title}{rank}d" + ("_aa" if antialias else "")
    node = "Upsample" + "".join(w.capitalize() for w in title.split("_")) + f"{rank}D" + ("Aa" if antialias else "")

    def forward(xp: Any, input: Array, output_size: Ints, align_corners: bool, scales: Any) -> Array:
        return laid_as(xp.resize.interpolate(input, output_size, mode, align_corners, scales, antialias), input)

    def adjoint(xp: Any, grad: Array, space: Ints, align_corners: bool, scales: Any) -> Array:
        return xp.resize.interpolate_adjoint(grad, space, mode, align_corners, scales, antialias)

    forward.__doc__ = f"Resized: {mode} interpolation over {rank} axes."
    adjoint.__doc__ = f"The adjoint of `{name}`."
    kernel = f"upsample_{title}2d_channels_last" if rank == 2 else f"compute_indices_weights_{title.split('_')[0]}"
    if mode in ("linear", "bicubic", "trilinear"):
        kernel = f"compute_indices_weights_{'cubic' if mode == 'bicubic' else 'linear'}"
    refused = only_floats(kernel) if mode in ("linear", "trilinear") else only_floats(kernel, "uint8")
    given = samples(
        real, [((2, *(3,) * rank),)], output_size=[(5,) * rank], align_corners=[False], scales=[(None,) * rank]
    )
    op = general(
        forward, name=name, node=node, spelled="", linear=True, samples=given, check=refused,
        vmap=lambda values, batched, size, params: op(values[0], **params),  # type: ignore[has-type]
        meta=lambda raws, params: _at_size(raws[0], params["output_size"]),
    )  # fmt: skip
    back = general(
        adjoint, name=f"{name}_backward", node=f"{node}Backward", spelled="", linear=True, check=refused,
        vmap=lambda values, batched, size, params: back(values[0], **params),  # type: ignore[has-type]
        meta=lambda raws, params: _at_size(raws[0], params["space"]),
        samples=samples(
            real, [((2, *(5,) * rank),)], space=[(3,) * rank], align_corners=[False], scales=[(None,) * rank]
        ),
    )  # fmt: skip
    op.vjp(
        input=lambda g, input_shape, align_corners, scales: back(g, tuple(input_shape[-rank:]), align_corners, scales)
    )
    back.vjp(grad=lambda g, grad_shape, align_corners, scales: op(g, tuple(grad_shape[-rank:]), align_corners, scales))
    return op


_RANK = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_OPS = {(mode, rank): _upsampling(mode, rank) for mode, rank in _RANK.items()}
_OPS |= {(mode, rank): _upsampling(mode, rank) for mode in ("nearest", "nearest-exact") for rank in (1, 2, 3)}
_SMOOTH = {mode: _upsampling(mode, 2, antialias=True) for mode in ("bilinear", "bicubic")}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank


def _wanted(input: Any, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """(sizes or None, scale factors or None), one entry per axis."""
    rank, space = input.ndim - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (tuple, list)) and len(size) != rank:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {space} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
                "...,dK) "
                "format and output size in (o1, o2, ...,oK) format."
            )
        found = _per_axis(size, rank)
        if not all(hasattr(n, "__index__") for n in found):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(n) for n in found]}"
            )
        return tuple(n.__index__() for n in found), None
    if isinstance(scale_factor, (tuple, list)) and len(scale_factor) != rank:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {space} and scale_factor of shape {scale_factor}. Please provide input tensor in "
            "(N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    return None, tuple(float(s) for s in _per_axis(scale_factor, rank))


@composite(spelled="n")
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input at another size: `size` itself, or the present one times `scale_factor`."""
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, scales = _wanted(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if sizes is None:
        sizes = tuple(math.floor(n * s) for n, s in zip(input.shape[2:], scales))
        scales = None if recompute_scale_factor or mode == "area" else scales
    rank = input.ndim - 2
    if mode == "area" and rank in (1, 2, 3):
        return getattr(names, f"adaptive_avg_pool{rank}d")(input, sizes)  # type: ignore[no-any-return]
    if mode == "lanczos":
        raise NotImplementedError("interpolate: mode='lanczos'")
    chosen = _SMOOTH[mode] if antialias else _OPS.get((mode, rank))
    if chosen is None:
        raise _refused_mode(input, mode)
    return chosen.public(input, sizes, bool(align_corners), scales or (None,) * rank)  # type: ignore[no-any-return]


def _refused_mode(input: Any, mode: str) -> NotImplementedError:
    if mode in _RANK and input.ndim in (3, 4, 5):
        return NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_RANK[mode] + 2}D input")
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: {_MODES} "
        f"(got {mode})"
    )


@composite(spelled="n")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate` under its old name."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(spelled="n")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Nearest interpolation, under its old name."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(spelled="n")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Linear interpolation of images, corners on corners, under its old name."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ------------------------------------------------------------------------------------------- windows as columns


@general(
    spelled="", linear=True, node="Im2Col",
    samples=samples(
        real, [((2, 3, 5, 4),)], kernel_size=[(2, 3)], dilation=[(1, 1)], padding=[(1, 0)], stride=[(2, 1)]
    ),
    vmap=lambda values, batched, size, params: im2col(values[0], **params),  # type: ignore[has-type]
    meta=lambda raws, params: hollow(cpu.fold.columns_shape(raws[0].shape, **params), raws[0].dtype),
)  # fmt: skip
def im2col(xp: Any, input: Array, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    """Every window of an image as a column."""
    return xp.fold.im2col(input, kernel_size, dilation, padding, stride)


@general(
    spelled="", linear=True, node="Col2Im",
    vmap=lambda values, batched, size, params: col2im(values[0], **params),  # type: ignore[has-type]
    meta=lambda raws, params: hollow(cpu.fold.image_shape(raws[0].shape, params), raws[0].dtype),
    samples=samples(
        real, [((2, 18, 6),)], output_size=[(5, 4)], kernel_size=[(2, 3)], dilation=[(1, 1)], padding=[(1, 0)],
        stride=[(2, 1)],
    ),
)  # fmt: skip
def col2im(
    xp: Any, input: Array, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    """Columns added up into an image: the transpose of `im2col`."""
    return xp.fold.col2im(input, output_size, kernel_size, dilation, padding, stride)


im2col.vjp(
    input=lambda g, input_shape, kernel_size, dilation, padding, stride: col2im(
        g, tuple(input_shape[-2:]), kernel_size, dilation, padding, stride
    )
)
col2im.vjp(input=lambda g, kernel_size, dilation, padding, stride: im2col(g, kernel_size, dilation, padding, stride))


def _pair(value: Any, what: str, least: int) -> Ints:
    found = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(found) == 1:
        found = found * 2
    if len(found) != 2:
        raise RuntimeError(f"It is expected {what} equals to 2, but got size {len(found)}")
    if min(found) < least:
        kind = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{what} should be {kind}, but got {found}")
    return found


@composite(spelled="n")
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of an image as a column: (batch, channels * window, windows)."""
    sizes = (
        _pair(kernel_size, "kernel_size", 1), _pair(dilation, "dilation", 1), _pair(padding, "padding", 0),
        _pair(stride, "stride", 1),
    )  # fmt: skip
    if input.ndim not in (3, 4) or 0 in input.shape[1 if input.ndim == 4 else 0 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    return im2col.public(input, *sizes)  # type: ignore[no-any-return]


@composite(spelled="n")
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns added up into images."""
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    size, kernel = _pair(output_size, "output_size", 1), _pair(kernel_size, "kernel_size", 1)
    dilation, padding = _pair(dilation, "dilation", 1), _pair(padding, "padding", 0)
    stride = _pair(stride, "stride", 1)
    _check_columns(input, size, kernel, dilation, padding, stride)
    return col2im.public(input, size, kernel, dilation, padding, stride)  # type: ignore[no-any-return]


def _check_columns(input: Any, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    area = kernel[0] * kernel[1]
    if input.shape[-2] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[-2]} and kernel_size={kernel}."
        )
    blocks = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    if blocks[0] * blocks[1] != input.shape[-1]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {blocks[0]} * "
            f"{blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={input.shape[-1]}."
        )
