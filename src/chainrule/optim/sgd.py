"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.optim.optimizer import Formula, number

__all__ = ["SGD"]


class SGD(Formula):
    """Against the gradient, with momentum if asked."""

    takes_sparse = "whole"

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr, foreach)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if number(weight_decay) < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_speed_hints(foreach, fused, differentiable)
        super().__init__(
            params,
            dict(
                lr=lr,
                momentum=momentum,
                dampening=dampening,
                weight_decay=weight_decay,
                nesterov=nesterov,
                maximize=maximize,
                foreach=foreach,
                differentiable=differentiable,
                fused=fused,
            ),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (
                ("nesterov", False),
                ("maximize", False),
                ("foreach", None),
                ("differentiable", False),
                ("fused", False),
            ):
                group.setdefault(name, value)

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": None} if group["momentum"] != 0 else {}

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        decay, momentum = number(group["weight_decay"]), group["momentum"]
        if decay != 0:
            g = g + p * decay
        if momentum != 0:
            buffer = s.get("momentum_buffer")
            if buffer is None:
                buffer = s["momentum_buffer"] = call("clone", g)
            else:
                buffer *= momentum
                buffer += g * (1 - group["dampening"])
            g = g + buffer * momentum if group["nesterov"] else buffer
        p -= g * number(group["lr"])


def check_rate(lr: Any, foreach: Any = None, capturable: bool = True) -> None:
    """A learning rate is not negative, and if it is a tensor it has one element."""
    if isinstance(lr, Tensor):
        if foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.raw.size != 1:
            raise ValueError("Tensor lr must be 1-element")
    if number(lr) < 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_speed_hints(foreach: Any, fused: Any, differentiable: bool) -> None:
    """`foreach` and `fused` say how to go fast; they change no result here."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
