"""Padding, and its adjoint, in four modes: constant, reflect, replicate and circular.

`padding` is flat and begins with the last axis, as PyTorch has it: (left, right, top, bottom, ...). A
negative entry cuts off. Axes are independent, so each is padded in turn, and the adjoint goes through them
in turn too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array, through_float32

__all__ = ["pad", "pad_adjoint", "pad_output_shape"]

Ints = tuple[int, ...]
MODES = ("constant", "reflect", "replicate", "circular")


def _pairs(padding: Ints, rank: int) -> list[tuple[int, int, int]]:
    """(axis, before, after) for every axis that changes."""
    if len(padding) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(padding) > 2 * rank:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension")
    pairs = zip(range(rank - 1, -1, -1), padding[::2], padding[1::2])
    return [(axis, before, after) for axis, before, after in pairs if before or after]


def _check_batch(shape: Ints, padding: Ints, mode: str) -> None:
    """Beside constants, and circles, only a batch may be empty, where there is an axis for it."""
    rank = len(padding) // 2
    if mode in ("reflect", "replicate") and 0 in shape[len(shape) - rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )


def _check_extent(shape: Ints, axis: int, before: int, after: int, mode: str) -> None:
    n = shape[axis]
    if mode == "reflect" and max(before, after) >= n:
        raise RuntimeError(
            f"Argument #{2 * (len(shape) - axis) + 2}: Padding size should be less than the corresponding "
            f"input dimension, but got: padding ({before}, {after}) at dimension {axis} of "
            f"input {list(shape)}"
        )
    if mode == "circular" and max(before, after) > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")


def _check_result(shape: Ints, out: Ints, axis: int, mode: str) -> None:
    if out[axis] < 0 and mode == "constant":
        raise RuntimeError("narrow(): length must be non-negative.")
    if out[axis] < 0 and mode == "circular":
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if out[axis] < 1 and mode in ("reflect", "replicate"):
        name = "DHW"[axis - len(shape)] if len(shape) - axis <= 3 else f"dimension {axis}"
        raise RuntimeError(f"input ({name}: {shape[axis]}) is too small. Calculated output {name}: {out[axis]}")


def pad_output_shape(shape: Ints, padding: Ints, mode: str = "constant") -> Ints:
    """The shape of a padded array, or PyTorch's refusal."""
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_batch(shape, padding, mode)
    out = list(shape)
    for axis, before, after in _pairs(padding, len(shape)):
        out[axis] += before + after
        _check_extent(shape, axis, before, after, mode)
        _check_result(shape, tuple(out), axis, mode)
    return tuple(out)


def _along(axis: int, part: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (part,)


@lru_cache(maxsize=256)
def _border_sources(mode: str, n: int, before: int, after: int) -> tuple[Array, Array]:
    """Which elements of an axis of extent n the border before it and the one after it repeat."""
    left, right = np.arange(-before, 0), np.arange(n, n + after)
    if mode == "replicate":
        return np.zeros_like(left), np.full_like(right, n - 1)
    if mode == "reflect":
        return -left, 2 * (n - 1) - right
    # What is cut off does not come round again.
    first = max(-before, 0)
    length = max(n - first - max(-after, 0), 1)
    return (left - first) % length + first, (right - first) % length + first


def _core(n: int, before: int, after: int) -> tuple[slice, slice]:
    """The elements that survive, and where they lie in the result."""
    first, last = max(-before, 0), n - max(-after, 0)
    return slice(first, last), slice(max(before, 0), max(before, 0) + max(last - first, 0))


def _resized(x: Array, axis: int, size: int) -> list[int]:
    shape = list(x.shape)
    shape[axis] = size
    return shape


def _pad_axis(x: Array, axis: int, before: int, after: int, mode: str) -> Array:
    n = x.shape[axis]
    out = np.empty(_resized(x, axis, n + before + after), x.dtype)
    kept, core = _core(n, before, after)
    out[_along(axis, core)] = x[_along(axis, kept)]
    left, right = _border_sources(mode, n, before, after)
    if before > 0:
        out[_along(axis, slice(before))] = x.take(left, axis)
    if after > 0:
        out[_along(axis, slice(core.stop, None))] = x.take(right, axis)
    return out


def _unpad_axis(g: Array, axis: int, n: int, before: int, after: int, mode: str) -> Array:
    """The adjoint of _pad_axis for an axis of extent n."""
    out = np.zeros(_resized(g, axis, n), g.dtype)
    kept, core = _core(n, before, after)
    out[_along(axis, kept)] = g[_along(axis, core)]
    borders = (slice(max(before, 0)), slice(core.stop, core.stop + max(after, 0)))
    for border, sources in zip(borders, _border_sources(mode, n, before, after)):
        if mode == "replicate" and sources.size:
            out[_along(axis, sources[:1])] += g[_along(axis, border)].sum(axis, keepdims=True)
        elif sources.size:
            # Within one border no element is repeated twice.
            out[_along(axis, sources)] += g[_along(axis, border)]
    return out


def _pad_constant(x: Array, shape: Ints, padding: Ints, value: Any) -> Array:
    out = np.full(shape, np.asarray(value).astype(x.dtype), x.dtype)
    inside, outside = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, before, after in _pairs(padding, x.ndim):
        inside[axis], outside[axis] = _core(x.shape[axis], before, after)
    out[tuple(outside)] = x[tuple(inside)]
    return out


def pad(x: Array, padding: Ints, mode: str = "constant", value: Any = 0) -> Array:
    """x with a border: of `value`, or of its own elements."""
    shape = pad_output_shape(x.shape, padding, mode)
    if mode == "constant":
        return _pad_constant(x, shape, padding, value)
    out = x
    for axis, before, after in _pairs(padding, x.ndim):
        out = _pad_axis(out, axis, before, after, mode)
    return out if out is not x else x.copy()


@through_float32
def pad_adjoint(g: Array, shape: Ints, padding: Ints, mode: str = "constant") -> Array:
    """The adjoint of pad over arrays of `shape`."""
    pad_output_shape(shape, padding, mode)
    if mode == "constant":
        return _pad_constant(g, shape, tuple(-p for p in padding), 0)
    out = g
    for axis, before, after in reversed(_pairs(padding, len(shape))):
        out = _unpad_axis(out, axis, shape[axis], before, after, mode)
    return out if out is not g else g.copy()
