"""Short names of dtypes, as logs write them: `f32[2, 3]`."""

from __future__ import annotations

from chainrule.core.dtype import ALL, FLOAT8, NAMES, dtype

__all__ = ["dtype_abbrs"]

_ODD = {"bool": "b8", "bits8": "b8x1", "bits16": "b16x1", "bits1x8": "b1x8", "bits2x4": "b2x4", "bits4x2": "b4x2"}
_KINDS = {"bfloat": "bf", "float": "f", "complex": "c", "uint": "u", "int": "i"}


def _short(name: str) -> str:
    if name in _ODD:
        return _ODD[name]
    kind = next(k for k in _KINDS if name.startswith(k))
    return _KINDS[kind] + name[len(kind) :].replace("_", "")


def _known(name: str) -> bool:
    return name in _ODD or name in ("uint16", "uint32", "uint64") or name.startswith(("float", "bfloat", "complex"))


dtype_abbrs: dict[dtype, str] = {each: _short(each.name) for each in (*ALL, *FLOAT8)}
dtype_abbrs.update({each: _short(name) for name, each in NAMES.items() if _known(name)})
