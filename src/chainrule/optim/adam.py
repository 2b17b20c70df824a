"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.optim.optimizer import Formula, counted, counter, number, unsupported
from chainrule.optim.sgd import check_rate, check_speed_hints

__all__ = ["Adam", "AdamW"]


class Adam(Formula):
    """Weight decay joins the gradient, or with `decoupled_weight_decay` shrinks the parameter."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr, foreach, capturable)
        check_betas(betas, eps, weight_decay)
        check_speed_hints(foreach, fused, differentiable)
        unsupported(type(self).__name__, capturable=capturable)
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                amsgrad=amsgrad,
                maximize=maximize,
                foreach=foreach,
                capturable=capturable,
                differentiable=differentiable,
                fused=fused,
                decoupled_weight_decay=decoupled_weight_decay,
            ),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        defaults = dict(
            amsgrad=False, maximize=False, foreach=None, capturable=False, differentiable=False,
            decoupled_weight_decay=False, fused=None,
        )  # fmt: skip
        for group in self.param_groups:
            for name, value in defaults.items():
                group.setdefault(name, value)
            for p in group["params"]:
                held = self.state.get(p, {})
                if held and not isinstance(held["step"], Tensor):
                    held["step"] = names.tensor(float(held["step"]))

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": counter(), "exp_avg": names.zeros_like(p), "exp_avg_sq": names.zeros_like(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = names.zeros_like(p)
        return {k: v.detach() for k, v in state.items()}

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"]), map(number, group["betas"])
        decay, step = group["weight_decay"], counted(s)
        if decay != 0 and group["decoupled_weight_decay"]:
            p *= 1 - lr * decay
        elif decay != 0:
            g = g + p * decay
        mean, square = s["exp_avg"], s["exp_avg_sq"]
        mean += (g - mean) * (1 - beta1)
        square *= beta2
        square += g * g * (1 - beta2)
        if group["amsgrad"]:
            square = s["max_exp_avg_sq"] = call("maximum", s["max_exp_avg_sq"], square)
        scale = call("sqrt", square) / math.sqrt(1 - beta2**step) + group["eps"]
        p -= mean / scale * (lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def check_betas(betas: Any, eps: float, weight_decay: float) -> None:
    """Averages forget, and nothing is negative."""
    if not 0.0 <= eps:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for index, beta in enumerate(betas):
        if not 0.0 <= number(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    if not 0.0 <= weight_decay:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
