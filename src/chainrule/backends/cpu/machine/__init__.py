"""Arithmetic on small arrays as machine code: one call for a whole formula, without NumPy's cost of a call.

`kernel(formula, arity)` gives a function for a formula (see `text`): `g * (out * (1 - out))` over 256 floats takes
0.12 us where three calls of NumPy take 1.31, a sum of columns cut out of a wider matrix 0.13 where NumPy takes 0.98.
LLVM comes with llvmlite, which is imported with this module and not before; where there is none, or Python or NumPy
are not laid out as expected, importing this module raises ImportError, and NumPy does the work.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from chainrule.backends.cpu import masks
from chainrule.backends.cpu.machine.text import FIELDS, NEW_ARRAY, Formula, module_of, plan_name, plan_of

__all__ = ["add_into", "array_kernel", "kernel"]

_FASTCALL = 0x80  # METH_FASTCALL
_NEW_FROM_DESCR = 94  # its place in NumPy's table of functions, which is part of its stable interface
_ARRAY_TYPE = 2


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("entry", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)
    ]  # fmt: skip


def _table() -> Any:
    """NumPy's table of functions."""
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    return ctypes.cast(read(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def _refuse_strangers() -> None:
    """Raise where memory is not laid out as `text` reads it."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        raise ImportError("machine code is written for CPython on 64-bit machines")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ImportError("kernels count references as Python with a global lock does")
    probe = np.empty((3, 5), np.float32)[:, 1:3]
    fields = (ctypes.c_char * 72).from_address(id(probe))

    def at(name: str, kind: Any) -> Any:
        return kind.from_buffer(fields, FIELDS[name]).value

    data, strides = probe.__array_interface__["data"][0], at("strides", ctypes.c_void_p)
    seen = (
        at("type", ctypes.c_void_p), at("data", ctypes.c_void_p), at("rank", ctypes.c_int),
        at("descr", ctypes.c_void_p), tuple((ctypes.c_int64 * 2).from_address(at("shape", ctypes.c_void_p))),
        tuple((ctypes.c_int64 * 2).from_address(strides)), at("flags", ctypes.c_int) & 0x501,
    )  # fmt: skip
    if seen != (id(np.ndarray), data, 2, id(np.dtype(np.float32)), (3, 2), (20, 4), 0x500):
        raise ImportError("this NumPy lays arrays out otherwise")
    if _table()[_ARRAY_TYPE] != id(np.ndarray):
        raise ImportError("this NumPy's functions lie elsewhere")


_refuse_strangers()
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.add_symbol(NEW_ARRAY, _table()[_NEW_FROM_DESCR])
for _name in ("Py_IncRef", "PyObject_Vectorcall"):
    llvm.add_symbol(_name, ctypes.cast(getattr(ctypes.pythonapi, _name), ctypes.c_void_p).value)
_made: dict[Any, tuple[_Method, Callable[..., Any]]] = {}
_plans: set[str] = set()
_alive: list[Any] = []  # what machine code points at lives as long as the process


def _assembled(text: str, name: str, effort: int) -> int:
    """The address of a function in a module; `effort`: LLVM's level of optimization."""
    target = llvm.Target.from_triple(llvm.get_process_triple())
    host = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, target.create_target_machine(*host, opt=effort))
    engine.finalize_object()
    _alive.append(engine)
    return int(engine.get_function_address(name))


def kernel(formula: Formula, arity: int, slow: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of `arity` arrays that computes a formula. What it does not take, arrays that lie otherwise or things
    that are no arrays, it hands to `slow`, which is the formula in Python's operators if it is not given."""
    key = repr(formula), arity  # 1 is not 1.0 where arrays of integers come
    found = _made.get(key)
    if found is None:
        found = _made[key] = _compiled(f"k{len(_made)}", formula, arity), _in_python(formula, arity)
    method, plain = found
    return _callable(method, slow or plain)


def array_kernel(formula: Formula, arity: int) -> Callable[..., Any]:
    """The same for arrays alone, whose results are arrays always: Python's operators make scalars of 0-d ones."""
    plain = _in_python(formula, arity)
    return kernel(formula, arity, lambda *arrays: np.asarray(plain(*arrays)))


def _in_python(formula: Formula, arity: int) -> Callable[..., Any]:
    """The formula by Python's operators, for what the kernel does not take."""
    name, *parts = formula
    if name in _OPERATORS and parts == [("x", i) for i in range(arity)]:
        return getattr(operator, _OPERATORS[name])  # type: ignore[no-any-return]
    names = ", ".join(f"x{i}" for i in range(arity))
    made: Callable[..., Any] = eval(f"lambda {names}: {_spelled(formula)}", {"__builtins__": {}, **_CHOICES})
    return made


_OPERATORS = {"add": "add", "subtract": "sub", "multiply": "mul", "true_divide": "truediv", "negative": "neg"}
_CHOICES = {"keep": masks.keep, "choose": masks.choose}
_MARKS = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "equal": "==", "not_equal": "!=", "less": "<",
    "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip


def _spelled(formula: Formula) -> str:
    if not isinstance(formula, tuple):
        return f"({formula!r})"
    name, *parts = formula
    if name == "x":
        return f"x{parts[0]}"
    texts = [_spelled(part) for part in parts]
    if name in _CHOICES:
        return f"{name}({', '.join(texts)})"
    return f"({texts[0]} {_MARKS[name]} {texts[1]})" if name in _MARKS else f"(-{texts[0]})"


def _compiled(name: str, formula: Formula, arity: int, writes_first: bool = False) -> _Method:
    known = {"ndarray": id(np.ndarray), **{kind: id(np.dtype(kind)) for kind in ("float32", "float64")}}
    plan = plan_name(arity, writes_first)
    if plan not in _plans:
        _plans.add(plan)
        llvm.add_symbol(plan, _assembled(plan_of(arity, known, writes_first), plan, 2))
    address = _assembled(module_of(name, formula, arity, known, writes_first), name, 1)
    method = _Method(name.encode(), address, _FASTCALL, None)
    _alive.append(method)
    return method


def _callable(method: _Method, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Python sees it; it has `slow` where methods have `self`."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(method), slow, None)
    return made


# `a += b` where `a` is an array of one's own: nobody else sees its memory.
add_into: Callable[[Any, Any], Any] = _callable(
    _compiled("add_into", ("add", ("x", 0), ("x", 1)), 2, True), operator.iadd
)
