"""Which dtypes an op takes, and how it refuses the others: checks that declarations carry (`check=`).

A check sees the inputs and parameters of calls with unusual dtypes, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.dtype import BOOL, COMPLEX, FLOAT, INT, c_name
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import common_dtype, is_number
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import Tensor

__all__ = [
    "EXACT",
    "Check",
    "both",
    "no_complex",
    "not_for",
    "only",
    "only_floats",
    "only_floats_of",
    "same_dtype",
    "unimplemented",
]

Check = Callable[[tuple[Any, ...], dict[str, Any]], None]

EXACT = "Found dtype {out} but expected {result}"  # what ops that do not cast into out= say


def unimplemented(kernel: str, dtype: DType) -> NotImplementedError:
    """The error of a kernel that has no version for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")


def not_for(kernel: str, *categories: int) -> Check:
    """Refuse a result in one of these categories; `kernel` is the name that the message gives."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        met = common_dtype(inputs)
        if met.category in categories:
            broadcast_shapes(*(t.shape for t in inputs if isinstance(t, Tensor)))  # which is refused first
            raise unimplemented(kernel, met)

    check.refuses = categories  # type: ignore[attr-defined]  # floats may not take the fast path where they are refused
    return check


def only(kernel: str, *categories: int) -> Check:
    """Refuse a result in any other category."""
    return not_for(kernel, *({BOOL, INT, FLOAT, COMPLEX} - set(categories)))


def only_floats(kernel: str, *also: str) -> Check:
    """Refuse a first input that is neither of a floating point dtype nor of one of these."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        met = inputs[0].dtype
        if not met.is_floating_point and met.name not in also:
            raise unimplemented(kernel, met)

    return check


def only_floats_of(kernel: str) -> Check:
    """Refuse inputs that do not meet in a floating point dtype."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        met = common_dtype(inputs)
        if not met.is_floating_point:
            raise unimplemented(kernel, met)

    return check


def no_complex(message: str, error: type[Exception] = RuntimeError) -> Check:
    """Refuse complex inputs, in the op's own words."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        if any(isinstance(t, Tensor) and t.dtype.is_complex for t in inputs):
            raise error(message)

    return check


def both(*checks: Check) -> Check:
    """All of these."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        for each in checks:
            each(inputs, params)

    check.refuses = tuple(c for each in checks for c in getattr(each, "refuses", ()))  # type: ignore[attr-defined]
    return check


def same_dtype(inputs: tuple[Any, ...], names: tuple[str, ...]) -> None:
    """Refuse tensors whose dtype is not that of the first."""
    first = inputs[0].dtype
    for t, name in zip(inputs, names):
        if not is_number(t) and t.dtype is not first:
            raise RuntimeError(f"expected dtype {c_name(first)} for `{name}` but got dtype {c_name(t.dtype)}")
