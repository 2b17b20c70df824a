"""Running values along an axis: sums, products, extremes, and what is made of them.

The products rest on two private ops that are closed under differentiation, so that products with zeros have derivatives
of every order: `moved`, a shift along an axis, and `recurrence`, s[i] = b[i] + a[i] s[i - 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core.dtype import c_name, wide
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, scan
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import apart, nonzero, real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT, lined_up, placed, rank_of, restore_dtype, sum_dtype
from chainrule.ops.writing import into

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp", "moved", "recurrence",
    "running_product", "trapezoid",
]  # fmt: skip

_rows: list[tuple[Any, ...]] = [((3, 4),), ((),), ((2, 3, 2),)]


def _axis_last(x: Any, dim: int) -> Any:
    return np.moveaxis(x, dim, 0)


# ------------------------------------------------------------------------------------------------ the two machines


@scan(linear=True, spelled="", samples=samples(real, [((3, 4),)], dim=[0, 1], by=[1, -1]))
def moved(xp: Any, input: Array, *, dim: int, by: int) -> Array:
    """Every value one place further along `dim` (`by` 1) or back (-1); zero where none comes in."""
    out = xp.zeros_like(input)
    if input.ndim and input.shape[dim]:
        to, source = _axis_last(out, dim), _axis_last(input, dim)
        if by > 0:
            to[1:] = source[:-1]
        else:
            to[:-1] = source[1:]
    return out


moved.vjp(input=lambda g, dim, by: moved(g, dim=dim, by=-by))


def _recurrence_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    b, a = lined_up(values, batched, size)
    rank = rank_of(b) - 1
    return b if rank == 0 else recurrence(b, a, **{**params, "dim": 1 + normalize_dim(params["dim"], rank)})


@scan(spelled="", vmap=_recurrence_batch, samples=samples(real, [((3, 4), (3, 4))], dim=[0, 1], by=[1, -1]))
def recurrence(xp: Any, input: Array, other: Array, *, dim: int, by: int) -> Array:
    """s[i] = input[i] + other[i] s[i - by], along `dim`, from the first place (`by` 1) or the last (-1)."""
    out = input.copy()
    if not out.ndim:
        return out
    s, a = _axis_last(out, dim), _axis_last(other, dim)
    order = range(1, len(s)) if by > 0 else range(len(s) - 2, -1, -1)
    for i in order:
        s[i] += a[i] * s[i - by]
    return out


def _recurred(g: Any, other: Any, dim: int, by: int) -> Any:
    """The cotangent of the right-hand sides: the same recurrence, backwards."""
    return recurrence(g, moved(other, dim=dim, by=-by), dim=dim, by=-by)


recurrence.vjp(
    input=lambda g, other, dim, by: _recurred(g, other, dim, by),
    other=lambda g, other, out, dim, by: _recurred(g, other, dim, by) * moved(out, dim=dim, by=by),
)


@scan(spelled="", samples=samples(real, [((3, 4),)], dim=[0, 1], by=[1, -1]))
def running_product(xp: Any, input: Array, *, dim: int, by: int) -> Array:
    """The product of all values before each place (`by` 1) or after it (-1)."""
    out = xp.ones_like(input)
    if not input.ndim:
        return out
    to, source = _axis_last(out, dim), _axis_last(input, dim)
    if len(source) > 1:
        if by > 0:
            xp.multiply.accumulate(source[:-1], 0, None, to[1:])
        else:
            xp.multiply.accumulate(source[:0:-1], 0, None, to[-2::-1])
    return out


running_product.vjp(
    input=lambda g, input, out, dim, by: (
        out * recurrence(moved(g, dim=dim, by=-by), moved(input, dim=dim, by=-by), dim=dim, by=-by)
    )
)


# ------------------------------------------------------------------------------------------------ sums and products


def _accumulated(xp: Any, ufunc: Any, input: Any, dim: int, dtype: DType | None) -> Any:
    want = sum_dtype(input, dtype)
    x = restore_dtype(input, wide(want))
    axis = normalize_dim(dim, input.ndim)
    if want == np.bool_ and input.ndim and input.size:
        name = "cumsum" if ufunc is np.add else "cumprod"
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    out = np.ascontiguousarray(ufunc.accumulate(x, axis, x.dtype)) if input.ndim else x.copy()
    return restore_dtype(out, want)


def _write_running(ufunc: Any) -> Any:
    """How `cumsum_` and `cumprod_` write: what runs along the axis has the target's dtype."""

    def write(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        target, asked = inputs[0], params["dtype"]
        if asked is not None and asked is not target.dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {c_name(target.dtype)} and output tensor dtype "
                f"{c_name(asked)} should match"
            )
        result = _accumulated(xp, ufunc, target.raw, params["dim"], target.dtype)
        memory.refuse_overlap(target.raw)
        target.raw[...] = result

    return write


