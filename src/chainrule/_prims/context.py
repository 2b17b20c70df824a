"""Modes in which `torch.` means `torch._refs.`, which here it does always."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

__all__ = ["TorchRefsMode"]


class TorchRefsMode:
    """Calls of ops in the block go to their references: to themselves."""

    def __init__(
        self,
        strict: bool = False,
        should_fallback_fn: Callable[..., bool] = lambda *_: False,
        prims_mode_cls: Any = None,
    ) -> None:
        self.strict, self.should_fallback_fn, self.prims_mode_cls = strict, should_fallback_fn, prims_mode_cls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass
