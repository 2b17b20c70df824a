"""`backward` and `grad`: from what a user asks for to one run of the engine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.engine import Wanted, run
from chainrule.autograd.node import AccumulateGrad, Freed, Node, accumulator, node_of
from chainrule.autograd.views import refresh
from chainrule.core.ambient import LISTENING, here, swapped
from chainrule.core.family import call
from chainrule.core.sites import describe, here_in_user_code
from chainrule.core.tensor import LEAF, Port, Tensor, fresh
from chainrule.errors import DetachedError

__all__ = ["backward", "backward_of_scalar", "grad", "gradient_edge"]

Tensors = Any  # a tensor, a GradientEdge, or a sequence of them


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` with respect to the leaves and add them to their `.grad`."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("'grad_tensors' and 'grad_variables' (deprecated) arguments both passed to backward(). Please only use 'grad_tensors'.")  # fmt: skip
        grad_tensors = grad_variables
    roots = _sequence(tensors)
    chosen = None if inputs is None else _sequence(inputs)
    if chosen is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    starts = _starts(roots, _gradients(grad_tensors, len(roots)))
    wanted, landing = _targets(chosen) if chosen is not None else (None, None)
    _go(starts, create_graph, create_graph if retain_graph is None else retain_graph, wanted, landing)


def backward_of_scalar(t: Tensor, keep: bool) -> bool:
    """The common case of `backward`, straight to the engine; False if this is not it."""
    if LISTENING or t.__class__ is not Tensor:
        return False
    if t.view is not None:
        refresh(t)
    raw, edge = t.raw, t.edge
    if edge is None or edge is LEAF or raw.shape != () or raw.dtype.kind != "f":
        return False
    run(((edge, raw.dtype.type(1)),), tensors=False, keep=keep, freed=Freed(*here_in_user_code()))
    return True


def _targets(chosen: list[Any]) -> tuple[Wanted, set[Node]]:
    """`backward(inputs=...)`: leaves accumulate; others keep the gradient that passes by."""
    wanted: Wanted = {}
    landing: set[Node] = set()
    for t in chosen:
        edge = gradient_edge(t)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        node = node_of(edge)
        wanted[node, edge.index if edge.__class__ is Port else 0] = None
        if isinstance(node, AccumulateGrad):
            landing.add(node)
        elif isinstance(t, Tensor):
            t.retain_grad()  # type: ignore[attr-defined]
    return wanted, landing


def _sequence(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, Sequence) and not hasattr(tensors, "node") else [tensors]


def _gradients(given: Any, size: int) -> list[Any]:
    if given is None:
        return [None] * size
    found = [given] if isinstance(given, Tensor) else list(given)
    if len(found) != size:
        raise RuntimeError(f"got {size} tensors and {len(found)} gradients")
    return found


def gradient_edge(t: Any) -> Any:
    """Where a gradient of a tensor, or of a GradientEdge, arrives; None if nowhere."""
    if not isinstance(t, Tensor):
        return Port(t.node, t.output_nr) if t.node.outputs > 1 else t.node
    if t.__class__ is not Tensor and t.view is None and t.edge is None:
        t = t.underlying()  # type: ignore[attr-defined]
    if t.view is not None:
        refresh(t)
    return accumulator(t) if t.edge is LEAF else t.edge


def _starts(roots: list[Any], gs: list[Any]) -> list[tuple[Any, Any, Any]]:
    """(edge, root, its cotangent or None for ones) of each root."""
    starts = []
    for at, (t, g) in enumerate(zip(roots, gs)):
        edge = gradient_edge(t)
        if edge is None:
            _no_gradient(t, at)
        _check_implicit(t) if g is None else _check_cotangent(t, g, at)
        starts.append((edge, t, g))
    return starts


def _check_implicit(t: Any) -> None:
    if not isinstance(t, Tensor) or t.raw.size != 1 if isinstance(t.raw, np.ndarray) else t.numel() != 1:  # type: ignore[attr-defined]
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not t.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")


def _check_cotangent(t: Any, g: Any, at: int) -> None:
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if not isinstance(t, Tensor):
        return
    if tuple(t.shape) != tuple(g.shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{at}] has a shape of {g.shape} and output[{at}] has a shape of {t.shape}."
        )
    if t.dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{at}] has a dtype of {g.dtype} and output[{at}] has a dtype of {t.dtype}."
        )


def _no_gradient(t: Any, at: int) -> NoReturn:
    text = f"element {at} of tensors does not require grad and does not have a grad_fn"
    cut = t.cut if isinstance(t, Tensor) else None
    if cut is not None:
        text += f"\n  the graph was cut by {cut.how}, at {describe(cut.code, cut.lasti)}"
    elif isinstance(t, Tensor) and not (t.dtype.is_floating_point or t.dtype.is_complex):
        text += f"\n  its dtype is {t.dtype}: only floating point and complex tensors have gradients"
    else:
        text += "\n  nothing it was computed from requires a gradient: set requires_grad=True on the inputs before the forward"
    raise DetachedError(text)


def _go(
    starts: list[tuple[Any, Any, Any]], create_graph: bool, keep: bool, wanted: Wanted | None, landing: set[Node] | None
) -> bool:
    """Choose the world, bring the first cotangents to it, run. Says whether it computed on tensors."""
    tensors = create_graph or bool(here().stack) or any((t if g is None else g).__class__ in _NOT_BARE for _, t, g in starts)
    freed = Freed(*here_in_user_code())
    if tensors:
        roots = [(e, call("ones_like", t) if g is None else g) for e, t, g in starts]
        with swapped(grad=create_graph):
            run(roots, tensors=True, keep=keep, freed=freed, wanted=wanted, landing=landing)
    else:
        roots = [(e, _one(t) if g is None else _cast(g, t)) for e, t, g in starts]
        run(roots, tensors=False, keep=keep, freed=freed, wanted=wanted, landing=landing)
    return tensors


_NOT_BARE: set[type] = set()  # classes whose instances are no records over arrays: transforms add theirs


def _one(t: Tensor) -> Any:
    raw = t.raw
    return raw.dtype.type(1) if raw.ndim == 0 else np.ones(raw.shape, raw.dtype)


def _cast(g: Tensor, t: Any) -> Any:
    return g.raw.astype(t.raw.dtype) if isinstance(t, Tensor) and g.raw.dtype != t.raw.dtype else g.raw


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, returned instead of accumulated."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")  # fmt: skip
    allow_unused = bool(materialize_grads) if allow_unused is None else allow_unused
    roots, targets = _sequence(outputs), _sequence(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched_grad(roots, targets, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    starts = _starts(roots, _gradients(grad_outputs, len(roots)))
    edges = [_target_edge(t) for t in targets]
    wanted: Wanted = {_port(e): None for e in edges if e is not None}
    tensors = _go(starts, create_graph, keep, wanted, None)
    found = [None if e is None else wanted[_port(e)] for e in edges]
    return tuple(_answer(t, g, tensors, allow_unused, materialize_grads) for t, g in zip(targets, found))


def _port(edge: Any) -> tuple[Node, int]:
    return (edge.node, edge.index) if edge.__class__ is Port else (edge, 0)


def _target_edge(t: Any) -> Any:
    edge = gradient_edge(t)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _answer(t: Any, g: Any, tensors: bool, allow_unused: bool, materialize: bool) -> Any:
    if g is None:
        if materialize:
            return call("zeros_like", t, requires_grad=False)
        if not allow_unused:
            raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.")  # fmt: skip
        return None
    return g if tensors else fresh(np.asarray(g))


def _batched_grad(
    roots: list[Any], targets: list[Any], gs: Any, keep: bool, create: bool, unused: bool, materialize: bool
) -> tuple[Any, ...]:
    """One backward for a batch of cotangents: vmap over `grad`."""
    vmap = BATCHED[0]
    given = _gradients(gs, len(roots))

    def one(*row: Any) -> Any:
        filled = iter(row)
        return grad(roots, targets, [None if g is None else next(filled) for g in given], True, create, True)

    found = vmap(one, [g for g in given if g is not None])
    return tuple(_answer(t, g, True, unused, materialize) for t, g in zip(targets, found))


BATCHED: list[Any] = []  # the vmap that `is_grads_batched` uses; put here by func.vmap
