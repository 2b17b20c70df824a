"""Reading an attribute is a call too: classes with a `__torch_function__`, and modes, are asked about it first.

Tensor's own properties ask nobody, so plain tensors pay nothing. A class that takes part in functions gets others when
it is made, which ask, then do the same; and while a mode is on, every read of a tensor is looked at. What is handed to
whoever is asked is what PyTorch hands out, `Tensor.shape.__get__`, and called it asks nobody. What the package itself
reads is no call of the user's: nobody is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from types import MethodType
from typing import Any

from chainrule.core.ambient import LISTENING, here
from chainrule.core.function_protocol import first_asked, override, takes_part
from chainrule.core.sites import INSIDE
from chainrule.core.tensor import Tensor

__all__ = ["ATTRIBUTES", "METHODS", "equip", "watch"]

ATTRIBUTES = {"shape", "dtype", "device", "ndim"}  # and what `core.public.attribute` adds
METHODS: set[str] = set()  # those of Tensor's methods that ask nobody by themselves: `core.public.method`


def equip(cls: type[Tensor]) -> None:
    """Give a class that takes part in functions what asks it, in the place of what it inherits from Tensor."""
    if takes_part(cls):
        for name in (*ATTRIBUTES, *METHODS):
            if _found(cls, name) is vars(Tensor)[name]:
                setattr(cls, name, _asking(name))


def _found(cls: type, name: str) -> Any:
    """What a class's objects have under a name."""
    return next((vars(kind)[name] for kind in cls.__mro__ if name in vars(kind)), None)


@cache
def _asking(name: str) -> Any:
    own = vars(Tensor)[name]
    return _asking_property(own) if name in ATTRIBUTES else _asking_method(own)


def _asking_property(own: Any) -> property:
    def read(self: Any) -> Any:
        return own.fget(self) if _is_ours() else first_asked(own.__get__, self)

    def write(self: Any, value: Any) -> None:
        own.fset(self, value) if _is_ours() else first_asked(own.__set__, self, value)

    def delete(self: Any) -> None:
        own.fdel(self) if _is_ours() else first_asked(own.__delete__, self)

    return property(read, own.fset and write, own.fdel and delete, own.__doc__)


def _asking_method(own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_ours():
            done, result = override(own, (self, *args), (self, *args), kwargs, here())
            if done:
                return result
        return own(self, *args, **kwargs)

    return method


def _is_ours() -> bool:
    """Is it the package that reads?"""
    return INSIDE[sys._getframe(2).f_code.co_filename]


# ------------------------------------------------------------------------------------------------- while a mode is on


_lock = Lock()
_watchers = 0


def watch(more: int) -> None:
    """So many more modes are on, in any thread. Nothing on Tensor tells when none is: then nobody listens either, which
    puts a count right that Ctrl-C left too high."""
    global _watchers
    with _lock:
        _watchers = max((_watchers if LISTENING else 0) + more, 0)
        for name, look in _WATCHING.items():
            if not _watchers and name in vars(Tensor):
                delattr(Tensor, name)
            elif _watchers and name not in vars(Tensor):
                setattr(Tensor, name, look)


_plainly = object.__getattribute__


def _seen(self: Any, name: str) -> Any:
    if (name not in ATTRIBUTES and name not in METHODS) or not _is_asked(self, name):
        return _plainly(self, name)
    own = vars(Tensor)[name]
    return first_asked(own.__get__, self) if name in ATTRIBUTES else MethodType(_asking(name), self)


def _seen_set(self: Any, name: str, value: Any) -> None:
    if name in ATTRIBUTES and _is_asked(self, name):
        first_asked(vars(Tensor)[name].__set__, self, value)
    else:
        object.__setattr__(self, name, value)


def _seen_deleted(self: Any, name: str) -> None:
    if name in ATTRIBUTES and _is_asked(self, name):
        first_asked(vars(Tensor)[name].__delete__, self)
    else:
        object.__delattr__(self, name)


_WATCHING: dict[str, Any] = {"__getattribute__": _seen, "__setattr__": _seen_set, "__delattr__": _seen_deleted}


def _is_asked(t: Any, name: str) -> bool:
    """Is a mode to be asked about the user's use of an attribute? Not if a class has one of its own."""
    if INSIDE[sys._getframe(2).f_code.co_filename] or not here().modes:
        return False
    found = _found(type(t), name)
    return found is vars(Tensor)[name] or found is _asking(name)
