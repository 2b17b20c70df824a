"""PyTorch's `torch._ops`: ops by their names, and operators whose rules are Python functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from chainrule._C import DispatchKey
from chainrule._C._functorch import TransformType, peek_interpreter_stack
from chainrule.autograd.overloads import OpOverload, OpOverloadPacket
from chainrule.core.ambient import here, swapped
from chainrule.core.tensor import Tensor
from chainrule.core.tree import tree_flatten

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]

Rule = Callable[..., Any]


class HigherOrderOperator(ABC):
    """An operator whose arguments may be functions: each transform, mode and device has a rule for it, or it refuses.

    A transform's rule is given the interpreter, a mode's rule the mode, before the arguments.
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if cacheable:
            raise NotImplementedError("HigherOrderOperator: cacheable=True: there is no cache of fake tensors")
        self._name = self.__name__ = name
        self.rules: dict[Any, Rule] = {}

    @property
    def namespace(self) -> str:
        """Where PyTorch lists it: `torch.ops.higher_order`."""
        return "higher_order"

    def name(self) -> str:
        """The name it was given."""
        return self._name

    def py_impl(self, key: Any) -> Callable[[Rule], Rule]:
        """Register a rule: for a `TransformType`, a `DispatchKey`, a mode class or a tensor class."""
        if not isinstance(key, (TransformType, DispatchKey, type)):
            raise NotImplementedError(f"HigherOrderOperator.py_impl: key={key!r}")

        def registered(rule: Rule) -> Rule:
            if key in self.rules:
                raise RuntimeError(f"Trying to override a python impl for {key} on operator {self._name}")
            self.rules[key] = rule
            return rule

        return registered

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        interpreter = peek_interpreter_stack()
        if interpreter is not None:
            return self.rules[interpreter.key()](interpreter, *args, **kwargs)
        modes = here().dispatch
        if modes and type(modes[-1]) in self.rules:
            with swapped(dispatch=modes[:-1]):
                return self.rules[type(modes[-1])](modes[-1], *args, **kwargs)
        return self._answering(args, kwargs)(*args, **kwargs)

    def _answering(self, args: Any, kwargs: Any) -> Rule:
        """The rule of a tensor class among the arguments, or of the device's gradients."""
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        first = DispatchKey["Autograd" + {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}[kind]]
        keys: list[Any] = [*map(type, tensors), first, DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd]
        for key in keys:
            if key in self.rules:
                return self.rules[key]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key {first} "
            f"(resolved from {first})"
        )

    def __str__(self) -> str:
        return self._name
