"""From a declaration to straight-line code.

A declaration says what an op computes and how cotangents come back; nothing interprets it per call. On its first call
an op gets two pieces of generated source, specialised to its signature and rules:

* the *public function*: unusual arguments go through the door; plain ones are computed and recorded on the spot;
* a *node class* per variant (see autograd.nodes).

`source(op)` shows the text of the public function.
"""

from __future__ import annotations

import sys
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import Any

import numpy as np

from chainrule.autograd import hot
from chainrule.autograd.bind_inplace import as_constant, inplace_function, signature_text
from chainrule.autograd.bind_views import edge_lines, is_odd, is_plain, list_source, listed, replain, view_source
from chainrule.autograd.cuts import cut_here
from chainrule.autograd.door import door, failed, operator_door, with_aliases, with_early
from chainrule.autograd.eager import attach
from chainrule.autograd.inline import Steps, expression, in_steps, ufunc_of
from chainrule.autograd.node import Sink, accumulator, tick
from chainrule.autograd.nodes import NEW_STORE, Layout, compiled, node_class, numbers_scope, renew, tuple_text
from chainrule.autograd.saved import keep
from chainrule.autograd.versions import turned_store
from chainrule.autograd.views import refresh
from chainrule.backends import cpu
from chainrule.backends.cpu import memory
from chainrule.backends.cpu.constants import F32_NUMBERS, F64_NUMBERS
from chainrule.backends.sparse import Unsupported
from chainrule.core.ambient import LISTENING, QUIET, THREAD
from chainrule.core.blame import ABSENT
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import Elementwise, set_binder
from chainrule.core.op import REGISTRY, REQUIRED, Op
from chainrule.core.public import spell
from chainrule.core.shape import Size
from chainrule.core.sites import INSIDE
from chainrule.core.tensor import LEAF, PLAIN, TURNED, Cut, Port, Store, Tensor, View
from chainrule.core.types import return_class

__all__ = ["bind", "operator", "rebind", "source"]

F32, F64, I64, BOOL = (np.dtype(t) for t in (np.float32, np.float64, np.int64, np.bool_))
REALS = frozenset((int, float))
BOUNDS = REALS | {type(None)}


def as_raw(r: Any) -> Any:
    """A result as an array: NumPy turns 0-d results into scalars."""
    return np.asarray(r) if isinstance(r, np.generic) else r


def in_order(r: Any, *operands: Any) -> tuple[Any, Store | None]:
    """A result whose operands lie in unusual ways, and its store: see `_order_lines`."""
    r = memory.ordered_as_met(r, *operands)
    return r, turned_store(r)


def alone(op: Op, keepdim: Any, out: Any) -> tuple[None, Any]:
    """No axes are given: then nothing may be that goes with them."""
    given = {"keepdim": keepdim is True or keepdim is False, "out": out is not None}
    for name in op.paired:
        if given[name]:
            raise TypeError(
                f"{op.name}() received an invalid combination of arguments - got (Tensor, {name}=...), but expected "
                f"{name} beside dim"
            )
    return None, False if keepdim is ABSENT else keepdim


_COMMON: dict[str, Any] = {
    "__name__": "chainrule.generated", "BOOL": BOOL, "BOUNDS": BOUNDS, "I64": I64, "REALS": REALS, "F32": F32,
    "F64": F64, "INSIDE": INSIDE, "LEAF": LEAF, "LISTENING": LISTENING, "PLAIN": PLAIN, "Port": Port, "QUIET": QUIET,
    "THREAD": THREAD, "Store": Store, "Tensor": Tensor, "View": View, "accumulator": accumulator, "as_raw": as_raw,
    "door": door, "failed": failed, "getframe": sys._getframe, "keep": keep, "ndarray": np.ndarray,
    "new": object.__new__, "refresh": refresh, "tick": tick, "Cut": Cut, "cut_here": cut_here,
    "Unsupported": Unsupported, "LISTS": frozenset((list, tuple)), "Size": Size, "listed": listed, "replain": replain,
    "with_aliases": with_aliases, "with_early": with_early, "xp": cpu, "REQUIRED": REQUIRED, "OF_NUMPY": OF_NUMPY,
    "ABSENT": ABSENT, "alone": alone,
    "N32": F32_NUMBERS, "N64": F64_NUMBERS, "Sink": Sink, "attach": attach, "in_order": in_order,
    "turned_store": turned_store,
}  # fmt: skip


# --------------------------------------------------------------------------------------------- public functions


def _signature(op: Op, has_out: bool) -> str:
    parts = signature_text(op)
    if has_out:
        parts += ([] if any(p[0] == "*" for p in parts) else ["*"]) + ["out=None"]
    if "dim" in op.params:
        parts.append("**aliased")
    return ", ".join(parts)


def _door_call(op: Op, has_out: bool) -> str:
    inputs = f"tuple({op.inputs[0]})" if op.variadic else tuple_text(list(op.inputs))
    params = "{" + ", ".join(f"{p!r}: {p}" for p in op.params if p not in op.inputs) + "}"
    return f"door(op, {inputs}, {params}{', out' if has_out else ''})"


def _public_source(op: Op, bare: bool = False, ranks: tuple[int, ...] = ()) -> str:
    """`bare`: the operator's form, whose operands are all that it is given; `ranks`: those it takes, if not all."""
    if op.family.is_view or op.family.shares:
        return view_source(op)
    has_out = not bare
    lines = [f"def {op.name}({', '.join(op.inputs) if bare else _signature(op, has_out)}):"]
    if bare:
        lines += [f"    {p} = D_{p}" for p in op.params if p not in op.inputs]
    elif "dim" in op.params:
        given = ", ".join(f"{p!r}: {p}" for p in (*op.params, "out"))
        lines.append(f"    if aliased: return with_aliases(op, {{{given}}}, aliased)")
        if op.paired:
            lines += ["    if dim is ABSENT: dim, keepdim = alone(op, keepdim, out)"]
            lines += ["    elif keepdim is ABSENT: keepdim = False"]
    if op.early and not bare:
        params = "{" + ", ".join(f"{p!r}: {p}" for p in op.params if p not in op.inputs) + "}"
        lines.append(f"    if early: return with_early(op, op, ({', '.join(op.inputs)}, *early), {params}, out)")
    if op.variadic and op.outs is None:
        return list_source(op, lines)
    slow = f"return {_door_call(op, has_out)}"
    if (op.refuses_floats and not op.integers) or op.write is REQUIRED:
        return "\n".join([*lines, f"    {slow}"]) + "\n"
    unusual = op.family.diagonal and op.optional - set(op.pulls)
    if op.variadic or (op.outs is not None and not _has_main_output(op)) or not op.inputs or unusual:
        return "\n".join([*lines, f"    {slow}"]) + "\n"
    return "\n".join([*lines, *_fast_lines(op, slow, bare, ranks)]) + "\n"


def _fast_lines(op: Op, slow: str, bare: bool, ranks: tuple[int, ...]) -> list[str]:
    numbers = _numbers(op)
    tensors = [n for n in op.inputs if n not in numbers]
    odd = ["LISTENING", *([] if bare else ["out is not None"])]
    if "dtype" in op.params:
        odd.append("dtype is not None" if "dtype" in op.defaults else "dtype.category < 2")
    odd += [f"({n} is not None and {is_odd(n)})" if n in op.optional else is_odd(n) for n in tensors]
    odd += [f"{n}.raw.ndim != {rank}" for n, rank in zip(op.inputs, ranks)]
    odd += [f"({n} is not None and {n}.edge is not None)" for n in op.fixed]
    if not bare:
        static = [(n, op.forward.__annotations__.get(n)) for n in op.params if n not in op.inputs]
        odd += [_is_no_flag(op, n) for n, note in static if note == "bool"]
        odd += [_is_odd_number(op, n, str(note)) for n, note in static if note in _NUMERIC]
    lines = [f"    if {' or '.join(odd)}: {slow}"]
    kinds = _variants(op) or ["".join("O" if n in op.optional else "T" for n in op.inputs)]
    if not numbers:
        return lines + _compute_lines(op, kinds[0], slow, "    ", bare)
    given = " and ".join(f"{n}.__class__ in {'BOUNDS' if n in op.optional else 'REALS'}" for n in numbers)
    plain = " and ".join(is_plain(n) for n in numbers)
    all_tensors, with_numbers = _number_kinds(op)
    lines += [f"    if {plain}:", *_compute_lines(op, all_tensors, slow, "        ", bare)]
    lines += [f"    elif {given}:", *_compute_lines(op, with_numbers, slow, "        ", bare)]
    return [*lines, f"    else: {slow}", *_finish(op)]


