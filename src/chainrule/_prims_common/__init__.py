"""torch._prims_common: what programs that look at ops ask of dtypes."""

from __future__ import annotations

from chainrule._prims_common import wrappers
from chainrule.core.dtype import dtype as _dtype

__all__ = ["dtype_to_type", "wrappers"]

_TYPES: tuple[type, ...] = (bool, int, float, complex)


def dtype_to_type(dtype: _dtype) -> type:
    """The Python type of a dtype's numbers: bool, int, float or complex."""
    if not isinstance(dtype, _dtype):
        raise AssertionError(f"dtype must be torch.dtype, got {type(dtype)}")
    return _TYPES[dtype.category]
