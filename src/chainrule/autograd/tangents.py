"""Where a tangent is kept: beside its value, with the level of forward mode it belongs to."""

from __future__ import annotations

import threading
from weakref import ref

from chainrule.core.tensor import Tensor, extra_of

__all__ = ["check_size", "drop_tangents", "set_tangent"]


class _Level(threading.local):
    """What got a tangent in the level that the user opened in this thread."""

    def __init__(self) -> None:
        self.duals: list[ref[Tensor]] = []


_level = _Level()


def check_size(t: Tensor, tangent: Tensor) -> None:
    """A tangent has the size of its value."""
    if tuple(t.shape) != tuple(tangent.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def set_tangent(t: Tensor, tangent: Tensor, level: int, since: int | None = None) -> None:
    """Give a value a tangent; `since` is the version of its memory if a change in place did that."""
    extra_of(t).tangent = (level, tangent) if since is None else (level, tangent, since)
    if level == 0:
        _level.duals.append(ref(t))


def drop_tangents() -> None:
    """The user's level closes: its tangents are gone."""
    for held in _level.duals:
        t = held()
        if t is not None and t.extra is not None:
            t.extra.tangent = None
    _level.duals.clear()
