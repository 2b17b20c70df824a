"""PyTorch's `torch._C._autograd`: saved values, their hooks and versions, by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrule.autograd.profiler import kineto_available
from chainrule.autograd.saved import SavedTensor, kept_input, kept_output
from chainrule.autograd.tasks import current
from chainrule.autograd.versions import store_of
from chainrule.core.ambient import here, leave, put
from chainrule.core.tensor import Tensor

__all__ = ["SavedTensor", "kineto_available"]


def _make_saved_tensor(tensor: Tensor, is_output: bool) -> SavedTensor:
    """A tensor as a node would keep it: packed by the hooks in force."""
    if not is_output:
        return kept_input(tensor)
    edge: Any = tensor.edge
    return kept_output(getattr(edge, "node", edge), tensor.raw, getattr(edge, "index", 0), tensor.store)


def _push_saved_tensors_default_hooks(pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
    record = here()
    if not _saved_tensors_hooks_is_enabled():
        raise RuntimeError(record.hooks[-1])
    put(record.but(hooks=(*record.hooks, (pack_hook, unpack_hook))))


def _pop_saved_tensors_default_hooks() -> None:
    leave(here(), "hooks")


def _saved_tensors_hooks_is_enabled() -> bool:
    """May saved-tensor hooks be set here?"""
    return _saved_tensors_hooks_get_disabled_error_message() is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    hooks = here().hooks
    return hooks[-1] if hooks and isinstance(hooks[-1], str) else None


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Say how often tensors changed."""
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for t, version in zip(tensors, versions):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        store_of(t).version = version


def _get_current_graph_task_keep_graph() -> bool:
    """Does the current backward pass leave the saved values in place?"""
    task = current()
    return True if task is None else task.keep
