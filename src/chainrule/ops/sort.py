"""Order along an axis: sorting, the k-th, distinct values, searching. The kernels are in backends.cpu.sorting; every
gradient goes to the places the values came from.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.backends.meta import unknown_shape
from chainrule.core.blame import kind_of
from chainrule.core.family import call, general, reduction, scan, shape_of, spread
from chainrule.core.notices import warn
from chainrule.core.op import Array, Number
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, apart, integers, real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT, placed, refuse_batch
from chainrule.ops.arguments import as_int
from chainrule.ops.reduce import pulled_to
from chainrule.ops.writing import into

__all__ = [
    "argsort", "bucketize", "kthvalue", "mode", "msort", "searchsorted", "sort", "topk", "unique", "unique_consecutive",
]  # fmt: skip

_rows: list[tuple[Any, ...]] = [((3, 4),), ((),), ((2, 3, 2),)]
_axes: dict[str, list[Any]] = {"dim": [0, -1]}


def _moved_back(g: Any, indices: Any, input_shape: Any, dim: int) -> Any:
    shape = tuple(input_shape)
    return placed(g, indices, dim=normalize_dim(dim, len(shape)), shape=shape, unique=True)


def _check_sort(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")


@scan(
    outs=("values", "indices"),
    exact=SAME_OUT,
    check=_check_sort,
    spelled="",
    samples=samples(apart, _rows, dim=[0, -1], descending=[False, True]),
)
def sort(xp: Any, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Array:
    """The values in order along an axis, and where each came from."""
    return xp.sorting.sort(input, normalize_dim(dim, input.ndim), bool(descending))


sort.vjp(input=lambda g, indices, input_shape, dim: _moved_back(g, indices, input_shape, dim))


@scan(check=_check_sort, spelled="", samples=samples(apart, _rows, dim=[0, -1], descending=[False, True]))
def argsort(xp: Any, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Array:
    """Where each value in order along an axis comes from."""
    return xp.sorting.argsort(input, normalize_dim(dim, input.ndim), bool(descending))


def _with_stable(ordered: Any) -> None:
    """The public form: PyTorch's overload that takes `stable` takes all by name."""

    def public(input: Tensor, *place: Any, **named: Any) -> Any:
        if "stable" in named:
            if place:
                by_name = [f"{n}={kind_of(v)}" for n, v in named.items()]
                came = ", ".join([kind_of(v) for v in (input, *place)] + by_name)
                raise TypeError(f"{name}() received an invalid combination of arguments - got ({came})")
            if named["stable"] is None:
                del named["stable"]
        return ordered.public(input, *place, **named)

    name, public.__doc__ = ordered.op.name, ordered.op.doc
    composite(name=name, quick=True)(public)


_with_stable(sort)
_with_stable(argsort)


@composite()
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The values in order along the first axis."""
    return into("msort", sort(input, 0)[0], out, (input,))  # type: ignore[no-any-return]


def _check_topk(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if inputs[0].dtype.name == "bool":
        raise RuntimeError("topk does not support bool dtypes on CPU")


@scan(
    outs=("values", "indices"),
    exact=SAME_OUT,
    check=_check_topk,
    samples=samples(apart, [((3, 4),)], k=[1, 2], dim=[0, -1]),
)
def topk(xp: Any, input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Array:
    """The k largest (or smallest) values along an axis, and where they are."""
    k = k if k.__class__ is int else as_int("topk", "k", 2, k)
    return xp.sorting.topk(input, k, normalize_dim(dim, input.ndim), bool(largest), bool(sorted))


topk.vjp(input=lambda g, indices, input_shape, dim: _moved_back(g, indices, input_shape, dim))


def refuse_unordered(kernel: str, name: str, *, bool_too: bool = True, scalars: bool = True) -> Any:
    """A check that refuses the dtypes a kernel has no order for; `scalars`: although a scalar needs none."""

    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        dtype = inputs[0].dtype
        if not scalars and not inputs[0].ndim:
            return
        if dtype.is_complex or (bool_too and dtype.name == "bool"):
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")

    return check


def need_extent(name: str, input: Any, dim: int) -> None:
    """An axis to choose from must not be empty."""
    axis = normalize_dim(dim, input.ndim)
    if input.ndim and not input.shape[axis]:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def _check_kthvalue(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    x, k, dim = inputs[0], as_int("kthvalue", "k", 2, params["k"]), params["dim"]
    axis = normalize_dim(dim, x.ndim)
    need_extent("kthvalue", x, dim)
    if not 0 <= k <= (x.shape[axis] if x.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    refuse_unordered("kthvalue_cpu", "kthvalue", scalars=False)(inputs, params)


@reduction(
    outs=("values", "indices"), check=_check_kthvalue,
    exact=lambda name, **_: "output values must be of same type as input" if name == "values"
    else "output indices must be of scalar type Long",
    samples=samples(apart, [((3, 4),)], k=[1, 2], dim=[0, -1], keepdim=[False, True]),
)  # fmt: skip
def kthvalue(xp: Any, input: Array, k: int, dim: int = -1, keepdim: bool = False) -> Array:
    """The k-th smallest value (counted from one) along an axis, and where it is."""
    axis = normalize_dim(dim, input.ndim)
    need_extent("kthvalue", input, dim)
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    return xp.sorting.kthvalue(input, k, axis, keepdim)


@reduction(
    outs=("values", "indices"), check=refuse_unordered("mode_cpu", "mode", bool_too=False),
    exact="expected scalar type '{result}' but got '{out}' for {name} output",
    samples=samples(apart, _rows, dim=[0, -1], keepdim=[False, True]),
)  # fmt: skip
def mode(xp: Any, input: Array, dim: int = -1, keepdim: bool = False) -> Array:
    """The commonest value along an axis, and where it is."""
    need_extent("mode", input, dim)
    return xp.sorting.mode(input, normalize_dim(dim, input.ndim), keepdim)


for _choice in (kthvalue, mode):
    _choice.vjp(input=lambda g, indices, input_shape, dim, keepdim: pulled_to(g, indices, input_shape, dim, keepdim))


# ---------------------------------------------------------------------------------------------------- distinct values


def _no_derivative(name: str) -> Any:
    def refuse(g: Any) -> NoReturn:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse


def _unique_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> NoReturn:
    refuse_batch("_unique2" if params["dim"] is None else "unique_dim")


def _consecutive_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> NoReturn:
    refuse_batch("unique_consecutive")


_repeating: list[tuple[Any, ...]] = [((6,),), ((4, 2),)]


@general(
    name="unique", node="Unique2", outs=("values", "inverse", "counts"), spelled="",
    samples=samples(integers(3), _repeating, dim=[None, 0]), meta=unknown_shape, vmap=_unique_batch,
)  # fmt: skip
def _unique(xp: Any, input: Array, *, dim: int | None) -> Array:
    """Distinct values in order, which one each element is, how often each occurs."""
    if input.dtype.kind == "c":
        raise NotImplementedError(f"\"unique\" not implemented for '{_title(input)}'")
    return xp.sorting.unique(input, None if dim is None else normalize_dim(dim, input.ndim))


@general(
    name="unique_consecutive", node="UniqueConsecutive", outs=("values", "inverse", "counts"), spelled="",
    samples=samples(integers(3), _repeating, dim=[None, 0]), meta=unknown_shape, vmap=_consecutive_batch,
)  # fmt: skip
def _unique_consecutive(xp: Any, input: Array, *, dim: int | None) -> Array:
    """Values without repetitions of a neighbour, which one each element is, how many each stands for."""
    return xp.sorting.unique_consecutive(input, None if dim is None else normalize_dim(dim, input.ndim))


def _title(input: Any) -> str:
    return "ComplexFloat" if input.dtype.itemsize == 8 else "ComplexDouble"


_unique.vjp(input=_no_derivative("_unique2"))
_unique_consecutive.vjp(input=_no_derivative("unique_consecutive"))


def _asked(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    parts = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return parts if len(parts) > 1 else values


@composite()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct values (or slices along `dim`), in order whether `sorted` asks for it or not."""
    return _asked(_unique(input, dim=dim), return_inverse, return_counts)


