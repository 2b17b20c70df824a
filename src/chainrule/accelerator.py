"""The device that `device(0)` means, where a backend drives one."""

from __future__ import annotations

from chainrule.config import settings
from chainrule.core.device import as_device, device

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """Is there an accelerator?"""
    return settings.accelerator is not None


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator's device type; None where there is none."""
    return None if settings.accelerator is None else as_device(settings.accelerator)


def device_count() -> int:
    """How many accelerators there are."""
    return 0 if settings.accelerator is None else 1
