"""The engine: one pass over the graph, youngest node first. It knows nodes, never particular ops.

`run` works in one of two worlds. On bare arrays (first-order backward) rules compute arrays. On tensors
(`create_graph`, or while a transform listens) they compute tensors, which record their own graph.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from traceback import walk_tb
from typing import Any

from numpy import ndarray

from chainrule.autograd import hot
from chainrule.autograd.anomaly_mode import watched
from chainrule.autograd.hooks import run_after, run_before, run_tensor_hooks
from chainrule.autograd.node import LEAF_HOOKS, AccumulateGrad, Freed, Node, node_of
from chainrule.autograd.saved import Packed
from chainrule.autograd.tasks import (
    COLLECT,
    NESTED,
    PULL,
    SKIP,
    Task,
    leaves_first,
    on_fresh_stack,
    roles_of,
    running,
)
from chainrule.core.ambient import here, put
from chainrule.core.function_protocol import PASSES
from chainrule.core.sites import INSIDE, picture
from chainrule.core.tensor import Port
from chainrule.errors import GraphError

__all__ = ["Wanted", "run"]

ARRAYS, TENSORS, WATCHED = 0, 1, 2  # what cotangents are; plus WATCHED: anomaly mode looks at each
_PYTHON = operator.add, operator.iadd  # how cotangents are added that are no mere arrays
NONE = 1  # above every key: no node waits on top

Wanted = dict[tuple[Node, int], Any]  # (node, output index) -> the cotangent that arrived there


def run(
    edges: Sequence[Any],
    gs: Sequence[Any],
    *,
    tensors: bool,
    keep: bool,
    freed: Freed | None,
    wanted: Wanted | None = None,
    landing: set[Node] | None = None,
) -> None:
    """Pull the cotangents `gs`, which arrive at `edges`, through the graph.

    `tensors`: compute on tensors, not arrays. `keep`: leave the saved values in place, else put `freed` there.
    `wanted`: fill in these cotangents and visit only what leads to them. `landing`: with `wanted`, the nodes that are
    pulled all the same, leaves accumulate.

    A cotangent may be None, nothing arrived: it travels on like zeros that nobody computes, and hooks see it.
    """
    if hot.waits:
        hot.look(edges)
    roles = None if wanted is None else roles_of(wanted, edges, landing)
    moved = leaves_first(edges) if LEAF_HOOKS else ()
    outer, before = running.task, here()
    running.task = task = Task(edges, keep, roles, landing, outer)
    world = (TENSORS if tensors else ARRAYS) + (WATCHED if before.anomaly is not None else 0)
    try:
        if task.depth % NESTED == NESTED - 1:
            on_fresh_stack(partial(_run, edges, gs, world, keep, freed, wanted, roles))
        else:
            _run(edges, gs, world, keep, freed, wanted, roles)
        if task.callbacks:
            task.finish()
    finally:
        running.task = outer
        for leaf, key in moved:
            leaf.key = key  # by its age it may be reached from graphs older than this one
        try:
            put(before)  # a hook may have entered a mode and not left it
        except BaseException:  # Ctrl-C, just then
            put(before)
            raise


def _run(edges: Any, gs: Any, world: int, keep: bool, freed: Freed | None, wanted: Any, roles: Any) -> None:
    """The loop: hand the cotangents on, take the youngest node that waits, pull."""
    heap: list[int] = []  # keys of what waits, but for one on top, which in a chain saves a push and a pop per node
    # key -> [node, what arrived so far, is it an array of our own: from the second sum on it grows in place]
    pending: dict[int, list[Any]] = {}
    top: Any = None
    top_g: Any = None
    top_key = NONE
    node: Any = None
    held: Any
    unusual = world > TENSORS or roles is not None
    add, add_into = hot.SUMS if world is ARRAYS else _PYTHON
    try:
        while True:
            for edge, g in zip(edges, gs):
                if edge is None:
                    continue
                if g is None:
                    _nothing(edge, pending, heap, top_key)
                    continue
                if edge.__class__ is Port:
                    at, edge = edge.index, edge.node
                    held = top_g if edge is top else pending[edge.key][1] if edge.key in pending else None
                    if held is not None:
                        held[at] = g if held[at] is None else held[at] + g
                        continue
                    held = [None] * edge.outputs
                    held[at], g = g, held
                key = edge.key
                if key == top_key:
                    top_g = add(top_g, g)
                elif key in pending:
                    held = pending[key]
                    if held[2]:
                        held[1] = add_into(held[1], g)
                    elif held[1] is None:
                        held[1] = g
                    else:
                        held[1] = add(held[1], g)
                        held[2] = held[1].__class__ is ndarray
                elif key < top_key:
                    if top is not None:
                        pending[top_key] = [top, top_g, False]
                        heappush(heap, top_key)
                    top, top_g, top_key = edge, g, key
                else:
                    pending[key] = [edge, g, False]
                    heappush(heap, key)
            g = gs = held = None  # a leaf may keep an array only if nobody else holds it
            if heap and heap[0] < top_key:
                node, g, _ = pending.pop(heappop(heap))
            elif top is not None:
                node, g = top, top_g
                top = top_g = None
                top_key = NONE
            else:
                return
            if node.hooks is not None or g is None or (unusual and (roles is None or node in roles or world > TENSORS)):
                gs, edges = _visit(node, g, world, wanted, roles)
                if edges is None:  # not on the way to what is wanted
                    gs = edges = ()
                    continue
            elif world is ARRAYS:
                gs, edges = node.pull(g), node.edges
            else:
                gs, edges = node.pull_graph(g), node.edges
            if not keep and node.saved and node.frees:
                node.saved = freed
    except Exception as error:
        _show_forward(error, node)
        if _came_back_unfit(error, node):
            raise RuntimeError(
                f"{error}: a saved tensor came back in another shape, from saved-tensor hooks or from the second run "
                "of a checkpointed function"
            ) from error
        raise


def _computes() -> bool:
    """Is it a pass that calls, not a user's function that it runs?"""
    frame = None if running.task is None else sys._getframe(1)
    while frame is not None and INSIDE[frame.f_code.co_filename]:
        if frame.f_code is _run.__code__:
            return True
        frame = frame.f_back
    return False


