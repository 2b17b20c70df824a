"""PyTorch's `torch.cpu.amp`: older names."""

from __future__ import annotations

from typing import Any

from chainrule.core.notices import warn
from chainrule.optim import grad_scaler

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. "
            "Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", *args, **named)
