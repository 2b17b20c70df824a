"""PyTorch's `torch._vmap_internals`: the vmap under `autograd.grad(is_grads_batched=True)`; nothing is drawn there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.notices import warn
from chainrule.func.vmap import mapped_over

__all__ = ["vmap"]


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    if not allow_none_pass_through:
        return mapped_over(func, in_dims, out_dims, "never")

    def without_none(*args: Any) -> Any:
        found: list[Any] = []

        def kept(*examples: Any) -> Any:
            found[:] = func(*examples)
            return tuple(t for t in found if t is not None)

        whole = iter(mapped_over(kept, in_dims, out_dims, "never")(*args))
        return tuple(None if t is None else next(whole) for t in found)

    return without_none


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Map a function over an axis of its inputs; `torch.vmap` does more."""
    warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", category=FutureWarning)
    return _vmap(func, in_dims, out_dims)
