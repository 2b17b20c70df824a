"""One number for all axes, or a number per axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["ntuple", "reversed_padding", "single", "pair"]


def ntuple(value: Any, n: int) -> tuple[Any, ...]:
    """`value` n times, unless it is a sequence already."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def single(value: Any) -> tuple[Any, ...]:
    """For one axis."""
    return ntuple(value, 1)


def pair(value: Any) -> tuple[Any, ...]:
    """For two axes."""
    return ntuple(value, 2)


def reversed_padding(padding: Iterable[int]) -> list[int]:
    """Padding per axis, both sides, last axis first: what `functional.pad` takes."""
    return [p for each in reversed(list(padding)) for p in (each, each)]
