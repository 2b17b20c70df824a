"""Eager execution, the careful way: any dtypes, any mode, any level. `autograd.bind` writes its fast special
case.

`level` is None for ordinary tensors, whose `raw` is an array; inside a transform it is the interpreter whose tensors
wrap tensors of the level below, and `raw` is such a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from chainrule.autograd import forward
from chainrule.autograd.anomaly_mode import remember
from chainrule.autograd.cuts import cut_here, passes_on
from chainrule.autograd.explain import inference_text, leaf_text
from chainrule.autograd.node import NOWHERE, Node, Sink, accumulator, node_of, tick
from chainrule.autograd.nodes import node_class
from chainrule.autograd.pending import is_pending, meant
from chainrule.autograd.saved import keep, refuse_inference
from chainrule.autograd.versions import (
    BEFORE_WRITE,
    CountingStore,
    InferenceStore,
    store_of,
    touch,
    turned_store,
)  # fmt: skip
from chainrule.autograd.views import ViewKind, forbid, interrupted, link, rebase, refresh
from chainrule.backends import cpu
from chainrule.backends.cpu import memory
from chainrule.backends.meta import emptied
from chainrule.backends.sparse import SparseArray, Unsupported, each
from chainrule.core.ambient import Ambient, here
from chainrule.core.dtype import FLOAT
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import is_number
from chainrule.core.op import Op
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import LEAF, Cut, Port, Store, Tensor, fresh
from chainrule.core.types import return_type
from chainrule.errors import GraphError, InferenceError

__all__ = [
    "attach", "check_writable", "eager", "eager_inplace", "edges_through", "on_sparse", "refuse_unfollowed",
]  # fmt: skip


def eager(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Compute on arrays, then attach what autograd needs."""
    for t in inputs:
        if isinstance(t, Tensor) and t.raw.__class__ is not np.ndarray:
            return _on_other_arrays(op, inputs, params)
    return attach(op, inputs, params, _in_order(op, inputs, params, op.family.compute(cpu, op, inputs, params)), None)


def _in_order(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], result: Any) -> Any:
    """The result of an elementwise op with its axes in the order of those of its operands."""
    if not op.ordered:
        return result
    raws = [t.raw for t in inputs if isinstance(t, Tensor)]
    if op.promote != "none" and any([0 in r.strides for r in raws]):
        want = op.family.common(op, inputs, params).numpy  # what is cast beforehand is not stretched any more
        raws = [memory.room_like(r) if r.dtype != want else r for r in raws]
    return memory.ordered_as_met(np.asanyarray(result), *raws)


