"""Fused ops, for those who walk the graph: the nodes that PyTorch records where one op here does several steps.

An op may declare `unfold=`, the steps that follow its own in backward. They become nodes of their own when somebody
asks a node of the op where its gradients go, or wants to see them; a graph that nobody looks at stays as recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, cast
from weakref import ref

from chainrule.autograd.node import Freed, Node
from chainrule.autograd.saved import Packed
from chainrule.autograd.tasks import running

__all__ = ["Step", "around", "following", "kept", "split", "unfolded"]

_new = object.__new__


class Step(Node):
    """One step of a fused backward."""

    __slots__ = ("fn",)

    fn: Callable[[Any], Any]

    def pull(self, g: Any) -> tuple[Any, ...]:
        return (self.fn(g),)

    pull_graph = pull


@cache
def _named(kind: Hashable, name: str) -> Any:
    """A kind of node under another name."""
    return type(name, (cast(type, kind),), {"__slots__": ()})


def unfolded(node: Any) -> Any:
    """The node itself, with the steps of its op as nodes of their own; not while a pass runs, which knows its way."""
    if node.op.unfold is not None and "steps" not in node.__dict__ and running.task is None:
        node.__dict__["steps"] = True
        node.op.unfold(node)
    return node


def following(node: Node, at: int, name: str, fn: Callable[[Any], Any], rank: int = 1) -> None:
    """Put a step between a node and where its edge in one place leads; an edge that leads nowhere stays.

    `rank`: its turn among the steps of one node, from 1 to 7.
    """
    edge = node.edges[at]
    if edge is None:
        return
    step: Step = _new(_named(Step, name))
    step.fn, step.edges, step.saved, step.checks, step.hooks = fn, (edge,), (), None, None
    step.code, step.lasti, step.key = node.code, node.lasti, node.key + rank / 16
    edges = list(node.edges)
    edges[at] = step
    node.edges = tuple(edges)


def around(node: Node, before: Callable[[Any], Any], after: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> None:
    """Let a node's own pull see another cotangent, and others see its results changed."""
    me = ref(node)  # the node holds what is made here: the way back is a weak one

    def between(pull: Callable[[Any, Any], tuple[Any, ...]]) -> Any:
        return lambda g: after(pull(me(), before(g)))

    node.__dict__["pull"], node.__dict__["pull_graph"] = between(type(node).pull), between(type(node).pull_graph)


def split(node: Any, name: str, fn: Callable[[Any], Any]) -> Any:
    """Make of a node two: itself, which becomes the step `fn`, and one of another name, returned, for the rest."""
    inner = _new(_named(cast(Hashable, type(node)), name))
    inner.edges, inner.saved, inner.checks, inner.hooks = node.edges, node.saved, node.checks, None
    inner.code, inner.lasti, inner.key = node.code, node.lasti, node.key + 0.5
    inner.__dict__.update(steps=True, **{k: v for k, v in node.__dict__.items() if k == "level"})
    node.edges, node.saved, node.checks = (inner,), (), None
    node.__dict__["pull"] = node.__dict__["pull_graph"] = lambda g: (fn(g),)
    return inner


def kept(node: Any, name: str) -> Any:
    """A fact that a node keeps, None if it was released."""
    saved = node.saved.entries if node.saved.__class__ is Packed else node.saved
    return None if saved.__class__ is Freed else saved[node.layout.unpacked().index(name)]
