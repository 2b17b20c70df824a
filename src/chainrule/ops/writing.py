"""`out=` for functions that are made of other ops."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.door import write_out
from chainrule.core.family import Family

__all__ = ["into"]


class _Named:
    """What `write_out` asks of an op."""

    __slots__ = ("name", "outs")
    exact = None
    family = Family()

    def __init__(self, name: str, outs: Any) -> None:
        self.name, self.outs = name, outs


def into(name: str, result: Any, out: Any, inputs: tuple[Any, ...]) -> Any:
    """The result, written into `out` if there is one."""
    if out is None:
        return result
    several = "many" if isinstance(result, tuple) else None
    return write_out(_Named(name, several), result, out, inputs)  # type: ignore[arg-type]
