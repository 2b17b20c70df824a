"""What registering a hook returns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import ref

from chainrule.core.notices import warn

__all__ = ["Hook", "HookTable", "RemovableHandle", "add_hook", "unserializable_hook", "warn_if_has_hooks"]

Hook = Callable[..., Any]
HookTable = OrderedDict[int, Hook]  # ordered, and unlike a dict it can be referred to weakly


_lock = Lock()


class RemovableHandle:
    """Takes its hook away again: `handle.remove()`, or at the end of a `with` block."""

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = ref(hooks_dict)
        with _lock:  # two threads may register hooks in one table
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self.extra_dict_ref = tuple(ref(d) for d in extra)

    def remove(self) -> None:
        """Take the hook away; removing twice is harmless."""
        for table in (self.hooks_dict_ref(), *(r() for r in self.extra_dict_ref)):
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        extra = (tuple(r() for r in self.extra_dict_ref),) if self.extra_dict_ref else ()
        return (self.hooks_dict_ref(), self.id, *extra)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        table, self.id, *extra = state
        # A table that was not part of the pickle is gone: the handle then removes nothing.
        self.hooks_dict_ref = ref(OrderedDict() if table is None else table)
        self.extra_dict_ref = tuple(ref(OrderedDict() if d is None else d) for d in (extra[0] if extra else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(table: HookTable, hook: Hook) -> RemovableHandle:
    """Put a hook into a table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


def unserializable_hook(hook: Hook) -> Hook:
    """Mark a hook as one that need not be saved with its tensor: no warning is given."""
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return hook


def warn_if_has_hooks(tensor: Any) -> None:
    """Say, of a tensor about to be serialized, which hooks will not be saved."""
    extra = tensor.extra
    for hook in (extra.hooks or {}).values() if extra is not None else ():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
            )
