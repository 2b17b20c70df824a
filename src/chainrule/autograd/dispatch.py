"""Ops answered by modes and subclasses (`__torch_dispatch__`), recorded as if they had been computed.

What answers stands where arrays are otherwise computed: the tensors it is given and gives are those of autograd, and
what a node keeps of a result that an answer made is that tensor without its history.
"""

from __future__ import annotations

from typing import Any

from chainrule.autograd.door import Inplace, set_answerer
from chainrule.autograd.eager import attach, eager_inplace
from chainrule.autograd.overloads import created, made_overload, overload_of, written
from chainrule.core.ambient import here, put, swapped, without_grad
from chainrule.core.dispatch_protocol import ask
from chainrule.core.family import call
from chainrule.core.op import Op
from chainrule.core.tensor import WRAPPERS, Tensor, fresh

__all__ = ["answered", "answered_creation", "answered_scalar"]


class _Answers:
    """Where results come from answers: what autograd asks of a level."""

    answers = True

    def wrap(self, t: Any) -> Any:
        """An answer as a result: itself, unless it has a history already."""
        return call("detach", t) if isinstance(t, Tensor) and t.edge is not None else t

    def kept(self, outs: tuple[Tensor, ...]) -> tuple[Any, ...]:
        """Results as a node keeps them, without history: tensors of classes that answer, the arrays of others."""
        return tuple([call("detach", t) if t.__class__ in WRAPPERS else t.raw for t in outs])

    def copied(self, t: Tensor) -> Tensor:
        """A copy of a tensor that is about to be changed."""
        if t.__class__ not in WRAPPERS:
            return fresh(t.raw.copy())
        before = without_grad()
        try:
            return call("clone", t)  # type: ignore[no-any-return]
        finally:
            put(before)


_LEVEL = _Answers()


def answered(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """One op, answered and recorded."""
    if op.__class__ is Op and op.steps is not None:
        return op.steps(*inputs, **params)
    func = overload_of(op, inputs, params)
    args, kwargs = written(op, inputs, params)
    if op.__class__ is Inplace:
        return eager_inplace(op.base, inputs, params, _LEVEL, lambda: ask(func, args, kwargs))
    result = ask(func, args, kwargs)
    return attach(op, inputs, params, _distinct(op, result, inputs), _LEVEL)


def _distinct(op: Op, result: Any, inputs: tuple[Any, ...]) -> Any:
    """A result that is an input must not be the same tensor: its history is another."""
    if op.outs is None:
        return call("detach", result) if any(result is t for t in inputs) else result
    return [call("detach", r) if any(r is t for t in inputs) else r for r in result]


def answered_creation(title: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that makes a tensor of nothing, answered by a mode: a new leaf."""
    state, named = here(), dict(kwargs)
    wants = named.pop("requires_grad", False)
    if args and all(a.__class__ is int for a in args) and title in _SIZED:
        args = (list(args),)
    with swapped(stack=()):
        t = ask(created(title), args, named)
    for interpreter in state.stack:
        t = interpreter.born(t)
    return t.requires_grad_() if wants else t


_SIZED = frozenset(("empty", "ones", "rand", "randn", "zeros"))


def answered_scalar(t: Tensor) -> Any:
    """The one element of a tensor, as a Python number."""
    return ask(made_overload("aten", "_local_scalar_dense", "default"), (t,), {})


set_answerer(answered, answered_creation, answered_scalar)
