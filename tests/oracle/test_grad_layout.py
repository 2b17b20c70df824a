"""How gradients lie in memory, beside live PyTorch."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402

LEAVES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t.ones(3, 4), "columns": lambda t: t.ones(4, 3).t(),
    "every other row": lambda t: t.ones(6, 4)[::2],
    "every other column": lambda t: t.ones(4, 6).t()[::2], "spread": lambda t: t.ones(4).expand(3, 4),
}  # fmt: skip
OTHERS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t.rand(3, 4), "columns": lambda t: t.rand(4, 3).t(),
    "spread": lambda t: t.rand(3, 1).expand(3, 4),
}  # fmt: skip


def _gradient(t: Any, leaf: str, other: str, create: bool) -> Any:
    x, a = LEAVES[leaf](t).detach().requires_grad_(), OTHERS[other](t)
    ((x * a) * a).sum().backward(create_graph=create)
    return x.grad.stride()


@pytest.mark.parametrize(("leaf", "other"), itertools.product(LEAVES, OTHERS))
def test_a_gradient_lies_as_its_leaf(leaf: str, other: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # create_graph=True is warned of
        for create in (False, True):
            assert _gradient(chainrule, leaf, other, create) == _gradient(torch, leaf, other, create)


def _relaxed(t: Any) -> list[Any]:
    """The policy as a block, as a call, and as a decorator."""
    policy, found = t.autograd.enforce_grad_layout_policy, []

    class Rows(t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return t.ones(2, 3)

    def note() -> None:
        x = t.ones(3, 2).t().detach().requires_grad_()
        Rows.apply(x).backward()
        found.append((x.grad.stride(), t._C._is_grad_layout_enforcement_enabled()))

    with policy(False):
        note()
    note()
    policy(False)
    note()
    policy(True)
    policy(False)(note)()
    note()
    return found


def test_the_policy() -> None:
    assert _relaxed(chainrule) == _relaxed(torch)
