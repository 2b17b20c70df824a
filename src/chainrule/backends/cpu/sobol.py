"""Sobol' sequences: points that fill a cube evenly, by direction numbers of 30 bits.

sobol.npz holds S. Joe and F. Y. Kuo's direction numbers for 21,201 dimensions (criterion D(6), "Constructing Sobol
sequences with better two-dimensional projections", 2008), packed. Every dimension but the first belongs to a primitive
polynomial; they stand in order of degree, then of their inner coefficients. `primitive` has a bit for each polynomial
with constant term 1, set where it is primitive. `numbers` has, degree by degree, column by column, bit by bit, what is
free in the first numbers of the degree's dimensions: number j (from 0) is odd and below 2^(j+1).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BITS", "DIMENSIONS", "directions", "drawn", "scrambled"]

BITS, DIMENSIONS = 30, 21201


@cache
def _table() -> list[tuple[int, Any, Any]]:
    """For every degree: the inner coefficients of its polynomials, and their first direction numbers."""
    with np.load(Path(__file__).with_suffix(".npz")) as data:
        primitive, numbers = np.unpackbits(data["primitive"]), np.unpackbits(data["numbers"])
    found, at = [], 0
    for degree in range(1, 19):
        first = (1 << (degree - 1)) - 1
        inner = np.flatnonzero(primitive[first : 2 * first + 1])
        columns = np.ones((degree, inner.size), np.int64)
        for j in range(1, degree):
            free = numbers[at : at + j * inner.size].reshape(j, inner.size).astype(np.int64)
            columns[j] += (free << np.arange(1, j + 1)[:, None]).sum(0)
            at += j * inner.size
        found.append((degree, inner, columns))
    return found


def directions(count: int) -> Any:
    """The direction numbers of the first dimensions, a row each, the first number leftmost in its 30 bits."""
    made = np.ones((BITS, count), np.int64)
    row = 1
    for degree, inner, columns in _table():
        rows = made[:, row : row + inner.size]
        here = rows.shape[1]
        rows[:degree] = columns[:, :here]
        for j in range(degree, BITS):
            rows[j] = rows[j - degree] ^ (rows[j - degree] << degree)
            for k in range(1, degree):
                rows[j] ^= (inner[:here] >> (degree - 1 - k) & 1) * (rows[j - k] << k)
        row += inner.size
    return (made << np.arange(BITS - 1, -1, -1)[:, None]).T.copy()


def drawn(quasi: Any, n: int, state: Any, generated: int) -> Any:
    """The next n points as whole numbers: each differs from the one before by one direction number (Gray code)."""
    counts = np.arange(generated, generated + n, dtype=np.int64)
    lowest_zero = np.bitwise_count(counts ^ (counts + 1)).astype(np.int64) - 1
    return np.bitwise_xor.accumulate(np.concatenate([quasi[None], state[:, lowest_zero].T]))[1:]


def scrambled(state: Any, matrices: Any) -> Any:
    """Direction numbers multiplied, bit by bit and modulo 2, by lower triangular matrices with ones on the diagonal."""
    weights = 1 << np.arange(BITS - 1, -1, -1, dtype=np.int64)
    on = np.eye(BITS, dtype=bool)
    rows = (np.where(on, 1, matrices) * weights).sum(-1)
    parity = np.bitwise_count(state[:, :, None] & rows[:, None, :]).astype(np.int64) & 1
    return (parity * weights).sum(-1)
