"""PyTorch's `torch.utils.hooks`."""

from __future__ import annotations

from chainrule.autograd.handles import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
