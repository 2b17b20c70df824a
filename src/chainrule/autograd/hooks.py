"""Hooks: user functions that see, and may replace, a cotangent on its way. The order is PyTorch's:

the hooks of a tensor, `retain_grad`, collection of what `grad` asked for, the node's pre-hooks, the pull, the node's
hooks; for a leaf: its tensor hooks, accumulation, then its post-accumulate hooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from chainrule.autograd.handles import Hook, HookTable, RemovableHandle, add_hook
from chainrule.autograd.node import AccumulateGrad, Node
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import is_sparse
from chainrule.core.ambient import here, put, without_grad
from chainrule.core.tensor import Tensor, extra_of, fresh

__all__ = [
    "RemovableHandle", "add_hook", "check_nan", "run_after", "run_before", "run_tensor_hooks", "wrapped",
]  # fmt: skip


def wrapped(g: Any) -> Any:
    """A bare cotangent as a tensor."""
    return g if g is None or isinstance(g, Tensor) else fresh(g if is_sparse(g) else np.asarray(g))


def _listed(node: Node, g: Any) -> list[Any]:
    """What arrived, as tensors, one per output."""
    return [wrapped(part) for part in g][: _count(node)] if node.outputs > 1 else [wrapped(g)]


def _count(node: Node) -> int:
    """How many outputs there are: a node whose number varies collects a list even for one."""
    metas = node.noted_metas()
    return node.outputs if metas is None else len(metas)


def _is_bare(node: Node, g: Any) -> bool:
    """Are these cotangents arrays, not tensors (of the graph, or of the level below a transform)?"""
    return not any(isinstance(p, Tensor) for p in g) if node.outputs > 1 else not isinstance(g, Tensor)


def _unlisted(node: Node, gs: Any, were_bare: bool) -> Any:
    back = [None if t is None else resolved(t.raw) for t in gs] if were_bare else list(gs)
    return back + [None] * (node.outputs - len(back)) if node.outputs > 1 else back[0]


def run_tensor_hooks(node: Node, g: Any) -> Any:
    """The hooks of the tensors that the node made, and `retain_grad`, on the cotangents that arrived."""
    hooks = node.hooks
    assert hooks is not None
    tables = list(_tensor_hooks(node))
    if not tables and not hooks.retain:
        return g
    were_bare, gs = _is_bare(node, g), _listed(node, g)
    before = without_grad() if were_bare else here()
    try:
        for index, table in tables:
            for hook in list(table.values()):
                gs[index] = _called(hook, gs[index])
        for index, held in hooks.retain.items():
            t = held()
            if t is not None and gs[index] is not None:
                _retain(t, gs[index])
    finally:
        put(before)
    return _unlisted(node, gs, were_bare)


def _tensor_hooks(node: Node) -> Iterator[tuple[int, HookTable]]:
    if isinstance(node, AccumulateGrad):
        extra = node.variable.extra
        if extra is not None and extra.hooks:
            yield 0, cast(HookTable, extra.hooks)
    assert node.hooks is not None
    yield from ((i, table) for i, table in node.hooks.tensor.items() if table)


def _called(hook: Hook, g: Any) -> Any:
    """One tensor hook's word on `g`."""
    result = hook(g)
    return g if result is None else _checked(hook, result, g)


def _checked(hook: Hook, result: Any, g: Any) -> Any:
    """A hook may change the values of a gradient, nothing else."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if g is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = getattr(hook, "__name__", "<unknown>")
    if tuple(result.shape) != tuple(g.shape):
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if result.dtype is not g.dtype:
        was, got = (f"torch.{t.dtype.title}Tensor" for t in (g, result))
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was} got {got})")
    return result


def _all_checked(hook: Hook, results: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(results, tuple):
        if len(given) == 1 and isinstance(results, Tensor):
            results = (results,)
        else:
            raise TypeError(f"expected tuple, but hook returned '{type(results).__name__}'")
    if len(results) != len(given):
        name = getattr(hook, "__name__", "<unknown>")
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(results)}, but expected {len(given)})"
        )
    return tuple(None if r is None else _checked(hook, r, g) for r, g in zip(results, given))


def _retain(t: Tensor, g: Tensor) -> None:
    extra = extra_of(t)
    extra.grad = g.clone() if extra.grad is None else extra.grad + g


def run_before(node: Node, g: Any) -> Any:
    """The node's pre-hooks, on the cotangents it is about to pull."""
    assert node.hooks is not None
    if not node.hooks.before:
        return g
    were_bare, gs = _is_bare(node, g), tuple(_listed(node, g))
    return _unlisted(node, _talked(node.hooks.before, gs, (), were_bare), were_bare)


def run_after(node: Node, g: Any, gs: Any) -> Any:
    """The node's hooks, on what its pull gave and what it was given."""
    assert node.hooks is not None
    if not node.hooks.after:
        return gs
    were_bare, count = _is_bare(node, g), len(gs)
    first = max(-node.absent, 0)
    results = (None,) * first + tuple(wrapped(p) for p in gs) + (None,) * node.absent
    results = _talked(node.hooks.after, results, (tuple(_listed(node, g)),), were_bare)[first : first + count]
    return tuple(None if t is None else resolved(t.raw) for t in results) if were_bare else results


def _talked(table: HookTable, gs: tuple[Any, ...], more: tuple[Any, ...], were_bare: bool) -> tuple[Any, ...]:
    """Each hook's word on all the gradients of a node."""
    before = without_grad() if were_bare else here()
    try:
        for hook in list(table.values()):
            result = hook(gs, *more)
            gs = gs if result is None else _all_checked(hook, result, gs)
    finally:
        put(before)
    return gs


def check_nan(node: Node, gs: Any) -> None:
    """Anomaly mode: a pull must not make a NaN."""
    for index, g in enumerate(gs):
        raw = g.raw if isinstance(g, Tensor) else g
        if isinstance(raw, (np.ndarray, np.generic)) and raw.dtype.kind in "fcV" and bool(np.isnan(raw).any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
