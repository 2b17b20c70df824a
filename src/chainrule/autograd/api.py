"""`backward` and `grad`: from what a user asks for to one run of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.cuts import cut_here
from chainrule.autograd.engine import Wanted, run
from chainrule.autograd.explain import detached_text, not_scalar_text, unused_text
from chainrule.autograd.node import Freed, Node, Sink, accumulator, node_of, sink
from chainrule.autograd.views import refresh
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import is_sparse
from chainrule.core.ambient import LISTENING, here, swapped
from chainrule.core.family import call
from chainrule.core.function_protocol import override
from chainrule.core.notices import warn, warn_once
from chainrule.core.shape import Size
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import FOREIGN, LEAF, PLAIN, WRAPPERS, Port, Tensor, fresh
from chainrule.errors import DetachedError, UnusedError

__all__ = ["backward", "backward_of_scalar", "grad", "gradient_edge"]

Tensors = Any  # a tensor, a GradientEdge, or a sequence of them

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
    "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to "
    "avoid this. If you have to use this function, make sure to reset the .grad fields of your parameters to "
    "None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` with respect to the leaves and add them to their `.grad`."""
    roots = _sequence(tensors)
    if _overridable(roots):
        given = inputs if inputs is None else tuple(_chosen(inputs, "backward"))
        how = {"retain_graph": retain_graph, "create_graph": create_graph, "inputs": given}
        if override(backward, roots, (tuple(roots),), {"grad_tensors": grad_tensors, **how}, here())[0]:
            return
    if here().stack:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    if create_graph:
        warn_once(_CYCLE)
    chosen = None if inputs is None else _chosen(inputs, "backward")
    starts = _starts(roots, _gradients(grad_tensors, len(roots)))
    wanted, landing = _targets(chosen) if chosen is not None else (None, None)
    if starts:
        _go(starts, create_graph, create_graph if retain_graph is None else retain_graph, wanted, landing)


def _overridable(values: list[Any]) -> bool:
    """May a subclass or a mode have a word?"""
    return any([t.__class__ not in PLAIN and t.__class__ not in FOREIGN for t in values]) or bool(
        LISTENING and here().modes
    )


def _renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
    if grad_tensors is None:
        return grad_variables
    raise RuntimeError(
        "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
        "use `grad_tensors`."
    )


