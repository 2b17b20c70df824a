"""Axes merged into one, and one split into several."""

from __future__ import annotations

from typing import Any

from chainrule.core.tensor import Tensor
from chainrule.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Axes `start_dim` to `end_dim` as one."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Axis `dim` as several, of the given sizes."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int | str, unflattened_size: Any) -> None:
        super().__init__()
        _check_named(unflattened_size) if isinstance(dim, str) else _check_sizes(dim, unflattened_size)
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _check_sizes(dim: Any, sizes: Any) -> None:
    if not isinstance(dim, int):
        raise TypeError("invalid argument type for dim parameter")
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
    for at, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {at}"
            )


def _check_named(sizes: Any) -> None:
    if not isinstance(sizes, tuple):
        raise TypeError(f"unflattened_size must be a tuple of tuples, but found type {type(sizes).__name__}")
    for at, pair in enumerate(sizes):
        if not isinstance(pair, tuple):
            raise TypeError(
                f"unflattened_size must be tuple of tuples, but found element of type {type(pair).__name__} at pos {at}"
            )
    raise NotImplementedError("Unflatten: dim as a name: tensors have no named dimensions")
