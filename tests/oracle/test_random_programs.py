"""Random programs do the same under PyTorch and under Chainrule: values, dtypes, history, gradients, errors.

A failure shows the smallest program that still differs. `pytest -m slow tests/oracle/test_random_programs.py`
runs thousands.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402
from tests.oracle.programs import difference, shown, shrunk  # noqa: E402
from tests.oracle.random_programs import program  # noqa: E402

BLOCK = 25


def check(first: int) -> None:
    with np.errstate(all="ignore"):
        for seed in range(first, first + BLOCK):
            steps, every = program(seed)
            if difference(steps, chainrule, every) is not None:
                small, found = shrunk(steps, chainrule, every)
                raise AssertionError(f"seed {seed}:\n{shown(small)}\n{found.what} differs: {found.detail}")


@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_programs(first: int) -> None:
    check(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(300, 8000, BLOCK))
def test_more_programs(first: int) -> None:
    check(first)
