"""Expressions read off straight-line functions, so that generated code holds them in place of a call.

`lambda g, other: g * other`, called with symbols, gives the text `(g * other)`. Only functions without branches, loops
and globals are read: called once with symbols, those cannot hide another way through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from opcode import opname
from typing import Any

import numpy as np

__all__ = ["expression", "ufunc_of"]

_HIDING = ("JUMP", "GLOBAL", "DEREF", "YIELD", "ITER", "SEND", "IMPORT", "STORE_SUBSCR", "STORE_ATTR", "DELETE")
_CONSTANTS = (int, float, str, type(None), type(...))


class _Symbol:
    """A value that only writes down what is asked of it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __getattr__(self, name: str) -> _Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Symbol(f"{self.text}.{name}")

    def __call__(self, *args: Any, **named: Any) -> _Symbol:
        parts = [*map(_text, args), *(f"{k}={_text(v)}" for k, v in named.items())]
        return _Symbol(f"{self.text}({', '.join(parts)})")

    def __bool__(self) -> bool:
        raise TypeError("a symbol is neither true nor false")

    def __array__(self, *args: Any, **named: Any) -> Any:
        raise TypeError("a symbol has no elements")


def _text(value: Any) -> str:
    if isinstance(value, _Symbol):
        return value.text
    if not isinstance(value, _CONSTANTS):
        raise TypeError(f"{value!r} has no text")
    return "..." if value is ... else f"({value!r})"


def _binary(mark: str) -> Callable[[Any, Any], _Symbol]:
    return lambda a, b: _Symbol(f"({_text(a)} {mark} {_text(b)})")


def _reflected(mark: str) -> Callable[[Any, Any], _Symbol]:
    return lambda a, b: _Symbol(f"({_text(b)} {mark} {_text(a)})")


for _name, _mark in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    setattr(_Symbol, f"__{_name}__", _binary(_mark))
    setattr(_Symbol, f"__r{_name}__", _reflected(_mark))
setattr(_Symbol, "__neg__", lambda a: _Symbol(f"(-{_text(a)})"))  # noqa: B010


def _refuse(a: Any, b: Any) -> Any:
    raise TypeError("symbols cannot be compared")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Symbol, f"__{_name}__", _refuse)


def expression(fn: Callable[..., Any], names: Sequence[str]) -> str | None:
    """The text of what `fn` computes from its arguments, called `names`; None if it is no mere expression."""
    code = fn.__code__
    ops = [opname[op] for op in code.co_code[::2]]
    if code.co_flags & _STARRED or len(names) != code.co_argcount or any(h in op for op in ops for h in _HIDING):
        return None
    return _asked(fn, names, {})


_STARRED = 0x0C  # the flags of *args and **kwargs


def ufunc_of(fn: Callable[..., Any], names: Sequence[str], fixed: dict[str, Any]) -> str | None:
    """The ufunc, `xp.multiply`, that `fn` is, called with `xp`, `names` and its parameters as `fixed`; else None.

    Branches on parameters are taken as they fall; one on a symbol raises.
    """
    text = _asked(fn, ("xp", *names), fixed)
    if text is None:
        return None
    for mark, name in _UFUNCS.items():
        if text == f"({f' {mark} '.join(names)})":
            return f"xp.{name}"
    name, _, args = text.partition("(")
    found = getattr(np, name.removeprefix("xp."), None)
    return name if args == ", ".join(names) + ")" and isinstance(found, np.ufunc) else None


_UFUNCS = {"+": "add", "-": "subtract", "*": "multiply", "/": "true_divide"}


def _asked(fn: Callable[..., Any], names: Sequence[str], fixed: dict[str, Any]) -> str | None:
    try:
        result = fn(*map(_Symbol, names), **fixed)
    except Exception:
        return None
    return result.text if isinstance(result, _Symbol) else None
