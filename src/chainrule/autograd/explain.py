"""The texts of errors about the graph: PyTorch's phrase first, then where it began, where it went wrong, and one fix.

Nothing here runs unless an error is about to be raised.
"""

from __future__ import annotations

from typing import Any, NoReturn

from chainrule.autograd.cuts import last_exit, told
from chainrule.autograd.node import AccumulateGrad, Freed, Node, node_of
from chainrule.autograd.tasks import running
from chainrule.core.dtype import FLOAT, OF_NUMPY
from chainrule.core.sites import called_here, here_in_user_code, is_item_assignment, picture
from chainrule.core.tensor import LEAF, Cut, Port, Store, Tensor
from chainrule.errors import FreedError

__all__ = [
    "detached_text", "forward_name", "freed", "inference_text", "leaf_text", "not_scalar_text", "stale_text",
    "unused_text",
]  # fmt: skip

_PAD = " " * 15


def _place(code: Any, lasti: int) -> str:
    return picture(code, lasti, _PAD)


# ------------------------------------------------------------------------------------------ changed after saving


def stale_text(node: Node | None, value: Any, store: Store | None, expected: int, maker: Any = None) -> str:
    """A value that `node` saved was changed since. `value`: the tensor, or the array of an output of `maker`."""
    raw = value.raw if isinstance(value, Tensor) else value
    is_input = isinstance(value, Tensor) and value.store is store  # else an output, at the level of a transform or not
    made = value.edge if is_input else maker or node
    found = store.version if store is not None else 0
    lines = [
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{_legacy_type(raw)} {list(raw.shape)}]{_origin(made)} is at version {found}; expected "
        f"version {expected} instead. Hint: see below what saved the value and what changed it."
    ]
    name = called_here(lambda v: v is value or (isinstance(v, Tensor) and v.raw is (raw if is_input else value)))
    saver = "a custom Function" if node is None else f"{node.name()}, at {_place(node.code, node.lasti)}"
    lines.append(f"  saved:   {f'{name}, ' if name else ''}by {saver}")
    if store is not None:
        several = found - expected > 1
        times = f"{found - expected} times since, last " if several else ""
        lines.append(f"  changed: {times}by {_culprit(store)}, at {_place(store.code, store.lasti)}")
        way = _way_out(value, store, name)
        lines.append(f"  fix:     {way}{'; and likewise where it was changed before' if several else ''}")
    return "\n".join(lines)


def _origin(made: Any) -> str:
    """`, which is output 0 of Exp,` where a recorded op made the value."""
    source = node_of(made)
    if not isinstance(source, Node) or isinstance(source, AccumulateGrad):
        return ""
    return f", which is output {made.index if made.__class__ is Port else 0} of {forward_name(source)},"


def _culprit(store: Store) -> str:
    if is_item_assignment(store.code, store.lasti):
        return "an assignment to a part of it"
    return store.op.replace("_at_", "_") or "an in-place operation"


_OVERWRITES = frozenset(("copy_", "fill_", "zero_", "index_put_", "masked_fill_", "set_"))
_IN_MODULES = frozenset(("dropout_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_", "silu_"))
_SIGNS = {"add_": "+", "sub_": "-", "mul_": "*", "div_": "/", "pow_": "**", "floor_divide_": "//"}


def _way_out(value: Any, store: Store, name: str | None) -> str:
    """One fix, for what changed the value."""
    what = name if name is not None and name.isidentifier() else "y"
    if store.op.endswith(".step") or (isinstance(value, Tensor) and value.edge is LEAF):
        return "call backward before this change, or run the forward again after it"
    if store.op.endswith("out="):
        return "give the result a tensor of its own: no out="
    if store.op in _OVERWRITES or is_item_assignment(store.code, store.lasti):
        return f"change a copy: {what} = {what}.clone() before that line, and before any view of {what} that it changes"
    sign = _SIGNS.get(store.op)
    if sign is not None:
        return f"make a new tensor: {what} = {what} {sign} ..., not {what} {sign}= ... or {store.op}(...)"
    inplace = " (inplace=False in a module)" if store.op in _IN_MODULES else ""
    return f"make a new tensor: {store.op.rstrip('_') or 'the op'} in place of {store.op}{inplace}"


def forward_name(node: Node) -> str:
    """`Exp` for ExpBackward0, `Sum1` for SumBackward1, `MyFn` for MyFnBackward."""
    stem, _, variant = node.name().rpartition("Backward")
    return stem + variant.removeprefix("0") if stem else node.name()


_LEGACY = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int",
           "int16": "Short", "int8": "Char", "uint8": "Byte"}  # fmt: skip


def _legacy_type(raw: Any) -> str:
    dtype = raw.dtype if isinstance(raw, Tensor) else OF_NUMPY[raw.dtype]
    return _LEGACY.get(dtype.name, dtype.title) + ("Type" if dtype.name == "bool" else "Tensor")


# ------------------------------------------------------------------------------------------------ used a second time

_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def freed(node: Node, mark: Freed) -> NoReturn:
    """Backward through values that are gone."""
    task = running.task
    raise FreedError(_freed_text(node, mark, None if task is None else task.edges))


