"""The CPU's array namespace, what a forward sees as `xp`: NumPy's functions and, beside them, kernels of our own.

Kernels are pure functions on arrays, each linear one beside its adjoint; their modules load when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

_KERNELS = (
    "activations",
    "bessel",
    "conv",
    "fold",
    "incomplete",
    "ldl",
    "linalg",
    "machine",
    "masks",
    "pad",
    "pool",
    "random",
    "resize",
    "scatter",
    "sorting",
    "special",
)

# Three of the kernel modules bear a name of NumPy's: ours is meant, whether it is loaded yet or not.
globals().update(
    {name: value for name, value in vars(numpy).items() if not name.startswith("_") and name not in _KERNELS}
)


def __getattr__(name: str) -> Any:
    """A kernel module, `xp.conv`, loaded on first use."""
    if name not in _KERNELS:
        raise AttributeError(f"the CPU backend has no {name!r}")
    module = import_module(f"{__name__}.{name}")
    globals()[name] = module
    return module
