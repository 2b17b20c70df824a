"""Interpolation to another size over the last axes, and its adjoint.

Every mode but area is separable: along each axis an output is a weighted sum of a few inputs, and the
adjoint spreads with the same weights. `scales` holds, per axis, the scale factor the user gave, or None
where positions follow from the sizes; positions are computed in the array's own precision, as PyTorch
computes them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from chainrule.backends.cpu._array import Array, through_float32, title
from chainrule.backends.cpu.pool import adaptive_avg_pool, adaptive_avg_pool_adjoint

__all__ = [
    "interpolate",
    "interpolate_adjoint",
]

Ints = tuple[int, ...]
Scales = tuple[float | None, ...] | None

# Up to this extent a dense matrix through BLAS beats gathering, whatever the taps.
DENSE = 512

_KINDS = {
    "nearest": "nearest",
    "nearest-exact": "nearest-exact",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


class Taps(NamedTuple):
    """For each output along an axis, the inputs it sees and their weights, both (outputs, taps)."""

    sources: Array
    weights: Array


# -------------------------------------------------------------------------------------------------- positions


def _ratio(n: int, out: int, align_corners: bool, scale: float | None, real: Any) -> Any:
    """Input steps per output step."""
    if align_corners:
        return real(n - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / scale) if scale is not None and scale > 0 else real(n) / real(out)


def _positions(n: int, out: int, align_corners: bool, scale: float | None, real: Any) -> Array:
    """Where each output lies among the inputs."""
    ratio, steps = float(_ratio(n, out, align_corners, scale, real)), np.arange(out)
    # One rounding at the end, as by a fused multiply and add: it decides some of nearest-exact's choices.
    return (ratio * steps if align_corners else ratio * (steps + 0.5) - 0.5).astype(real)


def _nearest(n: int, out: int, exact: bool, scale: float | None, real: Any) -> Taps:
    if exact:
        places = np.maximum(_positions(n, out, False, scale, real), 0) + real(0.5)
    else:
        places = np.arange(out).astype(real) * _ratio(n, out, False, scale, real)
    # PyTorch rounds down in single precision, whatever it computed in.
    sources = np.minimum(places.astype(np.float32).astype(np.int64), n - 1)
    return Taps(sources[:, None], np.ones((out, 1), real))


def _linear(n: int, out: int, align_corners: bool, scale: float | None, real: Any) -> Taps:
    if n == out:
        # Whatever the scale says, PyTorch moves nothing.
        return _nearest(n, out, False, None, real)
    position = np.maximum(_positions(n, out, align_corners, scale, real), 0)
    left = np.minimum(position.astype(np.int64), n - 1)
    right = np.minimum(left + 1, n - 1)
    share = np.clip(position - left.astype(real), 0, 1).astype(real)
    return Taps(np.stack([left, right], 1), np.stack([1 - share, share], 1))


def _cubic_near(t: Array, a: float) -> Array:
    """The convolution kernel of cubic interpolation for distances up to one."""
    return np.asarray(((a + 2) * t - (a + 3)) * t * t + 1)


def _cubic_far(t: Array, a: float) -> Array:
    """The same for distances from one to two."""
    return np.asarray(((a * t - 5 * a) * t + 8 * a) * t - 4 * a)


def _cubic(n: int, out: int, align_corners: bool, scale: float | None, real: Any) -> Taps:
    position = _positions(n, out, align_corners, scale, real)
    middle = np.minimum(np.floor(position).astype(np.int64), n - 1)
    t = np.clip(position - middle.astype(real), 0, 1).astype(real)
    sources = np.clip(middle[:, None] + np.arange(-1, 3), 0, n - 1)
    weights = (
        _cubic_far(t + 1, -0.75),
        _cubic_near(t, -0.75),
        _cubic_near(1 - t, -0.75),
        _cubic_far(2 - t, -0.75),
    )
    return Taps(sources, np.stack(weights, 1).astype(real))


def _filter(kind: str, distance: Array) -> Array:
    t = np.abs(distance)
    if kind == "linear":
        return np.asarray(np.maximum(1 - t, 0))
    return np.where(t < 1, _cubic_near(t, -0.5), np.where(t < 2, _cubic_far(t, -0.5), 0))


def _antialiased(kind: str, n: int, out: int, align_corners: bool, scale: float | None, real: Any) -> Taps:
    """The filter stretched over every input that an output covers, and normalised."""
    ratio = _ratio(n, out, align_corners, scale, real)
    stretch = max(ratio, real(1))
    reach = real(1 if kind == "linear" else 2) * stretch
    center = ratio * (np.arange(out).astype(real) + real(0.5))
    first = np.maximum((center - reach + real(0.5)).astype(np.int64), 0)
    last = np.minimum((center + reach + real(0.5)).astype(np.int64), n)
    sources = first[:, None] + np.arange(int((last - first).max(initial=1)))
    weights = _filter(kind, (sources.astype(real) - center[:, None] + real(0.5)) / stretch)
    weights = np.where(sources < last[:, None], weights, 0)
    return Taps(np.minimum(sources, n - 1), (weights / weights.sum(1, keepdims=True)).astype(real))


@lru_cache(maxsize=256)
def _taps(kind: str, n: int, out: int, align_corners: bool, scale: float | None, antialias: bool, real: Any) -> Taps:
    if kind.startswith("nearest"):
        return _nearest(n, out, kind == "nearest-exact", scale, real)
    if antialias:
        return _antialiased(kind, n, out, align_corners, scale, real)
    return (_linear if kind == "linear" else _cubic)(n, out, align_corners, scale, real)


@lru_cache(maxsize=64)
def _matrix(kind: str, n: int, out: int, align_corners: bool, scale: float | None, antialias: bool, real: Any) -> Array:
    taps = _taps(kind, n, out, align_corners, scale, antialias, real)
    dense = np.zeros((out, n), real)
    np.add.at(dense, (np.arange(out)[:, None], taps.sources), taps.weights)
    return dense


# ---------------------------------------------------------------------------------------------- along an axis


def _times_matrix(x: Array, matrix: Array, axis: int) -> Array:
    """matrix applied along `axis`, counted from the end."""
    if axis == -1:
        return np.asarray(np.matmul(x, matrix.T))
    lead, rest = x.shape[: x.ndim + axis], x.shape[x.ndim + axis + 1 :]
    flat: Array = np.matmul(matrix, x.reshape(*lead, x.shape[axis], math.prod(rest)))
    return flat.reshape(*lead, len(matrix), *rest)


def _column(weights: Array, axis: int) -> Array:
    return weights.reshape((-1,) + (1,) * (-axis - 1))


def _gather_axis(x: Array, taps: Taps, axis: int) -> Array:
    total: Any = 0
    with np.errstate(all="ignore"):
        for sources, weights in zip(taps.sources.T, taps.weights.T):
            total = total + x.take(sources, axis) * _column(weights, axis)
    return np.asarray(total)


def _spread_axis(g: Array, taps: Taps, axis: int, n: int) -> Array:
    """The adjoint of _gather_axis; a tap's sources never fall, so runs of equals are summed."""
    shape = list(g.shape)
    shape[axis] = n
    out = np.zeros(shape, g.dtype)
    for sources, weights in zip(taps.sources.T, taps.weights.T):
        starts = np.flatnonzero(np.diff(sources, prepend=-1))
        place = (..., sources[starts]) + (slice(None),) * (-axis - 1)
        out[place] += np.add.reduceat(g * _column(weights, axis), starts, axis)
    return out


