"""PyTorch's `torch.amp.grad_scaler`."""

from __future__ import annotations

from chainrule.optim.grad_scaler import GradScaler, OptState
from chainrule.optim.grad_scaler import _refresh_per_optimizer_state as _refresh_per_optimizer_state

__all__ = ["GradScaler", "OptState"]
