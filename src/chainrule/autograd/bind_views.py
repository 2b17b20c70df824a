"""Straight-line code for the ops that autograd.bind's pattern does not fit: views, and ops on a list of tensors.

A view shares its input's memory: it gets the store of its input and a link to its base. Its parameters are checked to
be plain ints here, on the fast path; anything else (a list, a dtype, a NumPy integer, names) goes to the declaration's
`parse`, which calls the op again with plain ones.
"""

from __future__ import annotations

import operator
from typing import Any

from chainrule.autograd.nodes import NEW_STORE, Layout, tuple_text
from chainrule.core.blame import ABSENT, without
from chainrule.core.op import Op
from chainrule.core.tensor import TURNED, Tensor

__all__ = ["as_int", "edge_lines", "is_odd", "is_plain", "list_source", "listed", "replain", "view_source"]


# ------------------------------------------------------------------------------------------ words of generated code


def is_plain(n: str) -> str:
    """The condition that a value is a tensor as the fast path takes it: the likely class is asked for first."""
    return f"({n}.__class__ is Tensor or {n}.__class__ in PLAIN)"


def is_odd(n: str) -> str:
    """The opposite."""
    return f"({n}.__class__ is not Tensor and {n}.__class__ not in PLAIN)"


def edge_lines(n: str, careful: str) -> list[str]:
    """Find the edge `e_n` of a tensor `n`, the accumulator if it is a leaf; `careful`: what is done if it is a sink."""
    return [*_own_edge(n, careful), f"if e_{n} is LEAF: e_{n} = accumulator({n})"]


def _own_edge(n: str, careful: str = "") -> list[str]:
    """`e_n = n.edge`, for a view after `refresh`, unless that has nothing to do: the usual case, and 0.13 us a call."""
    fresh = f"{n}.viewed.version == {n}.store.version and e_{n} is not None and e_{n}.__class__ is not Sink"
    stale = [f"if {n}.viewed is not None and not ({fresh}):", f"    refresh({n})", f"    e_{n} = {n}.edge"]
    if careful:
        stale.append(f"    if e_{n}.__class__ is Sink and not (QUIET and not THREAD.record.grad): {careful}")
    return [f"e_{n} = {n}.edge", *stale]


# ------------------------------------------------------------------------------------------------------------- views


def view_source(op: Op) -> str:
    """The text of a view op's public function."""
    (x,) = op.inputs
    lines = [f"def {op.name}({_view_signature(op)}):", *_guard(op)]
    params = "{" + ", ".join(f"{p!r}: {p}" for p in op.params[1:]) + "}"
    lines.append(f"if LISTENING or {is_odd(x)}: return door(op, ({x},), {params})")
    args = ", ".join([f"r_{x}", *(p if at < op.keyword_from else f"{p}={p}" for at, p in enumerate(op.params) if at)])
    refused = [f"try: r = forward(xp, {args})", f"except Unsupported: raise Unsupported({op.name!r}) from None"]
    compute = [f"r_{x} = {x}.raw", *refused, f"except Exception: return failed(op, ({x},), {params})"]
    lines += [*compute, *_shared(op, x, params)] if op.family.shares else _linked(op, x, params, compute)
    return "\n    ".join(lines) + "\n"


def _view_signature(op: Op) -> str:
    parts = [op.inputs[0]]
    for at, name in enumerate(op.params[1:], 1):
        if name == op.spread:
            parts.append(f"*{name}")
            continue
        if at == op.keyword_from:
            parts.append("*")
        parts.append(f"{name}=D_{name}" if name in op.defaults else name)
    return ", ".join([*parts, "**named"] if _takes_names(op) else parts)


def _takes_names(op: Op) -> bool:
    return op.parse is not None or "dim" in op.params


