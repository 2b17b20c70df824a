"""What a `GradScaler` computes: gradients without their scale, whether one overflowed, and the next scale."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.grad_mode import no_grad
from chainrule.core.family import call
from chainrule.core.public import spell
from chainrule.core.tensor import Tensor

__all__ = ["unscale", "update_scale"]


def unscale(self: Any, found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients, in place, by one number; `found_inf` becomes 1 if an element is not finite."""
    for each in (found_inf, inv_scale):
        if each.numel() != 1:
            raise RuntimeError(f"{'found_inf' if each is found_inf else 'inv_scale'} must be a 1-element tensor.")
    with no_grad():
        for g in self:
            if not bool(call("isfinite", g).all()):
                found_inf.fill_(1.0)
            factor = inv_scale.item()
            if factor != 1.0:
                g.copy_(g.to(found_inf.dtype) * factor if g.dtype.itemsize < 4 else g * factor)


def update_scale(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Less, in place, after an overflow; more after `growth_interval` steps without one, unless that overflows."""
    with no_grad():
        if found_inf.item():
            self.mul_(scale_backoff_factor)
            growth_tracker.zero_()
            return self
        steps = int(growth_tracker.item()) + 1
        if steps == growth_interval:
            grown = self * scale_growth_factor
            if bool(call("isfinite", grown).all()):
                self.copy_(grown)
            steps = 0
        growth_tracker.fill_(steps)
    return self


spell("_amp_foreach_non_finite_check_and_unscale_", unscale, "f")
spell("_amp_update_scale_", update_scale, "f")
