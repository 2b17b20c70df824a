"""Forward mode: a tangent beside each value, derived from the same rules. No op declares a jvp unless the derived one
is wrong or slow.

The tangent that an input's tangent causes comes, in this order, from: the op's own `jvp`; the op itself, if it is
linear; the pull rule read forwards, if the Jacobian is diagonal (elementwise); else from the pull rule's own transpose:
a pull is linear in `g`, so pulling through it is the push.
"""

from __future__ import annotations

from typing import Any, NoReturn

from chainrule.autograd.engine import run
from chainrule.autograd.node import AccumulateGrad, Freed, accumulator, edge_of
from chainrule.autograd.tangents import drop_tangents, set_tangent
from chainrule.autograd.versions import version_of
from chainrule.autograd.views import chain_of, replay
from chainrule.core.ambient import here, swapped
from chainrule.core.family import call, shape_of
from chainrule.core.op import Op
from chainrule.core.tensor import LEAF, Extra, Tensor

__all__ = [
    "active",
    "after_inplace",
    "drop_tangents",
    "kept_tangent",
    "primal",
    "push_outputs",
    "refuse",
    "set_tangent",
    "tangent_of",
    "transpose",
]


def active(inputs: tuple[Any, ...]) -> bool:
    """Does any input carry a tangent?"""
    for t in inputs:
        if isinstance(t, Tensor) and (
            (t.extra is not None and t.extra.tangent is not None) or (t.viewed is not None and _inherits(t))
        ):
            return here().forward_grad
    return False


def tangent_of(t: Any) -> Tensor | None:
    """The tangent of a value, if it has one."""
    if isinstance(t, Tensor) and (
        (t.extra is not None and t.extra.tangent is not None) or (t.viewed is not None and _inherits(t))
    ):
        extra: Any = t.extra
        found: Tensor = extra.tangent[1]
        return found
    return None


def _inherits(t: Tensor) -> bool:
    """A view older than the tangent that an in-place change gave its base: gets its part of that tangent now."""
    v: Any = t.viewed
    extra = v.base.extra
    if extra is None or extra.tangent is None or len(extra.tangent) < 3 or v.version >= extra.tangent[2]:
        return False
    level, tangent, _ = extra.tangent
    with swapped(forward_grad=False):
        set_tangent(t, replay(chain_of(v, t), tangent), level)
    return True


def primal(t: Any) -> Any:
    """The value without its tangent, gradients and view link kept."""
    if tangent_of(t) is None:
        return t
    alias: Tensor = t.rewrapped()
    alias.edge, alias.store, alias.cut = t.edge, t.store, t.cut
    if alias.edge is LEAF:
        alias.edge = accumulator(t)
    return alias


def push_outputs(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor]) -> None:
    """Set the tangents of an application's outputs."""
    level = next(t.extra.tangent[0] for t in inputs if tangent_of(t) is not None)
    given = [tangent_of(t) for t in inputs]
    with swapped(forward_grad=False):
        tangents = pushed(op, inputs, params, outs)
        # one tangent for two values: the first in-place change of either would change both
        tangents = [t.clone() if t is not None and any(t is g for g in given) else t for t in tangents]
    for t, tangent in zip(outs, tangents):
        if tangent is not None and (t.dtype.is_floating_point or t.dtype.is_complex):
            set_tangent(t, tangent, level)


def pushed(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor]) -> list[Tensor | None]:
    """The tangents of the outputs: a sum over the inputs that have one."""
    primals = tuple(primal(t) for t in inputs)
    ts = tuple(tangent_of(t) for t in inputs)
    if op.push is not None:
        result = op.push(primals, ts, outs[0] if op.outs is None else tuple(outs), params)
        return [result] if op.outs is None else list(result)
    if not op.pulls and not op.linear:
        return [None] * len(outs)
    if op.linear and (op.variadic or len(op.inputs) == 1):
        whole = tuple(call("zeros_like", p) if t is None else t for t, p in zip(ts, primals))
        result = op.call(whole, params)
        return [result] if op.outs is None else list(result)
    total: list[Tensor | None] = [None] * len(outs)
    for at, t in enumerate(ts):
        if t is not None and (op.variadic or op.inputs[at] in op.pulls):
            if not op.variadic and op.pulls[op.inputs[at]].refuses:
                refuse(op.name)
            for i, term in enumerate(_push_one(op, at, t, primals, params, outs)):
                total[i] = term if total[i] is None else total[i] if term is None else total[i] + term
    return total


def check_pushable(op: Op, inputs: tuple[Any, ...]) -> None:
    """Refuse an op that has no forward mode before it writes anything."""
    if op.push is None and not op.variadic:
        for name, t in zip(op.inputs, inputs):
            if name in op.pulls and op.pulls[name].refuses and tangent_of(t) is not None:
                refuse(op.name)


def refuse(name: str) -> NoReturn:
    """An op that has no forward mode, by what PyTorch says of it."""
    raise NotImplementedError(
        f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet."
    )