@composite()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The values (or slices along `dim`) without repetitions of a neighbour."""
    return _asked(_unique_consecutive(input, dim=dim), return_inverse, return_counts)


# ---------------------------------------------------------------------------------------------------------- searching


def _warn_scattered(name: str, x: Any) -> None:
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        warn(
            f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to extra data "
            "copy when converting non-contiguous tensor to contiguous, please use contiguous "
            f"{name} tensor if possible.",
            UserWarning,
        )


def _as_values(xp: Any, values: Any) -> Any:
    return values if hasattr(values, "dtype") else xp.asarray(values)


def _rising(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.sort(rng.normal(size=shape), -1)


def _place_out(result: Any, **_: Any) -> str:
    """`out=` has the dtype that was asked for."""
    return (
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
        "whether out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is "
        f"{result.dtype.name == 'int32'}"
    )


def _searched_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """Rows are searched beside one another; what looks in one row alone is one row, too."""
    rows, given, sorter = values
    given = given if isinstance(given, Tensor) else call("new_full", rows, (), given)
    ordered, x = spread(rows, batched[0], size), spread(given, batched[1], size)
    sorter = None if sorter is None else spread(sorter, batched[2], size)
    shape = shape_of(x)
    flat = x if len(shape_of(ordered)) > 2 else call("reshape", x, (size, -1))
    return call("reshape", searchsorted.public(ordered, flat, sorter=sorter, **params), shape)


def _buckets_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, edges = values
    if not batched[1]:
        return _bucketize.public(x, edges, **params)
    asked = {**params, "side": None}
    return _searched_batched((edges, x, None), (True, batched[0], False), size, asked)


@general(
    spelled="f",
    exact=_place_out,
    vmap=_searched_batched,
    samples=samples(_rising, [((5,), Drawn(real, 3)), ((2, 5), Drawn(real, 2, 3))], right=[False, True]),
)
def searchsorted(
    xp: Any,
    sorted_sequence: Array,
    input: Array | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Where each value belongs in an ordered last axis."""
    _warn_scattered("boundary", sorted_sequence)
    _warn_scattered("input value", input)
    return xp.sorting.searchsorted(sorted_sequence, _as_values(xp, input), out_int32, right, side, sorter)


@general(
    name="bucketize", spelled="", vmap=_buckets_batched,
    samples=samples(real, [((2, 3), Drawn(_rising, 5))], out_int32=[False, True], right=[False, True]),
)  # fmt: skip
def _bucketize(xp: Any, input: Array | Number, boundaries: Array, *, out_int32: bool, right: bool) -> Array:
    """The bucket of each element between ordered boundaries."""
    return xp.sorting.bucketize(_as_values(xp, input), boundaries, out_int32, right)


@composite(spelled="f")
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """The bucket of each element between ordered boundaries."""
    result = _bucketize.public(input, boundaries, out_int32=out_int32, right=right)
    return into("bucketize", result, out, (input, boundaries), _place_out(result))  # type: ignore[no-any-return]
