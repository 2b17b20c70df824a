"""Every program of the specification prints, and raises, what PyTorch 2.13 was recorded to."""

from pathlib import Path

import pytest

from tools import spec


@pytest.mark.parametrize("program", spec.programs(), ids=lambda program: program.stem)
def test_program_prints_what_pytorch_prints(program: Path) -> None:
    wanted, got = spec.recorded(program), spec.run(program, "chainrule")
    assert (got.stdout, got.error) == (wanted.stdout, wanted.error)
    assert wanted.message in got.message


def test_every_program_is_recorded() -> None:
    assert len(spec.programs()) > 30
    assert {p.stem for p in spec.programs()} == {p.stem for p in spec.PROGRAMS.glob("*.txt")}
