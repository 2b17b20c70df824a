"""Where gradients end: notes of the first place on a tensor's path where its graph was cut.

A tensor that wants no gradient, though what it was made of did, carries a `Cut` and passes it on to what is made of it.
A value that leaves as a Python number or a NumPy array carries nothing. So its leaving is noted here by its value, and
a tensor that is made of a number that left is known by it again.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from chainrule.core.op import REGISTRY
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import Cut, Tensor

__all__ = [
    "EXITS", "cut_here", "cut_of", "known", "last_exit", "leaves", "passes_on", "returns", "told", "written_behind",
]  # fmt: skip


def cut_here(how: str) -> Cut:
    """A note of why no gradient flows past this point, with the user's line."""
    return Cut(how, *here_in_user_code())


def cut_of(t: Tensor, how: str) -> Cut | None:
    """The cut of something made of `t` that no gradient flows through: an earlier one, or the one made here."""
    return cut_here(how) if t.edge is not None else t.cut


def passes_on(cut: Cut | None, target: Tensor) -> None:
    """What is written into a tensor, and into its base, brings its cut along."""
    whole = target if target.viewed is None else target.viewed.base
    if cut is not None and whole.edge is None:
        target.cut = whole.cut = cut


# What cut the graph -> (how it is told, one fix). Anything else is the name of an op that has no derivative.
_WAYS = {
    ".data": ("by .data", "use the tensor itself where the gradient should flow through"),
    "array": ("by a NumPy array made of it: arrays have no history", "compute it with tensors"),
    "copy": ("by a copy of its values", "use the tensor itself; torch.stack makes one tensor of several"),
    "detach": ("by detach()", "leave out the detach() where the gradient should flow through"),
    "grad": ("a gradient itself has no history", "pass create_graph=True to the grad or backward that computed it"),
    "inference_mode": ("by inference_mode: gradients were off there", "compute it where gradients are on"),
    "integers": ("by a result that is not of a floating point dtype", "keep it floating point up to the loss"),
    "linear": (
        "a constant gradient: what was differentiated is linear",
        "its derivative is zero everywhere; autograd.functional.hessian gives such zeros",
    ),
    "mark_non_differentiable": ("by ctx.mark_non_differentiable()", "do not mark that output"),
    "no_grad": ("by no_grad: gradients were off there", "compute it where gradients are on"),
    "number": ("by a Python number made of it: numbers have no history", "keep it a tensor; .item() is for printing"),
    "requires_grad": ("requires_grad was set to False", "call requires_grad_() on it before the forward"),
}  # fmt: skip
_COMPARISONS = frozenset(("eq", "ge", "gt", "isclose", "le", "logical_and", "logical_not", "logical_or", "lt", "ne"))


def told(cut: Cut) -> tuple[str, str]:
    """What cut the graph, and one fix."""
    if cut.how in _WAYS:
        return _WAYS[cut.how]
    name, _, other = cut.how.partition(" ")
    if other and "indices" not in (REGISTRY[name].outs or ()):
        return f"by {name.lstrip('_')}: this output of it has no derivative", "use the output that has one"
    if other or name.startswith("arg") or name == "multinomial":
        what = f"by {name}: " + ("its indices have no derivative" if other else "an index has no derivative")
        return what, "choose softly: softmax, or the values instead of the indices"
    fix = "measure instead of comparing: a difference, relu, sigmoid" if name in _COMPARISONS else "use one that has"
    return f"by {name}, which has no derivative", fix


# ------------------------------------------------------------------------------------------------ out and in again


EXITS: dict[float, Cut] = {}  # numbers that left lately -> the cut they took with them
_ENOUGH = 64


class _Last(threading.local):
    cut: Cut | None = None


_last = _Last()


def leaves(t: Tensor, how: str, raw: Any) -> None:
    """The values of `raw` leave the graph of `t` as Python numbers or as an array."""
    cut = cut_of(t, how)
    if cut is None or raw.dtype.kind != "f" or not raw.size:
        return
    _last.cut = cut
    if len(EXITS) >= _ENOUGH:
        EXITS.clear()
    EXITS[raw.item(0)] = cut
    if raw.size > 1:
        EXITS[raw.item(raw.size - 1)] = cut
    if raw.dtype.itemsize == 8:
        EXITS[float(raw.astype(np.float32).item(0))] = cut  # it comes back as the default dtype


def written_behind(t: Tensor) -> None:
    """Whatever is written into the `.data` of a tensor without history, the tensor itself will not know of it."""
    if t.edge is None:
        _last.cut = cut_here(".data")


def returns(raw: Any) -> Cut | None:
    """The cut of a new tensor, if its first or last element is a number that left a graph."""
    if raw.dtype.kind != "f" or not raw.size:
        return None
    return known(raw.item(0)) or known(raw.item(raw.size - 1))


def known(value: float) -> Cut | None:
    """The cut that a number took with it. Numbers like 0.5 or 3.0 may come from anywhere, and tell nothing."""
    cut = EXITS.get(value)
    return cut if cut is not None and (value * 1024) % 1 and (value * 1000) % 1 else None


def last_exit() -> Cut | None:
    """The last cut of this thread through which a value left, or may have come in."""
    return _last.cut
