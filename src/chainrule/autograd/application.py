"""One application of a custom Function: its forward is run, its outputs get their history and their tangents, and what
it saved is kept."""

from __future__ import annotations

from typing import Any

from chainrule.autograd import forward as forward_mode
from chainrule.autograd.anomaly_mode import remember
from chainrule.autograd.node import accumulator, tick
from chainrule.autograd.saved import SavedTensor, kept_input, kept_output
from chainrule.autograd.tangents import check_size
from chainrule.autograd.versions import store_of, touch, version_of
from chainrule.autograd.views import ViewKind, forbid, link, rebase, refresh
from chainrule.core.ambient import Ambient, here, put, without_grad
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call
from chainrule.core.notices import warn
from chainrule.core.op import REGISTRY
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import LEAF, PLAIN, Cut, Port, Tensor
from chainrule.errors import GraphError

__all__ = ["applied"]

_new = object.__new__


def applied(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: Ambient, level: Any = None) -> Any:
    """Run a Function and record it; `level` is the transform whose tensors the arguments are, None for
    ordinary ones."""
    ctx, records = _context(cls, args, state, level)
    if level is not None:
        ctx.__dict__["level"] = level
    dual = state.forward_grad and forward_mode.active(args)
    before = put(state.but(grad=False, forward_grad=False)) if dual else without_grad()
    try:
        if cls._separate:
            result = cls.forward(*args, **kwargs) if level is None else level.forward_of(cls, args)
            cls.setup_context(ctx, args, result)
            _refuse_saved_inputs(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
        several = isinstance(result, tuple)
        outs = _settled(ctx, args, result if several else (result,), records, state.grad)
    finally:
        try:
            put(before)
        except BaseException:  # Ctrl-C, just then
            put(before)
            raise
    if ctx.to_save is not None:
        _save(ctx, outs, records)
    if dual:
        _push(ctx, args, outs)
    if ctx.saved_for_forward is not None:
        ctx.saved_for_forward = None
    if ctx.dirty_tensors or ctx.non_differentiable:
        ctx.dirty_tensors = ctx.non_differentiable = ()  # which may be views whose base leads back here
    ctx.settled = True
    return tuple(outs) if several else outs[0]


_AS_IS = (
    "An input that has been returned as-is as output is being saved for {}. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) "
    "or setup ctx inside the forward function itself."
)


def _refuse_saved_inputs(ctx: Any, args: tuple[Any, ...], result: Any) -> None:
    """An input that is also an output is not the same tensor afterwards: what is saved could be neither."""
    if ctx.to_save is None and ctx.saved_for_forward is None:
        return
    inputs = {id(a) for a in args if isinstance(a, Tensor)} - {id(t) for t in ctx.dirty_tensors}
    both = inputs & {id(t) for t in (result if isinstance(result, tuple) else (result,))}
    for saved, mode in ((ctx.to_save, "backward"), (ctx.saved_for_forward, "forward")):
        if both and any(id(t) in both for t in saved or ()):
            raise RuntimeError(_AS_IS.format(mode))


def _context(cls: Any, args: tuple[Any, ...], state: Ambient, level: Any) -> tuple[Any, bool]:
    """The node, and whether it will be part of a graph."""
    needs, takes, facts, edges = [], [], [], []
    for a in args:
        if not isinstance(a, Tensor):
            needs.append(False)
            takes.append(False)
            continue
        if a.viewed is not None:
            refresh(a)
        edge = a.edge
        needs.append(edge is not None)
        takes.append(True)
        facts.append((a.raw.shape, a.dtype))
        edges.append(accumulator(a) if edge is LEAF else edge)
    records = state.grad and True in needs
    ctx = _new(cls._backward_cls if level is None else cls._generated_cls)
    ctx.needs_input_grad, ctx.takes_tensor, ctx.facts = tuple(needs), tuple(takes), tuple(facts)
    ctx.edges, ctx.saved, ctx.checks, ctx.hooks = tuple(edges) if records else (), (), None, None
    ctx.code, ctx.lasti = here_in_user_code()
    ctx.key, ctx.outputs = tick(), 1
    if state.anomaly is not None and records:
        remember(ctx)
    return ctx, records


def _settled(ctx: Any, args: tuple[Any, ...], given: tuple[Any, ...], records: bool, grad: bool) -> list[Any]:
    """The outputs with their history."""
    if records and len(given) == 1 and _is_new(ctx, given[0], args):
        (t,) = given
        ctx.made = [(t.raw.shape, t.dtype)]
        t.edge, t.cut = ctx, None
        return [t]
    if ctx._is_pure_view and (len(ctx.facts), len(given)) != (1, 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you need "
            "to support more."
        )
    ctx.outputs = len(given)
    made: list[Any] = []
    ctx.made = made
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    dirty = _marked(ctx.dirty_tensors, given, inputs)
    silent = {id(t) for t in ctx.non_differentiable}
    if silent and not all(isinstance(t, Tensor) for t in ctx.non_differentiable):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got something else")
    seen: dict[int, Any] = {}
    outs, carriers = list(given), []
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            made.append(None)
            continue
        made.append((t.raw.shape, t.dtype))
        carries = records and id(t) not in silent and (t.dtype.is_floating_point or t.dtype.is_complex)
        if not carries:
            ctx.__dict__.setdefault("_silent", set()).add(i)
        if records and id(t) in silent:
            t.cut = Cut("mark_non_differentiable", ctx.code, ctx.lasti)
        outs[i] = seen[id(t)] if id(t) in seen else _with_history(ctx, i, t, id(t) in inputs, id(t) in dirty, carries)
        seen[id(t)] = outs[i]
        if outs[i].viewed is not None and id(t) not in dirty and grad:
            outs[i].viewed.kind = ViewKind.DEFAULT if ctx._is_pure_view else ViewKind.FUNCTION
        if carries:
            carriers.append(outs[i])
    if len(carriers) > 1:
        for t in carriers:
            if t.viewed is not None and id(t) not in dirty:
                t.viewed.kind = ViewKind.MANY
    return outs


def _is_new(ctx: Any, t: Any, args: tuple[Any, ...]) -> bool:
    """Is the only output a plain tensor that `forward` made?"""
    if ctx.dirty_tensors or ctx.non_differentiable:
        return False
    is_made = t.__class__ is Tensor and t.viewed is None and id(t) not in map(id, args)
    return is_made and t.dtype.category >= FLOAT


def _marked(dirty: tuple[Any, ...], given: tuple[Any, ...], inputs: set[int]) -> set[int]:
    if not dirty:
        return set()
    returned = {id(t) for t in given}
    for t in dirty:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument is of type {type(t).__name__}")
        if id(t) not in returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The "
                "inputs that are modified inplace must all be outputs of the Function."
            )
        if id(t) not in inputs and t.viewed is not None:
            raise RuntimeError(
                "mark_dirty received a tensor that was not an input. A view that was made inside the forward "
                "cannot be marked as dirty; return it, or clone it."
            )
        if id(t) not in inputs:
            warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there "
                "is no need to pass it to mark_dirty().",
            )
        touch(t, "mark_dirty")
    return {id(t) for t in dirty}


