"""Convolution over one, two or three axes, and its two transposes.

`conv` is bilinear, and its three kernels are closed under differentiation: with <g, conv(x, w)> held fixed,
the adjoint in x is `conv_input(g, w)`, which is also the transposed convolution, and the adjoint in w is
`conv_weight(g, x)`. They are transposes, not Hermitian: a rule for complex arrays conjugates its operands.
Layouts are (batch, channels, *space) and (out channels, channels / groups, *kernel); stride, padding and
dilation are tuples with one entry per axis of space.

How it is computed: the padded input is cut into `stride` interleaved phases, so that every kernel tap reads a
phase at a constant offset. The taps' shifted copies form the columns of one matrix product per block of
samples, with blocks small enough to stay in cache. Where rows are wide, whole rows are copied with their
padding (the "lattice" is then wider than the output): long copies, at the price of a few unused columns.
Those meet zeros, so that only an infinite operand could tell the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from chainrule.backends.cpu._array import Array, through_float32, trailing

__all__ = ["conv", "conv_input", "conv_input_shape", "conv_output_shape", "conv_weight"]

Ints = tuple[int, ...]
Slices = tuple[slice, ...]

# Elements in one block of columns: two megabytes of floats, best of 2**16 to 2**20 (measured).
BLOCK = 1 << 19
# Unused columns cost a matrix product their share; exact rows cost about an eighth (28 wide, measured).
WASTE = 1.13


# ----------------------------------------------------------------------------------------------------- shapes


def _check_space(stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints = (0,)) -> None:
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_groups(w_shape: Ints, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if w_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {list(w_shape)} instead"
        )
    if w_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(w_shape)}] instead"
        )
    if 0 in w_shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(w_shape[2:])}")


def _check_channels(x_shape: Ints, w_shape: Ints, groups: int) -> None:
    if x_shape[1] != w_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w_shape)}, expected input{list(x_shape)} to have "
            f"{w_shape[1] * groups} channels, but got {x_shape[1]} channels instead"
        )


def _times(extents: Ints) -> str:
    return "(" + " x ".join(map(str, extents)) + ")"


def conv_output_shape(x_shape: Ints, w_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Ints:
    """The shape of conv(x, w), or PyTorch's refusal."""
    _check_space(stride, padding, dilation)
    _check_groups(w_shape, groups)
    _check_channels(x_shape, w_shape, groups)
    padded = tuple(n + 2 * p for n, p in zip(x_shape[2:], padding))
    kernel = tuple(d * (k - 1) + 1 for k, d in zip(w_shape[2:], dilation))
    if any(k > n for k, n in zip(kernel, padded)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_times(padded)}. Kernel size: {_times(kernel)}. "
            "Kernel size can't be greater than actual input size"
        )
    return (x_shape[0], w_shape[0], *((n - k) // s + 1 for n, k, s in zip(padded, kernel, stride)))


def conv_input_shape(
    g_shape: Ints,
    w_shape: Ints,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int,
) -> Ints:
    """The shape of the transposed convolution of g with w, (g channels, out channels / groups, *kernel)."""
    _check_space(stride, padding, dilation, output_padding)
    _check_groups(w_shape, groups)
    if g_shape[1] != w_shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w_shape)}, expected input{list(g_shape)} to have "
            f"{w_shape[0]} channels, but got {g_shape[1]} channels instead"
        )
    if any(extra >= max(s, d) for extra, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"output_padding: {output_padding} stride: {stride} dilation: {dilation}"
        )
    if 0 in g_shape[2:]:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(g_shape)}"
        )
    space = zip(g_shape[2:], w_shape[2:], stride, padding, output_padding, dilation)
    extents = tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, e, d in space)
    if min(extents) < 1:
        raise RuntimeError(
            f"Given input size per channel: {_times(g_shape[2:])}. Calculated output size per channel: "
            f"{_times(extents)}. Output size is too small"
        )
    return (g_shape[0], w_shape[1] * groups, *extents)


# ------------------------------------------------------------------------------------------------------- plan


class Phase(NamedTuple):
    """The part of x that lands on one residue of the stride: phase[inside] = x[outside]."""

    inside: Slices
    outside: Slices


class Plan(NamedTuple):
    """Everything about a convolution that its shapes decide."""

    out: Ints  # the output's extents in space
    plane: Ints  # extents of a phase
    slack: int  # elements past the last plane that a wide row may read
    phases: tuple[Phase, ...]
    taps: tuple[tuple[int, Ints], ...]  # for each kernel element: its phase, its offset there
    lattice: Ints  # extents of what a tap reads: `out`, or wider where whole rows are cheaper
    samples: int  # in a block
    rows: int  # of the lattice's first axis in a block