PASSES.append(_computes)


def _nothing(edge: Any, pending: dict[int, list[Any]], heap: list[int], top_key: int) -> None:
    """A node that nothing reached waits for its turn all the same."""
    node = node_of(edge)
    if node.key != top_key and node.key not in pending:
        pending[node.key] = [node, None, False]
        heappush(heap, node.key)


def _visit(node: Node, g: Any, world: int, wanted: Any, roles: Any) -> tuple[Any, Any]:
    """Everything that a node may have around its pull: hooks, a cotangent somebody wants, nothing to pull."""
    role = PULL if roles is None else roles.get(node, PULL)
    hooks = node.hooks
    if g is None and node.outputs > 1:
        g = [None] * node.outputs
    if role is SKIP and (hooks is None or not _is_only_root(node)):
        return (), None
    if hooks is not None:
        g = run_tensor_hooks(node, g)
    if role & COLLECT:
        _collect(node, g, wanted)
    if not role & PULL:
        return (), None
    if hooks is not None:
        g = run_before(node, g)
    edges = node.edges
    gs: Any
    if not node.takes_none and (g is None or (node.outputs > 1 and all([part is None for part in g]))):
        gs = (None,) * len(edges)
    elif world is ARRAYS:
        gs = node.pull(g)
    elif world is TENSORS:
        gs = node.pull_graph(g)
    else:
        gs = watched(node, g, world is not WATCHED)
    return gs if hooks is None else run_after(node, g, gs), edges


def _is_only_root(node: Node) -> bool:
    """The one place where a pass begins is visited, though nothing that is wanted lies behind it."""
    task = running.task
    return task is not None and len(task.edges) == 1 and node_of(task.edges[0]) is node


def _collect(node: Node, g: Any, wanted: Any) -> None:
    if node.outputs == 1:
        wanted[node, 0] = g
        return
    for index, part in enumerate(g):
        if (node, index) in wanted:
            wanted[node, index] = part


def _came_back_unfit(error: Exception, node: Node | None) -> bool:
    """Did a rule meet an array that does not fit, in place of what the node saved? Others' code may raise what it
    likes."""
    if not isinstance(error, ValueError) or node is None or node.saved.__class__ is not Packed:
        return False
    *_, last = walk_tb(error.__traceback__)
    return INSIDE[last[0].f_code.co_filename]


def _show_forward(error: Exception, node: Node | None) -> None:
    """Add the forward line of the node whose pull failed, once."""
    if node is None or isinstance(node, AccumulateGrad) or getattr(error, "__chainrule_forward__", False):
        return
    if node.code is not None and not isinstance(error, GraphError):  # whose text names the line already
        place = picture(node.code, node.lasti)
        error.add_note(f"This happened in the backward of {node.name()}, recorded at {place}")
        error.__chainrule_forward__ = True  # type: ignore[attr-defined]
