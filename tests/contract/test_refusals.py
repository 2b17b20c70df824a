"""Arguments of a wrong type: every op names itself and the argument, raises TypeError, and leaves its tensors alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chainrule.core.blame import params_of
from chainrule.core.op import REGISTRY, Op
from chainrule.core.public import PUBLIC
from chainrule.testing.contract import Case, tensors
from tests.contract.table import few_cases, sampled


class Wrong:
    """What no parameter takes."""


def public_functions(op: Op) -> Iterator[tuple[str, Any]]:
    """Where users find the op itself: not what is written around it."""
    for place in op.spelled:
        fn = PUBLIC.get(place, {}).get(op.name)
        if fn is op.fn.public:
            yield place, fn


def calls(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments of the call, each parameter that says what it takes made wrong in turn."""
    op = case.op
    given = {**dict(zip(op.inputs, tensors(case.inputs))), **case.params}
    for p in params_of(op.forward, 1):
        if p.words is not None:
            yield p.name, {**given, p.name: Wrong()}


def plain() -> list[str]:
    """The ops that users call by parameters written down in the declaration."""
    ops = map(REGISTRY.get, sampled())
    return [op.name for op in ops if op and not op.variadic and not op.spread and list(public_functions(op))]


@pytest.mark.parametrize("name", plain())
def test_a_wrong_argument_is_named(name: str) -> None:
    op = REGISTRY[name]
    for argument, given in calls(few_cases(name)[0]):
        before = {n: t.raw.copy() for n, t in given.items() if hasattr(t, "raw")}
        with pytest.raises(TypeError) as caught:
            op.fn.public(**given)
        text = str(caught.value)
        assert f"{op.name}()" in text and f"argument '{argument}'" in text and "Wrong" in text, text
        for n, raw in before.items():
            assert given[n].raw.tobytes() == raw.tobytes() and given[n]._version == 0


def test_a_list_of_tensors_names_what_is_none() -> None:
    for name in sampled():
        op = REGISTRY[name]
        if not op.variadic or not list(public_functions(op)):
            continue
        with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0, but got Wrong"):
            op.fn.public([tensors(few_cases(name)[0].inputs)[0], Wrong()])


@pytest.mark.parametrize("value", [1, 0, "yes", None, 2.5, []])
def test_flags_are_bools(value: Any) -> None:
    for name in plain():
        op = REGISTRY[name]
        for p in [p for p in params_of(op.forward, 1) if p.words == ("bool",)]:
            case = few_cases(name)[0]
            given = {**dict(zip(op.inputs, tensors(case.inputs))), **case.params, p.name: value}
            with pytest.raises(TypeError, match=f"argument '{p.name}'.* must be bool, not {type(value).__name__}"):
                op.fn.public(**given)
