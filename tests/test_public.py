"""The public door: what `import chainrule` promises is there, and what the README shows runs."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chainrule

ROOT = Path(__file__).parent.parent


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


# A block of the README is a program; the blocks of a page of ideas are one, read from top to bottom.
PROGRAMS = {f"README {at}": block for at, block in enumerate(blocks(ROOT / "README.md"))}
PROGRAMS |= {page.name: "".join(blocks(page)) for page in sorted(ROOT.glob("docs/ideas/*.md"))}


def test_all_is_sorted_and_unique() -> None:
    assert list(chainrule.__all__) == sorted(set(chainrule.__all__))


def test_every_public_name_resolves() -> None:
    assert [name for name in chainrule.__all__ if not hasattr(chainrule, name)] == []


@pytest.mark.parametrize("name", sorted(chainrule._SUBMODULES))
def test_every_public_module_loads(name: str) -> None:
    assert getattr(chainrule, name) is importlib.import_module(f"chainrule.{name}")


def test_what_is_not_here_says_so() -> None:
    assert not any(hasattr(chainrule, name) for name in chainrule._ABSENT)
    with pytest.raises(AttributeError, match="PyTorch's `torch.save` is not written again"):
        chainrule.save  # noqa: B018


def test_importing_pulls_in_numpy_and_nothing_else() -> None:
    script = (
        "import sys; before = set(sys.modules); import chainrule\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*roots - set(sys.stdlib_module_names))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == {"chainrule", "numpy"}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_page_shows_runs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The comments `# -> text` are what the program prints, all of it."""
    exec(compile(program, "a page", "exec"), {"__name__": "__main__"})
    wanted = re.findall(r"# -> (.+)$", program, re.MULTILINE)
    assert wanted and capsys.readouterr().out.splitlines() == wanted


def test_the_references_are_the_ops() -> None:
    """`torch._refs` names each op where PyTorch keeps a reference of it; a method takes its tensor first."""
    refs = importlib.import_module("chainrule._refs")
    assert (
        refs.fft.rfft is chainrule.fft.rfft
        and refs.sum is chainrule.sum
        and refs.linalg.vector_norm is chainrule.linalg.vector_norm
    )
    assert refs.nn.functional.gelu is chainrule.nn.functional.gelu and refs.special.ndtr is chainrule.special.ndtr
    t = chainrule.arange(6)
    assert refs.view(t, 2, 3).shape == (2, 3) and refs._conversions.half(t).dtype is chainrule.float16
    assert refs.prod(t.view(2, 3) + 1, [0, 1]) == 720 and refs.prod(t.view(2, 3), [-1], True).shape == (2, 1)
    assert refs.T(refs.view(t, 2, 3)).shape == (3, 2)
    assert [name for name in refs.__all__ if not hasattr(refs, name)] == []


def test_tensors_are_compared_by_all_but_their_values() -> None:
    prims = importlib.import_module("chainrule._prims")
    x, alike = chainrule.ones(2, 3), prims.utils.compare_tensor_meta
    with prims.context.TorchRefsMode(strict=True):
        alike(x, chainrule.zeros(2, 3))
    for other in (x.t(), x.double(), x.to("meta"), x.cfloat().conj()):
        with pytest.raises(AssertionError, match="not equal"):
            alike(x, other)
    alike(x, chainrule.ones(3, 2).t())
    with pytest.raises(AssertionError, match="strides"):
        alike(x, chainrule.ones(3, 2).t(), check_strides=True)
