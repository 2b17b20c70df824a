"""One contract, every op: nothing here names an op."""

from __future__ import annotations

import warnings

import pytest

from chainrule.core.op import REGISTRY
from chainrule.testing.contract import LAWS
from tests.contract.table import UNDRAWN, all_cases, few_cases, sampled


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", sampled())
def test_law(name: str, law: object) -> None:
    check(few_cases(name), law)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", sampled())
def test_law_at_every_sample(name: str, law: object) -> None:
    check(all_cases(REGISTRY[name]), law)


def check(cases: list, law: object) -> None:
    failures = []
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                law(case)
            except Exception as error:
                error.add_note(case.label)
                failures.append(error)
    if failures:
        failures[0].add_note(f"{len(failures)} of {len(cases)} cases fail")
        raise failures[0]


def test_every_op_has_samples() -> None:
    bare = {name for name, op in REGISTRY.items() if op.samples is None}
    assert bare == set(UNDRAWN)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_op_is_documented(name: str) -> None:
    doc = REGISTRY[name].doc.strip()
    assert doc and doc.endswith("."), doc


def test_every_sample_row_can_be_drawn() -> None:
    empty = [name for name in sampled() if not all_cases(REGISTRY[name])]
    assert not empty
