"""How a tensor shows itself: `repr`, `format`, and a table with a picture in notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.pending import resolved
from chainrule.backends.sparse import is_sparse
from chainrule.config import settings
from chainrule.core.notebook import html_text
from chainrule.core.printing import batched_text, format_scalar, grad_tracking_text, sparse_text, tensor_text
from chainrule.core.public import method, quiet_method
from chainrule.core.tensor import Tensor

__all__: list[str] = []


def _node_name(t: Tensor) -> str | None:
    """The bare name of the node that made it; `Invalid` for a view that may not be asked, but may be shown."""
    try:
        node = t.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else node.name().rsplit("::", 1)[-1]


def _tangent_text(t: Tensor) -> str | None:
    if t.extra is None or t.extra.tangent is None:
        return None
    return repr(t.extra.tangent[1])


def _level_text(t: Any) -> str:
    """A tensor inside a transform shows the one it wraps."""
    value = _shown(t.raw)
    return batched_text(t.level.depth, 0, value) if t.level.kind == "vmap" else grad_tracking_text(t.level.depth, value)


def _shown(t: Any, contents: str | None = None) -> str:
    if isinstance(t.raw, Tensor):
        return _level_text(t)
    raw = resolved(t.raw)
    meta = raw.__class__ is not np.ndarray
    if is_sparse(t.raw):
        return _sparse_shown(t, contents)
    kind = type(t)
    plain = kind is Tensor or getattr(kind, "__torch_function__", None) is None or kind.__name__ == "Parameter"
    return tensor_text(
        None if meta else raw,
        prefix="tensor(" if plain else kind.__name__ + "(",
        contents=contents,
        size=tuple(t.shape) if meta else None,
        dtype_name=t.dtype.name,
        default_dtype=settings.default_dtype.name,
        device="meta" if meta else None,
        grad_fn=_node_name(t),
        requires_grad=t.requires_grad,
        tangent=_tangent_text(t),
    )


def _sparse_shown(t: Any, contents: str | None) -> str:
    return sparse_text(
        t.raw.indices,
        t.raw.values,
        tuple(t.shape),
        contents=contents,
        dtype_name=t.dtype.name,
        default_dtype=settings.default_dtype.name,
        grad_fn=_node_name(t),
        requires_grad=t.requires_grad,
    )


@method
def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return _shown(self, tensor_contents)


@method
def __format__(self: Tensor, format_spec: str) -> str:
    if type(self) is Tensor and self.raw.__class__ is np.ndarray and self.raw.ndim == 0:
        return format_scalar(self.raw, format_spec)
    return object.__format__(self, format_spec)


@quiet_method
def _repr_html_(self: Tensor) -> str:
    """A table of facts and a picture, for notebooks."""
    raw = resolved(self.raw)
    plain = raw.__class__ is np.ndarray
    return html_text(
        raw if plain else None,
        title=type(self).__name__,
        size=None if plain else tuple(self.shape),
        dtype_name=self.dtype.name,
        device=str(self.device),
        grad_fn=_node_name(self),
        requires_grad=self.requires_grad,
    )