def _on_other_arrays(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Sparse arrays, arrays without elements, and such that something is pending on: only views leave that be."""
    if any([is_pending(t) for t in inputs]):
        if not (op.family.is_view or op.family.shares):
            return eager(op, meant(inputs), params)
        return attach(op, inputs, params, op.family.compute(cpu, op, inputs, params), None)
    special = on_sparse if any([_is_sparse(t) for t in inputs]) else _without_elements
    return attach(op, inputs, params, special(op, inputs, params), None)


def _is_sparse(t: Any) -> bool:
    return isinstance(t, Tensor) and t.raw.__class__ is SparseArray


def on_sparse(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], into: Any = None) -> Any:
    """The array an op makes where some inputs are sparse: what it declares, or element by element.

    A function of one element works on those that are written down; the formula of several runs as far as it goes.
    `into`: an array that takes the result, if the op can write less than all of it; else it is ignored.
    """
    run = op.family.compute
    try:
        if op.sparse is not None:
            return op.sparse(op, inputs, params, into)
        if not op.family.diagonal or op.outs is not None:
            raise Unsupported(op.name)
        if len(op.inputs) > 1:
            return run(cpu, op, inputs, params)
        return each(op.name, inputs[0].raw, lambda values: run(cpu, op, (fresh(values),), params), op.linear)
    except Unsupported:
        raise Unsupported(op.name) from None


_AFFORDABLE = 1 << 22  # elements: up to here an op without a rule for shapes is run on zeros


def _without_elements(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The shapes and dtypes of an op's results: by its rule, on arrays never touched, or from a run on zeros."""
    family = op.family
    known = (
        op.meta is not None
        or family.diagonal
        or family.is_view
        or family.shares
        or family.name in ("random", "creation")
    )
    if not known and sum([t.raw.size for t in inputs if isinstance(t, Tensor)]) <= _AFFORDABLE:
        inputs = tuple([fresh(np.zeros(t.raw.shape, t.raw.dtype.type)) if isinstance(t, Tensor) else t for t in inputs])
    return emptied(_in_order(op, inputs, params, family.compute(cpu, op, inputs, params)))


def attach(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], result: Any, level: Any) -> Any:
    """Wrap results as tensors, with a node if a gradient is wanted, a view link, a tangent."""
    raws = tuple(result) if op.outs is not None else (result,)
    make: Callable[[Any], Tensor] = fresh_array if level is None else level.wrap
    outs = [make(r) for r in raws]
    state = here()
    if op.family.is_view:
        _link_views(op, inputs, params, outs, state)
    elif op.family.shares:
        outs[0].store = _shared_store(inputs[0], state)
    elif state.inference:
        for t in outs:
            t.store = InferenceStore()
    elif level is None:
        for t in outs:
            t.store = turned_store(t.raw)
    dual = forward.active(inputs)  # before views are brought up to date: then they would no longer look old
    _record_or_cut(op, inputs, params, outs, state, level)
    if dual:
        forward.push_outputs(op, inputs, params, outs)
        _keep_tangents(op, outs)
    return outs[0] if op.outs is None else return_type(op.name, op.outs, outs)


def _shared_store(t: Tensor, state: Ambient) -> Store:
    """The store of a tensor over the same memory that is no view: it counts, unless inference mode made both."""
    store = store_of(t)
    return CountingStore() if isinstance(store, InferenceStore) and not state.inference else store


def _keep_tangents(op: Op, outs: list[Tensor]) -> None:
    """A node that keeps its outputs as arrays keeps their tangents beside them, for forward mode over reverse mode."""
    carriers = outs if op.outs == "many" else [outs[i] for i in op.differentiable]
    for at, t in enumerate(carriers):
        node = node_of(t.edge)
        if node is not None and forward.tangent_of(t) is not None and t.extra is not None:
            node.__dict__.setdefault("tangents", {})[at] = t.extra.tangent


def fresh_array(r: Any) -> Tensor:
    """A tensor over a result, scalars made arrays."""
    return fresh(np.asarray(r) if isinstance(r, np.generic) else r)


def _record_or_cut(
    op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor], state: Ambient, level: Any
) -> None:
    if op.family.is_view and isinstance(outs[0].store if outs else None, InferenceStore):
        return  # a view of an inference tensor is one too
    wants = any(isinstance(t, Tensor) and wants_grad(t) for t in inputs)
    if not wants:
        cut = next((t.cut for t in inputs if isinstance(t, Tensor) and t.cut is not None), None)
    elif not state.grad:
        cut = cut_here("inference_mode" if state.inference else "no_grad")
    elif op.fixed and (lost := _lost(op, inputs)):
        raise RuntimeError(_FIXED.format(op.name, lost[0]))
    elif not op.pulls:
        cut = cut_here(op.name)
    else:
        cut = None
        differentiable = [outs[i] for i in op.differentiable] if op.outs != "many" else outs
        if differentiable and all(t.dtype.is_floating_point or t.dtype.is_complex for t in differentiable):
            node = recorded(op, inputs, params, tuple(t.raw for t in outs), outs, level, edges_of(op, inputs))
            if node is not None:
                if op.real_slopes and differentiable[0].dtype.is_complex:  # in place they are recorded, in PyTorch too
                    raise RuntimeError(_REAL_SLOPES.format(op.name))
                _set_edges(node, differentiable)
                if len(outs) > len(differentiable):
                    cut = Cut(f"{op.name} indices", node.code, node.lasti)
        elif params.get("dtype") is not None and op.family.name in ("reduction", "scan"):
            raise RuntimeError(f"Autograd not support dtype: {params['dtype'].title}")
        elif inputs[0].dtype.category < FLOAT:  # a value that wants a gradient would be written into integers
            raise RuntimeError(f"Autograd not support dtype: {inputs[0].dtype.title}")
        else:
            cut = cut_here("integers")
    if cut is not None:
        for t in outs:
            if t.edge is None:
                t.cut = cut


