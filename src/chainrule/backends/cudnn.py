"""PyTorch's `torch.backends.cudnn`: its switches, for programs that set them; there is no cuDNN to obey them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_available", "version"]

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit: int | None = None


def is_available() -> bool:
    """Is there a cuDNN? No."""
    return False


def version() -> int | None:
    """The version of cuDNN: there is none."""
    return None


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none", depthwise_kernel: str = "auto",
) -> Iterator[None]:  # fmt: skip
    """Set the switches inside the block; what cuDNN itself would hold has nobody to hold it."""
    state: dict[str, Any] = globals()
    wanted = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: state[name] for name in wanted}
    state.update(wanted)
    try:
        yield
    finally:
        state.update(before)
