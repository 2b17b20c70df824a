"""Small private helpers of PyTorch that programs (and its own tests) nevertheless call."""

from __future__ import annotations

from chainrule.core.dtype import dtype

__all__: list[str] = []


def _element_size(dtype: dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize
