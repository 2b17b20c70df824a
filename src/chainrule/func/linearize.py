"""`linearize`: run a function once, keep its derivative as a recorded linear program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.tree import tree_flatten, tree_unflatten
from chainrule.func.forward import jvp_of
from chainrule.func.interpreters import Trace

__all__ = ["linearize"]


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`func(*primals)`, and the function that pushes tangents through the derivative there: `func` runs once."""
    flat, spec = tree_flatten(primals)
    tangents = [x.new_zeros(x.shape) for x in flat]
    trace = Trace()
    with trace.entered():
        all_of_them = (primals, tuple(range(len(primals))))
        value, pushed = jvp_of(func, primals, tree_unflatten(tangents, spec), all_of_them, False, False)
    outs, out_spec = tree_flatten(pushed)

    def push(*given: Any) -> Any:
        ts, given_spec = tree_flatten(given)
        _check(flat, spec, ts, given_spec)
        found = trace.replay(tuple(tangents), tuple(ts), tuple(outs), cut=True)  # the point is a constant
        return tree_unflatten(list(found), out_spec)

    return value, push


def _check(flat: list[Any], spec: Any, ts: list[Any], given: Any) -> None:
    if given != spec:
        raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
    for at, (x, t) in enumerate(zip(flat, ts)):
        for fact in ("shape", "device", "dtype"):
            got, want = getattr(t, fact), getattr(x, fact)
            if got != want:
                raise RuntimeError(
                    f"tangent:{at} with {fact} {got} in flattened pytree doesn't match the {fact} {want} of the "
                    "corresponding primal."
                )
