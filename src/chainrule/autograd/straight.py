"""Slopes that do not change. The gradient of an op that is straight, or straight between kinks, is not computed from
its input; PyTorch differentiates it by that input all the same, and finds zeros where else there would be nothing.

So the second derivative of a relu network is zero, not missing, and what only adds to the slopes gets zero gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.node import Node, edge_of, tick
from chainrule.core.ambient import here
from chainrule.core.family import call
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import Tensor

__all__ = ["with_slope"]

_new = object.__new__


class StraightBackward0(Node):
    """What arrives goes on to the cotangent, and zeros of its shape to the input of the op."""

    __slots__ = ()

    def pull(self, g: Any) -> tuple[Any, ...]:
        return g, np.zeros_like(g)

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        return g, call("zeros_like", g)


def with_slope(made: Tensor, g: Tensor, node: Node, edge: Any) -> Tensor:
    """The cotangent that a straight op made of `g`, depending on what `edge` leads to."""
    if edge is None or not here().grad or "level" in node.__dict__:
        return made  # a transform gives zeros where nothing arrives
    if made is g or made.viewed is not None:
        made = call("clone", made)
    straight = _new(StraightBackward0)
    straight.edges = (edge_of(made), edge)
    straight.saved, straight.checks, straight.hooks = (), None, None
    straight.code, straight.lasti = here_in_user_code()
    straight.key = tick()
    made.edge, made.cut = straight, None
    return made
