"""The state around a call: grad mode, interpreters, hooks. One record per thread, replaced, never mutated.

Per thread, not per context (`contextvars`): a notebook runs each cell in a copy of the context, and what a cell sets
must hold in the next one. So a new thread, `asyncio.to_thread` too, begins with gradients on.

Two lists tell the fast path that nothing is unusual, without a look at the thread's record (10 ns instead of 35).
`LISTENING` is empty unless some thread's record differs from the default in more than the grad mode: then calls go
through the door. `QUIET` is empty unless some thread turned recording off: then whoever is about to record asks its own
record.
"""

from __future__ import annotations

import threading
from typing import Any

__all__ = [
    "Ambient", "DEFAULT", "LISTENING", "NO_GRAD", "QUIET", "THREAD", "here", "leave", "put", "swapped", "under",
    "without_grad",
]  # fmt: skip


class Ambient:
    """What a call may depend on besides its arguments."""

    __slots__ = (
        "allowed",  # was recording asked for? `grad`, but for inference mode, which never records
        "anomaly",  # None, or the check_nan flag of detect_anomaly
        "autocast",  # None, or the 16-bit float dtype that autocast computes in
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

    allowed: bool
    anomaly: bool | None
    autocast: Any
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
        copy.autocast, copy.dispatch = self.autocast, self.dispatch
        copy.functions_off, copy.grad, copy.hooks = self.functions_off, self.grad, self.hooks
        copy.inference, copy.modes, copy.stack = self.inference, self.modes, self.stack
        for name, value in changes.items():
            setattr(copy, name, value)
        copy.allowed = changes.get("grad", self.allowed)
        copy.grad = copy.allowed and not copy.inference
        if copy.stack or copy.hooks or copy.modes or copy.dual >= 0 or copy.anomaly is not None:
            return copy
        if copy.inference or copy.functions_off or copy.dispatch or not copy.forward_grad or copy.autocast is not None:
            return copy
        return DEFAULT if copy.grad else NO_GRAD


_new = object.__new__


def _plain(grad: bool) -> Ambient:
    record = _new(Ambient)
    record.anomaly, record.dual, record.forward_grad, record.functions_off = None, -1, True, 0
    record.allowed = grad
    record.grad, record.hooks, record.inference, record.modes, record.stack = grad, (), False, (), ()
    record.dispatch, record.autocast = (), None
    return record


DEFAULT, NO_GRAD = _plain(True), _plain(False)
LISTENING: list[None] = []
QUIET: list[None] = []


class _End:
    """Ends with its thread, and takes the thread's marks along."""

    __slots__ = ("record",)

    def __init__(self) -> None:
        self.record = DEFAULT

    def __del__(self) -> None:
        if not _usual(self.record):
            del LISTENING[-1]
        if not self.record.grad:
            del QUIET[-1]


class _Thread(threading.local):
    record = DEFAULT

    def __init__(self) -> None:
        self.end = _End()


THREAD = _Thread()


def here() -> Ambient:
    """This thread's state."""
    return THREAD.record


def put(record: Ambient) -> Ambient:
    """Make `record` this thread's state; return the one it replaces.

    Ctrl-C is heard where a function begins and where a call returns. Here nothing is called, so it strikes before
    everything or not at all.
    """
    before = THREAD.record
    if before is record:
        return before
    was, usual = before is DEFAULT or before is NO_GRAD, record is DEFAULT or record is NO_GRAD
    if was and not usual:
        LISTENING[:0] = _MARK
    if before.grad and not record.grad:
        QUIET[:0] = _MARK
    THREAD.record = THREAD.end.record = record
    if usual and not was:
        del LISTENING[-1]
    if record.grad and not before.grad:
        del QUIET[-1]
    return before


_MARK = (None,)


def _usual(record: Ambient) -> bool:
    return record is DEFAULT or record is NO_GRAD


def without_grad() -> Ambient:
    """Stop recording; return the record to put back."""
    before = here()
    return put(NO_GRAD if _usual(before) else before.but(grad=False))


def leave(inside: Ambient, stack: str) -> None:
    """Take the innermost entry off one of the stacks of `inside`: "dispatch", "hooks", "modes"."""
    put(inside.but(**{stack: getattr(inside, stack)[:-1]}))


class under:
    """Run a block under an ambient record.

    No generator: where Ctrl-C strikes as one is entered, its end comes when it is collected, after the blocks around it
    have put back what was there before them.
    """

    __slots__ = ("_before", "_record")

    def __init__(self, record: Ambient) -> None:
        self._record = record

    def __enter__(self) -> Any:
        self._before = put(self._record)

    def __exit__(self, *exc: object) -> None:
        try:
            put(self._before)
        except BaseException:  # Ctrl-C, just then
            put(self._before)
            raise


def swapped(**changes: Any) -> under:
    """Run a block under a changed record."""
    return under(here().but(**changes))
