"""What reductions, scans and sorts share: the axes a `dim` means, the way back from a folded shape, and the pair
`picked`/`placed` that reads and writes values at positions along one axis.

All of these are formulas for rules: they take bare arrays or tensors.
"""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.core.dtype import dtype as DType
from chainrule.core.dtype import widened
from chainrule.core.family import call, indexing
from chainrule.core.layout import channels_last, channels_last_3d
from chainrule.core.op import Array, Castable
from chainrule.core.samples import Drawn, integers, real, samples
from chainrule.core.shape import channels_last_strides, is_contiguous, normalize_dims
from chainrule.core.tensor import Tensor

__all__ = [
    "axes_of", "castable", "count", "kept", "lined_up", "packed", "packed_or_last", "picked", "placed", "rank_of",
    "refuse_batch", "restore_dtype", "restored", "SAME_OUT", "sum_dtype", "unfolded",
]  # fmt: skip

# What ops say that never cast into out=.
SAME_OUT = "Expected out tensor to have dtype {result_type}, but got {out_type} instead"
SCALARS: frozenset[Any] = frozenset((np.float32, np.float64))
INT64 = np.dtype(np.int64)


def castable(title: str, name: str = "{name}") -> Castable:
    """What an op says that casts into out=, but never down a category."""
    told = f"Expected {name} to be safely castable from {{result}} dtype, but got {name} with dtype {{out}}"
    return Castable(f"{title}: {told}")


def axes_of(dim: Any, rank: int) -> tuple[int, ...]:
    """The axes a user's `dim` means; None and () mean all."""
    if dim is None:
        return tuple(range(rank))
    try:
        axes = normalize_dims(dim, rank)
    except TypeError:
        raise TypeError(f"argument 'dim' must be int or tuple of ints, not {type(dim).__name__}") from None
    if not rank:
        return ()
    return axes if axes or isinstance(dim, int) else tuple(range(rank))


def rank_of(x: Any) -> int:
    return len(x.shape)


def packed(r: Any) -> Any:
    """What a fold leaves, in C order: NumPy keeps the order of the axes that remain, PyTorch does not."""
    return r if r.ndim < 2 or r.flags.c_contiguous else np.ascontiguousarray(r)


def packed_or_last(r: Any) -> Any:
    """In C order, or with the channels last, as they come."""
    if r.ndim in (4, 5) and is_contiguous(r.shape, memory.element_strides(r), _LAST[r.ndim]):
        return r
    return packed(r)


_LAST = {4: channels_last, 5: channels_last_3d}


def laid_as(r: Any, *inputs: Any) -> Any:
    """A result of layers, with its channels last if those of an input lie last."""
    for x in inputs:
        if x is not None and x.ndim in _LAST and r.ndim == x.ndim and not x.flags.c_contiguous:
            if is_contiguous(x.shape, memory.element_strides(x), _LAST[x.ndim]):
                return memory.relaid(r, channels_last_strides(r.shape))
    return r


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements fold into one."""
    if dim is None:
        return prod(shape)
    return prod([shape[a] for a in axes_of(dim, len(shape))]) if shape else 1


def kept(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape with the folded axes kept at size 1."""
    axes = axes_of(dim, len(shape))
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def restored(x: Any, shape: tuple[int, ...], dim: Any) -> Any:
    """A folded value with the folded axes back, at size 1, so that it lines up with what was folded."""
    want = (1,) * len(shape) if dim is None else kept(shape, dim)
    if not isinstance(x, Tensor):
        return x if dim is None and not np.ndim(x) else np.reshape(x, want)
    return x if tuple(x.shape) == want else call("view", x, shape=want)


_STILL = [(0,) * rank for rank in range(65)]  # strides that never move


def unfolded(g: Any, shape: tuple[int, ...], dim: Any) -> Any:
    """Undo a fold's change of shape: the folded axes back, at full size.

    On arrays the result is g's own memory, seen with stride 0: consumers broadcast over it, and nothing is copied.
    """
    if dim is None and g.__class__ in SCALARS:
        return np.ndarray(shape, g.dtype, g, 0, _STILL[len(shape)])
    if isinstance(g, Tensor):
        return call("expand", restored(g, shape, dim) if g.ndim else g, tuple(shape))
    if not np.ndim(g):
        return np.broadcast_to(g, shape)
    return np.broadcast_to(np.reshape(g, kept(shape, dim)), shape)


def sum_dtype(input: Any, dtype: DType | None) -> np.dtype[Any]:
    """The dtype of a sum or product."""
    if dtype is not None:
        return dtype.numpy
    own: np.dtype[Any] = input.dtype
    return INT64 if own.kind in "biu" else own


def restore_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """An array in another dtype, the imaginary part dropped without a word."""
    if x.dtype == dtype:
        return x
    return (widened(x).real if x.dtype.kind in "cW" and dtype.kind not in "cW" else x).astype(dtype)  # W: complex32


def refuse_batch(name: str) -> NoReturn:
    """The results of examples differ in shape: there is no batch of them."""
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


# ------------------------------------------------------------------------------------------- positions on an axis


def lined_up(values: tuple[Any, ...], batched: tuple[bool, ...], size: int) -> list[Any]:
    """All values with the batch axis in front."""
    shapes = [tuple(v.shape) for v in values]
    return [v if b else call("expand", v, size=(size, *s)) for v, b, s in zip(values, batched, shapes)]


def _picked_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    x, index = lined_up(values, batched, size)
    rank = rank_of(x) - 1
    return x if rank == 0 else picked(x, index, **{**params, "dim": 1 + params["dim"] % rank})


def _placed_batch(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    x, index = lined_up(values, batched, size)
    rank = len(params["shape"])
    if rank == 0:
        return x
    shape = (size, *params["shape"])
    return placed(x, index, **{**params, "shape": shape, "dim": 1 + params["dim"] % rank})


_rows: list[tuple[Any, ...]] = [((3, 4), Drawn(integers(3), 2, 4)), ((), Drawn(integers(1)))]


@indexing(linear=True, spelled="", vmap=_picked_batch, samples=samples(real, _rows, dim=[0]))
def picked(xp: Any, input: Array, index: Array, *, dim: int, unique: bool = False) -> Array:
    """The values at `index` along `dim`; elsewhere `index` has the input's shape. `unique`: no position twice."""
    return xp.take_along_axis(input, index, dim) if input.ndim else input


@indexing(
    linear=True, spelled="", vmap=_placed_batch,
    samples=samples(real, [((2, 4), Drawn(integers(3), 2, 4))], dim=[0], shape=[(3, 4)]),
)  # fmt: skip
def placed(xp: Any, input: Array, index: Array, *, dim: int, shape: tuple[int, ...], unique: bool = False) -> Array:
    """Zeros of the given shape with the input added at `index` along `dim`: the transpose of `picked`."""
    if not shape:
        return input
    out = xp.zeros(shape, input.dtype)
    if not unique:
        return xp.scatter.scatter_add(out, dim, index, input)
    xp.put_along_axis(out, index, input, dim)
    return out


picked.vjp(
    input=lambda g, index, input_shape, dim, unique: placed(g, index, dim=dim, shape=tuple(input_shape), unique=unique)
)
placed.vjp(input=lambda g, index, dim, unique: picked(g, index, dim=dim, unique=unique))
