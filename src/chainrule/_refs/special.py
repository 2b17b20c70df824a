"""torch._refs.special: the ops of `torch.special`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("s", globals())  # noqa: PLE0605
