"""Products of matrices and vectors.

Dtypes must agree, as in PyTorch; nothing is promoted. 16-bit floats are multiplied in 32 bits. `matmul` decides as
PyTorch does which product it is; a matrix against a batch folds the batch into the rows.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.dtype import NARROW, widened
from chainrule.core.family import call, contraction
from chainrule.core.op import Array
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import broadcast_shapes, normalize_dim
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops.along import SAME_OUT, rank_of
from chainrule.ops.views import unsafe_view
from chainrule.ops.writing import into

__all__ = [
    "bmm", "conj", "dot", "flipped", "matmul", "mm", "mv", "outer_product", "paired_mm", "product", "times", "vdot",
]  # fmt: skip


# ----------------------------------------------------------------------------------------------------------------- head


CPP_NAMES = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool", "bfloat16": "c10::BFloat16",
}  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- helpers


def flipped(x: Any) -> Any:
    """The last two axes swapped, on arrays or tensors."""
    return call("transpose", x, -2, -1) if isinstance(x, Tensor) else np.swapaxes(x, -2, -1)


def product(a: Any, b: Any) -> Any:
    """The matrix product of arrays, 16-bit floats through 32 bits; of tensors, `matmul`."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return matmul(a, b)
    if a.dtype in NARROW:
        return np.asarray(np.matmul(widened(a), widened(b))).astype(a.dtype)
    if a.__class__ is b.__class__ is np.ndarray and a.ndim == 2 == b.ndim:
        return a.dot(b)  # half a microsecond less
    return np.matmul(a, b)


def conj(x: Any) -> Any:
    """The complex conjugate; real values as they are."""
    if isinstance(x, Tensor):
        return call("conj_physical", x) if x.dtype.is_complex else x
    return x.conj() if x.dtype.kind in "cW" else x  # W: complex32


def outer_product(a: Any, b: Any) -> Any:
    """a[..., :, None] * b[..., None, :]."""
    return a[..., :, None] * b[..., None, :]


def times(x: Any, factor: Any) -> Any:
    return x if factor.__class__ is not complex and factor == 1 else x * factor


def refuse_bool(x: Any, kernel: str) -> None:
    if x.dtype.name == "bool":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def same_dtype(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{CPP_NAMES[a.dtype.name]} != {CPP_NAMES[b.dtype.name]}"
        )


def check_multipliable(a: Any, b: Any) -> None:
    if a.shape[1] != b.shape[0]:
        (n, k), (m, p) = a.shape, b.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")


# ----------------------------------------------------------------------------------------------------- matrix by matrix


def _check_mm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_matrices(a, b)
    same_dtype(a, b)
    if a.numel() and b.numel():
        refuse_bool(a, "addmm_impl_cpu_")


def _check_matrices(a: Any, b: Any) -> None:
    for name, x in (("self", a), ("mat2", b)):
        if rank_of(x) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    check_multipliable(a, b)


def _matmul_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """A product of batches in front is `matmul`'s business; an unbatched matrix lets it fold."""
    return matmul(*values)


@contraction(
    linear=True,
    exact=SAME_OUT,
    check=_check_mm,
    vmap=_matmul_batch,
    samples=samples(real, [((3, 4), (4, 2))]),
    spelled="fm",
)
def mm(xp: Any, input: Array, mat2: Array) -> Array:
    """Product of two matrices."""
    if input.dtype in NARROW or input.ndim != 2 or mat2.ndim != 2:
        _check_matrices(input, mat2)
        return product(input, mat2)
    try:
        return input.dot(mat2)  # the function of that name costs a look at its arguments' classes more
    except ValueError:
        _check_matrices(input, mat2)
        raise


def _turned(x: Any, turn: bool) -> Any:
    return (x.T if isinstance(x, np.ndarray) else call("transpose", x, -2, -1)) if turn else x


def _turned_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = values
    return matmul(_turned(a, params["left"]), _turned(b, params["right"]))


@contraction(
    linear=True, node="Mm", spelled="", vmap=_turned_batch,
    samples=samples(real, [((3, 3), (3, 3))], left=[False, True], right=[False, True]),
)  # fmt: skip
def mm_turned(xp: Any, input: Array, mat2: Array, left: bool, right: bool) -> Array:
    """Product of two matrices, each of which may be turned first: what `mm`'s gradients are made of, without views."""
    return _turned_product(input, mat2, left, right)


