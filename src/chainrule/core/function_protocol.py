"""`__torch_function__`: how subclasses and modes take part in a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.ambient import here, swapped
from chainrule.core.tensor import PLAIN, Tensor

__all__ = ["disabled", "overridden", "overriders"]


def disabled(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that want none: run the function as if they were plain."""
    with swapped(functions_off=1):
        return func(*args, **(kwargs or {}))


def overriders(values: Any) -> list[Any]:
    """The values whose class overrides `__torch_function__`, most derived first, one per class."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in PLAIN or not hasattr(kind, "__torch_function__") or any(type(f) is kind for f in found):
            continue
        own = kind.__torch_function__
        if getattr(own, "__func__", own) is getattr(Tensor.__dict__.get("__torch_function__"), "__func__", None) and not kind.__dict__.get("_subclassed", True):
            continue
        if own is disabled or getattr(own, "__func__", own) is disabled:
            continue
        at = next((i for i, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(at, value)
    return found


def overridden(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> tuple[bool, Any]:
    """Ask modes, then subclasses, whether they answer the call. (answered, result)."""
    state = here()
    func = op.fn.public
    args = (inputs,) if op.variadic else inputs
    kwargs = params if out is None else {**params, "out": out}
    if not op.variadic and op.params[: len(op.inputs)] != op.inputs:
        args, kwargs = (), {**dict(zip(op.inputs, inputs)), **kwargs}
    return override(func, inputs, args, kwargs, state)


def override(func: Any, values: Any, args: Any, kwargs: dict[str, Any], state: Any) -> tuple[bool, Any]:
    """The same for any public function: `values` are the arguments that may override."""
    if state.functions_off >= 2:
        return False, None
    if state.modes:
        mode = state.modes[-1]
        types = tuple(type(v) for v in overriders(values))
        with swapped(modes=state.modes[:-1]):
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return True, result
    if state.functions_off:
        return False, None
    found = overriders(values)
    types = tuple(type(v) for v in found)
    for value in found:
        result = type(value).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return True, result
    if found:
        raise TypeError(
            f"Multiple dispatch failed for '{getattr(func, '__name__', func)}'; all __torch_function__ handlers "
            f"returned NotImplemented:\n\n{''.join(f'  - tensor subclass {t}' for t in types)}\n\n"
            "For more information, try re-running with TORCH_LOGS=not_implemented"
        )
    return False, None
