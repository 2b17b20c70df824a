"""What the kernels share: the array type, indexing the last axes, and half precision.

float16 and bfloat16 have no fast arithmetic in NumPy: kernels compute in float32 and round at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from chainrule.core.dtype import OF_NUMPY

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def trailing(slices: Iterable[slice]) -> tuple[Any, ...]:
    """An index of the last axes."""
    return (..., *slices)


def title(array: Array) -> str:
    """The name PyTorch's messages give the array's type, "Float" or "Long"."""
    return OF_NUMPY[array.dtype].title


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is float16 or bfloat16 (which NumPy sees as a 2-byte void-kind extension)."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def _narrow(result: Any, half: np.dtype[Any]) -> Any:
    if isinstance(result, tuple):
        return tuple(_narrow(part, half) for part in result)
    return result.astype(half) if result.dtype == np.float32 else result


def _widen(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) and is_half(value.dtype) else value


def through_float32(kernel: Kernel) -> Kernel:
    """Let `kernel`, written for the wide float types, take half-precision arrays as positional arguments."""

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, np.ndarray) and value.dtype.itemsize == 2 and value.dtype.kind in "fV":
                return _narrow(kernel(*map(_widen, args), **kwargs), value.dtype)
        return kernel(*args, **kwargs)

    return run  # type: ignore[return-value]