def _backwards_sum(g: Any, dim: int) -> Any:
    """From each place to the end."""
    if not rank_of(g):
        return g
    if isinstance(g, Tensor):
        return call("flip", cumsum(call("flip", g, dims=(dim,)), dim), dims=(dim,))
    return np.flip(np.add.accumulate(np.flip(g, dim), dim, g.dtype), dim)


@scan(
    linear=True, fills=True, exact=SAME_OUT, spelled="fmi", write=_write_running(np.add),
    samples=samples(real, _rows, dim=[0, -1]),
)  # fmt: skip
def cumsum(xp: Any, input: Array, dim: int, *, dtype: DType | None = None) -> Array:
    """The running sum along an axis."""
    return _accumulated(xp, xp.add, input, dim, dtype)


cumsum.vjp(input=lambda g, dim: _backwards_sum(g, dim))


@scan(
    fills=True, exact=SAME_OUT, spelled="fmi", write=_write_running(np.multiply),
    samples=samples(nonzero, _rows, dim=[0, -1]),
)  # fmt: skip
def cumprod(xp: Any, input: Array, dim: int, *, dtype: DType | None = None) -> Array:
    """The running product along an axis."""
    return _accumulated(xp, xp.multiply, input, dim, dtype)


def _cumprod_pull(g: Any, input: Any, out: Any, dim: int) -> Any:
    if not rank_of(g):
        return g
    if not isinstance(g, Tensor) and input.all():
        return _backwards_sum(g * out, dim) / input
    tail = recurrence(g, moved(input, dim=dim, by=-1), dim=dim, by=-1)
    return tail * running_product(input, dim=dim, by=1)


cumprod.vjp(input=_cumprod_pull)


# ------------------------------------------------------------------------------------------------ running extremes

_SCALAR = "expected scalar_type {result} but found {out}"


def _check_extreme(name: str) -> Any:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        dtype = inputs[0].dtype
        if dtype.is_complex:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtype.title}'")
        dim = params["dim"]
        if inputs[0].ndim == 0 and isinstance(dim, int) and dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")

    return check


def _axis(dim: int, shape: tuple[int, ...]) -> int:
    """The axis along which the extremes run; where there are no elements nobody asks whether there is one."""
    return 0 if 0 in shape and isinstance(dim, int) else normalize_dim(dim, len(shape))


def _placed_back(g: Any, indices: Any, input_shape: Any, dim: int) -> Any:
    return placed(g, indices, dim=normalize_dim(dim, len(input_shape)), shape=tuple(input_shape))


@scan(
    outs=("values", "indices"),
    check=_check_extreme("cummax"),
    exact=_SCALAR,
    samples=samples(apart, _rows, dim=[0, -1]),
)
def cummax(xp: Any, input: Array, dim: int) -> Array:
    """The largest value so far along an axis, and where it was."""
    return xp.sorting.cummax(input, _axis(dim, input.shape))


@scan(
    outs=("values", "indices"),
    check=_check_extreme("cummin"),
    exact=_SCALAR,
    samples=samples(apart, _rows, dim=[0, -1]),
)
def cummin(xp: Any, input: Array, dim: int) -> Array:
    """The smallest value so far along an axis, and where it was."""
    return xp.sorting.cummin(input, _axis(dim, input.shape))


cummax.vjp(input=lambda g, indices, input_shape, dim: _placed_back(g, indices, input_shape, dim))
cummin.vjp(input=lambda g, indices, input_shape, dim: _placed_back(g, indices, input_shape, dim))


# --------------------------------------------------------------------------------------------- sums of exponentials


