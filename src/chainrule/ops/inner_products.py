"""Products that PyTorch's own layers and tests are made of, under the private names it gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.dtype import c_name, int8, int32, uint8
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import contraction
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import integers, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.activation import gelu
from chainrule.ops.added_products import addmm
from chainrule.ops.along import SAME_OUT
from chainrule.ops.compare import clamp_min
from chainrule.ops.reduce import sum
from chainrule.ops.sign import absolute
from chainrule.ops.writing import into

__all__: list[str] = []


# ---------------------------------------------------------------------------------------------------- 8-bit integers


def _check_bytes(input: Any, mat2: Any) -> None:
    if input.dtype not in (int8, uint8):
        raise RuntimeError(f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {c_name(input.dtype)}")
    if mat2.dtype is not int8:
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {c_name(mat2.dtype)}")
    for name, x in (("self", input), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {x.ndim}")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {input.shape[1]} and {mat2.shape[0]}"
        )


@contraction(
    spelled="", name="_int_mm", samples=samples(integers(100), [((2, 3), (3, 4))]), node={"": "NotImplemented"}
)
def _byte_product(xp: Any, input: Array, mat2: Array) -> Array:
    """The product of two matrices of small integers."""
    # by way of floats, which alone BLAS knows: 64 bits hold every sum exactly
    return xp.matmul(input.astype(np.float64), mat2.astype(np.float64)).astype(np.int32)


@composite("f", "_int_mm")
def _int_mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The product of two matrices of 8-bit integers, in 32 bits."""
    _check_bytes(input, mat2)
    shape = (input.shape[0], mat2.shape[1])
    if out is not None and out.dtype is not int32:
        raise RuntimeError(f"int_mm_out_cpu: Expected result dtype to be of type kInt but got {c_name(out.dtype)}")
    for axis, size in enumerate(shape if out is not None else ()):
        if out.ndim <= axis or out.shape[axis] != size:
            have = out.shape[axis] if axis < out.ndim else 0
            raise RuntimeError(f"int_mm_out_cpu: Expected result.size({axis}) to be {size} but got {have}")
    return into("_int_mm", _byte_product.public(input, mat2), out, (input, mat2))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- fused


@composite("f", "_addmm_activation")
def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False, out: Any = None
) -> Tensor:
    """`addmm` with `relu` or `gelu` behind it."""
    total: Tensor = addmm.public(input, mat1, mat2, beta=beta, alpha=alpha)
    return into(  # type: ignore[no-any-return]
        "_addmm_activation", gelu(total) if use_gelu else clamp_min(total, 0), out, (input, mat1, mat2), SAME_OUT
    )


@composite("l", "_powsum")
def _powsum(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None, out: Any = None
) -> Tensor:
    """The sum of the absolute values to a power: the p-norm before its root is taken."""
    if x.dtype.category < 2:
        raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{x.dtype.title}'")
    sizes = absolute(x if dtype is None else x.to(dtype))
    powers: Any = sizes if ord == 1 else sizes**ord
    return into("linalg__powsum", sum(powers, dim, keepdim), out, (x,), SAME_OUT)  # type: ignore[no-any-return]
