"""torch.cuda, for programs that ask whether there is a CUDA device: there is none, for no backend here drives one.

Questions are answered, seeding and emptying a cache that does not exist do nothing, and what needs a device refuses.
"""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any, NoReturn

from chainrule.core.layout import strided
from chainrule.core.public import PUBLIC
from chainrule.ops.legacy import TypedTensor
from chainrule.ops.typed_storage import name_to_dtype

__all__ = [
    "CUDAGraph", "Event", "Stream", "device_count", "empty_cache", "get_arch_list", "get_rng_state_all", "has_half",
    "has_magma", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "seed",
    "seed_all", "set_rng_state_all",
]  # fmt: skip

has_half, has_magma = True, False
_STORAGES = name_to_dtype()
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


class _Absent(type):
    """The class of `torch.cuda.FloatTensor` and its siblings: nothing is an instance, and none can be made."""

    is_cuda, is_sparse, is_xpu = True, False, False

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")

    def __instancecheck__(cls, value: Any) -> bool:
        return False


class _AbsentStorage(type):
    """The class of `torch.cuda.FloatStorage` and its siblings."""

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        _refuse()

    def __getattr__(cls, name: str) -> Any:
        if name not in ("_new_with_weak_ptr", "_new_shared_filename", "from_buffer"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")

        def refuse(*args: Any, **named: Any) -> NoReturn:
            raise RuntimeError(f"{name}: Not available for CUDA storage")

        return refuse


class Stream:
    """A queue of work on a device: there is none."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a stream: there is none."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        raise RuntimeError(f"Tried to instantiate dummy base class {cls.__name__}")


class CUDAGraph(Event):
    """Work recorded on a device: there is none."""


graphs = SimpleNamespace(CUDAGraph=CUDAGraph)


def _typed(name: str) -> Any:
    """`FloatTensor`, `FloatStorage` and so on, of this module."""
    facts: dict[str, Any] = {"__module__": "torch.cuda"}
    known = PUBLIC["f"].get(name)
    if isinstance(known, TypedTensor):
        return _Absent(name, (), {**facts, "dtype": known.dtype, "layout": strided})
    return _AbsentStorage(name, (), {**facts, "dtype": _STORAGES[name]}) if name in _STORAGES else None


def __getattr__(name: str) -> Any:
    if name in _NEED_A_DEVICE:
        return _refuse
    found = _typed(name)
    if found is not None:
        globals()[name] = found
        return found
    raise AttributeError(f"module 'chainrule.cuda' has no attribute {name!r}")
