"""NumPy arrays as operands of Tensor's operators: which side computes, in which dtype, and what refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

EXPRESSIONS = [
    *(
        f"{a} {op} {b}"
        for op in ("+", "-", "*", "/", "//", "%", "**", "<", "==", "!=")
        for a, b in ("ta", "at", "tb", "bt")
    ),
    "t.long() & a", "a & t.long()", "t.long() << a", "a << t.long()", "t @ b", "b @ t", "t * s", "s * t", "z * t",
    "t * z", "torch.add(t, a)", "torch.add(a, t)", "g + b", "b + g", "g * z", "z * g", "torch.add(t, z)",
    "t.__iadd__(b)",
]  # fmt: skip


def told(lib: Any, expression: str) -> str:
    names = {"torch": lib, "t": lib.tensor([1.0, 2.0]), "g": lib.tensor([1.0, 2.0], requires_grad=True)}
    arrays = {"a": np.array([1, 3]), "b": np.array([1.0, 3.0]), "s": np.array(2.0), "z": np.float64(2)}
    try:
        return repr(eval(expression, names | arrays))
    except (TypeError, RuntimeError) as e:
        return f"{type(e).__name__}: {e}"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_pytorch(expression: str) -> None:
    assert told(chainrule, expression) == told(torch, expression)
