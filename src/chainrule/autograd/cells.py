"""Which elements of an input `gradcheck` moves: all of a dense one, of a sparse one those that are written down."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.pending import resolved
from chainrule.backends.sparse import SparseArray, flat_places, is_sparse, values_at
from chainrule.core.tensor import WRAPPERS, Tensor, fresh

__all__ = ["Cells", "check_sparse_gradient", "flat", "whole"]


def flat(t: Tensor) -> Any:
    """The elements, in double precision; those that are not written down are zero."""
    kind = np.complex128 if t.dtype.is_complex else np.float64
    if t.__class__ in WRAPPERS:
        return _told(t.detach()).astype(kind)
    raw = t.detach().raw
    return np.asarray(raw.todense() if is_sparse(raw) else resolved(raw)).astype(kind).reshape(-1)


def _told(t: Tensor) -> Any:
    """The elements of a tensor whose class answers ops, asked for one by one."""
    return np.array([cell.item() for cell in t.reshape(-1)], t.dtype.numpy)


class Cells:
    """The array that is moved, which of its elements are, and which elements of the tensor these are."""

    __slots__ = ("answering", "array", "at", "spots")

    def __init__(self, t: Tensor) -> None:
        self.answering = t if t.__class__ in WRAPPERS else None  # its memory is not here: its class is asked to write
        self.array = t.raw if self.answering is None else _told(t.detach()).reshape(t.shape)
        self.at = self.spots = np.arange(t.numel())
        if is_sparse(t.raw):
            self.array = t.raw.values
            block = self.array[0].size if len(self.array) else 0
            places = flat_places(t.raw.indices, t.raw.shape)
            self.spots = (places[:, None] * block + np.arange(block)).reshape(-1)
            self.spots, self.at = np.unique(self.spots, return_index=True)  # the first of those that name one place

    def put(self, values: Any) -> None:
        """Let the tensor have these values."""
        if self.answering is None:
            self.array[...] = values
        else:
            self.answering.data.copy_(fresh(values))  # its version stays

    def step(self, along: Any) -> Any:
        """A movement of the whole tensor as one of the array."""
        made = np.zeros(self.array.size, self.array.dtype)
        made[self.at] = np.reshape(along, -1)[self.spots]
        return made.reshape(self.array.shape)

    def unit(self, k: int, length: Any) -> Any:
        """A movement of the k-th cell alone."""
        made = np.zeros(self.array.size, self.array.dtype)
        made[self.at[k]] = length
        return made.reshape(self.array.shape)

    def rows(self, found: list[Any], size: int) -> Any:
        """One row per cell as one per element: zeros for those that do not move."""
        rows = np.zeros((size, *found[0].shape), np.result_type(*found))
        rows[self.spots] = found
        return rows


def whole(x: Any) -> Any:
    """A sparse tensor with every element written down; anything else as it is."""
    if not isinstance(x, Tensor) or not is_sparse(x.raw):
        return x
    raw = x.raw
    shape = raw.shape[: raw.sparse_dim]
    indices = np.indices(shape).reshape(len(shape), -1) if shape else np.empty((0, 1), np.int64)
    t = fresh(SparseArray(indices, values_at(raw, indices), raw.shape, True))
    return t.requires_grad_(x.requires_grad)


def check_sparse_gradient(g: Any, x: Any) -> str | None:
    """What is wrong with the kind of a gradient, if something is; a dense one fits every input."""
    if not g.is_sparse:
        return None
    if not x.is_sparse:
        return f"grad is incorrect layout ({g.layout} is not {x.layout})"
    for name in ("sparse_dim", "dense_dim"):
        have, want = getattr(g, name)(), getattr(x, name)()
        if have != want:
            return f"grad is sparse tensor, but has incorrect {name} {have}, expected {want}"
    return None
