"""The state around a call: grad mode, interpreters, hooks. One record per thread and task, replaced, never mutated.

`LISTENING` is how the fast path learns that nothing is unusual: it is empty unless some thread's record differs from
the default. An op looks at it first (10 ns), and only if it is not empty reads its own thread's record (25 ns more).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Ambient", "DEFAULT", "LISTENING", "here", "put", "swapped"]


class Ambient:
    """What a call may depend on besides its arguments."""

    __slots__ = (
        "anomaly",  # None, or the check_nan flag of detect_anomaly
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
    dual: int
    forward_grad: bool
    functions_off: int
    grad: bool
    hooks: tuple[Any, ...]
    inference: bool
    modes: tuple[Any, ...]
    stack: tuple[Any, ...]

    def but(self, **changes: Any) -> Ambient:
        """A copy with some fields changed; the default record itself if nothing differs from it any more."""
        copy = object.__new__(Ambient)
        for name in Ambient.__slots__:
            setattr(copy, name, changes[name] if name in changes else getattr(self, name))
        return DEFAULT if all(getattr(copy, n) == getattr(DEFAULT, n) for n in Ambient.__slots__) else copy


def _default() -> Ambient:
    record = object.__new__(Ambient)
    record.anomaly, record.dual, record.forward_grad, record.functions_off = None, -1, True, 0
    record.grad, record.hooks, record.inference, record.modes, record.stack = True, (), False, (), ()
    return record


DEFAULT = _default()
LISTENING: list[None] = []
_record: ContextVar[Ambient] = ContextVar("chainrule", default=DEFAULT)
here = _record.get


def put(record: Ambient) -> Ambient:
    """Make `record` this thread's state; return the one it replaces."""
    before = here()
    if (before is DEFAULT) is not (record is DEFAULT):
        if record is DEFAULT:
            LISTENING.pop()
        else:
            LISTENING.append(None)
    _record.set(record)
    return before


@contextmanager
def swapped(**changes: Any) -> Iterator[None]:
    """Run a block under a changed record."""
    before = put(here().but(**changes))
    try:
        yield
    finally:
        put(before)
