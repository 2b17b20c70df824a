"""Where a tangent is kept: beside its value, with the level of forward mode it belongs to."""

from __future__ import annotations

from weakref import ref

from chainrule.core.tensor import Extra, Tensor

__all__ = ["drop_tangents", "set_tangent"]

_duals: list[ref[Tensor]] = []  # what got a tangent in the level that the user opened


def set_tangent(t: Tensor, tangent: Tensor, level: int, since: int | None = None) -> None:
    """Give a value a tangent; `since` is the version of its memory if a change in place did that."""
    t.extra = t.extra or Extra()
    t.extra.tangent = (level, tangent) if since is None else (level, tangent, since)
    if level == 0:
        _duals.append(ref(t))


def drop_tangents() -> None:
    """The user's level closes: its tangents are gone."""
    for held in _duals:
        t = held()
        if t is not None and t.extra is not None:
            t.extra.tangent = None
    _duals.clear()
