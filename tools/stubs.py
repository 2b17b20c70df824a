"""Writes what type checkers and editors know of Tensor's methods: `python tools/stubs.py`.

Methods are declared with their ops and put on Tensor when the package loads, so that only a running package knows them
all. `--check` writes nothing and fails where the file does not say what the package says.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import chainrule
from chainrule.autograd.bind import source
from chainrule.core.op import REGISTRY, Op
from chainrule.core.tensor import Tensor

ROOT = Path(chainrule.__file__).parent
STUB = ROOT / "core" / "methods.pyi"
HEAD = '''"""The methods that ops give Tensor, for type checkers and editors. Written by tools/stubs.py."""

import builtins
from collections.abc import Iterator
from typing import Any

from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.layout import layout as Layout
from chainrule.core.shape import Size
from chainrule.core.tensor import Tensor

__all__ = ["Methods"]

class Methods:
'''
# The annotations that the file repeats; every other is Any to it.
KNOWN = {
    "Tensor", "Tensor | None", "tuple[Tensor, ...]", "list[Tensor]", "int", "bool", "float", "str", "None", "Size",
    "DType", "Device", "tuple[int, ...]", "complex",
}  # fmt: skip
# What Python wants of special methods, whatever their code says. None: not to be written.
SPECIAL: dict[str, str | None] = {
    "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex", "__index__": "int",
    "__len__": "int", "__contains__": "bool", "__hash__": "int", "__repr__": "str", "__format__": "str",
    "__iter__": "Iterator[Tensor]", "__setitem__": "None", "__delitem__": "None", "__getitem__": "Tensor",
    "__reversed__": "Tensor", "__copy__": "Tensor", "__deepcopy__": "Tensor", "__dir__": "list[str]",
    "__reduce_ex__": None, "__new__": None, "__init_subclass__": None,
}  # fmt: skip
# Operators: compiled on first use, so that until then they have no signature to show.
_TWO = "add sub mul truediv floordiv mod pow lshift rshift and or xor matmul div".split()
OPERATORS = {f"__{side}{name}__" for name in _TWO for side in ("", "r", "i")}
OPERATORS |= {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
OTHERWISE = ("__eq__", "__ne__")  # object has them with other types


def written() -> str:
    """The whole file."""
    ops = {id(op.fn.public): op for op in REGISTRY.values()}
    ops |= {id(vars(Tensor).get(f"{op.name}_")): op for op in REGISTRY.values() if op.inplace is not None}
    lines = []
    for name, value in sorted(vars(Tensor).items()):
        if name in _static_names() or SPECIAL.get(name, "") is None:
            continue
        if isinstance(value, property):
            lines += _property(name, value)
        elif isinstance(value, (classmethod, staticmethod)):
            lines += _of_class(name, value)
        elif inspect.isfunction(value):
            op = ops.get(id(value))
            lines.append(
                f"def {name}({_parameters(name, value, op)}) -> {_returned(name, value, op)}: ..." + _excuse(name)
            )
    return HEAD + "".join(f"    {line}\n" for line in lines)


def _static_names() -> set[str]:
    """What the class statement itself says."""
    (cls,) = [
        n for n in ast.parse((ROOT / "core" / "tensor.py").read_text()).body if getattr(n, "name", "") == "Tensor"
    ]
    return {n.name for n in ast.walk(cls) if isinstance(n, ast.FunctionDef)}


def _excuse(name: str) -> str:
    return "  # type: ignore[override]" if name in OTHERWISE else ""


def _property(name: str, value: property) -> list[str]:
    kind = _known(value.fget)
    lines = ["@property", f"def {name}(self) -> {kind}: ..."]
    return lines if value.fset is None else [*lines, f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]


def _of_class(name: str, value: Any) -> list[str]:
    kind, first = ("classmethod", "cls, ") if isinstance(value, classmethod) else ("staticmethod", "")
    return [f"@{kind}", f"def {name}({first}*args: Any, **kwargs: Any) -> Any: ..."]


def _returned(name: str, fn: Any, op: Op | None) -> str:
    if name in SPECIAL:
        return _plain(str(SPECIAL[name]))
    if op is None:
        return "Tensor" if name in OPERATORS or name in ("__neg__", "__pos__", "__abs__", "__invert__") else _known(fn)
    return "Tensor" if op.outs is None or name.endswith("_") else "tuple[Tensor, ...]" if op.outs == "many" else "Any"


def _known(fn: Any) -> str:
    said = str(getattr(inspect.unwrap(fn), "__annotations__", {}).get("return", "Any"))
    return _plain(said) if said in KNOWN else "Any"


def _plain(kind: str) -> str:
    """Some types have the names of methods, which hide them in the class."""
    return re.sub(r"\b(bool|int|float)\b", r"builtins.\1", kind)


def _parameters(name: str, fn: Any, op: Op | None) -> str:
    """Names, order and kinds; which may be left out. An op's methods take no `out`."""
    if op is not None:
        (made,) = ast.parse(source(op)).body
        assert isinstance(made, ast.FunctionDef)
        return _spelled(made.args)
    if name in OPERATORS:
        return "self, other: Any"
    shown = inspect.signature(fn).replace(return_annotation=inspect.Signature.empty)
    (made,) = ast.parse(f"def f{shown}: ...").body
    assert isinstance(made, ast.FunctionDef)
    if name in SPECIAL:
        made.args.kwonlyargs.clear()  # nobody writes them
    return _spelled(made.args)


def _spelled(args: ast.arguments) -> str:
    """The parameters, all of type Any, the first called self."""
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    parts = ["self"] + [f"{a}: Any" for a in plain[1:]]
    for at in range(1, len(args.defaults) + 1):
        if at < len(parts):
            parts[-at] += " = ..."
    if args.vararg is not None:
        parts.append(f"*{args.vararg.arg}: Any")
    keywords = [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults) if a.arg != "out"]
    if keywords and args.vararg is None:
        parts.append("*")
    parts += [f"{a.arg}: Any" + ("" if d is None else " = ...") for a, d in keywords]
    return ", ".join(parts + ([f"**{args.kwarg.arg}: Any"] if args.kwarg else []))


if __name__ == "__main__":
    text = written()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(text)
    elif STUB.read_text() != text:
        sys.exit(f"{STUB}: not what the package says; run `python tools/stubs.py`")
