"""`__torch_dispatch__`: how modes and subclasses answer ops below autograd.

An op that is about to be computed asks the innermost mode first, then the classes of its tensors, the most derived
first. Whoever answers gives the result in its place; autograd above records as if it had been computed. The answer is
worked out with nothing recorded and the mode that answers gone, so that it may call the op itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chainrule.core.ambient import here, swapped
from chainrule.core.tensor import WRAPPERS, Tensor

__all__ = ["ask", "disabled", "meet"]


def disabled(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_dispatch__` of classes that want none: the op as on plain tensors."""
    raise TypeError(f"{cls.__name__} has no __torch_dispatch__ of its own to answer {func}")


def meet(kind: Any) -> None:
    """A tensor of a user's class is being made: take note if it answers ops."""
    own = getattr(kind, "__torch_dispatch__", None)
    if own is not None and getattr(own, "__func__", own) is not disabled:
        WRAPPERS.add(kind)


def _tensors(values: Any) -> Iterator[Tensor]:
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, (tuple, list)):
            yield from _tensors(v)


def _answering(values: Any) -> list[Tensor]:
    """The tensors whose classes answer, one of each class, the most derived first."""
    found: list[Tensor] = []
    for t in _tensors(values):
        if type(t) in WRAPPERS and all(type(f) is not type(t) for f in found):
            at = next((i for i, f in enumerate(found) if issubclass(type(t), type(f))), len(found))
            found.insert(at, t)
    return found


def ask(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The answer to one op: of the innermost mode, else of a class among the arguments."""
    state = here()
    found = _answering((*args, *kwargs.values()))
    types = tuple([type(t) for t in found])
    with swapped(grad=False, forward_grad=False, hooks=(), dispatch=state.dispatch[:-1]):
        if state.dispatch:
            result = state.dispatch[-1].__torch_dispatch__(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    with swapped(grad=False, forward_grad=False, hooks=(), dispatch=()):
        for t in found:
            result = t.__torch_dispatch__(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    asked = "".join(f"  - tensor subclass {t}\n" for t in types)
    mode = f"  - mode object {state.dispatch[-1]!r}\n" if state.dispatch else ""
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        f"{mode}{asked}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )
