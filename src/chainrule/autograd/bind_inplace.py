"""The in-place form's function, generated like the public one: an update that nobody records is one array call.

That is the optimizer's case: float tensors of one dtype, no view, nothing recorded. All else goes through the door.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from chainrule.autograd.cuts import cut_here
from chainrule.autograd.door import Inplace, door, with_early
from chainrule.autograd.nodes import compiled, tuple_text
from chainrule.backends import cpu
from chainrule.backends.cpu.constants import F32_NUMBERS, F64_NUMBERS
from chainrule.core.ambient import LISTENING, QUIET, THREAD
from chainrule.core.op import Op
from chainrule.core.sites import INSIDE
from chainrule.core.tensor import PLAIN, Store

__all__ = ["as_constant", "inplace_function", "inplace_of", "signature_text"]

_SCOPE: dict[str, Any] = {
    "F32": np.dtype(np.float32), "F64": np.dtype(np.float64), "I64": np.dtype(np.int64), "INSIDE": INSIDE,
    "LISTENING": LISTENING, "PLAIN": PLAIN, "QUIET": QUIET, "THREAD": THREAD, "cut_here": cut_here,
    "Store": Store, "door": door, "getframe": sys._getframe, "N32": F32_NUMBERS, "N64": F64_NUMBERS,
    "new": object.__new__, "with_early": with_early, "xp": cpu,
}  # fmt: skip


def inplace_function(op: Op, ufunc_of: Callable[[Op], str | None]) -> Any:
    """The function of an op's in-place form, compiled on its first call: `mul` gives `mul_`."""
    form = op.inplace = Inplace(op)
    scope = {**_SCOPE, "form": form, "op": op, "forward": op.forward, "text": lambda: _source(op, ufunc_of(op))}
    fn = FunctionType(_trampoline.__code__, scope, form.name)
    scope["_self"], scope["_settle"] = fn, _settle
    fn.__doc__, fn.__module__, fn.__qualname__ = f"In-place form of `{op.name}`.", "chainrule", form.name
    fn.op, fn.public = form, fn  # type: ignore[attr-defined]
    form.fn = fn
    return fn


def inplace_of(fn: Any) -> Any:
    """The in-place form's function of a declared op, for methods that wrap it."""
    op: Op = fn.op
    return op.inplace.fn if op.inplace is not None else inplace_function(op, lambda _: None)


def _trampoline(*args: Any, **params: Any) -> Any:
    _settle(form, _self)  # type: ignore[name-defined]  # noqa: F821
    return _self(*args, **params)  # type: ignore[name-defined]  # noqa: F821


def _settle(form: Inplace, fn: Any) -> None:
    scope = fn.__globals__
    scope |= {f"D_{n}": v for n, v in form.base.defaults.items()}
    compiled(form.name, scope["text"](), scope)
    made = scope[form.name]
    fn.__defaults__, fn.__kwdefaults__, fn.__code__ = made.__defaults__, made.__kwdefaults__, made.__code__


def as_constant(n: str) -> str:
    """A number made an array of the dtype `d`; as a number it would be converted at every call."""
    return f"(N32[{n}] if d is F32 else N64[{n}] if d is F64 else {n})"


def signature_text(op: Op) -> list[str]:
    """The parameters as source, defaults by name."""
    parts = []
    for at, name in enumerate(op.params):
        if at == op.keyword_from:
            parts.append("*early" if op.early else "*")
        parts.append(f"{name}=D_{name}" if name in op.defaults else name)
    return parts


def _source(op: Op, ufunc: str | None) -> str:
    params = "{" + ", ".join(f"{p!r}: {p}" for p in op.params if p not in op.inputs) + "}"
    slow = f"return door(form, {tuple_text(list(op.inputs))}, {params})"
    lines = [f"def {op.name}_({', '.join(signature_text(op))}):"]
    if op.early:
        lines.append(f"    if early: return with_early(op, form, ({', '.join(op.inputs)}, *early), {params})")
    if (
        op.family.diagonal
        and op.write is None
        and op.promote in ("same", "float")
        and not op.optional
        and not op.refuses_floats
    ):
        lines += _fast_lines(op, ufunc, slow)
    return "\n".join([*lines, f"    {slow}"]) + "\n"


def _fast_lines(op: Op, ufunc: str | None, slow: str) -> list[str]:
    first, *others = op.inputs
    number = others[-1] if others and others[-1] in op.numbers else None
    tensors = [n for n in op.inputs if n != number]
    odd = " or ".join(["LISTENING", *(f"{n}.__class__ not in PLAIN" for n in tensors)])
    lines = [f"if {odd}: {slow}", f"r_{first} = {first}.raw", f"d = r_{first}.dtype"]
    whole = (
        ""
        if "i" not in op.integers
        else " and d is not I64"
        if number is None
        else f" and (d is not I64 or {number}.__class__ is float)"
    )
    odd = f"(d is not F32 and d is not F64{whole}) or {first}.viewed is not None"
    lines.append(f"if {odd} or (r_{first}.base is not None and not r_{first}.flags.c_contiguous): {slow}")
    wants = [f"{n}.edge is not None or {n}.viewed is not None" for n in tensors]
    for n in tensors[1:]:
        lines += [
            f"r_{n} = {n}.raw",
            f"if r_{n}.dtype is not d or r_{n}.shape != r_{first}.shape or r_{n}.base is r_{first}: {slow}",
        ]
    if number is not None:
        lines += [
            f"if {number}.__class__ in PLAIN:",
            f"    r_{number} = {number}.raw",
            f"    if r_{number}.dtype is not d or r_{number}.shape != r_{first}.shape or "
            f"r_{number}.base is r_{first}: {slow}",
            f"    wants = {number}.edge is not None or {number}.viewed is not None",
            f"elif {number}.__class__ is float or {number}.__class__ is int:",
            f"    r_{number}, wants = {as_constant(number) if ufunc else number}, False",
            f"else: {slow}",
        ]
        wants.append("wants")
    lines += [f"if {' or '.join(wants)}:", f"    if not (QUIET and not THREAD.record.grad): {slow}"]
    if len(wants) > 1:
        lines.append(f"    if {first}.edge is None: {first}.cut = cut_here('no_grad')")
    for n in tensors[1:]:
        lines.append(f"elif {n}.cut is not None and {first}.edge is None: {first}.cut = {n}.cut")
    if number is not None:
        lines.append(f"elif {number}.__class__ in PLAIN and {number}.cut is not None and {first}.edge is None:")
        lines.append(f"    {first}.cut = {number}.cut")
    lines += [
        f"s = {first}.store",
        f"if s is None: s = {first}.store = Store()",
        f"elif s.__class__ is not Store: {slow}",
    ]
    args = [f"r_{n}" if n in op.inputs else n for n in op.params]
    cut = op.keyword_from
    args = [*args[:cut], *(f"{n}={a}" for n, a in zip(op.params[cut:], args[cut:]))]
    if ufunc is not None and len(op.params) == len(op.inputs):
        lines.append(f"{ufunc}({', '.join(f'r_{n}' for n in op.inputs)}, out=r_{first})")
    else:
        lines.append(f"r_{first}[...] = forward(xp, {', '.join(args)})")
    lines += ["s.version += 1", f"s.op = {op.name + '_'!r}", "f = getframe(1)", "c = f.f_code"]
    lines += ["while INSIDE[c.co_filename]:", "    f = f.f_back", "    c = f.f_code"]
    lines += ["s.code = c", "s.lasti = f.f_lasti", f"return {first}"]
    return ["    " + line for line in lines]
