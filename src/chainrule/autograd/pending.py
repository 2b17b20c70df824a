"""Tensors over arrays with something pending (backends.pending), as ops take them: with the elements that are meant."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.node import edge_of
from chainrule.autograd.versions import store_of
from chainrule.autograd.views import refresh
from chainrule.backends.pending import Pending, resolved
from chainrule.core.tensor import Extra, Tensor

__all__ = ["is_pending", "meant"]


def is_pending(t: Any) -> bool:
    """A tensor whose elements are meant otherwise than they stand in memory?"""
    return isinstance(t, Tensor) and isinstance(t.raw, Pending)


def meant(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, pending ones as tensors of the same history, tangent and version over an array of what is meant."""
    return tuple([_meant(t) if is_pending(t) else t for t in inputs])


def _meant(t: Tensor) -> Tensor:
    if t.viewed is not None:
        refresh(t)
    alias = t.rewrapped()
    alias.raw = resolved(t.raw)
    alias.edge, alias.cut, alias.store = edge_of(t), t.cut, store_of(t)
    tangent = t.extra.tangent if t.extra is not None else None
    if tangent is not None:
        alias.extra = Extra()
        alias.extra.tangent = tangent
    return alias
