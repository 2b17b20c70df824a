"""Functions read as text: only those that can have but one way through."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule  # noqa: F401  (fills the registry)
from chainrule.autograd.inline import expression, in_steps, ufunc_of
from chainrule.core.op import REGISTRY

FACTOR = 3


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda g: g, "g"),
        (lambda g, x: g * x, "(g * x)"),
        (lambda g, x: -g / (1 - x), "((-g) / ((1) - x))"),
        (lambda g, x: g.reshape(x, k=2), "g.reshape(x, k=(2))"),
    ],
)
def test_expressions_are_written_down(fn: Any, text: str) -> None:
    assert expression(fn, ("g", "x")[: fn.__code__.co_argcount]) == text


@pytest.mark.parametrize(
    "fn",
    [
        lambda g, x: g if x is None else g * x,
        lambda g, x: g * FACTOR,
        lambda g, x: g * (x == 0),
        lambda g, x: g if x else -g,
        lambda g, x: (g, x),
        lambda *args: args[0],
        lambda g, x: max(g, x),
    ],
)
def test_whatever_could_go_another_way_stays_a_call(fn: Any) -> None:
    assert expression(fn, ("g", "x")) is None


def test_arithmetic_is_computed_in_one_array() -> None:
    assert in_steps(lambda g, out, k: g * (out * (1 - out)), ("g", "out", "k"), ("g", "out")) == (
        ["t_0 = subtract(k0, out)", "multiply(out, t_0, t_0)", "multiply(g, t_0, t_0)", "return (t_0,)"],
        {"k0": 1},
    )
    two = in_steps(lambda g, a: (g * a) / (g + a), ("g", "a"), ("g", "a"))
    assert two == (["t_0 = multiply(g, a)", "t_1 = add(g, a)", "true_divide(t_0, t_1, t_0)", "return (t_0,)"], {})


@pytest.mark.parametrize(
    "fn", [lambda g, a: g * a, lambda g, a: g, lambda g, a: g * (a * 2).sum(), lambda g, k: g * (k * k)]
)
def test_a_single_operation_and_what_is_no_arithmetic_of_arrays_are_left(fn: Any) -> None:
    assert in_steps(fn, ("g", fn.__code__.co_varnames[1]), ("g", "a")) is None


def test_a_ufunc_is_known_behind_operators_and_defaults() -> None:
    assert ufunc_of(lambda xp, a, b: a * b, ("a", "b"), {}) == "xp.multiply"
    assert ufunc_of(lambda xp, a, *, alpha: xp.exp(a) if alpha == 1 else a, ("a",), {"alpha": 1}) == "xp.exp"
    assert ufunc_of(lambda xp, a, b: xp.power(b, a), ("a", "b"), {}) is None
    assert ufunc_of(lambda xp, a: xp.sum(a), ("a",), {}) is None


def test_the_registry_has_expressions() -> None:
    rules = REGISTRY["mul"].pulls
    assert expression(rules["input"].fn, ("g", *rules["input"].keeps)) == "(g * other)"
