"""What describes a sample: variance, median, quantiles, counts, covariance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.backends.meta import unknown_shape
from chainrule.core.blame import kind_of
from chainrule.core.dtype import OF_NUMPY, widened
from chainrule.core.family import call, general, reduction
from chainrule.core.notices import warn
from chainrule.core.op import Array, Number
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, apart, integers, real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor, fresh
from chainrule.core.types import RETURN_TYPES
from chainrule.ops.along import axes_of, count, packed, restore_dtype, restored, unfolded
from chainrule.ops.arithmetic import no_derivative
from chainrule.ops.compare import over, refuse_overflow
from chainrule.ops.contract import conj
from chainrule.ops.reduce import evenly, mean, pulled_to
from chainrule.ops.sort import need_extent, refuse_unordered
from chainrule.ops.writing import into, unrecorded

__all__ = [
    "bincount", "corrcoef", "cov", "histc", "median", "nanmedian", "nanquantile", "quantile", "std", "std_mean", "var",
    "var_mean",
]  # fmt: skip

_add: Any = np.add.reduce
one: list[tuple[Any, ...]] = [((3, 4),), ((2, 3, 2),)]
_spread_grid: dict[str, list[Any]] = {"dim": [None, 0, (-1,)], "correction": [1, 0], "keepdim": [False, True]}


# ---------------------------------------------------------------------------------------------------------- variance


def _check_spread(name: str) -> Any:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        dtype = inputs[0].dtype
        if dtype.category < 2:
            what = "std and var only support" if "_mean" not in name else f"{name} only support"
            raise RuntimeError(f"{what} floating point and complex dtypes")

    return check


def freedom(shape: tuple[int, ...], dim: Any, correction: Any) -> Any:
    """How many independent deviations there are."""
    return count(shape, dim) - correction


def _moments(name: str, input: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean, in the dtype to accumulate in."""
    x = widened(input)
    axes, n = axes_of(dim, input.ndim), count(input.shape, dim)
    if n - correction <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            UserWarning,
        )
    real = x.real.dtype.type
    # from the first element on: what is constant has no spread at all, as where PyTorch adds up one by one
    first = x[tuple([slice(1) if at in axes else slice(None) for at in range(x.ndim)])] if x.size else real(0)
    gap = x - first
    rest = _add(gap, axes, keepdims=True) / real(n)
    middle, gap = first + rest, gap - rest
    squares = gap.real**2 + gap.imag**2 if gap.dtype.kind == "c" else gap * gap
    spread = _add(squares, axes, keepdims=keepdim) / real(max(n - correction, 0))
    return packed(spread), packed(middle if keepdim else np.squeeze(middle, axes if x.ndim else ()))


def _spread_dtype(input: Any) -> Any:
    return OF_NUMPY[input.dtype].to_real().numpy


@reduction(
    name="var", spelled="", holomorphic=False, check=_check_spread("var"), samples=samples(real, one, **_spread_grid)
)
def var_op(xp: Any, input: Array, *, dim: Any, correction: Number | None, keepdim: bool) -> Array:
    """Mean square deviation from the mean, over n - correction."""
    return restore_dtype(_moments("var", input, dim, correction, keepdim)[0], _spread_dtype(input))


def var_pull(g: Any, input: Any, dim: Any, correction: Any) -> Any:
    """g has the shape of the variance (folded axes kept or not)."""
    shape = tuple(input.shape)
    # PyTorch's rule takes an empty list of axes at its word: nothing is folded, though the variance folds everything
    left = 1 - (1 if correction is None else correction) if dim == () and shape else freedom(shape, dim, correction)
    g = restored(g, shape, dim)
    middle = mean(input, dim, True)
    if left > 0 or dim is not None:
        return (g * (2.0 / left if left else math.inf)) * (input - middle)
    return call("where", input == middle, g * float("nan"), g * float("inf"))


var_op.vjp(input=lambda g, input, dim, correction: var_pull(g, input, dim, correction))


@reduction(
    name="std", spelled="", holomorphic=False, check=_check_spread("std"), samples=samples(real, one, **_spread_grid)
)
def std_op(xp: Any, input: Array, *, dim: Any, correction: Number | None, keepdim: bool) -> Array:
    """Square root of the variance."""
    return restore_dtype(xp.sqrt(_moments("std", input, dim, correction, keepdim)[0]), _spread_dtype(input))


def _root(g: Any, std: Any) -> Any:
    """The cotangent of the variance, given that of its root; 0 where the deviation is 0."""
    return over(g, 2 * std)


std_op.vjp(input=lambda g, input, out, dim, correction: var_pull(_root(g, out), input, dim, correction))


