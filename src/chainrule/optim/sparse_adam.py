"""Adam for sparse gradients: the averages of what a gradient does not name stay as they were."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.optim.optimizer import Formula, number

__all__ = ["SparseAdam"]


class SparseAdam(Formula):
    """Steps scaled by running averages, which only the elements that a gradient writes down move."""

    takes_sparse = "rows"

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.raw.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < number(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        self._refuse_params("Sparse", "requires dense parameter tensors", lambda p: p.is_sparse)
        self._refuse_params("Complex", "does not support complex parameters", lambda p: p.is_complex())

    def _refuse_params(self, kind: str, reason: str, is_wrong: Any) -> None:
        groups = enumerate(group["params"] for group in self.param_groups)
        wrong = [[at, index] for at, params in groups for index, p in enumerate(params) if is_wrong(p)]
        if wrong:
            raise ValueError(f"{kind} params at indices {wrong}: SparseAdam {reason}")

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": names.zeros_like(p).detach(), "exp_avg_sq": names.zeros_like(p).detach()}

    def _change_one(self, p: Any, group: dict[str, Any]) -> None:
        if p.grad is not None and not p.grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super()._change_one(p, group)

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        s["step"] += 1
        step, lr, (beta1, beta2) = s["step"], number(group["lr"]), group["betas"]
        mean, square = s["exp_avg"], s["exp_avg_sq"]
        mean += (g - mean) * (1 - beta1)
        square += (g * g - square) * (1 - beta2)
        scale = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p -= mean / (call("sqrt", square) + group["eps"]) * scale
