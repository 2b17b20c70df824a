"""`make_tensor`: random tensors for tests, as `torch.testing` draws them from the generator's stream."""

from __future__ import annotations

import math
from typing import Any

from chainrule.core import dtype as dtypes
from chainrule.core.notices import warn
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

    Without bounds: 0 or 1 for bool, [0, 10) for unsigned integers, [-9, 10) for other integers, [-9, 9) for floating
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
    made: Any = _drawn((*size[:-1], 2 * size[-1]) if spread else size, dtype, device, *_bounds(dtype, low, high))
    if spread:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if dtype.category < dtypes.FLOAT else dtypes.finfo(dtype).tiny
    return made.requires_grad_(requires_grad) if requires_grad else made  # type: ignore[no-any-return]


def _limits(dtype: dtypes.dtype) -> tuple[float, float]:
    """What bounds make sense: the upper one of integers is not drawn, but must fit an int64 itself."""
    if dtype is dtypes.bool_:
        return 0, 2
    if dtype.category < dtypes.FLOAT:
        info = dtypes.iinfo(dtype)
        return info.min, info.max + (dtype is not dtypes.int64)
    finite = dtypes.finfo(dtype)
    return finite.min, finite.max


def _bounds(dtype: dtypes.dtype, low: Any, high: Any) -> tuple[float, float]:
    """The bounds, with their defaults, cut to what the dtype holds."""
    lowest, highest = _limits(dtype)
    whole = dtype.category < dtypes.FLOAT
    low = (0 if dtype is dtypes.bool_ else -9) if low is None else low
    high = (2 if dtype is dtypes.bool_ else 10 if whole else 9) if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and not whole:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{lowest}, {highest})"
        )
    low, high = (min(max(bound, lowest), highest) for bound in (low, high))
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def _drawn(shape: tuple[int, ...], dtype: dtypes.dtype, device: Any, low: float, high: float) -> Any:
    make = PUBLIC["f"]
    if dtype.category < dtypes.FLOAT:
        return make["randint"](low, high, shape, dtype=dtype, device=device)
    if dtype.itemsize == 1:
        return _uniform(make["empty"](shape, dtype=dtypes.float32, device=device), low, high).to(dtype)
    made = make["empty"](shape, dtype=dtype, device=device)
    _uniform(make["view_as_real"](made) if dtype.is_complex else made, low, high)
    return made


def _uniform(t: Any, low: float, high: float) -> Any:
    """Fill a tensor; a range wider than the largest number is drawn at half its size."""
    if high - low >= dtypes.finfo(t.dtype).max:
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)
