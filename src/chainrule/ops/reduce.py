"""Folding axes away: sums, products, extremes, logical folds, norms of vectors.

`dim` is an axis, several, or None for all; () means all too, except for `all` and `any`. 16-bit floats are accumulated
in 32 bits, sums and products of integers in 64. Where several elements share an extreme, the folds without indices
spread the gradient evenly over them, and those with indices give it to the one they point at.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from chainrule.config import settings
from chainrule.core.dtype import FLOAT, NARROW, OF_NUMPY, narrowed, result_type, wide, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import (
    MANY,
    as_column,
    call,
    common_dtype,
    dtype_of,
    front,
    ones_of,
    reduction,
    shape_of,
    sum_to,
)
from chainrule.core.op import Array, Number
from chainrule.core.public import composite, spell
from chainrule.core.samples import apart, either, integers, nonzero, real, samples
from chainrule.core.shape import normalize_dim, sum_to_size_axes
from chainrule.core.tensor import Tensor
from chainrule.ops.along import (
    SAME_OUT,
    axes_of,
    count,
    packed,
    placed,
    rank_of,
    restore_dtype,
    restored,
    sum_dtype,
    unfolded,
)
from chainrule.ops.arguments import one_of, read_ints
from chainrule.ops.arithmetic import check_difference
from chainrule.ops.compare import over
from chainrule.ops.scan import running_product
from chainrule.ops.writing import into

__all__ = [
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "count_nonzero", "dist", "evenly", "fold", "logsumexp",
    "max", "max_along", "mean", "min", "min_along", "nanmean", "nansum", "need_elements", "prod", "sum", "sum_to_size",
    "vector_norm",
]  # fmt: skip

PLAIN_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
one: list[tuple[Any, ...]] = [((3, 4),), ((),), ((2, 3, 2),)]
_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce
_everywhere: dict[str, list[Any]] = {"dim": [None, 0, (0,), (-1,)], "keepdim": [False, True]}
_one_axis: dict[str, list[Any]] = {"dim": [0, -1], "keepdim": [False, True]}


def check_keepdim(name: str, keepdim: Any) -> None:
    """A number in keepdim's place is a mistake: sum(0, 1) does not mean two axes."""
    if keepdim.__class__ is not bool:
        raise TypeError(f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}")


