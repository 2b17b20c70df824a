"""`__torch_function__`: how subclasses and modes take part in a call.

A call asks the innermost mode first, then the classes of its arguments, the most derived first. Whoever answers does so
in the call's place. The default answer, of a subclass that defines none, computes as for plain tensors and gives the
result the subclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.ambient import DEFAULT, here, put, swapped
from chainrule.core.dispatch_protocol import meet
from chainrule.core.tensor import PLAIN, Tensor

__all__ = [
    "AUTOCASTS", "KEEPS_CLASS", "PASSES", "convert", "default", "disabled", "first_asked", "given", "overridden",
    "override", "overriders", "retyped", "takes_part",
]  # fmt: skip


def _as_plain(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that want none: run the function as if they were plain."""
    before = here()
    put(_UNASKED if before is DEFAULT else before.but(functions_off=max(1, before.functions_off)))
    try:
        return func(*args, **(kwargs or {}))
    finally:
        put(before)


_UNASKED = DEFAULT.but(functions_off=1)
disabled: Any = staticmethod(_as_plain)  # stands in a class as it is: it needs no class to be called with


def default(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of subclasses that define none: the result takes the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    return _as_plain(_converted, types, (func, args, kwargs or {}, cls))


def _converted(func: Callable[..., Any], args: Any, kwargs: dict[str, Any], cls: type) -> Any:
    result = func(*args, **kwargs)
    return result if func in KEEPS_CLASS else convert(result, cls)


KEEPS_CLASS: set[Any] = set()  # what gives tensors that were there before, of whatever class: reading `grad`, `_base`


def convert(result: Any, cls: Any) -> Any:
    """The tensors of a result, as a subclass."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [convert(r, cls) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def retyped(t: Tensor, cls: type) -> Any:
    """The same tensor as an object of another class."""
    made: Any = object.__new__(cls)
    if cls not in PLAIN:
        meet(cls)
    made.raw, made.edge, made.store = t.raw, t.edge, t.store
    made.viewed, made.extra, made.cut = t.viewed, t.extra, t.cut
    return made


def takes_part(kind: type) -> bool:
    """Does this class override functions?"""
    own = getattr(kind, "__torch_function__", None)
    if own is None or kind in PLAIN:
        return False
    return own is not _as_plain


def overriders(values: Any) -> list[Any]:
    """The values whose class overrides `__torch_function__`, most derived first, one per class."""
    found: list[Any] = []
    for value in values:
        kind = value.__class__
        if kind in PLAIN or not takes_part(type(value)) or any(type(f) is type(value) for f in found):
            continue
        at = next((i for i, f in enumerate(found) if issubclass(type(value), type(f))), len(found))
        found.insert(at, value)
    return found


def given(params: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The parameters that differ from their defaults: what the caller may have written."""
    return {k: v for k, v in params.items() if k not in defaults or v is not defaults[k]}


def overridden(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> tuple[bool, Any]:
    """Ask modes, then subclasses, whether they answer the call of an op: (answered, result)."""
    args, kwargs = _as_written(op, inputs, params)
    if out is not None:
        kwargs["out"] = out
    return override(op.fn.public, inputs, args, kwargs, here())


def _as_written(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments as a caller would write them: required ones by position, others by name, defaults left out."""
    base = getattr(op, "base", op)  # an in-place form has the parameters of its op
    named = given({**dict(zip(op.inputs, inputs)), **params} if not op.variadic else params, base.defaults)
    if op.variadic:
        return (inputs,), named
    args = []
    for name in op.params[: base.keyword_from]:
        if name not in named or (name in base.defaults and name not in op.inputs):
            break
        args.append(named.pop(name))
    return tuple(args), named


def override(func: Any, values: Any, args: Any, kwargs: dict[str, Any], state: Any) -> tuple[bool, Any]:
    """The same for any public function: `values` are the arguments that may override. Autocast has the last word."""
    if state.functions_off < 2:
        done, result = _asked(func, values, args, kwargs, state)
        if done:
            return True, result
    return (False, None) if state.autocast is None else AUTOCASTS[0](func, args, kwargs, state.autocast)


def first_asked(func: Any, *args: Any) -> Any:
    """Use an attribute of a tensor, the first of `args`: its class and modes are asked before."""
    state = here()
    if state.functions_off < 2:
        done, result = _asked(func, args[:1], args, None, state, type(args[0]))
        if done:
            return result
    return func(*args)


PASSES: list[Callable[[], bool]] = []  # is a backward pass computing? It is no user's code: nobody is asked
AUTOCASTS: list[Callable[..., tuple[bool, Any]]] = []  # ops.autocast puts its function here


def _asked(
    func: Any, values: Any, args: Any, kwargs: dict[str, Any] | None, state: Any, kind: type | None = None
) -> tuple[bool, Any]:
    """`kind`: the one class to name to whoever is asked, whether it takes part or not."""
    found: list[Any] = []
    if state.functions_off == 0:
        found = overriders(values)
    if (found or state.modes) and any([computes() for computes in PASSES]):
        return False, None
    types = tuple([type(v) for v in found]) if kind is None else (kind,)
    if state.modes:
        with swapped(modes=state.modes[:-1]):
            result = state.modes[-1].__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return True, result
    for value in found:
        result = value.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return True, result
    if found or state.modes:
        _nobody(func, types, state.modes)
    return False, None


def _nobody(func: Any, types: tuple[type, ...], modes: tuple[Any, ...]) -> None:
    asked = "".join(f"  - tensor subclass {t}\n" for t in types)
    mode = f"  - mode object {modes[-1]!r}\n" if modes else ""
    raise TypeError(
        f"Multiple dispatch failed for '{_title(func)}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"{mode}{asked}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _title(func: Any) -> str:
    return f"torch.{getattr(func, '__name__', func)}"
