"""The named tuples that ops with several outputs return, as in `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__ = ["RETURN_TYPES", "return_class", "return_type"]

RETURN_TYPES: dict[tuple[str, tuple[str, ...]], Any] = {}


def return_type(name: str, outs: tuple[str, ...] | str, values: list[Any]) -> Any:
    """The outputs under their names; a plain tuple where their number varies."""
    return tuple(values) if isinstance(outs, str) else return_class(name, outs)(*values)


def return_class(name: str, outs: tuple[str, ...]) -> Any:
    """The named tuple of an op's outputs."""
    found = RETURN_TYPES.get((name, outs))
    if found is None:
        found = RETURN_TYPES[name, outs] = _made(name, outs)
    return found


def _made(name: str, outs: tuple[str, ...]) -> Any:
    kind: Any = namedtuple(name, outs)  # type: ignore[misc]
    kind.__module__ = "torch.return_types"

    def shown(self: Any) -> str:
        fields = ",\n".join(f"{n}={v!r}" for n, v in zip(outs, self))
        return f"torch.return_types.{name}(\n{fields})"

    kind.__repr__ = shown  # type: ignore[method-assign]  # the class was made here
    return kind
