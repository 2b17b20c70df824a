"""Rows of a table by their numbers: embeddings, and bags of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.backends import cpu
from chainrule.core.dtype import int64
from chainrule.core.family import call, indexing, shape_of, spread
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, integers, real, samples
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.fill import copy_
from chainrule.ops.index import gather, index_select
from chainrule.ops.storages import bottom

__all__ = ["embedding_op"]


def _batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """One table for all examples: more numbers to look up. A table each: their rows side by side, numbers shifted."""
    weight, indices = values
    if not batched[0]:
        return embedding_op.public(weight, indices, **params)
    rows = shape_of(weight)[1]
    if params["padding_idx"] >= 0 or params["scale_grad_by_freq"]:
        return None  # which rows get how much gradient is said per table
    rank = len(shape_of(indices)) - bool(batched[1])
    first = call("reshape", call("arange", 0, size * rows, rows), shape=(size, *(1,) * rank))
    return embedding_op.public(call("reshape", weight, shape=(size * rows, -1)), indices + first, **params)


def _check_table(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    if inputs[0].requires_grad:
        inputs[0].size(0)  # the rule wants to know how many rows there are, before anyone looks whether there are


@indexing(
    linear=True, spelled="f", name="embedding", vmap=_batched, real_slopes=True, check=_check_table,
    samples=samples(real, [((5, 3), Drawn(integers(5), 2, 4))], padding_idx=[-1, 2]),
)  # fmt: skip
def embedding_op(
    xp: Any, weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:  # fmt: skip
    """The rows of `weight` that `indices` names; the row `padding_idx` gets no gradient."""
    operator.index(padding_idx)
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in (np.int32, np.int64):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{_type_title(indices)} instead (while checking arguments for embedding)"
        )
    return xp.scatter.embedding(weight, indices)


def _type_title(array: Any) -> str:
    return "torch." + fresh(array).dtype.title + "Tensor"


def _sum_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """A table each: their rows side by side."""
    if params["by_freq"]:
        return None
    g, indices = (spread(v, b, size) for v, b in zip(values, batched))
    if params["padding"] >= 0:
        g = call("where", call("unsqueeze", indices == params["padding"], dim=-1), 0.0, g)
    rows = params["rows"]
    first = call("reshape", call("arange", 0, size * rows, rows), shape=(size, *(1,) * (indices.ndim - 1)))
    found = embedding_sum.public(g, indices + first, rows=size * rows, padding=-1, by_freq=False)
    return call("reshape", found, shape=(size, rows, -1))


@indexing(
    linear=True, spelled="", node="EmbeddingDense", vmap=_sum_batched,
    samples=samples(
        real, [((2, 4, 3), Drawn(integers(5), 2, 4))], rows=[5], padding=[-1, 2], by_freq=[False, True]
    ),
)  # fmt: skip
def embedding_sum(xp: Any, input: Array, indices: Array, *, rows: int, padding: int, by_freq: bool) -> Array:
    """The transpose of a lookup: each row of the input added to the row it came from."""
    return xp.scatter.embedding_weight(input, indices, rows, None if padding < 0 else padding, by_freq)


@indexing(
    linear=True, spelled="", node="EmbeddingDense",
    samples=samples(real, [((5, 3), Drawn(integers(5), 2, 4))], padding=[-1, 2], by_freq=[False, True]),
)  # fmt: skip
def embedding_again(xp: Any, input: Array, indices: Array, *, padding: int, by_freq: bool) -> Array:
    """The transpose of `embedding_sum`."""
    return xp.scatter.embedding_weight_adjoint(input, indices, None if padding < 0 else padding, by_freq)


def _table_pull(
    g: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool, weight_shape: Any
) -> Any:
    if sparse:
        return _rows_named(g, indices, padding_idx, scale_grad_by_freq, tuple(weight_shape))
    return embedding_sum(g, indices, rows=weight_shape[0], padding=padding_idx, by_freq=scale_grad_by_freq)


def _rows_named(g: Any, indices: Any, padding: int, by_freq: bool, shape: tuple[int, ...]) -> Any:
    """The transpose of a lookup as a sparse array: the rows that were looked up, in that order."""
    if by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    named = bottom(indices).reshape(1, -1).astype(np.int64)
    g = g.reshape(named.size, shape[1])
    if padding >= 0:
        kept = np.flatnonzero(named[0] != padding)
        named, g = named[:, kept], call("index_select", g, 0, fresh(kept) if isinstance(g, Tensor) else kept)
    return call("sparse_coo", fresh(named) if isinstance(g, Tensor) else named, g, size=shape)


embedding_op.vjp(weight=_table_pull)
embedding_sum.vjp(
    input=lambda g, indices, padding, by_freq: embedding_again(g, indices, padding=padding, by_freq=by_freq)
)
embedding_again.vjp(
    input=lambda g, indices, padding, by_freq, input_shape: embedding_sum(
        g, indices, rows=input_shape[0], padding=padding, by_freq=by_freq
    )
)


def _padding(padding_idx: int, weight: Any) -> int:
    """The row that gets no gradient; nobody asks whether there is a first."""
    rows = weight.size(0) if padding_idx else 0
    if padding_idx and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


@composite("f", "embedding_renorm_")
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Shorten, in place, the rows that are looked up and longer than `max_norm`."""
    return copy_(weight, fresh(cpu.scatter.embedding_renorm(weight.raw, indices.raw, max_norm, norm_type)))


@composite("n", "embedding")
def _embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` that `input` names; rows longer than `max_norm` are first shortened, in place."""
    padding = -1 if padding_idx is None else _padding(padding_idx, weight)
    if max_norm is not None:
        embedding_op.public(
            weight.detach(), input, padding, scale_grad_by_freq, sparse
        )  # refuses before anything changes
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return embedding_op.public(weight, input, padding, scale_grad_by_freq, sparse)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------------------------- bags


@composite("n")
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima over bags of looked-up rows: the rows of a matrix, or a vector cut at `offsets`."""
    if weight.dtype is int64 and input.dtype.is_floating_point:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        weight, input = input, weight
    _check_bag(input, weight, offsets, per_sample_weights)
    _check_mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    _check_numbers(input, weight, offsets, per_sample_weights)
    padding = -1 if padding_idx is None else _bag_padding(padding_idx, weight.shape[0])
    if max_norm is not None:
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    flat, bag, bags = _bags(input, offsets, include_last_offset)
    if padding >= 0:
        kept = fresh(np.flatnonzero(flat.raw != padding))
        flat, bag = (index_select.public(t, 0, kept) for t in (flat, bag))
        per_sample_weights = (
            None if per_sample_weights is None else index_select.public(per_sample_weights.reshape(-1), 0, kept)
        )
    rows = embedding_op.public(weight, flat, -1, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1).unsqueeze(-1)
    return _folded(rows, bag, bags, mode)


def _bag_padding(padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    return padding_idx % rows


def _check_bag(input: Tensor, weight: Tensor, offsets: Any, weights: Any) -> None:
    if weights is not None and weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(weights.shape)}) is not None, then it must have the same "
            f"shape as the input ({list(input.shape)})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    if input.ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.ndim == 1 and offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")


def _check_mode(mode: str, by_freq: bool, sparse: bool, weights: Any) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )


def _check_numbers(input: Tensor, weight: Tensor, offsets: Any, weights: Any) -> None:
    wanted = (("indices", input, "Long, Int"), ("offsets", offsets, "Long, Int"), ("weight", weight, _FLOATS))
    for name, t, kinds in wanted:
        if t is not None and t.dtype.title not in kinds.split(", "):
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: {kinds}; but got "
                f"torch.{t.dtype.title}Tensor instead (while checking arguments for embedding_bag)"
            )
    if weights is not None and weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.title}Tensor does not equal "
            f"torch.{weights.dtype.title}Tensor (while checking arguments for embedding_bag)"
        )
    named = bottom(input)
    wrong = named[(named < 0) | (named >= weight.shape[0])]
    if wrong.size:
        raise RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {wrong.reshape(-1)[0]}"
        )


_FLOATS = "Half, BFloat16, Float, Double"


def _bags(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Tensor, Tensor, int]:
    """The numbers in a row, the bag of each, and how many bags there are."""
    if input.ndim == 2:
        count, length = input.shape
        return input.reshape(-1), fresh(np.repeat(np.arange(count), length)), count
    assert offsets is not None
    starts, total = offsets.raw, input.shape[0]
    if include_last and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
            f"0. However, got {starts[0]}"
        )
    if starts.size and starts[-1] > total:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {total} but got offsets[-1] of {starts[-1]}"
        )
    starts = starts[:-1] if include_last else starts  # the last bag ends where the input does
    sizes = np.diff(np.append(starts, total if starts.size else 0))
    if (sizes < 0).any():
        raise RuntimeError(f"embedding_bag: offsets must not fall, but got {starts.tolist()}")
    flat = input if starts.size else input[:0]
    return flat, fresh(np.repeat(np.arange(len(starts)), sizes)), len(starts)


def _folded(rows: Tensor, bag: Tensor, bags: int, mode: str) -> Tensor:
    zeros = rows.new_zeros((bags, rows.shape[1]))
    if mode == "max" and rows.shape[0]:
        return _maxima(rows, bag, bags)
    total: Tensor = zeros.index_add(0, bag, rows)
    if mode == "sum":
        return total
    count = np.maximum(np.bincount(bag.raw, minlength=bags), 1).astype(rows.raw.dtype)
    return total / fresh(count[:, None])


def _maxima(rows: Tensor, bag: Tensor, bags: int) -> Tensor:
    """The largest of each column in a bag, the first of equals; an empty bag has zeros."""
    values, ids = rows.detach().raw, bag.raw
    width = rows.shape[1]
    best, at = np.full((bags, width), -np.inf, values.dtype), np.zeros((bags, width), np.int64)
    for row, b in enumerate(ids):
        better = values[row] > best[b]
        best[b][better], at[b][better] = values[row][better], row
    filled = np.bincount(ids, minlength=bags) > 0
    picked = gather.public(rows, 0, fresh(at))
    return picked * fresh(filled[:, None].astype(values.dtype))  # type: ignore[no-any-return]
