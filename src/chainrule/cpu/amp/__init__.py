"""PyTorch's `torch.cpu.amp`: older names."""

from __future__ import annotations

from typing import Any

from chainrule.amp import autocast_mode
from chainrule.core.dtype import bfloat16
from chainrule.core.notices import warn
from chainrule.optim import grad_scaler

__all__ = ["GradScaler", "autocast"]


class GradScaler(grad_scaler.GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. "
            "Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", *args, **named)


class autocast(autocast_mode.autocast):
    """`torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