def _chosen(inputs: Any, name: str) -> list[Any]:
    """The inputs as a list; a dict gives its values."""
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. Other Mapping "
                "types are not supported."
            )
        inputs = inputs.values()
    found = _sequence(inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    return found


def backward_of_scalar(t: Tensor, keep: bool) -> bool:
    """The common case of `backward`, straight to the engine; False if this is not it."""
    if LISTENING or WRAPPERS or t.__class__ is not Tensor:
        return False
    if t.viewed is not None:
        refresh(t)
    raw, edge = t.raw, t.edge
    if edge is None or edge is LEAF or raw.shape != () or raw.dtype.kind != "f":
        return False
    first = edge.node.key if edge.__class__ is Port else edge.key
    freed = None if keep else Freed(*here_in_user_code(), first)
    run((edge,), (raw.dtype.type(1),), tensors=False, keep=keep, freed=freed)
    return True


def _targets(chosen: list[Any]) -> tuple[Wanted, set[Node]]:
    """`backward(inputs=...)`: leaves accumulate; others keep the gradient that passes by."""
    wanted: Wanted = {}
    landing: set[Node] = set()
    for at, t in enumerate(chosen):
        if isinstance(t, Tensor):
            t.retain_grad()
        port = _port(_target_edge(t, at))
        wanted[port] = None
        landing.add(port[0])
    return wanted, landing


def _sequence(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) or _is_edge(tensors) else list(tensors)


def _is_edge(t: Any) -> bool:
    return isinstance(t, tuple) and hasattr(t, "node") and hasattr(t, "output_nr")


def _gradients(given: Any, size: int) -> list[Any]:
    if given is None:
        return [None] * size
    found = [given] if isinstance(given, Tensor) else list(given)
    for g in found[:size]:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(found) < size:
        raise RuntimeError(f"got {size} tensors and {len(found)} gradients")
    return found[:size]


def gradient_edge(t: Any) -> Any:
    """Where a gradient of a tensor, or of a GradientEdge, arrives; None if nowhere."""
    if not isinstance(t, Tensor):
        return Port(t.node, t.output_nr) if t.node.outputs > 1 else t.node
    if t.__class__ is not Tensor and t.viewed is None and t.edge is None and hasattr(t, "underlying"):
        t = t.underlying()
    if t.viewed is not None:
        refresh(t)
    return accumulator(t) if t.edge is LEAF else t.edge


def _starts(roots: list[Any], gs: list[Any], batched: bool = False) -> list[tuple[Any, Any, Any]]:
    """(edge, root, its cotangent or None for ones) of each root."""
    starts = []
    for at, (t, g) in enumerate(zip(roots, gs)):
        if not isinstance(t, Tensor) and not _is_edge(t):
            raise AssertionError(f"Expected output to be a torch.Tensor, not {type(t).__name__}")
        edge = gradient_edge(t)
        lost = edge is None or edge.__class__ is Sink
        if g is not None:
            _check_cotangent(t, g, at, batched)
        elif not lost:
            _check_implicit(t)
        if lost:
            _no_gradient(t, at)
        starts.append((edge, t, g))
    return starts


def _facts(t: Any) -> tuple[tuple[int, ...], Any] | None:
    """Shape and dtype of a root; None of an edge whose node does not know."""
    if isinstance(t, Tensor):
        return tuple(t.shape), t.dtype
    metas = t.node.output_facts()
    return None if metas is None else (tuple(metas[t.output_nr][0]), metas[t.output_nr][1])


def _all_facts(t: Any) -> tuple[tuple[int, ...], Any]:
    """The same, whatever it takes."""
    found = _facts(t)
    if found is None:
        meta = t.node._input_metadata[t.output_nr]
        found = tuple(meta.shape), meta.dtype
    return found


def _check_implicit(t: Any) -> None:
    if t.__class__ is Tensor and t.raw.__class__ is np.ndarray and t.raw.size == 1 and t.raw.dtype.kind == "f":
        return
    shape, dtype = _all_facts(t)
    if any(n != 1 for n in shape):
        raise RuntimeError(not_scalar_text(t, shape))
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")


def _check_cotangent(t: Any, g: Any, at: int, batched: bool) -> None:
    facts = _facts(t)
    if facts is None:
        return
    shape, dtype = facts
    if batched and tuple(g.shape)[1:] != shape:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
            "dimension. The sizes of the remaining dimensions are expected to match the shape of "
            f"corresponding output, but a mismatch was detected: grad_output[{at}] has a shape of {g.shape} "
            f"and output[{at}] has a shape of {Size(shape)}. If you only want some tensors in `grad_output` "
            "to be considered batched, consider using vmap."
        )
    if not batched and tuple(g.shape) != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{at}] has a shape of {g.shape} and output[{at}] has a shape of "
            f"{Size(shape)}."
        )
    if dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
            f"in dtype: grad_output[{at}] has a dtype of {g.dtype} and output[{at}] has a dtype of {dtype}."
        )


def _no_gradient(t: Any, at: int) -> NoReturn:
    raise DetachedError(detached_text(t, f"element {at} of tensors does not require grad and does not have a grad_fn"))


def _go(
    starts: list[tuple[Any, Any, Any]], create_graph: bool, keep: bool, wanted: Wanted | None, landing: set[Node] | None
) -> bool:
    """Choose the world, bring the first cotangents to it, run. Says whether it computed on tensors."""
    state = here()
    # tangents travel with tensors: forward mode over reverse mode
    tensors = create_graph or state.dual >= 0 or bool(state.stack or state.dispatch or WRAPPERS)
    if not tensors:
        tensors = any([(t if g is None else g).__class__ in _NOT_BARE for _, t, g in starts])
    edges = [e for e, _, _ in starts]
    freed = None if keep else Freed(*here_in_user_code(), node_of(edges[0]).key)
    if not tensors:
        gs = [_one(t) if g is None else _cast(g, t) for _, t, g in starts]
        run(edges, gs, tensors=False, keep=keep, freed=freed, wanted=wanted, landing=landing)
        return False
    gs = [_ones(t) if g is None else g for _, t, g in starts]
    if state.grad is create_graph:
        run(edges, gs, tensors=True, keep=keep, freed=freed, wanted=wanted, landing=landing)
    else:
        with swapped(grad=create_graph):
            run(edges, gs, tensors=True, keep=keep, freed=freed, wanted=wanted, landing=landing)
    return True


_NOT_BARE: set[type] = set()  # classes whose instances are no records over arrays: transforms add theirs


def _ones(t: Any) -> Any:
    if t.__class__ is Tensor and t.raw.__class__ is np.ndarray and not LISTENING:
        return fresh(np.ones(t.raw.shape, t.raw.dtype))
    if isinstance(t, Tensor):
        return call("ones_like", t)
    shape, dtype = _all_facts(t)
    return fresh(np.ones(shape, dtype.numpy))


