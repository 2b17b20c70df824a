"""Node classes, generated: one per variant of an op, on first need.

`record` keeps what the rules ask for, `pull` applies them to arrays, `pull_graph` to tensors. A variant is which inputs
are tensors (T), tensors or None (O), numbers (N), a list (V); whether cotangents must be brought back to an input's
shape and dtype (`fit`; "wide" if also 16-bit values are computed with in 32 bits); and whether they must be conjugated
(see core.op). `linecache` knows the text, so tracebacks show it.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

from chainrule.autograd import hot
from chainrule.autograd.inline import STEPS, Steps, expression, in_steps
from chainrule.autograd.node import SCALARS, Node, tick
from chainrule.autograd.opnode import OpNode, saved_properties
from chainrule.autograd.saved import recover, rewrap, stale, verify
from chainrule.autograd.straight import with_slope
from chainrule.backends.cpu.constants import F32_NUMBERS, F64_NUMBERS
from chainrule.core.dtype import widened
from chainrule.core.op import Op
from chainrule.core.tensor import Tensor, fresh

__all__ = ["NEW_STORE", "SCALARS", "Layout", "compiled", "node_class", "numbers_scope", "renew", "tuple_text"]


def compiled(title: str, text: str, scope: dict[str, Any]) -> None:
    """Run generated source, under a file name that tracebacks can show."""
    filename = f"<chainrule {title}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), scope)


# What `Store()` does, without a call.
NEW_STORE = ("store = new(Store)", "store.version = store.lasti = 0", "store.code = None", "store.op = ''")


class Layout:
    """What a node of one variant keeps, in order: [(name, kind)]."""

    def __init__(self, op: Op, kinds: str, fit: bool | str) -> None:
        self.op, self.fit = op, fit
        self.kind = dict(zip(op.inputs, kinds))
        self.ruled = [n for n in op.inputs if n in op.pulls and self.kind[n] != "N"]
        asked = [k for n in self.ruled for k in op.pulls[n].keeps]
        outs = op.outs if isinstance(op.outs, tuple) else ()
        self.inputs = [n for n in op.inputs if n in asked]
        self.outs = "out" in asked or any(n in asked for n in outs)
        self.kept = [i for i, n in enumerate(outs) if n in asked] or [0]  # which outputs the rules want
        shapes = [n for n in op.inputs if f"{n}_shape" in asked or (fit and n in self.ruled)]
        self.shapes = shapes
        self.dtypes = [n for n in op.inputs if f"{n}_dtype" in asked or (fit and n in self.ruled)]
        self.params = [p for p in op.params if p in asked and p not in op.inputs]
        unknown = set(asked) - {*op.inputs, *op.params, *outs, "out"}
        unknown -= {f"{n}_{what}" for n in op.inputs for what in ("shape", "dtype")}
        if unknown:
            raise TypeError(f"{op.name}: a rule keeps unknown names {sorted(unknown)}")

    def needers(self, name: str) -> list[str]:
        """The inputs whose rules keep `name`."""
        return [n for n in self.ruled if name in self.op.pulls[n].keeps]

    def always(self, name: str) -> bool:
        """Is this input kept whichever gradients are wanted, and never absent?"""
        needed_by_all = len(self.ruled) < 2 or len(self.needers(name)) == len(self.ruled)
        return self.kind[name] == "T" and needed_by_all

    def may_keep_nothing(self) -> bool:
        """Is there a rule that wants no input, so that a node for it alone holds none?"""
        free = [n for n in self.ruled if not set(self.op.pulls[n].keeps) & set(self.inputs)]
        return bool(free) and not any(len(self.needers(n)) == len(self.ruled) for n in self.inputs)

    def edge(self, name: str) -> str:
        return f"e_{name}"

    def saved(self, raw: str = "", dtype: str = "") -> list[str]:
        """Expressions for the saved tuple, in terms of inputs, edges e_*, `outs` and parameters.

        `raw` is the prefix of the inputs' arrays, where they are at hand: their shapes cost less. `dtype` is what holds
        the dtype, where all inputs have one and the same."""
        many = len(self.ruled) > 1
        parts = []
        for n in self.inputs:
            if many and len(self.needers(n)) < len(self.ruled) and self.kind[n] != "V":
                wanted = " or ".join(f"{self.edge(m)} is not None" for m in self.needers(n))
                parts.append(f"{n} if {wanted} else None")
            else:
                parts.append(n)
        if self.outs:
            parts += ["outs", "store", "store.version"]
        parts += [
            f"tuple([t.shape for t in {n}])" if self.kind[n] == "V" else f"None if {n} is None else {n}.shape"
            if self.kind[n] == "O" else f"{raw}{n}.shape" for n in self.shapes
        ]  # fmt: skip
        parts += [
            f"tuple([t.dtype for t in {n}])" if self.kind[n] == "V" else f"None if {n} is None else {n}.dtype"
            if self.kind[n] == "O" else dtype or f"{n}.dtype" for n in self.dtypes
        ]  # fmt: skip
        return parts + self.params

    def unpacked(self) -> list[str]:
        names = [*self.inputs, *(["outs", "store", "version"] if self.outs else [])]
        return [*names, *(f"{n}_shape" for n in self.shapes), *(f"{n}_dtype" for n in self.dtypes), *self.params]

    def outs_at(self) -> int | None:
        return len(self.inputs) if self.outs else None


def tuple_text(parts: list[str]) -> str:
    """The source of a tuple."""
    return "(" + "".join(p + ", " for p in parts) + ")"


def _record_source(lay: Layout) -> str:
    lines = ["def record(edges, inputs, outs, store, params):"]
    op = lay.op
    if op.variadic:
        lines.append(f"    {op.inputs[0]} = inputs")
    elif op.inputs:
        lines.append(f"    {tuple_text(list(op.inputs))} = inputs")
    if lay.ruled and not op.variadic:
        lines.append(f"    {tuple_text([lay.edge(n) for n in lay.ruled])} = edges")
    lines += [f"    {p} = params[{p!r}]" for p in lay.params]
    lines += ["    node = cls()", "    node.edges = edges", f"    node.saved = {tuple_text(lay.saved())}"]
    lines += ["    node.checks = node.code = node.hooks = None", "    node.key = tick()", "    return node"]
    return "\n".join(lines)


def _pull_source(lay: Layout, world: str, conj: bool, steps: Steps | None = None) -> str:
    """`pull` (world "raw") or `pull_graph` (world "graph")."""
    op, raw = lay.op, world == "raw"
    wide = raw and lay.fit == "wide"
    lines = [f"def {'pull' if raw else 'pull_graph'}(node, g):", "    saved = node.saved"]
    lines.append("    if saved.__class__ is not tuple: saved = recover(node)")
    names = lay.unpacked()
    if names:
        lines.append(f"    {tuple_text(names)} = saved")
    scalar = raw and op.family.diagonal and not lay.fit
    kernels = kernels_of(lay) if raw and not wide and not conj else {}
    turns = scalar and bool(kernels) and len(kernels) == len(lay.ruled)  # then every cotangent is an array
    fetched = [n for n in lay.inputs if lay.kind[n] in "TO"]
    lines += ["    checks = node.checks"] if fetched else []
    for n in fetched:
        pad = "    " if lay.always(n) else "        "
        lines += [] if lay.always(n) else [f"    if {n} is not None:"]
        expected = f"(0 if checks is None else checks[{lay.inputs.index(n)}])"
        changed = f"{n}.store.version != {expected} or ({n}.extra is not None and {n}.extra.detached is not None)"
        lines.append(f"{pad}if {n}.store is not None and ({changed}): verify(node)")
        if raw:
            lines.append(f"{pad}{n} = widened({n}.raw)" if wide else f"{pad}{n} = {n}.raw")
    for n in (n for n in lay.inputs if lay.kind[n] == "V"):
        lines.append(f"    if any([t.store is not None for t in {n}]): verify_list(node, {n})")
        if raw:
            lines.append(f"    {n} = tuple([t.raw for t in {n}])")
    if lay.outs:
        lines.append("    if store.version != version: stale(node, outs[0], store, version)")
        lines += _out_names(lay, raw)
    if wide:
        named = op.outs if isinstance(op.outs, tuple) else ("out",)
        lines += ["    g = widened(g)", *(f"    {n} = widened({n})" for n in named if lay.outs)]
    if turns:
        lines.append("    if g.__class__ in SCALARS: g = array(g)")
    elif scalar and (fetched or lay.outs):
        lines.append("    if g.__class__ in SCALARS:")
        guards = {n: "" if lay.always(n) else f"if {n} is not None: " for n in fetched}
        lines += [f"        {guards[n]}{n} = {n}[()]" for n in fetched]
        lines += ["        out = out[()]"] if lay.outs else []
    if not turns:
        lines += _steps_lines(lay, steps)
    lines += _turned_lines(lay, raw) if conj else []
    if _listed(op) and not op.gaps:
        lines += ["    for _p in g:", "        if _p is None:"]
        lines += [
            "            g = whole(node, g)" if raw else "            g = whole_graph(node, g)",
            "            break",
        ]
    return "\n".join(lines + _rule_lines(lay, raw, kernels))


def kernels_of(lay: Layout) -> dict[str, tuple[Any, str]]:
    """What machine code computes of the rules of an elementwise op: input -> (kernel, the call's text)."""
    found: dict[str, tuple[Any, str]] = {}
    for n in lay.ruled if lay.op.family.diagonal and not lay.op.variadic else ():
        pull = lay.op.pulls[n]
        made = hot.kernel_for(pull.fn, ("g", *pull.keeps), _arrays_of(lay))
        if made is not None:
            found[n] = made[0], f"machine_{n}({', '.join(made[1])})"
    return found


def _turned_lines(lay: Layout, raw: bool) -> list[str]:
    """What makes a transpose an adjoint: everything kept is conjugated. `g` is not: conjugated there and back, its
    zeros would lose the signs that PyTorch gives them."""
    turn = "conj" if raw else "conj_physical"
    lines = []
    for n in lay.inputs:
        value = f"complexed({n})" if lay.op.branches else n
        one = {"N": f"{value}.conjugate()", "V": f"tuple([t.{turn}() for t in {n}])"}.get(
            lay.kind[n], f"{value}.{turn}()"
        )
        lines.append(f"    {n} = {one}" if lay.always(n) else f"    {n} = None if {n} is None else {one}")
    named = lay.op.outs if isinstance(lay.op.outs, tuple) else ("out",)
    lines += [f"    {n} = {n}.{turn}()" for at, n in enumerate(named) if lay.outs and at in lay.kept]
    return lines + [f"    if {p}.__class__ is complex: {p} = {p}.conjugate()" for p in lay.params]


def _steps_of(lay: Layout, conj: bool) -> Steps | None:
    """The one rule of a node as steps that need a single array between them, if it is a formula."""
    if len(lay.ruled) != 1 or conj or lay.fit or not lay.op.family.diagonal:
        return None
    pull = lay.op.pulls[lay.ruled[0]]
    return in_steps(pull.fn, ("g", *pull.keeps), _arrays_of(lay))


def _arrays_of(lay: Layout) -> list[str]:
    return ["g", *(n for n in lay.inputs if lay.kind[n] == "T"), *(["out"] if lay.outs else [])]


def _steps_lines(lay: Layout, found: Steps | None) -> list[str]:
    """The rule in steps, for arrays with axes; its numbers are made 0-d arrays of their dtype beforehand."""
    if found is None:
        return []
    steps, numbers = found.lines, found.numbers
    lines = [f"    if {' and '.join(f'{n}.__class__ is ndarray' for n in _arrays_of(lay))} and g.ndim:"]
    if numbers:
        lines += [
            "        d = g.dtype",
            f"        {tuple_text(list(numbers))} = K32 if d is F32 else K64 if d is F64 else K",
        ]
    return lines + ["        " + step for step in [*steps, f"return ({found.result},)"]]


def numbers_scope(given: dict[str, float]) -> dict[str, Any]:
    """The functions that steps call, and their numbers as 0-d arrays of each dtype."""
    numbers = list(given.values())
    of_dtype = {f"K{bits}": tuple([table[n] for n in numbers]) for bits, table in _NUMBERS.items()}
    return {"K": tuple(numbers), **of_dtype, "F32": F32_NUMBERS.dtype, "F64": F64_NUMBERS.dtype, **_STEPS}


_STEPS = {f"np_{name}": fn for name, fn in STEPS.items()}
_NUMBERS = {32: F32_NUMBERS, 64: F64_NUMBERS}


def _listed(op: Op) -> bool:
    return op.outs == "many" or len(op.differentiable) > 1


def _out_names(lay: Layout, raw: bool) -> list[str]:
    op = lay.op
    if not isinstance(op.outs, tuple):
        one = "outs[0]" if raw else "rewrap(node, outs[0], 0, store)"
        return [f"    out = {one}"]
    lines = []
    for i, n in enumerate(op.outs):
        index = op.differentiable.index(i) if i in op.differentiable else None
        lines.append(f"    {n} = outs[{i}]" if raw else f"    {n} = rewrap(node, outs[{i}], {index}, store)")
    return lines


def _rule_lines(lay: Layout, raw: bool, kernels: dict[str, tuple[Any, str]]) -> list[str]:
    op = lay.op
    if op.variadic:
        (n,) = op.inputs
        call = f"rule_{n}({', '.join(('g', *op.pulls[n].keeps))})"
        if lay.fit:
            found = f"zip(node.edges, {call}, {n}_shape, {n}_dtype)"
            return [f"    return [None if e is None or p is None else fit(p, s, d) for e, p, s, d in {found}]"]
        return [f"    return [None if e is None else p for e, p in zip(node.edges, {call})]"]
    lines = [f"    {tuple_text([lay.edge(n) for n in lay.ruled])} = node.edges"] if len(lay.ruled) > 1 else []
    calls = {n: kernels[n][1] if n in kernels else _call_of(op, n) for n in lay.ruled}
    if len(lay.ruled) == 1:
        (n,) = lay.ruled
        return [f"    return ({_sloped(op, _fitted(lay, n, calls[n], raw), 'node.edges[0]', raw)},)"]
    for n in lay.ruled:
        pulled = _sloped(op, _fitted(lay, n, calls[n], raw), lay.edge(n), raw)
        lines.append(f"    _{n} = None if {lay.edge(n)} is None else {pulled}")
    return [*lines, f"    return ({', '.join(f'_{n}' for n in lay.ruled)})"]


def _call_of(op: Op, n: str) -> str:
    """A rule applied: its text in place, if it is a mere expression."""
    names = ("g", *op.pulls[n].keeps)
    return expression(op.pulls[n].fn, names) or f"rule_{n}({', '.join(names)})"


def _fitted(lay: Layout, n: str, call: str, raw: bool) -> str:
    """A cotangent in its input's shape and dtype."""
    if not lay.fit:
        return call
    if not raw:
        return f"fit({call}, {n}_shape, {n}_dtype)"
    good = f"(_p := {call}).__class__ is ndarray and _p.shape == {n}_shape and _p.dtype is {n}_dtype.numpy"
    return f"(_p if {good} else fit(_p, {n}_shape, {n}_dtype))"  # an underscore: `p` may be a parameter


def _sloped(op: Op, call: str, edge: str, raw: bool) -> str:
    """A cotangent that depends on the input of a straight op too."""
    return f"with_slope({call}, g, node, {edge})" if op.straight and not raw else call


def node_class(op: Op, kinds: str, fit: bool | str, conj: bool, second: bool = False) -> Any:
    """The node class of one variant of an op, made on first need; `second`: see Op.overload."""
    key = (kinds, fit, conj, second)
    found = op.nodes.get(key)
    if found is None:
        name = op.node_names.get(kinds, op.node_name)
        found = op.nodes[key] = _make_node_class(op, name[:-1] + "1" if second else name, kinds, fit, conj)
    return found


def _make_node_class(op: Op, name: str, kinds: str, fit: bool | str, conj: bool) -> type:
    lay = Layout(op, kinds, fit)
    steps = _steps_of(lay, conj)
    scope: dict[str, Any] = {
        "SCALARS": SCALARS, "complexed": complexed, "ndarray": np.ndarray, "fit": op.family.fit, "widened": widened,
        "recover": recover, "rewrap": rewrap,
        "stale": stale, "tick": tick, "verify": verify, "verify_list": verify_list, "whole": whole,
        "whole_graph": whole_graph, "with_slope": with_slope,
    }  # fmt: skip
    scope |= {f"rule_{n}": r.fn for n, r in op.pulls.items()} | _machine_scope(lay)
    scope |= numbers_scope({} if steps is None else steps.numbers)
    texts = [_record_source(lay), _pull_source(lay, "raw", conj, steps), _pull_source(lay, "graph", conj)]
    compiled(_title(name, kinds, fit, conj), "\n\n".join(texts) + "\n", scope)
    body = {k: scope[k] for k in ("pull", "pull_graph")}
    body |= {"__slots__": (), "__module__": "chainrule.autograd.graph", "op": op, "layout": lay}
    body |= {"__slots__": ("outline", "outputs")} if op.outs == "many" else {"outputs": len(op.differentiable)}
    held = [n for n in lay.inputs if lay.kind[n] != "N" or not op.node_names]  # PyTorch makes a tensor of a number
    body |= saved_properties(op, lay)
    body["frees"] = lay.outs or bool(held)  # that has no overload, and so no node, of its own
    if held and not lay.outs and lay.may_keep_nothing():
        count = len(lay.inputs)
        body["frees"] = property(
            lambda node: node.saved.__class__ is not tuple or any([s is not None for s in node.saved[:count]])
        )
    if "wrapped" in op.of_numbers:
        given = [k for n, k in zip(op.inputs, kinds) if n in op.pulls]
        body["absent"] = -given.count("N") if given[0] == "N" else given.count("N")
    cls = type(name, (OpNode,), {**body, "record": staticmethod(scope["record"])})
    scope["cls"] = cls
    return cls


def _title(name: str, kinds: str, fit: bool | str, conj: bool) -> str:
    return f"{name} {kinds}{' fit' if fit else ''}{' conj' if conj else ''}"


def _machine_scope(lay: Layout) -> dict[str, Any]:
    return {"array": np.array, **{f"machine_{n}": kernel for n, (kernel, _) in kernels_of(lay).items()}}


def renew(op: Op) -> None:
    """Let the nodes of an op, those recorded already too, take kernels where there are some by now."""
    for (kinds, fit, conj, _), cls in list(op.nodes.items()):
        lay: Layout = cls.layout  # type: ignore[attr-defined]
        kernels = _machine_scope(lay)
        if len(kernels) > 1:
            scope = cls.pull.__globals__  # type: ignore[attr-defined]
            scope |= kernels
            text = _pull_source(lay, "raw", conj, _steps_of(lay, conj))
            compiled(_title(cls.__name__, kinds, fit, conj), text + "\n", scope)
            cls.pull = scope["pull"]  # type: ignore[attr-defined]


def complexed(x: Any) -> Any:
    """A number, an array or a tensor as complex numbers: then its conjugate lies on the other side of a cut."""
    if isinstance(x, (int, float, complex)):
        return complex(x)
    kind = x.dtype
    return x if (kind.is_complex if isinstance(x, Tensor) else kind.kind == "c") else x + 0j


def verify_list(node: Node, tensors: tuple[Any, ...]) -> None:
    """As `verify`, for a saved list: its tensors are checked against the version kept with them."""
    expected = node.__dict__.get("list_versions")
    for at, t in enumerate(tensors):
        if t.store is not None and t.store.version != (expected[at] if expected else 0):
            stale(node, t, t.store, expected[at] if expected else 0)


def whole(node: Any, gs: Any) -> Any:
    """The cotangents of all outputs, zeros where none arrived."""
    if any(isinstance(p, Tensor) for p in gs):  # at the level of a transform
        return whole_graph(node, gs)
    metas = node.noted_metas()
    return tuple(np.zeros(s, d.numpy) if p is None else p for p, (s, d) in zip(gs, metas))


def whole_graph(node: Any, gs: Any) -> Any:
    """As `whole`, on tensors."""
    metas, like = node.noted_metas(), next((p for p in gs if p is not None), None)
    if like is None:
        return tuple(fresh(np.zeros(s, d.numpy)) for s, d in metas)
    return tuple(like.new_zeros(s, dtype=d) if p is None else p for p, (s, d) in zip(gs, metas))
