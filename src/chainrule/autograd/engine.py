"""The engine: one pass over the graph, youngest node first. It knows nodes, never particular ops.

`run` works in one of two worlds. On bare arrays (first-order backward) rules compute arrays. On tensors
(`create_graph`,
or while a transform listens) they compute tensors, which record their own graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from numpy import ndarray

from chainrule.autograd.anomaly_mode import watched
from chainrule.autograd.hooks import run_after, run_before, run_tensor_hooks
from chainrule.autograd.node import LEAF_HOOKS, AccumulateGrad, Freed, Node, node_of
from chainrule.autograd.tasks import NESTED, Task, leading_to, leaves_first, on_fresh_stack, running
from chainrule.core.ambient import here, put
from chainrule.core.sites import picture
from chainrule.core.tensor import Port
from chainrule.errors import GraphError

__all__ = ["Wanted", "run"]

ARRAYS, TENSORS, WATCHED = 0, 1, 2  # what cotangents are; watched: whichever, and anomaly mode looks at each
NONE = 1  # above every key: no node waits on top

Wanted = dict[tuple[Node, int], Any]  # (node, output index) -> the cotangent that arrived there


def run(
    roots: Iterable[tuple[Any, Any]],
    *,
    tensors: bool,
    keep: bool,
    freed: Freed,
    wanted: Wanted | None = None,
    landing: set[Node] | None = None,
) -> None:
    """Pull the cotangents of `roots`, pairs (edge, g), through the graph.

    `tensors`: compute on tensors, not arrays. `keep`: leave the saved values in place, else put `freed`
    there.
    `wanted`: fill in these cotangents and visit only what leads to them. `landing`: with `wanted`, the nodes
    that are
    pulled all the same, leaves accumulate.

    A cotangent may be None, nothing arrived: it travels on like zeros that nobody computes, and hooks see it.
    """
    edges, gs = zip(*roots)
    on_path = None if wanted is None else leading_to({node for node, _ in wanted}, edges)
    if LEAF_HOOKS:
        leaves_first(edges)
    outer, before = running.task, here()
    running.task = task = Task(edges, keep, on_path, landing, outer)
    try:
        if task.depth % NESTED == NESTED - 1:
            on_fresh_stack(lambda: _run(edges, gs, tensors, keep, freed, wanted, on_path, landing))
        else:
            _run(edges, gs, tensors, keep, freed, wanted, on_path, landing)
        if task.callbacks:
            task.finish()
    finally:
        running.task = outer
        if here() is not before:
            put(before)  # a hook may have entered a mode and not left it


def _run(edges: Any, gs: Any, tensors: bool, keep: bool, freed: Freed, wanted: Any, on_path: Any, landing: Any) -> None:
    """The loop: take the youngest node that waits, pull, hand its cotangents on."""
    world = WATCHED if here().anomaly is not None else TENSORS if tensors else ARRAYS
    targets = () if wanted is None else {node for node, _ in wanted}
    heap: list[int] = []  # keys of what waits, but for one on top, which in a chain saves a push and a pop per node
    # key -> [node, what arrived so far, is it an array of our own: from the second sum on it grows in place]
    pending: dict[int, list[Any]] = {}
    top: Any = None
    top_g: Any = None
    top_key = NONE
    node: Any = None
    held: Any
    try:
        while True:
            for edge, g in zip(edges, gs):
                if edge is None:
                    continue
                if g is None:
                    _nothing(edge, pending, heap, top_key)
                    continue
                if edge.__class__ is Port:
                    _at_port(edge, g, pending, heap)
                    continue
                key = edge.key
                if key == top_key:
                    top_g = top_g + g
                elif key in pending:
                    held = pending[key]
                    if held[2]:
                        held[1] += g
                    elif held[1] is None:
                        held[1] = g
                    else:
                        held[1] = held[1] + g
                        held[2] = held[1].__class__ is ndarray
                elif key < top_key:
                    if top_key is not NONE:
                        pending[top_key] = [top, top_g, False]
                        heappush(heap, top_key)
                    top, top_g, top_key = edge, g, key
                else:
                    pending[key] = [edge, g, False]
                    heappush(heap, key)
            g = gs = held = None  # a leaf may keep an array only if nobody else holds it
            if heap and heap[0] < top_key:
                node, g, _ = pending.pop(heappop(heap))
            elif top_key is not NONE:
                node, g, top_key, top_g = top, top_g, NONE, None
            else:
                return
            if on_path is not None and not (on_path.get(node) or node in targets):
                edges = gs = ()
                continue
            hooks = node.hooks
            if hooks is not None:
                g = run_tensor_hooks(node, g)
            if on_path is not None:
                _collect(node, g, wanted)
                if not on_path.get(node) and (landing is None or node not in landing):
                    edges = gs = ()
                    continue
            if hooks is not None:
                g = run_before(node, g)
            edges = node.edges
            if g is None and not node.takes_none:
                gs = (None,) * len(edges)
            elif world is ARRAYS:
                gs = node.pull(g)
            elif world is TENSORS:
                gs = node.pull_graph(g)
            else:
                gs = watched(node, g, tensors)
            if hooks is not None:
                gs = run_after(node, g, gs)
            if not keep and node.frees and node.saved:
                node.saved = freed
    except Exception as error:
        _show_forward(error, node)
        raise


def _nothing(edge: Any, pending: dict[int, list[Any]], heap: list[int], top_key: int) -> None:
    """A node that nothing reached waits for its turn all the same."""
    node = node_of(edge)
    if node.key != top_key and node.key not in pending:
        pending[node.key] = [node, None if edge.__class__ is not Port else [None] * node.outputs, False]
        heappush(heap, node.key)


def _at_port(port: Port, g: Any, pending: dict[int, list[Any]], heap: list[int]) -> None:
    """Add `g` in its place among the cotangents of a node with several outputs."""
    node = port.node
    held = pending.get(node.key)
    if held is None:
        held = pending[node.key] = [node, [None] * node.outputs, False]
        heappush(heap, node.key)
    before = held[1][port.index]
    held[1][port.index] = g if before is None else before + g


def _collect(node: Node, g: Any, wanted: Any) -> None:
    if node.outputs == 1:
        if (node, 0) in wanted:
            wanted[node, 0] = g
        return
    for index, part in enumerate(g):
        if (node, index) in wanted:
            wanted[node, index] = part


def _show_forward(error: Exception, node: Node | None) -> None:
    """Add the forward line of the node whose pull failed, once."""
    if node is None or isinstance(node, AccumulateGrad) or getattr(error, "__chainrule_forward__", False):
        return
    if node.code is not None and not isinstance(error, GraphError):  # whose text names the line already
        place = picture(node.code, node.lasti)
        error.add_note(f"This happened in the backward of {node.name()}, recorded at {place}")
        error.__chainrule_forward__ = True  # type: ignore[attr-defined]
