"""Views and in-place changes: how history is rewritten when memory that others look at changes.

A view knows its base and the chain of view ops that leads to it. An in-place op on a view becomes a `CopySlices` on the
base; every view, when next asked for its edge, sees that the version moved on and derives a new one from the base
(`refresh`). A step of a chain is (op, parameters, shape before it, which of its outputs if it has several).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.explain import forward_name, freed
from chainrule.autograd.node import Freed, Node, Sink, accumulator, edge_of, hooks_of, sink, tick
from chainrule.autograd.versions import touch
from chainrule.backends.cpu import memory
from chainrule.core.ambient import here, swapped
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call
from chainrule.core.op import REGISTRY
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import LEAF, TURNED, Extra, Port, Store, Tensor, View

__all__ = [
    "REPLAY", "ViewKind", "derive", "forbid", "interrupted", "link", "rebase", "refresh", "replay", "scatter_back",
]  # fmt: skip

_new = object.__new__
REPLAY = [False]  # should a view's new history be made of the view ops? (autograd._force_original_view_tracking)


class ViewKind:
    """How a view came about decides whether it may be changed in place while gradients are recorded."""

    DEFAULT = "DEFAULT"
    MANY = "MULTI_OUTPUT_NODE"  # one of several outputs of one op: split, unbind
    NO_GRAD = "NO_GRAD_MODE"  # made inside no_grad
    FUNCTION = "IN_CUSTOM_FUNCTION"  # returned by a custom Function
    INFERENCE = "INFERENCE_MODE"  # made inside inference_mode of a normal tensor


def link(out: Tensor, source: Tensor, step: Any, kind: str) -> None:
    """Make `out` a view of `source`, one step away."""
    store = source.store
    if store is None:
        store = source.store = Store()
    out.store = store
    v = source.viewed
    if v is None:
        out.viewed = View(source, None, step, kind, store.version, step[0].turns or store.lasti == TURNED)
    else:
        stays = v.kind if kind == ViewKind.DEFAULT else kind
        out.viewed = View(v.base, v, step, stays, store.version, step[0].turns or v.turned)


def replay(chain: tuple[Any, ...], x: Any) -> Any:
    """Walk from a base (tensor or array) to the view."""
    for op, params, _, picked in chain:
        x = op.fn(x, **params) if picked is None else op.fn(x, **params)[picked]
    return x


def scatter_back(chain: tuple[Any, ...], g: Any) -> Any:
    """The transpose of `replay`: a cotangent of the view, as one of the base, zero elsewhere."""
    for op, params, shape, picked in reversed(chain):
        (name,) = op.pulls
        rule = op.pulls[name]
        known = {**params, f"{name}_shape": shape}
        if picked is not None:
            g = op.family.one_of_many(op, g, picked, known)
        else:
            g = rule.fn(g, *(known[k] for k in rule.keeps))
    return g


class AsStridedBackward0(Node):
    """The edge of a view whose base was changed in place: its cotangent goes to the base."""

    __slots__ = ("chain",)

    chain: tuple[Any, ...]

    def pull(self, g: Any) -> tuple[Any, ...]:
        return (scatter_back(self.chain, g),)

    pull_graph = pull


class CopySlices(Node):
    """An in-place op on a view, seen from the base: the rest passes through, the slice goes through the op."""

    __slots__ = ("chain", "strides")

    chain: tuple[Any, ...]
    strides: tuple[int, ...] | None  # how the base lies in memory, unless it is contiguous

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def fn(self) -> Node:
        """What happened to the slice; it is saved, and gone after backward."""
        saved = self.saved
        if saved.__class__ is Freed:
            freed(self, saved)
        node: Node = saved[0]
        return node

    def pull(self, g: Any) -> tuple[Any, ...]:
        if isinstance(g, np.generic):
            g = np.asarray(g)  # a 0-d cotangent
        if not isinstance(g, np.ndarray):
            return self.pull_graph(g)
        if self.edges[0] is None:  # the base wanted no gradient before
            return (None, *self.fn.pull(replay(self.chain, g).copy())[1:])
        g = g.copy() if self.strides is None else memory.relaid(g, self.strides)
        window = replay(self.chain, g)
        first, *rest = self.fn.pull(window.copy())
        if first is not None:
            memory.refuse_overlap(window)
        window[...] = 0 if first is None else first
        return (g, *rest)

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        window = replay(self.chain, in_order(g, self.strides))
        pull = self.fn.pull_graph if isinstance(g, Tensor) and self._on_tensors(g) else self.fn.pull
        first, *rest = pull(window)
        if self.edges[0] is None:
            return (None, *rest)
        if first is not None and isinstance(getattr(window, "raw", None), np.ndarray):
            memory.refuse_overlap(window.raw)
        inside = scatter_back(self.chain, call("ones_like", window)) != 0
        g = call("where", inside, call("zeros_like", g), g)
        return (g if first is None else g + scatter_back(self.chain, first), *rest)

    def _on_tensors(self, g: Any) -> bool:
        level = self.__dict__.get("level")
        return level is None or getattr(g, "level", None) is level


def in_order(g: Any, strides: tuple[int, ...] | None) -> Any:
    """A cotangent whose axes lie in memory as those of the base do, so that its view ops work on it."""
    if strides is None:
        return g.contiguous()
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    back = tuple([order.index(axis) for axis in range(len(order))])
    return g.permute(tuple(order)).contiguous().permute(back)


def chain_of(v: View, t: Tensor) -> tuple[Any, ...]:
    """The steps from the base to `t`: one of any shape and steps, if the base's geometry changed in place since."""
    extra = v.base.extra
    if extra is not None and v.version < extra.turned and isinstance(t.raw, np.ndarray):
        raw = v.base.raw
        origin = (raw.shape, memory.element_strides(raw), memory.offset_of(raw))
        size, stride, offset = t.raw.shape, memory.element_strides(t.raw), memory.offset_of(t.raw)
        params = {"size": size, "stride": stride, "storage_offset": offset, "origin": origin}
        v.rooted((REGISTRY["as_strided"], params, raw.shape, None))
    return v.chain


