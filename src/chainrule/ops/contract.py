"""Sums of products: matrix products and their relatives.

Dtypes must agree, as in PyTorch; nothing is promoted. 16-bit floats are multiplied in 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.dtype import NARROW
from chainrule.core.family import call, contraction, dtype_of
from chainrule.core.op import Array
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor

__all__ = ["mm"]

_CPP = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool", "bfloat16": "c10::BFloat16",
}  # fmt: skip


def flipped(x: Any) -> Any:
    """The last two axes swapped, on arrays or tensors."""
    return call("transpose", x, -2, -1) if isinstance(x, Tensor) else np.swapaxes(x, -2, -1)


def matmul_arrays(a: Any, b: Any) -> Any:
    """NumPy's product, 16-bit floats through 32 bits."""
    if a.dtype in NARROW:
        return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)
    return a @ b


def refuse_bool(x: Any, kernel: str) -> None:
    if x.dtype.name == "bool":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _check_mm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_matrices(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_CPP[a.dtype.name]} != {_CPP[b.dtype.name]}"
        )
    refuse_bool(a, "addmm_impl_cpu_")


def _check_matrices(a: Any, b: Any) -> None:
    for name, x in (("self", a), ("mat2", b)):
        if len(x.shape) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if a.shape[1] != b.shape[0]:
        (n, k), (m, p) = a.shape, b.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")


@contraction(linear=True, check=_check_mm, samples=samples(real, [((3, 4), (4, 2))]), spelled="fm")
def mm(xp: Any, input: Array, mat2: Array) -> Array:
    """Product of two matrices."""
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != mat2.shape[0]:
        _check_matrices(input, mat2)
    return matmul_arrays(input, mat2)


mm.vjp(
    input=lambda g, mat2: mm(g, transposed(mat2)) if isinstance(g, Tensor) else g @ mat2.T,
    mat2=lambda g, input: mm(transposed(input), g) if isinstance(g, Tensor) else input.T @ g,
)


def transposed(x: Any) -> Any:
    """A matrix turned over."""
    return call("transpose", x, 0, 1)
