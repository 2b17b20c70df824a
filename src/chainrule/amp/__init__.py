"""PyTorch's `torch.amp`: training with 16-bit floats, by autocast and loss scaling."""

from __future__ import annotations

from chainrule.amp import autocast_mode, grad_scaler
from chainrule.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from chainrule.optim.grad_scaler import GradScaler

__all__ = [
    "GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available",
]  # fmt: skip
