"""torch._refs._conversions: the methods that change the dtype, as functions."""

from __future__ import annotations

from chainrule.core.public import PUBLIC as _PUBLIC

_NAMES = "bfloat16 bool byte cdouble cfloat chalf char double float half int long short".split()

globals().update({name: _PUBLIC["m"][name] for name in _NAMES})
globals().update({name: _PUBLIC["f"][name] for name in ("complex", "polar")})
