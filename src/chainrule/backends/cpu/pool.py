"""Pooling over the last one, two or three axes.

Arrays are (*lead, *space) with as many axes of space as `kernel` has entries; kernel, stride, padding and
dilation are tuples. Maxima come with the position of each, flat within its own plane of the input, and
everything else about them follows from those positions: `max_pool_gather` is the derivative,
`max_pool_scatter` its adjoint (the gradient of max_pool), each linear and each other's transpose. An
average factors into one sum per axis, and so does its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array, through_float32, trailing

__all__ = [
    "adaptive_avg_pool",
    "adaptive_avg_pool_adjoint",
    "adaptive_max_pool",
    "avg_pool",
    "avg_pool_adjoint",
    "check_windows",
    "max_pool",
    "max_pool_gather",
    "max_pool_scatter",
    "max_unpool",
    "pool_output_space",
]

Ints = tuple[int, ...]


# ----------------------------------------------------------------------------------------------------- shapes


def _windows(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """How many windows fit; with `ceil_mode` also a last one that starts inside the padded input."""
    span = n + 2 * p - d * (k - 1) - 1
    count = (span + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


def check_windows(kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    """Refuse the sizes that no input could be pooled with."""
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kernel size {kernel}")
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got dilation {dilation}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, "
                f"but got pad={p}, kernel_size={k} and dilation={d}"
            )


def _channels(x: Array, kernel: Ints) -> int:
    """The size of the axis before those of space, for a message."""
    return int(x.shape[-1 - len(kernel)]) if x.ndim > len(kernel) else 1


def pool_output_space(
    space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, channels: int = 1
) -> Ints:
    """The extents of a pooled array, or PyTorch's refusal."""
    check_windows(kernel, stride, padding, dilation)
    out = tuple(_windows(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(space, kernel, stride, padding, dilation))
    if min(out) < 1:
        given, made = ("x".join(map(str, (channels, *extents))) for extents in (space, out))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")
    return out


def _split(shape: Ints, rank: int) -> tuple[Ints, Ints]:
    return shape[: len(shape) - rank], shape[len(shape) - rank :]


# ----------------------------------------------------------------------------------------------------- maxima


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _column(values: Array, axis: int, rank: int) -> Array:
    """values along `axis` of `rank` broadcastable axes."""
    return values.reshape((-1,) + (1,) * (rank - axis - 1))


def _steps(space: Ints) -> Ints:
    return tuple(prod(space[axis + 1 :]) for axis in range(len(space)))


@lru_cache(maxsize=256)
def _max_geometry(
    space: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[Array, Array, Array]:
    """Where each window starts, how far its taps lie from there, its first element inside the input."""
    rank = len(space)
    start, first = np.zeros((), np.int64), np.zeros((), np.int64)
    for axis, (s, p, d, step) in enumerate(zip(stride, padding, dilation, _steps(space))):
        corner = np.arange(out[axis]) * s - p
        start = start + _column(corner * step, axis, rank)
        first = first + _column(np.where(corner < 0, corner % d, corner) * step, axis, rank)
    taps = product(*map(range, kernel))
    reach = [sum(i * d * n for i, d, n in zip(tap, dilation, _steps(space))) for tap in taps]
    return start, np.array(reach), first


def _padded(x: Array, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """x with room for every tap of every window, the lowest number around it."""
    lead, space = _split(x.shape, len(kernel))
    reach = tuple((o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(out, stride, dilation, kernel))
    if not any(padding) and all(r <= n for r, n in zip(reach, space)):
        return x
    full = np.full(lead + tuple(map(max, reach, map(sum, zip(padding, space)))), _lowest(x.dtype), x.dtype)
    full[trailing(slice(p, p + n) for p, n in zip(padding, space))] = x
    return full


@through_float32
def max_pool(
    x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool = False
) -> tuple[Array, Array]:
    """The largest value of each window, and where it lies. The first of equals wins, but the last of NaNs."""
    space = _split(x.shape, len(kernel))[1]
    out = pool_output_space(space, kernel, stride, padding, dilation, ceil_mode, _channels(x, kernel))
    start, reach, first = _max_geometry(space, out, kernel, stride, padding, dilation)
    full = _padded(x, out, kernel, stride, padding, dilation)
    values, tap = _slide(full, out, kernel, stride, dilation, np.greater)
    if values.dtype.kind == "f" and np.isnan(values).any():
        values, tap = _slide(full, out, kernel, stride, dilation, _greater_or_nan)
    # Where nothing beats the padding, tap 0 may lie in it.
    return values, np.where(values == _lowest(x.dtype), first, reach.take(tap) + start)


Beats = Callable[[Array, Array], Array]


def _greater_or_nan(view: Array, best: Array) -> Array:
    return np.asarray((view > best) | np.isnan(view))


def _slide(full: Array, out: Ints, kernel: Ints, stride: Ints, dilation: Ints, beats: Beats) -> tuple[Array, Array]:
    """The largest of each window and the number of its tap, one axis after the other, the last one first."""
    values, tap = full, np.zeros(full.shape, np.uint8 if prod(kernel) <= 256 else np.int32)
    for axis in range(-1, -len(out) - 1, -1):
        if kernel[axis] > 1:
            shift = dilation[axis] * prod(values.shape[values.ndim + axis + 1 :])
            values, tap = _slide_axis(values, tap, kernel[axis], shift, _steps(kernel)[axis], beats)
        kept = _at(axis, slice(0, (out[axis] - 1) * stride[axis] + 1, stride[axis]))
        values, tap = np.ascontiguousarray(values[kept]), np.ascontiguousarray(tap[kept])
    return values, tap


def _slide_axis(values: Array, tap: Array, count: int, shift: int, step: int, beats: Beats) -> tuple[Array, Array]:
    """The largest of `count` elements `shift` apart, at every position, ends included and left to be cropped.

    All of it is done on flat arrays, at stride 1: rows of images are too short for NumPy's inner loops. A
    winner is entered by multiplying with a mask, which wraps around and vectorises as masked writes do not.
    """
    source, best, numbers, chosen = (a.reshape(-1) for a in (values, values.copy(), tap, tap.copy()))
    for i in range(1, count):
        length = max(0, source.size - i * shift)
        view, top, number = source[i * shift :], best[:length], chosen[:length]
        change = numbers[i * shift :] + tap.dtype.type(i * step)
        change -= number
        change *= beats(view, top)
        number += change
        np.maximum(top, view, out=top)
    return best.reshape(values.shape), chosen.reshape(tap.shape)


def _plane_positions(indices: Array, rank: int, plane: int) -> Array:
    """indices, flat within each plane, made flat within the whole array."""
    lead, out = _split(indices.shape, rank)
    planes = np.arange(prod(lead)) * plane
    return np.asarray(indices.reshape(prod(lead), prod(out)) + planes[:, None])


def max_pool_gather(t: Array, indices: Array, rank: int) -> Array:
    """What t holds at each plane's `indices`."""
    plane = prod(t.shape[t.ndim - rank :])
    return t.reshape(-1).take(_plane_positions(indices, rank, plane)).reshape(indices.shape)


@through_float32
def max_pool_scatter(g: Array, indices: Array, space: Ints) -> Array:
    """The adjoint of max_pool_gather: g added up at each plane's `indices`, in planes of extents `space`."""
    out = np.zeros(_split(g.shape, len(space))[0] + space, g.dtype)
    np.add.at(out.reshape(-1), _plane_positions(indices, len(space), prod(space)).reshape(-1), g.reshape(-1))
    return out


def max_unpool(x: Array, indices: Array, space: Ints) -> Array:
    """x written, not added, at each plane's `indices`; zero elsewhere."""
    if indices.size and (indices.min() < 0 or indices.max() >= prod(space)):
        wrong = int(indices[(indices < 0) | (indices >= prod(space))].flat[0])
        volume = "x".join(map(str, space))
        raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {volume})")
    out = np.zeros(_split(x.shape, len(space))[0] + space, x.dtype)
    out.reshape(-1)[_plane_positions(indices, len(space), prod(space)).reshape(-1)] = x.reshape(-1)
    return out


# --------------------------------------------------------------------------------------------------- averages


def _covered(i: int, n: int, out: int, s: int, p: int) -> tuple[slice, slice]:
    """Which windows see an element at tap `i` along one axis, and which elements those are."""
    low = max(0, -((i - p) // s))
    high = min(out, (n - 1 + p - i) // s + 1)
    start = low * s + i - p
    return slice(low, max(low, high)), slice(start, start + max(0, high - low) * s, s)


def _at(axis: int, part: slice) -> tuple[Any, ...]:
    """An index of one axis, counted from the end."""
    return (..., part) + (slice(None),) * (-axis - 1)


def _sum_windows(x: Array, axis: int, k: int, s: int, p: int, out: int) -> Array:
    shape = list(x.shape)
    shape[axis] = out
    total = np.zeros(shape, x.dtype)
    for i in range(k):
        windows, elements = _covered(i, x.shape[axis], out, s, p)
        total[_at(axis, windows)] += x[_at(axis, elements)][_at(axis, slice(windows.stop - windows.start))]
    return total


def _spread_windows(g: Array, axis: int, k: int, s: int, p: int, n: int) -> Array:
    """The adjoint of _sum_windows."""
    shape = list(g.shape)
    shape[axis] = n
    total = np.zeros(shape, g.dtype)
    for i in range(k):
        windows, elements = _covered(i, n, g.shape[axis], s, p)
        total[_at(axis, elements)] += g[_at(axis, windows)]
    return total


def _avg_counts(space: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, count_include_pad: bool) -> Array:
    """How many elements each window averages over."""
    count: Any = 1
    for axis, (n, o, k, s, p) in enumerate(zip(space, out, kernel, stride, padding)):
        start = np.arange(o) * s - p
        low, high = (start, n + p) if count_include_pad else (np.maximum(start, 0), n)
        count = count * _column(np.minimum(start + k, high) - low, axis, len(space))
    return np.asarray(count)


def _divided(total: Array, count: Any) -> Array:
    if total.dtype.kind in "iu":
        return np.asarray((total / count).astype(total.dtype))
    return np.asarray(np.divide(total, count, dtype=total.dtype))


def _avg_divisor(
    space: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool, override: int | None
) -> Any:
    if override == 0:
        raise RuntimeError("divisor must be not zero")
    return override or _avg_counts(space, out, kernel, stride, padding, include)


@through_float32
def avg_pool(
    x: Array,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window; padding counts as zeros, or with count_include_pad=False not at all."""
    space = _split(x.shape, len(kernel))[1]
    out = pool_output_space(space, kernel, stride, padding, (1,) * len(kernel), ceil_mode, _channels(x, kernel))
    divisor = _avg_divisor(space, out, kernel, stride, padding, count_include_pad, divisor_override)
    # The first axis of space comes first: whole rows are added, and the last axis, element by element, is met
    # when little is left.
    for axis, (k, s, p, o) in enumerate(zip(kernel, stride, padding, out), -len(kernel)):
        x = _sum_windows(x, axis, k, s, p, o)
    return _divided(x, divisor)


@through_float32
def avg_pool_adjoint(
    g: Array,
    space: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The adjoint of avg_pool over planes of extents `space`."""
    out = _split(g.shape, len(kernel))[1]
    g = _divided(g, _avg_divisor(space, out, kernel, stride, padding, count_include_pad, divisor_override))
    for axis in range(-1, -len(kernel) - 1, -1):
        g = _spread_windows(g, axis, kernel[axis], stride[axis], padding[axis], space[axis])
    return g


# --------------------------------------------------------------------------------------------------- adaptive


def _ranges(n: int, out: int) -> list[tuple[int, int]]:
    """The share of n elements that each of `out` outputs looks at; neighbours may overlap."""
    return [(i * n // out, -((-(i + 1) * n) // out)) for i in range(out)]


def _check_adaptive(space: Ints, out: Ints, name: str) -> None:
    if min(out, default=0) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {list(out)}"
        )
    if 0 in space:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
            f"but input has sizes {list(space)} with dimension {space.index(0)} being empty"
        )


def _adaptive_counts(space: Ints, out: Ints) -> Array:
    count: Any = 1
    for axis, (n, o) in enumerate(zip(space, out)):
        sizes = np.array([high - low for low, high in _ranges(n, o)], np.int64)
        count = count * _column(sizes, axis, len(space))
    return np.asarray(count)


def _sum_ranges(x: Array, axis: int, out: int) -> Array:
    n = x.shape[axis]
    if out and n % out == 0:
        return _sum_windows(x, axis, n // out, n // out, 0, out)
    shape = list(x.shape)
    shape[axis] = out
    total = np.empty(shape, x.dtype)
    for i, (low, high) in enumerate(_ranges(n, out)):
        np.add.reduce(x[_at(axis, slice(low, high))], axis, keepdims=True, out=total[_at(axis, slice(i, i + 1))])
    return total


def _spread_ranges(g: Array, axis: int, n: int) -> Array:
    """The adjoint of _sum_ranges."""
    out = g.shape[axis]
    if out and n % out == 0:
        return g.repeat(n // out, axis)
    shape = list(g.shape)
    shape[axis] = n
    total = np.zeros(shape, g.dtype)
    for i, (low, high) in enumerate(_ranges(n, out)):
        total[_at(axis, slice(low, high))] += g[_at(axis, slice(i, i + 1))]
    return total


@through_float32
def adaptive_avg_pool(x: Array, out: Ints) -> Array:
    """The mean over a nearly equal share of the input for each of `out` outputs per axis."""
    space = _split(x.shape, len(out))[1]
    _check_adaptive(space, out, f"adaptive_avg_pool{len(out)}d")
    for axis, o in enumerate(out, -len(out)):
        x = _sum_ranges(x, axis, o)
    return _divided(x, _adaptive_counts(space, out))


@through_float32
def adaptive_avg_pool_adjoint(g: Array, space: Ints) -> Array:
    """The adjoint of adaptive_avg_pool over planes of extents `space`."""
    g = _divided(g, _adaptive_counts(space, _split(g.shape, len(space))[1]))
    for axis in range(-1, -len(space) - 1, -1):
        g = _spread_ranges(g, axis, space[axis])
    return g


@through_float32
def adaptive_max_pool(x: Array, out: Ints) -> tuple[Array, Array]:
    """The largest of each share and where it lies, with max_pool's choice among equals."""
    lead, space = _split(x.shape, len(out))
    _check_adaptive(space, out, f"adaptive_max_pool{len(out)}d")
    values, indices = np.empty(lead + out, x.dtype), np.empty(lead + out, np.int64)
    if not values.size:
        return values, indices
    if all(n % o == 0 for n, o in zip(space, out)) and prod(out) > 16:
        share = tuple(n // o for n, o in zip(space, out))
        return max_pool(x, share, share, (0,) * len(out), (1,) * len(out))
    places = np.arange(prod(space)).reshape(space)
    shares = [_ranges(n, o) for n, o in zip(space, out)]
    for cell in product(*map(range, out)):
        window = trailing(slice(*ranges[i]) for ranges, i in zip(shares, cell))
        part = x[window].reshape(*lead, -1)
        best = _first_largest_or_last_nan(part)
        values[_cell(cell)] = np.take_along_axis(part, best[..., None], -1)[..., 0]
        indices[_cell(cell)] = places[window].reshape(-1)[best]
    return values, indices


def _cell(place: Ints) -> tuple[Any, ...]:
    return (..., *place)


def _first_largest_or_last_nan(x: Array) -> Array:
    best = np.asarray(x.argmax(-1))
    if x.dtype.kind != "f":
        return best
    nan = np.isnan(x)
    if not nan.any():
        return best
    return np.where(nan.any(-1), x.shape[-1] - 1 - nan[..., ::-1].argmax(-1), best)