def _check_logcumsumexp(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    dtype = inputs[0].dtype
    normalize_dim(params["dim"], inputs[0].ndim)
    if dtype.category < 2:
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{dtype.title}'")


@scan(check=_check_logcumsumexp, exact=_SCALAR, samples=samples(real, _rows, dim=[0, -1]))
def logcumsumexp(xp: Any, input: Array, dim: int) -> Array:
    """The logarithm of the running sum of exponentials along an axis."""
    axis = normalize_dim(dim, input.ndim)
    return xp.sorting.logcumsumexp(input, axis)


def _logcumsumexp_pull(g: Any, input: Any, out: Any, dim: int) -> Any:
    """The sum over k >= i of g[k] exp(x[i] - out[k]): a recurrence with factors exp(out[i] - out[i + 1]) below 1."""
    if not rank_of(g):
        return g
    inner = moved(call("ones_like", out), dim=dim, by=-1) != 0  # the last has none after it, and what it has is large
    later = call("where", inner, moved(out, dim=dim, by=-1), out)
    factors = call("exp", call("where", out == later, 0.0, out - later))
    return call("exp", input - out) * recurrence(g, factors, dim=dim, by=-1)


logcumsumexp.vjp(input=_logcumsumexp_pull)


# ------------------------------------------------------------------------------------- differences and trapezoids


def _narrowed(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    result: Tensor = x.narrow(dim, start, length)
    return result


def _check_diff(input: Tensor, n: int, dim: int, extras: tuple[Any, ...]) -> None:
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    along = normalize_dim(dim, input.ndim)
    for extra in extras:
        if extra is None:
            continue
        if extra.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for at, (want, have) in enumerate(zip(input.shape, extra.shape)):
            if want != have and at != along:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({at}) = {want}, but got tensor.size({at}) = {have}"
                )


@composite()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The n-th differences of neighbours along an axis."""
    _check_diff(input, n, dim, (prepend, append))
    parts = [p for p in (prepend, input, append) if p is not None]
    x = input if len(parts) == 1 else call("cat", parts, dim=dim)
    n = min(n, x.shape[dim])
    for _ in range(n):
        rest = x.shape[dim] - 1
        a, b = _narrowed(x, dim, 1, rest), _narrowed(x, dim, 0, rest)
        x = call("logical_xor", a, b) if x.dtype.category == 0 else a - b
    return into("diff", x.clone() if x is input and n == 0 else x, out, (input,))


def _areas(y: Tensor, x: Any, dx: Any, dim: int, name: str) -> Tensor:
    """Twice the area under the curve between each pair of neighbours."""
    dim = normalize_dim(dim, y.ndim, wrap_scalar=False)
    size = y.shape[dim]
    left, right = _narrowed(y, dim, 0, max(size - 1, 0)), _narrowed(y, dim, 1 if size else 0, max(size - 1, 0))
    if x is None:
        return (left + right) * dx  # type: ignore[no-any-return]
    steps = diff(_abscissae(y, x, dim, name), dim=dim if x.ndim == y.ndim else -1)
    if x.ndim < y.ndim and x.ndim == 1:
        steps = steps.reshape([-1 if a == dim else 1 for a in range(y.ndim)])
    return (left + right) * steps


def _abscissae(y: Tensor, x: Tensor, dim: int, name: str) -> Tensor:
    if x.ndim == 1 and x.shape[0] != y.shape[dim]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    return x


@composite(spelled="f")
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The area under sampled curves, by trapezoids."""
    _either("trapezoid", x, dx)
    if y.ndim and not y.shape[normalize_dim(dim, y.ndim)]:
        return y.sum(dim)
    areas = _areas(y, x, 1 if dx is None else dx, dim, "trapezoid")
    return areas.sum(normalize_dim(dim, y.ndim)) / 2.0


def _either(name: str, x: Any, dx: Any) -> None:
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: give x or dx, not both")


@composite(spelled="f")
def trapz(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Another name of `trapezoid`."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(spelled="f")
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The running area under sampled curves, by trapezoids."""
    _either("cumulative_trapezoid", x, dx)
    areas = _areas(y, x, 1 if dx is None else dx, dim, "cumulative_trapezoid")
    sums: Tensor = cumsum(areas, normalize_dim(dim, y.ndim))
    return sums / 2.0
