"""PyTorch's `torch.utils._foreach_utils`: which devices have kernels for lists of tensors."""

from __future__ import annotations

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices for which optimizers take lists of tensors unasked: none that is here."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices on which `fused=True` may be asked for."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]
