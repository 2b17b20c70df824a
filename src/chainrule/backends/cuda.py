"""PyTorch's `torch.backends.cuda`: there are no kernels for CUDA, and the precision of their products is moot."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["is_built", "matmul"]

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built() -> bool:
    """Are there kernels for CUDA? No."""
    return False
