"""The state around a call: grad mode, interpreters, hooks. One record per thread and task, replaced, never mutated.

Two lists tell the fast path that nothing is unusual, without a look at the thread's record (10 ns instead of 35).
`LISTENING` is empty unless some thread's record differs from the default in more than the grad mode: then calls go
through the door. `QUIET` is empty unless some thread turned recording off: then whoever is about to record asks its own
record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Ambient", "DEFAULT", "LISTENING", "NO_GRAD", "QUIET", "here", "put", "swapped", "without_grad"]


class Ambient:
    """What a call may depend on besides its arguments."""

    __slots__ = (
        "anomaly",  # None, or the check_nan flag of detect_anomaly
        "dispatch",  # stack of TorchDispatchMode objects, innermost last
        "dual",  # depth of forward-mode levels opened with dual_level; -1 when none
        "forward_grad",  # may forward mode record tangents?
        "functions_off",  # 0 normal, 1 subclasses' __torch_function__ are ignored, 2 modes are too
        "grad",  # may reverse mode record nodes?
        "hooks",  # stack of (pack, unpack) for saved values, innermost last; a str entry forbids saving
        "inference",  # are new tensors inference tensors?
        "modes",  # stack of TorchFunctionMode objects, innermost last
        "stack",  # stack of interpreters, innermost last
    )

    anomaly: bool | None
    dispatch: tuple[Any, ...]
    dual: int
    forward_grad: bool
    functions_off: int
    grad: bool
    hooks: tuple[Any, ...]
    inference: bool
    modes: tuple[Any, ...]
    stack: tuple[Any, ...]

    def but(self, **changes: Any) -> Ambient:
        """A copy with some fields changed; one of the two common records if it equals it."""
        copy = _new(Ambient)
        copy.anomaly, copy.dual, copy.forward_grad = self.anomaly, self.dual, self.forward_grad
        copy.dispatch = self.dispatch
        copy.functions_off, copy.grad, copy.hooks = self.functions_off, self.grad, self.hooks
        copy.inference, copy.modes, copy.stack = self.inference, self.modes, self.stack
        for name, value in changes.items():
            setattr(copy, name, value)
        if copy.stack or copy.hooks or copy.modes or copy.dual >= 0 or copy.anomaly is not None:
            return copy
        if copy.inference or copy.functions_off or copy.dispatch or not copy.forward_grad:
            return copy
        return DEFAULT if copy.grad else NO_GRAD


_new = object.__new__


def _plain(grad: bool) -> Ambient:
    record = _new(Ambient)
    record.anomaly, record.dual, record.forward_grad, record.functions_off = None, -1, True, 0
    record.grad, record.hooks, record.inference, record.modes, record.stack = grad, (), False, (), ()
    record.dispatch = ()
    return record


DEFAULT, NO_GRAD = _plain(True), _plain(False)
LISTENING: list[None] = []
QUIET: list[None] = []
_record: ContextVar[Ambient] = ContextVar("chainrule", default=DEFAULT)
here = _record.get


def put(record: Ambient) -> Ambient:
    """Make `record` this thread's state; return the one it replaces."""
    before = here()
    if before is record:
        return before
    _count(LISTENING, before is DEFAULT or before is NO_GRAD, record is DEFAULT or record is NO_GRAD)
    _count(QUIET, before.grad, record.grad)
    _record.set(record)
    return before


def without_grad() -> Ambient:
    """Stop recording; return the record to put back."""
    before = here()
    return put(NO_GRAD if before is DEFAULT or before is NO_GRAD else before.but(grad=False))


def _count(marks: list[None], was_usual: bool, is_usual: bool) -> None:
    """One mark per thread whose record is unusual."""
    if was_usual is not is_usual:
        if is_usual:
            marks.pop()
        else:
            marks.append(None)


@contextmanager
def swapped(**changes: Any) -> Iterator[None]:
    """Run a block under a changed record."""
    before = put(here().but(**changes))
    try:
        yield
    finally:
        put(before)
