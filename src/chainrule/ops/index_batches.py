"""How reading and writing by index run on batches: the rules that several ops share."""

from __future__ import annotations

from typing import Any, NoReturn

from chainrule.core.family import call, front, shape_of
from chainrule.core.op import REGISTRY
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import refuse_batch

__all__ = ["all_batched", "elementwise_batched", "lifted", "no_batch", "over_slices", "slices_batched"]


def all_batched(values: Any, batched: Any, size: int) -> list[Any]:
    """All tensors with a batch axis."""
    return [
        v if b or not isinstance(v, Tensor) else call("expand", call("unsqueeze", v, dim=0), size=(size, *shape_of(v)))
        for v, b in zip(values, batched)
    ]


def elementwise_batched(name: str) -> Any:
    """gather and its kind: input, index and source have the same rank, so the axis just moves up by one."""

    def rule(values: Any, batched: Any, size: int, params: Any) -> Any:
        _check_ranks(name, values, batched)
        wide = all_batched(values, batched, size)
        shape = shape_of(wide[1 if name == "gather" else 0])
        rank = max(len(shape_of(wide[0])) - 1, 1)  # a number is a vector of one
        wide = [_as_vectors(v) if isinstance(v, Tensor) else v for v in wide]
        wide = [front(v, rank) if isinstance(v, Tensor) else v for v in wide]
        found = REGISTRY[name].call(tuple(wide), {**params, "dim": normalize_dim(params["dim"], rank) + 1})
        return found if shape_of(found) == shape else call("reshape", found, shape=shape)

    return rule


def _as_vectors(v: Any) -> Any:
    """A batch of numbers as one of vectors."""
    return call("unsqueeze", v, dim=1) if len(shape_of(v)) == 1 else v


def _check_ranks(name: str, values: Any, batched: Any) -> None:
    """One example's tensors have one rank, whatever a batch adds to some of them."""
    x, index, *source = [max(len(shape_of(v)) - b, 1) for v, b in zip(values, batched) if isinstance(v, Tensor)]
    other = "src" if x == index else "input" if name == "gather" else "self"
    if any(rank != index for rank in (x, *source)) and 0 not in shape_of(values[1]):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {other} tensor")


def slices_batched(name: str) -> Any:
    """index_add and its kind."""

    def rule(values: Any, batched: Any, size: int, params: Any) -> Any:
        return over_slices(REGISTRY[name].call, values, batched, size, params)

    return rule


def over_slices(apply: Any, values: Any, batched: Any, size: int, params: Any) -> Any:
    """Where every example uses the same index vector, the axis moves up by one. `apply` takes inputs and parameters."""
    x, index, *source = values
    rank = len(shape_of(x)) - bool(batched[0])
    if rank == 0:
        vectors = tuple(lifted(v, b) for v, b in zip(values, batched))
        return call("select", over_slices(apply, vectors, batched, size, params), dim=1, index=0)
    if batched[1]:
        return _joined_slices(apply, (x, index, *source), batched, size, params, rank)
    dim = normalize_dim(params["dim"], rank)
    x, *source = all_batched((x, *source), (batched[0], *batched[2:]), size)
    return apply((x, index, *source), {**params, "dim": dim + 1})


def lifted(v: Any, batched: bool) -> Any:
    """What is a number in each example, as a vector of one."""
    return v if len(shape_of(v)) > batched else call("unsqueeze", v, dim=-1)


def _joined_slices(apply: Any, values: Any, batched: Any, size: int, params: Any, rank: int) -> Any:
    """An index vector for each example: the slices of all examples side by side, numbers shifted."""
    dim = normalize_dim(params["dim"], rank) + 1
    x, index, *source = all_batched(values, batched, size)
    n = shape_of(x)[dim]
    rows = call("arange", 0, size * n, n)
    rows = call("unsqueeze", rows, dim=1) if len(shape_of(index)) > 1 else rows
    shifted = call("reshape", call("where", index < 0, index + n, index) + rows, shape=(-1,))
    joined = [_side_by_side(t, dim if len(shape_of(t)) == rank + 1 else 0) for t in (x, *source)]
    found = apply((joined[0], shifted, *joined[1:]), {**params, "dim": 0})
    apart = call("reshape", found, shape=(size, n, *shape_of(found)[1:]))
    return call("movedim", apart, source=1, destination=dim)


def _side_by_side(t: Any, dim: int) -> Any:
    """[B, .., n, ..] as [B n, .., ..]."""
    return call("flatten", call("movedim", t, source=dim, destination=1), 0, 1) if dim else t


def no_batch(name: str) -> Any:
    """How long the result is depends on the numbers of each example."""

    def rule(values: Any, batched: Any, size: int, params: Any) -> NoReturn:
        refuse_batch(name)

    return rule
