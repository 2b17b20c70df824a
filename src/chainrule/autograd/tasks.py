"""The backward pass that a thread is in: what it will visit, what is to be done at its end, how deep it is
nested."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable
from typing import Any

from chainrule.autograd.node import AccumulateGrad, Node, node_of

__all__ = [
    "Task",
    "current",
    "leading_to",
    "leaves_first",
    "on_fresh_stack",
    "queue_callback",
    "running",
    "will_execute",
]

# Backward passes inside each other on one thread's stack: Python allows 1,000 frames, each pass takes about ten.
NESTED = 24


class Task:
    """One run of the engine."""

    __slots__ = ("__weakref__", "callbacks", "depth", "edges", "keep", "landing", "notes", "on_path", "reach")

    def __init__(self, edges: Any, keep: bool, on_path: Any, landing: Any, outer: Task | None) -> None:
        self.edges, self.keep, self.on_path, self.landing = edges, keep, on_path, landing
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.callbacks: list[Callable[[], Any]] | None = None
        self.notes: dict[Any, Any] | None = None  # whatever hooks want to remember until the end of the pass
        self.reach: dict[Node, bool] | None = None

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


def will_execute(node: Any) -> bool:
    """Will the current pass run this node?"""
    task = running.task
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if not isinstance(node, Node):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got " + type(node).__name__)
    if task.on_path is None:
        if task.reach is None:
            task.reach = leading_to(set(), task.edges)
        return node in task.reach
    if task.landing is None and isinstance(node, AccumulateGrad):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return bool(task.on_path.get(node)) or (task.landing is not None and node in task.landing)


def leading_to(targets: set[Node], edges: Iterable[Any]) -> dict[Node, bool]:
    """For every node reachable from `edges`: does an edge of it lead to a target? Iterative, each node
    once."""
    leads: dict[Node, bool] = {}
    todo = [node_of(e) for e in edges if e is not None]
    while todo:
        node = todo[-1]
        if node not in leads:
            leads[node] = False
            todo.extend(m for e in node.edges if e is not None and (m := node_of(e)) not in leads)
            continue
        todo.pop()
        if not leads[node]:
            leads[node] = any(e is not None and ((m := node_of(e)) in targets or leads[m]) for e in node.edges)
    return leads


def leaves_first(edges: Iterable[Any]) -> None:
    """Let every leaf's turn come right after the oldest node that leads to it, in the order of that node's inputs.

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
    for leaf, key in oldest.items():
        leaf.key = key


def on_fresh_stack(work: Callable[[], None]) -> None:
    """Run `work` on a thread of its own, in this thread's context, and wait: its stack starts empty."""
    failed: list[BaseException] = []
    outer, context = running.task, contextvars.copy_context()

    def body() -> None:
        running.task = outer
        try:
            context.run(work)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, daemon=True, name="chainrule-nested-backward")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
