"""A first handful of ops of each family (to be moved to their subjects)."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.dtype import OF_NUMPY, dtype as DType
from chainrule.core.family import call, elementwise, general, view
from chainrule.core.op import Array, Number
from chainrule.core.public import composite, method, spell
from chainrule.core.samples import nonzero, positive, real, samples
from chainrule.core.shape import infer_size, make_size, normalize_dims
from chainrule.core.tensor import LEAF, Extra, Tensor, fresh

one: list[tuple[Any, ...]] = [((3, 4),), ((),)]


@elementwise(samples=samples(nonzero, one), spelled="fmi")
def relu(xp: Any, input: Array) -> Array:
    """Zero where negative."""
    return xp.maximum(input, 0)


relu.vjp(input=lambda g, out: g * (out > 0))


@elementwise(promote="none", spelled="", name="to_dtype", node="ToCopy", linear=True)
def to_dtype(xp: Any, input: Array, *, dtype: DType) -> Array:
    """The values in another dtype."""
    return input.astype(dtype.numpy)


to_dtype.vjp(input=lambda g: g)
