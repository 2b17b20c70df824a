"""Grad modes: context managers, decorators and functions over the ambient record."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from chainrule.autograd.grad_layout import POLICY
from chainrule.autograd.versions import store_of, version_of
from chainrule.autograd.views import REPLAY
from chainrule.core.ambient import Ambient, here, put
from chainrule.core.blame import kind_of
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor

__all__ = [
    "Mode", "enable_grad", "enforce_grad_layout_policy", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "is_multithreading_enabled",
    "is_view_replay_enabled", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class Mode:
    """A change of the ambient record, for a block or for the calls of a function."""

    _before: Ambient
    _inside: Ambient

    def changes(self) -> dict[str, Any]:
        """What to change."""
        raise NotImplementedError

    def clone(self) -> Mode:
        """A fresh mode of the same kind, one per call of a decorated function."""
        return type(self)()

    def __enter__(self) -> None:
        self._before = here()
        self._inside = self._before.but(**self.changes())
        put(self._inside)

    def __exit__(self, *exc: object) -> None:
        try:
            self._restore(self.changes())
        except BaseException:  # Ctrl-C, just then
            self._restore(self.changes())
            raise

    def _restore(self, names: Iterable[str]) -> None:
        """Put back what this mode changed, and leave what others changed since."""
        now, before = here(), self._before
        put(before if now is self._inside else now.but(**{n: getattr(before, n) for n in names}))

    def __call__(self, fn: F) -> F:
        if inspect.isclass(fn):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only "
                "decorate functions or methods. To preserve the current behavior of class decoration, you "
                "can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
            )
        if inspect.isgeneratorfunction(fn):
            return cast(F, _decorated_generator(self, fn))

        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return inside  # type: ignore[return-value]


def _decorated_generator(mode: Mode, fn: Any) -> Any:
    """The mode holds while the generator runs, not between its yields."""

    @functools.wraps(fn)
    def inside(*args: Any, **kwargs: Any) -> Any:
        source = fn(*args, **kwargs)
        step, value = source.send, None
        try:
            while True:
                with mode.clone():
                    result = step(value)
                try:
                    value, step = (yield result), source.send
                except GeneratorExit:
                    with mode.clone():
                        source.close()
                    raise
                except BaseException as error:
                    value, step = error, source.throw
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


class _Switch(Mode):
    """A mode that holds from its making: at once as a function, until the end of the block as a context
    manager."""

    _name: str

    def __init__(self, mode: Any) -> None:
        if not isinstance(mode, bool):
            title = f"{type(self).__name__}(): argument 'enabled' (position 1)"
            raise TypeError(f"{title} must be bool, not {kind_of(mode)}")
        self.mode = mode
        self._before = here()
        self._inside = self._before.but(**self.changes())
        put(self._inside)

    def changes(self) -> dict[str, Any]:
        return {self._name: self.mode}

    def clone(self) -> Mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        try:
            put(here().but(**self.changes()))
        except BaseException:  # Ctrl-C, just then: the block does not begin
            put(self._before)
            raise

    def __call__(self, fn: F) -> F:
        put(self._before)
        return super().__call__(fn)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.{type(self).__name__}(mode={self.mode})"


class set_grad_enabled(_Switch):
    """Turns recording on or off."""

    _name = "grad"


class inference_mode(Mode):
    """As `no_grad`, and what is made here can never take part in a graph: `with inference_mode():`."""

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)

    def changes(self) -> dict[str, Any]:
        return {"inference": self.mode, "grad": not self.mode, "forward_grad": not self.mode}

    def clone(self) -> Mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Are operations recorded for backward?"""
    return here().allowed


def is_inference_mode_enabled() -> bool:
    """Is inference mode on?"""
    return here().inference


# ------------------------------------------------------------------------------ switches without effect on values


class set_multithreading_enabled(Mode):
    """May backward use several threads? It uses the caller's in either case; the answer is kept for who
    asks."""

    _flag = [True]

    def __init__(self, mode: bool) -> None:
        self._mode, self._was = bool(mode), self._flag[0]
        self._flag[0] = self._mode

    def clone(self) -> Mode:
        return type(self)(self._mode)

    def __enter__(self) -> None:
        self._flag[0] = self._mode

    def __exit__(self, *exc: object) -> None:
        self._flag[0] = self._was


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` said last."""
    return set_multithreading_enabled._flag[0]


class _force_original_view_tracking(Mode):
    """Is a view's history, after its base was changed in place, made of the view ops themselves or of one
    node?"""

    def __init__(self, mode: bool) -> None:
        self._mode, self._was = bool(mode), REPLAY[0]
        REPLAY[0] = self._mode

    def clone(self) -> Mode:
        return type(self)(self._mode)

    def __enter__(self) -> None:
        REPLAY[0] = self._mode

    def __call__(self, fn: F) -> F:
        REPLAY[0] = self._was
        return super().__call__(fn)

    def __exit__(self, *exc: object) -> None:
        REPLAY[0] = self._was


def is_view_replay_enabled() -> bool:
    """What `_force_original_view_tracking` said last."""
    return REPLAY[0]


class _unsafe_preserve_version_counter(Mode):
    """Changes made inside the block go unnoticed by those who saved the tensors."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        self.versions = tuple(version_of(t) for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for t, version in zip(self.tensors, self.versions):
            store_of(t).version = version


class enforce_grad_layout_policy(Mode):
    """Must a leaf's gradient lie in memory as the leaf does? With False, what arrives is kept as it lies, where that
    needs no copy. A block, a decorator, or a plain call."""

    def __init__(self, enable: bool) -> None:
        self._enable, self._was = bool(enable), POLICY.loose
        POLICY.loose = not self._enable

    def clone(self) -> Mode:
        return enforce_grad_layout_policy(self._enable)

    def __enter__(self) -> None:
        POLICY.loose = not self._enable

    def __call__(self, fn: F) -> F:
        POLICY.loose = self._was
        return super().__call__(fn)

    def __exit__(self, *exc: object) -> None:
        POLICY.loose = self._was
