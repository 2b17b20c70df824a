"""Which version this is, and what it was built with."""

from __future__ import annotations

from chainrule import __version__

__all__ = ["__version__", "cuda", "debug", "hip", "xpu"]

debug = False
cuda = hip = xpu = None
