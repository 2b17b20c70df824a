"""Tensors that a module knows by name: parameters are trained, buffers are state."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.function_protocol import disabled
from chainrule.core.tensor import LEAF, PLAIN, Extra, Store, Tensor

__all__ = ["Buffer", "Parameter"]


class _ByMark(type):
    """A tensor of another class counts as an instance if it carries the class's mark."""

    _mark: str

    def __instancecheck__(cls, value: Any) -> bool:
        mark: str = cls._mark
        return super().__instancecheck__(value) or (isinstance(value, Tensor) and getattr(value, mark, False))


def _alias(cls: type[Tensor], data: Tensor | None) -> Tensor:
    """A tensor of class `cls` over the memory of `data`, with no history."""
    t = object.__new__(cls)
    t.edge = t.viewed = t.extra = t.cut = t.store = None
    if data is None:
        t.raw = np.empty(0, np.float32)
        return t
    t.raw = data.raw
    if data.store is None:
        data.store = Store()
    t.store = data.store
    return t


class Parameter(Tensor, metaclass=_ByMark):
    """A tensor that is trained: assigned to a module's attribute it joins `module.parameters()`."""

    __slots__ = ()
    _mark = "_is_param"
    __torch_function__: Any = disabled

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is not None and data.__class__ not in PLAIN:
            return _marked(data, requires_grad)
        t = _alias(cls, data)
        t.requires_grad = requires_grad
        return t

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None: ...

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = self.__dict__ or None
        return _rebuilt, (type(self), self.raw, self.requires_grad, state)


def _marked(data: Any, requires_grad: bool) -> Any:
    """A parameter out of a tensor of the user's own class: the same class, marked."""
    if not isinstance(data, Tensor):
        raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
    t: Any = data.detach().requires_grad_(requires_grad)
    if type(t) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(t).__name__} was found instead."
        )
    t._is_param = True  # type: ignore[attr-defined]
    return t


def _rebuilt(cls: Any, raw: Any, requires_grad: bool, state: dict[str, Any] | None) -> Any:
    t: Any = _alias(cls, None)
    t.raw = raw
    if requires_grad:
        t.edge, t.extra = LEAF, Extra()
    if state:
        t.__dict__.update(state)
    return t


class Buffer(Tensor, metaclass=_ByMark):
    """A tensor that is part of a module's state without being trained: as an attribute it joins `buffers()`."""

    __slots__ = ()
    _mark = "_is_buffer"
    __torch_function__: Any = disabled

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        t: Any = _alias(Tensor, data) if data is None or data.__class__ in PLAIN else data.detach()
        t.requires_grad = data is not None and data.requires_grad
        t.persistent, t._is_buffer = persistent, True
        return t


PLAIN.add(Parameter)
