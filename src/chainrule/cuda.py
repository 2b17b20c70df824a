"""torch.cuda, for programs that ask whether there is a CUDA device: there is none, for no backend here drives one.

Questions are answered, seeding and emptying a cache that does not exist do nothing, and what needs a device refuses.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

__all__ = [
    "device_count", "empty_cache", "get_arch_list", "get_rng_state_all", "has_half", "has_magma", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "seed", "seed_all",
    "set_rng_state_all",
]  # fmt: skip

has_half, has_magma = True, False
default_generators: tuple[Any, ...] = ()

_NEED_A_DEVICE = frozenset((
    "can_device_access_peer", "current_blas_handle", "current_device", "current_stream", "default_stream",
    "device_memory_used", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_sync_debug_mode", "init", "initial_seed", "ipc_collect", "mem_get_info", "memory_summary",
    "reset_peak_memory_stats", "set_device", "set_rng_state", "set_stream", "set_sync_debug_mode", "synchronize",
))  # fmt: skip


def is_available() -> bool:
    """Is there a CUDA device? No."""
    return False


def device_count() -> int:
    """How many CUDA devices there are: none."""
    return 0


def is_initialized() -> bool:
    """Whether a CUDA device was used already: never."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current CUDA device computes with bfloat16: there is none."""
    return False


def _is_compiled() -> bool:
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def empty_cache() -> None:
    """Nothing to do."""


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def seed() -> None:
    """Nothing to seed."""


def seed_all() -> None:
    """Nothing to seed."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all devices: of none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of the generators of all devices."""
    for _ in new_states:
        _refuse()


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors take on a device: none."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What there is to say about the memory of a device: nothing."""
    return OrderedDict()


def _refuse(*args: Any, **named: Any) -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled")


def __getattr__(name: str) -> Any:
    if name in _NEED_A_DEVICE:
        return _refuse
    raise AttributeError(f"module 'chainrule.cuda' has no attribute {name!r}")
