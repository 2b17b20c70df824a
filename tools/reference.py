"""Writes the reference: `python tools/reference.py`. One page per subject of `ops/`, every public function in it.

What a page says is read off the declarations: signature, docstring, places where the function is public, inputs that
have a gradient, the node's name. `--check` writes nothing and fails where a page does not say what the package says.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import chainrule
from chainrule.autograd.bind import source
from chainrule.core.op import REGISTRY, Op
from chainrule.core.public import PUBLIC

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
PLACES = {
    "f": "torch.{}", "m": "Tensor.{}", "n": "nn.functional.{}", "l": "linalg.{}", "s": "special.{}", "t": "fft.{}",
    "r": "random.{}", "k": "masked.{}",
}  # fmt: skip
HEAD = "Written by `tools/reference.py` from the declarations; do not edit.\n"


class Entry:
    """One public function: an op, or what is composed of ops."""

    def __init__(self, fn: Any, op: Op | None) -> None:
        self.fn, self.op = fn, op
        self.names: list[str] = []

    @property
    def title(self) -> str:
        return self.names[0].rpartition(".")[2]

    @property
    def subject(self) -> str:
        declared = self.op.forward if self.op is not None else inspect.unwrap(self.fn)
        return str(declared.__module__)

    def lines(self) -> list[str]:
        """The entry's part of a page."""
        lines = [f"### {self.title}", "", f"    {self.title}{self.signature()}", "", *self.said().splitlines(), ""]
        lines.append("Public as " + ", ".join(f"`{name}`" for name in self.names) + ".")
        return [*lines, *self.gradients(), ""]

    def said(self) -> str:
        """The docstring."""
        return inspect.getdoc(inspect.unwrap(self.fn) if self.op is None else self.op.forward) or ""

    def signature(self) -> str:
        if self.op is None:
            shown = inspect.signature(self.fn).replace(return_annotation=inspect.Signature.empty)
            bare = [p.replace(annotation=inspect.Parameter.empty) for p in shown.parameters.values()]
            return str(shown.replace(parameters=bare))
        (made,) = ast.parse(source(self.op)).body
        assert isinstance(made, ast.FunctionDef)
        text = ast.unparse(made.args)
        for name, value in self.op.defaults.items():
            text = text.replace(f"{name}=D_{name}", f"{name}={value!r}")
        return f"({text.replace(', **aliased', '').replace(', **named', '')})"

    def gradients(self) -> list[str]:
        if self.op is None:
            return []
        if not self.op.pulls:
            return ["No gradient."]
        nodes = list(dict.fromkeys(self.op.node_names.values())) or [self.op.node_name]
        inputs = ", ".join(f"`{n}`" for n in self.op.pulls)
        return [f"Gradients of {inputs}; node `{'`, `'.join(nodes)}`."]


def entries() -> list[Entry]:
    """Every function that is public somewhere, with all its names."""
    ops = {id(op.fn.public): op for op in REGISTRY.values()}
    found: dict[int, Entry] = {}
    for place, names in PUBLIC.items():
        for name, fn in names.items():
            if not name.startswith("_") and not (name.endswith("_") and name[:-1] in names) and inspect.isfunction(fn):
                entry = found.setdefault(id(fn), Entry(fn, ops.get(id(fn))))
                entry.names += [PLACES[place].format(form) for form in (name, f"{name}_") if form in names]
    return sorted(found.values(), key=lambda entry: entry.title)


def pages() -> dict[str, str]:
    """File name -> text."""
    subjects: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries():
        subjects[entry.subject].append(entry)
    made, index = {}, ["# Reference", "", HEAD, "| subject | functions |", "|---|---|"]
    for module in sorted(subjects):
        name = module.rpartition(".")[2]
        about = (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0].replace("\n", " ")
        lines = [f"# {name.replace('_', ' ').capitalize()}", "", about, "", HEAD]
        for entry in subjects[module]:
            lines += entry.lines()
        made[f"{name}.md"] = "\n".join(lines).rstrip() + "\n"
        links = ", ".join(f"[{e.title}]({name}.md#{e.title})" for e in subjects[module])
        index.append(f"| [{name.replace('_', ' ')}]({name}.md) | {links} |")
    return {"README.md": "\n".join(index) + "\n", **made}


def stale() -> list[str]:
    """Pages that do not say what the package says."""
    made, kept = pages(), {path.name: path.read_text() for path in PAGES.glob("*.md")}
    return sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))


def main() -> None:
    assert chainrule.__file__
    if "--check" in sys.argv[1:]:
        if wrong := stale():
            sys.exit(f"docs/reference: {', '.join(wrong)} not what the package says; run `python tools/reference.py`")
        return
    PAGES.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path in PAGES.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (PAGES / name).write_text(text)


if __name__ == "__main__":
    main()
