"""Random programs do the same under PyTorch and under Chainrule: values, dtypes, history, gradients, errors.

A failure shows the smallest program that still differs. `pytest -m slow tests/oracle/test_random_programs.py` runs
thousands; with `--hypothesis-profile=explore` they are others each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402
from tests.oracle.programs import Step, difference, shown, shrunk  # noqa: E402
from tests.oracle.random_programs import calls, program  # noqa: E402

BLOCK = 25
Maker = Callable[[int], tuple[list[Step], bool]]


def check(first: int, make: Maker) -> None:
    with np.errstate(all="ignore"):
        for seed in range(first, first + BLOCK):
            steps, every = make(seed)
            if difference(steps, chainrule, every) is not None:
                small, found = shrunk(steps, chainrule, every)
                raise AssertionError(f"seed {seed}:\n{shown(small)}\n{found.what} differs: {found.detail}")


@pytest.fixture(scope="session")
def base() -> int:
    """Where the seeds of the slow tests start: at the same place, or, exploring, where nobody was before."""
    return int(time.time()) * 10_000 if settings._current_profile == "explore" else 0


@pytest.mark.parametrize("first", range(0, 1000, BLOCK))
def test_programs(first: int) -> None:
    check(first, program)


@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_calls(first: int) -> None:
    check(first, calls)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 9000, BLOCK))
def test_more_programs(first: int, base: int) -> None:
    check(base + first, program)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(300, 8000, BLOCK))
def test_more_calls(first: int, base: int) -> None:
    check(base + first, calls)
