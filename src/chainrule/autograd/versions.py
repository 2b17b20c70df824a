"""Versions: how a change to memory is noticed by those who saved it.

Tensors over the same memory share a `Store`; most tensors never get one. Every in-place change raises its version and
leaves the line that did it, so that a stale saved value can name the culprit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import TURNED, Store, Tensor

__all__ = [
    "BEFORE_WRITE", "CountingStore", "InferenceStore", "store_of", "touch", "turned_store", "version_of", "watch",
]  # fmt: skip


BEFORE_WRITE: list[Callable[[Tensor], None]] = []  # told of a tensor whose memory is about to be changed


class InferenceStore(Store):
    """The store of a tensor made in inference mode: it knows where that was, its count means nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.code, self.lasti = here_in_user_code()


class CountingStore(InferenceStore):
    """Of such a tensor's `.data`, taken outside inference mode: it may be written and counts."""

    __slots__ = ()


def store_of(t: Tensor) -> Store:
    """The tensor's store, made now if nobody needed one before."""
    store = t.store
    if store is None:
        store = t.store = Store()
    return store


def turned_store(raw: Any) -> Store | None:
    """The store of a result whose axes lie in an order of their own; others need none."""
    if raw.__class__ is not np.ndarray or raw.flags.c_contiguous:
        return None
    store = Store()
    store.lasti = TURNED
    return store


def touch(t: Tensor, op: str) -> None:
    """Note that the memory of `t` was changed, by which op and on which line."""
    store = store_of(t)
    store.version += 1
    if store.__class__ is InferenceStore:
        return
    store.op = op
    store.code, store.lasti = here_in_user_code()


def version_of(t: Tensor) -> int:
    """How often the memory of `t` changed."""
    return t.store.version if t.store is not None else 0


def watch(saved: tuple[Any, ...]) -> tuple[int, ...]:
    """The versions of what is being saved; everything that is no tensor counts 0."""
    return tuple(v.store.version if isinstance(v, Tensor) and v.store is not None else 0 for v in saved)
