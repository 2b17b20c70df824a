"""The recorded texts of the specification's programs are what live PyTorch prints."""

from pathlib import Path

import pytest

from tools import spec

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("program", spec.programs(), ids=lambda program: program.stem)
def test_recorded_text_is_live(program: Path) -> None:
    assert spec.record(program) == spec.recorded(program)
