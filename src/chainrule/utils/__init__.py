"""PyTorch's `torch.utils`: doors to rooms that live elsewhere, and tools beside them; each loads when asked for."""

from __future__ import annotations

import importlib
from typing import Any

from chainrule.utils.swapping import swap_tensors

__all__ = ["swap_tensors"]


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
