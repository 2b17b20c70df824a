"""Folds, scans and normalisations of what a mask lets through: torch.masked.

One mechanism: an element that is masked out becomes the operation's *neutral* value, which no result notices, and the
plain operation does the rest. A slice without an element left gives the neutral value. What has none (the mean, the
variance) divides by the number of elements that are left, and gives NaN where there is none.

As in PyTorch, `dim=()` means all axes, an integer sum or product has dtype int64, and any other result the dtype of its
input unless `dtype` says another.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

from chainrule.core.dtype import BOOL, FLOAT, bool_, float32, iinfo, int64
from chainrule.core.dtype import dtype as DType
from chainrule.core.public import PUBLIC, composite
from chainrule.core.shape import normalize_dims
from chainrule.core.tensor import Tensor
from chainrule.ops import activation, compare, exponential, reduce, scan, statistics

__all__: list[str] = []

Neutral = Callable[[DType], Any]  # the value that changes no result, in the dtype of the input


def _lowest(dtype: DType) -> Any:
    return -inf if dtype.category >= FLOAT else iinfo(dtype).min


def _highest(dtype: DType) -> Any:
    return inf if dtype.category >= FLOAT else iinfo(dtype).max


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **named: Any) -> Tensor:
    """The mask of an operation's input: bool, in the input's shape."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.broadcast_to(input.shape).to(bool_)


def _output_mask(op: Any, input: Tensor, *args: Any, **named: Any) -> Tensor:
    """Which elements of an operation's result have an element of the input behind them."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in _KEEP_SHAPE:
        return _input_mask(input, *args, **named)
    if name not in _REDUCE:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    args = args[1:] if name == "norm" else args
    dim = args[0] if args else named.get("dim")
    kept = _input_mask(input, *args, **named)
    return kept.any(_axes(dim, input.ndim), bool(named.get("keepdim")))


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The neutral value of an operation, as a 0-d tensor; None if it has none."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    if name == "norm":
        return _scalar(input, _of_norm(args[0] if args else 2)(input.dtype))
    if name == "median":
        return _scalar(input.to(float32) if input.dtype.category < FLOAT else input, nan)
    if name not in _NEUTRAL or (_NEUTRAL[name] in (_lowest, _highest) and not _ordered(name, input.dtype)):
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    return _scalar(input, _NEUTRAL[name](input.dtype))


def _ordered(name: str, dtype: DType) -> bool:
    return dtype.category != BOOL and (not dtype.is_complex or name == "logsumexp")


def _scalar(input: Tensor, value: Any) -> Tensor:
    return input.new_full((), value)


def _filled(name: str, input: Tensor, mask: Tensor | None, *args: Any) -> Tensor:
    """The input with the operation's neutral value where the mask is False."""
    if mask is None:
        return input
    neutral = _reduction_identity(name, input, *args)
    return compare.where(_input_mask(input, mask=mask), input, neutral)  # type: ignore[no-any-return]


def _axes(dim: Any, rank: int) -> tuple[int, ...]:
    return tuple(sorted(normalize_dims(None if dim == () else dim, max(rank, 1) if dim not in (None, ()) else rank)))


def _axis(dim: int, rank: int) -> int:
    return _axes(dim, rank)[0]


