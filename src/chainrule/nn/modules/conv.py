"""Convolutions with learned kernels."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.tensor import Tensor
from chainrule.nn import functional as F
from chainrule.nn import init
from chainrule.nn.modules.module import Module
from chainrule.nn.modules.utils import ntuple, reversed_padding
from chainrule.nn.parameter import Parameter
from chainrule.ops import names

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]  # fmt: skip

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_arguments(in_channels, out_channels, groups, stride, padding, padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding, self.padding_mode = transposed, output_padding, padding_mode
        self._reversed_padding_repeated_twice = self._full_padding()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(names.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(names.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _full_padding(self) -> list[int]:
        """The padding as `functional.pad` takes it; "same" adds the odd one at the end."""
        if not isinstance(self.padding, str):
            return reversed_padding(self.padding)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        both = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        return [side for total in reversed(both) for side in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draw weights and bias uniformly within 1 / sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        rank = len(self.kernel_size)
        if self.padding != (0,) * rank:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * rank:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * rank:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"

    def _around(self, input: Tensor) -> Tensor:
        """The input with its border, where the border is not zeros."""
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)  # type: ignore[no-any-return]


def _check_arguments(
    in_channels: int, out_channels: int, groups: int, stride: tuple[int, ...], padding: Any, padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


class _Forward(_ConvNd):
    """What the three forward convolutions share; `_rank` axes of space."""

    _rank: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._rank
        super().__init__(
            in_channels, out_channels, ntuple(kernel_size, n), ntuple(stride, n),
            padding if isinstance(padding, str) else ntuple(padding, n), ntuple(dilation, n), False, (0,) * n, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        conv = _CONV[self._rank]
        if self.padding_mode != "zeros":
            return conv(self._around(input), weight, bias, self.stride, 0, self.dilation, self.groups)  # type: ignore[no-any-return]
        return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)  # type: ignore[no-any-return]

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class Conv1d(_Forward):
    """Over sequences (batch, channels, length)."""

    _rank = 1


class Conv2d(_Forward):
    """Over images (batch, channels, height, width)."""

    _rank = 2


class Conv3d(_Forward):
    """Over volumes (batch, channels, depth, height, width)."""

    _rank = 3


class _ConvTransposeNd(_ConvNd):
    """What the three transposed convolutions share."""

    _rank: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._rank
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, ntuple(kernel_size, n), ntuple(stride, n), ntuple(padding, n),
            ntuple(dilation, n), True, ntuple(output_padding, n), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> Any:
        """The output padding that gives this output size."""
        if output_size is None:
            return self.output_padding
        n = self._rank
        lead = input.ndim - n
        sizes = list(output_size)
        if len(sizes) == lead + n:
            sizes = sizes[lead:]
        if len(sizes) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {lead + n} elements "
                f"(got {len(sizes)})"
            )
        low = [
            (input.shape[lead + i] - 1) * s - 2 * p + d * (k - 1) + 1  # type: ignore[operator]
            for i, (s, p, d, k) in enumerate(zip(self.stride, self.padding, self.dilation, self.kernel_size))
        ]
        high = [m + s - 1 for m, s in zip(low, self.stride)]
        if any(not (m <= size <= M) for size, m, M in zip(sizes, low, high)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to {high} "
                f"(for an input of {input.shape[2:]})"
            )
        return tuple(size - m for size, m in zip(sizes, low))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return _CONV_TRANSPOSE[self._rank](  # type: ignore[no-any-return]
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`."""

    _rank = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`."""

    _rank = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`."""

    _rank = 3