_NUMERIC = frozenset(("float", "float | None", "int", "int | None", "Number", "Number | None"))


def _is_odd_number(op: Op, name: str, note: str) -> str:
    """The condition that a number is not a Python real: a NumPy scalar would take part in promotion."""
    kinds = "is not int" if note == "int" else "not in BOUNDS" if "None" in note else "not in REALS"
    odd = f"{name}.__class__ {kinds}"
    return f"({name} is not D_{name} and {odd})" if name in op.defaults else odd


def _is_no_flag(op: Op, name: str) -> str:
    """The condition that a flag is neither True nor False, the likely one asked first."""
    first, second = (True, False) if op.defaults.get(name) is True else (False, True)
    return f"({name} is not {first} and {name} is not {second})"


def _has_main_output(op: Op) -> bool:
    """Several outputs, of which the first alone carries a gradient: values beside their indices, say."""
    return isinstance(op.outs, tuple) and op.differentiable == (0,) and not (op.family.diagonal or op.family.is_view)


def _others(op: Op) -> list[str]:
    """What the outputs beside the first are called in generated code."""
    return [f"r{i}" for i in range(1, len(op.outs))] if isinstance(op.outs, tuple) else []


def _numbers(op: Op) -> list[str]:
    """The last inputs of an elementwise op that may be Python numbers, a tensor before them saying the dtype."""
    first = next((at for at, n in enumerate(op.inputs) if n not in op.unpromoted), 0)
    last: list[str] = []
    for n in reversed(op.inputs[first + 1 :] if op.family.diagonal else ()):
        if n not in op.numbers:
            break
        last.insert(0, n)
    return last


def _number_kinds(op: Op) -> tuple[str, str]:
    """The kinds of inputs when the numbers are tensors, and when they are numbers (or absent)."""
    count = len(_numbers(op))
    return "T" * len(op.inputs), "T" * (len(op.inputs) - count) + "N" * count


def _compute_lines(op: Op, kinds: str, slow: str, pad: str, bare: bool) -> list[str]:
    """Take the arrays, check that no cast is needed, compute, record."""
    kind = dict(zip(op.inputs, kinds))
    lines = [
        f"r_{n} = {n}.raw" if kind[n] == "T" else f"r_{n} = {n}" if kind[n] == "N"
        else f"r_{n} = None if {n} is None else {n}.raw" for n in op.inputs
    ]  # fmt: skip
    is_view, promotes = op.family.is_view, isinstance(op.family, Elementwise)
    meet = promotes or (op.check is not None and not op.pulls)
    checked = [n for n in op.inputs if kind[n] in "TO" and (n in op.pulls or meet) and n not in op.unpromoted]
    if checked and not is_view:
        first = next((n for n in checked if kind[n] == "T"), checked[0])
        odd = [_dtype_test(op, kind)]
        odd += [
            f"r_{n}.dtype is not d" if kind[n] == "T" else f"(r_{n} is not None and r_{n}.dtype is not d)"
            for n in checked
            if n != first
        ]
        odd += [f"r_{n}.dtype is not BOOL" for n in op.inputs if n in op.unpromoted]
        absent = f" if r_{first} is not None else None" if kind[first] == "O" else ""
        lines += [f"d = r_{first}.dtype{absent}", f"if {' or '.join(odd)}: {slow}"]
    elif (
        not is_view and "T" in kinds
    ):  # an array without elements has a dtype of its own, which the check above refuses
        hollow = " or ".join([f"r_{n}.__class__ is not ndarray" for n in op.inputs if kind[n] == "T"])
        lines.append(f"if {hollow}: {slow}")
    args = [f"r_{n}" if n in op.inputs else n for n in op.params]
    cut = op.keyword_from
    args = [*args[:cut], *(f"{n}={a}" for n, a in zip(op.params[cut:], args[cut:]))]
    ready, compute = _compute_text(op, kind, args, bare)
    lines += ready
    # what fails goes the careful way, which finds the words
    lines += [f"try: {compute}", f"except Exception: {_door_call(op, False).replace('door', 'return failed', 1)}"]
    lines += [f"if {r}.__class__ is not ndarray: {r} = as_raw({r})" for r in ("r", *_others(op))]
    lines += _order_lines(op, kind)
    lines += _attach_lines(op, kinds)
    whole = [pad + line for line in lines]
    return whole if _numbers(op) else whole + _finish(op)


