"""Rules of single ops where they were once wrong, beside live PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

from tests.oracle.comparing import agree  # noqa: E402
from tests.oracle.story import caught  # noqa: E402

_EXPONENTS = np.array([1.5 + 2j, -0.5 + 0.3j, 0.7 - 1j])


@pytest.mark.parametrize("base", [np.array([-2.0, 3.0, 0.5]), -2.0, -1 + 1j, np.array([-2 + 1j, 3.0, 1j])])
def test_a_real_base_has_a_complex_logarithm_under_a_complex_exponent(base: Any) -> None:
    agree(lambda t, xs: t.pow(xs[0], xs[1]), [base, _EXPONENTS], second=True)


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("zeros", [1, 2])
def test_products_of_several_zeros_are_differentiable_once(name: str, zeros: int) -> None:
    def story(t: Any) -> Any:
        x = t.tensor([2.0, 3.0], requires_grad=True)
        src = t.tensor([0.0, 5.0 if zeros == 1 else 0.0, 4.0], requires_grad=True)
        out = getattr(t, name)(x, 0, t.tensor([0, 0, 1]), src, "prod")
        gs = t.autograd.grad((out * out + out).sum(), (x, src), create_graph=True)
        again = caught(lambda: t.autograd.grad(gs[1].sum(), (x, src)))
        return [g.tolist() for g in gs], again

    assert story(chainrule) == story(torch)