def _is_tame(x: Array) -> bool:
    """Whether nothing infinite would turn a dense matrix's zeros into NaN."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(x.sum()))


def _order(space: Ints, out: Ints) -> list[int]:
    """Axes that shrink first, so that the others meet less."""
    return sorted(range(-len(space), 0), key=lambda axis: out[axis] / space[axis])


# ------------------------------------------------------------------------------------------------ the kernels


def _check_sizes(space: Ints, out: Ints) -> None:
    if min(space + out) <= 0:
        names = "DHW"[-len(space) :]
        before, after = (", ".join(f"{name}: {n}" for name, n in zip(names, part)) for part in (space, out))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) and output ({after})"
        )


def _kind(mode: str) -> str:
    if mode not in _KINDS:
        raise NotImplementedError(f"interpolation mode {mode!r} has no kernel")
    return _KINDS[mode]


def _settled(n: int, out: int, scale: float | None, kind: str, rank: int) -> float | None:
    """For images PyTorch's nearest keeps or doubles by the sizes alone, whatever the scale says."""
    return None if kind == "nearest" and rank == 2 and out in (n, 2 * n) else scale


def _keys(
    kind: str, space: Ints, out: Ints, align_corners: bool, scales: Scales, antialias: bool, real: Any
) -> list[tuple[Any, ...]]:
    """What _taps and _matrix are asked for, per axis."""
    return [
        (kind, n, o, align_corners, _settled(n, o, scale, kind, len(space)), antialias, real)
        for n, o, scale in zip(space, out, scales or (None,) * len(space))
    ]


