"""Where a name is public: one table, filled by declarations, read by the package's modules.

`spelled` in a declaration (or in `@composite`) is a string of letters, each a place the function appears under its
name: f `torch.`, m a method of Tensor, i an in-place method (`name_`), F with i: the in-place form is a function too, n
`torch.nn.functional.`, l `torch.linalg.`, s `torch.special.`, t `torch.fft.`, r `torch.random.`, k `torch.masked.`; ""
means private.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from chainrule.core.ambient import LISTENING, here
from chainrule.core.asking import ATTRIBUTES, METHODS
from chainrule.core.blame import blame_call, check_flags, flags_of
from chainrule.core.function_protocol import override
from chainrule.core.tensor import FOREIGN, PLAIN, Tensor, fresh

__all__ = ["PUBLIC", "alias", "asked", "attribute", "composite", "getter", "method", "publish", "quiet_method", "spell"]

PUBLIC: dict[str, dict[str, Callable[..., Any]]] = {place: {} for place in "fmnlstrk"}

Function = TypeVar("Function", bound=Callable[..., Any])

_CALM: set[type] = {int, float, bool, str, type(None), complex}  # arguments that never override


def spell(name: str, fn: Callable[..., Any], places: str) -> None:
    """Enter a function into the table."""
    for place in places:
        if name in PUBLIC[place]:
            raise TypeError(f"two functions want to be {name!r} in {place!r}")
        PUBLIC[place][name] = fn


def alias(fn: Any, *names: str, spelled: str | None = None) -> None:
    """Other public names of an op, in the same places (or in those of `spelled`)."""
    places = fn.op.spelled if spelled is None else spelled
    for name in names:
        spell(name, fn.public, "".join(p for p in places if p not in "iF"))
        if "i" in places:
            spell(name + "_", PUBLIC["m"][fn.op.name + "_"], "mf" if "F" in places else "m")


def composite(spelled: str = "fm", name: str | None = None, quick: bool = False) -> Callable[[Function], Function]:
    """Declare a public function that is made of other ops: gradients, transforms and traces see only those.

    `quick` is for functions of one tensor, the first argument: only that one is asked whether it overrides.
    """

    def decorate(fn: Any) -> Any:
        title = name or fn.__name__.rstrip("_")
        fn.__qualname__ = title  # what Python calls it where arguments are too many or too few
        flags = flags_of(fn)
        first = min(flags.values(), default=0)  # where the first flag may stand among the arguments

        def quickly(input: Any, *args: Any, **kwargs: Any) -> Any:
            if LISTENING or input.__class__ not in PLAIN:
                if isinstance(input, (np.ndarray, np.generic)):  # inside a rule, on bare arrays
                    return _bare(fn(fresh(np.asarray(input)), *args, **kwargs))
                done, result = asked(made, (input, *args), kwargs)
                if done:
                    return result
            if flags and (kwargs or len(args) >= first):
                check_flags(title, fn, flags, (input, *args), kwargs)
            try:
                return fn(input, *args, **kwargs)
            except Exception:
                found = blame_call(title, fn, (input, *args), kwargs)
                if found is None:
                    raise
                raise found from None

        def public(*args: Any, **kwargs: Any) -> Any:
            if LISTENING or any(a.__class__ not in PLAIN and a.__class__ not in _CALM for a in args):
                done, result = asked(made, args, kwargs)
                if done:
                    return result
            if flags and (kwargs or len(args) > first):
                check_flags(title, fn, flags, args, kwargs)
            try:
                return fn(*args, **kwargs)
            except Exception:
                found = blame_call(title, fn, args, kwargs)
                if found is None:
                    raise
                raise found from None

        made: Any = functools.wraps(fn)(quickly if quick else public)
        made.__name__ = made.__qualname__ = title
        made.public = made
        spell(title, made, spelled)
        return made

    return decorate


def _bare(result: Any) -> Any:
    return result.raw if isinstance(result, Tensor) else tuple([t.raw for t in result])


def asked(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    """Does a mode or a subclass among the arguments answer in the function's place? (answered, result)."""
    values = [v for a in (*args, *kwargs.values()) for v in (a if isinstance(a, (list, tuple)) else (a,))]
    state = here()
    if not state.modes and state.autocast is None and all(map(_silent, values)):
        return False, None
    return override(fn, values, args, kwargs, state)


def _silent(value: Any) -> bool:
    kind = value.__class__
    return kind in PLAIN or kind in FOREIGN or not hasattr(kind, "__torch_function__")


def method(fn: Function) -> Function:
    """Declare a method of Tensor that is no function: `@method def item(self): ...`."""
    METHODS.add(fn.__name__)
    return quiet_method(fn)


def quiet_method(fn: Function) -> Function:
    """The same of a method about which no class and no mode is asked, or only by the method itself."""
    spell(fn.__name__, fn, "m")
    return fn


def attribute(
    name: str,
    read: Callable[[Any], Any],
    write: Callable[[Any, Any], None] | None = None,
    delete: Callable[[Any], None] | None = None,
    doc: str | None = None,
) -> None:
    """Declare a property of Tensor."""
    ATTRIBUTES.add(name)
    setattr(Tensor, name, property(read, write, delete, doc))


def getter(fn: Function) -> Function:
    """Declare a property of Tensor that can only be read: `@getter def itemsize(self): ...`."""
    attribute(fn.__name__, fn)
    return fn


def publish(place: str, scope: dict[str, Any]) -> list[str]:
    """Put the names of one place into a module's globals; returns them."""
    scope.update(PUBLIC[place])
    return sorted(PUBLIC[place])


def equip_tensor() -> None:
    """Give Tensor its methods, once, when all ops are declared."""
    for name, fn in PUBLIC["m"].items():
        setattr(Tensor, name, fn)
