"""Several tensors as one: along an axis they have, along a new one, along a diagonal."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core.dtype import can_cast
from chainrule.core.family import Family, call, common_dtype, shape_of
from chainrule.core.op import Array, Op
from chainrule.core.public import composite, spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor
from chainrule.ops.along import packed_or_last
from chainrule.ops.parts import AXES, slice_view, unbind

__all__ = ["block_diag", "cat", "stack"]

Shape = tuple[int, ...]


class Joining(Family):
    """Ops on a list of tensors whose dtypes meet."""

    name = "joining"

    def prepare(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        if not inputs:
            return ()
        first = inputs[0].dtype
        if all(t.dtype is first for t in inputs):
            return tuple([t.raw for t in inputs])
        want = common_dtype(tuple(inputs)).numpy
        return tuple([t.raw.astype(want) for t in inputs])

    def check_out(self, op: Op, result: Any, out: Any, inputs: tuple[Any, ...]) -> None:
        if not can_cast(result.dtype, out.dtype):
            raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.title}")
        if any(memory.overlap(out.raw, t.raw) for t in inputs):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        if "dim" not in params:
            return None
        rank = max(len(shape_of(v)) - b for v, b in zip(values, batched))
        whole = tuple([v if b else spread(v, size) for v, b in zip(values, batched)])
        if rank > 1 or op.name == "stack":  # an empty vector counts as nothing: see `cat`
            whole = tuple([v for v in whole if shape_of(v)[1:] != (0,) or op.name == "stack"])
        return op.call(whole, {"dim": 1 + normalize_dim(params["dim"], rank + (op.name == "stack"), wrap_scalar=False)})


def spread(v: Any, size: int) -> Any:
    """The same for every example."""
    return call("expand", call("unsqueeze", v, 0), (size, *shape_of(v)))


joining = Joining().decorate

_same: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4),)]


@joining(linear=True, samples=samples(real, [*_same, ((2, 4), (1, 4), (3, 4))], dim=[0]))
def cat(xp: Any, *tensors: Array, dim: int = 0) -> Array:
    """The tensors one after another along an axis they have. Vectors without elements count as nothing."""
    try:
        found = xp.concatenate(tensors, dim)
        return found if found.flags.c_contiguous else packed_or_last(found)
    except (ValueError, TypeError, IndexError):
        return _cat_legacy(xp, tensors, dim)


def _cat_legacy(xp: Any, tensors: tuple[Any, ...], dim: int) -> Any:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    solid = [t for t in tensors if t.shape != (0,)]
    if any(t.ndim == 0 for t in tensors):
        at = next(i for i, t in enumerate(tensors) if t.ndim == 0)
        raise RuntimeError(f"zero-dimensional tensor (at position {at}) cannot be concatenated")
    if not solid:
        return tensors[0].copy()
    axis = normalize_dim(dim, solid[0].ndim)
    for at, t in enumerate(tensors):
        if t.shape != (0,):
            _check_joins(solid[0].shape, t.shape, axis, at)
    return packed_or_last(xp.concatenate(solid, axis))


def _check_joins(first: Shape, shape: Shape, axis: int, at: int) -> None:
    if len(first) != len(shape):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
    for d, (n, m) in enumerate(zip(first, shape)):
        if n != m and d != axis:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {axis}. "
                f"Expected size {n} but got size {m} for tensor number {at} in the list."
            )


def _uncat(g: Any, tensors_shape: tuple[Shape, ...], dim: int) -> list[Any]:
    axis = dim if dim >= 0 else dim + len(shape_of(g))
    parts, start = [], 0
    bare, axes = not isinstance(g, Tensor), AXES[axis]
    for shape in tensors_shape:
        if len(shape) == 1 and shape[0] == 0:
            parts.append(np.zeros(0, g.dtype) if bare else g.new_zeros((0,)))
            continue
        end = start + shape[axis]
        parts.append(g[(*axes, slice(start, end))] if bare else slice_view(g, axis, start, end, 1))
        start = end
    return parts


cat.vjp(tensors=_uncat)
spell("concat", cat.public, "f")
spell("concatenate", cat.public, "f")


@joining(linear=True, samples=samples(real, [*_same, ((), ())], dim=[0, -1]))
def stack(xp: Any, *tensors: Array, dim: int = 0) -> Array:
    """The tensors along a new axis."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    rank = tensors[0].ndim + 1
    at = dim if 0 <= dim < rank else normalize_dim(dim, rank)
    key = (*AXES[at], None)
    try:
        found = xp.concatenate([t[key] for t in tensors], at)
        return found if found.flags.c_contiguous else np.ascontiguousarray(found)
    except (IndexError, ValueError):
        _refuse_stack(tensors)