@reduction(
    name="var_mean", outs=("var", "mean"), differentiable=(0, 1), spelled="", holomorphic=False,
    check=_check_spread("var_mean"), samples=samples(real, one, **_spread_grid),
)  # fmt: skip
def var_mean_op(xp: Any, input: Array, *, dim: Any, correction: Number | None, keepdim: bool) -> Array:
    """Variance and mean."""
    spread, middle = _moments("var_mean", input, dim, correction, keepdim)
    return restore_dtype(spread, _spread_dtype(input)), restore_dtype(middle, input.dtype)


@reduction(
    name="std_mean", outs=("std", "mean"), differentiable=(0, 1), spelled="", holomorphic=False,
    check=_check_spread("std_mean"), samples=samples(real, one, **_spread_grid),
)  # fmt: skip
def std_mean_op(xp: Any, input: Array, *, dim: Any, correction: Number | None, keepdim: bool) -> Array:
    """Standard deviation and mean."""
    spread, middle = _moments("std_mean", input, dim, correction, keepdim)
    return restore_dtype(xp.sqrt(spread), _spread_dtype(input)), restore_dtype(middle, input.dtype)


def _mean_pull(g: Any, input: Any, dim: Any) -> Any:
    shape = tuple(input.shape)
    return unfolded(g / (count(shape, dim) or 1), shape, dim)


var_mean_op.vjp(
    input=lambda g, input, dim, correction: var_pull(g[0], input, dim, correction) + _mean_pull(g[1], input, dim)
)
std_mean_op.vjp(
    input=lambda g, input, std, dim, correction: (
        var_pull(_root(g[0], std), input, dim, correction) + _mean_pull(g[1], input, dim)
    )
)
for _pair in (var_mean_op, std_mean_op):
    RETURN_TYPES[_pair.op.name, tuple(_pair.op.outs or ())] = lambda *values: values