def _freed_text(node: Node, mark: Freed, roots: Any) -> str:
    """The saved values of `node` are gone. `roots`: the edges the pass began with that needs them, None outside one."""
    name = called_here(lambda v: isinstance(v, Tensor) and v.edge is not None and node_of(v.edge) is node)
    what = f"{name}, " if name else ""
    lines = [_TWICE, f"  shared:  {what}the output of {node.name()}, computed at {_place(node.code, node.lasti)}"]
    if mark.code is not None:
        lines.append(f"  freed:   by the backward at {_place(mark.code, mark.lasti)}")
    lines.append(f"  fix:     {_why_twice(node, mark, roots)}")
    return "\n".join(lines)


def _why_twice(node: Node, mark: Freed, roots: Any) -> str:
    """Which of the usual ways led here, and its way out."""
    if roots is None:
        return "read what was saved before backward, or keep it: backward(retain_graph=True)"
    again = here_in_user_code() == (mark.code, mark.lasti)
    if again and _made_again(node, roots):
        return "one step of the loop reaches into the one before: detach() what is carried over, h = h.detach()"
    if again:
        return (
            "it was computed once, and backward ran over it again: compute it anew each time, "
            "or add the losses up first"
        )
    if any(e is not None and node_of(e).key == mark.root for e in roots):
        return "this is the same loss again: call backward once, or backward(retain_graph=True) the first time"
    return "two losses share this: (a + b).backward() once; or detach() it in the one that should not reach behind it"


def _made_again(node: Node, roots: Any) -> bool:
    """Did the line that made `node` make a younger node of this graph as well?"""
    todo, seen = [node_of(e) for e in roots if e is not None], set()
    while todo:
        other = todo.pop()
        if other in seen or other.key > node.key:  # keys fall: what is older cannot be it
            continue
        seen.add(other)
        if other is not node and (other.code, other.lasti) == (node.code, node.lasti):
            return True
        todo.extend(node_of(e) for e in other.edges if e is not None)
    return False


# ----------------------------------------------------------------------------------------------------- cut off


def detached_text(t: Any, phrase: str, where: str = "") -> str:
    """No gradient flows to `t`: why, where, and one fix. `where` the caller gave it."""
    cut = t.cut if isinstance(t, Tensor) else None
    if where:
        phrase += f"\n  which:   {_named(t, where)}"
    if cut is not None:
        what, fix = told(cut)
        return f"{phrase}\n  cut:     {what}{_at(cut)}\n  fix:     {fix}"
    if isinstance(t, Tensor) and t.dtype.category < FLOAT:
        phrase += f"\n  why:     its dtype is {t.dtype}: only floating point and complex tensors have gradients"
        return phrase + "\n  fix:     compute it from floating point numbers: 1.0 for 1, or dtype=torch.float32"
    if where:
        return phrase + "\n  fix:     set requires_grad=True on it, before the forward"
    phrase += "\n  why:     nothing it was computed from requires a gradient"
    left = last_exit()
    if left is None or left.code is None or left.code.co_filename != here_in_user_code()[0].co_filename:
        return phrase + "\n  fix:     set requires_grad=True on what it is to be differentiated by, before the forward"
    what, fix = told(left)
    return f"{phrase}\n  perhaps: {what}{_at(left)}\n  fix:     {fix}; or set requires_grad=True before the forward"


def _at(cut: Cut) -> str:
    return "" if cut.code is None else f", at {_place(cut.code, cut.lasti)}"


def _named(t: Any, where: str) -> str:
    name = called_here(lambda v: v is t)
    return where if name is None else f"{name} ({where})"


# ---------------------------------------------------------------------------------------- asked in the wrong place


def unused_text(at: int, t: Any, edge: Any, roots: list[Any]) -> str:
    """The outputs were not computed from `t`: why, as far as the graph tells, and one fix."""
    lines = [
        f"The differentiated Tensor at index {at} appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior.",
        f"  which:   {_named(t, f'inputs[{at}]')}",
    ]
    node = node_of(edge)
    if isinstance(node, AccumulateGrad) or node.key > max(node_of(e).key for e in roots):
        lines.append("  fix:     compute the outputs from it, or expect None: allow_unused=True")
        return "\n".join(lines)
    made = f"by {node.name()} at {_place(node.code, node.lasti)}" if node.code is not None else "later"
    lines.append(f"  why:     it was made {made}\n{_PAD[:11]}after the outputs, so they were not computed from it")
    lines.append("  fix:     differentiate by the tensor that the outputs were computed from, or make this one first")
    return "\n".join(lines)


def not_scalar_text(t: Any, shape: tuple[int, ...]) -> str:
    """What to do with an output of several elements."""
    name = called_here(lambda v: v is t) or "the output"
    return (
        f"grad can be implicitly created only for scalar outputs\n  why:     {name} has the shape {list(shape)}\n"
        "  fix:     reduce it (.sum(), .mean()), or give a gradient of that shape: backward(torch.ones_like(...))"
    )


def inference_text(t: Tensor, phrase: str) -> str:
    """A tensor made in inference mode is where only normal ones may be."""
    name = called_here(lambda v: v is t)
    assert t.store is not None
    where = f"{name + ', ' if name else ''}made in inference mode, at {_place(t.store.code, t.store.lasti)}"
    return f"{phrase}\n  which:   {where}\n  fix:     make it in no_grad instead, or use {name or 'it'}.clone()"


def leaf_text(t: Tensor, phrase: str) -> str:
    """A leaf may not be changed in place while that is recorded: what to do instead."""
    name = called_here(lambda v: v is t) or "x"
    return (
        f"{phrase}\n  fix:     to update it, write inside `with torch.no_grad():`; "
        f"to compute with it, change {name}.clone() instead"
    )