def _refuse_stack(tensors: tuple[Any, ...]) -> NoReturn:
    first = tensors[0].shape
    at, other = next((i, t.shape) for i, t in enumerate(tensors) if t.shape != first)
    raise RuntimeError(
        f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(other)} at entry {at}"
    )


stack.vjp(tensors=lambda g, dim: unbind(g, dim))


def _at_least(title: str, tensors: Any) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{title}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{title} expects a non-empty TensorList")
    return list(tensors)


@composite("f")
def hstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Joined along the columns (vectors one after another)."""
    rows = [call("atleast_1d", t) for t in _at_least("hstack", tensors)]
    return cat.public(rows, 0 if rows[0].ndim == 1 else 1, out=out)  # type: ignore[no-any-return]


@composite("f")
def vstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Joined along the rows; a vector is a row."""
    return cat.public([call("atleast_2d", t) for t in _at_least("vstack", tensors)], 0, out=out)  # type: ignore[no-any-return]


spell("row_stack", vstack, "f")


@composite("f")
def dstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Joined along the third axis."""
    return cat.public([call("atleast_3d", t) for t in _at_least("dstack", tensors)], 2, out=out)  # type: ignore[no-any-return]


@composite("f")
def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Joined along the columns; a vector is a column."""
    columns = [t if t.ndim > 1 else call("reshape", t, (t.numel(), 1)) for t in _at_least("column_stack", tensors)]
    return cat.public(columns, 1, out=out)  # type: ignore[no-any-return]


def _diagonal_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """Each matrix of an example between zeros, and the rows one after another."""
    if any([len(shape_of(v)) - b > 2 for v, b in zip(values, batched)]):
        return None
    whole = [v if b else spread(v, size) for v, b in zip(values, batched)]
    blocks = [v if v.ndim == 3 else call("reshape", v, (size, 1, v.shape[1] if v.ndim == 2 else 1)) for v in whole]
    left, right = 0, sum(b.shape[2] for b in blocks)
    rows = []
    for b in blocks:
        right -= b.shape[2]
        rows.append(call("constant_pad_nd", b, (left, right)))
        left += b.shape[2]
    return cat.public(rows, 1)


@joining(
    linear=True, spelled="", name="block_diag", vmap=_diagonal_batched,
    samples=samples(real, [((2, 3), (1, 2)), ((3,), ())]),
)  # fmt: skip
def block_diag(xp: Any, *tensors: Array) -> Array:
    """A matrix with the given matrices along its diagonal."""
    blocks = [t.reshape((1,) * (2 - t.ndim) + t.shape) if t.ndim < 2 else t for t in tensors]
    for at, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {at} has {t.ndim} dimensions"
            )
    whole = xp.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        whole[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return whole


def _blocks(g: Any, tensors_shape: tuple[Shape, ...]) -> list[Any]:
    parts, row, column = [], 0, 0
    for shape in tensors_shape:
        n, m = (1,) * (2 - len(shape)) + shape
        part = slice_view(slice_view(g, 0, row, row + n, 1), 1, column, column + m, 1)
        parts.append(part.reshape(shape))
        row, column = row + n, column + m
    return parts


block_diag.vjp(tensors=_blocks)


@composite("f", name="block_diag")
def _block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal; vectors are rows."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if not listed:
        return call("empty", (1, 0))  # type: ignore[no-any-return]
    return block_diag.public(tuple(listed))  # type: ignore[no-any-return]