def _read_spread(
    name: str, args: tuple[Any, ...], dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: Any = None, axis: Any = None, keepdims: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """PyTorch's overloads: (unbiased), (dim, unbiased, keepdim), (dim, correction=, keepdim=)."""
    if args and isinstance(args[0], bool):
        unbiased, args = args[0], args[1:]
    elif args:
        dim, args = args[0], args[1:]
    if args and unbiased is None:
        unbiased, args = args[0], args[1:]
        _need_bool(name, "unbiased", unbiased)
    if args:
        keepdim, args = args[0], args[1:]
    dim, keepdim = (axis if dim is None else dim), (keepdim if keepdims is None else keepdims)
    if args or (unbiased is not None and correction is not None):
        raise TypeError(f"{name}() received an invalid combination of arguments")
    _need_bool(name, "keepdim", keepdim)
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    elif correction.__class__ is not int and correction.__class__ is not float:
        correction = _read_correction(name, correction)
    return {"dim": dim, "correction": correction, "keepdim": keepdim}


def _read_correction(name: str, given: Any) -> Any:
    """A real number, or a tensor that stands for one."""
    if isinstance(given, Tensor) and not given.ndim:
        given = given.item()
    if isinstance(given, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if not isinstance(given, (int, float)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: correction must be Number, not {kind_of(given)}"
        )
    return given


def _need_bool(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: {argument} must be bool, "
            f"not {type(value).__name__}"
        )


@composite()
def var(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Tensor:
    """var(x, dim=None, *, correction=1, keepdim=False): the variance; `unbiased` is the older word for correction."""
    unrecorded("var", out, (input,))
    return into("var", var_op.public(input, **_read_spread("var", args, **named)), out, (input,))  # type: ignore[no-any-return]


@composite()
def std(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Tensor:
    """std(x, dim=None, *, correction=1, keepdim=False): the standard deviation."""
    unrecorded("std", out, (input,))
    return into("std", std_op.public(input, **_read_spread("std", args, **named)), out, (input,))  # type: ignore[no-any-return]


@composite(spelled="f")
def var_mean(input: Tensor, *args: Any, out: Any = None, **named: Any) -> tuple[Tensor, Tensor]:
    """The variance and the mean; arguments as in `var`."""
    return into("var_mean", var_mean_op.public(input, **_read_spread("var_mean", args, **named)), out, (input,))  # type: ignore[no-any-return]


@composite(spelled="f")
def std_mean(input: Tensor, *args: Any, out: Any = None, **named: Any) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean; arguments as in `std`."""
    return into("std_mean", std_mean_op.public(input, **_read_spread("std_mean", args, **named)), out, (input,))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------ median


_axes: dict[str, list[Any]] = {"dim": [0, -1], "keepdim": [False, True]}


def _nan_as(dtype: Any) -> Any:
    """What a NaN becomes in a dtype: of integers the least with 32 bits or more, cut to those there are."""
    if dtype.kind not in "iu":
        return np.full((), np.nan, dtype)
    return np.full((), np.iinfo(np.int32 if dtype.itemsize < 4 else dtype).min).astype(dtype)


def _whole_median(kernel: Any, input: Any) -> Any:
    if not input.size:
        return _nan_as(input.dtype)
    return kernel(input.reshape(-1), 0)[0]


def _batch_along(name: str) -> Any:
    """A median of everything, on a batch: the one along the flattened rest."""

    def run(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        return call(name, values[0].reshape((size, -1)), 1)[0]

    return run


def _median_out(name: str, **_: Any) -> str:
    if name == "values":
        return (
            "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
            "torch.{out}Tensor does not equal torch.{result}Tensor (while checking arguments for median)"
        )
    return (
        "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{out}Tensor instead "
        "(while checking arguments for median)"
    )


_median_facts: dict[str, Any] = {
    "outs": ("values", "indices"), "check": refuse_unordered("median_cpu", "median"), "spelled": "",
    "exact": _median_out, "samples": samples(apart, [((3, 4),), ((),)], **_axes),
}  # fmt: skip


def _check_whole(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].numel():
        refuse_unordered("median_cpu", "median")(inputs, params)


_whole_facts: dict[str, Any] = {
    "check": _check_whole, "spelled": "", "samples": samples(apart, [((3, 4),), ((),)]),
}  # fmt: skip


@reduction(name="median", node={"T": "MedianBackward1"}, **_median_facts)
def median_along(xp: Any, input: Array, dim: int = -1, keepdim: bool = False) -> Array:
    """The lower median along an axis, and where it is."""
    need_extent("median", input, dim)
    return xp.sorting.median(input, normalize_dim(dim, input.ndim), keepdim)


@reduction(name="nanmedian", node={"T": "NanmedianBackward1"}, **_median_facts)
def nanmedian_along(xp: Any, input: Array, dim: int = -1, keepdim: bool = False) -> Array:
    """The lower median of what is not NaN along an axis, and where it is."""
    need_extent("nanmedian", input, dim)
    return xp.sorting.nanmedian(input, normalize_dim(dim, input.ndim), keepdim)


@reduction(node="Median", vmap=_batch_along("median"), **_whole_facts)
def median_all(xp: Any, input: Array) -> Array:
    """The lower median of everything."""
    return _whole_median(xp.sorting.median, input)


@reduction(node="Nanmedian", vmap=_batch_along("nanmedian"), **_whole_facts)
def nanmedian_all(xp: Any, input: Array) -> Array:
    """The lower median of everything that is not NaN."""
    return _whole_median(xp.sorting.nanmedian, input)


for _along in (median_along, nanmedian_along):
    _along.vjp(input=lambda g, indices, input_shape, dim, keepdim: pulled_to(g, indices, input_shape, dim, keepdim))
for _whole in (median_all, nanmedian_all):
    _whole.vjp(input=lambda g, input, out: evenly(g, input, out, None, nan=True))


def _read_median(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    for numpy_name, own in (("axis", "dim"), ("keepdims", "keepdim")):
        if numpy_name in named:
            named[own] = named.pop(numpy_name)
    given = {**dict(zip(("dim", "keepdim"), args)), **named}
    if len(args) > 2 or set(given) - {"dim", "keepdim"} or (given and "dim" not in given):
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    return given


@composite()
def median(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Any:
    """median(x): the lower median; median(x, dim, keepdim=False): values and indices."""
    given = _read_median("median", args, named)
    return median_along.public(input, **given, out=out) if given else median_all.public(input, out=out)


@composite()
def nanmedian(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Any:
    """As `median`, of what is not NaN."""
    given = _read_median("nanmedian", args, named)
    return nanmedian_along.public(input, **given, out=out) if given else nanmedian_all.public(input, out=out)


# --------------------------------------------------------------------------------------------------------- quantiles


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(input: Tensor, q: Tensor, interpolation: str) -> None:
    if 0 in input.shape:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if input.dtype is not q.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or "
            f"nearest, but got {interpolation}"
        )


def _as_q(input: Tensor, q: Any, interpolation: str) -> Tensor:
    if isinstance(q, Tensor):
        _check_quantile(input, q, interpolation)
        raw = q.raw
        if isinstance(raw, np.ndarray) and not ((raw >= 0) & (raw <= 1)).all():
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
        return q
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    made = fresh(np.array(q, input.dtype.numpy if input.dtype.category == 2 else np.float32))
    _check_quantile(input, made, interpolation)
    return made


def _ranks(x: Any, q: Any, ignore_nan: bool) -> Any:
    """Where, between 0 and n - 1 along the last axis, each quantile lies; [..., Q]."""
    last = x.shape[-1] - 1
    nan = x != x
    if ignore_nan:
        return (q * ((~nan).sum(-1, keepdim=True) - 1)).clamp(min=0)
    return call("where", nan.any(-1, keepdim=True), float(last), q * last)


def _between(x: Any, ranks: Any, interpolation: str) -> Any:
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.long()
    values = x.gather(-1, below)
    if interpolation not in ("linear", "midpoint"):
        return values
    weight = ranks * 0 + 0.5 if interpolation == "midpoint" else ranks - below
    return values.lerp(x.gather(-1, ranks.ceil().long()), weight)


def _quantile(
    name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, out: Any, ignore_nan: bool
) -> Any:
    q = _as_q(input, q, interpolation)
    rank, axis = input.ndim, None if dim is None else normalize_dim(dim, input.ndim)
    flat = input.reshape((-1,)) if axis is None or not rank else input.movedim(axis, -1)
    ordered = flat.sort(-1)[0]
    quantiles = q.reshape((-1,))
    values = _between(
        ordered, _ranks(ordered, quantiles.expand((*ordered.shape[:-1], quantiles.shape[0])), ignore_nan), interpolation
    )
    if keepdim and rank:
        values = values.reshape((1,) * rank + (-1,)) if axis is None else values.unsqueeze(axis)
    if out is not None and out.dtype is not input.dtype:
        raise RuntimeError(f"{name}() out tensor must be same dtype as the input tensor")
    return into(name, values.squeeze(-1) if not q.ndim else values.movedim(-1, 0), out, (input, q))


@composite()
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The q-th quantiles along an axis, or of everything; NaN wherever there is a NaN."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)  # type: ignore[no-any-return]


@composite()
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The q-th quantiles of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------ counts


def _check_histc(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    dtype, low, high = inputs[0].dtype, params["min"], params["max"]
    for end in (low, high):
        refuse_overflow(float(end), dtype)
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{dtype.title}'")
    _check_bins(params["bins"])


def _check_bins(bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


@general(
    check=_check_histc, samples=samples(real, [((12,),), ((3, 4),)], bins=[5], min=[-1, 0], max=[0, 1]),
    exact="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {result_type} and "
    "hist {out_type}",
)  # fmt: skip
def histc(xp: Any, input: Array, bins: int = 100, min: Any = 0, max: Any = 0) -> Array:
    """How many elements fall in each of `bins` equal intervals from min to max."""
    _check_bins(bins)
    return xp.sorting.histc(input, bins, min, max)


def _check_bincount(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    dtype = inputs[0].dtype
    if dtype.category != 1:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{dtype.title}'")


@general(
    check=_check_bincount, meta=unknown_shape, node={"": "NotImplemented"},
    samples=samples(integers(5), [((6,), None), ((6,), Drawn(real, 6))], minlength=[0, 8]),
)  # fmt: skip
def bincount(xp: Any, input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each integer occurs, or the sum of its weights."""
    return xp.scatter.bincount(input, weights, minlength)


bincount.vjp(weights=no_derivative("bincount"))


# -------------------------------------------------------------------------------------------------------- covariance


def _check_weights(name: str, w: Tensor, observations: int) -> None:
    integral = name == "fweights"
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
        )
    if (w.dtype.category == 1) is not integral:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {w.dtype.title} dtype")
    if w.shape.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.shape.numel()} != {observations}"
        )
    if isinstance(w.raw, np.ndarray) and (w.raw < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _check_cov(input: Tensor) -> None:
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype.category == 0:
        raise RuntimeError("cov(): bool dtype is not supported for input")


@composite()
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance of the rows, one variable each."""
    _check_cov(input)
    x = input if input.ndim == 2 else input.reshape((1, -1))
    observations = x.shape[1]
    for name, each in (("fweights", fweights), ("aweights", aweights)):
        if each is not None:
            _check_weights(name, each, observations)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = observations if weights is None else weights.sum()
    if weights is not None and isinstance(total.raw, np.ndarray) and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    middle = x.sum(1) / total if weights is None else (x * weights).sum(1) / total
    left = (
        total - correction
        if weights is None or aweights is None or correction == 0
        else (total - correction * (weights * aweights).sum() / total)
    )
    x = x - middle.unsqueeze(1)
    right = (x if weights is None else x * weights).t()
    return (x @ conj(right) / _positive(left)).squeeze()  # type: ignore[no-any-return]


def _positive(left: Any) -> Any:
    """Degrees of freedom, at least 0."""
    value = left if not isinstance(left, Tensor) else left.raw if isinstance(left.raw, np.ndarray) else 1
    if value <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
        )
        return 0 if not isinstance(left, Tensor) else call("zeros_like", left)
    return left


@composite()
def corrcoef(input: Any) -> Tensor:
    """The correlation of the rows, one variable each."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    d = c.diagonal()
    spread = (d.real if c.dtype.is_complex else d).sqrt()
    c = c / spread.reshape((-1, 1)) / spread.reshape((1, -1))
    return c if c.dtype.is_complex else c.clip(-1, 1)
