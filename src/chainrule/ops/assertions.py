"""Conditions that a program states and wants checked: of Python values, and of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.backends.cpu import memory
from chainrule.core.dtype import bool_
from chainrule.core.public import composite, spell
from chainrule.core.shape import is_non_overlapping_and_dense
from chainrule.core.tensor import Tensor
from chainrule.ops.storages import bottom

__all__: list[str] = []

_UNTOLD = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _fail(error: type[Exception], message: Any) -> None:
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error(_UNTOLD if message is None else str(message()))


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None) -> None:
    """Raise an error of a type unless `cond` is True."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _checks(name: str, error: type[Exception]) -> None:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        _check_with(error, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error.__name__} unless `cond` is True; `message()` is its text."
    spell(name, check, "f")


for _name, _error in {
    "_check": RuntimeError, "_check_index": IndexError, "_check_value": ValueError, "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}.items():  # fmt: skip
    _checks(_name, _error)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:
    """Raise unless `i` may be a size: at least 0, and at most `max`."""
    _check_with(RuntimeError, i >= 0, message)
    if max is not None:
        _check_with(RuntimeError, i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not cond.all().item():
        _fail(error_type, message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise unless all elements of a tensor of bools are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


for _fn in (_check_with, _check_is_size, _check_tensor_all_with, _check_tensor_all):
    spell(_fn.__name__, _fn, "f")


@composite("f", name="_assert_async")
def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise unless the one element of a tensor is not zero."""
    if not bool(input):
        raise RuntimeError(assert_msg)


@composite("f", name="_assert")
def _assert(condition: Any, message: str) -> None:
    """Python's `assert`, as a function."""
    if not condition:
        raise AssertionError(message)


@composite("f", name="_debug_has_internal_overlap")
def _debug_has_internal_overlap(input: Any) -> int:
    """Do two elements share memory? 0 no, 1 yes, 2 that would take long to find out."""
    if not isinstance(input, Tensor):
        kind = type(input).__name__
        raise TypeError(f"_debug_has_internal_overlap(): argument 'input' (position 1) must be Tensor, not {kind}")
    raw = bottom(input)
    if is_non_overlapping_and_dense(raw.shape, memory.element_strides(raw)):
        return 0
    return 1 if any(s == 0 and n > 1 for n, s in zip(raw.shape, raw.strides)) else 2
