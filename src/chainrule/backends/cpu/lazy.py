"""Copies that are made when somebody writes: until then several arrays own the same memory, each for itself.

Who owns memory is known by the array at the end of a chain of bases (`memory.owner`). The owners that share are kept
here, by their ids, for as long as they live; a program without such copies pays nothing.
"""

from __future__ import annotations

import weakref
from typing import Any

from chainrule.backends.cpu import memory
from chainrule.core.ambient import LISTENING

__all__ = ["copied_lazily", "is_lazy", "leave"]

Group = set[int]  # the ids of the owners of one piece of memory

_groups: dict[int, Group] = {}  # by the id of an owner


def copied_lazily(raw: Any) -> Any:
    """`raw` over memory that is copied as soon as this array, or the one it came from, is written."""
    held = memory.owner(raw)
    twin = memory.foreign(held)
    group = _groups.get(id(held))
    if group is None:
        group = set()
        _join(held, group)
    _join(twin, group)
    return memory.moved(raw, twin)


def _join(held: Any, group: Group) -> None:
    group.add(id(held))
    _groups[id(held)] = group
    LISTENING.append(None)  # every write goes through the door, which asks `leave`
    weakref.finalize(held, _leave, id(held)).atexit = False


def _leave(key: int) -> bool:
    """Forget an owner; is its memory still that of others?"""
    group = _groups.pop(key, None)
    if group is None:
        return False
    LISTENING.pop()
    group.discard(key)
    return bool(group)


def is_lazy(raw: Any) -> bool:
    """Was the memory of `raw` copied, and not written since?"""
    return bool(_groups) and id(memory.owner(raw)) in _groups


def leave(held: Any) -> bool:
    """An owner is about to be written: it shares no longer. Must it move, because others stay behind?"""
    return bool(_groups) and _leave(id(held))