def _widened(input: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum: integers meet in int64."""
    return dtype or (input.dtype if input.dtype.category >= FLOAT else int64)


# ------------------------------------------------------------------------------------------------------------- folds


def _sum(x: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: DType | None) -> Tensor:
    return reduce.sum(x, dims, keepdim, dtype=_widened(x, dtype))  # type: ignore[no-any-return]


def _prod(x: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: DType | None) -> Tensor:
    x = x.to(_widened(x, dtype))
    for dim in reversed(dims):
        x = reduce.prod(x, dim, keepdim)
    return x


def _then_cast(fold: Any) -> Any:
    return lambda x, dims, keepdim, dtype: fold(x, dims, keepdim).to(dtype or x.dtype)


def _declare_fold(name: str, run: Any) -> None:
    """A fold over some axes, or over all."""

    def fold(
        input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: DType | None = None, mask: Any = None
    ) -> Tensor:
        return run(_filled(name, input, mask), _axes(dim, input.ndim), bool(keepdim), dtype)  # type: ignore[no-any-return]

    fold.__name__ = fold.__qualname__ = name
    fold.__doc__ = f"`{name}` of the elements for which the mask is True."
    composite("k")(fold)


def _declare_position(name: str, run: Any) -> None:
    """Where an extreme is, along one axis or in the whole. (Its result has the dtype of its input, as in PyTorch.)"""

    def position(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: bool | None = False,
        dtype: DType | None = None,
        mask: Any = None,
    ) -> Tensor:
        return run(_filled(name, input, mask), dim, bool(keepdim)).to(dtype or input.dtype)  # type: ignore[no-any-return]

    position.__name__ = position.__qualname__ = name
    position.__doc__ = f"`{name}` of the elements for which the mask is True."
    composite("k")(position)


def _declare_along(name: str, fill: str, run: Any) -> None:
    """What works along one axis and keeps the shape."""

    def along(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Any = None) -> Tensor:
        want = dtype or input.dtype
        return run(_filled(fill, input, mask), _axis(dim, input.ndim), dtype=want).to(want)  # type: ignore[no-any-return]

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"`{name}` of the elements for which the mask is True."
    composite("k")(along)


_FOLDS: dict[str, tuple[Neutral, Any]] = {
    "sum": (lambda dtype: 0, _sum),
    "prod": (lambda dtype: 1, _prod),
    "amax": (_lowest, _then_cast(reduce.amax)),
    "amin": (_highest, _then_cast(reduce.amin)),
    "logsumexp": (_lowest, _then_cast(reduce.logsumexp)),
}
_POSITIONS: dict[str, tuple[Neutral, Any]] = {"argmax": (_lowest, reduce.argmax), "argmin": (_highest, reduce.argmin)}
_ALONG: dict[str, tuple[str, Any]] = {  # whose neutral value fills
    "cumsum": ("sum", scan.cumsum),
    "cumprod": ("prod", scan.cumprod),
    "softmax": ("amax", activation.softmax),
    "log_softmax": ("amax", activation.log_softmax),
    "softmin": ("amin", activation.softmin),
}
_NEUTRAL = {name: neutral for name, (neutral, _) in (_FOLDS | _POSITIONS).items()}
_NEUTRAL |= {"logaddexp": _lowest, "cumsum": _NEUTRAL["sum"], "cumprod": _NEUTRAL["prod"]}
_KEEP_SHAPE = frozenset((*_ALONG, "normalize"))
_REDUCE = frozenset((*_FOLDS, *_POSITIONS, "mean", "median", "norm", "var", "std"))

for _name, (_, _run) in _FOLDS.items():
    _declare_fold(_name, _run)
for _name, (_, _run) in _POSITIONS.items():
    _declare_position(_name, _run)
for _name, (_fill, _run) in _ALONG.items():
    _declare_along(_name, _fill, _run)


# ------------------------------------------------------------------------------------- what is made of several folds


@composite("k")
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(x) + exp(y)), where what is masked out counts as exp(-inf)."""
    a, b = _filled("logaddexp", input, input_mask), _filled("logaddexp", other, other_mask)
    return exponential.logaddexp(a, b).to(dtype or input.dtype)  # type: ignore[no-any-return]


def _of_norm(ord: Any) -> Neutral:
    return _highest if ord == -inf else lambda dtype: 0


@composite("k")
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The p-norm of the elements for which the mask is True."""
    x = _filled("norm", input, mask, ord)
    return reduce.vector_norm(x, ord, _axes(dim, input.ndim), bool(keepdim), dtype=dtype or input.dtype)  # type: ignore[no-any-return]


@composite("k")
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements for which the mask is True, divided by their norm along an axis."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("sum", input, mask) / compare.maximum(length, _scalar(length, eps))  # type: ignore[no-any-return]


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements the mask lets through."""
    kept = input.new_ones(input.shape, dtype=bool_) if mask is None else mask
    return _sum(kept, _axes(dim, input.ndim), keepdim, int64)


@composite("k")
def mean(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements for which the mask is True."""
    want = dtype or input.dtype
    if want.category < FLOAT:
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {want}"
        )
    kept = None if mask is None else _input_mask(input, mask=mask)
    total = PUBLIC["k"]["sum"](input, dim, keepdim=keepdim, dtype=want, mask=kept)
    return total / _count(input, dim, bool(keepdim), kept)  # type: ignore[no-any-return]


@composite("k")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median of the elements for which the mask is True, along an axis."""
    x = input if input.dtype.is_floating_point else input.to(float32)
    middle: Tensor = statistics.nanmedian(_filled("median", x, mask), _axis(dim, input.ndim), keepdim).values
    if input.dtype.is_floating_point:
        return middle
    if middle.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return middle.to(dtype or input.dtype)


def _spread(
    input: Tensor, dim: Any, correction: float, keepdim: bool, dtype: DType | None, mask: Tensor | None
) -> Tensor:
    want = dtype or (input.dtype if input.dtype.category >= FLOAT else float32)
    computed = want if want.category >= FLOAT else float32
    sums, kept = PUBLIC["k"]["sum"], None if mask is None else _input_mask(input, mask=mask)
    count = _count(input, dim, True, kept)
    gap = input - sums(input, dim, keepdim=True, dtype=want, mask=kept) / count
    total = sums(gap * gap.conj(), dim, keepdim=keepdim, dtype=computed, mask=kept)
    free = count.reshape(total.shape)
    if correction:
        free = (free.to(computed.to_real()) - correction).clamp(min=0)
    return (total / free).to(want)  # type: ignore[no-any-return]


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


@composite("k")
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements for which the mask is True."""
    return _spread(input, dim, _correction(unbiased, correction), bool(keepdim), dtype, mask)


@composite("k")
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements for which the mask is True."""
    return _spread(input, dim, _correction(unbiased, correction), bool(keepdim), dtype, mask).sqrt()