def _one(t: Any) -> Any:
    if not isinstance(t, Tensor):
        return _ones(t).raw
    raw = t.raw
    return raw.dtype.type(1) if raw.ndim == 0 else np.ones(raw.shape, raw.dtype)


def _cast(g: Tensor, t: Any) -> Any:
    """A given cotangent as an array of the output's dtype; an edge may not know it."""
    facts = _facts(t)
    dtype = g.dtype if facts is None else facts[1]
    raw = resolved(g.raw)
    return raw if dtype is g.dtype else raw.astype(dtype.numpy)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, returned instead of accumulated."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    unused = materialize_grads if allow_unused is None else allow_unused
    roots, targets = _sequence(outputs), _chosen(inputs, "grad")
    if _overridable([*roots, *targets]):
        how = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "only_inputs": only_inputs, "allow_unused": unused, "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }  # fmt: skip
        done, result = override(grad, [*roots, *targets], (tuple(roots), tuple(targets)), how, here())
        if done:
            return result
    keep = create_graph if retain_graph is None else retain_graph
    found = _gradient_list(roots, targets, grad_outputs, keep, create_graph, unused, is_grads_batched)
    if materialize_grads:
        found = [_materialized(t, g, create_graph) for t, g in zip(targets, found)]
    return dict(zip(inputs, found)) if isinstance(inputs, dict) else tuple(found)


def _gradient_list(
    roots: list[Any], targets: list[Any], gs: Any, keep: bool, create: bool, unused: bool, batched: bool
) -> list[Any]:
    for t in targets:
        if not isinstance(t, Tensor) and not _is_edge(t):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    starts = _starts(roots, _gradients(gs, len(roots)), batched)
    if batched:
        return _batched_grad(roots, targets, _gradients(gs, len(roots)), create, unused)
    edges = [_target_edge(t, at) for at, t in enumerate(targets)]
    wanted: Wanted = {_port(e): None for e in edges}
    tensors = _go(starts, create, keep, wanted, None) if starts else True
    found = []
    for at, edge in enumerate(edges):
        g = wanted[_port(edge)]
        if g is None and not unused:
            raise UnusedError(unused_text(at, targets[at], edge, [e for e, _, _ in starts]))
        found.append((g if create else _writable(g)) if tensors or g is None else fresh(_dense(g)))
    _note_cuts(found, create)
    return found


def _port(edge: Any) -> tuple[Node, int]:
    return (edge.node, edge.index) if edge.__class__ is Port else (edge, 0)


def _target_edge(t: Any, at: int) -> Any:
    edge = gradient_edge(t)
    if edge is None:
        phrase = "One of the differentiated Tensors does not require grad"
        raise DetachedError(detached_text(t, phrase, f"inputs[{at}]"))
    return sink() if edge.__class__ is Sink else edge


def _note_cuts(gs: list[Any], create_graph: bool) -> None:
    """Gradients that cannot be differentiated again know why."""
    cut = None
    for g in gs:
        if g is not None and g.edge is None and g.cut is None:
            g.cut = cut = cut or cut_here("linear" if create_graph else "grad")


def _dense(g: Any) -> Any:
    """An array a user may write to: rules hand out broadcast ones."""
    if is_sparse(g):
        return g
    g = np.asarray(g)
    return g if g.flags.writeable and 0 not in g.strides else g.copy()


def _writable(g: Any) -> Any:
    """A gradient that a user may write to: rules hand out tensors, too, the elements of which share memory."""
    if g.__class__ is not Tensor or g.raw.__class__ is not np.ndarray or 0 not in g.raw.strides:
        return g
    apart = fresh(g.raw.copy())
    apart.cut = g.cut
    return apart


def _materialized(t: Any, g: Any, create_graph: bool) -> Any:
    """Zeros where nothing arrived."""
    if g is not None:
        return g
    if not isinstance(t, Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros: Any = call("zeros_like", t)
    return zeros.requires_grad_() if create_graph else zeros


def _batched_grad(roots: list[Any], targets: list[Any], given: list[Any], create: bool, unused: bool) -> list[Any]:
    """One backward for a batch of cotangents: vmap over `grad`."""

    def one(*row: Any) -> Any:
        filled = iter(row)
        gs = [None if g is None else next(filled) for g in given]
        return tuple(_gradient_list(roots, targets, gs, True, create, unused, False))

    found = list(BATCHED[0](one, [g for g in given if g is not None]))
    return found if create else [_writable(g) for g in found]


BATCHED: list[Any] = []  # the vmap that `is_grads_batched` uses; put here by func.vmap
