"""A fingerprint of a tensor's values."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core import dtype as dtypes
from chainrule.core.family import reduction
from chainrule.core.op import Array
from chainrule.core.samples import apart, samples
from chainrule.ops.along import axes_of, packed
from chainrule.ops.reduce import check_keepdim, need_elements

__all__: list[str] = []

_UNHASHED = frozenset(
    (dtypes.complex32, dtypes.complex64, dtypes.complex128, dtypes.uint16, dtypes.uint32, dtypes.uint64)
)


@reduction(
    exact="Expected result to be of dtype uint64, but got {out}",
    samples=samples(apart, [((3, 4),), ((2, 3, 2),)], dim=[(), 0, (0, -1)], keepdim=[False, True]),
)  # fmt: skip
def hash_tensor(xp: Any, input: Array, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Array:
    """The bits of the elements, each widened to 64, folded by exclusive or; `mode` 0 is the one there is."""
    found = dtypes.OF_NUMPY[input.dtype]
    if found in _UNHASHED:
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{found.title}'")
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    check_keepdim("hash_tensor", keepdim)
    need_elements("hash_tensor", input.shape, dim)
    wide = input.astype(np.int64 if input.dtype.kind in "biu" else np.float64)
    return packed(xp.bitwise_xor.reduce(wide.view(np.uint64), axes_of(dim, input.ndim), keepdims=keepdim))
