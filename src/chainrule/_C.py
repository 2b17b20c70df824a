"""The names of PyTorch's C++ module that programs meet in Python: the classes that tensors and storages come from."""

from __future__ import annotations

from chainrule.backends.cpu.memory import owner
from chainrule.config import settings
from chainrule.core.dtype import ALL, FLOAT8, NAMES, dtype
from chainrule.core.tensor import Tensor, TensorBase
from chainrule.ops.flags import set_fill_uninitialized_memory as _set_deterministic_fill_uninitialized_memory
from chainrule.ops.storages import StorageBase

__all__ = ["StorageBase", "TensorBase", "_set_deterministic_fill_uninitialized_memory", "has_lapack"]

has_lapack = True  # NumPy's


def _is_alias_of(self: Tensor, other: Tensor) -> bool:
    """Do two tensors look into the same memory?"""
    return owner(self.raw) is owner(other.raw)


def _get_all_dtypes() -> list[dtype]:
    """Every type but the quantized ones and those of a few bits."""
    known = [each for name, each in NAMES.items() if name.startswith(("bits", "float"))]
    return [*ALL, *FLOAT8, *known]


def _get_deterministic_fill_uninitialized_memory() -> bool:
    return settings.fill_memory
