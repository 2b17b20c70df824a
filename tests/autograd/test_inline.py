"""Functions read as text: only those that can have but one way through."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule  # noqa: F401  (fills the registry)
from chainrule.autograd.inline import expression, in_kernels, in_steps, ufunc_of
from chainrule.core.op import REGISTRY

FACTOR = 3


def squared(g: Any, a: Any) -> Any:
    t = g * a
    return t * t


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


def test_a_formula_is_computed_in_one_array() -> None:
    one = in_steps(lambda g, out, k: g * (out * (1 - out)), ("g", "out", "k"), ("g", "out"))
    assert one is not None and (one.numbers, one.result) == ({"k0": 1}, "t_0")
    assert one.lines == ["t_0 = np_subtract(k0, out)", "np_multiply(out, t_0, t_0)", "np_multiply(g, t_0, t_0)"]
    two = in_steps(lambda g, a: (g * a) / (g + a), ("g", "a"), ("g", "a"))
    assert two is not None and (two.numbers, two.result) == ({}, "t_0")
    assert two.lines == ["t_0 = np_multiply(g, a)", "t_1 = np_add(g, a)", "np_true_divide(t_0, t_1, t_0)"]


def test_ops_inside_a_formula_are_read_too() -> None:
    kept = REGISTRY["kept"].fn
    rule = in_steps(eval("lambda g, out: kept(g, out != 0)", {"kept": kept}), ("g", "out"), ("g", "out"))
    assert rule is not None and rule.lines == ["m_0 = np_not_equal(out, k0)", "t_1 = np_keep(g, m_0)"]
    sigmoid = in_steps(REGISTRY["sigmoid"].forward, ("xp", "x"), ("x",), "out=...")
    assert sigmoid is not None and sigmoid.lines[:2] == ["t_0 = np_negative(x, out=...)", "np_exp(t_0, t_0)"]


def test_a_kernel_takes_all_that_it_can_compute() -> None:
    asked = []

    def kernel(formula: Any, arity: int) -> Any:
        asked.append((formula, arity))
        return None

    found = in_kernels(REGISTRY["sigmoid"].forward, ("xp", "x"), ("x",), kernel)
    assert found is not None
    assert found.lines == ["t_0 = machine0(x)", "np_exp(t_0, t_0)", "t_1 = machine1(t_0)"]
    assert asked == [(("negative", ("x", 0)), 1), (("true_divide", 1, ("add", 1, ("x", 0))), 1)]


@pytest.mark.parametrize(
    "fn",
    [
        lambda g, a: g * a,
        lambda g, a: g,
        lambda g, a: g * (a * 2).sum(),
        lambda g, k: g * (k * k),
        squared,
    ],
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