def _guard(op: Op) -> list[str]:
    """Hand everything that is not plain to `parse`."""
    x, notes, spread = op.inputs[0], op.forward.__annotations__, op.spread
    if spread:
        return [
            f"if named: return parse({x}, *{spread}, **named)",
            f"if len({spread}) == 1 and {spread}[0].__class__ is not int:",
            f"    {spread} = {spread}[0]",
            f"    if {spread}.__class__ is not tuple and {spread}.__class__ is not Size: return parse({x}, {spread})",
            f"elif not {spread}: return parse({x})",
        ]
    given = "{" + ", ".join(f"{p!r}: {p}" for p in op.params) + "}"
    odd = [f"{p}.__class__ is not int" for p in op.params[1:] if notes.get(p) == "int"]
    if op.parse is not None:
        return [f"if {' or '.join(['named', *odd])}: return parse({', '.join(op.params)}, **named)"]
    names = [f"if named: return with_aliases(op, {given}, named)"] if _takes_names(op) else []
    return [*names, *([f"if {' or '.join(odd)}: return replain(op, {given})"] if odd else [])]


def replain(op: Op, given: dict[str, Any]) -> Any:
    """Call a view op again with its int parameters made plain ints."""
    notes = op.forward.__annotations__
    for at, name in enumerate(op.params):
        if notes.get(name) == "int":
            given[name] = as_int(op.name, name, at, given[name])
    return op.fn.public(**given)


def as_int(title: str, name: str, position: int, value: Any) -> int:
    """An int argument from whatever counts as one."""
    if not isinstance(value, (bool, float, str)):
        try:
            return int(operator.index(value))
        except TypeError:
            pass
    left_out = without(title, [name] if value is ABSENT else [])
    if left_out is not None:
        raise left_out
    raise TypeError(f"{title}(): argument '{name}' (position {position}) must be int, not {type(value).__name__}")


def _record(op: Op, kind: str, edge: str) -> list[str]:
    lay = Layout(op, kind, False)
    return [
        f"    node = C_{kind}()", f"    node.edges = {edge}",
        f"    node.saved = {tuple_text(lay.saved('r_'))}", "    node.checks = node.hooks = None",
        "    node.key = tick()", "    f = getframe(1)", "    while INSIDE[f.f_code.co_filename]: f = f.f_back",
        "    node.code = f.f_code", "    node.lasti = f.f_lasti",
    ]  # fmt: skip


def _linked(op: Op, x: str, params: str, compute: list[str]) -> list[str]:
    many = op.outs == "many"
    lines = [f"v = {x}.viewed", *_own_edge(x), *_store(op, x, params), *compute]
    lines += ["quiet = QUIET and not THREAD.record.grad", "node = cut = None", f"if e_{x} is None: cut = {x}.cut"]
    if op.pulls:
        lines += ["elif quiet: cut = cut_here('no_grad')", "else:", f"    if e_{x} is LEAF: e_{x} = accumulator({x})"]
        lines += _record(op, "T", f"(e_{x},)")
    else:
        lines.append(f"else: cut = cut_here('{op.name}')")
    if many:
        lines += ["    node.outputs = len(r) if len(r) > 1 else 2"]
    return [*lines, *(_outputs(op, x) if many else _output(x, params, op.turns))]


def _store(op: Op, x: str, params: str) -> list[str]:
    """The version counter that input and outputs share; a view of an inference tensor is one too, and no more."""
    lines = [f"s = {x}.store", "if s is None:", *(f"    {line}" for line in NEW_STORE), f"    s = {x}.store = store"]
    return [*lines, f"elif s.__class__ is not Store: return door(op, ({x},), {params})"]


def _output(x: str, params: str, turns: bool) -> list[str]:
    first, later = ("True", "True") if turns else (f"s.lasti == {TURNED}", "v.turned")
    return [
        "t = new(Tensor)", "t.raw = r", "t.edge = node", "t.extra = None", "t.cut = cut", "t.store = s",
        "t.viewed = w = new(View)", "w.parent = v", f"w.step = (op, {params}, r_{x}.shape, None)",
        "w.version = s.version",
        f"if v is None: w.base = {x}; w.turned = {first}; w.kind = 'NO_GRAD_MODE' if quiet else 'DEFAULT'",
        f"else: w.base = v.base; w.turned = {later}; w.kind = 'NO_GRAD_MODE' if quiet else v.kind", "return t",
    ]  # fmt: skip


