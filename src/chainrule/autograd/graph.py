"""PyTorch's public names of the graph: `torch.autograd.graph`. The nodes themselves live in `autograd.node`."""

from __future__ import annotations

from chainrule.autograd.node import Node

__all__ = ["Node"]
