"""What PyTorch's references are wrapped in; ops take `out=` themselves, so here nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__: list[str] = []


def _maybe_remove_out_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function under the wrapper that gives it `out=`."""
    return fn
