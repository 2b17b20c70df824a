"""Where in the user's program something happened: (code object, last instruction), 0.1 us; text only on demand."""

from __future__ import annotations

import linecache
import opcode
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

__all__ = [
    "INSIDE", "called_here", "describe", "frames_to_user", "here_in_user_code", "is_item_assignment", "line_of",
    "picture",
]  # fmt: skip

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _Inside(dict[str, bool]):
    """Does this file belong to the package? Remembered per file name."""

    def __missing__(self, filename: str) -> bool:
        inside = filename.startswith((_PACKAGE, "<chainrule"))
        self[filename] = inside
        return inside


INSIDE = _Inside()


def here_in_user_code() -> tuple[CodeType, int]:
    """The innermost frame outside the package."""
    frame: FrameType | None = sys._getframe(1)
    last = frame
    while frame is not None and INSIDE[frame.f_code.co_filename]:
        last, frame = frame, frame.f_back
    found = frame or last
    assert found is not None
    return found.f_code, found.f_lasti


def frames_to_user() -> int:
    """How many frames lie between the caller and the innermost one outside the package."""
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None and INSIDE[frame.f_code.co_filename]:
        frame, count = frame.f_back, count + 1
    return count


# ------------------------------------------------------------------------------------------------------ as text


def line_of(code: CodeType, lasti: int) -> int:
    """The line that the instruction at `lasti` belongs to."""
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def describe(code: CodeType | None, lasti: int) -> str:
    """`file.py:12 in f: y = x.exp()`."""
    if code is None:
        return "an unknown place"
    line = line_of(code, lasti)
    text = linecache.getline(code.co_filename, line).strip()
    place = f"{code.co_filename}:{line} in {code.co_name}"
    return f"{place}: {text}" if text else place


def picture(code: CodeType | None, lasti: int, pad: str = "      ") -> str:
    """`file.py:12, in f`, below it the line, and below that what of the line is meant:

    y = x.exp() + 1
        ^^^^^^^
    """
    if code is None:
        return "an unknown place"
    line = line_of(code, lasti)
    place = f"{code.co_filename}:{line}, in {code.co_qualname}"
    linecache.checkcache(code.co_filename)
    text = linecache.getline(code.co_filename, line).rstrip()
    shown = text.lstrip()
    if not shown:
        return place
    start, end = _columns(code, lasti, line, text)
    start, end = max(start - (len(text) - len(shown)), 0), end - (len(text) - len(shown))
    marks = "" if (start, end) == (0, len(shown)) or end <= start else f"\n{pad}{' ' * start}{'^' * (end - start)}"
    return f"{place}\n{pad}{shown}{marks}"


def _columns(code: CodeType, lasti: int, line: int, text: str) -> tuple[int, int]:
    """From where to where in its line an expression stands, as far as this Python knows."""
    first, last, start, end = next(islice(code.co_positions(), lasti // 2, None), (None,) * 4)
    if first != line or start is None or end is None:
        return 0, 0
    raw = text.encode()  # columns count bytes
    start = len(raw[:start].decode(errors="replace"))
    return start, len(text) if last != first else len(raw[:end].decode(errors="replace"))


def is_item_assignment(code: CodeType | None, lasti: int) -> bool:
    """Does the instruction say `x[...] = y`?"""
    return code is not None and code.co_code[lasti : lasti + 1] == bytes([opcode.opmap["STORE_SUBSCR"]])


# ------------------------------------------------------------------------------------------------------ as a name

_FRAMES = 20  # how many calls outwards a name is looked for


def called_here(is_it: Callable[[Any], bool]) -> str | None:
    """What the running program calls a value: a variable, else `model.weight`, `losses[2]`; None if nothing."""
    scopes = list(_scopes())
    for scope in scopes:
        for name, value in scope.items():
            if is_it(value):
                return name
    for scope in scopes:
        for name, value in scope.items():
            for place, part in _parts(name, value):
                if is_it(part):
                    return place
    return None


def _scopes() -> Iterator[dict[str, Any]]:
    """The variables of the user's frames, innermost first, then of the innermost one's module."""
    frame: FrameType | None = sys._getframe(1)
    shared: dict[str, Any] | None = None
    count = 0
    while frame is not None and count < _FRAMES:
        if not INSIDE[frame.f_code.co_filename]:
            count += 1
            shared = frame.f_globals if shared is None else shared
            yield {n: v for n, v in frame.f_locals.items() if not n.startswith("_")}
        frame = frame.f_back
    if shared is not None:
        yield {n: v for n, v in shared.items() if not n.startswith("_")}


_OPAQUE = (type, ModuleType, FunctionType, MethodType, str, bytes, int, float, complex)
_MANY = 1000  # longer lists are not searched


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What lies one step inside a value, and how one writes that."""
    if isinstance(value, _OPAQUE):
        return
    try:
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}[{at}]", part) for at, part in enumerate(value[:_MANY]))
        elif isinstance(value, dict):
            yield from ((f"{name}[{key!r}]", part) for key, part in islice(value.items(), _MANY))
        elif hasattr(type(value), "named_parameters"):
            yield from ((f"{name}.{place}", part) for place, part in value.named_parameters())
            yield from ((f"{name}.{place}", part) for place, part in value.named_buffers())
        yield from ((f"{name}.{place}", part) for place, part in islice(getattr(value, "__dict__", {}).items(), _MANY))
    except Exception:  # a user's object that does not like to be looked at: then it has no name
        return
