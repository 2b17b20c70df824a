"""Which of a function's arguments a transform is about."""

from __future__ import annotations

from typing import Any

from chainrule.func.forward import jvp
from chainrule.func.jacobian import hessian, jacfwd, jacrev
from chainrule.func.linearize import linearize
from chainrule.func.reverse import Argnums, grad, grad_and_value, normalized, vjp

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: Argnums, as_tuple: bool = True) -> Any:
    """The chosen arguments."""
    at = normalized(argnums, len(args))
    if isinstance(at, int):
        return (args[at],) if as_tuple else args[at]
    return tuple([args[a] for a in at])


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
