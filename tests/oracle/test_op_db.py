"""Every op of PyTorch's own database, on the database's samples, beside PyTorch: forms, gradients, refusals.

The quick run takes a few samples in three dtypes per op; `-m slow` takes all samples in every dtype.
"""

from __future__ import annotations

import warnings
from typing import Any
from zlib import crc32

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's database of ops needs it")

import chainrule  # noqa: E402
from tests.oracle import opinfo  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

OPS = [pytest.param(op, id=opinfo.name_of(op)) for name in opinfo.CHECKED for op in opinfo.ops_named(name)]


def dtypes_of(op: Any) -> list[str]:
    return [d for d in opinfo.DTYPES if getattr(torch, d) in op.dtypes]


def some_dtypes(op: Any) -> list[str]:
    """The first, and two that the op's name picks."""
    first, *rest = dtypes_of(op)
    at = crc32(op.name.encode())
    return [first, *{rest[(at + k) % len(rest)] for k in (0, 3)}] if rest else [first]


def check(found: list[str]) -> None:
    assert not found, f"{len(found)} differences, the first:\n" + "\n".join(found[:10])


@pytest.mark.parametrize("op", OPS)
def test_forms(op: Any) -> None:
    check([d for dtype in some_dtypes(op) for d in opinfo.form_differences(op, dtype, most=4)])


@pytest.mark.parametrize("op", OPS)
def test_gradients(op: Any) -> None:
    check([d for dtype in some_dtypes(op) for d in opinfo.gradient_differences(op, dtype, most=4)])


@pytest.mark.parametrize("op", OPS)
def test_refusals(op: Any) -> None:
    check(list(opinfo.refusal_differences(op)))


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_everything(op: Any) -> None:
    found = []
    for dtype in dtypes_of(op):
        found += opinfo.form_differences(op, dtype)
        found += opinfo.gradient_differences(op, dtype)
    check(found)


@pytest.mark.parametrize("op", OPS)
def test_dtypes_that_are_refused(op: Any) -> None:
    """Where PyTorch refuses a sample of a dtype that the database does not list, so do we."""
    check([d for dtype in opinfo.DTYPES for d in opinfo.dtype_differences(op, dtype, most=6)])


def test_a_difference_is_found() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    ours = chainrule.arange(6.0).reshape(2, 3)
    assert not list(opinfo.differences(ours, t))
    for wrong in (ours + 1, ours.double(), ours.T.contiguous().T, ours[:1], [ours], 3.0):
        assert list(opinfo.differences(wrong, t))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(opinfo.translate(t).raw, t.numpy())
