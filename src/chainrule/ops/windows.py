"""Window functions of signal processing, and other tables of numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.backends import meta
from chainrule.config import settings
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call
from chainrule.core.layout import strided
from chainrule.core.public import composite
from chainrule.core.tensor import META, Tensor
from chainrule.ops.create import check_options, creation, dtype_from, made, place

__all__: list[str] = []


def _hamming(i: Any, n: int, alpha: float, beta: float) -> Any:
    return np.cos(i * i.dtype.type(2 * math.pi / (n - 1))) * i.dtype.type(-beta) + i.dtype.type(alpha)


def _hann(i: Any, n: int) -> Any:
    return _hamming(i, n, 0.5, 0.5)


def _blackman(i: Any, n: int) -> Any:
    angle, real = i * i.dtype.type(math.pi / (n - 1)), i.dtype.type
    return np.cos(angle * real(4)) * real(0.08) - np.cos(angle * real(2)) * real(0.5) + real(0.42)


def _bartlett(i: Any, n: int) -> Any:
    ramp = i * i.dtype.type(2 / (n - 1))
    half = ((n - 1) >> 1) + 1
    return np.concatenate([ramp[:half], 2 - ramp[half:]])


def _kaiser(i: Any, n: int, beta: float) -> Any:
    x = 2 * i.astype(np.float64) / (n - 1) - 1
    return (np.i0(beta * np.sqrt(np.maximum(0, 1 - x * x))) / np.i0(beta)).astype(i.dtype)


def _window(
    name: str, formula: Callable[..., Any], length: int, periodic: bool, numbers: tuple[float, ...],
    options: dict[str, Any],
) -> Tensor:  # fmt: skip
    dtype, requires_grad = options.get("dtype"), options.get("requires_grad", False)
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, name)
    if options.get("layout") not in (None, strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {options['layout']}")
    check_options(name, None, options.get("pin_memory"))
    _check(name, length, kind)
    if place(options.get("device")) is META:
        return made(meta.empty((length,), kind.numpy), requires_grad)
    work = np.float32 if kind.itemsize == 2 else kind.numpy.type
    if length <= 1:
        return made(np.ones(length, kind.numpy), requires_grad)
    whole = length + bool(periodic)
    values = formula(np.arange(whole).astype(work), whole, *numbers)[:length]
    return made(values.astype(kind.numpy, copy=False), requires_grad)


def _check(name: str, length: int, kind: DType) -> None:
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")


@creation()
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    return _window("bartlett_window", _bartlett, window_length, periodic, (), options)


@creation()
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Blackman's sum of two cosines."""
    return _window("blackman_window", _blackman, window_length, periodic, (), options)


@creation()
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any,
) -> Tensor:  # fmt: skip
    """A cosine on a step: alpha - beta cos."""
    return _window("hamming_window", _hamming, window_length, periodic, (alpha, beta), options)


@creation()
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A raised cosine."""
    return _window("hann_window", _hann, window_length, periodic, (), options)


@creation()
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """Kaiser's window, of Bessel functions; `beta` says how steep."""
    return _window("kaiser_window", _kaiser, window_length, periodic, (beta,), options)


# -------------------------------------------------------------------------------------------------------- other tables


@composite("f")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements, a row each."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError("N must be non-negative.")
    kept = x if x.dtype.category > 1 else x.long()
    if not columns:
        return kept.new_ones((x.shape[0], 0))
    first = kept.new_ones((x.shape[0], 1))
    powers = first if columns == 1 else _powers(kept, first, columns)
    return powers if increasing else powers.flip(1)


def _powers(x: Any, first: Any, columns: int) -> Any:
    parts = [first, x.unsqueeze(1)]
    while len(parts) < columns:
        parts.append(parts[-1] * parts[1])
    return call("cat", parts, dim=1)


@creation()
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A flat tensor over a file's bytes; `shared` writes changes back."""
    check_options("from_file", layout, pin_memory)
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, "from_file")
    if shared and not os.path.exists(filename):
        np.zeros(size or 0, kind.numpy).tofile(filename)
    mapped = np.memmap(filename, kind.numpy, "r+" if shared else "c", shape=(size or 0,))
    return made(mapped.view(np.ndarray), requires_grad)