def _lost(op: Op, inputs: tuple[Any, ...]) -> list[str]:
    """The inputs that want a gradient and will get none."""
    return [n for n, t in zip(op.inputs, inputs) if n in op.fixed and t is not None and wants_grad(t)]


_FIXED = (
    "The function '{}' is not differentiable with respect to argument '{}'. This input cannot have requires_grad True."
)
_REAL_SLOPES = "{} does not support automatic differentiation for outputs with complex dtype."


def _set_edges(node: Node, outs: list[Tensor]) -> None:
    if node.outputs > 1:
        for i, t in enumerate(outs):
            t.edge = Port(node, i)
    else:
        outs[0].edge = node


def wants_grad(t: Tensor) -> bool:
    """Does a gradient flow to `t`? A view without history of its own says what its base says."""
    edge, v = t.edge, t.viewed
    if v is None or (edge is not None and edge.__class__ is not Sink):
        return edge is not None
    return v.base.edge is not None and t.dtype.category >= FLOAT


def recorded(
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    raws: tuple[Any, ...],
    outs: list[Tensor],
    level: Any,
    edges: tuple[Any, ...],
) -> Node | None:
    """The node of one application, or None if no differentiable input wants a gradient."""
    if all(e is None for e in edges):
        return None
    if len(op.pulls) > 1:  # what only gradients that go nowhere would ask for is not kept
        edges = tuple([None if e.__class__ is Sink else e for e in edges])
    second = op.overload is not None and params[op.overload] is not None
    cls = node_class(op, *_variant(op, inputs, outs), second)
    store = None
    if cls.layout.outs:
        kept = [outs[i] for i in cls.layout.kept] if op.outs != "many" else outs
        raws = raws if not getattr(level, "answers", False) else level.kept(outs)
        store = kept[0].store = kept[0].store or Store()
        for t in kept[1:]:
            t.store = store  # one store speaks for all outputs that a node keeps
    node: Node = cls.record(edges, inputs, raws, store, params)
    if not any(edges):
        NOWHERE.add(node)
        if not store and not any([s is not None for s in node.saved[: len(cls.layout.inputs)]]):
            node.__dict__["frees"] = False  # there is nothing that a second pass would miss
    node.code, node.lasti = here_in_user_code()
    if here().anomaly is not None:
        remember(node)
    if op.outs == "many":
        node.outputs = max(2, len(outs))  # never 1: a cotangent of these is always a list
    if node.outputs > 1:
        carriers = outs if op.outs == "many" else [outs[i] for i in op.differentiable]
        node.__dict__["metas"] = [(tuple(t.shape), t.dtype) for t in carriers]
    if level is not None and not getattr(level, "answers", False):
        node.__dict__["level"] = level
    keep(node, cls.layout.outs_at())
    return node


