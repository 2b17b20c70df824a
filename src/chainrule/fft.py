"""torch.fft: discrete Fourier transforms. Declared in `ops.fourier`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish

__all__ = _publish("t", globals())  # noqa: PLE0605
