"""PyTorch's `torch.cpu`: the CPU asked like an accelerator."""

from __future__ import annotations

from typing import Any

from chainrule.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Is there a CPU?"""
    return True


def device_count() -> int:
    """How many CPUs count as devices: one."""
    return 1


def current_device() -> str:
    """The device in use."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Wait for what runs: nothing does, each call here returns when it is done."""
