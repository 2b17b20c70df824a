"""Views as copies: `transpose_copy(x, 0, 1)` is `x.transpose(0, 1).clone()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.autograd.door import write_out
from chainrule.core.layout import contiguous_format
from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops.copying import clone, detach
from chainrule.ops.parts import narrow, select, slice_view, split, split_with_sizes, unbind, unfold
from chainrule.ops.strided import as_strided
from chainrule.ops.views import alias_view, expand, permute, squeeze, t, transpose, unsqueeze, view_op

__all__: list[str] = []

_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": alias_view.public, "as_strided": as_strided, "detach": detach.public, "expand": expand.public,
    "narrow": narrow,
    "permute": permute.public, "select": select.public, "slice": slice_view.public, "split": split.public,
    "split_with_sizes": split_with_sizes.public, "squeeze": squeeze, "t": t.public, "transpose": transpose.public,
    "unbind": unbind.public, "unfold": unfold.public, "unsqueeze": unsqueeze.public, "view": view_op.public,
}  # fmt: skip


def _copied(part: Tensor, out: Any) -> Tensor:
    fresh: Tensor = clone.public(part, memory_format=contiguous_format)
    return fresh if out is None else write_out(clone.op, fresh, out, (part,))


def _declare(name: str, view: Callable[..., Any]) -> None:
    def copying(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Any:
        parts = view(input, *args, **named)
        if isinstance(parts, Tensor):
            return _copied(parts, out)
        return tuple([_copied(p, None if out is None else out[i]) for i, p in enumerate(parts)])

    copying.__doc__ = f"`{name}`, copied."
    composite("f", name=f"{name}_copy", quick=True)(copying)


for _name, _view in _VIEWS.items():
    _declare(_name, _view)
