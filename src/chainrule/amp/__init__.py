"""PyTorch's `torch.amp`: training with 16-bit floats. Loss scaling is here; there is no autocast."""

from __future__ import annotations

from chainrule.amp import grad_scaler
from chainrule.optim.grad_scaler import GradScaler

__all__ = ["GradScaler", "grad_scaler"]
