"""The references that take other arguments than their ops."""

from __future__ import annotations

from typing import Any

from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import normalize_dims
from chainrule.core.tensor import Tensor
from chainrule.ops import reduce

__all__ = ["prod"]


def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The op folds one axis, the reference several."""
    if isinstance(dim, int):
        return reduce.prod(input, dim, keepdim, dtype=dtype)  # type: ignore[no-any-return]
    dims = tuple(normalize_dims(dim or range(input.ndim), input.ndim))
    made = input if dims else reduce.prod(input, dtype=dtype)
    for axis in dims:
        made = reduce.prod(made, axis, True, dtype=dtype)
    return made if keepdim else made.squeeze(dims)
