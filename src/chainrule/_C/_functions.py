"""PyTorch's `torch._C._functions`: nodes by their class, and two functions that make odd ones."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.node import AccumulateGrad, Node, edge_of
from chainrule.autograd.refusing import Error, refusing
from chainrule.core.ambient import here
from chainrule.core.tensor import Port, Tensor

__all__ = ["AccumulateGrad", "DelayedError", "Error", "UndefinedGrad"]


def _aliases(node: Node, tensors: tuple[Tensor, ...]) -> Any:
    """The same values as outputs of a node."""
    found = [t.detach() for t in tensors]
    for at, t in enumerate(found):
        t.edge = Port(node, at) if len(found) > 1 else node
    return found[0] if len(found) == 1 else tuple(found)


def _edges(tensors: tuple[Tensor, ...]) -> tuple[Any, ...]:
    return tuple([edge_of(t) for t in tensors])


class DelayedError(Error):
    """Tensors as they are, whose backward raises: `DelayedError("not here", 1)(x)`."""

    __slots__ = ("_count", "_text")

    def __init__(self, msg: str, num_inputs: int) -> None:
        self._text, self._count = msg, num_inputs

    def __call__(self, *tensors: Tensor) -> Any:
        if len(tensors) != self._count:
            raise TypeError(f"DelayedError was made for {self._count} tensors, got {len(tensors)}")
        edges = _edges(tensors)
        if not here().grad or all(e is None for e in edges):
            return tensors[0] if len(tensors) == 1 else tensors
        return _aliases(refusing(Error, edges, RuntimeError(self._text), len(tensors)), tensors)


class UndefinedGradBackward(Error):
    """Whatever arrives, nothing goes on."""

    __slots__ = ()

    def name(self) -> str:
        return "UndefinedGradBackward"

    def pull(self, g: Any) -> tuple[Any, ...]:
        return (None,) * len(self.edges)

    pull_graph = pull


class UndefinedGrad:
    """Tensors as they are, whose backward passes no gradient on: `UndefinedGrad()(x)`."""

    def __call__(self, *tensors: Tensor) -> Any:
        node = refusing(UndefinedGradBackward, _edges(tensors), RuntimeError("no gradient is defined"), len(tensors))
        return _aliases(node, tensors)
