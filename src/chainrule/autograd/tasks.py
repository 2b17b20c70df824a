"""The backward pass that a thread is in: what it will visit, what is to be done at its end, how deep it is
nested."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import count
from math import inf
from operator import attrgetter
from typing import Any

from chainrule.autograd.node import NOWHERE, AccumulateGrad, Node, node_of
from chainrule.core.ambient import here, put
from chainrule.core.tensor import Port

__all__ = [
    "COLLECT", "NESTED", "PULL", "SKIP", "Task", "current", "execution_order", "leaves_first",
    "number_of", "on_fresh_stack", "queue_callback", "roles_of", "running", "will_execute",
]  # fmt: skip

# Backward passes inside each other on one thread's stack: Python allows 1,000 frames, each pass takes about ten.
NESTED = 24


class Task:
    """One run of the engine."""

    __slots__ = (
        "__weakref__", "callbacks", "depth", "edges", "keep", "landing", "notes", "number", "reach", "roles",
    )  # fmt: skip

    callbacks: list[Callable[[], Any]] | None
    number: int | None  # given when somebody asks: later passes have greater ones
    notes: dict[Any, Any] | None  # whatever hooks want to remember until the end of the pass
    reach: set[Node] | None  # what it visits, once somebody asked

    def __init__(self, edges: Any, keep: bool, roles: Any, landing: Any, outer: Task | None) -> None:
        self.edges, self.keep, self.roles, self.landing = edges, keep, roles, landing
        self.callbacks = self.number = self.notes = self.reach = None
        self.depth: int = 0 if outer is None else outer.depth + 1

    def note(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `key` left here earlier in this pass; made now if nothing."""
        if self.notes is None:
            self.notes = {}
        if key not in self.notes:
            self.notes[key] = make()
        return self.notes[key]

    def finish(self) -> None:
        """Run the callbacks; one may queue another."""
        while self.callbacks:
            self.callbacks.pop(0)()


class _Running(threading.local):
    task: Task | None = None


running = _Running()


def current() -> Task | None:
    """The innermost pass that this thread runs."""
    return running.task


def queue_callback(callback: Callable[[], Any]) -> None:
    """Run `callback()` at the end of the current backward pass."""
    task = running.task
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks = [*(task.callbacks or ()), callback]


_numbers = count()


def number_of(task: Task) -> int:
    """What tells this pass from others."""
    if task.number is None:
        task.number = next(_numbers)
    return task.number


def execution_order() -> list[Node]:
    """The nodes that the current pass runs, in that order."""
    task = running.task
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    return sorted(_visited(task), key=attrgetter("key"))


def will_execute(node: Any) -> bool:
    """Will the current pass run this node?"""
    task = running.task
    if not isinstance(node, Node):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got " + type(node).__name__)
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if task.roles is not None and task.landing is None and isinstance(node, AccumulateGrad):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return node in _visited(task)


SKIP, COLLECT, PULL = 0, 1, 2  # what a pass that wants certain cotangents does at a node; both is 3


def roles_of(
    wanted: Iterable[tuple[Node, int]], edges: Iterable[Any], landing: Iterable[Node] | None
) -> dict[Node, int]:
    """What to do at a node; one that is not here is pulled: an edge leads from it to something `wanted`, or `landing`.

    A pass stops at what is older than every target, which can lead to none.
    """
    roles = dict.fromkeys([node for node, _ in wanted], COLLECT)
    bound = max([node.key for node in roles], default=-inf)
    found: dict[float, Node] = {}
    ends: list[Node] = []
    todo = list(edges)
    while todo:
        e = todo.pop()
        if e is None:
            continue
        node = e.node if e.__class__ is Port else e
        key = node.key
        if key not in found:
            found[key] = node
            if key <= bound and node.edges:
                todo += node.edges
            else:
                ends.append(node)
    if not NOWHERE and all([node in roles for node in ends]):  # the usual case: all parameters are wanted
        for node in roles:
            if node.edges:
                roles[node] = COLLECT | PULL
    else:
        _skip_the_rest(roles, found)
    for node in landing or ():
        roles[node] |= PULL
    return roles


def _skip_the_rest(roles: dict[Node, int], found: dict[float, Node]) -> None:
    """Mark the nodes that lead to no target, the oldest first, and the targets that lead to another."""
    live = set(roles)
    for key in sorted(found, reverse=True):
        node = found[key]
        if any([e is not None and (e.node if e.__class__ is Port else e) in live for e in node.edges]):
            live.add(node)
            if node in roles:
                roles[node] = COLLECT | PULL
        else:
            roles.setdefault(node, SKIP)


def _visited(task: Task) -> set[Node]:
    """The nodes that cotangents get to, but for those that are left out."""
    if task.reach is None:
        roles = task.roles or {}
        reach: set[Node] = set()
        todo = list(task.edges)
        while todo:
            e = todo.pop()
            node = None if e is None else node_of(e)
            if node is not None and node not in reach and roles.get(node, PULL) is not SKIP:
                reach.add(node)
                todo += node.edges if roles.get(node, PULL) & PULL else ()
        task.reach = reach
    return task.reach


def leaves_first(edges: Iterable[Any]) -> list[tuple[AccumulateGrad, Any]]:
    """Let every leaf's turn come right after the oldest node that leads to it, in the order of that node's inputs.
    Returns the keys to be put back after the pass.

    Accumulators live on from graph to graph; by their age alone they would wait until the end, as PyTorch's do not.
    """
    oldest: dict[AccumulateGrad, float] = {}
    todo = {node_of(e) for e in edges if e is not None}
    seen = set(todo)
    while todo:
        node = todo.pop()
        place = 0.05 / (len(node.edges) + 1)
        for at, e in enumerate(node.edges, 1):
            if e.__class__ is AccumulateGrad:
                oldest[e] = max(oldest.get(e, node.key), node.key + at * place)
            elif e is not None and (m := node_of(e)) not in seen:
                seen.add(m)
                todo.add(m)
    # another thread may have moved a leaf; what a pass around this one moved, it still needs
    ages = [(leaf, leaf.__dict__.setdefault("age", leaf.key)) for leaf in oldest]
    moved = ages if running.task is None else [(leaf, leaf.key) for leaf in oldest]
    for leaf, key in oldest.items():
        leaf.key = key
    return moved


def on_fresh_stack(work: Callable[[], None]) -> None:
    """Run `work` on a thread of its own, in this thread's state, and wait: its stack starts empty."""
    failed: list[BaseException] = []
    outer, record = running.task, here()

    def body() -> None:
        running.task = outer
        put(record)
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, daemon=True, name="chainrule-nested-backward")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
