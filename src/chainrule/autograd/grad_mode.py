"""Grad modes: context managers, decorators and functions over the ambient record."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from chainrule.core.ambient import here, put

__all__ = [
    "Mode", "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class Mode:
    """A change of the ambient record, for a block or for the calls of a function."""

    def changes(self) -> dict[str, Any]:
        """What to change."""
        raise NotImplementedError

    def again(self) -> Mode:
        """A fresh mode of the same kind, one per call of a decorated function."""
        return type(self)()

    def __enter__(self) -> None:
        self._before = put(here().but(**self.changes()))

    def __exit__(self, *exc: object) -> None:
        put(self._before)

    def __call__(self, fn: F) -> F:
        if inspect.isclass(fn):
            return _decorated_class(self, fn)
        if inspect.isgeneratorfunction(fn):
            return _decorated_generator(self, fn)

        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return fn(*args, **kwargs)

        return inside  # type: ignore[return-value]


def _decorated_class(mode: Mode, cls: Any) -> Any:
    raise TypeError(f"{type(mode).__name__} cannot decorate a class: decorate its methods")


def _decorated_generator(mode: Mode, fn: Any) -> Any:
    """The mode holds while the generator runs, not between its yields."""

    @functools.wraps(fn)
    def inside(*args: Any, **kwargs: Any) -> Any:
        source = fn(*args, **kwargs)
        step, value = source.send, None
        try:
            while True:
                with mode.again():
                    result = step(value)
                try:
                    value, step = (yield result), source.send
                except GeneratorExit:
                    with mode.again():
                        source.close()
                    raise
                except BaseException as error:
                    value, step = error, source.throw  # type: ignore[assignment]
        except StopIteration as stop:
            return stop.value

    return inside


class no_grad(Mode):
    """Nothing computed here requires a gradient: `with no_grad():` or `@no_grad()`."""

    def __new__(cls, fn: Any = None) -> Any:
        return object.__new__(cls) if fn is None else object.__new__(cls)(fn)

    def changes(self) -> dict[str, Any]:
        return {"grad": False}


class enable_grad(Mode):
    """Gradients are recorded again, inside a `no_grad` block."""

    def __new__(cls, fn: Any = None) -> Any:
        return object.__new__(cls) if fn is None else object.__new__(cls)(fn)

    def changes(self) -> dict[str, Any]:
        return {"grad": True}


class set_grad_enabled(Mode):
    """Turns recording on or off: at once as a function, until the end of the block as a context manager."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before = put(here().but(grad=self._mode))

    def changes(self) -> dict[str, Any]:
        return {"grad": self._mode}

    def again(self) -> Mode:
        return set_grad_enabled(self._mode)

    def __enter__(self) -> None:
        put(here().but(grad=self._mode))

    def __call__(self, fn: F) -> F:
        put(self._before)
        return super().__call__(fn)

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}(mode={self._mode})"


class inference_mode(Mode):
    """As `no_grad`, and what is made here can never take part in a graph: `with inference_mode():`."""

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if callable(mode):
            made._mode = True
            return made(mode)
        return made

    def __init__(self, mode: Any = True) -> None:
        self._mode = bool(mode)

    def changes(self) -> dict[str, Any]:
        return {"inference": self._mode, "grad": not self._mode, "forward_grad": not self._mode}

    def again(self) -> Mode:
        return inference_mode(self._mode)


def is_grad_enabled() -> bool:
    """Are operations recorded for backward?"""
    return here().grad


def is_inference_mode_enabled() -> bool:
    """Is inference mode on?"""
    return here().inference