def _turned_product(a: Any, b: Any, left: bool, right: bool) -> Any:
    """The same for rules, on arrays without a detour; tensors record it."""
    if a.__class__ is b.__class__ is np.ndarray and a.dtype not in NARROW:
        return (a.T if left else a).dot(b.T if right else b)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return mm_turned.public(a, b, left, right)
    return product(a.T if left else a, b.T if right else b)


mm_turned.vjp(
    input=lambda g, mat2, left, right: (
        _turned_product(mat2, g, right, True) if left else _turned_product(g, mat2, False, not right)
    ),
    mat2=lambda g, input, left, right: (
        _turned_product(g, input, True, left) if right else _turned_product(input, g, not left, False)
    ),
)


def mm_left(g: Any, mat2: Any) -> Any:
    """g @ mat2.T."""
    return _turned_product(g, mat2, False, True)


def mm_right(g: Any, input: Any) -> Any:
    """input.T @ g."""
    return _turned_product(input, g, True, False)


mm.vjp(input=mm_left, mat2=mm_right)


def check_batches(a: Any, b: Any, added: bool = False) -> None:
    """`added`: PyTorch first asks for the sizes of the sum."""
    if added:
        for x, dim in ((a, 0), (a, 1), (b, 2)):
            normalize_dim(dim, rank_of(x), wrap_scalar=False)
    for at, x in enumerate((a, b), 1):
        if rank_of(x) != 3:
            raise RuntimeError(f"batch{at} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )


def _check_bmm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    check_batches(*inputs)
    _check_paired(inputs, params)


@contraction(
    linear=True, exact=SAME_OUT, check=_check_bmm, vmap=_matmul_batch, samples=samples(real, [((2, 3, 4), (2, 4, 2))])
)
def bmm(xp: Any, input: Array, mat2: Array) -> Array:
    """Products of the matrices of two batches, pair by pair."""
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        check_batches(input, mat2)
    return product(input, mat2)


def _check_paired(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    refuse_bool(a, "bmm")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")


@contraction(
    linear=True, node="Bmm", check=_check_paired, vmap=_matmul_batch, spelled="",
    samples=samples(real, [((2, 3, 4), (2, 4, 2)), ((2, 1, 3, 4), (2, 1, 4, 2))]),
)  # fmt: skip
def paired_mm(xp: Any, input: Array, mat2: Array) -> Array:
    """As `bmm`, with batches of any rank."""
    out = product(input, mat2)
    return out if out.ndim < 4 or out.flags.c_contiguous else np.ascontiguousarray(out)


for _batched in (bmm, paired_mm):
    _batched.vjp(input=lambda g, mat2: paired_mm(g, flipped(mat2)), mat2=lambda g, input: paired_mm(flipped(input), g))


# -------------------------------------------------------------------------------------------------------------- vectors


def _check_mv(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_mv_shapes(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{b.dtype.title}, {a.dtype.title}, and {b.dtype.title}"
        )
    refuse_bool(a, "addmv_impl_cpu")


def _check_mv_shapes(a: Any, b: Any) -> None:
    if not rank_of(a):
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if rank_of(a) != 2 or rank_of(b) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {max(rank_of(a) - 1, 1)}, {rank_of(a)}, {rank_of(b)}"
        )
    if a.shape[1] != b.shape[0]:
        n, k = a.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({b.shape[0]})")


def mv_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = values
    if batched[0] and batched[1]:
        return matmul(a, b.unsqueeze(-1)).squeeze(-1)
    return matmul(a, b) if batched[0] else matmul(b, flipped(a))


@contraction(linear=True, exact=SAME_OUT, check=_check_mv, vmap=mv_batch, samples=samples(real, [((3, 4), (4,))]))
def mv(xp: Any, input: Array, vec: Array) -> Array:
    """Product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1 or input.shape[1] != vec.shape[0]:
        _check_mv_shapes(input, vec)
    return product(input, vec)


mv.vjp(
    input=lambda g, vec: outer_product(g, vec),
    vec=lambda g, input: mv(call("transpose", input, 0, 1), g) if isinstance(g, Tensor) else product(input.T, g),
)


def _check_dot(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_vectors(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {a.dtype.title} and {b.dtype.title}"
        )
    _check_dot_shapes(a, b)
    refuse_bool(a, "dot")


def _check_vectors(a: Any, b: Any) -> None:
    if rank_of(a) != 1 or rank_of(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {rank_of(a)}D and {rank_of(b)}D tensors")


def _check_dot_shapes(a: Any, b: Any) -> None:
    _check_vectors(a, b)
    if a.shape[0] != b.shape[0]:
        n, m = a.shape[0], b.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but "
            f"got {n} and {m} elements respectively"
        )


def _dot_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = values
    if batched[0] and batched[1]:
        return matmul(a.unsqueeze(1), b.unsqueeze(2)).reshape((size,))
    return matmul(a, b) if batched[0] else matmul(b, a)


@contraction(
    linear=True, exact="result dtype {out} does not match input dtype {result}", check=_check_dot, vmap=_dot_batch,
    samples=samples(real, [((4,), (4,))]),
)  # fmt: skip
def dot(xp: Any, input: Array, tensor: Array) -> Array:
    """Sum of the products of two vectors' elements."""
    if input.ndim != 1 or tensor.ndim != 1 or input.shape != tensor.shape:
        _check_dot_shapes(input, tensor)
    return product(input, tensor)


dot.vjp(input=lambda g, tensor: g * tensor, tensor=lambda g, input: g * input)


def _vdot_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    return _dot_batch((conj(values[0]), values[1]), batched, size, params)


@contraction(
    holomorphic=False, exact="result dtype {out} does not match input dtype {result}", check=_check_dot,
    vmap=_vdot_batch, samples=samples(real, [((4,), (4,))]),
)  # fmt: skip
def vdot(xp: Any, input: Array, other: Array) -> Array:
    """As `dot`, with the first vector conjugated."""
    if input.ndim != 1 or other.ndim != 1 or input.shape != other.shape:
        _check_dot_shapes(input, other)
    return product(conj(input), other)


vdot.vjp(input=lambda g, other: conj(g) * other, other=lambda g, input: g * input)


# --------------------------------------------------------------------------------------------------------------- matmul


_mm, _mv, _dot = mm.public, mv.public, dot.public


def _matmul_fast(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product of two tensors, by PyTorch's rules for vectors, matrices and batches."""
    if input.__class__ in PLAIN and other.__class__ in PLAIN and out is None:
        if input.raw.ndim == 2 == other.raw.ndim:
            return _mm(input, other)
    return _matmul(input, other, out=out)


@composite(spelled="", name="matmul")
def _matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    for at, (name, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise TypeError(f"matmul(): argument '{name}' (position {at}) must be Tensor, not {type(x).__name__}")
    a, b = input.ndim, other.ndim
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    return into("matmul", _decided(input, other, a, b), out, (input, other), SAME_OUT)


def _decided(x: Any, y: Any, a: int, b: int) -> Any:
    if a == 2 and b == 2:
        return _mm(x, y)
    if a <= 2 and b <= 2:
        if b == 1:
            return _dot(x, y) if a == 1 else _mv(x, y)
        return _mm(x.unsqueeze(0), y).squeeze_(0)
    if b <= 2:
        return _folded(x, y, b)
    if a <= 2 and x.dtype is not y.dtype and not x.requires_grad:
        return _batches(x if a == 2 else x.unsqueeze(0), y)  # it is refused as what PyTorch does not fold
    if a == 1:
        return _folded(flipped(y), x, 1)
    return _flipped_fold(x, y) if a == 2 else _batches(x, y)


def _folded(x: Any, y: Any, b: int) -> Any:
    """A batch against one matrix or vector: the batch joins the rows."""
    shape = x.shape
    rows = x.reshape((prod(shape[:-1]), shape[-1]))
    if b == 2:
        return unsafe_view(_mm(rows, y), shape=(*shape[:-1], y.shape[-1]))
    return unsafe_view(_mv(rows, y), shape=tuple(shape[:-1]))


def _flipped_fold(x: Any, y: Any) -> Any:
    """One matrix against a batch: the batch, turned over, joins the rows."""
    return flipped(_folded(flipped(y), flipped(x), 2)).contiguous()


def _batches(x: Any, y: Any) -> Any:
    (*s, n, k), (*t, m, p) = x.shape, y.shape
    lead = tuple(s) if s == t else broadcast_shapes(tuple(s), tuple(t))
    if k != m:
        size = prod(lead)
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size}, {k}] but got: [{size}, {m}]."
        )
    if s != t:
        x = x if tuple(s) == lead else x.expand((*lead, n, k))
        y = y if tuple(t) == lead else y.expand((*lead, m, p))
        if len(lead) > 1:  # what is saved is then a copy, as in PyTorch: later changes of the operand do not spoil it
            x, y = x.reshape((prod(lead), n, k)), y.reshape((prod(lead), m, p))
    return unsafe_view(paired_mm.public(x, y), shape=(*lead, n, p))


matmul = _matmul_fast
matmul.__name__ = matmul.__qualname__ = "matmul"
_matmul.__wrapped__ = _matmul  # type: ignore[attr-defined]
spell("matmul", matmul, "fml")
