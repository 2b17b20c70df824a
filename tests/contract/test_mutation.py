"""A wrong rule is caught: every mutant of every op breaks some law."""

from __future__ import annotations

import warnings
import zlib

import pytest

from chainrule.core.op import REGISTRY
from chainrule.testing.contract import (
    Case,
    directions,
    forward_differentiates_reverse,
    forward_is_the_slope,
    holds_for_complex,
    inplace_is_out_of_place,
    pulled,
    reverse_differentiates_again,
    reverse_is_the_slope,
    reverse_transposes_forward,
    values,
    vmap_is_a_loop,
)
from chainrule.testing.mutants import Mutant, mutants
from tests.contract.table import all_cases, first_failure, sampled

LAWS = (
    reverse_is_the_slope,
    forward_is_the_slope,
    vmap_is_a_loop,
    reverse_transposes_forward,
    reverse_differentiates_again,
    forward_differentiates_reverse,
    holds_for_complex,
    inplace_is_out_of_place,
)
EVERY = 8

# Mutants that change nothing, each with the reason.
EQUIVALENT: dict[str, str] = {
    "full_like: vmap rolled": "all examples are equal",
    "new_filled: vmap rolled": "all examples are equal",
    "ones_like: vmap rolled": "all examples are equal",
    "zeros_like: vmap rolled": "all examples are equal",
}


def survivors(name: str) -> list[str]:
    op = REGISTRY[name]
    cases = all_cases(op)
    left = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mutant in mutants(op):
            if str(mutant) not in EQUIVALENT and not caught(mutant, cases) and not of_zero(mutant, cases):
                left.append(str(mutant))
    return left


def of_zero(mutant: Mutant, cases: list) -> bool:
    """Is the changed rule zero everywhere? Then the mutant is the op itself; the slope has shown that zero is right."""
    found = [x for case in cases for x in slopes(case, mutant.label)]
    return bool(found) and not any(x.any() for x in found)


def slopes(case: Case, label: str) -> list:
    chosen = [i for i in case.smooth if not case.op.variadic and f"rule of {case.op.inputs[i]} " in label]
    gs = directions(values(case, case.inputs), 1)
    return pulled(case, case.inputs, gs, chosen) if chosen else []


def caught(mutant: Mutant, cases: list) -> bool:
    with mutant:
        return first_failure(mutant.op, cases, LAWS) is not None


def thinned() -> list[str]:
    return [name for name in sampled() if zlib.crc32(name.encode()) % EVERY == 0]


@pytest.mark.parametrize("name", thinned())
def test_a_wrong_rule_is_caught(name: str) -> None:
    assert survivors(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled())
def test_every_wrong_rule_is_caught(name: str) -> None:
    assert survivors(name) == []


def test_every_exception_is_in_use() -> None:
    known = {str(mutant) for op in REGISTRY.values() for mutant in mutants(op)}
    assert set(EQUIVALENT) <= known
