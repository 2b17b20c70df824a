"""torch._refs.nn.functional: the ops of `torch.nn.functional`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("n", globals())  # noqa: PLE0605
