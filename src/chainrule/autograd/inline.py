"""Expressions read off straight-line functions, so that generated code holds them in place of a call.

`lambda g, other: g * other`, called with symbols, gives the text `(g * other)`. Only functions without branches, loops
and globals are read: called once with symbols, those cannot hide another way through. Where a formula is wanted and not
its text, a global may be an op: then its own forward is read in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dis import get_instructions
from functools import partial
from opcode import opname
from types import FunctionType
from typing import Any

import numpy as np

from chainrule.backends.cpu import masks

__all__ = ["STEPS", "Steps", "expression", "formula", "in_kernels", "in_steps", "ufunc_of"]

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
        texts = [*map(_text, args), *(f"{k}={_text(v)}" for k, v in named.items())]
        name = self.text.removeprefix("xp.").removeprefix("masks.")
        known = self.text.startswith("xp.") and name in STEPS and not named
        return _Symbol(f"{self.text}({', '.join(texts)})", *((name, *args) if known else ()))

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
_COMPARISONS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_TRANSCENDENTAL = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sqrt")
# What steps are made of, by name: ufuncs, and the two choices by a mask. Generated code calls them `np_add`, ...
STEPS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (*_UFUNCS.values(), "negative", *_COMPARISONS.values(), *_TRANSCENDENTAL)},
    "keep": masks.keep, "choose": masks.choose,
}  # fmt: skip
_OF_MACHINE = frozenset(STEPS) - frozenset(_TRANSCENDENTAL)  # what a kernel computes
_MASKS = frozenset(_COMPARISONS.values())
_UNWRITTEN = "\0"  # in the text of a comparison: of a tensor and a number it may be a branch, which has no text


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


def _comparison(mark: str) -> Callable[[Any, Any], _Symbol]:
    def operation(a: Any, b: Any) -> _Symbol:
        return _Symbol(f"{_UNWRITTEN}({_text(a)} {mark} {_text(b)})", _COMPARISONS[mark], a, b)

    return operation


for _name, _mark in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(_Symbol, f"__{_name}__", _comparison(_mark))


def expression(fn: Callable[..., Any], names: Sequence[str]) -> str | None:
    """The text of what `fn` computes from its arguments, called `names`; None if it is no mere expression."""
    found = _read(fn, names)
    return None if found is None or _UNWRITTEN in found.text else found.text


def _read(fn: Callable[..., Any], names: Sequence[str]) -> _Symbol | None:
    return _asked(fn, names, {}) if _straight(fn, len(names), ()) else None


def _read_deep(fn: Callable[..., Any], names: Sequence[str]) -> _Symbol | None:
    """The same, with ops that `fn` calls read in their turn."""
    try:
        result = _through(fn, *map(_Symbol, names))
    except Exception:
        return None
    return result if isinstance(result, _Symbol) else None


def _through(fn: Callable[..., Any], *symbols: Any) -> Any:
    asked = {i.argval for i in get_instructions(fn) if i.opname == "LOAD_GLOBAL"}
    ops: dict[str, Any] = {name: getattr(fn.__globals__.get(name), "op", None) for name in asked}
    if None in ops.values() or not _straight(fn, len(symbols), ("GLOBAL",)):
        raise TypeError("there may be another way through")
    scope = {name: partial(_through, op.forward, _Symbol("xp")) for name, op in ops.items()}
    return FunctionType(fn.__code__, scope)(*symbols)


def _straight(fn: Callable[..., Any], count: int, allowed: tuple[str, ...]) -> bool:
    """Does a function of `count` arguments have but one way through?"""
    code = fn.__code__
    hiding = [h for h in _HIDING if h not in allowed]
    ops = [opname[op] for op in code.co_code[::2]]
    return not (code.co_flags & _STARRED or count != code.co_argcount or any(h in op for op in ops for h in hiding))


def formula(
    fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str], fixed: dict[str, Any]
) -> tuple[Any, list[str]] | None:
    """What `fn` computes, if it is arithmetic of arrays and numbers: as a tree (`backends.cpu.machine.text`), and
    which of `arrays` its operands are, in their order. `fixed`: parameters that have one value."""
    found = _asked(fn, names, fixed) if fixed else _read_deep(fn, names)
    if found is None or not found.parts or found.parts[0] in _MASKS:
        return None
    used: list[str] = []
    try:
        return _tree(found, arrays, used), used
    except TypeError:
        return None


_MASK_AT = {"keep": 1, "choose": 0}  # which operand of a choice is its mask


def _computable(symbol: _Symbol) -> bool:
    """Can a kernel take this step? Masks live in kernels only as what a choice asks."""
    step, *operands = symbol.parts
    asked = [isinstance(o, _Symbol) and bool(o.parts) and o.parts[0] in _MASKS for o in operands]
    if step in _MASKS:
        return not any(asked)
    return step in _OF_MACHINE and asked == [at == _MASK_AT.get(step) for at in range(len(operands))]


def _tree(part: Any, arrays: Sequence[str], used: list[str]) -> Any:
    if not isinstance(part, _Symbol):
        if isinstance(part, (int, float)):
            return part
        raise TypeError(f"{part!r} is no number of a formula")
    if part.parts:
        if not _computable(part):
            raise TypeError(f"no kernel computes {part.text}")
        return (part.parts[0], *[_tree(operand, arrays, used) for operand in part.parts[1:]])
    if part.text not in arrays:
        raise TypeError(f"{part.text} is no array that is at hand")
    if part.text not in used:
        used.append(part.text)
    return ("x", used.index(part.text))


class Steps:
    """Lines that compute a formula, one call each, and what they name: numbers, and kernels where there are some."""

    def __init__(self, arrays: Sequence[str], fresh: str = "") -> None:
        self.arrays, self.fresh = arrays, fresh  # `fresh`: an argument of the calls that make an array
        self.lines: list[str] = []
        self.numbers: dict[str, float] = {}
        self.kernels: dict[str, Any] = {}
        self.result = ""
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

    def _computed(self, step: str, *operands: Any) -> str:
        return self.called(step, [self.name_of(operand) for operand in operands])

    def called(self, step: str, names: list[str]) -> str:
        """What a call's result is called; it goes into an array that nobody needs any more."""
        target = next((n for n in names if n.startswith("t_")), None)
        mask = step in _MASKS
        if target is not None and not mask and isinstance(STEPS.get(step), np.ufunc):
            self.lines.append(f"np_{step}({', '.join(names)}, {target})")
            return target
        made = f"{'m' if mask else 't'}_{self.made}"
        self.made += 1
        given = [*names, self.fresh] if self.fresh and isinstance(STEPS.get(step), np.ufunc) else names
        self.lines.append(f"{made} = {'np_' if step in STEPS else ''}{step}({', '.join(given)})")
        return made