def fold(name: str, ufunc: Any, input: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Any:
    """A ufunc's reduction with PyTorch's dtypes."""
    check_keepdim(name, keepdim)
    want = sum_dtype(input, dtype)
    x = restore_dtype(input, wide(want))
    return packed(restore_dtype(ufunc(x, axes_of(dim, input.ndim), x.dtype, None, keepdim), want))


# ------------------------------------------------------------------------------------------------ sums and products


@reduction(
    linear=True, fills=True, exact=SAME_OUT, overload="dim", paired=("keepdim", "out"),
    samples=samples(real, one, **_everywhere),
)  # fmt: skip
def sum(xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Sum over the given axes, or over all."""
    if dtype is None and input.dtype in PLAIN_FLOATS:
        if dim is None and keepdim is False:
            return sum_of_all(input)
        if dim.__class__ is int and -input.ndim <= dim < input.ndim and keepdim.__class__ is bool:
            out = _add(input, dim, None, None, keepdim)
            return out if input.ndim < 3 else packed(out)
    return fold("sum", _add, input, dim, keepdim, dtype)


sum.vjp(input=lambda g, input_shape, dim: unfolded(as_scalar(g), input_shape, dim))


def sum_of_all(x: Array) -> Any:
    """The sum of all elements of an array of floats, as a scalar; of few through BLAS, in half the time."""
    n = x.size
    return ones_of(n, x.dtype).dot(x.reshape(n)) if n <= MANY and x.flags.c_contiguous else _add(x, axis=None)


def as_scalar(g: Any) -> Any:
    """A 0-d array as a NumPy scalar, whose arithmetic takes a tenth of the time."""
    return g[()] if g.__class__ is np.ndarray else g


def _if_asked(message: str) -> Any:
    """A dtype that was asked for must be that of `out=`."""
    return lambda params, **_: None if params["dtype"] is None else message


def _mean_dtype(input: Any, dtype: DType | None) -> DType:
    given = OF_NUMPY[input.dtype] if dtype is None else dtype
    if given.category < 2:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {given.title}"
        )
    return given


def _drops_imaginary(inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> bool:
    """Does a mean along axes go to a real target? PyTorch adds up in that dtype."""
    return params["dim"] is not None and inputs[0].dtype.is_complex and out.dtype.is_floating_point


@reduction(
    linear=True, fills=_drops_imaginary, exact=_if_asked(SAME_OUT), overload="dim", paired=("keepdim",),
    samples=samples(real, one, **_everywhere),
)  # fmt: skip
def mean(xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Mean over the given axes, or over all."""
    if dtype is None and input.dtype in PLAIN_FLOATS and input.size:
        if dim is None and keepdim is False:
            return sum_of_all(input) / input.size
        if dim.__class__ is int and -input.ndim <= dim < input.ndim and keepdim.__class__ is bool:
            out = _add(input, dim, None, None, keepdim) / input.shape[dim]
            return out if input.ndim < 3 else packed(out)
    want = _mean_dtype(input, dtype).numpy
    x = restore_dtype(input, wide(want))
    total = fold("mean", _add, x, dim, keepdim, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        return restore_dtype(total / x.dtype.type(count(input.shape, dim)), want)


mean.vjp(input=lambda g, input_shape, dim: unfolded(as_scalar(g) / (count(input_shape, dim) or 1), input_shape, dim))


_NANSUM_OUT = "nansum: provided dtype must match dtype of result. Got {out} and {result}."


def _check_nansum(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")


def _nansum_into(inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> bool:
    """Sums are made in the dtype of their target; of floats there is no kernel for integers."""
    if inputs[0].dtype.is_floating_point and out.dtype.category < 2:
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{out.dtype.title}'")
    return True


@reduction(
    check=_check_nansum, fills=_nansum_into, exact=_if_asked(_NANSUM_OUT),
    samples=samples(real, one, **_everywhere),
)  # fmt: skip
def nansum(xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Sum of what is not NaN."""
    if dtype is not None and dtype.is_complex and input.dtype.kind in "fV" and input.size:
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtype.title}'")
    zero = input.dtype.type(0)
    return fold("nansum", _add, xp.where(input == input, input, zero), dim, keepdim, dtype)


nansum.vjp(input=lambda g, input, input_shape, dim: unfolded(g, input_shape, dim) * (input == input))


@composite()
def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Mean of what is not NaN."""
    dim, keepdim = (dim if axis is None else axis), (keepdim if keepdims is None else keepdims)
    if dtype is not None and dtype.category < 2:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.title}"
        )
    if input.dtype.category < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.title}"
        )
    total = nansum(input, dim, keepdim, dtype=dtype)
    known = sum(input.detach() == input.detach(), dim, keepdim)
    exact = None if dtype is None else _NANSUM_OUT
    return into("nanmean", total / known, out, (input,), exact)  # type: ignore[no-any-return]


def _prod_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """Over all axes of each example: one axis of all its elements. (The axis of others is the family's to shift.)"""
    (x,) = values
    if params["dim"] is not None:
        return None
    out = prod(x.reshape((size, -1) if x.numel() else (size, 0)), 1, dtype=params["dtype"])
    return out.reshape((size, *(1,) * (rank_of(x) - 1))) if params["keepdim"] else out


@reduction(
    overload="dim",
    paired=("keepdim", "out"),
    fills=True,
    exact=SAME_OUT,
    vmap=_prod_batch,
    samples=either(samples(nonzero, one), samples(nonzero, one, dim=[0, -1], keepdim=[False, True])),
)
def prod(xp: Any, input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Array:
    """Product over one axis, or over all."""
    if dim is not None and not isinstance(dim, int):
        raise TypeError(
            f"prod() received an invalid combination of arguments: dim must be int, not {type(dim).__name__}"
        )
    if dim is None and keepdim:
        raise TypeError("prod() received an invalid combination of arguments: keepdim without dim")
    return fold("prod", _multiply, input, dim, keepdim, dtype)


def _prod_pull(g: Any, input: Any, out: Any, dim: int | None) -> Any:
    shape = tuple(input.shape)
    values = input.raw if input.__class__ is Tensor else input
    if values.__class__ is np.ndarray and values.all() and out is not None:
        return restored(g * out, shape, dim) / input
    if dim is not None or rank_of(input) < 2:
        return _others(unfolded(g, shape, dim), input, dim or 0)
    inner = prod(input, -1)
    return _others(unfolded(_prod_pull(g, inner, out, None), shape, -1), input, -1)


def _others(g: Any, input: Any, dim: int) -> Any:
    """g times the product of all others on the axis, without a division."""
    if not rank_of(input):
        return g
    return g * running_product(input, dim=dim, by=1) * running_product(input, dim=dim, by=-1)


prod.vjp(input=_prod_pull)


# ---------------------------------------------------------------------------------------------------------- extremes


def need_elements(name: str, shape: tuple[int, ...], dim: Any, all_error: type[Exception] = RuntimeError) -> None:
    if 0 not in shape:
        return
    axes = None if dim is None or (dim.__class__ is not int and not len(dim)) else axes_of(dim, len(shape))
    if axes is None:
        hint = " Specify the reduction dim with the 'dim' argument." if all_error is RuntimeError else ""
        raise all_error(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{hint}")
    for axis in axes:
        if not shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def refuse(kernel: str, *, complex: bool = True, bool: bool = False) -> Any:
    """A check that refuses dtypes as PyTorch's kernels do."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        dtype = inputs[0].dtype
        if (complex and dtype.is_complex) or (bool and dtype.name == "bool"):
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")

    return check


def evenly(g: Any, input: Any, out: Any, dim: Any, *, nan: bool = False) -> Any:
    """Spread g over the elements that equal the result; `nan`: a NaN equals a NaN."""
    shape = tuple(input.shape)
    top = restored(out, shape, dim)
    hit = input == top
    if not nan:
        return hit * (restored(g, shape, dim) / sum(hit, dim, True, dtype=dtype_of(g)))
    hit = hit | ((input != input) & (top != top))
    return call("where", hit, restored(g, shape, dim) / sum(hit, dim, True, dtype=dtype_of(g)), 0.0)


_MATCHING = (
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype."
)


def _check_extremes(name: str, kernel: str) -> Any:
    """Elements are asked for first; where there are none, nobody compares."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        if 0 in inputs[0].shape:
            need_elements(name, tuple(inputs[0].shape), params["dim"])
        else:
            axes_of(params["dim"], inputs[0].ndim)  # refuses axes that there are not, before the dtype is
            refuse(kernel)(inputs, params)

    return check


def _extreme(name: str, ufunc: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    check_keepdim(name, keepdim)
    need_elements(name, input.shape, dim)
    x = widened(input)
    return packed(restore_dtype(ufunc.reduce(x, axes_of(dim, input.ndim), keepdims=keepdim), input.dtype))


@reduction(check=_check_extremes("amax", "max_values_cpu"), exact=_MATCHING, samples=samples(apart, one, **_everywhere))
def amax(xp: Any, input: Array, dim: Any = (), keepdim: bool = False) -> Array:
    """The largest value over the given axes, or over all."""
    return _extreme("amax", xp.maximum, input, dim, keepdim)


@reduction(check=_check_extremes("amin", "min_values_cpu"), exact=_MATCHING, samples=samples(apart, one, **_everywhere))
def amin(xp: Any, input: Array, dim: Any = (), keepdim: bool = False) -> Array:
    """The smallest value over the given axes, or over all."""
    return _extreme("amin", xp.minimum, input, dim, keepdim)


amax.vjp(input=lambda g, input, out, dim: evenly(g, input, out, dim))
amin.vjp(input=lambda g, input, out, dim: evenly(g, input, out, dim))


def _check_aminmax(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    dtype, shape, dim = inputs[0].dtype, tuple(inputs[0].shape), params["dim"]
    hollow = [axis for axis in axes_of(dim, len(shape)) if not shape[axis]] if dim is not None and shape else []
    if hollow:
        raise IndexError(f"aminmax: Expected reduction dim {hollow[0]} to have non-zero size.")
    if dtype.is_complex and dim is not None and not shape:
        raise RuntimeError(f"aminmax not implemented for {dtype.title}")
    if dtype.is_complex:
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{dtype.title}'")
    if dim is None and 0 in shape:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )


@reduction(
    outs=("min", "max"),
    differentiable=(0, 1),
    check=_check_aminmax,
    exact=SAME_OUT,
    samples=samples(apart, one, dim=[None, 0], keepdim=[False, True]),
)
def aminmax(xp: Any, input: Array, *, dim: int | None = None, keepdim: bool = False) -> Array:
    """The smallest and the largest value."""
    return tuple(_extreme("aminmax", f, input, dim, keepdim) for f in (xp.minimum, xp.maximum))


aminmax.vjp(input=lambda g, input, min, max, dim: evenly(g[0], input, min, dim) + evenly(g[1], input, max, dim))


def _rows_of(x: Any, size: int) -> Any:
    return x.reshape((size, -1)) if 0 not in x.shape else x.reshape((size, 0))


def _max_all_batch(fold_name: str) -> Any:
    def run(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        return call(fold_name, _rows_of(values[0], size), dim=(1,))

    return run


@reduction(
    node={"T": "MaxBackward1"},
    check=refuse("max_all"),
    spelled="",
    vmap=_max_all_batch("amax"),
    samples=samples(apart, one),
)
def max_all(xp: Any, input: Array) -> Array:
    """The largest value."""
    return _extreme("max", xp.maximum, input, None, False)


@reduction(
    node={"T": "MinBackward1"},
    check=refuse("min_all"),
    spelled="",
    vmap=_max_all_batch("amin"),
    samples=samples(apart, one),
)
def min_all(xp: Any, input: Array) -> Array:
    """The smallest value."""
    return _extreme("min", xp.minimum, input, None, False)


max_all.vjp(input=lambda g, input, out: evenly(g, input, out, None, nan=True))
min_all.vjp(input=lambda g, input, out: evenly(g, input, out, None, nan=True))


def position(name: str, where: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
    """The first place of an extreme along an axis (kept if asked for), or of the whole, flattened."""
    check_keepdim(name, keepdim)
    need_elements(name, input.shape, dim, IndexError)
    x = widened(input)
    if dim is None:
        return where(x).reshape((1,) * input.ndim if keepdim else ())
    axis = normalize_dim(dim, input.ndim)
    if not input.ndim:
        return np.zeros_like(input, np.int64)
    return where(x, axis, keepdims=keepdim)


def _with_place(name: str, where: Any, input: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    need_elements(name, input.shape, normalize_dim(dim, input.ndim))
    if not input.ndim:
        return input.copy(), np.zeros_like(input, np.int64)
    place = position(name, where, input, dim, True)
    values = np.take_along_axis(input, place, dim)
    return (values, place) if keepdim else (values.squeeze(dim), place.squeeze(dim))


def pulled_to(g: Any, indices: Any, input_shape: Any, dim: int, keepdim: bool) -> Any:
    """Zeros with g at the places the fold chose."""
    shape = tuple(input_shape)
    axis = normalize_dim(dim, len(shape))
    if not keepdim:
        g, indices = restored(g, shape, axis), restored(indices, shape, axis)
    return placed(g, indices, dim=axis, shape=shape, unique=True)


@reduction(
    name="max",
    outs=("values", "indices"),
    exact=SAME_OUT,
    check=refuse("max"),
    spelled="",
    samples=samples(apart, one, **_one_axis),
)
def max_along(xp: Any, input: Array, dim: int, keepdim: bool = False) -> Array:
    """The largest values along an axis, and where they are."""
    return _with_place("max", xp.argmax, input, dim, keepdim)


@reduction(
    name="min",
    outs=("values", "indices"),
    exact=SAME_OUT,
    check=refuse("min"),
    spelled="",
    samples=samples(apart, one, **_one_axis),
)
def min_along(xp: Any, input: Array, dim: int, keepdim: bool = False) -> Array:
    """The smallest values along an axis, and where they are."""
    return _with_place("min", xp.argmin, input, dim, keepdim)


for _fold in (max_along, min_along):
    _fold.vjp(input=lambda g, indices, input_shape, dim, keepdim: pulled_to(g, indices, input_shape, dim, keepdim))


def _either(whole: Any, along: Any, pairwise: str, input: Any, *given: Any, out: Any = None, **named: Any) -> Any:
    """PyTorch's three readings of max and min: of all, along an axis, of two tensors."""
    name = along.op.name
    for numpy_name, own in (("axis", "dim"), ("keepdims", "keepdim")):
        if numpy_name in named:
            named[own] = named.pop(numpy_name)
    first = given[0] if given else named.get("dim", named.get("other"))
    if first is None and not given and not named:
        return whole.public(input, out=out)
    if isinstance(first, Tensor):
        return (
            call(pairwise, input, *given, **named, out=out)
            if out is not None
            else call(pairwise, input, *given, **named)
        )
    if not isinstance(first, (int, np.integer)) or isinstance(first, bool):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: dim must be int, not {type(first).__name__}"
        )
    return along.public(input, *given, **named, out=out)


@composite()
def max(input: Tensor, *given: Any, out: Any = None, **named: Any) -> Any:
    """max(x): the largest value; max(x, dim, keepdim=False): values and indices; max(x, other): element by element."""
    return _either(max_all, max_along, "maximum", input, *given, out=out, **named)


@composite()
def min(input: Tensor, *given: Any, out: Any = None, **named: Any) -> Any:
    """min(x): the smallest value; min(x, dim, keepdim=False): values and indices; min(x, other): element by element."""
    return _either(min_all, min_along, "minimum", input, *given, out=out, **named)


def _check_place(name: str) -> Any:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        dtype, dim = inputs[0].dtype, params["dim"]
        if dtype.is_complex or dtype.name == "bool":
            raise RuntimeError(f"{name}(): does not support {'complex' if dtype.is_complex else 'bool'} input")
        if dim is not None and not isinstance(dim, int):
            raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")

    return check


def _place_batch(name: str) -> Any:
    def run(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        (x,), dim, rank = values, params["dim"], rank_of(values[0]) - 1
        if dim is not None and rank:
            return call(name, x, 1 + normalize_dim(dim, rank), params["keepdim"])
        flat = call(name, _rows_of(x, size) if rank else as_column(x), 1)
        return call("view", flat, shape=(size, *(1,) * rank)) if params["keepdim"] and rank else flat

    return run


_places: dict[str, list[Any]] = {"dim": [None, 0, -1], "keepdim": [False, True]}


@reduction(
    check=_check_place("argmax"),
    integers="i",
    exact=SAME_OUT,
    vmap=_place_batch("argmax"),
    samples=samples(apart, one, **_places),
)
def argmax(xp: Any, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the largest value is: along an axis, or in the flattened whole."""
    return position("argmax", xp.argmax, input, dim, keepdim)


@reduction(
    check=_check_place("argmin"),
    integers="i",
    exact=SAME_OUT,
    vmap=_place_batch("argmin"),
    samples=samples(apart, one, **_places),
)
def argmin(xp: Any, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the smallest value is: along an axis, or in the flattened whole."""
    return position("argmin", xp.argmin, input, dim, keepdim)


# ----------------------------------------------------------------------------------------------------- logical folds


def _logical(name: str, ufunc: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    check_keepdim(name, keepdim)
    axes = () if dim is not None and not isinstance(dim, int) and not len(dim) else axes_of(dim, input.ndim)
    result = packed(ufunc.reduce(input != 0, axes, keepdims=keepdim))
    return result.astype(np.uint8) if input.dtype == np.uint8 else result


def _logical_batch(name: str) -> Any:
    def run(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        dim, rank = params["dim"], rank_of(values[0]) - 1
        if dim is None:
            dim = tuple(range(rank))
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if rank == 0:
            return call(name, values[0], ())
        return call(name, values[0], tuple([1 + normalize_dim(d, rank) for d in dims]), params["keepdim"])

    return run


def _truth(name: str) -> Any:
    message = f"{name} only supports bool tensor for result, got: {{out}}"
    return lambda out, **_: None if out.dtype.name == "uint8" else message


_truths: dict[str, list[Any]] = {"dim": [None, 0, (-1,)], "keepdim": [False, True]}


@reduction(vmap=_logical_batch("all"), exact=_truth("all"), samples=samples(integers(2), one, **_truths))
def all(xp: Any, input: Array, dim: Any = None, keepdim: bool = False) -> Array:
    """True where every element along the given axes (or of all) is nonzero."""
    return _logical("all", xp.logical_and, input, dim, keepdim)


@reduction(vmap=_logical_batch("any"), exact=_truth("any"), samples=samples(integers(2), one, **_truths))
def any(xp: Any, input: Array, dim: Any = None, keepdim: bool = False) -> Array:
    """True where some element along the given axes (or of all) is nonzero."""
    return _logical("any", xp.logical_or, input, dim, keepdim)


@reduction(samples=samples(integers(2), one, dim=[None, 0, (-1,)]))
def count_nonzero(xp: Any, input: Array, dim: Any = None) -> Array:
    """How many elements are not zero."""
    return packed(_add(input != 0, axes_of(dim, input.ndim), np.int64))


# ------------------------------------------------------------------------------------------- sums of exponentials


def _as_floating(input: Any) -> Any:
    return input if input.dtype.kind in "fcVW" else input.astype(settings.default_dtype.numpy)


@reduction(spelled="fms", samples=samples(real, one, dim=[0, (-1,)], keepdim=[False, True]))
def logsumexp(xp: Any, input: Array, dim: Any, keepdim: bool = False) -> Array:
    """The logarithm of the sum of exponentials, never leaving the range of the input."""
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' (position 2) must be tuple of ints, not NoneType")
    if dim.__class__ is not int and not keepdim and input.ndim and input.size and not len(dim):
        ones = [1] * input.ndim
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {ones}")
    x = _as_floating(input)
    x = widened(x)
    axes = axes_of(dim, input.ndim)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if not x.size:
            return restore_dtype(xp.log(_add(xp.exp(x), axes, keepdims=keepdim)), _as_floating(input).dtype)
        top = xp.maximum.reduce(x.real, axes, keepdims=True)
        top = xp.where(xp.isinf(top), x.real.dtype.type(0), top)
        out = xp.log(_add(xp.exp(x - top), axes, keepdims=True)) + top
    out = packed(out if keepdim else xp.squeeze(out, axes if x.ndim else ()))
    return restore_dtype(out, _as_floating(input).dtype)


logsumexp.vjp(
    input=lambda g, input, out, input_shape, dim: (
        restored(g, tuple(input_shape), dim) * call("exp", input - restored(out, tuple(input_shape), dim))
    )
)


# -------------------------------------------------------------------------------------------------- norms of vectors


def _check_vector_norm(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    dtype, given = inputs[0].dtype, params["dtype"]
    if dtype.category < 2:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype.title}"
        )
    if isinstance(params["ord"], complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if given is not None:
        _check_norm_dtype("linalg.vector_norm", dtype, given)


def _check_norm_dtype(name: str, dtype: DType, given: DType) -> None:
    if given.category < 2:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {given.title}")
    if dtype.is_complex != given.is_complex:
        kind = "complex" if dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {given.title}")
    if given.itemsize < dtype.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({dtype.title}) should be convertible without narrowing to the specified "
            f"dtype ({given.title})"
        )


def _refuse_empty_norm(order: float, shape: tuple[int, ...], dim: Any) -> None:
    text = f"{order:g}"
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {text} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    for axis in axes_of(dim, len(shape)):
        if not shape[axis]:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {text} norm on the dimension {axis} because this dimension is "
                "empty and the operation does not have an identity"
            )


def _powered(xp: Any, x: Any, order: float, axes: Any, keepdim: bool) -> Any:
    """The norm of absolute values."""
    if order == inf:
        return xp.maximum.reduce(x, axes, keepdims=keepdim)
    if order == -inf:
        return xp.minimum.reduce(x, axes, keepdims=keepdim)
    if order == 0:
        return _add(x != 0, axes, x.dtype, keepdims=keepdim)
    if order == 1:
        return _add(x, axes, keepdims=keepdim)
    if order == 2:
        return xp.sqrt(_add(x * x, axes, keepdims=keepdim))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _add(x**order, axes, keepdims=keepdim) ** (1.0 / order)


@reduction(
    name="linalg_vector_norm",
    exact=SAME_OUT,
    spelled="",
    holomorphic=False,
    check=_check_vector_norm,
    samples=samples(nonzero, one, ord=[2, 1, 3, 0.5, inf, 0], dim=[None, 0], keepdim=[False, True]),
)
def vector_norm(
    xp: Any, input: Array, ord: Number = 2, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    """The p-norm of the elements over the given axes, or over all."""
    if ord == 2 and dim is None and dtype is None and keepdim is False and input.dtype in PLAIN_FLOATS:
        return xp.sqrt(_add(input * input, axis=None))
    if not isinstance(ord, (int, float)):
        raise TypeError("ord")  # of the plain path: the careful one has the words
    if 0 in input.shape and (ord < 0 or ord == inf):
        _refuse_empty_norm(ord, input.shape, dim)
    check_keepdim("linalg_vector_norm", keepdim)
    x = input if dtype is None else restore_dtype(input, dtype.numpy)
    out = _powered(xp, abs(widened(x)), ord, axes_of(dim, input.ndim), keepdim)
    return packed(narrowed(out, x.dtype) if x.dtype in NARROW else out)


def norm_pull(g: Any, x: Any, norm: Any, p: float, dim: Any) -> Any:
    """g and norm line up with x. Subgradient 0 where the norm is 0; a count of elements has no gradient at all."""
    if p == 0:
        return None
    if p == 1:
        return call("sgn", x) * g
    if p == 2:
        return x * over(g, norm)
    if abs(p) == inf:
        hit = call("abs", x) == norm
        hit = hit + (x != x) * (norm != norm)
        return call("sgn", x) * hit * (g / sum(hit, dim, True, dtype=dtype_of(norm)))
    size = call("abs", x)
    if p < 1:
        scaled = call("sgn", x) * call("where", x == 0, 0.0, size ** (p - 1))
        return scaled * (g * norm ** (1 - p))
    scaled = call("sgn", x) * size ** (p - 1) if p < 2 else x * (size if p == 3 else size ** (p - 2))
    return scaled * over(g, norm ** (p - 1))


def _vector_norm_pull(g: Any, input: Any, out: Any, input_shape: Any, ord: Any, dim: Any) -> Any:
    shape = tuple(input_shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm_pull(restored(g, shape, dim), input, restored(out, shape, dim), ord, dim)


vector_norm.vjp(input=_vector_norm_pull)
spell("vector_norm", vector_norm.public, "l")


def _check_dist(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    check_difference(inputs, params)
    met = common_dtype(inputs)
    if met.category < FLOAT:
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {met.title} instead.")


def _dist_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, y = values
    rank = sorted([len(shape_of(v)) - b for v, b in zip(values, batched)])[-1]
    gap = call("sub", front(x, rank) if batched[0] else x, front(y, rank) if batched[1] else y)
    return vector_norm.public(call("reshape", gap, shape=(size, -1)), params["p"], 1)


@reduction(
    holomorphic=False,
    check=_check_dist,
    vmap=_dist_batched,
    samples=samples(real, [((3, 4), (3, 4)), ((3, 4), (4,))], p=[2, 1, 3]),
)
def dist(xp: Any, input: Array, other: Array, p: Number = 2) -> Array:
    """The p-norm of the difference of two tensors."""
    met = result_type([(OF_NUMPY[x.dtype], "dim" if x.ndim else "zero") for x in (input, other)])
    gap = abs(restore_dtype(input, met.numpy) - restore_dtype(other, met.numpy))
    if not gap.size and (p < 0 or p == inf):
        _refuse_empty_norm(p, gap.shape, None)
    if gap.dtype in NARROW:
        return _powered(xp, widened(gap), p, None, False).astype(gap.dtype)
    return _powered(xp, gap, p, None, False) if gap.size else xp.zeros((), gap.dtype)


def _dist_pull(g: Any, input: Any, other: Any, out: Any, p: Any, sign: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled = norm_pull(g, input - other, out, p, None)
    if pulled is None:
        return None
    return sum_to(pulled if sign > 0 else -pulled, tuple((input if sign > 0 else other).shape))


dist.vjp(
    input=lambda g, input, other, out, p: _dist_pull(g, input, other, out, p, 1),
    other=lambda g, input, other, out, p: _dist_pull(g, input, other, out, p, -1),
)


@composite("m", quick=True)
def sum_to_size(self: Tensor, *size: Any, **named: Any) -> Tensor:
    """Sum over the axes that broadcasting from `size` to the tensor's shape would add or stretch."""
    target = read_ints("sum_to_size", "size", one_of("sum_to_size", size, named, "size"))
    axes = sum_to_size_axes(tuple(self.shape), target)
    if not target:
        return sum(self)  # type: ignore[no-any-return]
    summed = sum(self, axes, True) if axes else self
    return call("view", summed, shape=target) if len(target) < self.ndim else summed