def _outputs(op: Op, x: str) -> list[str]:
    params = ", ".join(f"{p!r}: {p}" for p in op.params[1:])
    return [
        f"given = {{{params}}}", f"shape = r_{x}.shape", "version = s.version",
        f"base, turned = ({x}, s.lasti == {TURNED}) if v is None else (v.base, v.turned)",
        "kind = 'NO_GRAD_MODE' if quiet else 'MULTI_OUTPUT_NODE'", "ts = []",
        f"if node is not None: node.outline = (given, shape, r_{x}.dtype)",
        "for i, r in enumerate(r):",
        "    t = new(Tensor)", "    t.raw = r", "    t.extra = None", "    t.cut = cut", "    t.store = s",
        "    if node is None: t.edge = None",
        "    else:", "        t.edge = p = new(Port)", "        p.node = node", "        p.index = i",
        "    t.viewed = w = new(View)", "    w.base = base", "    w.version = version", "    w.kind = kind",
        "    w.turned = turned",
        "    w.parent = v", "    w.step = (op, given, shape, i)", "    ts.append(t)",
        "return tuple(ts)",
    ]  # fmt: skip


def _shared(op: Op, x: str, params: str) -> list[str]:
    return [
        "t = new(Tensor)", "t.raw = r", "t.edge = t.viewed = t.extra = None", f"s = {x}.store",
        f"if s is None: s = {x}.store = Store()",
        f"elif s.__class__ is not Store: return door(op, ({x},), {params})", "t.store = s",
        f"t.cut = {x}.cut if {x}.edge is None else cut_here({op.name!r})", "return t",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------- lists of tensors


def list_source(op: Op, lines: list[str]) -> str:
    """The text of the public function of an op whose input is a list of tensors of one dtype."""
    (xs,) = op.inputs
    lines = [*lines[:1], *(line.strip() for line in lines[1:])]
    params = "{" + ", ".join(f"{p!r}: {p}" for p in op.params[1:]) + "}"
    slow = f"return door(op, listed(op, {xs}), {params}, out)"
    lay = Layout(op, "V", False) if op.pulls else None
    if lay is not None and (lay.inputs or lay.outs):
        return "\n    ".join([*lines, slow]) + "\n"
    lines += [f"if LISTENING or out is not None or {xs}.__class__ not in LISTS or not {xs}: {slow}"]
    lines += ["raws = []", "dtypes = set()", "edges = []", "wants = cut = None", f"for t in {xs}:"]
    lines += [f"    if {is_odd('t')}: {slow}", "    raws.append(r := t.raw)", "    dtypes.add(r.dtype)"]
    lines += ["    " + line for line in _own_edge("t")]
    lines += ["    if e_t is None: cut = cut or t.cut", "    else:"]
    lines += ["        wants = True", "        if e_t is LEAF: e_t = accumulator(t)", "    edges.append(e_t)"]
    lines += [f"if len(dtypes) != 1 or (r.dtype is not F32 and r.dtype is not F64): {slow}"]
    lines += [f"r = forward(xp, *raws{''.join(f', {p}={p}' for p in op.params[1:])})"]
    lines += ["t = new(Tensor)", "t.raw = r", "t.viewed = t.store = t.extra = t.edge = None"]
    return "\n    ".join([*lines, *_list_record(op, xs, lay), "return t"]) + "\n"


def _list_record(op: Op, xs: str, lay: Layout | None) -> list[str]:
    if lay is None:
        return [f"t.cut = cut if wants is None else cut_here('{op.name}')"]
    quiet = "elif QUIET and not THREAD.record.grad: t.cut = cut_here('no_grad')"
    lines = ["if wants is None: t.cut = cut", quiet, "else:"]
    body = ["t.edge = node = C_V()", "t.cut = None", "node.edges = tuple(edges)"]
    body += [f"{xs}_shape = tuple([x.shape for x in raws])"] if lay.shapes else []
    body += [f"node.saved = {tuple_text(lay.unpacked())}", "node.checks = node.hooks = None", "node.key = tick()"]
    body += ["f = getframe(1)", "while INSIDE[f.f_code.co_filename]: f = f.f_back"]
    return [*lines, *("    " + line for line in [*body, "node.code = f.f_code", "node.lasti = f.f_lasti"])]


def listed(op: Op, xs: Any) -> tuple[Any, ...]:
    """The list argument of a variadic op as a tuple, or PyTorch's refusal."""
    if isinstance(xs, Tensor) or not isinstance(xs, (tuple, list)):
        raise TypeError(
            f"{op.name}(): argument '{op.inputs[0]}' (position 1) must be tuple of Tensors, not {type(xs).__name__}"
        )
    return tuple(xs)
