"""A = L D L^T (or L D L^H) of symmetric matrices, with the pivots of Bunch and Kaufman (1977), as LAPACK gives them.

D has blocks of one or two rows. Below the diagonal lies L, on it and, in a block of two, right below it D. A pivot says
with which row, counted from 1, the step swapped; both rows of a block of two have the same one, negative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["factor", "solve"]

Array = NDArray[Any]
_GROWTH = (1 + math.sqrt(17)) / 8  # elements grow least from step to step


def _size(x: Any) -> Any:
    """LAPACK's size of complex numbers when it looks for pivots."""
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def factor(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D in one array, the pivots, and the number of the first block of D that is zero, or 0."""
    n = a.shape[-1]
    work = np.tril(a).reshape(math.prod(a.shape[:-2]), n, n)
    pivots, info = np.zeros((len(work), n), np.int32), np.zeros(len(work), np.int32)
    turned = np.conj if hermitian and np.iscomplexobj(a) else np.asarray
    with np.errstate(all="ignore"):
        for i, matrix in enumerate(work):
            info[i] = _factor_one(matrix, pivots[i], turned)
    return work.reshape(a.shape), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


def _factor_one(a: Array, pivots: Array, turned: Any) -> int:
    k, n, info = 0, len(a), 0
    while k < n:
        if turned is np.conj:
            a[k, k] = a[k, k].real
        row, step = _pivot(a, k)
        last = k + step - 1
        if row < 0:
            info, row = info or k + 1, k
        if row != last:
            _swap(a, k, last, row, turned)
        if a[k, k] != 0 or step == 2:
            (_eliminate if step == 1 else _eliminate_two)(a, k, turned)
        pivots[k : k + step] = row + 1 if step == 1 else -(row + 1)
        k += step
    return info


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """The row to swap with, -1 where all is zero, and how many rows the block has."""
    own, below = _size(a[k, k]), _size(a[k + 1 :, k])
    most = below.max(initial=0)
    if max(own, most) == 0:
        return -1, 1
    if own >= _GROWTH * most:
        return k, 1
    at = k + 1 + int(below.argmax())
    widest = max(_size(a[at, k:at]).max(initial=0), _size(a[at + 1 :, at]).max(initial=0))
    if own >= _GROWTH * most * (most / widest):
        return k, 1
    return at, 1 if _size(a[at, at]) >= _GROWTH * widest else 2


def _swap(a: Array, k: int, last: int, row: int, turned: Any) -> None:
    """Rows and columns `last` and `row`, of which the lower triangle alone is kept."""
    a[row + 1 :, [last, row]] = a[row + 1 :, [row, last]]
    between = slice(last + 1, row)
    a[between, last], a[row, between] = turned(a[row, between]).copy(), turned(a[between, last]).copy()
    a[row, last] = turned(a[row, last])
    a[last, last], a[row, row] = a[row, row], a[last, last]
    if last != k:
        a[last, k], a[row, k] = a[row, k], a[last, k]


def _eliminate(a: Array, k: int, turned: Any) -> None:
    column = a[k + 1 :, k].copy()
    scaled = column / a[k, k]
    a[k + 1 :, k + 1 :] -= np.tril(np.outer(column, turned(scaled)))
    a[k + 1 :, k] = scaled


def _eliminate_two(a: Array, k: int, turned: Any) -> None:
    block = a[k : k + 2, k : k + 2].copy()
    block[0, 1] = turned(block[1, 0])
    columns = a[k + 2 :, k : k + 2].copy()
    scaled = np.linalg.solve(block.T, columns.T).T if len(columns) else columns
    a[k + 2 :, k + 2 :] -= np.tril(columns @ turned(scaled).T)
    a[k + 2 :, k : k + 2] = scaled


def solve(packed: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """X with A X = b, from what `factor` gives; batches of both meet."""
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    n, count = packed.shape[-1], math.prod(lead)
    matrices = np.broadcast_to(packed, (*lead, n, n)).reshape(count, n, n)
    swaps = np.broadcast_to(pivots, (*lead, n)).reshape(count, n)
    found = np.array(np.broadcast_to(b, (*lead, *b.shape[-2:]))).reshape(count, *b.shape[-2:])
    turned = np.conj if hermitian and np.iscomplexobj(packed) else np.asarray
    with np.errstate(all="ignore"):
        for x, a, rows in zip(found, matrices, swaps):
            _solve_one(x, a, rows, turned)
    return found.reshape(*lead, *b.shape[-2:])


def _solve_one(x: Array, a: Array, pivots: Array, turned: Any) -> None:
    steps = _steps(pivots)
    for k, size in steps:
        _swap_rows(x, k + size - 1, abs(int(pivots[k])) - 1)
        after = k + size
        x[after:] -= a[after:, k:after] @ x[k:after]
        block = a[k:after, k:after].copy()
        if size == 2:
            block[0, 1] = turned(block[1, 0])
        x[k:after] = np.linalg.solve(block, x[k:after]) if block.any() else x[k:after] / block[:1, :1]
    for k, size in reversed(steps):
        after = k + size
        x[k:after] -= turned(a[after:, k:after]).T @ x[after:]
        _swap_rows(x, k + size - 1, abs(int(pivots[k])) - 1)


def _steps(pivots: Array) -> list[tuple[int, int]]:
    """Where each block of D begins, and its size."""
    found, k = [], 0
    while k < len(pivots):
        size = 2 if pivots[k] < 0 and k + 1 < len(pivots) else 1
        found.append((k, size))
        k += size
    return found


def _swap_rows(x: Array, first: int, second: int) -> None:
    if first != second:
        x[[first, second]] = x[[second, first]]
