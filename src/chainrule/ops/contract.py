"""Sums of products: matrix products and their relatives.

Dtypes must agree, as in PyTorch; nothing is promoted. 16-bit floats are multiplied in 32 bits. `matmul` decides as
PyTorch does which product it is; a matrix against a batch folds the batch into the rows.
"""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from chainrule.autograd.bind_inplace import inplace_of
from chainrule.autograd.unfold import around, following, kept, split
from chainrule.core.dtype import NARROW, widened
from chainrule.core.family import call, common_dtype, contraction, front, general, sum_to
from chainrule.core.op import Array, Number
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import broadcast_shapes, expand_shape, normalize_dim
from chainrule.core.tensor import PLAIN, Tensor, fresh
from chainrule.ops.along import SAME_OUT, rank_of, sum_dtype
from chainrule.ops.compare import refuse_overflow
from chainrule.ops.views import unsafe_view
from chainrule.ops.writing import into

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "cross", "dot", "flipped", "inner", "kron",
    "linear", "matmul", "mm", "mv", "outer", "tensordot", "trace", "vdot",
]  # fmt: skip

_CPP = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool", "bfloat16": "c10::BFloat16",
}  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- helpers


def flipped(x: Any) -> Any:
    """The last two axes swapped, on arrays or tensors."""
    return call("transpose", x, -2, -1) if isinstance(x, Tensor) else np.swapaxes(x, -2, -1)


def product(a: Any, b: Any) -> Any:
    """The matrix product of arrays, 16-bit floats through 32 bits; of tensors, `matmul`."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return matmul(a, b)
    if a.dtype in NARROW:
        return np.asarray(np.matmul(widened(a), widened(b))).astype(a.dtype)
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


def _refuse_bool(x: Any, kernel: str) -> None:
    if x.dtype.name == "bool":
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _same_dtype(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_CPP[a.dtype.name]} != {_CPP[b.dtype.name]}"
        )


def _check_multipliable(a: Any, b: Any) -> None:
    if a.shape[1] != b.shape[0]:
        (n, k), (m, p) = a.shape, b.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")


# ------------------------------------------------------------------------------------------------- matrix by matrix


def _check_mm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_matrices(a, b)
    _same_dtype(a, b)
    _refuse_bool(a, "addmm_impl_cpu_")


def _check_matrices(a: Any, b: Any) -> None:
    for name, x in (("self", a), ("mat2", b)):
        if rank_of(x) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    _check_multipliable(a, b)


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
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != mat2.shape[0]:
        _check_matrices(input, mat2)
    return xp.dot(input, mat2) if input.dtype not in NARROW else product(input, mat2)


def _mm_left(g: Any, other: Any) -> Any:
    if isinstance(g, Tensor):
        return mm(g, call("transpose", other, 0, 1))
    return np.dot(g, other.T) if g.dtype not in NARROW else product(g, other.T)


def _mm_right(g: Any, other: Any) -> Any:
    if isinstance(g, Tensor):
        return mm(call("transpose", other, 0, 1), g)
    return np.dot(other.T, g) if g.dtype not in NARROW else product(other.T, g)


mm.vjp(input=lambda g, mat2: _mm_left(g, mat2), mat2=lambda g, input: _mm_right(g, input))


def _check_batches(a: Any, b: Any) -> None:
    for at, x in enumerate((a, b), 1):
        if rank_of(x) != 3:
            raise RuntimeError(f"batch{at} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )


def _check_bmm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_batches(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
    _refuse_bool(a, "bmm")


@contraction(
    linear=True, exact=SAME_OUT, check=_check_bmm, vmap=_matmul_batch, samples=samples(real, [((2, 3, 4), (2, 4, 2))])
)
def bmm(xp: Any, input: Array, mat2: Array) -> Array:
    """Products of the matrices of two batches, pair by pair."""
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        _check_batches(input, mat2)
    return product(input, mat2)


def _check_paired(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
    _refuse_bool(a, "bmm")


@contraction(
    linear=True, node="Bmm", check=_check_paired, vmap=_matmul_batch, spelled="",
    samples=samples(real, [((2, 3, 4), (2, 4, 2)), ((2, 1, 3, 4), (2, 1, 4, 2))]),
)  # fmt: skip
def paired_mm(xp: Any, input: Array, mat2: Array) -> Array:
    """As `bmm`, with batches of any rank."""
    return product(input, mat2)


for _batched in (bmm, paired_mm):
    _batched.vjp(input=lambda g, mat2: paired_mm(g, flipped(mat2)), mat2=lambda g, input: paired_mm(flipped(input), g))


# ------------------------------------------------------------------------------------------------ vectors


def _check_mv(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    _check_mv_shapes(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
    _refuse_bool(a, "addmv_impl_cpu")


def _check_mv_shapes(a: Any, b: Any) -> None:
    if rank_of(a) != 2 or rank_of(b) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {max(rank_of(a) - 1, 1)}, {rank_of(a)}, {rank_of(b)}"
        )
    if a.shape[1] != b.shape[0]:
        n, k = a.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({b.shape[0]})")


def _mv_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = values
    if batched[0] and batched[1]:
        return matmul(a, b.unsqueeze(-1)).squeeze(-1)
    return matmul(a, b) if batched[0] else matmul(b, flipped(a))


@contraction(linear=True, exact=SAME_OUT, check=_check_mv, vmap=_mv_batch, samples=samples(real, [((3, 4), (4,))]))
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
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {a.dtype.title} and {b.dtype.title}"
        )
    _check_dot_shapes(a, b)
    _refuse_bool(a, "dot")


def _check_dot_shapes(a: Any, b: Any) -> None:
    if rank_of(a) != 1 or rank_of(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {rank_of(a)}D and {rank_of(b)}D tensors")
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


@contraction(holomorphic=False, check=_check_dot, vmap=_vdot_batch, samples=samples(real, [((4,), (4,))]))
def vdot(xp: Any, input: Array, other: Array) -> Array:
    """As `dot`, with the first vector conjugated."""
    if input.ndim != 1 or other.ndim != 1 or input.shape != other.shape:
        _check_dot_shapes(input, other)
    return product(conj(input), other)


vdot.vjp(input=lambda g, other: conj(g) * other, other=lambda g, input: g * input)


# --------------------------------------------------------------------------------------------------------- matmul


_mm, _mv, _dot = mm.public, mv.public, dot.public


def _matmul_fast(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product of two tensors, by PyTorch's rules for vectors, matrices and batches."""
    if input.__class__ in PLAIN and other.__class__ in PLAIN and out is None:
        if len(input.raw.shape) == 2 and len(other.raw.shape) == 2:
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


