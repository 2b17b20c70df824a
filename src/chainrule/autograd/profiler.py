"""How long named blocks take: `record_function` marks them, `profile` collects them.

Ops are not recorded one by one; the tools of `chainrule.inspect` do that.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["FunctionEvent", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]


class FunctionEvent:
    """One run of a named block, in microseconds."""

    __slots__ = ("count", "cpu_time_total", "name", "start", "thread")

    def __init__(self, name: str, start: float, cpu_time_total: float, count: int = 1) -> None:
        self.name, self.start, self.cpu_time_total, self.count = name, start, cpu_time_total, count
        self.thread = threading.get_ident()

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time:.3f}us count={self.count}>"


class EventList(list[FunctionEvent]):
    """Events, and their table."""

    def key_averages(self) -> EventList:
        """One event per name, times added up."""
        found: dict[str, FunctionEvent] = {}
        for e in self:
            if e.name in found:
                found[e.name].cpu_time_total += e.cpu_time_total
                found[e.name].count += e.count
            else:
                found[e.name] = FunctionEvent(e.name, e.start, e.cpu_time_total, e.count)
        return EventList(found.values())

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        return FunctionEvent("Total", 0.0, sum(e.cpu_time_total for e in self), max(len(self), 1))

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """Name, total time, mean time and number of calls of each event."""
        rows = sorted(self, key=lambda e: -getattr(e, sort_by)) if sort_by else list(self)
        width = max([4, *(len(e.name) for e in rows[:row_limit])])
        head = f"{'Name':<{width}}  {'CPU total':>12}  {'CPU time avg':>12}  {'# of Calls':>10}"
        lines = [
            f"{e.name:<{width}}  {e.cpu_time_total:>10.3f}us  {e.cpu_time:>10.3f}us  {e.count:>10}"
            for e in rows[:row_limit]
        ]
        return "\n".join([head, "-" * len(head), *lines])


_open: list[profile] = []


class profile:
    """Collects the named blocks that run inside: `with profile() as p: ...; p.key_averages().table()`."""

    def __init__(self, enabled: bool = True, *, use_cpu: bool = True, **options: Any) -> None:
        unknown = [name for name, value in options.items() if value]
        if unknown:
            raise NotImplementedError(f"profile: {', '.join(unknown)}")
        self.enabled, self.use_cpu = enabled, use_cpu
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if self in _open:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.function_events = EventList()
            _open.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            _open.remove(self)

    def __iter__(self) -> Any:
        return iter(self.function_events or ())

    def key_averages(self) -> EventList:
        """One event per name."""
        return self._events().key_averages()

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        return self._events().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """The events as text."""
        return self._events().table(sort_by, row_limit)

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events


class record_function:
    """Names a block, or the calls of a function, for the profiles that are open."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        if _open:
            took = (time.perf_counter() - self._start) * 1e6
            for p in _open:
                if p.function_events is not None:
                    p.function_events.append(FunctionEvent(self.name, self._start, took))

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)

        return inside


class _NoTool:
    """A block for a tool of another maker's machine: there is none here, so it refuses when enabled."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        if enabled:
            raise NotImplementedError(f"{type(self).__name__}: there is no such tool to send ranges to")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class emit_nvtx(_NoTool):
    """Ranges for NVIDIA's tools."""


class emit_itt(_NoTool):
    """Ranges for Intel's tools."""


def kineto_available() -> bool:
    """Is there a profiler of the devices? PyTorch's, written in C++, is not part of this package."""
    return False
