"""Borders as modules."""

from __future__ import annotations

from typing import Any

from chainrule.core.tensor import Tensor
from chainrule.nn import functional as F
from chainrule.nn.modules.module import Module
from chainrule.nn.modules.utils import ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """A border of `padding` elements on both sides of the last `_rank` axes, last axis first."""

    __constants__ = ["padding"]
    _rank: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """A border of one value."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Around sequences."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Around images."""

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Around volumes."""

    _rank = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros around sequences."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros around images."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros around volumes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """The input mirrored at its ends."""

    _rank, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The input mirrored at its edges."""

    _rank, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The input mirrored at its faces."""

    _rank, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The ends repeated."""

    _rank, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edges repeated."""

    _rank, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The faces repeated."""

    _rank, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The input as one period of a longer one."""

    _rank, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """The input as one tile of a larger one."""

    _rank, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """The input as one cell of a larger one."""

    _rank, _mode = 3, "circular"
