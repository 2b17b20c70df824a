"""Forward mode for users: dual numbers inside a level.

with dual_level():
    x = make_dual(primal, tangent)
    y, y_tangent = unpack_dual(f(x))
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrule.autograd import forward
from chainrule.autograd.grad_mode import Mode
from chainrule.autograd.tangents import check_size
from chainrule.backends.cpu import memory
from chainrule.backends.pending import Pending, resolved
from chainrule.core.ambient import THREAD, here, put, swapped
from chainrule.core.tensor import Tensor, fresh

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual",
]  # fmt: skip


class UnpackedDualTensor(NamedTuple):
    """The two halves of a dual number; `tangent` is None if there is none."""

    primal: Tensor
    tangent: Tensor | None


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return here().dual
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Opened(threading.local):
    """Levels that this thread opened inside a transform, innermost last: there a level is an interpreter."""

    def __init__(self) -> None:
        self.levels: list[Any] = []


_opened = _Opened()
LEVELS: list[Callable[[], Any]] = []  # makes such an interpreter; put here by func.forward


def is_opened(interpreter: Any) -> bool:
    """Is this interpreter a level of this module?"""
    return interpreter in _opened.levels


def enter_dual_level() -> int:
    """Open a level; only one can be open."""
    state = here()
    if state.dual >= 0 and not (state.stack and state.stack[-1] not in _opened.levels):
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    if state.stack:
        level = LEVELS[0]()
        _opened.levels.append(level)
        put(level._inside)
    else:
        put(state.but(dual=0))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; every tangent made in it is gone."""
    current = here().dual
    if current < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != current:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _opened.levels:
        closed = _opened.levels.pop()
        put(closed.before)
        del closed._inside  # it leads back to the level
        return
    forward.drop_tangents()
    put(here().but(dual=-1))


class dual_level(Mode):
    """A level for a block, or for the calls of a function."""

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        inside = THREAD.record
        try:
            exit_dual_level(level=0)
        except BaseException:
            if THREAD.record is inside:  # Ctrl-C, just then
                exit_dual_level(level=0)
            raise


class _set_fwd_grad_enabled(Mode):
    """Turns recording of tangents on or off: at once as a function, until the end of the block as a context
    manager."""

    def __init__(self, mode: bool) -> None:
        self._before_mode = here().forward_grad
        self._mode = mode
        put(here().but(forward_grad=mode))

    def clone(self) -> Mode:
        return _set_fwd_grad_enabled(self._mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        put(here().but(forward_grad=self._before_mode))


def _is_fwd_grad_enabled() -> bool:
    return here().forward_grad


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`."""
    level = here().dual if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.dtype.is_floating_point or t.dtype.is_complex):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    _check_pair(tensor, tangent)
    if _opened.levels:
        inner = _opened.levels[-1]
        wrapped: Tensor = inner.wrap(inner.lower(tensor))
        forward.set_tangent(wrapped, inner.wrap(inner.lower(tangent)), inner.depth)
        return wrapped
    with swapped(forward_grad=False):
        dual: Tensor = tensor.view_as(tensor)
        fitting = tangent if _same_layout(tensor, tangent) else _laid_out(tensor, tangent)
    forward.set_tangent(dual, fitting, level)
    return dual


def _check_pair(primal: Tensor, tangent: Tensor) -> None:
    if forward.tangent_of(primal) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 "
            "is not supported."
        )
    if forward.tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward gradient that itself has a forward gradient at the same level 0 is not supported."
        )
    check_size(primal, tangent)


def _same_layout(primal: Tensor, tangent: Tensor) -> bool:
    """May the tangent be viewed wherever the primal may?"""
    p, t = primal.raw, tangent.raw
    if isinstance(p, Pending) or isinstance(t, Pending):
        if p.__class__ is not t.__class__:
            return False
    if not (isinstance(p, np.ndarray) and isinstance(t, np.ndarray)) or p.size == 0:
        return True
    steps = ((a // p.itemsize, b // t.itemsize) for a, b, n in zip(p.strides, t.strides, p.shape) if n > 1)
    return all(a == b for a, b in steps) and _memory(p) == _memory(t)


def _memory(raw: Any) -> int:
    """How many elements the memory under an array holds."""
    while isinstance(raw.base, np.ndarray):
        raw = raw.base
    return int(raw.size)


def _laid_out(primal: Tensor, tangent: Tensor) -> Tensor:
    """A copy of the tangent in memory like the primal's."""
    p = primal.raw
    memory.refuse_overlap(p)
    under = np.zeros(_memory(p), tangent.dtype.numpy)
    steps = [s // p.itemsize * under.itemsize if n > 1 else under.itemsize for s, n in zip(p.strides, p.shape)]
    backwards = min(steps, default=0) < 0  # elements before the first: NumPy's own layout will do
    out = fresh(
        np.empty_like(resolved(p), under.dtype) if backwards else np.ndarray(p.shape, under.dtype, under, 0, steps)
    )
    return out.copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value without its tangent, as a view, and the tangent."""
    level = here().dual if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level != 0:
        raise RuntimeError("Invalid level given to _fw_primal")
    tangent = forward.tangent_of(tensor) if here().forward_grad or not here().inference else None
    if _opened.levels:
        inner = _opened.levels[-1]
        return UnpackedDualTensor(inner.lower(tensor), None if tangent is None else inner.lower(tangent))
    with swapped(forward_grad=False):
        return UnpackedDualTensor(tensor.view_as(tensor), tangent)
