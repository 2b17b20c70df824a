"""`out=` for functions that are made of other ops."""

from __future__ import annotations

from typing import Any, TypeVar

from chainrule.autograd.door import not_into, recorded_into, write_out
from chainrule.core.family import Family

__all__ = ["into", "unrecorded"]

Result = TypeVar("Result")


class _Named:
    """What `write_out` asks of an op."""

    __slots__ = ("exact", "name", "outs", "pulls")
    family, variadic = Family(), False

    def __init__(self, name: str, outs: Any, exact: str | None, recorded: bool) -> None:
        self.name, self.outs, self.exact, self.pulls = name, outs, exact, not recorded


def unrecorded(name: str, out: Any, inputs: tuple[Any, ...]) -> None:
    """Refuse, before anything is computed, an `out` where a gradient is wanted."""
    if out is not None and recorded_into(inputs, out):
        raise not_into(name)


def into(
    name: str, result: Result, out: Any, inputs: tuple[Any, ...], exact: str | None = None, recorded: bool = False
) -> Result:
    """The result, written into `out` if there is one; `exact` is that of an op. `recorded`: PyTorch copies the result,
    so that gradients come through, where it refuses others."""
    if out is None:
        return result
    several = "many" if isinstance(result, tuple) else None
    written: Result = write_out(_Named(name, several, exact, recorded), result, out, inputs)  # type: ignore[arg-type]
    return written