def _order_lines(op: Op, kind: dict[str, str]) -> list[str]:
    """Put the axes of a result in the order of those of its operands; leaves `own` behind, the store it gets for that.

    Views know whether they turned axes, and what else lies so has a store that says it, which is where results get it.
    So no array is asked how it lies, which takes 40 ns, but what may lie in an unusual way.
    """
    tensors = [n for n in op.inputs if kind[n] in "TO"]
    turned = " or ".join([_may_be_turned(n, kind[n] == "O") for n in tensors]) or "False"
    if op.ordered:
        given = ", ".join(["r", *(f"r_{n}" for n in tensors)])
        return ["own = None", f"if {turned}: r, own = in_order({given})"]
    return [f"own = turned_store(r) if {'True' if 'memory_format' in op.params else turned} else None"]


def _may_be_turned(n: str, optional: bool) -> str:
    asked = f"{n}.store is not None and ({n}.store.lasti == {TURNED} if {n}.viewed is None else {n}.viewed.turned)"
    return f"({n} is not None and {asked})" if optional else f"({asked})"


def _compute_text(op: Op, kind: dict[str, str], args: list[str], bare: bool) -> tuple[list[str], str]:
    """The statement that computes the results, and the lines before it."""
    results, general = ", ".join(["r", *_others(op)]), f"forward(xp, {', '.join(args)})"
    ufunc = _ufunc_of(op) if isinstance(op.family, Elementwise) else None
    if ufunc is None:
        steps = forward_steps(op)
        if steps is not None:
            numbers = tuple_text(list(steps.numbers))
            ready = [f"{numbers} = K32 if d is F32 else K64 if d is F64 else K"] if steps.numbers else []
            return ready, "; ".join([*steps.lines, f"r = {steps.result}"])
        text = _inlined(op) if op.outs is None else None
        return [], f"{results} = {text or general}"
    # the forward is one ufunc while its static parameters keep their defaults
    kernel = _kernel_of(op)
    usual = "" if bare else " and ".join(f"{p} is D_{p}" for p in op.params if p not in op.inputs)
    ready = [f"shape = r_{op.inputs[0]}.shape"] if _asks_shape(op, kind) else []
    args = [f"r_{n}" for n in op.inputs]
    direct = _applied(ufunc, args, bool(ready)) if kernel is None else f"machine({', '.join(args)})"
    numbers = "".join(f"r_{n} = {as_constant(n)}; " for n in op.inputs if kind[n] == "N" and n not in op.optional)
    return ready, f"{numbers}r = ({direct}) if {usual} else {general}" if usual else f"{numbers}r = {direct}"


def _asks_shape(op: Op, kind: dict[str, str]) -> bool:
    """Is the shape of the first of two tensors asked for anyway, to see whether they are stretched?"""
    return list(kind.values()) == ["T", "T"] and bool(op.pulls) and _ufunc_of(op) is not None


def _applied(ufunc: str, args: list[str], has_shape: bool) -> str:
    """A ufunc applied to arrays: `out=...` makes an array of a 0-d result, and costs the others 50 ns."""
    given = ", ".join(args)
    return f"{ufunc}({given}) if shape else {ufunc}({given}, out=...)" if has_shape else f"{ufunc}({given}, out=...)"


def _dtype_test(op: Op, kind: dict[str, str]) -> str:
    """The condition under which the first array's dtype is no case for the fast path."""
    kinds = [] if op.refuses_floats else ["d is not F32", "d is not F64"]
    if "i" in op.integers:
        whole = [f"{n}.__class__ is float" for n in op.inputs if kind[n] == "N"]
        kinds.append("d is not I64" if not whole else f"(d is not I64 or {' or '.join(whole)})")
    if "b" in op.integers and "N" not in kind.values():
        kinds.append("d is not BOOL")
    return " and ".join(kinds)


