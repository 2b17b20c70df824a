"""Calls with odd arguments, in `calls.txt`: what they give, or how they refuse, is as under PyTorch.

One call a line, after statements that end in `; `. Below "the kind alone" PyTorch's words are those of its insides.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

from tests.oracle.programs import first_sentence  # noqa: E402

ALIKE, KINDS = Path(__file__).with_name("calls.txt").read_text().split("=== the kind alone\n")
CALLS = [(line, True) for line in ALIKE.splitlines()[2:]] + [(line, False) for line in KINDS.splitlines()]


def told(lib: Any, line: str, words: bool) -> str:
    """What a call gives, or the kind of its error and, if asked for, the words that people search for."""
    *before, call = line.split("; ")
    names = {"torch": lib, "F": lib.nn.functional, "inf": float("inf"), "nan": float("nan")}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            for statement in before:
                exec(statement, names)
            return repr(eval(call, names))
        except Exception as error:
            kind = next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
            return kind + ": " + first_sentence(str(error)) if words else kind


@pytest.mark.parametrize(("line", "words"), [c for c in CALLS if c[0]], ids=[c[0] for c in CALLS if c[0]])
def test_as_pytorch(line: str, words: bool) -> None:
    assert told(chainrule, line, words) == told(torch, line, words)