def _push_one(
    op: Op, at: int, t: Tensor, primals: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor]
) -> list[Tensor | None]:
    if op.linear:
        changed = (*primals[:at], t, *primals[at + 1 :])
        result = op.call(changed, params)
        return [result] if op.outs is None else list(result)
    keeps = _kept(op, at, primals, params, outs)
    rule = op.pulls[op.inputs[0 if op.variadic else at]]
    if op.family.diagonal and op.holomorphic:
        term = rule.fn(t, *keeps)
        return [_spread(term, outs[0])]
    return transpose(lambda g: _picked(op, rule.fn(g, *keeps), at), t, outs, op)


def _picked(op: Op, pulled: Any, at: int) -> Any:
    return pulled[at] if op.variadic else pulled


def _kept(op: Op, at: int, primals: tuple[Any, ...], params: dict[str, Any], outs: list[Tensor]) -> list[Any]:
    known: dict[str, Any] = {**params}
    if op.variadic:
        known |= {op.inputs[0]: primals, f"{op.inputs[0]}_shape": tuple(shape_of(p) for p in primals)}
    else:
        known |= dict(zip(op.inputs, primals))
        known |= {f"{n}_shape": shape_of(p) for n, p in zip(op.inputs, primals)}
        known |= {f"{n}_dtype": p.dtype for n, p in zip(op.inputs, primals) if isinstance(p, Tensor)}
    results = [primal(t) for t in outs]
    known["out"] = results[0]
    if isinstance(op.outs, tuple):
        known |= dict(zip(op.outs, results))
    return [known[k] for k in op.pulls[op.inputs[0 if op.variadic else at]].keeps]


def _spread(term: Tensor, out: Tensor) -> Tensor:
    shape = tuple(out.shape)
    term = term if tuple(term.shape) == shape else call("expand", term, size=shape).clone()
    return term if term.dtype is out.dtype else call("to_dtype", term, dtype=out.dtype)


def transpose(pull: Any, t: Tensor, outs: list[Tensor], op: Op) -> list[Tensor | None]:
    """Pull through a pull: what the linear map `pull` does to g, turned around, does to `t`.

    The engine gives the adjoint. A rule that is the plain transpose wants the transpose: conjugate before and after.
    """
    carriers = [outs[i] for i in op.differentiable] if op.outs != "many" else outs
    with swapped(grad=True, forward_grad=False):
        gs = [call("zeros_like", primal(o)) for o in carriers]
        for g in gs:
            g.edge, g.extra = LEAF, Extra()
        listed = op.outs == "many" or len(op.differentiable) > 1
        result = pull(tuple(gs) if listed else gs[0])
    if result is None or not result.requires_grad:
        return [None] * len(outs)
    wanted: dict[Any, Any] = {(accumulator(g), 0): None for g in gs}
    nodes: list[AccumulateGrad] = [accumulator(g) for g in gs]
    t = t if t.dtype is result.dtype else call("to_dtype", t, dtype=result.dtype)
    turned = op.holomorphic and t.dtype.is_complex
    with swapped(forward_grad=False):
        t = call("conj_physical", t) if turned else t
        run((edge_of(result),), (t,), tensors=True, keep=True, freed=Freed(None, 0), wanted=wanted)
        answers = [wanted[n, 0] for n in nodes]
        if turned:
            answers = [a if a is None else call("conj_physical", a) for a in answers]
    if op.outs == "many":
        return answers
    spread: list[Tensor | None] = [None] * len(outs)
    for i, a in zip(op.differentiable, answers):
        spread[i] = a
    return spread


def after_inplace(op: Op, originals: tuple[Any, ...], params: dict[str, Any], target: Tensor) -> None:
    """The tangent of what was overwritten."""
    level = next(t.extra.tangent[0] for t in originals if tangent_of(t) is not None)
    with swapped(forward_grad=False):
        (tangent,) = pushed(op, originals, params, [primal(target)])
    if tangent is None:
        tangent = call("zeros_like", primal(target))
    elif any(tangent is tangent_of(t) for t in originals):
        tangent = call("clone", tangent)
    held = tangent_of(target)
    with swapped(forward_grad=False):
        if held is None and target.viewed is not None:
            held = _given_to_base(target, tangent, level)
        if held is not None:
            held.copy_(tangent)
            return
    set_tangent(target, tangent, level, version_of(target))


def kept_tangent(t: Tensor) -> Extra | None:
    """What a copy of a value that is about to be changed needs: its tangent as it is, for that is changed too."""
    found = tangent_of(t)
    if found is None or t.extra is None:
        return None
    kept = Extra()
    with swapped(forward_grad=False):
        kept.tangent = (t.extra.tangent[0], call("clone", found))
    return kept


def _given_to_base(target: Tensor, tangent: Tensor, level: int) -> Tensor:
    """A view gets a tangent: so does its base, zero elsewhere. The part that is the view's."""
    v: Any = target.viewed
    base: Tensor = v.base
    whole = tangent_of(base)
    if whole is None:
        whole = tangent.new_zeros(base.shape, dtype=base.dtype)
        set_tangent(base, whole, level, version_of(base))
    part: Tensor = replay(chain_of(v, target), whole)
    set_tangent(target, part, level)
    return part
