"""PyTorch's `torch._tensor_str`: how tensors are printed."""

from __future__ import annotations

from chainrule import cat
from chainrule.core.printing import PRINT_OPTS, get_printoptions, printoptions, set_printoptions
from chainrule.core.tensor import Tensor

__all__ = ["PRINT_OPTS", "get_printoptions", "get_summarized_data", "printoptions", "set_printoptions"]


def get_summarized_data(self: Tensor) -> Tensor:
    """The first and last elements along every axis that is too long to be printed."""
    edge = PRINT_OPTS.edgeitems
    for dim, length in enumerate(self.shape):
        if length > 2 * edge:
            self = cat((self.narrow(dim, 0, edge), self.narrow(dim, length - edge, edge)), dim)
    return self
