"""Errors that teach: the wrong programs of `errors.txt`, and what must stand in each message, in this order.

Every message begins with PyTorch's phrase. `> line` is a line of the program with what of it is meant between « and »;
`N:2` is its second line. No message names a file of the package, and none is longer than a dozen lines.
"""

from __future__ import annotations

import builtins
import linecache
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import chainrule as ch
from chainrule import errors
from chainrule.errors import DetachedError, StaleError

X = "x = torch.randn(3, requires_grad=True)\n"

PROGRAMS = Path(__file__).with_name("errors.txt").read_text()


def programs() -> list[Any]:
    """(error, program, pieces of its message) of each block of `errors.txt`."""
    found = []
    for block in re.split(r"(?m)^### ", re.sub(r"(?m)^=== .*$", "", PROGRAMS))[1:]:
        title, _, rest = block.partition("\n")
        name, _, error = title.rpartition(": ")
        program, _, wanted = rest.partition("\n---\n")
        kind = getattr(errors, error, None) or getattr(builtins, error)
        found.append(pytest.param(kind, program, wanted.strip().splitlines(), id=name))
    return found


def failed(program: str, path: Path) -> tuple[Exception, str]:
    """The error of a program that lies in a file, and its text with the file's name made `N`."""
    path.write_text(program + "\n")
    scope: dict[str, Any] = {"torch": ch, "__name__": "__main__"}
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        exec(compile(program + "\n", str(path), "exec"), scope)
    ch.autograd.set_grad_enabled(True)
    error = caught.value
    notes = "".join("\n" + note for note in getattr(error, "__notes__", []))
    return error, (str(error) + notes).replace(str(path), "N")


def in_order(text: str, wanted: list[str]) -> None:
    """Each piece stands in the text, after the one before."""
    at = 0
    for piece in wanted:
        shown = underlined(piece) if piece.startswith(">") else piece
        found = text.find(shown, at)
        assert found >= 0, f"{shown!r} is missing, or out of order, in:\n{text}"
        at = found + len(shown)


def underlined(piece: str) -> str:
    """`> c = («b * b»).sum()` as a message shows it."""
    line = piece.removeprefix("> ")
    start, end = line.find("«"), line.find("»")
    plain = line.replace("«", "").replace("»", "")
    return plain if start < 0 else f"{plain}\n{' ' * 15}{' ' * start}{'^' * (end - start - 1)}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("error", "program", "wanted"), programs())
def test_programs(error: type[Exception], program: str, wanted: list[str], tmp_path: Path) -> None:
    raised, text = failed(program, tmp_path / "program.py")
    assert isinstance(raised, error) and isinstance(raised, RuntimeError), repr(raised)
    in_order(text, wanted)
    assert "chainrule/" not in text and len(text.splitlines()) <= 12, text


FUNCTION = """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return {}
x = torch.randn(3, requires_grad=True)
y = F.apply(x)
y.sum().backward()
"""


FAILURES = [
    ("g @ torch.ones(7)", ["inconsistent tensor size", "in the backward of FBackward", "N:9", "y = F.apply(x)"]),
    ("torch.ones(7)", ["FBackward returned an invalid gradient at index 0 - got [7]", "N:9"]),
    ("g, g", ["returned an incorrect number of gradients (expected 1, got 2)", "N:9"]),
    ("1 / 0", ["division by zero", "in the backward of FBackward", "N:9"]),
]


@pytest.mark.parametrize(("returned", "wanted"), FAILURES)
def test_a_failure_in_backward_shows_the_forward_line(returned: str, wanted: list[str], tmp_path: Path) -> None:
    _, text = failed(FUNCTION.format(returned), tmp_path / "program.py")
    in_order(text, wanted)
    assert text.count("This happened in the backward") == 1


def test_a_failure_in_a_hook_shows_the_forward_line(tmp_path: Path) -> None:
    program = X + "y = x.exp()\ny.register_hook(lambda g: g.view(2))\ny.sum().backward()"
    in_order(failed(program, tmp_path / "program.py")[1], ["shape '[2]' is invalid", "ExpBackward0", "N:2"])


def test_a_failure_in_forward_is_raised_from_the_users_line() -> None:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        ch.ones(2, 3) @ ch.ones(2, 3)
    assert caught.traceback[0].path == Path(__file__)


def test_without_a_file_the_place_is_told_and_no_line() -> None:
    program = "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()"
    with pytest.raises(StaleError) as caught:
        exec(program, {"torch": ch})
    in_order(
        str(caught.value),
        ["saved:   y, by ExpBackward0, at <string>:2, in <module>\n", "changed: by add_, at <string>:3"],
    )


def test_a_notebook_shows_lines_of_its_cells() -> None:
    program = "x = torch.ones(3, requires_grad=True)\nyé = x.exp(); yé.add_(1)\nyé.sum().backward()\n"
    linecache.cache["cell 7"] = (len(program), None, program.splitlines(True), "cell 7")
    with pytest.raises(StaleError) as caught:
        exec(compile(program, "cell 7", "exec"), {"torch": ch})
    pad = " " * 15
    in_order(
        str(caught.value),
        ["cell 7:2", f"yé = x.exp(); yé.add_(1)\n{pad}     ^^^^^^^\n", f"{pad}              ^^^^^^^^^^"],
    )


def test_a_thread_tells_the_same() -> None:
    x = ch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    texts: list[str] = []

    def work() -> None:
        try:
            y.sum().backward()
        except StaleError as error:
            texts.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    in_order(
        texts[0], ["saved:   y, by ExpBackward0", "y = «x.exp()»".replace("«", "").replace("»", ""), "changed: by add_"]
    )


def test_numbers_of_a_graph_are_not_taken_for_others() -> None:
    x = ch.tensor([0.5, 3.0], requires_grad=True)
    x.tolist()
    with pytest.raises(DetachedError, match="nothing it was computed from requires a gradient"):
        ch.tensor([0.5, 3.0]).sum().backward()


def test_what_left_a_graph_is_not_kept_alive() -> None:
    from chainrule.autograd.cuts import EXITS

    for i in range(500):
        (ch.ones(2, requires_grad=True) * (0.123456 + i)).tolist()
    assert len(EXITS) <= 200


def test_an_update_that_fails_changes_nothing() -> None:
    x = ch.ones(3, requires_grad=True)
    for wrong in (lambda: x.add_(1), lambda: x[0].fill_(2), lambda: x.unbind()[0].mul_(3)):
        with pytest.raises(RuntimeError):
            wrong()
    assert x.tolist() == [1.0, 1.0, 1.0] and x._version == 0