def _finish(op: Op) -> list[str]:
    lines = ["t = new(Tensor)", "t.raw = r", "t.edge = node", "t.extra = None"]
    lines.append("t.cut = cut")
    lines += ["t.store = store", "t.viewed = None"]
    if isinstance(op.outs, tuple):
        return ["    " + line for line in lines + _finish_others(op)]
    return ["    " + line for line in [*lines, "return t"]]


def _finish_others(op: Op) -> list[str]:
    kept = Layout(op, _variants(op)[0], False).kept if op.pulls else []
    lines = [] if 0 in kept else ["t.store = None"]
    if op.pulls:
        lines.append(f"if node is not None: cut = Cut('{op.name} indices', node.code, node.lasti)")
    for i, r in enumerate(_others(op), 1):
        lines += [f"t{i} = new(Tensor)", f"t{i}.raw = {r}", f"t{i}.edge = t{i}.extra = t{i}.viewed = None"]
        lines += [f"t{i}.cut = cut", f"t{i}.store = {'store' if i in kept else 'None'}"]
    return [*lines, f"return RT({', '.join(['t', *(f't{i}' for i in range(1, len(op.outs or ())))])})"]


def _attach_lines(op: Op, kinds: str) -> list[str]:
    """Record a node if an input wants a gradient; leaves `node`, `store` and `cut` behind."""
    kind = dict(zip(op.inputs, kinds))
    tensors = [n for n in op.inputs if kind[n] in "TO"]
    reasons = " or ".join(f"{n}.cut" if kind[n] == "T" else f"({n} is not None and {n}.cut)" for n in tensors) or "None"
    if not op.pulls:
        wants = " or ".join(
            f"{n}.edge is not None" if kind[n] == "T" else f"({n} is not None and {n}.edge is not None)"
            for n in tensors
        )
        lines = [f"node = None; store = own; cut = ({reasons}) or None"]
        return [*lines, f"if {wants}: cut = cut_here('{op.name}')"] if tensors else lines
    fits = op.family.diagonal and len([k for k in kinds if k == "T"]) > 1
    lay = Layout(op, kinds, False)
    given = "{" + ", ".join(f"{p!r}: {p}" for p in op.params if p not in op.inputs) + "}"
    results = tuple_text(["r", *_others(op)]) if op.outs is not None else "r"
    careful = f"return attach(op, {tuple_text(list(op.inputs))}, {given}, {results}, None)"
    lines = []
    for n in lay.ruled:
        if kind[n] == "O":
            lines += [f"if {n} is None: e_{n} = None", "else:", *("    " + line for line in edge_lines(n, careful))]
        else:
            lines += edge_lines(n, careful)
    none = " and ".join(f"e_{n} is None" for n in lay.ruled)
    lines += [f"if {none}:", "    node = None", "    store = own", f"    cut = ({reasons}) or None"]
    lines += [
        "elif QUIET and not THREAD.record.grad:",
        "    node = None",
        "    store = own",
        "    cut = cut_here('no_grad')",
    ]
    lines += ["else:", "    cut = None"]
    lines += [f"    {line}" for line in NEW_STORE] if lay.outs else ["    store = own"]
    made = f"C_{kinds}()" if op.overload is None else f"C_{kinds}() if {op.overload} is None else C_{kinds}_1()"
    body = [f"node = {made}", f"node.edges = {tuple_text([f'e_{n}' for n in lay.ruled])}"]
    if lay.outs:
        body.append(f"outs = {tuple_text(['r', *_others(op)])}")
    body += [f"node.saved = {tuple_text(lay.saved('r_'))}", "node.checks = node.hooks = None", "node.key = tick()"]
    if fits:
        first = "shape" if _asks_shape(op, kind) else f"r_{tensors[0]}.shape"
        shapes = " or ".join(f"r_{n}.shape != {first}" for n in tensors[1:])
        fitted = [line.replace(f"C_{kinds}()", f"C_{kinds}_fit()") for line in body if "node.saved" not in line]
        fitted += ["dt = OF_NUMPY[d]", f"node.saved = {tuple_text(Layout(op, kinds, True).saved('r_', 'dt'))}"]
        lines += [f"    if {shapes}:", *("        " + line for line in fitted), "    else:"]
        lines += ["        " + line for line in body]
    else:
        lines += ["    " + line for line in body]
    lines += ["    f = getframe(1)", "    c = f.f_code", "    while INSIDE[c.co_filename]:", "        f = f.f_back"]
    lines += ["        c = f.f_code", "    node.code = c", "    node.lasti = f.f_lasti"]
    return [*lines, *_checks_lines(lay)]


