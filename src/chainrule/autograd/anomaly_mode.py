"""Anomaly mode: every node keeps the whole stack that recorded it, and a backward that makes a NaN raises.

Lines are kept always (`node.code`, `node.lasti`); this mode adds the calls that led to them, which costs far
more.
"""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

from chainrule.autograd.hooks import check_nan
from chainrule.autograd.node import Node
from chainrule.core.ambient import here, put
from chainrule.core.notices import warn

__all__ = [
    "detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "remember", "set_detect_anomaly", "watched",
]  # fmt: skip


class _Pulling(threading.local):
    """The node whose backward this thread runs: what is recorded meanwhile was induced by it."""

    node: Node | None = None


_pulling = _Pulling()


def remember(node: Node) -> None:
    """Keep, with a node that was just recorded, the calls that led here and the node that induced it."""
    node.metadata["traceback_"] = traceback.format_stack()
    if _pulling.node is not None:
        node.metadata["parent_"] = _pulling.node


def watched(node: Node, g: Any, tensors: bool) -> Any:
    """Pull `g` through a node; report where it was recorded if that fails or makes a NaN."""
    before, _pulling.node = _pulling.node, node
    try:
        gs = node.pull_graph(g) if tensors else node.pull(g)
        if here().anomaly:
            check_nan(node, gs)
        return gs
    except Exception:
        _report(node)
        raise
    finally:
        _pulling.node = before


def _report(node: Node) -> None:
    """Warn with the stack of the forward call, and of those that induced it."""
    stack = node.metadata.get("traceback_")
    if stack is None:
        return _warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly "
            "during forward pass for more information."
        )
    _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}")
    while (parent := node.metadata.get("parent_")) is not None:
        node, stack = parent, parent.metadata.get("traceback_")
        if stack is None:
            return _warn(
                f"\n\nPrevious calculation was induced by {node.name()}. No forward pass information available."
            )
        _warn(
            f"\n\nPrevious calculation was induced by {node.name()}. Traceback of forward call that induced "
            f"the previous calculation:\n{''.join(stack)}"
        )
    return None


def _warn(text: str) -> None:
    """Warn; where warnings are errors, write: the error that is being reported must not be lost."""
    try:
        warn(text)
    except UserWarning:
        print(f"Warning: {text}", file=sys.stderr)


class detect_anomaly:
    """Turn the mode on for a block: `with detect_anomaly():`."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
        )

    def __enter__(self) -> None:
        self._before = put(here().but(anomaly=self.check_nan))

    def __exit__(self, *exc: object) -> None:
        try:
            put(here().but(anomaly=self._before.anomaly))
        except BaseException:  # Ctrl-C, just then
            put(here().but(anomaly=self._before.anomaly))
            raise


class set_detect_anomaly:
    """Turn the mode on or off: at once as a function, until the end of the block as a context manager."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = put(here().but(anomaly=check_nan if mode else None))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        try:
            put(here().but(anomaly=self._before.anomaly))
        except BaseException:  # Ctrl-C, just then
            put(here().but(anomaly=self._before.anomaly))
            raise


def is_anomaly_enabled() -> bool:
    """Is anomaly mode on?"""
    return here().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Does anomaly mode look for NaN?"""
    return here().anomaly is not False
