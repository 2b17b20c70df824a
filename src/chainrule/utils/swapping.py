"""Two tensors that trade places: whoever held one of them holds what the other was."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from chainrule.autograd.node import AccumulateGrad, Node, poison_accumulator
from chainrule.autograd.saved import SavedTensor
from chainrule.core.tensor import Tensor, View

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange class, attributes, memory and history of two tensors. What a graph or a view holds is refused."""
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots(t1) != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, t in (("t1", t1), ("t2", t2)):
        if _is_held(t):
            raise RuntimeError(
                f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node: a view of it, or a graph that "
                "saved it, holds it; make sure you are not holding references to the tensor in other places."
            )
    for t in (t1, t2):
        poison_accumulator(t)
    first, second = _record(t1), _record(t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    _become(t1, second)
    _become(t2, first)


def _slots(t: Tensor) -> set[Any]:
    return {name for kind in type(t).__mro__ for name in getattr(kind, "__slots__", ())}


def _is_held(t: Tensor) -> bool:
    """Does a view, or a node other than the leaf's own, refer to this tensor?"""
    holders = gc.get_referrers(t)
    lists = [h for h in holders if isinstance(h, tuple)]
    behind = [h for each in lists for h in gc.get_referrers(each)]
    holders = [h for h in (*holders, *behind) if isinstance(h, (View, SavedTensor, Node))]
    return any([not isinstance(h, AccumulateGrad) for h in holders])


def _record(t: Tensor) -> dict[str, Any]:
    own = [n for n in _slots(t) if n not in ("__dict__", "__weakref__") and hasattr(t, n)]
    return {**{n: getattr(t, n) for n in own}, "__dict__": t.__dict__}


def _become(t: Tensor, record: dict[str, Any]) -> None:
    for name, value in record.items():
        setattr(t, name, value)
