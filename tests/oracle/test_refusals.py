"""Programs that fail as they fail under PyTorch: the same kind of exception, the same first line."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

TEXT = Path(__file__).with_name("refusals.txt").read_text()
PROGRAMS = re.split(r"\n\n+", re.sub(r"(?m)^=== .*$", "", TEXT).partition("\n")[2].strip())


def failure(library: Any, program: str, monkeypatch: pytest.MonkeyPatch) -> Exception | None:
    """What the program raises under a library that is called torch; nothing is an answer too."""
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
            if library is chainrule:
                patch.delitem(sys.modules, name)
        if library is chainrule:
            for name, module in list(sys.modules.items()):
                if name == "chainrule" or name.startswith("chainrule."):
                    patch.setitem(sys.modules, "torch" + name.removeprefix("chainrule"), module)
        try:
            exec(compile(program, "program", "exec"), {"torch": library, "__name__": "__main__"})
        except Exception as error:
            return error
        finally:
            library.set_grad_enabled(True)
    return None


def head(error: Exception) -> str:
    """The first line, without the advice that PyTorch gives where Chainrule gives its own."""
    return str(error).strip().split("\n")[0].partition(" Hint: ")[0]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.split("\n")[0][:70] for p in PROGRAMS])
def test_refused_alike(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    want = failure(torch, program, monkeypatch)
    got = failure(chainrule, program, monkeypatch)
    assert (got is None) is (want is None), got or want
    if got is not None and want is not None:
        builtin = next(c for c in type(want).__mro__ if c.__module__ == "builtins")
        assert isinstance(got, builtin), repr(got)
        assert head(got) == head(want)