def refresh(t: Tensor, asked: bool = False) -> None:
    """Give a view a new edge if its base's history was rewritten since it got its last one.

    `asked`: by the user, not by an op that may not even record.
    """
    v, store = t.viewed, t.store
    if v is None or store is None:
        return
    if v.base.edge is None and (t.edge is None or t.edge.__class__ is Sink or t.edge is LEAF):
        if t.edge.__class__ is Sink:
            t.edge = None
        return
    if v.version != store.version:
        if v.kind != ViewKind.DEFAULT:
            if not asked and not here().grad:
                return
            forbid(t, "accessed")
        derive(t)
    elif t.edge is None and t.dtype.category >= FLOAT:
        t.edge = sink()  # made in no_grad, or before the base wanted a gradient


def derive(t: Tensor) -> None:
    """Set the view's edge: straight to its base."""
    v, before = t.viewed, t.edge
    assert v is not None and t.store is not None
    chain, edge = chain_of(v, t), v.base.edge
    # no steps through memory lead from real to complex: up to the last such step the view ops make the history
    turns = [at for at, (op, *_) in enumerate(chain, 1) if not op.holomorphic]
    first = len(chain) if REPLAY[0] else max(turns, default=0)
    if first:
        with swapped(grad=True):
            edge, chain = replay(chain[:first], v.base).edge, chain[first:]
    if first and not chain:
        t.edge, v.version = edge, t.store.version
        return _move_retain(t, edge, before)
    node = _new(AsStridedBackward0)
    node.edges = (accumulator(v.base) if edge is LEAF else edge,)
    node.chain, node.saved, node.checks, node.hooks = chain, (), None, None
    node.code, node.lasti = here_in_user_code()
    node.key = tick()
    t.edge, v.version = node, t.store.version
    return _move_retain(t, node, before)


