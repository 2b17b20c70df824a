"""PyTorch's `torch.utils`: doors to rooms that live elsewhere, and tools beside them."""

from __future__ import annotations
