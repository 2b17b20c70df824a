"""torch._refs.linalg: the ops of `torch.linalg`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("l", globals())  # noqa: PLE0605
