"""`make_tensor`: random tensors for tests, as `torch.testing` has it, drawn by the generator of `rand`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core import dtype as dtypes
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with numbers drawn uniformly from [low, high).

    Without bounds: 0 or 1 for bool, [0, 10) for uint8, [-9, 10) for other integers, [-9, 9) for floating
    point and complex numbers (real and imaginary part alike).
    """
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format!r}"
        )
    if requires_grad and dtype.category < dtypes.FLOAT:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    spread = noncontiguous and math.prod(size) > 1
    values = _drawn((*size[:-1], 2 * size[-1]) if spread else size, dtype, *_bounds(dtype, low, high))
    if exclude_zero:
        values = np.where(values == 0, 1 if dtype.category < dtypes.FLOAT else np.finfo(np.float32).tiny, values)
    made = PUBLIC["f"]["tensor"](values, dtype=dtype, device=device)
    made = made[..., ::2] if spread else made
    made = made if memory_format is None else made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad) if requires_grad else made  # type: ignore[no-any-return]


def _bounds(dtype: dtypes.dtype, low: Any, high: Any) -> tuple[float, float]:
    default = {dtypes.bool_: (0, 2), dtypes.uint8: (0, 10)}.get(
        dtype, (-9, 9 if dtype.category >= dtypes.FLOAT else 10)
    )
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low > high or (low == high and dtype.category < dtypes.FLOAT):
        raise ValueError(f"make_tensor: low={low!r} must be below high={high!r}")
    return _within(dtype, low, high)


def _within(dtype: dtypes.dtype, low: float, high: float) -> tuple[float, float]:
    """The bounds, cut to what the dtype holds."""
    if dtype is dtypes.bool_:
        return max(low, 0), min(high, 2)
    if dtype.category < dtypes.FLOAT:
        info = dtypes.iinfo(dtype)
        return max(math.ceil(low), info.min), min(math.ceil(high), info.max + 1)
    finite = dtypes.finfo(dtype)
    return max(low, finite.min), min(high, finite.max)


def _drawn(shape: tuple[int, ...], dtype: dtypes.dtype, low: float, high: float) -> Any:
    if dtype.category < dtypes.FLOAT:
        return np.array(PUBLIC["f"]["randint"](int(low), int(high), shape).raw)
    if dtype.is_complex:
        return _uniform(shape, low, high) + 1j * _uniform(shape, low, high)
    return _uniform(shape, low, high)


def _uniform(shape: tuple[int, ...], low: float, high: float) -> Any:
    return low + (high - low) * np.asarray(PUBLIC["f"]["rand"](shape, dtype=dtypes.float64).raw)
