"""torch._prims_common: what programs that compare and trace ops ask of dtypes and tensors."""

from __future__ import annotations

from typing import Any

from chainrule._prims_common import wrappers
from chainrule.core.dtype import dtype as _dtype
from chainrule.core.tensor import Tensor as _Tensor

__all__ = [
    "compare_tensor_meta", "dtype_to_type", "is_boolean_dtype", "is_complex_dtype", "is_float_dtype",
    "is_integer_dtype", "wrappers",
]  # fmt: skip

_TYPES: tuple[type, ...] = (bool, int, float, complex)


def dtype_to_type(dtype: _dtype) -> type:
    """The Python type of a dtype's numbers: bool, int, float or complex."""
    if not isinstance(dtype, _dtype):
        raise AssertionError(f"dtype must be torch.dtype, got {type(dtype)}")
    return _TYPES[dtype.category]


def is_boolean_dtype(dtype: _dtype) -> bool:
    """Is it bool?"""
    return dtype_to_type(dtype) is bool


def is_integer_dtype(dtype: _dtype) -> bool:
    """Is it an integer's, or bool?"""
    return dtype_to_type(dtype) in (bool, int)


def is_float_dtype(dtype: _dtype) -> bool:
    """Is it a real floating point dtype?"""
    return dtype_to_type(dtype) is float


def is_complex_dtype(dtype: _dtype) -> bool:
    """Is it complex?"""
    return dtype_to_type(dtype) is complex


def compare_tensor_meta(
    a: _Tensor,
    b: _Tensor,
    check_sizes: bool = True,
    check_strides: bool = False,
    *,
    allow_rhs_unbacked: bool = False,
    check_conj: bool = True,
) -> None:
    """Raise unless two tensors are alike in all but their values: shape, dtype, device, conjugation, and on request
    strides."""
    for x in (a, b):
        if not isinstance(x, _Tensor):
            raise AssertionError(f"expected a Tensor, got {type(x)}")
    asked: list[tuple[str, Any, Any]] = [("dtypes", a.dtype, b.dtype), ("devices", a.device, b.device)]
    if check_sizes:
        asked.insert(0, ("shapes", a.shape, b.shape))
    if check_strides:
        asked += [("strides", a.stride(), b.stride()), ("storage offsets", a.storage_offset(), b.storage_offset())]
    if check_conj:
        asked.append(("conjugations", a.is_conj(), b.is_conj()))
    asked.append(("negations", a.is_neg(), b.is_neg()))
    for what, mine, other in asked:
        if mine != other:
            raise AssertionError(f"Tensors have {what} that are not equal: {mine} and {other}")
