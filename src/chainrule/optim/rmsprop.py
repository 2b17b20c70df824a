"""RMSprop: steps scaled by a running average of the squared gradient."""

from __future__ import annotations

from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.optim.optimizer import Formula, counted, counter, number, unsupported
from chainrule.optim.sgd import check_rate

__all__ = ["RMSprop"]


class RMSprop(Formula):
    """`centered` takes the gradient's mean out of its square first."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for name, value in (("momentum", momentum), ("weight_decay", weight_decay), ("alpha", alpha)):
            if not 0.0 <= value:
                raise ValueError(f"Invalid {name} value: {value}")
        unsupported("RMSprop", capturable=capturable)
        super().__init__(
            params,
            dict(
                lr=lr,
                momentum=momentum,
                alpha=alpha,
                eps=eps,
                centered=centered,
                weight_decay=weight_decay,
                capturable=capturable,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
            ),
        )

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        kept = ["square_avg"]
        kept += ["momentum_buffer"] if group["momentum"] > 0 else []
        kept += ["grad_avg"] if group["centered"] else []
        return {"step": counter(), **{k: names.zeros_like(p).detach() for k in kept}}

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        lr, alpha = number(group["lr"]), group["alpha"]
        counted(s)
        if group["weight_decay"] != 0:
            g = g + p * group["weight_decay"]
        square = s["square_avg"]
        square *= alpha
        square += g * g * (1 - alpha)
        if group["centered"]:
            mean = s["grad_avg"]
            mean += (g - mean) * (1 - alpha)
            square = square - mean * mean
        scale = call("sqrt", square) + group["eps"]
        if group["momentum"] > 0:
            buffer = s["momentum_buffer"]
            buffer *= group["momentum"]
            buffer += g / scale
            p -= buffer * lr
        else:
            p -= g / scale * lr
