"""Hooks: user functions that see, and may replace, a cotangent on its way. The order is PyTorch's:

the hooks of a tensor, `retain_grad`, the node's pre-hooks, the pull, the node's hooks; for a leaf: its tensor hooks,
accumulation, then its post-accumulate hooks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import ref

import numpy as np

from chainrule.core.ambient import swapped
from chainrule.core.tensor import Extra, Tensor, fresh
from chainrule.autograd.node import AccumulateGrad, Hooks, Node

__all__ = ["RemovableHandle", "check_nan", "run_after", "run_before", "wrapped"]

_ids = count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again. Also a context manager."""

    def __init__(self, table: dict[int, Any]) -> None:
        self.id = next(_ids)
        self._table = ref(table) if isinstance(table, OrderedDict) else (lambda: table)

    def remove(self) -> None:
        """Take the hook away; removing twice is harmless."""
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(table: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    """Put a hook into a table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


def wrapped(g: Any) -> Any:
    """A bare cotangent as a tensor."""
    return g if g is None or isinstance(g, Tensor) else fresh(np.asarray(g))


def bare(t: Any, like: Any) -> Any:
    """Back to the world that `like` came from."""
    return t if t is None or isinstance(like, Tensor) or not isinstance(t, Tensor) else t.raw


def _called(hook: Callable[..., Any], g: Tensor) -> Tensor:
    """One tensor hook's word on `g`."""
    result = hook(g)
    if result is None:
        return g
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(result, Tensor):
        raise TypeError(f"expected hook '{name}' to return a Tensor or None, got {type(result).__name__}")
    if tuple(result.shape) != tuple(g.shape):
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if result.dtype is not g.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {g.dtype} got {result.dtype})")
    return result


def run_before(node: Node, g: Any, tensors: bool) -> Any:
    """Tensor hooks, `retain_grad` and pre-hooks of a node, on the cotangents that arrived."""
    hooks = node.hooks
    assert hooks is not None
    many = node.outputs > 1
    given = list(g) if many else [g]
    gs = [wrapped(part) for part in given]
    if tensors:
        _hooked(node, hooks, gs)
    else:
        with swapped(grad=False):
            _hooked(node, hooks, gs)
    back = gs if tensors else [None if t is None else t.raw for t in gs]
    return back if many else back[0]


def _hooked(node: Node, hooks: Hooks, gs: list[Any]) -> None:
    for index, table in _tensor_hooks(node, hooks):
        for hook in list(table.values()):
            if gs[index] is not None:
                gs[index] = _called(hook, gs[index])
    for hook in list(hooks.before.values()):
        result = hook(tuple(gs))
        if result is not None:
            gs[:] = _as_tuple(result, len(gs), "pre-hook")
    for index, held in hooks.retain.items():
        t = held()
        if t is not None and gs[index] is not None:
            _retain(t, gs[index])


def _tensor_hooks(node: Node, hooks: Hooks) -> list[tuple[int, dict[int, Any]]]:
    if isinstance(node, AccumulateGrad):
        extra = node.variable.extra
        own = [(0, extra.hooks)] if extra is not None and extra.hooks else []
        return [*own, *hooks.tensor.items()]
    return list(hooks.tensor.items())


def _retain(t: Tensor, g: Tensor) -> None:
    extra = t.extra = t.extra or Extra()
    extra.grad = g.clone() if extra.grad is None else extra.grad + g  # type: ignore[attr-defined,operator]


def _as_tuple(result: Any, size: int, kind: str) -> tuple[Any, ...]:
    parts = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if len(parts) != size:
        raise RuntimeError(f"{kind} has returned an incorrect number of values (got {len(parts)}, but expected {size})")
    return parts


def run_after(node: Node, g: Any, gs: tuple[Any, ...], tensors: bool) -> tuple[Any, ...]:
    """The node's hooks, on what its pull gave and what it was given."""
    assert node.hooks is not None
    if not node.hooks.after:
        return gs
    given = tuple(wrapped(p) for p in (g if node.outputs > 1 else (g,)))
    results = tuple(wrapped(p) for p in gs)
    with swapped(grad=tensors):
        for hook in list(node.hooks.after.values()):
            changed = hook(results, given)
            if changed is not None:
                results = _as_tuple(changed, len(results), "hook")
    return results if tensors else tuple(None if t is None else t.raw for t in results)


def check_nan(node: Node, gs: tuple[Any, ...]) -> None:
    """Anomaly mode: a pull must not make a NaN."""
    for index, g in enumerate(gs):
        raw = g.raw if isinstance(g, Tensor) else g
        if isinstance(raw, (np.ndarray, np.generic)) and raw.dtype.kind in "fcV" and bool(np.isnan(raw).any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
