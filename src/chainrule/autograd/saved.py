"""Values kept for backward: checked against change, packed by user hooks, freed after use."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.core.ambient import here, swapped
from chainrule.core.sites import describe
from chainrule.core.tensor import Port, Tensor, fresh
from chainrule.autograd.node import Freed, Node
from chainrule.autograd.versions import InferenceStore, version_of, watch
from chainrule.errors import FreedError, InferenceError, StaleError

__all__ = ["Packed", "keep", "recover", "rewrap", "stale", "verify"]


class Packed:
    """Saved values that went through `saved_tensors_hooks`: (what pack returned, unpack), or a plain value."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries


class _PackedValue:
    __slots__ = ("edge", "held", "unpack", "was_raw")

    def __init__(self, held: Any, unpack: Any, edge: Any, was_raw: bool) -> None:
        self.held, self.unpack, self.edge, self.was_raw = held, unpack, edge, was_raw


def keep(node: Node, outs_at: int | None) -> None:
    """Second thoughts about what a node saved: versions, inference tensors, user hooks. The careful path calls it."""
    saved = node.saved
    for value in saved:
        if isinstance(value, Tensor) and isinstance(value.store, InferenceStore):
            raise InferenceError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                "normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
    checks = watch(saved)
    node.checks = checks if any(checks) else None
    hooks = here().hooks
    if hooks:
        node.saved = Packed(_pack(node, saved, outs_at, hooks[-1]))


def _pack(node: Node, saved: tuple[Any, ...], outs_at: int | None, hook: Any) -> list[Any]:
    if isinstance(hook, str):
        if any(isinstance(v, Tensor) for v in saved) or outs_at is not None:
            raise RuntimeError(hook)
        return list(saved)
    entries = []
    for at, value in enumerate(saved):
        if at == outs_at:
            value = tuple(_packed(fresh(r), None, hook, was_raw=True) for r in value)
        elif isinstance(value, Tensor):
            value = _packed(value, value.edge, hook, was_raw=False)
        entries.append(value)
    return entries


def _packed(t: Tensor, edge: Any, hook: Any, was_raw: bool) -> _PackedValue:
    pack, unpack = hook
    alias = t if was_raw else t.detach()  # type: ignore[attr-defined]
    if not was_raw and t.edge is not None and t.edge.__class__.__name__ == "Leaf":
        alias = t  # PyTorch hands the leaf itself to the hook
    before = version_of(alias)
    with swapped(hooks=()):
        held = pack(alias)
    if version_of(alias) != before:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the input to a pack hook.")  # fmt: skip
    return _PackedValue(held, unpack, edge, was_raw)


def recover(node: Node) -> tuple[Any, ...]:
    """The saved values of a node whose `saved` is not a plain tuple: unpacked, or an error if they were freed."""
    saved = node.saved
    if saved.__class__ is Freed:
        freed(node, saved)
    return tuple(_unpacked(v) for v in saved.entries)


def _unpacked(value: Any) -> Any:
    if value.__class__ is tuple and value and value[0].__class__ is _PackedValue:
        return tuple(_unpacked(v) for v in value)
    if value.__class__ is not _PackedValue:
        return value
    t = value.unpack(value.held)
    if not isinstance(t, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t)}")
    if value.was_raw:
        return t.raw
    if value.edge is not None and t.edge is not value.edge:
        t = rewrap_like(t, value.edge)
    return t


def rewrap_like(t: Tensor, edge: Any) -> Tensor:
    """The same memory, with another place for its gradient."""
    alias = fresh(t.raw)
    alias.edge, alias.store = edge, t.store
    return alias


def freed(node: Node, mark: Freed) -> NoReturn:
    """Backward through values that are gone."""
    raise FreedError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward.\n"
        f"  shared:  the output of {node.name()}, computed at {describe(node.code, node.lasti)}\n"
        f"  freed:   by the backward at {describe(mark.code, mark.lasti)}\n"
        "  usual causes: two losses that share a part of the graph (add them and call backward once, or backward([a, b])); "
        "a state carried from one step of a loop to the next (detach() it); a forward computed once outside the loop."
    )


def verify(node: Node) -> None:
    """Raise if a saved tensor changed since it was saved."""
    saved, checks = node.saved, node.checks
    if saved.__class__ is not tuple:
        return
    for at, value in enumerate(saved):
        if isinstance(value, Tensor) and value.store is not None:
            expected = checks[at] if checks is not None else 0
            if value.store.version != expected:
                stale(node, value, value.store, expected)


def stale(node: Node, value: Any, store: Any, expected: int) -> NoReturn:
    """A saved value was changed in place: name who saved it, who changed it, and a way out."""
    raw = value.raw if isinstance(value, Tensor) else value
    made = getattr(value, "edge", None) if isinstance(value, Tensor) else node
    source = made.node if made.__class__ is Port else made
    is_node = isinstance(source, Node) and source.name() != "torch::autograd::AccumulateGrad"
    kind = f"torch.{'DoubleTensor' if raw.dtype == np.float64 else 'FloatTensor'}"
    origin = f", which is output {made.index if made.__class__ is Port else 0} of {source.name()}," if is_node else ""
    raise StaleError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(raw.shape)}]{origin} is at version {store.version}; expected version {expected} instead. "
        "Hint: see below what saved the value and what changed it.\n"
        f"  saved:   by {node.name()}, at {describe(node.code, node.lasti)}\n"
        f"  changed: by {store.op or 'an in-place operation'}, at {describe(store.code, store.lasti)}\n"
        "  fix:     make the change out of place (y = y + 1 instead of y += 1), or change a .clone() of the tensor."
    )


def rewrap(node: Node, raw: Any, index: int | None) -> Tensor:
    """An output of `node` as a tensor again; `index` None for one that carries no gradient."""
    level = node.__dict__.get("level") if not isinstance(raw, np.ndarray) else None
    t = fresh(raw) if level is None else level.wrap(raw)
    if index is not None:
        t.edge = Port(node, index) if node.outputs > 1 else node
    return t
