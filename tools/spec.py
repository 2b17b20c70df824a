"""The programs of the documents that describe the system, and what PyTorch 2.13 prints for them.

    python tools/spec.py            run every program under Chainrule and compare
    python tools/spec.py --record   run them under PyTorch and write what it prints

tests/spec/programs holds `DOCUMENT_NUMBER_title.py`, each with a `.txt` beside it: the standard output after
`manual_seed(0)` and, for a program that ends in an exception, a last line `raises TYPE: phrase`. The phrase
is what people search for: PyTorch's message up to the first colon or line break.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent.parent / "tests" / "spec" / "programs"


@dataclass(frozen=True)
class Outcome:
    stdout: str
    error: str = ""
    message: str = ""

    def matches(self, got: Outcome) -> bool:
        """True where `got` printed the same, and raised the same with the phrase in its message."""
        return (self.stdout, self.error) == (got.stdout, got.error) and self.message in got.message

    def text(self) -> str:
        return self.stdout + (f"raises {self.error}: {self.message}\n" if self.error else "")


def builtin_kind(error: Exception) -> str:
    """The built-in exception that an error is, or is a kind of: what an `except` written for PyTorch names."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def programs() -> list[Path]:
    return sorted(PROGRAMS.glob("*.py"))


def run(program: Path, package: str) -> Outcome:
    """Runs a program with `package` as its torch, from the seed 0, in this process."""
    source = program.read_text().replace("import chainrule as torch", f"import {package} as torch", 1)
    code = compile(source, str(program), "exec")
    importlib.import_module(package).manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, {"__name__": "__main__"})
        except Exception as error:
            return Outcome(printed.getvalue(), builtin_kind(error), str(error))
    return Outcome(printed.getvalue())


def recorded(program: Path) -> Outcome:
    stdout, _, ending = program.with_suffix(".txt").read_text().partition("raises ")
    error, _, message = ending.rstrip("\n").partition(": ")
    return Outcome(stdout, error, message)


def record(program: Path) -> Outcome:
    """What live PyTorch does, its message cut to the phrase."""
    live = run(program, "torch")
    return Outcome(live.stdout, live.error, re.split(r": |\n", live.message)[0])


def compare(program: Path) -> bool:
    wanted, got = recorded(program), run(program, "chainrule")
    same = wanted.matches(got)
    print(f"{'same' if same else 'DIFFERS':8s}{program.stem}")
    if not same:
        print(f"--- PyTorch\n{wanted.text()}--- Chainrule\n{got.text()}")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write what live PyTorch prints")
    if not parser.parse_args().record:
        return 0 if sum(not compare(program) for program in programs()) == 0 else 1
    for program in programs():
        program.with_suffix(".txt").write_text(record(program).text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
