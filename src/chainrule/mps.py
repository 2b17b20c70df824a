"""torch.mps, for programs that ask whether there is a GPU of Apple's: there is none, for no backend here drives one."""

from __future__ import annotations

from typing import NoReturn

from chainrule.backends.mps import is_available

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def device_count() -> int:
    """How many there are: none."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {what}() without MPS backend.")


def synchronize() -> None:
    """Refused, as there is nothing to wait for."""
    _refuse("deviceSynchronize")


def empty_cache() -> None:
    """Refused, as there is nothing to empty."""
    _refuse("emptyCache")
