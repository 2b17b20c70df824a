"""Sample inputs that op declarations carry, for the laws: shapes times parameters, drawn from a domain.

`samples(domain, shapes, **grid)` makes a function of a NumPy generator that yields (inputs, params): one input array
per shape in each row of `shapes`, and every combination of the grid's values. Inputs that are not drawn (index tensors,
Python numbers, None) are put into a row as they are.

Where an op is defined, or has its gradient, on a set only (Hermitian matrices), `keeping` maps an array into that set:
inputs are drawn in it, and the laws move them along it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Drawn", "apart", "either", "integers", "nonzero", "positive", "real", "samples", "unit"]

Domain = Callable[[Any, tuple[int, ...]], Any]  # naming np.random.Generator would load numpy.random


def real(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Any real number."""
    return rng.normal(size=shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Well above zero."""
    return rng.uniform(0.5, 2.0, size=shape)


def nonzero(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Either sign, away from zero."""
    return rng.uniform(0.5, 2.0, size=shape) * rng.choice([-1.0, 1.0], size=shape)


def unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Strictly inside (-1, 1)."""
    return rng.uniform(-0.9, 0.9, size=shape)


def apart(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """All different, at least 0.1 apart: for maxima, sorting and other ops that break where values meet."""
    size = int(np.prod(shape))
    return (rng.permutation(size).reshape(shape) - size / 2) * 0.3 + rng.uniform(0.0, 0.1, size=shape)


def integers(high: int) -> Domain:
    """Integers from 0 to high - 1."""
    return lambda rng, shape: rng.integers(0, high, size=shape)


class Drawn:
    """A shape to be drawn from a domain other than the row's."""

    __slots__ = ("domain", "shape")

    def __init__(self, domain: Domain, *shape: int) -> None:
        self.domain, self.shape = domain, shape


def samples(domain: Domain, shapes: list[tuple[Any, ...]], keeping: Any = None, **grid: list[Any]) -> Any:
    """See the module's text. A row may hold shapes, `Drawn(domain, *shape)`, or ready values."""

    def draw(rng: np.random.Generator) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        for row in shapes:
            for values in itertools.product(*grid.values()):
                yield tuple(_one(rng, domain, entry) for entry in row), dict(zip(grid, values))

    draw.keeping = keeping  # type: ignore[attr-defined]
    return draw


def either(*draws: Any) -> Any:
    """The samples of several tables, one after the other."""
    return lambda rng: itertools.chain.from_iterable(draw(rng) for draw in draws)


def _one(rng: np.random.Generator, domain: Domain, entry: Any) -> Any:
    if isinstance(entry, Drawn):
        return entry.domain(rng, entry.shape)
    return domain(rng, entry) if isinstance(entry, tuple) else entry
