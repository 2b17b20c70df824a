"""Drawing a class so that gradients flow: the softmax of scores with noise."""

from __future__ import annotations

from chainrule.core.layout import contiguous_format
from chainrule.core.notices import warn
from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops import names

__all__ = ["gumbel_softmax"]


@composite("n")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Shares of the classes, drawn by their scores; `hard`: one class alone, with the gradient of the shares."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -names.empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft  # type: ignore[no-any-return]
    best = soft.max(dim, keepdim=True)[1]
    alone = names.zeros_like(logits, memory_format=contiguous_format).scatter_(dim, best, 1.0)
    return alone - soft.detach() + soft  # type: ignore[no-any-return]
