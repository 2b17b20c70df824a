"""Arrays and kernels, one folder per device; nothing here knows a Tensor.

`cuda`, `cudnn` and `mps` hold what programs ask about devices that no backend drives: PyTorch's switches, which then
have nothing to switch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_SWITCHES = ("cuda", "cudnn", "mps")


def __getattr__(name: str) -> Any:
    if name in _SWITCHES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
