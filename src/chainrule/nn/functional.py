"""The functions that layers are made of, without parameters; each is declared with its kind in `chainrule.ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrule.core.public import publish

__all__ = publish("n", globals())  # noqa: PLE0605

if TYPE_CHECKING:  # the names above are put in by declarations, which type checkers cannot see

    def __getattr__(name: str) -> Any: ...
