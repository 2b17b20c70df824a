"""Warnings that PyTorch gives once per process, unless `set_warn_always(True)`."""

from __future__ import annotations

import warnings

from chainrule.core.sites import frames_to_user

__all__ = ["is_warn_always_enabled", "set_warn_always", "warn", "warn_once"]

_said: set[str] = set()
_always = [False]


def set_warn_always(b: bool) -> None:
    """Give every warning each time, not once per process."""
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always[0] = b


def is_warn_always_enabled() -> bool:
    """Is every warning given each time?"""
    return _always[0]


def warn_once(text: str) -> None:
    """Warn, at the user's line, if this text was not said before."""
    if _always[0] or text not in _said:
        _said.add(text)
        warn(text)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep inside the package."""
    warnings.warn(text, category, stacklevel=1 + frames_to_user())