_EITHER = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
_REASONS = {
    ViewKind.MANY: (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    ViewKind.NO_GRAD: _EITHER.format("no_grad"),
    ViewKind.FUNCTION: (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
    ViewKind.INFERENCE: _EITHER.format("inference_mode"),
}


def forbid(t: Tensor, verb: str = "modified") -> None:
    """Raise for a view that may not be changed in place (or read after its base was)."""
    v = t.viewed
    if v is None or v.kind == ViewKind.DEFAULT:
        return
    direct = verb == "modified"
    what = f"{'is being' if direct else 'its base or another view of its base has been'} modified inplace"
    origin, when = _origin(t, v)
    raise RuntimeError(f"{origin} and {what}{when}.{_REASONS[v.kind]}")


def _origin(t: Tensor, v: View) -> tuple[str, str]:
    """What a view is, for a message: which output of which function, or in which mode it was made."""
    edge = t.edge
    maker, index = (edge.node, edge.index) if edge.__class__ is Port else (edge, 0)
    known = isinstance(maker, Node) and maker.__class__ is not Sink
    title = forward_name(maker) if known else ""
    output = f"Output {index} of {title} is a view"
    if known and v.kind not in (ViewKind.NO_GRAD, ViewKind.INFERENCE):
        return output, ""
    head = f"{output} of a view which" if known else "A view"
    if v.kind == ViewKind.INFERENCE:
        return f"{head} was created in inference mode", " in normal mode"
    return f"{head} was created in no_grad mode", " with grad mode enabled"


def rebase(t: Tensor, node: Node, edge: Any = None) -> None:
    """`t` was changed in place by what `node` records: make that its history. `edge`: a port, if `node` has several."""
    v = t.viewed
    if v is None:
        _move_retain(t, node if edge is None else edge, t.edge)
        t.edge = node if edge is None else edge
        return
    base = v.base
    below = base.edge
    through = _new(CopySlices)
    through.edges = (accumulator(base) if below is LEAF else below, *node.edges[1:])
    through.chain, through.saved, through.checks, through.hooks = chain_of(v, t), (node,), None, None
    raw = base.raw
    plain = not isinstance(raw, np.ndarray) or raw.flags.c_contiguous
    through.strides = None if plain else memory.element_strides(raw)
    through.code, through.lasti, through.key = node.code, node.lasti, tick()
    if node.absent:
        through.__dict__["absent"] = node.absent
    if "level" in node.__dict__:
        through.__dict__["level"] = node.__dict__["level"]
    _move_retain(base, through, below)
    base.edge = through
    derive(t)


def _move_retain(t: Tensor, to: Any, before: Any) -> None:
    """`retain_grad` follows the tensor to its new node; hooks stay with the history they were registered on."""
    extra: Extra | None = t.extra
    if extra is None or not extra.retained or before is None or before is LEAF:
        return
    old = before.node if before.__class__ is Port else before
    held = (
        old.hooks.retain.pop(before.index if before.__class__ is Port else 0, None) if old.hooks is not None else None
    )
    if held is not None:
        hooks_of(to.node if to.__class__ is Port else to).retain[to.index if to.__class__ is Port else 0] = held


class Interrupted(Node):
    """Stands where an in-place op was interrupted: something may have been written that no history tells of."""

    __slots__ = ()

    def pull(self, g: Any) -> tuple[Any, ...]:
        raise RuntimeError("an in-place op was interrupted, and the tensor has no history since: compute it anew")

    pull_graph = pull


def interrupted(t: Tensor, op: str) -> None:
    """Ctrl-C struck while `op` changed `t`: nobody may look back beyond that."""
    touch(t, op)
    node = _new(Interrupted)
    node.edges, node.saved, node.checks, node.hooks = (edge_of(t),), (), None, None
    node.code, node.lasti = here_in_user_code()
    node.key = tick()
    rebase(t, node)
