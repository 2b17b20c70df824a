"""Programs of several lines, in `stories.txt`: what they print is what they print with PyTorch."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

STORIES = re.split(r"(?m)^### ", Path(__file__).with_name("stories.txt").read_text())[1:]


def printed(lib: Any, program: str) -> str:
    """What a program prints, and at the end its error. It may call `tried(fn)`, which prints a result or an error."""
    names = {"torch": lib, "tried": tried, "__name__": "story"}
    program = re.sub(r"\b(from|import) torch\b", rf"\1 {lib.__name__}", program)
    out = io.StringIO()
    with redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried(lambda: exec(compile(program, "story", "exec"), names))
    lib.set_grad_enabled(True)
    return re.sub(r" at 0x\w+", "", out.getvalue()).replace("chainrule", "torch")


def tried(fn: Any) -> None:
    try:
        print(fn())
    except Exception as error:
        kind = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
        print(f"{kind}: {re.split(r'[.(] |Hint|;', str(error).splitlines()[0])[0]:.100}")


@pytest.mark.parametrize("story", STORIES, ids=[s.partition("\n")[0] for s in STORIES])
def test_a_story(story: str) -> None:
    assert printed(chainrule, story.partition("\n")[2]) == printed(torch, story.partition("\n")[2])