def _phase(residue: Ints, x_space: Ints, stride: Ints, padding: Ints) -> Phase:
    inside, outside = [], []
    for r, n, s, p in zip(residue, x_space, stride, padding):
        first = (r - p) % s
        start = (first + p) // s
        outside.append(slice(first, None, s))
        inside.append(slice(start, start + max(0, -((first - n) // s))))
    return Phase(tuple(inside), tuple(outside))


@lru_cache(maxsize=1024)
def _plan(x_shape: Ints, w_shape: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Plan:
    plane = tuple(-((-n - 2 * p) // s) for n, p, s in zip(x_shape[2:], padding, stride))
    reach = [tuple(i * d for i, d in zip(tap, dilation)) for tap in product(*map(range, w_shape[2:]))]
    residues = sorted({tuple(r % s for r, s in zip(position, stride)) for position in reach})
    taps = tuple(
        (
            residues.index(tuple(r % s for r, s in zip(position, stride))),
            tuple(r // s for r, s in zip(position, stride)),
        )
        for position in reach
    )
    wide = (out[0], *plane[1:])
    lattice = wide if prod(wide) <= WASTE * prod(out) else out
    slack = max((_offset(start, plane) for _, start in taps), default=0)
    columns = x_shape[1] * prod(w_shape[2:])
    samples = max(1, min(x_shape[0], BLOCK // max(1, columns * prod(lattice))))
    rows = max(1, min(out[0], BLOCK // max(1, columns * prod(lattice[1:]))))
    phases = tuple(_phase(residue, x_shape[2:], stride, padding) for residue in residues)
    return Plan(out, plane, slack, phases, taps, lattice, samples, rows)


def _offset(position: Ints, extents: Ints) -> int:
    flat = 0
    for i, n in zip(position, extents):
        flat = flat * n + i
    return flat


def _blocks(plan: Plan, batch: int) -> Iterator[tuple[slice, list[tuple[int, int]]]]:
    """Sample ranges, each with the row ranges to work through."""
    rows = [(top, min(top + plan.rows, plan.out[0])) for top in range(0, plan.out[0], plan.rows)]
    for first in range(0, batch, plan.samples):
        yield slice(first, min(first + plan.samples, batch)), rows


# -------------------------------------------------------------------------------------------- phases and taps


class Planes:
    """The phases of a block of samples, as (channels, samples, plane) buffers that taps are views of."""

    def __init__(self, plan: Plan, channels: int, dtype: np.dtype[Any]) -> None:
        self.plan, self.size = plan, prod(plan.plane)
        shape = (channels, plan.samples, self.size + plan.slack)
        self.flat = [np.zeros(shape, dtype) for _ in plan.phases]
        self.space = [flat[:, :, : self.size].reshape(*shape[:2], *plan.plane) for flat in self.flat]

    def load(self, x: Array) -> None:
        """Fill the phases from x, a block of samples; the padding around them stays zero."""
        moved = x.swapaxes(0, 1)
        for space, phase in zip(self.space, self.plan.phases):
            space[:, : x.shape[0]][trailing(phase.inside)] = moved[trailing(phase.outside)]

    def store(self, x: Array) -> None:
        """Fill x, a block of samples, from the phases: the transpose of load."""
        moved = x.swapaxes(0, 1)
        for space, phase in zip(self.space, self.plan.phases):
            moved[trailing(phase.outside)] = space[:, : x.shape[0]][trailing(phase.inside)]

    def clear(self) -> None:
        for flat in self.flat:
            flat.fill(0)

    def tap(self, index: int, samples: int, top: int, bottom: int) -> Array:
        """What kernel element `index` sees, (channels, samples, ...), for lattice rows top to bottom."""
        phase, start = self.plan.taps[index]
        if self.plan.lattice == self.plan.out:
            rows = slice(start[0] + top, start[0] + bottom)
            rest = (slice(i, i + n) for i, n in zip(start[1:], self.plan.out[1:]))
            return self.space[phase][(slice(None), slice(samples), rows, *rest)]
        width = prod(self.plan.plane[1:])
        begin = _offset(start, self.plan.plane) + top * width
        return self.flat[phase][:, :samples, begin : begin + (bottom - top) * width]


class Work:
    """One pass over a convolution, block by block: the buffers, and the views of them that a block uses."""

    def __init__(self, plan: Plan, channels: int, features: int, groups: int, dtype: np.dtype[Any]) -> None:
        self.plan, self.groups = plan, groups
        self.planes = Planes(plan, channels, dtype)
        size = plan.samples * min(plan.rows, plan.out[0]) * prod(plan.lattice[1:])
        self._columns = np.empty(channels * len(plan.taps) * size, dtype)
        self._features = np.zeros(features * size, dtype)
        self._crop = (slice(None), slice(None), slice(None), *map(slice, plan.out[1:]))

    def _extent(self, samples: int, top: int, bottom: int) -> int:
        return samples * (bottom - top) * prod(self.plan.lattice[1:])

    def columns(self, samples: int, top: int, bottom: int) -> Array:
        """Room for every tap side by side: (channels, taps, samples, lattice)."""
        taps, size = len(self.plan.taps), self._extent(samples, top, bottom)
        channels = len(self.planes.space[0])
        return self._columns[: channels * taps * size].reshape(channels, taps, samples, size // samples)

    def unfold(self, samples: int, top: int, bottom: int) -> Array:
        """The columns, filled from the planes, as (groups, channels * taps, samples * lattice)."""
        columns = self.columns(samples, top, bottom)
        for index in range(len(self.plan.taps)):
            view = self.planes.tap(index, samples, top, bottom)
            columns[:, index].reshape(view.shape)[...] = view
        return columns.reshape(self.groups, -1, self._extent(samples, top, bottom))

    def fold(self, samples: int, top: int, bottom: int) -> None:
        """Add the columns into the planes: the transpose of unfold."""
        columns = self.columns(samples, top, bottom)
        for index in range(len(self.plan.taps)):
            view = self.planes.tap(index, samples, top, bottom)
            view += columns[:, index].reshape(view.shape)

    def features(self, samples: int, top: int, bottom: int) -> tuple[Array, Array]:
        """Room for a block of the output: a matrix per group, and as (batch, features, *space), cropped."""
        size = self._extent(samples, top, bottom)
        count = self._features.size // max(1, self._extent(self.plan.samples, 0, min(self.plan.rows, self.plan.out[0])))
        flat = self._features[: count * size].reshape(count, size)
        space = flat.reshape(count, samples, bottom - top, *self.plan.lattice[1:])[self._crop]
        return flat.reshape(self.groups, -1, size), space.swapaxes(0, 1)

    def load_features(self, g: Array, top: int, bottom: int) -> Array:
        """A block of g as a matrix per group, zero in the unused columns."""
        matrix, space = self.features(len(g), top, bottom)
        if self.plan.lattice != self.plan.out:
            matrix.fill(0)
        space[...] = g[:, :, top:bottom]
        return matrix


def _is_pointwise(w_shape: Ints, padding: Ints) -> bool:
    return prod(w_shape[2:]) == 1 and not any(padding)


def _grouped(x: Array, groups: int) -> Array:
    """(batch, groups, channels per group, space); a view of a contiguous x."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:]))


def _every(stride: Ints) -> tuple[Any, ...]:
    return trailing(slice(None, None, s) for s in stride)


def _is_tiling(w_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> bool:
    """Kernels laid side by side (patch embeddings): a reshape finds them, no tap need be shifted."""
    return groups == 1 and stride == w_shape[2:] and not any(padding) and max(dilation) == 1


def _tiles(x: Array, out: Ints, kernel: Ints) -> Array:
    """A view of x as (batch, *out, channels, *kernel)."""
    covered = x[trailing(slice(n * k) for n, k in zip(out, kernel))]
    pairs = tuple(extent for pair in zip(out, kernel) for extent in pair)
    tiles: Array = covered.reshape(*x.shape[:2], *pairs, copy=False)
    rank = len(out)
    return tiles.transpose(0, *range(2, 2 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2))


def _rows(x: Array, out: Ints, kernel: Ints) -> Array:
    return _tiles(x, out, kernel).reshape(x.shape[0] * prod(out), -1)


def _feature_rows(g: Array) -> Array:
    """(batch * space, features)."""
    return g.reshape(g.shape[0], g.shape[1], -1).swapaxes(1, 2).reshape(-1, g.shape[1])


@through_float32
def conv(x: Array, w: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1) -> Array:
    """Cross-correlation of x with w."""
    shape = conv_output_shape(x.shape, w.shape, stride, padding, dilation, groups)
    if not prod(shape) or not x.size:
        return np.zeros(shape, x.dtype)
    weight = w.reshape(groups, w.shape[0] // groups, -1)
    if _is_pointwise(w.shape, padding):
        out: Array = np.matmul(weight, _grouped(x[_every(stride)], groups))
        return out.reshape(shape)
    if _is_tiling(w.shape, stride, padding, dilation, groups):
        rows = _rows(x, shape[2:], stride) @ weight[0].T
        return np.ascontiguousarray(rows.reshape(shape[0], -1, shape[1]).swapaxes(1, 2)).reshape(shape)
    return _conv(x, w, shape, stride, padding, dilation, groups)


def _conv(x: Array, w: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    weight = w.reshape(groups, w.shape[0] // groups, -1)
    plan = _plan(x.shape, w.shape, shape[2:], stride, padding, dilation)
    work, out = Work(plan, x.shape[1], w.shape[0], groups, x.dtype), np.empty(shape, x.dtype)
    for block, rows in _blocks(plan, x.shape[0]):
        samples = block.stop - block.start
        work.planes.load(x[block])
        for top, bottom in rows:
            matrix, space = work.features(samples, top, bottom)
            np.matmul(weight, work.unfold(samples, top, bottom), out=matrix)
            out[block, :, top:bottom] = space
    return out


@through_float32
def conv_input(
    g: Array, w: Array, x_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
) -> Array:
    """The adjoint of conv in x, where x_shape is one whose convolution has g's shape, or the first part is g's."""
    out = np.zeros(x_shape, g.dtype)
    if not out.size or not g.size:
        return out
    weight = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
    if _is_pointwise(w.shape, padding):
        space = (x_shape[0], x_shape[1], *g.shape[2:])
        reached = out[_every(stride)][trailing(slice(n) for n in g.shape[2:])]
        reached[...] = np.matmul(weight, _grouped(g, groups)).reshape(space)
        return out
    if _is_tiling(w.shape, stride, padding, dilation, groups):
        tiles = _tiles(out, g.shape[2:], stride)
        tiles[...] = (_feature_rows(g) @ weight[0].T).reshape(tiles.shape)
        return out
    if max(stride) == 1 and w.shape[0] <= x_shape[1]:
        border = tuple(d * (k - 1) - p for k, p, d in zip(w.shape[2:], padding, dilation))
        whole = all(n == o - p + b for n, o, p, b in zip(x_shape[2:], g.shape[2:], padding, border))
        # Zeros beyond the border would meet the whole kernel, and 0 * nan is nan where PyTorch adds nothing.
        if whole and min(border) >= 0 and np.isfinite(np.add.reduce(w, None)):
            return _conv(g, _turned(w, groups), x_shape, stride, border, dilation, groups)
    plan = _plan(x_shape, w.shape, g.shape[2:], stride, padding, dilation)
    work = Work(plan, x_shape[1], w.shape[0], groups, g.dtype)
    for block, rows in _blocks(plan, x_shape[0]):
        work.planes.clear()
        for top, bottom in rows:
            matrix = work.load_features(g[block], top, bottom)
            columns = work.columns(len(g[block]), top, bottom)
            _spread(weight, matrix, columns.reshape(groups, -1, matrix.shape[2]))
            work.fold(len(g[block]), top, bottom)
        work.planes.store(out[block])
    return out


def _turned(w: Array, groups: int) -> Array:
    """The kernel turned round, its channels and features swapped: convolving with it undoes the shifts of w.

    With as many channels as features, reading shifted copies of g beats adding them into x by a fifth.
    """
    grouped = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    return np.flip(grouped.reshape(-1, w.shape[0] // groups, *w.shape[2:]), tuple(range(2, w.ndim)))


def _spread(weight: Array, matrix: Array, columns: Array) -> None:
    """columns = weight @ matrix; an outer product per group (depthwise) is five times faster without BLAS."""
    if matrix.shape[1] == 1:
        np.multiply(weight, matrix, out=columns)
    else:
        np.matmul(weight, matrix, out=columns)


@through_float32
def conv_weight(
    g: Array, x: Array, w_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
) -> Array:
    """The adjoint of conv in w."""
    # Transposed (columns by features): BLAS is half again as fast this way round.
    out = np.zeros((groups, prod(w_shape[1:]), w_shape[0] // groups), g.dtype)
    if not out.size or not g.size or not x.size:
        return out.reshape(w_shape)
    if _is_pointwise(w_shape, padding):
        reached = x[_every(stride)][trailing(slice(n) for n in g.shape[2:])]
        columns = _grouped(reached, groups)
        return np.asarray(np.matmul(_grouped(g, groups), columns.swapaxes(2, 3)).sum(0).reshape(w_shape))
    if _is_tiling(w_shape, stride, padding, dilation, groups):
        return (_feature_rows(g).T @ _rows(x, g.shape[2:], stride)).reshape(w_shape)
    plan = _plan(x.shape, w_shape, g.shape[2:], stride, padding, dilation)
    work = Work(plan, x.shape[1], w_shape[0], groups, g.dtype)
    for block, rows in _blocks(plan, x.shape[0]):
        work.planes.load(x[block])
        for top, bottom in rows:
            matrix = work.load_features(g[block], top, bottom)
            out += np.matmul(work.unfold(len(g[block]), top, bottom), matrix.swapaxes(1, 2))
    return out.swapaxes(1, 2).reshape(w_shape)