def _with_history(ctx: Any, index: int, t: Tensor, is_input: bool, is_dirty: bool, carries: bool) -> Tensor:
    """One output, seen as made by `ctx`."""
    if not carries:
        return _without_history(t, is_input, is_dirty)
    edge = Port(ctx, index) if ctx.outputs > 1 else ctx
    if is_dirty and is_input:
        _rewritten(ctx, t, edge)
        return t
    if is_input:
        t = _alias(t)
    t.edge, t.cut = edge, None
    if t.viewed is not None:
        t.viewed.version = store_of(t).version
    return t


def _without_history(t: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    if is_input and t.edge is not None:
        found: Tensor = t.detach()
        return found
    if is_input and not is_dirty:
        return _alias(t)
    if t.edge is not None and t.viewed is None:
        t.edge = None
    return t


def _rewritten(ctx: Any, t: Tensor, edge: Any) -> None:
    """An input that was changed in place: its history is now this node."""
    if t.edge is LEAF:
        raise GraphError("a leaf Variable that requires grad has been used in an in-place operation.")
    if t.viewed is None:
        if t.extra is not None:
            t.extra.grad = None  # what was retained was that of another value
        rebase(t, ctx, edge)
        return
    forbid(t)
    if t.viewed.base.edge is LEAF:
        raise GraphError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if ctx.outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function "
            "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
            "should either make sure the input is not a view (using .clone() for example) or make your "
            "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
            "inplace that returns a single Tensor and a second one that does the other operations)."
        )
    rebase(t, ctx)


def _alias(t: Tensor) -> Tensor:
    """An input returned as it is becomes a view of itself: one tensor cannot have two histories."""
    if t.__class__ not in PLAIN:  # whatever the subclass makes of a view of itself
        return t.view_as(t)
    same = REGISTRY["view"]
    out = t.rewrapped()
    link(out, t, (same, {same.params[1]: tuple(t.shape)}, tuple(t.shape)), ViewKind.NO_GRAD)
    return out


