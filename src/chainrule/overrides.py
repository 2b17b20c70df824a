"""How classes and modes take part in functions: `__torch_function__` and what belongs to it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from chainrule.core.ambient import THREAD, here, leave, put
from chainrule.core.asking import watch
from chainrule.core.function_protocol import KEEPS_CLASS, default, disabled, override, overriders
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

_disabled_torch_function_impl = disabled


class TorchFunctionMode:
    """A block in which every public function is asked about first: override `__torch_function__`."""

    inner: TorchFunctionMode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        state = here()
        put(state.but(modes=(*state.modes, self)))
        try:
            watch(1)
        except BaseException:  # Ctrl-C, just then: the block does not begin
            put(state)
            watch(0)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        inside = THREAD.record
        try:
            leave(inside, "modes")
            watch(-1)
        except BaseException:  # Ctrl-C, just then
            leave(inside, "modes")
            watch(0)
            raise

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance (the old way to enter a mode)."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Off:
    """A block in which some overriding is off."""

    level = 0

    def __enter__(self) -> None:
        state = here()
        self._before = put(state.but(functions_off=max(self.level, state.functions_off)))

    def __exit__(self, *exception: object) -> None:
        try:
            put(self._before)
        except BaseException:  # Ctrl-C, just then
            put(self._before)
            raise


class DisableTorchFunctionSubclass(_Off):
    """Subclasses are computed with as plain tensors; modes still see every call."""

    level = 1


class DisableTorchFunction(_Off):
    """Neither subclasses nor modes take part."""

    level = 2


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Overriding inside an override is always possible here: the block changes nothing."""
    yield


# ------------------------------------------------------------------------------------------ for functions of one's own


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Is there anybody to ask, among the arguments or as a mode?"""
    state = here()
    if state.functions_off >= 2:
        return False
    return bool(state.modes) or (state.functions_off == 0 and bool(overriders(tuple(relevant_args))))


def has_torch_function_unary(arg: Any) -> bool:
    """The same for one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same for arguments one by one."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask modes and classes to answer a call of `public_api`."""
    done, result = override(public_api, tuple(relevant_args), args, kwargs, here())
    if not done:
        raise TypeError(
            f"no implementation found for '{resolve_name(public_api)}' on types that implement __torch_function__"
        )
    return result


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: `dispatcher`, called with the same arguments, says which of them may override the function."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Callable[[Any], type] | None = None) -> list[Any]:
    """The arguments that override, in the order in which they are asked."""
    return overriders(tuple(relevant_args)) if here().functions_off == 0 else []


def _get_current_function_mode() -> Any:
    modes = here().modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(here().modes)


# ----------------------------------------------------------------------------------------------------- about functions


def is_tensor_like(inp: Any) -> bool:
    """Is it a tensor, or an object that takes part in functions as one?"""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Is this a method or a property of Tensor?"""
    return func in _methods() or getattr(func, "__name__", "") == "__get__"


@functools.cache
def _methods() -> frozenset[Any]:
    return frozenset(v for v in vars(Tensor).values() if callable(v) and getattr(v, "__hash__", None) is not None)


_PLACES = {
    "f": "torch",
    "m": "torch.Tensor",
    "n": "torch.nn.functional",
    "l": "torch.linalg",
    "s": "torch.special",
    "t": "torch.fft",
}


def resolve_name(f: Any) -> str | None:
    """The public name of a function, `torch.add`."""
    for place, package in _PLACES.items():
        for name, fn in PUBLIC[place].items():
            if fn is f:
                return f"{package}.{name}"
    for name, value in vars(Tensor).items():
        if value is f:
            return f"torch.Tensor.{name}"
        if isinstance(value, property) and f in (value.__get__, value.__set__):
            return f"torch.Tensor.{name}.{f.__name__}"
    return None


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that ask modes and classes, by where they live."""
    import chainrule  # lazy: the package itself is what the answer is about, and it imports this module

    places = {"f": chainrule, "m": Tensor, "n": chainrule.nn.functional, "l": chainrule.linalg}
    skip = get_ignored_functions()
    return {
        where: [f for f in PUBLIC[place].values() if f not in skip and not inspect.isclass(f)]
        for place, where in places.items()
    }


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Public functions that ask nobody: they take no tensor, or make no sense elsewhere."""
    names = (
        "is_tensor",
        "is_storage",
        "manual_seed",
        "initial_seed",
        "seed",
        "get_rng_state",
        "set_rng_state",
        "tensor",
        "from_numpy",
    )
    return {PUBLIC["f"][n] for n in names if n in PUBLIC["f"]}


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results keep their class."""
    return set(KEEPS_CLASS)


_default_torch_function = default
