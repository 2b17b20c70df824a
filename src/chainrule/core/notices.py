"""Warnings that PyTorch gives once per process, unless `set_warn_always(True)`."""

from __future__ import annotations

import warnings

from chainrule.config import settings
from chainrule.core.sites import frames_to_user

__all__ = [
    "alert_nondeterministic",
    "is_warn_always_enabled",
    "set_warn_always",
    "warn",
    "warn_of_expanded",
    "warn_once",
]

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


def warn_of_expanded(name: str, form: str) -> None:
    """Warn of a write to elements that share memory, where PyTorch still allows it."""
    warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. tensor[{form}"
    )


_ALERT = (
    "{} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True{})'. "
    "You can "
)
_ISSUE = (
    "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
    "this operation."
)


def alert_nondeterministic(name: str) -> None:
    """Refuse, or only warn, where the program asked for determinism and PyTorch promises none for an op."""
    if settings.deterministic == 1:
        warn(_ALERT.format(name, ", warn_only=True") + _ISSUE)
    elif settings.deterministic:
        raise RuntimeError(
            _ALERT.format(name, "") + "turn off determinism just for this operation, or you can use the "
            "'warn_only=True' option, if that's acceptable for your application. You can also " + _ISSUE
        )