def _interpolate(
    x: Array, size: Ints, kind: str, align_corners: bool, scales: Scales, antialias: bool, real: Any
) -> Array:
    space = x.shape[x.ndim - len(size) :]
    keys = _keys(kind, space, size, align_corners, scales, antialias, real)
    dense = kind.startswith("nearest") or _is_tame(x)
    for axis in _order(space, size):
        if kind.startswith("nearest"):
            x = x.take(_taps(*keys[axis]).sources[:, 0], axis)
        elif dense and space[axis] <= DENSE:
            x = _times_matrix(x, _matrix(*keys[axis]), axis)
        else:
            x = _gather_axis(x, _taps(*keys[axis]), axis)
    return x


def interpolate(
    x: Array,
    size: Ints,
    mode: str = "nearest",
    align_corners: bool = False,
    scales: Scales = None,
    antialias: bool = False,
) -> Array:
    """x resized to `size` over its last axes, in any of PyTorch's modes."""
    _check_sizes(x.shape[x.ndim - len(size) :], size)
    if mode == "area":
        return adaptive_avg_pool(x, size)
    kind, real = _kind(mode), np.float64 if x.dtype == np.float64 else np.float32
    if kind.startswith("nearest"):
        return _interpolate(x, size, kind, False, scales, False, real)
    if x.dtype == np.uint8:
        wide = _interpolate(x.astype(real), size, kind, align_corners, scales, antialias, real)
        return np.clip(np.rint(wide), 0, 255).astype(np.uint8)
    if x.dtype.kind not in "fV":
        raise NotImplementedError(f"\"upsample_{mode}{len(size)}d\" not implemented for '{title(x)}'")
    return _interpolate_real(x, size, kind, align_corners, scales, antialias)


@through_float32
def _interpolate_real(x: Array, size: Ints, kind: str, align_corners: bool, scales: Scales, antialias: bool) -> Array:
    return _interpolate(x, size, kind, align_corners, scales, antialias, x.dtype.type)


@through_float32
def interpolate_adjoint(
    g: Array,
    space: Ints,
    mode: str = "nearest",
    align_corners: bool = False,
    scales: Scales = None,
    antialias: bool = False,
) -> Array:
    """The adjoint of interpolate over arrays whose last axes have extents `space`."""
    if mode == "area":
        return adaptive_avg_pool_adjoint(g, space)
    size, kind = g.shape[g.ndim - len(space) :], _kind(mode)
    real = np.float64 if g.dtype == np.float64 else np.float32
    keys, dense = _keys(kind, space, size, align_corners, scales, antialias, real), _is_tame(g)
    for axis in reversed(_order(space, size)):
        if dense and space[axis] <= DENSE:
            g = _times_matrix(g, _matrix(*keys[axis]).T.astype(g.dtype, copy=False), axis)
        else:
            g = _spread_axis(g, _taps(*keys[axis]), axis, space[axis])
    return g
