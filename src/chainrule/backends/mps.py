"""PyTorch's `torch.backends.mps`: there are no kernels for Apple's GPUs."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Is there such a device? No backend drives one."""
    return False


def is_built() -> bool:
    """Are there kernels for it? No."""
    return False
