"""Adagrad: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.optim.optimizer import Formula, counted, counter, number
from chainrule.optim.sgd import check_rate, check_speed_hints

__all__ = ["Adagrad"]


class Adagrad(Formula):
    """The learning rate falls as 1 / (1 + lr_decay * steps). A sparse gradient changes only what it names."""

    takes_sparse = "rows"

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        named = (
            ("lr_decay", lr_decay), ("weight_decay", weight_decay),
            ("initial_accumulator_value", initial_accumulator_value), ("epsilon", eps),
        )  # fmt: skip
        for name, value in named:
            if not 0.0 <= value:
                raise ValueError(f"Invalid {name} value: {value}")
        check_speed_hints(foreach, fused, differentiable)
        super().__init__(
            params,
            dict(
                lr=lr,
                lr_decay=lr_decay,
                eps=eps,
                weight_decay=weight_decay,
                initial_accumulator_value=initial_accumulator_value,
                foreach=foreach,
                maximize=maximize,
                differentiable=differentiable,
                fused=fused,
            ),
        )
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self.begin(p, group)

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        value = complex(start, start) if p.dtype.is_complex else start
        return {"step": counter(), "sum": names.full_like(p, value).detach()}

    def share_memory(self) -> None:
        """Put the state into memory that processes share."""
        raise NotImplementedError("Adagrad.share_memory: tensors are not shared between processes")

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        step = counted(s)
        if group["weight_decay"] != 0:
            g = g + p * group["weight_decay"]
        total = s["sum"]
        total += g * g
        p -= g / (call("sqrt", total) + group["eps"]) * (number(group["lr"]) / (1 + (step - 1) * group["lr_decay"]))
