"""How many elements fall in which bin: along a line, or in a grid of any number of axes."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from chainrule.core.dtype import OF_NUMPY, c_name, float32, float64
from chainrule.core.family import general
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor, fresh
from chainrule.core.types import return_type
from chainrule.ops.arithmetic import no_derivative
from chainrule.ops.writing import into

__all__: list[str] = []

Edges = tuple[np.ndarray[Any, np.dtype[Any]], ...]
_grid = (np.linspace(-1.0, 1.0, 4), np.linspace(-2.0, 2.0, 3))


def _places(x: Any, edges: Any) -> tuple[Any, Any]:
    """The bin of each element, and which elements are in one: a bin holds its lower edge, the last one both."""
    inside = (x >= edges[0]) & (x <= edges[-1])
    return np.minimum(np.searchsorted(edges, x, "right") - 1, len(edges) - 2), inside


@general(
    spelled="", name="histogramdd_from_bin_tensors", node={"": "NotImplemented"},
    samples=samples(real, [((6, 2), None), ((6, 2), (6,))], edges=[_grid], density=[False, True]),
)  # fmt: skip
def _counts(xp: Any, input: Array, weight: Array | None = None, *, edges: Edges, density: bool) -> Array:
    """The number of points, or the sum of their weights, in each cell of a grid. Points are rows."""
    bins = tuple([len(e) - 1 for e in edges])
    if not bins:
        return xp.asarray(np.nan if density else 0.0).astype(input.dtype)
    found = [_places(x, e) for x, e in zip(input.reshape(-1, len(bins)).T, edges)]
    inside = np.logical_and.reduce([part for _, part in found])
    cells = np.ravel_multi_index([at[inside] for at, _ in found], bins)
    weights = None if weight is None else weight.reshape(-1)[inside]
    counts = xp.bincount(cells, weights, int(np.prod(bins))).reshape(bins).astype(input.dtype)
    if density:
        counts = counts / counts.sum()
        for axis, e in enumerate(edges):
            counts = counts / np.diff(e).reshape([-1 if axis == a else 1 for a in range(len(bins))])
    return counts


_counts.vjp(input=no_derivative("histogramdd"), weight=no_derivative("histogramdd"))


# ------------------------------------------------------------------------------------------------------------- edges


def _ranges(x: Any, axes: int, range: Any) -> list[tuple[float, float]]:
    """Lower and upper end of each axis: as given, or where the elements are."""
    if range is not None:
        if len(range) != 2 * axes:
            raise RuntimeError(
                f"torch.histogramdd: for a {axes}-dimensional histogram range should have {2 * axes} elements, but got "
                f"{len(range)}"
            )
        ends = list(zip(range[::2], range[1::2]))
    elif x.size:
        rows = x.reshape(-1, axes)
        ends = [(float(a), float(b)) for a, b in zip(rows.min(0), rows.max(0))]
    else:
        ends = [(0.0, 1.0)] * axes
    for at, (low, high) in enumerate(ends):
        if not (-inf < low < inf and -inf < high < inf):
            raise RuntimeError(f"torch.histogramdd: dimension {at}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {at}"
            )
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in ends]


def _edges_of_counts(x: Any, bins: list[int], range: Any) -> Edges:
    ends = _ranges(x, len(bins), range)
    for at, n in enumerate(bins):
        if n < 0:
            raise RuntimeError("number of steps must be non-negative")
        if n == 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {at}")
    return tuple([np.linspace(low, high, n + 1, dtype=x.dtype) for n, (low, high) in zip(bins, ends)])


def _given_edges(input: Any, bins: list[Tensor]) -> Edges:
    axes = input.shape[-1]
    if len(bins) != axes:
        raise RuntimeError(
            f"torch.histogramdd: expected {axes} sequences of bin edges for a {axes}-dimensional histogram but got "
            f"{len(bins)}"
        )
    for at, b in enumerate(bins):
        if b.dtype is not OF_NUMPY[input.dtype]:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{c_name(OF_NUMPY[input.dtype])} and bins for dimension {at} with dtype {c_name(b.dtype)}"
            )
        if b.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {b.ndim} dimensions in the bins "
                f"tensor for dimension {at}"
            )
        if not b.shape[0]:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                f"for dimension {at}"
            )
        if b.shape[0] == 1:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {at}")
    return tuple([b.raw for b in bins])


# ------------------------------------------------------------------------------------------------------------ public


def _check(points: Tensor, weight: Any) -> None:
    if points.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if points.dtype is not float32 and points.dtype is not float64:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{points.dtype.title}'")
    if weight is None:
        return
    if weight.dtype is not points.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({c_name(points.dtype)}), and weight({c_name(weight.dtype)})"
        )
    if tuple(weight.shape) != tuple(points.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(points.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _kinds(bins: Any, range: Any) -> str:
    return f"(Tensor, {type(bins).__name__}{'' if range is None else f', range={type(range).__name__}'})"


def _refuse(name: str, bins: Any, range: Any, several: str) -> TypeError:
    return TypeError(
        f"{name}() received an invalid combination of arguments - got {_kinds(bins, range)}, but expected one of: "
        f"(Tensor input, {several} bins, ...), (Tensor input, int bins, *, tuple of floats range = None, Tensor weight "
        "= None, bool density = False)"
    )


@composite()
def histogram(
    input: Tensor, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False, out: Any = None
) -> Any:
    """How many elements fall in each bin, and where the bins end."""
    if bins.__class__ is not int and not (isinstance(bins, Tensor) and range is None):
        raise _refuse("histogram", bins, range, "Tensor")
    if bins.__class__ is int and bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    points: Any = input.reshape(-1, 1)
    weights = None if weight is None else weight.reshape(-1)
    _check(points, weights)
    if out is not None:
        _check_out(input, *out)
    values = points.detach().raw
    edges = _given_edges(values, [bins]) if isinstance(bins, Tensor) else _edges_of_counts(values, [bins], range)
    counts = _counts.public(points, weights, edges=edges, density=density)
    found = return_type("histogram", ("hist", "bin_edges"), [counts, fresh(np.array(edges[0]))])
    return into("histogram", found, out, (input,))


def _check_out(input: Tensor, hist: Tensor, bin_edges: Tensor) -> None:
    for name, target, where in (("hist", hist, ""), ("bin_edges", bin_edges, " for dimension 0")):
        if target.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.histogram: input tensor and {name} tensor should have the same dtype, but got input "
                f"{c_name(input.dtype)} and {name} {c_name(target.dtype)}{where}"
            )


@composite("f")
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """How many points, the rows of the last axis, fall in each cell of a grid, and where its cells end."""
    if isinstance(bins, Tensor) or not isinstance(bins, (int, list, tuple)):
        raise _refuse("histogramdd", bins, range, "tuple of Tensors")
    if not input.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    axes, values = input.shape[-1], input.detach().raw
    several: list[Any] = [bins] * axes if isinstance(bins, int) else list(bins)
    given = bool(several) and isinstance(several[0], Tensor)
    if not given and len(several) != axes:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check(input, weight)
    edges = _given_edges(values, several) if given else _edges_of_counts(values, several, range)
    counts = _counts.public(input, weight, edges=edges, density=density)
    listed = tuple([fresh(np.array(e)) for e in edges])
    return return_type("histogramdd", ("hist", "bin_edges"), [counts, listed])