# ------------------------------------------------------------------------------------------- products with addition


def _expanded(x: Any, shape: tuple[int, ...]) -> Any:
    """An addend in the shape of the product."""
    if x.shape == shape:
        return x
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        expand_shape(x.shape, x.strides, shape)  # raises in PyTorch's words
        raise


def _added(input: Any, total: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * total, where beta 0 means that input does not count, even a NaN."""
    if total.dtype in NARROW:
        return _added(widened(input), widened(total), beta, alpha).astype(total.dtype)
    if total.dtype.kind != "c":
        beta, alpha = (f.real if isinstance(f, complex) else f for f in (beta, alpha))
    if total.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    total = times(total, alpha)
    if beta == 0:
        _expanded(input, total.shape)
        return total
    return times(_expanded(input, total.shape), beta) + total


def _check_sum(name: str, ranks: tuple[int, int], kernel: str, check: Any) -> Any:
    def run(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        input, a, b = inputs
        check(a, b)
        if ranks == (3, 3) and not input.dtype is a.dtype is b.dtype:
            raise RuntimeError(
                f"Input dtypes must be the same, got: input {input.dtype.title}, batch1: "
                f"{a.dtype.title}, batch2: {b.dtype.title}"
            )
        _same_dtype(a, b)
        if input.dtype is not b.dtype:
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {input.dtype.title} and {b.dtype.title}"
            )
        _refuse_bool(a, kernel)

    return run


def _check_factors(name: str, dtype: Any, beta: Any, alpha: Any) -> None:
    """The factors must fit the result's dtype; all but `addr` cut what stands behind the point off."""
    for key, factor in (("beta", beta), ("alpha", alpha)):
        if name != "addr":
            refuse_overflow(factor, dtype)
            continue
        if isinstance(factor, bool) and dtype.category:
            raise RuntimeError(f"Boolean {key} only supported for Boolean results.")
        if isinstance(factor, float) and dtype.category < 2:
            raise RuntimeError(f"For integral input tensors, argument {key} must not be a floating point number.")
        if isinstance(factor, complex) and not dtype.is_complex:
            raise RuntimeError(f"For non-complex input tensors, argument {key} must not be a complex number.")


def _sum_batch(multiply: Any, rank: int) -> Any:
    """How input * beta + alpha * (a times b) runs on a batch."""

    def run(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        input, a, b = values
        total = times(multiply((a, b), batched[1:], size), params["alpha"])
        if params["beta"] == 0:
            return total if batched[1] or batched[2] else total.expand((size, *total.shape))
        return times(front(input, rank) if batched[0] else input, params["beta"]) + total

    return run


def _check_addmm_shapes(a: Any, b: Any) -> None:
    for name, x in (("mat1", a), ("mat2", b)):
        if rank_of(x) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {rank_of(x)}-D tensor")
    _check_multipliable(a, b)


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("addmm", (2, 2), "addmm_impl_cpu_", _check_addmm_shapes),
    vmap=_sum_batch(lambda ab, batched, size: matmul(*ab), 2),
    samples=samples(real, [((3, 2), (3, 4), (4, 2)), ((2,), (3, 4), (4, 2))], beta=[1, 0.5], alpha=[1, 2]),
)
def addmm(xp: Any, input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (mat1 @ mat2)."""
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        _check_addmm_shapes(mat1, mat2)
    return _added(input, product(mat1, mat2), beta, alpha)


addmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    mat1=lambda g, mat2, alpha: times(_mm_left(g, mat2), alpha),
    mat2=lambda g, mat1, alpha: times(_mm_right(g, mat1), alpha),
)


def _check_addmv_shapes(a: Any, b: Any) -> None:
    if rank_of(a) != 2 or rank_of(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {rank_of(a)}, {rank_of(b)}")


def _check_addmv(input: Any, a: Any, b: Any) -> None:
    n, k = a.shape
    if k != b.shape[0] or (rank_of(input) and input.shape[0] not in (1, n)) or rank_of(input) > 1:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({n}x{k}), vec ({b.shape[0]})")


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("addmv", (2, 1), "addmv_impl_cpu", _check_addmv_shapes),
    vmap=_sum_batch(
        lambda ab, batched, size: _mv_batch(ab, batched, size, {}) if batched[0] or batched[1] else mv(*ab), 1
    ),
    samples=samples(real, [((3,), (3, 4), (4,)), ((), (3, 4), (4,))], beta=[1, 0.5], alpha=[1, 2]),
)
def addmv(xp: Any, input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (mat @ vec)."""
    _check_addmv_shapes(mat, vec)
    _check_addmv(input, mat, vec)
    return _added(input, product(mat, vec), beta, alpha)


addmv.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    mat=lambda g, vec, alpha: times(outer_product(g, vec), alpha),
    vec=lambda g, mat, alpha: times(product(flipped(mat), g), alpha),
)


def _check_addr(a: Any, b: Any) -> None:
    for at, x in ((1, a), (2, b)):
        if rank_of(x) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{at}, but got {rank_of(x)}-D")


def _outer_batch(ab: Any, batched: Any, size: int) -> Any:
    a, b = ab
    return outer_product(a, b)


@contraction(
    spelled="",
    vmap=_sum_batch(_outer_batch, 2),
    samples=samples(real, [((3, 4), (3,), (4,)), ((4,), (3,), (4,))], beta=[1, 0.5], alpha=[1, 2]),
)
def addr(xp: Any, input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (the outer product of vec1 and vec2)."""
    _check_addr(vec1, vec2)
    if input.dtype == np.bool_ and vec1.dtype == np.bool_ and vec2.dtype == np.bool_:
        both = outer_product(vec1, vec2) & bool(alpha)
        return both | (_expanded(input, both.shape) & bool(beta))
    return _added(input, outer_product(vec1, vec2), beta, alpha)


addr.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    vec1=lambda g, vec2, alpha: times(product(g, vec2), alpha),
    vec2=lambda g, vec1, alpha: times(product(flipped(g), vec1), alpha),
)


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("addbmm", (3, 3), "addbmm", _check_batches),
    vmap=_sum_batch(lambda ab, batched, size: matmul(*ab).sum(-3), 2),
    samples=samples(real, [((3, 2), (2, 3, 4), (2, 4, 2))], beta=[1, 0.5], alpha=[1, 2]),
)
def addbmm(xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (the sum of the products of two batches of matrices)."""
    _check_batches(batch1, batch2)
    b, n, k = batch1.shape
    rows = xp.swapaxes(batch1, 0, 1).reshape(n, b * k)
    return _added(input, product(rows, batch2.reshape(b * k, batch2.shape[2])), beta, alpha)


addbmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    batch1=lambda g, batch2, alpha: times(product(g, flipped(batch2)), alpha),
    batch2=lambda g, batch1, alpha: times(product(flipped(batch1), g), alpha),
)


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("baddbmm", (3, 3), "baddbmm", _check_batches),
    vmap=_sum_batch(lambda ab, batched, size: matmul(*ab), 3),
    samples=samples(
        real, [((2, 3, 2), (2, 3, 4), (2, 4, 2)), ((2,), (2, 3, 4), (2, 4, 2))], beta=[1, 0.5], alpha=[1, 2]
    ),
)
def baddbmm(xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (the products of two batches of matrices, pair by pair)."""
    _check_batches(batch1, batch2)
    return _added(input, product(batch1, batch2), beta, alpha)


baddbmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    batch1=lambda g, batch2, alpha: times(paired_mm(g, flipped(batch2)), alpha),
    batch2=lambda g, batch1, alpha: times(paired_mm(flipped(batch1), g), alpha),
)


def _deprecated(name: str) -> None:
    warnings.warn(
        f"This overload of {name} is deprecated: give beta and alpha by name, after the tensors.",
        UserWarning,
        stacklevel=5,
    )


def _read_added(name: str, args: tuple[Any, ...], beta: Any, alpha: Any, inplace: bool = False) -> tuple[Any, ...]:
    """(input, a, b), beta, alpha; the numbers may stand among the tensors, which is PyTorch's older form."""
    numbers = [i for i, x in enumerate(args) if not isinstance(x, Tensor) and isinstance(x, (int, float, complex))]
    if not numbers:
        return args, beta, alpha
    _deprecated(name + "_" * inplace)
    tensors = tuple([x for i, x in enumerate(args) if i not in numbers])
    values = [args[i] for i in numbers]
    # torch.addmm(beta, M, alpha, a, b), torch.addmm(beta, M, a, b) and M.addmm(beta, alpha, a, b), M.addmm(beta, a, b)
    return tensors, values[0], values[1] if len(values) > 1 else alpha


def _public_sum(op_fn: Any) -> None:
    """An op's public forms: function, method and in place."""
    name, run, in_place = op_fn.op.name, op_fn.public, inplace_of(op_fn)

    def added(*args: Any, beta: Any = 1, alpha: Any = 1, out: Any = None, **named: Any) -> Any:
        if len(args) != 3 or named:
            args = (*args, *_named_tensors(op_fn.op, args, named))
        (input, a, b), beta, alpha = _read_added(name, args, beta, alpha)
        if (
            input.__class__ not in PLAIN
            or beta.__class__ is not int
            or alpha.__class__ is not int
            or input.dtype.category < 2
        ):
            input, a, b = _settled(name, input, a, b, beta, alpha)
        return run(input, a, b, beta=beta, alpha=alpha, out=out)

    def added_in_place(*args: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:
        if len(args) != 3 or named:
            args = (*args, *_named_tensors(op_fn.op, args, named))
        (input, a, b), beta, alpha = _read_added(name, args, beta, alpha, True)
        if isinstance(input, Tensor):
            _check_factors(name, input.dtype, beta, alpha)
        return in_place(input, a, b, beta=beta, alpha=alpha)

    added.__name__ = added.__qualname__ = name
    added_in_place.__name__ = added_in_place.__qualname__ = name + "_"
    added.__doc__ = op_fn.op.doc
    added.public = added  # type: ignore[attr-defined]
    spell(name, added, "fm")
    spell(name + "_", added_in_place, "m")


def _named_tensors(op: Any, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    missing = [n for n in op.inputs[len([a for a in args if isinstance(a, Tensor)]) :] if n not in named]
    if missing or set(named) - set(op.inputs):
        raise TypeError(f"{op.name}() received an invalid combination of arguments: wanted {', '.join(op.inputs)}")
    return [named[n] for n in op.inputs if n in named]


def _settled(name: str, input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> tuple[Any, Any, Any]:
    if not all(isinstance(t, Tensor) for t in (input, a, b)):
        return input, a, b
    if name == "addr":
        common = common_dtype((input, a, b))
        input, a, b = (t if t.dtype is common else call("to_dtype", t, dtype=common) for t in (input, a, b))
    _check_factors(name, input.dtype, beta, alpha)
    return input, a, b


for _sum in (addmm, addmv, addr, addbmm, baddbmm):
    _public_sum(_sum)


# ---------------------------------------------------------------------------------------------------------- linear


def _linear_dtypes(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    bias, x, weight = inputs if len(inputs) == 3 else (None, *inputs)
    _same_dtype(x, weight)
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {bias.dtype.title} and {x.dtype.title}")
    _refuse_bool(x, "addmm_impl_cpu_")


def _rows(x: Any) -> Any:
    return x if len(x.shape) == 2 else x.reshape((-1, x.shape[-1]) if x.shape[-1] else (prod(x.shape[:-1]), 0))


def _check_linear(x: Any, weight: Any) -> None:
    if x.shape[-1] != weight.shape[1]:
        n, k = prod(x.shape[:-1]), x.shape[-1]
        m, p = weight.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {p}x{m})")


def _linear(x: Any, weight: Any) -> Any:
    if x.shape[-1] != weight.shape[1]:
        _check_linear(x, weight)
    if len(x.shape) == 2:
        return product(x, weight.T)
    return product(_rows(x), weight.T).reshape((*x.shape[:-1], weight.shape[0]))


def _linear_biased(bias: Any, x: Any, weight: Any) -> Any:
    out = _linear(x, weight)
    if bias.ndim > out.ndim or (bias.ndim and bias.shape[-1] not in (1, out.shape[-1])):
        expand_shape(bias.shape, bias.strides, (prod(out.shape[:-1]), out.shape[-1]))
    if out.dtype in NARROW:
        return (widened(out) + widened(bias)).astype(out.dtype)
    return np.add(out, bias, out)


def _to_input(g: Any, weight: Any, shape: Any) -> Any:
    """The cotangent of a linear map's input: rows of g times the weight."""
    if len(shape) == 2:
        return mm(g, weight) if isinstance(g, Tensor) or g.dtype in NARROW else np.dot(g, weight)
    return product(_rows(g), weight).reshape(tuple(shape))


def _linear_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    bias, x, weight = values if len(values) == 3 else (None, *values)
    marks = batched if len(values) == 3 else (False, *batched)
    out = _linear_over_batch(x, weight, rank_of(x) - marks[1], marks)
    if bias is None:
        return out
    if not any(marks[1:]):
        out = out.unsqueeze(0)
    return out + (front(bias, rank_of(out) - 1) if marks[0] else bias)


def _linear_over_batch(x: Any, weight: Any, rank: int, marks: Any) -> Any:
    """Examples of a linear map, where `rank` is the rank of one example's input."""
    if not marks[2]:
        return matmul(x, flipped(weight))
    rows = x if rank > 1 else x.unsqueeze(-2)
    out = matmul(rows, front(flipped(weight), max(rank, 2)))
    return out if rank > 1 else out.squeeze(-2)


def _turned(g: Any) -> Any:
    return g if g is None else flipped(g) if isinstance(g, Tensor) else g.T


def _unfold_rows(node: Any) -> None:
    """PyTorch's graph of a linear map: a product with a transposed weight."""
    if node.edges[-1] is not None:
        following(node, len(node.edges) - 1, "TBackward0", _turned)
        around(node, lambda g: g, lambda gs: (*gs[:-1], _turned(gs[-1])))


def _unfold_batch(node: Any) -> None:
    """And of rows: the input is brought to a matrix before, the result to its shape after."""
    shape, biased = kept(node, "input_shape"), len(node.edges) == 3
    product_of_rows = split(node, "AddmmBackward0" if biased else "MmBackward0", _rows)
    at, turns = len(node.edges[0].edges) - 2, product_of_rows.edges[-1] is not None
    following(product_of_rows, at, "ViewBackward0", lambda g: g.reshape(tuple(shape)), rank=2 if biased else 1)
    following(product_of_rows, at + 1, "TBackward0", _turned, rank=1 if biased else 2)
    around(
        product_of_rows,
        lambda g: g.reshape((*shape[:-1], g.shape[-1])),
        lambda gs: (*gs[:at], gs[at] if gs[at] is None else _rows(gs[at]), _turned(gs[-1]) if turns else None),
    )


_linear_facts: dict[str, Any] = {"check": _linear_dtypes, "vmap": _linear_batch, "spelled": ""}


@contraction(node="Addmm", unfold=_unfold_rows, samples=samples(real, [((2,), (3, 4), (2, 4))]), **_linear_facts)
def linear_rows(xp: Any, bias: Array, input: Array, weight: Array) -> Array:
    """x @ weight.T + bias, of a matrix."""
    if input.shape[1] != weight.shape[1] or bias.shape != weight.shape[:1] or input.dtype in NARROW:
        return _linear_biased(bias, input, weight)
    out = xp.dot(input, weight.T)
    return xp.add(out, bias, out)


@contraction(
    node="View",
    unfold=_unfold_batch,
    samples=samples(real, [((2,), (2, 3, 4), (2, 4)), ((2,), (4,), (2, 4))]),
    **_linear_facts,
)
def linear_batch(xp: Any, bias: Array, input: Array, weight: Array) -> Array:
    """x @ weight.T + bias, of a vector or a batch."""
    return _linear_biased(bias, input, weight)


@contraction(node="Mm", unfold=_unfold_rows, linear=True, samples=samples(real, [((3, 4), (2, 4))]), **_linear_facts)
def linear_rows_plain(xp: Any, input: Array, weight: Array) -> Array:
    """x @ weight.T, of a matrix."""
    return _linear(input, weight)


@contraction(
    node="UnsafeView", unfold=_unfold_batch, linear=True, samples=samples(real, [((2, 3, 4), (2, 4))]), **_linear_facts
)
def linear_batch_plain(xp: Any, input: Array, weight: Array) -> Array:
    """x @ weight.T, of a vector or a batch."""
    return _linear(input, weight)


for _form in (linear_rows, linear_batch):
    _form.vjp(
        bias=lambda g, bias_shape: sum_to(g, tuple(bias_shape)),
        input=lambda g, weight, input_shape: _to_input(g, weight, input_shape),
        weight=lambda g, input: _to_weight_of(g, input),
    )
for _form in (linear_rows_plain, linear_batch_plain):
    _form.vjp(
        input=lambda g, weight, input_shape: _to_input(g, weight, input_shape),
        weight=lambda g, input: _to_weight_of(g, input),
    )


def _to_weight_of(g: Any, x: Any) -> Any:
    """The cotangent of the weight: g transposed times the input, over all rows."""
    rows_g, rows_x = (g, x) if len(x.shape) == 2 else (_rows(g), _rows(x))
    return _mm_right(rows_x, rows_g)


_linear_rows, _linear_nd = linear_rows.public, linear_batch.public
_linear_rows_plain, _linear_nd_plain = linear_rows_plain.public, linear_batch_plain.public


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias: rows of the weight are outputs."""
    if input.__class__ in PLAIN and weight.__class__ in PLAIN and (bias is None or bias.__class__ in PLAIN):
        if len(weight.raw.shape) == 2:
            rank = len(input.raw.shape)
            if rank == 2:
                return _linear_rows_plain(input, weight) if bias is None else _linear_rows(bias, input, weight)
            if rank:
                return _linear_nd_plain(input, weight) if bias is None else _linear_nd(bias, input, weight)
    return _linear_unusual(input, weight, bias)


@composite(spelled="", name="linear")
def _linear_unusual(input: Any, weight: Any, bias: Any = None) -> Any:
    for at, (name, x) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(x, Tensor) and not (x is None and at == 3):
            raise TypeError(f"linear(): argument '{name}' (position {at}) must be Tensor, not {type(x).__name__}")
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 2:
        forms = (_linear_rows_plain, _linear_rows) if input.ndim == 2 else (_linear_nd_plain, _linear_nd)
        return forms[0](input, weight) if bias is None else forms[1](bias, input, weight)
    out = matmul(input, weight if weight.ndim == 1 else flipped(weight))
    return out if bias is None else out + bias


spell("linear", linear, "n")


@composite(spelled="n")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k], for each output k."""
    _check_bilinear(input1, input2, weight, bias)
    left = product(input1.reshape((-1, input1.shape[-1])), weight.permute(1, 0, 2).reshape((weight.shape[1], -1)))
    parts = left.reshape((-1, weight.shape[0], weight.shape[2]))
    out = matmul(parts, input2.reshape((-1, input2.shape[-1], 1)))
    out = out.reshape((*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias  # type: ignore[no-any-return]


def _check_bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if a.ndim != b.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {a.ndim} and {b.ndim}")
    for i in range(a.ndim - 1):
        if a.shape[i] != b.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {a.shape[i]} and {b.shape[i]}"
            )
    for at, x in ((1, a), (2, b)):
        if x.shape[-1] != weight.shape[at]:
            raise RuntimeError(
                f"bilinear(): input{at} size does not match weight size: got {x.shape[-1]} but "
                f"expected {weight.shape[at]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )


# -------------------------------------------------------------------------------------------------- composed products


def _outer(input: Any, vec2: Any, out: Any) -> Any:
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return into("outer", input.reshape((input.shape[0], 1)) * vec2, out, (input, vec2))


@composite()
def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """All products of one element of each of two vectors."""
    return _outer(input, vec2, out)  # type: ignore[no-any-return]


@composite()
def ger(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """Another name of `outer`."""
    return _outer(input, vec2, out)  # type: ignore[no-any-return]


@composite()
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Sums of products over the last axes."""
    if not input.ndim or not other.ndim:
        return into("inner", input * other, out, (input, other))
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return into("inner", tensordot(input, other, ([-1], [-1])), out, (input, other))


def _contracted_axes(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return first, second


def _check_contracted(a: Tensor, b: Tensor, first: list[int], second: list[int]) -> None:
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(first, second):
        n, m = a.shape[normalize_dim(i, a.ndim)], b.shape[normalize_dim(j, b.ndim)]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )


@composite(spelled="f")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sums of products over the given axes of two tensors."""
    first, second = _contracted_axes(a, b, dims)
    _check_contracted(a, b, first, second)
    first, second = [normalize_dim(d, a.ndim) for d in first], [normalize_dim(d, b.ndim) for d in second]
    x, y = _without_stretched(a, b, first, second)
    kept_a, kept_b = [d for d in range(a.ndim) if d not in first], [d for d in range(b.ndim) if d not in second]
    inner_size = prod([x.shape[d] for d in first])
    sizes_a, sizes_b = [x.shape[d] for d in kept_a], [y.shape[d] for d in kept_b]
    if not kept_a and not kept_b:
        order = second if first == sorted(first) else [second[i] for i in np.argsort(first)]
        flat = x.reshape((inner_size,)), (y if order == sorted(order) else y.permute(order)).reshape((inner_size,))
        return into("tensordot", _dot(*flat).reshape(()), out, (a, b))  # type: ignore[no-any-return]
    left = x.permute((*kept_a, *first)).reshape((prod(sizes_a), inner_size))
    right = y.permute((*second, *kept_b)).reshape((inner_size, prod(sizes_b)))
    return into("tensordot", _mm(left, right).reshape((*sizes_a, *sizes_b)), out, (a, b))  # type: ignore[no-any-return]


def _without_stretched(a: Any, b: Any, first: list[int], second: list[int]) -> tuple[Any, Any]:
    """Where one contracted size is 1, the other is summed."""
    for i, j in zip(first, second):
        if a.shape[i] == 1 and b.shape[j] != 1:
            b = b.sum(j, keepdim=True)
        elif b.shape[j] == 1 and a.shape[i] != 1:
            a = a.sum(i, keepdim=True)
    return a, b


@composite()
def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The Kronecker product."""
    rank = max(input.ndim, other.ndim)
    a, b = ((1,) * (rank - x.ndim) + tuple(x.shape) for x in (input, other))
    x = input.reshape([n for s in a for n in (s, 1)])
    y = other.reshape([n for s in b for n in (1, s)])
    result = unsafe_view(x * y, shape=tuple([n * m for n, m in zip(a, b)]))
    return into("kron", result, out, (input, other))  # type: ignore[no-any-return]


@composite(spelled="f")
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of matrices, in the cheapest order (use linalg.multi_dot)."""
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
        UserWarning,
        stacklevel=3,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    given = tuple(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    for m in given:
        if m.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {m.ndim}, expected 2 instead.")
    result: Tensor = given[0] if len(given) == 1 else in_best_order(list(given))
    return into("chain_matmul", result, out, given)


def in_best_order(matrices: list[Any]) -> Any:
    """The product of matrices that fit, parenthesised to cost least."""
    if len(matrices) == 2:
        return _mm(*matrices)
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    split = _cheapest(sizes)

    def multiplied(i: int, j: int) -> Any:
        if i == j:
            return matrices[i]
        return _mm(multiplied(i, split[i, j]), multiplied(split[i, j] + 1, j))

    return multiplied(0, len(matrices) - 1)


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For each run of matrices, after which one to split it."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            tries = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            split[i, j] = min(tries, key=tries.__getitem__)
            cost[i, j] = tries[split[i, j]]
    return split


# ----------------------------------------------------------------------------------------------------- cross, trace


def _rolled(x: Any, dim: int, first: int) -> Any:
    """The components (first, first + 1, first + 2) mod 3 along an axis."""
    order = [(first + i) % 3 for i in range(3)]
    return call("index_select", x, dim, fresh(np.array(order))) if isinstance(x, Tensor) else np.take(x, order, dim)


def _crossed(a: Any, b: Any, dim: int) -> Any:
    return _rolled(a, dim, 1) * _rolled(b, dim, 2) - _rolled(a, dim, 2) * _rolled(b, dim, 1)


def _check_cross(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    if a.dtype is not b.dtype:
        raise RuntimeError(f"Expected all tensors to have the same dtype, but got {a.dtype.title} and {b.dtype.title}")


def _check_cross_shapes(a: Any, b: Any, dim: int) -> None:
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    normalize_dim(dim, a.ndim)
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[dim]} and {b.shape[dim]}"
        )


def _cross_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    a, b = (v if is_batched else v.unsqueeze(0) for v, is_batched in zip(values, batched))
    return linalg_cross(a, b, dim=1 + normalize_dim(params["dim"], rank_of(a) - 1))


@contraction(
    spelled="", check=_check_cross, vmap=_cross_batch, samples=samples(real, [((2, 3), (2, 3)), ((1, 3), (2, 3))])
)
def linalg_cross(xp: Any, input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross product along an axis of length 3."""
    _check_cross_shapes(input, other, dim)
    return _crossed(input, other, dim)


linalg_cross.vjp(
    input=lambda g, other, input_shape, dim: sum_to(linalg_cross(other, g, dim=dim), tuple(input_shape)),
    other=lambda g, input, other_shape, dim: sum_to(linalg_cross(g, input, dim=dim), tuple(other_shape)),
)
spell("cross", linalg_cross.public, "l")


@composite()
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product along an axis; by default along the first of length 3."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
            "linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return into("cross", linalg_cross(input, other, dim=dim), out, (input, other))  # type: ignore[no-any-return]


def _eye_like(g: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(g, Tensor):
        return fresh(np.eye(*shape, dtype=g.dtype.numpy))
    return np.eye(*shape, dtype=g.dtype)


@general(
    linear=True,
    vmap=lambda values, batched, size, params: call("diagonal", values[0], 0, 1, 2).sum(-1),
    samples=samples(real, [((3, 3),), ((2, 4),)]),
)
def trace(xp: Any, input: Array) -> Array:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype in NARROW:
        return xp.trace(widened(input)).astype(input.dtype)
    return xp.trace(input, dtype=sum_dtype(input, None))


trace.vjp(input=lambda g, input_shape: _eye_like(g, tuple(input_shape)) * g)
