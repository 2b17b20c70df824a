"""Tensors over the memory of other libraries' arrays, and theirs over ours."""

from __future__ import annotations

from chainrule.ops.foreign import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
