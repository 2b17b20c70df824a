"""Expressions read off straight-line functions, so that generated code holds them in place of a call.

`lambda g, other: g * other`, called with symbols, gives the text `(g * other)`. Only functions without branches, loops
and globals are read: called once with symbols, those cannot hide another way through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from opcode import opname
from typing import Any

import numpy as np

__all__ = ["expression", "in_steps", "ufunc_of"]

_HIDING = ("JUMP", "GLOBAL", "DEREF", "YIELD", "ITER", "SEND", "IMPORT", "STORE_SUBSCR", "STORE_ATTR", "DELETE")
_CONSTANTS = (int, float, str, type(None), type(...))


class _Symbol:
    """A value that only writes down what is asked of it: as text, and an arithmetic operation also as its parts."""

    def __init__(self, text: str, *parts: Any) -> None:
        self.text, self.parts = text, parts  # parts: (ufunc's name, operands...), or nothing

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


_UFUNCS = {"+": "add", "-": "subtract", "*": "multiply", "/": "true_divide"}


def _binary(mark: str) -> Callable[[Any, Any], _Symbol]:
    def operation(a: Any, b: Any) -> _Symbol:
        parts = (_UFUNCS[mark], a, b) if mark in _UFUNCS else ()
        return _Symbol(f"({_text(a)} {mark} {_text(b)})", *parts)

    return operation


def _reflected(operation: Callable[[Any, Any], _Symbol]) -> Callable[[Any, Any], _Symbol]:
    return lambda a, b: operation(b, a)


for _name, _mark in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    setattr(_Symbol, f"__{_name}__", _binary(_mark))
    setattr(_Symbol, f"__r{_name}__", _reflected(_binary(_mark)))
setattr(_Symbol, "__neg__", lambda a: _Symbol(f"(-{_text(a)})", "negative", a))  # noqa: B010


def _refuse(a: Any, b: Any) -> Any:
    raise TypeError("symbols cannot be compared")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Symbol, f"__{_name}__", _refuse)


def expression(fn: Callable[..., Any], names: Sequence[str]) -> str | None:
    """The text of what `fn` computes from its arguments, called `names`; None if it is no mere expression."""
    found = _read(fn, names)
    return None if found is None else found.text


def _read(fn: Callable[..., Any], names: Sequence[str]) -> _Symbol | None:
    code = fn.__code__
    ops = [opname[op] for op in code.co_code[::2]]
    if code.co_flags & _STARRED or len(names) != code.co_argcount or any(h in op for op in ops for h in _HIDING):
        return None
    return _asked(fn, names, {})


def in_steps(
    fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str]
) -> tuple[list[str], dict[str, float]] | None:
    """What `fn` computes as calls of ufuncs, each of which writes into an array that an earlier one made.

    The arguments called `arrays` are arrays of one shape and dtype. The last line returns; beside the lines stand the
    numbers they name. None where a single operation is enough, or `fn` is more than arithmetic of arrays and numbers.
    """
    found = _read(fn, names)
    if found is None or not any(isinstance(part, _Symbol) and part.parts for part in found.parts):
        return None
    steps = _Steps(arrays)
    try:
        result = steps.name_of(found)
    except TypeError:
        return None
    return [*steps.lines, f"return ({result},)"], steps.numbers


class _Steps:
    """Lines that compute an arithmetic expression, one operation each."""

    def __init__(self, arrays: Sequence[str]) -> None:
        self.arrays = arrays
        self.lines: list[str] = []
        self.numbers: dict[str, float] = {}
        self.made = 0

    def name_of(self, part: Any) -> str:
        """What an operand is called, after the lines that make it."""
        if not isinstance(part, _Symbol):
            name = f"k{len(self.numbers)}"
            self.numbers[name] = part
            return name
        if part.parts:
            return self._computed(*part.parts)
        if part.text not in self.arrays:
            raise TypeError(f"{part.text} is no array that is at hand")
        return part.text

    def _computed(self, ufunc: str, *operands: Any) -> str:
        names = [self.name_of(operand) for operand in operands]
        target = next((n for n in names if n.startswith("t_")), None)  # an array that nobody needs any more
        if target is not None:
            self.lines.append(f"{ufunc}({', '.join(names)}, {target})")
            return target
        target = f"t_{self.made}"
        self.made += 1
        self.lines.append(f"{target} = {ufunc}({', '.join(names)})")
        return target


_STARRED = 0x0C  # the flags of *args and **kwargs


def ufunc_of(fn: Callable[..., Any], names: Sequence[str], fixed: dict[str, Any]) -> str | None:
    """The ufunc, `xp.multiply`, that `fn` is, called with `xp`, `names` and its parameters as `fixed`; else None.

    Branches on parameters are taken as they fall; one on a symbol raises.
    """
    asked = _asked(fn, ("xp", *names), fixed)
    if asked is None:
        return None
    for mark, name in _UFUNCS.items():
        if asked.text == f"({f' {mark} '.join(names)})":
            return f"xp.{name}"
    name, _, args = asked.text.partition("(")
    found = getattr(np, name.removeprefix("xp."), None)
    return name if args == ", ".join(names) + ")" and isinstance(found, np.ufunc) else None


def _asked(fn: Callable[..., Any], names: Sequence[str], fixed: dict[str, Any]) -> _Symbol | None:
    try:
        result = fn(*map(_Symbol, names), **fixed)
    except Exception:
        return None
    return result if isinstance(result, _Symbol) else None
