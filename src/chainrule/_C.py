"""The names of PyTorch's C++ module that programs meet in Python: the classes that tensors and storages come from."""

from __future__ import annotations

from chainrule.config import settings
from chainrule.core.tensor import TensorBase
from chainrule.ops.flags import set_fill_uninitialized_memory as _set_deterministic_fill_uninitialized_memory
from chainrule.ops.storages import StorageBase

__all__ = ["StorageBase", "TensorBase", "_set_deterministic_fill_uninitialized_memory"]


def _get_deterministic_fill_uninitialized_memory() -> bool:
    return settings.fill_memory
