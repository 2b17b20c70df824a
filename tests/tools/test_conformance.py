"""The counting of PyTorch's tests: what is stored comes back, a lost test is found, a reason is matched."""

from pathlib import Path

import pytest

from tools import conformance
from tools.conformance import BY_NAME, File, Reachable, Report

VIEWS = BY_NAME["test_view_ops.py"]
CASES = {"TestViewOps.test_b", "TestViewOps.test_a", "TestOther.test_c"}


@pytest.fixture(autouse=True)
def _stored_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASELINE", "TORCH", "REASONS", "HARNESS"):
        monkeypatch.setattr(conformance, name, tmp_path / name)
    (tmp_path / "HARNESS").mkdir()
    (tmp_path / "HARNESS" / "test_view_ops.csv").write_text(
        "test_id,category\nTestViewOps.test_a,a\nTestViewOps.test_d,a\nTestViewOps.test_e,a\nTestOther.test_c,b\n"
    )
    (tmp_path / "REASONS").write_text("[[reason]]\ntests = 'test_view_ops.*_d'\nreason = 'no d on a CPU'\n")


def report(**outcomes: str) -> Report:
    found = Report()
    found.add(VIEWS.name, [{"id": test, "outcome": outcome} for test, outcome in outcomes.items()])
    return found


def test_what_is_stored_comes_back_and_is_sorted() -> None:
    conformance.store_baseline({VIEWS.name: CASES})
    first = conformance.BASELINE.read_text()
    assert conformance.load_baseline() == {VIEWS.name: CASES}
    conformance.store_baseline(conformance.load_baseline())
    assert conformance.BASELINE.read_text() == first


def test_what_pytorch_passes_comes_back() -> None:
    found = {VIEWS.name: Reachable(277, frozenset(CASES))}
    conformance.store_torch(found)
    assert conformance.load_torch() == found


@pytest.mark.parametrize("outcome", ["fail", "error", "skip", "crash", "timeout", "absent", "xfail"])
def test_anything_but_a_pass_is_a_loss(outcome: str) -> None:
    wanted = {VIEWS.name: ["A.x", "A.y"]}
    assert conformance.regressions(wanted, report(**{"A.x": "pass", "A.y": outcome})) == {VIEWS.name: ["A.y"]}


def test_a_test_whose_batch_was_left_out_is_not_a_loss() -> None:
    assert conformance.regressions({VIEWS.name: ["A.x", "A.y"]}, report(**{"A.x": "pass"})) == {}


def test_page_counts_against_pytorch_and_lists_what_has_no_reason() -> None:
    torch = Reachable(4, frozenset({"TestOther.test_c", "TestOther.test_f"}))
    page = conformance.page({VIEWS.name: CASES}, {VIEWS.name: torch})
    assert "| test_view_ops.py | 1 / 3 (33.3%) | 2 / 4 (50.0%) | 3 / 280 (1.1%) |" in page
    assert "**no d on a CPU**\n\n- test_view_ops.py: TestViewOps.test_d\n" in page
    assert page.endswith("## Without a reason: 1\n\n- test_view_ops.py: TestViewOps.test_e\n")


def test_a_share_of_a_file_is_chosen_by_the_id_alone() -> None:
    tenth = File("any.py", 0, every=10)
    taken = [test for test in map(str, range(10_000)) if tenth.takes(test)]
    assert 900 < len(taken) < 1100
    assert all(map(VIEWS.takes, map(str, range(100))))


def test_the_smoke_subset_is_what_passed_in_the_named_classes() -> None:
    chosen = conformance.smoke_tests({VIEWS.name: CASES})[VIEWS.name]
    assert chosen == ["TestViewOps.test_a", "TestViewOps.test_b"]
