"""Products with something added: `addmm` and its kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from chainrule.autograd.bind_inplace import inplace_of
from chainrule.core.blame import kind_of
from chainrule.core.dtype import NARROW, OF_NUMPY, c_name, result_type, widened
from chainrule.core.family import call, common_dtype, contraction, front, sum_to
from chainrule.core.notices import warn
from chainrule.core.op import Array, Number
from chainrule.core.public import spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import expand_shape
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops.along import SAME_OUT, rank_of, restore_dtype
from chainrule.ops.compare import refuse_overflow
from chainrule.ops.contract import (
    check_batches,
    check_multipliable,
    flipped,
    matmul,
    mm_left,
    mm_right,
    mv,
    mv_batch,
    outer_product,
    paired_mm,
    product,
    refuse_bool,
    times,
)

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]


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
        beta, alpha = (np.asarray(int(f)).astype(total.dtype) for f in (beta, alpha))  # -1 is 255 among bytes
    total = times(total, alpha)
    if beta == 0:
        _expanded(input, total.shape)
        return total
    return times(_expanded(input, total.shape), beta) + total


def _skipping(input: Any, total: Any, beta: Any, alpha: Any) -> Any:
    """The same by BLAS, where alpha 0 means that the product does not count either; it multiplies no 16-bit floats."""
    if alpha == 0 and total.dtype.kind in "fc" and total.dtype not in NARROW:
        total = np.zeros_like(total)
    return _added(input, total, beta, alpha)


def _check_sum(name: str, ranks: tuple[int, int], kernel: str, check: Any) -> Any:
    def run(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        input, a, b = inputs
        if name == "baddbmm" and rank_of(a) > 1 and rank_of(b) > 2:
            input.expand((a.shape[0], a.shape[1], b.shape[2]))  # before anything else is looked at
        if ranks == (2, 2) and input.dtype is not b.dtype:
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {input.dtype.title} and {b.dtype.title}"
            )
        check(a, b)
        if ranks == (3, 3) and not input.dtype is a.dtype is b.dtype:
            input.expand((a.shape[0], a.shape[1], b.shape[2]))
            if input.dtype is a.dtype:
                raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title}")
            raise RuntimeError(
                f"Input dtypes must be the same, got: input {c_name(input.dtype)}, batch1: "
                f"{c_name(a.dtype)}, batch2: {c_name(b.dtype)}"
            )
        titles = [t.dtype.title for t in inputs]
        if ranks == (2, 1) and len(set(titles)) > 1:
            raise RuntimeError(
                f"addmv input tensors must have the same dtype, but got {titles[0]}, {titles[1]}, and {titles[2]}"
            )
        if a.dtype is not b.dtype:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {titles[1]} and {titles[2]}")
        if input.dtype is not b.dtype:
            raise RuntimeError(f"self and mat2 must have the same dtype, but got {titles[0]} and {titles[2]}")
        refuse_bool(a, kernel)

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
    check_multipliable(a, b)


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
    return _skipping(input, product(mat1, mat2), beta, alpha)


addmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    mat1=lambda g, mat2, alpha: times(mm_left(g, mat2), alpha),
    mat2=lambda g, mat1, alpha: times(mm_right(g, mat1), alpha),
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
        lambda ab, batched, size: mv_batch(ab, batched, size, {}) if batched[0] or batched[1] else mv(*ab), 1
    ),
    samples=samples(real, [((3,), (3, 4), (4,)), ((), (3, 4), (4,))], beta=[1, 0.5], alpha=[1, 2]),
)
def addmv(xp: Any, input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (mat @ vec)."""
    _check_addmv_shapes(mat, vec)
    _check_addmv(input, mat, vec)
    return _skipping(input, product(mat, vec), beta, alpha)


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
    met = result_type([(OF_NUMPY[x.dtype], "dim" if x.ndim else "zero") for x in (input, vec1, vec2)]).numpy
    if input.dtype == np.bool_ and vec1.dtype == np.bool_ and vec2.dtype == np.bool_:
        both = outer_product(vec1, vec2) & bool(alpha)
        return both | (_expanded(input, both.shape) & bool(beta))
    vec1, vec2 = (restore_dtype(v, met) for v in (vec1, vec2))
    return _added(restore_dtype(input, met), outer_product(vec1, vec2), beta, alpha)


addr.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    vec1=lambda g, vec2, alpha: times(product(g, vec2), alpha),
    vec2=lambda g, vec1, alpha: times(product(flipped(g), vec1), alpha),
)


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("addbmm", (3, 3), "addbmm", check_batches),
    vmap=_sum_batch(lambda ab, batched, size: matmul(*ab).sum(-3), 2),
    samples=samples(real, [((3, 2), (2, 3, 4), (2, 4, 2))], beta=[1, 0.5], alpha=[1, 2]),
)
def addbmm(xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (the sum of the products of two batches of matrices)."""
    check_batches(batch1, batch2)
    b, n, k = batch1.shape
    rows = xp.swapaxes(batch1, 0, 1).reshape(n, b * k)
    return _skipping(input, product(rows, batch2.reshape(b * k, batch2.shape[2])), beta, alpha)


addbmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    batch1=lambda g, batch2, alpha: times(product(g, flipped(batch2)), alpha),
    batch2=lambda g, batch1, alpha: times(product(flipped(batch1), g), alpha),
)


@contraction(
    spelled="",
    exact=SAME_OUT,
    check=_check_sum("baddbmm", (3, 3), "baddbmm", partial(check_batches, added=True)),
    vmap=_sum_batch(lambda ab, batched, size: matmul(*ab), 3),
    samples=samples(
        real, [((2, 3, 2), (2, 3, 4), (2, 4, 2)), ((2,), (2, 3, 4), (2, 4, 2))], beta=[1, 0.5], alpha=[1, 2]
    ),
)
def baddbmm(xp: Any, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """beta * input + alpha * (the products of two batches of matrices, pair by pair)."""
    check_batches(batch1, batch2, added=True)
    small = batch1.shape[1] * batch1.shape[2] * batch2.shape[2] < 400  # too little for BLAS, PyTorch finds
    return (_added if small else _skipping)(input, product(batch1, batch2), beta, alpha)


baddbmm.vjp(
    input=lambda g, input_shape, beta: times(sum_to(g, tuple(input_shape)), beta),
    batch1=lambda g, batch2, alpha: times(paired_mm(g, flipped(batch2)), alpha),
    batch2=lambda g, batch1, alpha: times(paired_mm(flipped(batch1), g), alpha),
)


def _deprecated(name: str) -> None:
    warn(
        f"This overload of {name} is deprecated: give beta and alpha by name, after the tensors.",
        UserWarning,
    )


def _read_added(name: str, args: tuple[Any, ...], beta: Any, alpha: Any, inplace: bool = False) -> tuple[Any, ...]:
    """(input, a, b), beta, alpha; the numbers may stand among the tensors, which is PyTorch's older form."""
    numbers = [i for i, x in enumerate(args) if not isinstance(x, Tensor) and isinstance(x, (int, float, complex))]
    if not numbers:
        return args, beta, alpha
    tensors = tuple([x for i, x in enumerate(args) if i not in numbers])
    if len(tensors) != 3 or len(numbers) > 2:
        came = ", ".join([kind_of(x) for x in args])
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({came}), but expected three Tensors, "
            "and beta and alpha by name"
        )
    _deprecated(name + "_" * inplace)
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
