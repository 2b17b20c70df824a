"""A program is a function of the package; run on both, it must tell the same story.

What it returns is compared: values, names of nodes, orders of events, and for what it raises the type and the first
words of the message.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

__all__ = ["Program", "caught", "graph", "part", "told"]

Program = Callable[[Any], Any]


def part(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


def told(t: Any, value: Any) -> Any:
    if isinstance(value, t.Tensor):
        return ("tensor", [f"{float(v):.5g}" for v in value.detach().reshape(-1)], tuple(value.shape))
    if isinstance(value, (tuple, list)):
        return [told(t, v) for v in value]
    if isinstance(value, dict):
        return {k: told(t, v) for k, v in value.items()}
    return value


def caught(fn: Callable[[], Any]) -> str:
    """The error of a call: its builtin type and its first sentence, numbers of objects left out."""
    try:
        fn()
    except Exception as error:
        kind = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
        first = re.split(r"[.!](?:\s|$)|Hint|\n", str(error))[0].strip()
        return f"{kind}: {first}"
    return "nothing"


def graph(node: Any) -> str:
    return "None" if node is None else f"{node.name()}({', '.join(graph(n) for n, _ in node.next_functions)})"
