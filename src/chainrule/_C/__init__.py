"""The names of PyTorch's C++ module that programs meet in Python: the classes that tensors and storages come from."""

from __future__ import annotations

import importlib
import sys
import threading
import weakref
from enum import Enum
from typing import Any

from chainrule.autograd import engine as _engine
from chainrule.autograd import tasks as _tasks
from chainrule.autograd.forward_ad import _is_fwd_grad_enabled
from chainrule.autograd.grad_layout import POLICY as _POLICY
from chainrule.autograd.grad_mode import is_grad_enabled, is_multithreading_enabled
from chainrule.autograd.node import Node
from chainrule.autograd.tasks import will_execute as _will_engine_execute_node
from chainrule.backends.cpu.memory import owner
from chainrule.config import settings
from chainrule.core.ambient import here as _here
from chainrule.core.ambient import put as _put
from chainrule.core.dtype import ALL, FLOAT8, NAMES, dtype
from chainrule.core.function_protocol import disabled as _disabled_torch_function_impl
from chainrule.core.tensor import Tensor, TensorBase
from chainrule.ops.flags import set_fill_uninitialized_memory as _set_deterministic_fill_uninitialized_memory
from chainrule.ops.lazy_clone import is_lazy as _is_cow_tensor
from chainrule.ops.storage import const_data_ptr as _data_address
from chainrule.ops.storages import StorageBase, storage_of
from chainrule.ops.storages import count_users as _storage_Use_Count

__all__ = [
    "StorageBase", "TensorBase", "_data_address", "_disabled_torch_function_impl", "_is_cow_tensor",
    "_set_deterministic_fill_uninitialized_memory", "_storage_Use_Count", "has_lapack",
]  # fmt: skip

_LATE = {"DisableTorchFunction": "overrides", "DisableTorchFunctionSubclass": "overrides"}
_SUBMODULES = frozenset(("_autograd", "_functions", "_functorch"))  # the transforms are loaded where somebody asks
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


# ------------------------------------------------------------------------------------------------- modes and passes


def _set_grad_enabled(enabled: bool) -> None:
    _put(_here().but(grad=bool(enabled)))


def _set_fwd_grad_enabled(enabled: bool) -> None:
    _put(_here().but(forward_grad=bool(enabled)))


def _is_grad_layout_enforcement_enabled() -> bool:
    return not _POLICY.loose


def _set_grad_layout_enforcement_enabled(enabled: bool) -> None:
    """As the function `autograd.enforce_grad_layout_policy`."""
    _POLICY.loose = not enabled


def _current_graph_task_id() -> int:
    """A number for the backward pass that this thread is in; -1 for none."""
    task = _tasks.current()
    return -1 if task is None else _tasks.number_of(task)


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes that the current backward pass runs, in that order."""
    order = _tasks.execution_order()
    if is_multithreading_enabled():
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return order


def _current_autograd_node() -> Node | None:
    """The node whose turn it is; found on the stack, so that a pass need not keep it anywhere."""
    if _tasks.current() is None:
        return None
    frame = sys._getframe()
    while frame is not None and frame.f_code is not _engine._run.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    node: Node | None = None if frame is None else frame.f_locals["node"]
    return node


class DispatchKey(Enum):
    """For whom a rule of an operator is registered: for gradients on a device, for a device, or for anyone."""

    AutogradCPU = "AutogradCPU"
    AutogradCUDA = "AutogradCUDA"
    AutogradMeta = "AutogradMeta"
    Autograd = "Autograd"
    CPU = "CPU"
    CUDA = "CUDA"
    Meta = "Meta"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"


class _WeakTensorRef:
    """Does a tensor still live?"""

    def __init__(self, tensor: Tensor) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Is it gone?"""
        return self._ref() is None


class _Kept(threading.local):
    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}


_kept = _Kept()


def _stash_obj_in_tls(key: str, value: Any) -> None:
    """Keep an object for this thread."""
    _kept.objects[key] = value


def _get_obj_in_tls(key: str) -> Any:
    if key not in _kept.objects:
        raise RuntimeError(f"this thread keeps nothing under {key!r}")
    return _kept.objects[key]


def _is_key_in_tls(key: str) -> bool:
    return key in _kept.objects


def _remove_obj_from_tls(key: str) -> None:
    _kept.objects.pop(key, None)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LATE:
        return getattr(importlib.import_module(f"chainrule.{_LATE[name]}"), name)
    raise AttributeError(f"module 'chainrule._C' has no attribute {name!r}")
