"""Small private helpers of PyTorch that programs (and its own tests) nevertheless call."""

from __future__ import annotations

from chainrule.core.dtype import dtype
from chainrule.core.tensor import Tensor

__all__: list[str] = []


def _element_size(dtype: dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def _maybe_view_chunk_cat(res: Tensor, group_size: int, gather_dim: int) -> Tensor:
    """The `group_size` chunks of the first axis, one after the other along another: a view where memory allows."""
    chunks = res.unflatten(0, (group_size, -1)).movedim(0, gather_dim)
    return chunks.flatten(gather_dim, gather_dim + 1).contiguous()
