"""`Variable`: what a tensor was once called. `isinstance(t, Variable)` holds for every tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.autograd.tasks import queue_callback
from chainrule.core.tensor import Tensor

__all__ = ["Variable"]


class _Engine:
    """The part of PyTorch's engine object that programs use."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Run `callback()` at the end of the current backward pass."""
        queue_callback(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Tensor, requires_grad: bool = False) -> Any:
        alias: Any = data.detach()
        return alias.requires_grad_() if requires_grad else alias


class Variable(metaclass=_VariableMeta):
    """A tensor. Calling it gives one that shares memory with `data` and has no history."""

    _execution_engine = _Engine()
