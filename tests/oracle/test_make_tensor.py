"""`testing.make_tensor` draws PyTorch's numbers for a seed, and refuses what PyTorch refuses."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import chainrule
from chainrule.testing import make_tensor

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
CASES: list[dict[str, Any]] = [
    {}, {"low": -2, "high": 2, "exclude_zero": True}, {"low": 0, "high": 1}, {"noncontiguous": True}, {"low": 1},
    {"high": -1e300}, {"low": float("nan")}, {"low": 3, "high": 3}, {"low": 4, "high": 3}, {"low": 300, "high": 400},
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "case"), [*itertools.product(DTYPES, CASES)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_as_pytorch(dtype: str, case: dict[str, Any]) -> None:
    told = []
    for lib, make in ((chainrule, make_tensor), (torch, torch.testing.make_tensor)):
        lib.manual_seed(0)
        try:
            told.append(make((3, 4), dtype=getattr(lib, dtype), device="cpu", **case).tolist())
        except ValueError as e:
            told.append(str(e).split(", but got")[0])
    assert told[0] == told[1]
