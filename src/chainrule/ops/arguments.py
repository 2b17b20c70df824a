"""Reading what users write: a list of ints as several arguments, as one list, or under a name."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.bind_views import as_int
from chainrule.core.blame import kind_of

__all__ = ["as_int", "one_of", "read_ints", "read_list"]

Shape = tuple[int, ...]


def read_ints(title: str, name: str, args: tuple[Any, ...], position: int = 1) -> Shape:
    """A list of ints that users write as several arguments, or as one tuple or list."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    for at, each in enumerate(args):
        if each.__class__ is not int:
            return _converted(title, name, args, at, position)
    return args


def read_list(title: str, name: str, value: Any, position: int) -> Shape:
    """A list of ints that stands under one name: a number is none."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{title}(): argument '{name}' (position {position}) must be tuple of ints, not {kind_of(value)}"
        )
    return read_ints(title, name, (value,), position)


def _converted(title: str, name: str, args: tuple[Any, ...], at: int, position: int) -> Shape:
    try:
        return tuple([as_int(title, name, position, each) for each in args])
    except TypeError:
        kind = kind_of(args[at])
        raise TypeError(
            f"{title}(): argument '{name}' (position {position}) must be tuple of ints, but found element of type "
            f"{kind} at pos {at}" if len(args) > 1 else
            f"{title}(): argument '{name}' (position {position}) must be tuple of ints, not {kind}"
        ) from None  # fmt: skip


def one_of(title: str, args: tuple[Any, ...], named: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The value of a list argument given by position or under one of its names."""
    for name in names:
        if name in named:
            if args or len(named) > 1:
                raise TypeError(f"{title}() received an invalid combination of arguments")
            value = named[name]
            if value.__class__ is int and title != "squeeze":  # whose list may be one number
                raise TypeError(f"{title}(): argument '{name}' must be tuple of ints, not int")
            return value if isinstance(value, tuple) else (value,)
    if named:
        raise TypeError(f"{title}() got an unexpected keyword argument '{next(iter(named))}'")
    if not args:
        raise TypeError(f'{title}() missing 1 required positional arguments: "{names[-1]}"')
    return args