def _save(ctx: Any, outs: list[Any], records: bool) -> None:
    """Keep what `save_for_backward` named; outputs as arrays, since a tensor would hold its own node."""
    to_save, ctx.to_save = ctx.to_save, None  # a pack hook may raise: nothing must hold an output then
    for at, t in enumerate(to_save):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {at} is of type {type(t).__name__}"
            )
    if not records:
        return
    dirty = {id(t) for t in ctx.dirty_tensors}
    places = {id(t): i for i, t in enumerate(outs) if isinstance(t, Tensor) and (id(t) in dirty or _made_by(ctx, t))}
    ctx.saved = tuple([_kept(ctx, t, places.get(id(t))) for t in to_save])


def _kept(ctx: Any, t: Any, place: int | None) -> SavedTensor:
    return kept_input(t) if place is None else kept_output(ctx, t.raw, place, store_of(t))


def _made_by(ctx: Any, t: Tensor) -> bool:
    edge = t.edge
    return (edge.node if edge.__class__ is Port else edge) is ctx


# -------------------------------------------------------------------------------------------------- forward mode


def _push(ctx: Any, args: tuple[Any, ...], outs: list[Any]) -> None:
    """The tangents of the outputs, by the user's `jvp`."""
    level = next(a.extra.tangent[0] for a in args if forward_mode.tangent_of(a) is not None)
    ctx.saved_for_forward = ctx.saved_for_forward or ()
    given = [forward_mode.tangent_of(a) for a in args]
    versions = {id(t): version_of(t) for t in given if t is not None}
    before = put(here().but(forward_grad=False))
    try:
        results = ctx.apply_jvp(*(_tangent(ctx, a) for a in args))
    finally:
        put(before)
    tangents = results if isinstance(results, tuple) else (results,)
    if len(tangents) != len(outs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} "
            f"but got {len(tangents)})"
        )
    dirty = {id(t) for t in ctx.dirty_tensors}
    changed = {id(t) for t in given if t is not None and version_of(t) != versions[id(t)]}
    for i, (out, t) in enumerate(zip(outs, tangents)):
        _set_one(ctx, args, i, out, t, level, changed if id(out) in dirty else None)


def _tangent(ctx: Any, a: Any) -> Any:
    if not isinstance(a, Tensor):
        return None
    t = forward_mode.tangent_of(a)
    if t is None and ctx._materialize and (a.dtype.is_floating_point or a.dtype.is_complex):
        return call("zeros_like", forward_mode.primal(a))
    return t


def _set_one(ctx: Any, args: Any, index: int, out: Any, t: Any, level: int, changed: set[int] | None) -> None:
    """One output's tangent; `changed`, for an output that was changed in place: which tangents `jvp`
    changed."""
    if not isinstance(out, Tensor):
        if t is not None and isinstance(t, Tensor):
            raise RuntimeError(
                f"function {ctx.name()} returned a forward gradient for output {index}, which is no Tensor. "
                "You should return None at that position instead."
            )
        return
    if t is not None and not isinstance(t, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {index}.")
    silent = any(out is s for s in ctx.non_differentiable) or not (out.dtype.is_floating_point or out.dtype.is_complex)
    if silent and t is not None:
        raise RuntimeError(
            f"function {ctx.name()} returned a forward gradient for output {index} that is marked "
            "non-differentiable (or not of a floating point dtype). You should return None at that position "
            "instead."
        )
    if changed is not None:
        _check_inplace_tangent(args, out, t, changed)
    elif out.viewed is not None and not silent:
        _check_view_tangent(args, out, t)
    if t is not None:
        check_size(out, t)
        forward_mode.set_tangent(out, t, level)


def _check_inplace_tangent(args: tuple[Any, ...], out: Tensor, t: Any, changed: set[int]) -> None:
    held = forward_mode.tangent_of(out)
    if any(a is out for a in args) and (held is not t or id(t) not in changed):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward "
            "is modifying an input inplace, then the jvp function must modify the corresponding gradient "
            "inplace."
        )


def _check_view_tangent(args: tuple[Any, ...], out: Tensor, t: Any) -> None:
    assert out.viewed is not None
    base = out.viewed.base
    inputs = (a for a in args if isinstance(a, Tensor))
    source = next((a for a in inputs if a is base or (a.viewed and a.viewed.base is base)), None)
    given = forward_mode.tangent_of(source)
    if source is None or given is None or t is None:
        return
    what = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
    if t.viewed is None:
        raise RuntimeError(f"{what}.")
    if source.viewed is not None and given.viewed is not None:
        if t.viewed.base is not given.viewed.base:
            raise RuntimeError(f"{what} of the same base as the given tangent.")
    elif t.viewed.base is not given:
        raise RuntimeError(f"{what} of the given input tangent.")
