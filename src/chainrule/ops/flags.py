"""Switches of the process that programs set and ask for. Results here do not depend on thread timing: who asks for
deterministic algorithms is refused only what PyTorch refuses (core.notices)."""

from __future__ import annotations

import os
from typing import Any

from chainrule.config import settings
from chainrule.core.notices import is_warn_always_enabled, set_warn_always
from chainrule.core.public import spell

__all__ = ["set_fill_uninitialized_memory"]


class _Flags:
    __slots__ = ("interop", "threads")

    def __init__(self) -> None:
        self.threads = self.interop = int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1


_flags = _Flags()


def _set(mode: int, fill: bool) -> None:
    settings.deterministic, settings.fill_memory = mode, fill
    settings.fills_memory = settings.deterministic > 0 and fill


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms whose results are the same in every run: all here are. New memory is then filled."""
    given: Any
    for name, given, place in (("mode", mode, " (position 1)"), ("warn_only", warn_only, "")):
        if not isinstance(given, bool):
            kind = type(given).__name__
            raise TypeError(f"_set_deterministic_algorithms(): argument '{name}'{place} must be bool, not {kind}")
    _warn_only[0] = warn_only
    _set(0 if not mode else 1 if warn_only else 2, settings.fill_memory)


_warn_only = [False]


def are_deterministic_algorithms_enabled() -> bool:
    """Were deterministic algorithms asked for?"""
    return settings.deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Were they asked for with `warn_only`?"""
    return _warn_only[0]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same switch by number or word: 0 "default", 1 "warn", 2 "error"."""
    words = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in words:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    mode = words[debug_mode] if isinstance(debug_mode, str) else int(debug_mode)
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return settings.deterministic


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """For functions that a compiler should leave alone: there is none here, they stay as they are."""
    return (lambda given: given) if fn is None else fn


spell("_disable_dynamo", _disable_dynamo, "f")


def set_fill_uninitialized_memory(mode: bool) -> None:
    """With deterministic algorithms, fill new memory with NaN or the largest integer."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _set(settings.deterministic, mode)


def get_num_threads() -> int:
    """How many threads NumPy's matrix products may use, as far as a program told us."""
    return _flags.threads


def set_num_threads(int: int, /) -> None:
    """Remember how many threads are wanted; NumPy's libraries read OMP_NUM_THREADS when they load."""
    _flags.threads = _count("set_num_threads", int)


def get_num_interop_threads() -> int:
    """How many threads run operations side by side."""
    return _flags.interop


def set_num_interop_threads(int: int, /) -> None:
    """Remember how many threads are wanted for operations side by side; here they run one by one."""
    _flags.interop = _count("set_num_interop_threads", int)


def _count(name: str, given: object) -> int:
    if isinstance(given, int) and not -(1 << 63) <= given < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if not isinstance(given, int) or isinstance(given, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(given).__name__}")
    if given < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return given


for _fn in (
    get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads,
    use_deterministic_algorithms, are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode, get_deterministic_debug_mode, set_warn_always, is_warn_always_enabled,
):  # fmt: skip
    spell(_fn.__name__, _fn, "f")
