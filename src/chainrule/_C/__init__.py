"""The names of PyTorch's C++ module that programs meet in Python: the classes that tensors and storages come from."""

from __future__ import annotations

import importlib
from typing import Any

from chainrule.backends.cpu.memory import owner
from chainrule.config import settings
from chainrule.core.dtype import ALL, FLOAT8, NAMES, dtype
from chainrule.core.tensor import Tensor, TensorBase
from chainrule.ops.flags import set_fill_uninitialized_memory as _set_deterministic_fill_uninitialized_memory
from chainrule.ops.lazy_clone import is_lazy as _is_cow_tensor
from chainrule.ops.storage import const_data_ptr as _data_address
from chainrule.ops.storages import StorageBase, storage_of

__all__ = [
    "StorageBase", "TensorBase", "_data_address", "_is_cow_tensor", "_set_deterministic_fill_uninitialized_memory",
    "has_lapack",
]  # fmt: skip

_SUBMODULES = frozenset(("_functorch",))  # the transforms are loaded where somebody asks
has_lapack = True  # NumPy's


def _is_alias_of(self: Tensor, other: Tensor) -> bool:
    """Do two tensors look into the same memory?"""
    return owner(self.raw) is owner(other.raw)


def _storage_address(self: Tensor) -> int:
    """What tells storages apart."""
    return id(storage_of(self))


def _get_all_dtypes() -> list[dtype]:
    """Every type but the quantized ones and those of a few bits."""
    known = [each for name, each in NAMES.items() if name.startswith(("bits", "float"))]
    return [*ALL, *FLOAT8, *known]


def _get_deterministic_fill_uninitialized_memory() -> bool:
    return settings.fill_memory


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Let vmap say where it takes an op example by example."""
    settings.vmap_loop_warns = enabled


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    return settings.vmap_loop_warns


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'chainrule._C' has no attribute {name!r}")