def _checks_lines(lay: Layout) -> list[str]:
    """Note the versions of what is saved, where memory has a store; what is unusual is looked at by `keep`."""
    stores = [n for n in lay.inputs if lay.kind[n] in "TO"]
    if not stores:
        return []
    lines = [f"    s_{n} = {'' if lay.kind[n] == 'T' else f'None if {n} is None else '}{n}.store" for n in stores]
    odd = [f"s_{n} is not None and s_{n}.__class__ is not Store" for n in stores]
    versions = [f"0 if s_{n} is None else s_{n}.version" if n in stores else "0" for n in lay.inputs]
    lines += [f"    if {' or '.join(f's_{n} is not None' for n in stores)}:"]
    lines += [f"        if {' or '.join(odd)}: keep(node, {lay.outs_at()})"]
    return [*lines, f"        else: node.checks = {tuple_text(versions)}"]


def _ufunc_of(op: Op) -> str | None:
    """The ufunc that an op's forward is while its parameters keep their defaults, if it is nothing else."""
    static = {n: op.defaults.get(n, REQUIRED) for n in op.params if n not in op.inputs}
    return None if REQUIRED in static.values() else ufunc_of(op.forward, [f"r_{n}" for n in op.inputs], static)


def forward_steps(op: Op) -> Steps | None:
    """The forward of an elementwise op without parameters in steps, if it is a formula of arrays and numbers."""
    if not isinstance(op.family, Elementwise) or op.outs is not None or op.params != op.inputs or op.numbers:
        return None
    names = [f"r_{n}" for n in op.inputs]
    return hot.kernels_in(op.forward, ["xp", *names], names) or in_steps(op.forward, ["xp", *names], names, "out=...")


def _kernel_of(op: Op) -> Any:
    """Machine code for an op's forward while its parameters keep their defaults, if that is arithmetic."""
    if not isinstance(op.family, Elementwise) or op.outs is not None:
        return None
    static = {n: op.defaults.get(n, REQUIRED) for n in op.params if n not in op.inputs}
    if REQUIRED in static.values():
        return None
    found = hot.kernel_for(op.forward, ["xp", *op.inputs], op.inputs, static)
    return found[0] if found is not None and tuple(found[1]) == op.inputs else None


def _inlined(op: Op) -> str | None:
    """The text of an op's forward, in terms of `xp` and the inputs' arrays, if it is a mere expression of them."""
    return expression(op.forward, ["xp", *(f"r_{n}" for n in op.inputs)]) if op.params == op.inputs else None


def source(op: Op) -> str:
    """The generated text of an op's public function."""
    return _public_source(op)


def bind(op: Op) -> Any:
    """Give an op its functions: `public`, for users, and the one the declaration returns, for rules."""
    scope: dict[str, Any] = {**_COMMON, "op": op, "forward": op.forward, "parse": op.parse, "bare": False}
    public = FunctionType(_trampoline.__code__, scope, op.name)
    scope["_self"], scope["_settle"] = public, _settle
    public.__doc__, public.__module__, public.__qualname__ = op.doc, "chainrule", op.name
    forward, wraps, ndarray = op.forward, isinstance, np.ndarray

    def fn(*args: Any, **params: Any) -> Any:
        first = args[0].__class__ if args else None
        if first is Tensor:
            return public(*args, **params)
        if len(args) == 2 and first is ndarray and args[1].__class__ is ndarray:
            return forward(cpu, *args, **params)
        for a in args:
            if wraps(a, Tensor):
                return public(*args, **params)
            if a.__class__ is tuple or a.__class__ is list:
                if any(wraps(x, Tensor) for x in a):
                    return public(*args, **params)
        return forward(cpu, *(args[0] if op.variadic else args), **params)

    fn.__name__ = fn.__qualname__ = op.name
    fn.__doc__ = op.doc
    fn.op, fn.public, fn.vjp = op, public, op.vjp  # type: ignore[attr-defined]
    op.fn = fn
    spell(op.name, public, op.spelled.translate(_NOT_INPLACE))
    if "i" in op.spelled:
        spell(op.name + "_", inplace_function(op, _ufunc_of), "m" + ("f" if "F" in op.spelled else ""))
    return fn


