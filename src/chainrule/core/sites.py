"""Where in the user's program something happened: (code object, last instruction), 0.1 us to take, text only on demand."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

__all__ = ["INSIDE", "describe", "here_in_user_code", "line_of"]

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