def edges_of(op: Op, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where the cotangents of the differentiable inputs go."""
    kept = inputs if op.variadic else [t for n, t in zip(op.inputs, inputs) if n in op.pulls and not is_number(t)]
    return tuple([_edge(t) if isinstance(t, Tensor) else None for t in kept])


def edges_through(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where the cotangents of the tensors among some values go."""
    return tuple([_edge(t) for t in inputs if isinstance(t, Tensor)])


def _edge(t: Tensor) -> Any:
    if t.viewed is not None:
        refresh(t)
    return accumulator(t) if t.edge is LEAF else t.edge


_COMPUTING = frozenset(("reduction", "scan", "contraction", "fused", "loss"))


def _variant(op: Op, inputs: tuple[Any, ...], outs: list[Tensor]) -> tuple[str, bool | str, bool]:
    kinds = "V" if op.variadic else "".join("T" if isinstance(t, Tensor) else "O" if t is None else "N" for t in inputs)
    first = outs[op.differentiable[0]] if op.outs != "many" else outs[0]
    shape, dtype = tuple(first.shape), first.dtype
    ruled = (
        [t for n, t in zip(op.inputs, inputs) if isinstance(t, Tensor) and n in op.pulls] if not op.variadic else inputs
    )
    fit = any(t.dtype is not dtype or (op.family.diagonal and tuple(t.shape) != shape) for t in ruled)
    computes = op.promote != "none" if op.family.diagonal else op.family.name in _COMPUTING
    wide = computes and dtype.itemsize == 2 and dtype.is_floating_point
    return kinds, "wide" if wide else fit, op.holomorphic and dtype.is_complex


def _link_views(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor], state: Ambient) -> None:
    source = inputs[0]
    kind = ViewKind.DEFAULT if state.grad else ViewKind.NO_GRAD
    if state.inference:
        kind = ViewKind.INFERENCE
    if isinstance(source.store, InferenceStore):
        store = source.store if source.store.__class__ is InferenceStore else InferenceStore()
        for t in outs:
            t.store = store
        return
    if op.outs == "many":
        for i, t in enumerate(outs):
            link(
                t,
                source,
                (op, params, tuple(source.shape), i),
                kind if kind != "DEFAULT" else ViewKind.MANY,
            )
        return
    for t in outs:
        link(t, source, (op, params, tuple(source.shape), None), kind)


# ------------------------------------------------------------------------------------------------------- in place


def eager_inplace(
    op: Op, inputs: tuple[Any, ...], params: dict[str, Any], level: Any, write: Callable[[], None]
) -> Any:
    """The in-place form of `op`: `write` computes and stores the result; history is rewritten around it."""
    target: Tensor = inputs[0]
    state = here()
    recording = will_record(inputs)
    check_writable(target, recording and bool(op.pulls or op.in_place_slope), op.name + "_")
    dual = forward.active(inputs) and target.dtype.category >= FLOAT
    if dual:
        forward.check_pushable(op, inputs)
    edges = edges_of(op, inputs) if recording else ()  # first of all: it brings views up to date
    if any([isinstance(t, Tensor) and isinstance(t.store, InferenceStore) for t in inputs]):
        _refuse_keeping(op, inputs, edges)
    originals = _kept_original(op, inputs, level) if recording or dual else inputs
    try:
        write()
        touch(target, op.name + "_")
        if recording and op.in_place_slope:
            rebase(target, _overwriting(op, inputs))
        elif recording and op.pulls and any(e is not None for e in edges):
            node = recorded(op, originals, params, (target.raw,), [target], level, edges)
            if node is not None:
                _mark_overwritten(node, target)
                rebase(target, node)
        elif not recording:
            _note_cut(inputs, target, state)
    except BaseException as error:
        if recording and not isinstance(error, Exception):  # Ctrl-C, just then
            interrupted(target, op.name + "_")
        raise
    if dual:
        forward.after_inplace(op, originals, params, target)
    return target


def _refuse_keeping(op: Op, inputs: tuple[Any, ...], edges: tuple[Any, ...]) -> None:
    """What was made in inference mode is kept for no gradient; that is said before anything is written."""
    ruled = [n for n, t in zip(op.inputs, inputs) if n in op.pulls and not is_number(t)]
    asked = {k for n, e in zip(ruled, edges) if e is not None for k in op.pulls[n].keeps}
    refuse_inference([t for n, t in zip(op.inputs, inputs) if n in asked])


class Overwriting(Node):
    """An in-place op that is differentiated otherwise than out of place: see `Op.in_place_slope`."""

    __slots__ = ("like", "op")

    like: list[tuple[tuple[int, ...], DType]]
    op: Op

    def pull(self, g: Any) -> tuple[Any, ...]:
        if self.op.in_place_slope == "refused":
            raise NotImplementedError(f"the derivative for 'inplace version of {self.op.name}' is not implemented.")
        return tuple([None if e is None else np.zeros(s, d.numpy) for e, (s, d) in zip(self.edges, self.like)])

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        return tuple([None if z is None else fresh(z) for z in self.pull(g)])


