"""The architecture, read from the import statements: direction, no cycle, nothing hidden in a function."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "chainrule"
PACKAGE = ROOT.name

# A room imports only from rows above its own. Whatever stands beside these (linalg.py, utils/, ...) is a
# public door: it may import every room, and no room imports it.
ROWS = (
    ("errors",),
    ("config",),
    ("core",),
    ("backends",),
    ("autograd",),
    ("ops",),
    ("func", "compile", "nn", "optim", "data", "io"),
    ("inspect", "distributed", "testing"),
    ("cli",),
)
RANK = {room: rank for rank, row in enumerate(ROWS) for room in row}
# Rooms of one row that know each other, (importer, imported), each with the reason.
NEIGHBOURS: dict[tuple[str, str], str] = {
    ("nn", "func"): "nn.utils.stateless is the older path of func.functional_call",
}


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    line: int
    hidden: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(path: Path) -> str:
    parts = (PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imported_names(node: ast.Import | ast.ImportFrom, importer: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    stem = node.module or ""
    if node.level:
        base = importer.split(".")
        climbed = node.level - (MODULES[importer].name == "__init__.py")
        stem = ".".join(base[: len(base) - climbed] + ([node.module] if node.module else []))
    yield from (f"{stem}.{alias.name}" for alias in node.names)


def existing(name: str) -> str:
    """The longest prefix of a dotted name that is a module of the package, or nothing."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def statements(node: ast.AST, hidden: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, hidden
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from statements(child, hidden or inside)


def stated_reason(lines: list[str], line: int) -> str:
    nearby = lines[max(line - 2, 0) : line]
    return next((text.split("# lazy:")[1].strip() for text in nearby if "# lazy:" in text), "")


def imports_of(module: str) -> Iterator[Import]:
    text = MODULES[module].read_text()
    lines = text.splitlines()
    for node, hidden in statements(ast.parse(text)):
        reason = stated_reason(lines, node.lineno) if hidden else ""
        for name in imported_names(node, module):
            yield Import(module, existing(name) or name, node.lineno, hidden, reason)


IMPORTS = [found for module in MODULES for found in imports_of(module)]
INTERNAL = [i for i in IMPORTS if i.imported in MODULES and i.imported != i.importer]


def may_import(importer: str, imported: str) -> bool:
    if importer == imported or importer not in RANK:
        return True
    return RANK.get(imported, len(ROWS)) < RANK[importer] or (importer, imported) in NEIGHBOURS


@pytest.mark.parametrize("name", sorted({room(module) for module in MODULES}))
def test_a_room_imports_only_from_rows_above(name: str) -> None:
    wrong = [i for i in INTERNAL if room(i.importer) == name and not may_import(name, room(i.imported))]
    assert not wrong, "\n".join(map(str, wrong))


def test_modules_form_no_cycle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for i in INTERNAL:
        if not i.hidden:
            graph[i.importer].add(i.imported)
    graphlib.TopologicalSorter(graph).prepare()


def test_an_import_inside_a_function_states_its_reason() -> None:
    wrong = [i for i in IMPORTS if i.hidden and not i.reason]
    assert not wrong, "write `# lazy: reason` on the line or above it:\n" + "\n".join(map(str, wrong))


def test_every_exception_to_the_direction_is_in_use() -> None:
    used = {(room(i.importer), room(i.imported)) for i in INTERNAL}
    assert set(NEIGHBOURS) <= used


def test_whoever_warns_names_the_line_of_the_user() -> None:
    """`core.notices.warn` finds it; a stacklevel that is counted by hand is wrong after the next change."""
    counted = [name for name, path in MODULES.items() if "warnings.warn(" in path.read_text()]
    assert counted == [f"{PACKAGE}.core.notices"]
