"""torch.special: the functions with names of their own. Declared in `ops.special_functions` and by their subjects."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("s", globals())  # noqa: PLE0605