class _KernelSteps(Steps):
    """The same with a kernel in place of all that one can compute at once."""

    def __init__(self, arrays: Sequence[str], kernel: Callable[[Any, int], Any]) -> None:
        super().__init__(arrays, "out=...")
        self.kernel = kernel

    def _computed(self, step: str, *operands: Any) -> str:
        whole = _Symbol(step, step, *operands)
        if step in _MASKS or not _computable(whole):
            return self.called(step, [self.name_of(operand) for operand in operands])
        used: list[str] = []
        tree = self._tree(whole, used)
        name = f"machine{len(self.kernels)}"
        self.kernels[name] = self.kernel(tree, len(used))
        return self.called(name, used)

    def _tree(self, part: Any, used: list[str]) -> Any:
        if not isinstance(part, _Symbol):
            return part
        if part.parts and _computable(part):
            return (part.parts[0], *[self._tree(operand, used) for operand in part.parts[1:]])
        name = self.name_of(part)
        if name not in used:
            used.append(name)
        return ("x", used.index(name))


def in_steps(fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str], fresh: str = "") -> Steps | None:
    """What `fn` computes as calls of ufuncs, each of which writes into an array that an earlier one made.

    The arguments called `arrays` are arrays of one shape and dtype. None where a single operation is enough, or `fn` is
    more than arithmetic, masks and functions of arrays and numbers; or needs a value twice, for which it has a name.
    """
    found = _read_deep(fn, names)
    if (
        found is None
        or _repeats(found, set())
        or not any(isinstance(part, _Symbol) and part.parts for part in found.parts)
    ):
        return None
    return _walked(found, Steps(arrays, fresh))


def _repeats(symbol: Any, seen: set[int]) -> bool:
    """Does one operation's result stand in two places?"""
    if not isinstance(symbol, _Symbol) or not symbol.parts:
        return False
    if id(symbol) in seen:
        return True
    seen.add(id(symbol))
    return any([_repeats(part, seen) for part in symbol.parts[1:]])


def in_kernels(
    fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str], kernel: Callable[[Any, int], Any]
) -> Steps | None:
    """The same in as few calls as there can be, where `kernel(formula, arity)` makes one of a formula."""
    found = _read_deep(fn, names)
    if found is None or not found.parts or _repeats(found, set()):
        return None
    return _walked(found, _KernelSteps(arrays, kernel))


def _walked(found: _Symbol, steps: Steps) -> Steps | None:
    try:
        steps.result = steps.name_of(found)
    except TypeError:
        return None
    return steps


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
