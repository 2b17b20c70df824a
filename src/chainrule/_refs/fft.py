"""torch._refs.fft: the Fourier transforms."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("t", globals())  # noqa: PLE0605