_NOT_INPLACE = str.maketrans("", "", "iF")


def _trampoline(*args: Any, **params: Any) -> Any:
    _settle(op, _self)  # type: ignore[name-defined]  # noqa: F821
    return _self(*args, **params)  # type: ignore[name-defined]  # noqa: F821


def _settle(op: Op, public: Any) -> None:
    """Compile the public function and put its code in the trampoline's place; the function object stays the same."""
    scope = public.__globals__
    scope |= {f"D_{n}": v for n, v in op.defaults.items()}
    for kinds in _variants(op):
        scope[f"C_{kinds}"] = node_class(op, kinds, False, False)
        if op.overload is not None:
            scope[f"C_{kinds}_1"] = node_class(op, kinds, False, False, True)
        if op.family.diagonal and len(op.inputs) > 1:
            scope[f"C_{kinds}_fit"] = node_class(op, kinds, True, False)
    scope["machine"] = _kernel_of(op)
    steps = forward_steps(op)
    if steps is not None:
        scope |= numbers_scope(steps.numbers) | steps.kernels
    if isinstance(op.outs, tuple):
        scope["RT"] = return_class(op.name, op.outs)
    text = _public_source(op, scope["bare"], scope.get("ranks", ()))
    names = {k: scope.get(k) for k in (op.name,)}
    compiled(op.name, text, scope)
    made = scope[op.name]
    if names[op.name] is not None:
        scope[op.name] = names[op.name]
    public.__defaults__, public.__kwdefaults__ = _with_absent(op, made), made.__kwdefaults__
    public.__code__ = made.__code__


def _with_absent(op: Op, made: Any) -> Any:
    """The defaults: what is required may be absent from `dim` on, for that one may be given as `axis`; where `keepdim`
    goes with it alone, it is known whether it was given."""
    defaults = made.__defaults__ or ()
    names = made.__code__.co_varnames[: made.__code__.co_argcount]
    required = names[: len(names) - len(defaults)]
    if op.paired:
        return tuple([ABSENT if n in ("dim", "keepdim") else d for n, d in zip(names[len(required) :], defaults)])
    if "dim" not in required[1:] or not made.__code__.co_flags & CO_VARKEYWORDS:
        return made.__defaults__
    return (ABSENT,) * (len(required) - required.index("dim")) + defaults


def operator(op: Op, ranks: tuple[int, ...] = (), door: Any = operator_door) -> Any:
    """The op as Tensor's operator: the same function, but it declines operands it does not know, as Python wants it.

    `ranks`: of the operands it takes; `door(op, operands, {})` has the others."""
    scope: dict[str, Any] = {**_COMMON, "op": op, "forward": op.forward, "parse": op.parse, "bare": True}
    scope["door"], scope["ranks"] = door, ranks
    fn = FunctionType(_trampoline.__code__, scope, op.name)
    scope["_self"], scope["_settle"] = fn, _settle
    op.fn.operator = fn
    return fn


def rebind(op: Op) -> None:
    """Forget what was compiled: the declaration changed, so the next call compiles again. For tests of rules."""
    op.nodes.clear()
    public = getattr(op.fn, "door", op.fn.public)  # another function may stand in front of the compiled one
    for fn in (public, getattr(op.fn, "operator", public)):
        fn.__code__, fn.__defaults__, fn.__kwdefaults__ = _trampoline.__code__, None, None


def _renew() -> None:
    """Generate again on the next call what was generated so far, now that there are kernels."""
    for op in REGISTRY.values():
        renew(op)
        public = getattr(op.fn, "door", op.fn.public)
        for fn in (public, getattr(op.fn, "operator", public)):
            if fn.__code__.co_filename.startswith("<chainrule"):
                fn.__code__, fn.__defaults__, fn.__kwdefaults__ = _trampoline.__code__, None, None


hot.RENEWED.append(_renew)


def _variants(op: Op) -> list[str]:
    if op.variadic and op.pulls and op.outs is None:
        return ["V"]
    if not op.pulls or op.variadic or (op.outs is not None and not op.family.is_view and not _has_main_output(op)):
        return []
    if _numbers(op):
        return list(_number_kinds(op))
    return ["".join("O" if n in op.optional else "T" for n in op.inputs)]


set_binder(bind)