@cache
def _overwriting_class(title: str) -> type[Overwriting]:
    return type(title, (Overwriting,), {"__slots__": ()})


def _overwriting(op: Op, inputs: tuple[Any, ...]) -> Node:
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    form = len(tensors) - 1 if op.in_place_slope == "zero" else 1
    node = object.__new__(_overwriting_class(f"{op.name.title()}Backward{form}"))
    node.edges, node.saved, node.checks, node.hooks = edges_through(inputs), (), None, None
    node.op, node.like = op, [(tuple(t.shape), t.dtype) for t in tensors]
    node.code, node.lasti = here_in_user_code()
    node.key = tick()
    return node


def _note_cut(inputs: tuple[Any, ...], target: Tensor, state: Ambient) -> None:
    """What was written without being recorded is why no gradient flows from the target."""
    others = [t for t in inputs[1:] if isinstance(t, Tensor)]
    wants = not state.grad and any([wants_grad(t) for t in others])
    passes_on(cut_here("no_grad") if wants else next((t.cut for t in others if t.cut is not None), None), target)


def _mark_overwritten(node: Node, target: Tensor) -> None:
    """What the node saved of the target's own memory was overwritten by this very op: backward must refuse it."""
    saved = node.saved
    if saved.__class__ is tuple and any(isinstance(t, Tensor) and t.store is target.store for t in saved):
        checks = node.checks or (0,) * len(saved)
        pairs = zip(checks, saved)
        node.checks = tuple([c - (isinstance(t, Tensor) and t.store is target.store) for c, t in pairs])


def _kept_original(op: Op, inputs: tuple[Any, ...], level: Any) -> tuple[Any, ...]:
    """The inputs with the overwritten one replaced by a copy, if a rule will want its old value."""
    name, target = op.inputs[0], inputs[0]
    asked = any(name in r.keeps for r in op.pulls.values()) or op.push is not None or op.family.diagonal
    copy = (fresh(target.raw.copy()) if level is None else level.copied(target)) if asked else target
    if copy is not target:
        copy.edge = target.edge if target.edge is not LEAF else accumulator(target)
        copy.extra = forward.kept_tangent(target)
        return (copy, *(copy if t is target else t for t in inputs[1:]))
    return inputs


_WRITTEN_LEAF = "leaf Variable that requires grad is being used in an in-place operation."


_WRITTEN_INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)


def check_writable(t: Tensor, recording: bool, name: str) -> None:
    """Refuse in-place changes that autograd could not follow, before anything is changed."""
    for tell in BEFORE_WRITE:
        tell(t)
    state = here()
    if isinstance(t.store, InferenceStore):
        if not state.inference and t.store.__class__ is InferenceStore:
            if recording and t.edge is LEAF:
                raise GraphError(leaf_text(t, f"a {_WRITTEN_LEAF}"))
            raise InferenceError(inference_text(t, _WRITTEN_INFERENCE))
        return
    if recording:
        _check_followed(t)


def refuse_unfollowed(t: Tensor, *others: Any) -> None:
    """Refuse a change of `t` that autograd could not follow, for an op that reads its other arguments only later."""
    if will_record((t, *others)) and not isinstance(t.store, InferenceStore):
        _check_followed(t)


def will_record(inputs: tuple[Any, ...]) -> bool:
    """Is a change of the first of these, by the others, part of the graph?"""
    wants = here().grad and any(isinstance(t, Tensor) and wants_grad(t) for t in inputs)
    return wants and inputs[0].dtype.category >= FLOAT


def _check_followed(t: Tensor) -> None:
    if t.viewed is not None:
        forbid(t)
        if t.viewed.base.edge is LEAF or (t.viewed.base.edge is None and t.edge is not None):
            raise GraphError(leaf_text(t.viewed.base, f"a view of a {_WRITTEN_LEAF}"))
    elif t.edge is LEAF:
        raise GraphError(leaf_text(t, f"a {_WRITTEN_LEAF}"))
