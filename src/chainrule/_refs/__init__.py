"""torch._refs: every op as a function of Python. PyTorch keeps these beside its kernels, to trace and to compare; here
they are the ops themselves, and the methods that are no functions elsewhere are functions of their tensor."""

from __future__ import annotations

from operator import attrgetter as _attrgetter

from chainrule._refs import _conversions, _folds, fft, linalg, nn, special
from chainrule.core.public import publish as _publish

T = _attrgetter("T")

__all__ = ["T", "_conversions", "fft", "linalg", "nn", "special"]
__all__ += sorted({*_publish("m", globals()), *_publish("f", globals())})  # noqa: PLE0605

prod = _folds.prod
