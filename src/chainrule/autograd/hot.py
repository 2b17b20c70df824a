"""Programs that run for a while get machine code for the arithmetic of their ops.

Once a program has recorded `settings.machine_code_after` nodes, the pass after the next calls `promote`: what was
generated for ops is generated again on its next call, with one kernel (`backends.cpu.machine`) in place of a formula's
NumPy calls. Kernels are made from the formulas that are declared, and compute the same bits. A program that ends
earlier never loads a compiler; without one nothing changes but speed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from chainrule.autograd.inline import Steps, formula, in_kernels
from chainrule.autograd.node import node_of
from chainrule.backends import cpu
from chainrule.config import settings

__all__ = ["RENEWED", "SUMS", "is_hot", "kernel_for", "kernels_in", "look", "promote", "waits"]

SUMS: list[Callable[[Any, Any], Any]] = [operator.add, operator.iadd]  # how the engine adds up arrays
RENEWED: list[Callable[[], None]] = []  # what is told when code should be generated again
waits = [True]  # until the first promotion, successful or not
_recorded = [0.0]  # how many nodes there were when the last pass began
_machine: list[Any] = []  # the module, once it is loaded
_lock = Lock()


def is_hot() -> bool:
    """Do kernels take part by now?"""
    return bool(_machine)


def promote() -> None:
    """Take kernels from now on, if there is a compiler and memory is laid out as it expects."""
    with _lock:
        if not waits:
            return
        waits.clear()
        try:
            machine = cpu.machine
        except Exception:  # a compiler that does not work here is no reason for a backward pass to fail
            return
        _machine.append(machine)
        SUMS[:] = machine.kernel(("add", ("x", 0), ("x", 1)), 2), machine.add_into
    for renew in RENEWED:
        renew()


def look(edges: Sequence[Any]) -> None:
    """Promote if the pass before this one was late enough: a program of one great pass gains nothing by it.

    A graph's last node knows how many were recorded before it."""
    limit = settings.machine_code_after
    if limit is None or not edges or edges[0] is None:
        return
    if _recorded[0] >= limit:
        promote()
    _recorded[0] = -node_of(edges[0]).key


def kernels_in(fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str]) -> Steps | None:
    """What `fn` computes in steps, some of which are kernels; None before it is time."""
    return in_kernels(fn, names, arrays, _machine[0].array_kernel) if _machine else None


def kernel_for(fn: Callable[..., Any], names: Sequence[str], arrays: Sequence[str], fixed: Any = None) -> Any:
    """A kernel for what `fn` computes from the arguments called `names`, and which of `arrays` it takes; or None."""
    found = formula(fn, names, arrays, fixed or {}) if _machine else None
    if found is None:
        return None
    tree, used = found
    return _machine[0].kernel(tree, len(used), _whole(fn, names, used)), used


def _whole(fn: Callable[..., Any], names: Sequence[str], used: Sequence[str]) -> Callable[..., Any] | None:
    """`fn` as a function of the arguments it uses: what a kernel does not take, tensors of a transform say, goes there.

    The forward of an op meets arrays alone, for which operators will do.
    """
    if names[0] == "xp":
        return None
    if list(names) == list(used):
        return fn
    given = ", ".join(n if n in used else "None" for n in names)
    made: Callable[..., Any] = eval(f"lambda {', '.join(used)}: fn({given})", {"fn": fn})
    return made
