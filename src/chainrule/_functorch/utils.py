"""Helpers of rules for higher-order operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["enable_single_level_autograd_function"]


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """The block in which PyTorch allows a `_SingleLevelFunction` inside a transform; here it is allowed anywhere."""
    yield
