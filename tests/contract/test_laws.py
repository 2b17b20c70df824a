"""One contract, every op: nothing here names an op."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from chainrule.config import settings
from chainrule.core.op import REGISTRY, Op
from chainrule.testing.contract import LAWS, Case, vmap_is_a_loop
from tests.contract.table import EXEMPT, LOOPED, UNDRAWN, all_cases, few_cases, laws_of, sampled

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", sampled())
def test_law(name: str, law: object) -> None:
    check(REGISTRY[name], few_cases(name), law)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", sampled())
def test_law_at_every_sample(name: str, law: object) -> None:
    check(REGISTRY[name], all_cases(REGISTRY[name]), law)


def check(op: Op, cases: list, law: object) -> None:
    if not laws_of(op, [law]):
        return
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


def test_vmap_needs_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "vmap_loops", False)
    looped = {name for name in sampled() if any(map(_is_looped, all_cases(REGISTRY[name])[:6]))}
    assert looped == set(LOOPED)


def _is_looped(case: Case) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vmap_is_a_loop(case)
    except RuntimeError as error:
        return "hit the vmap fallback" in str(error)
    return False


def test_every_op_has_samples() -> None:
    bare = {name for name, op in REGISTRY.items() if op.samples is None}
    assert bare == set(UNDRAWN)


@pytest.mark.parametrize("reason", sorted({*UNDRAWN.values(), *EXEMPT.values()}))
def test_an_exception_names_the_test_that_stands_in(reason: str) -> None:
    named = [op for op, why in UNDRAWN.items() if why == reason] + [
        op for (op, _), why in EXEMPT.items() if why == reason
    ]
    text = (ROOT / reason.rsplit(": ", 1)[1]).read_text()
    public = [name for name in named if REGISTRY[name].spelled or name.startswith("linalg_")]
    assert not [name for name in public if name.removeprefix("linalg_") not in text]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_op_is_documented(name: str) -> None:
    doc = REGISTRY[name].doc.strip()
    assert doc and doc.endswith("."), doc


def test_every_sample_row_can_be_drawn() -> None:
    empty = [name for name in sampled() if not all_cases(REGISTRY[name])]
    assert not empty
