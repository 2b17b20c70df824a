"""Nodes whose backward refuses: for what has no derivative, and for results that may be differentiated only once."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.node import Node, tick
from chainrule.core.sites import here_in_user_code

__all__ = ["Error", "Refusing", "refusing", "without_derivative"]

_new = object.__new__


class Refusing(Node):
    """A node whose backward raises `error`."""

    __slots__ = ("error",)

    error: Exception
    outputs: int

    def pull(self, g: Any) -> tuple[Any, ...]:
        raise type(self.error)(*self.error.args)

    pull_graph = pull


class Error(Refusing):
    """The node of what may not be differentiated again."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::Error"


_NotImplemented: Any = type("NotImplemented", (Refusing,), {"__slots__": ()})  # as PyTorch calls it


def refusing(kind: type[Refusing], edges: tuple[Any, ...], error: Exception, outputs: int = 1) -> Refusing:
    """A node of the given kind, on the user's line."""
    node: Refusing = _new(kind)
    node.edges, node.error, node.outputs = edges, error, outputs
    node.saved, node.checks, node.hooks, node.key = (), None, None, tick()
    node.code, node.lasti = here_in_user_code()
    return node


def without_derivative(name: str, edges: tuple[Any, ...]) -> Refusing:
    """The node of an operation that changes a tensor in a way that no gradient can pass."""
    return refusing(_NotImplemented, edges, RuntimeError(f"derivative for {name} is not implemented"))
