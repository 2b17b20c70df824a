"""Every op does what PyTorch's function of its name does: values, dtypes, strides, nodes, gradients, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from chainrule.core.op import REGISTRY  # noqa: E402
from chainrule.testing.contract import cases  # noqa: E402
from tests.oracle.registry import DTYPES, compare, theirs  # noqa: E402

NAMES = sorted(name for name, op in REGISTRY.items() if op.samples is not None and theirs(op) is not None)

# (op, what differs) that stays, each with the reason.
ACCEPTED: list[tuple[str, str, str]] = [
    ("polar", "gradient 0: values", "PyTorch's gradient takes the radius for positive; ours follows its sign"),
    ("split", "unexpected keyword argument 'split_size'", "our parameter has the method's name"),
    ("ndtr", "grad_fn is", "PyTorch composes it; ours is one node"),
    ("kthvalue|topk|sort|mode|median", "result 1: values", "which of two equal elements is found"),
    ("topk|kthvalue", "gradient 0: values", "which of two equal elements is found"),
    ("native_group_norm", "requires_grad|contiguous", "an inner op: PyTorch's marks the statistics too"),
    ("addbmm|addmm|addmv|baddbmm", "must not be a floating point number", "PyTorch cuts beta=0.5 down to 0"),
]

SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 6.0, 1e-30])
# At points where a derivative jumps or is infinite, and where a nan decides.
ACCEPTED_AT_SPECIAL: list[tuple[str, str, str]] = [
    ("cumprod|logcumsumexp|log_ndtr|i0|i1|i1e|zeta", "values", "where 0, nan and infinity meet, formulas differ"),
    ("pow|logit|mvlgamma|ldexp|xlogy|xlog1py", "values", "the sign of an infinite slope at 0"),
    ("digamma", "gradient 0", "the slope is infinite at -1; PyTorch divides by the square of its sin(pi), 1e-16"),
    ("hardshrink|softshrink", "gradient 0", "of nan PyTorch's is 0 in whole vectors and g in the rest of the array"),
]


def differences(name: str, dtypes: list[str], change: Callable[[Any], Any], accepted: Any) -> list[str]:
    found = []
    with np.errstate(all="ignore"):
        for case in cases(REGISTRY[name]):
            for dtype in dtypes:
                found += [f"{case.label} {dtype}: {text}" for text in compare(case, dtype, change)]
    return [text for text in found if not any(stays(name, text, *row) for row in accepted)]


def stays(name: str, text: str, ops: str, what: str, reason: str) -> bool:
    return re.fullmatch(ops, name) is not None and re.search(what, text) is not None


def special(x: Any) -> Any:
    """The same shape, filled with the numbers where formulas break."""
    if x.dtype.kind != "f":
        return x
    return np.random.default_rng(x.size).choice(SPECIAL, size=x.shape).astype(x.dtype)


@pytest.mark.parametrize("name", NAMES)
def test_as_pytorch(name: str) -> None:
    assert differences(name, DTYPES, lambda x: x, ACCEPTED) == []


@pytest.mark.parametrize("name", NAMES)
def test_as_pytorch_at_special_points(name: str) -> None:
    assert differences(name, ["float64"], special, [*ACCEPTED, *ACCEPTED_AT_SPECIAL]) == []


@pytest.mark.parametrize("name", NAMES)
def test_as_pytorch_in_fortran_order(name: str) -> None:
    assert differences(name, ["float64"], lambda x: np.array(x, order="F"), ACCEPTED) == []
