"""Arrays over the same memory: who owns it, where in it an array starts, and other shapes and steps over it.

Steps (`strides`) are in elements here, as in PyTorch; NumPy counts bytes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from chainrule.config import settings
from chainrule.core.shape import contiguous_strides, dense_strides, is_non_overlapping_and_dense, met_strides

__all__ = [
    "address", "as_strided", "bytes_of", "deep_copy", "element_strides", "foreign", "has_overlap", "is_dense", "mapped",
    "moved", "moved_to", "offset_of", "ordered_as", "ordered_as_met", "overlap", "overlaps", "owner", "partly_overlap",
    "place", "relaid", "reread", "rooted", "room_like", "strided", "take", "uninitialised",
]  # fmt: skip

Shape = tuple[int, ...]
_make = np.ndarray.__new__


def owner(raw: Any) -> Any:
    """The array whose memory `raw` looks at: the last array in its chain of bases."""
    while isinstance(base := raw.base, np.ndarray):
        raw = base
    return raw


def uninitialised(shape: Any, dtype: np.dtype[Any]) -> Any:
    """New memory; its values are undefined, but stand out where the program wants every run to be the same."""
    made = np.empty(shape, dtype)
    if settings.fills_memory:
        made.fill(True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.nan)
    return made


def address(raw: Any) -> int:
    """Where the first element lies."""
    found: int = raw.__array_interface__["data"][0]
    return found


def offset_of(raw: Any) -> int:
    """How many elements of the memory lie before the first one of `raw`."""
    held = owner(raw)
    return 0 if held is raw else (address(raw) - address(held)) // (raw.dtype.itemsize or 1)


def bytes_of(held: Any) -> Any:
    """The memory of an array that owns it, byte by byte."""
    if not held.flags.c_contiguous:
        held = held.T if held.flags.f_contiguous else held.ravel("K")
    return held.reshape(-1).view(np.uint8)


def moved(raw: Any, to: Any) -> Any:
    """The same shape and steps, as far into other memory as `raw` is into its own."""
    return _make(raw.__class__, raw.shape, raw.dtype, bytes_of(to), address(raw) - address(owner(raw)), raw.strides)


class _Foreign:
    """Memory that belongs to somebody else: an array over it has no owner beyond itself."""

    __slots__ = ("__array_interface__", "held")

    def __init__(self, held: Any, extent: int) -> None:
        known = held.__array_interface__
        self.held = held
        self.__array_interface__ = {"version": 3, "shape": (extent,), "typestr": "|u1", "data": known["data"]}


def rooted(raw: Any) -> Any:
    """The same elements as memory of their own: it begins at the first one and ends at the last."""
    if raw.size == 0 or (raw.base is None and raw.flags.c_contiguous):
        return raw.view(np.ndarray)
    extent = sum([(n - 1) * s for n, s in zip(raw.shape, raw.strides)]) + raw.dtype.itemsize
    return _make(np.ndarray, raw.shape, raw.dtype, np.asarray(_Foreign(raw, extent)), 0, raw.strides)


def foreign(held: Any) -> Any:
    """The bytes of an array that owns memory, as another owner of it."""
    return np.asarray(_Foreign(held, held.nbytes)) if held.nbytes else np.empty(0, np.uint8)


def moved_to(held: Any, shape: Shape, dtype: np.dtype[Any], first: int, steps: Shape) -> Any:
    """An array over memory, `first` elements after its beginning."""
    item = dtype.itemsize
    if 0 in shape:
        first = min(first, held.nbytes // item)
    return _make(np.ndarray, shape, dtype, bytes_of(held), first * item, tuple([s * item for s in steps]))


def reread(raw: Any, dtype: np.dtype[Any], shape: Shape, steps: Shape) -> Any:
    """The memory of `raw`, from its first element on, as elements of another dtype."""
    raw = np.asanyarray(raw)  # it may be a NumPy scalar
    held = bytes_of(owner(raw))
    first = min(address(raw) - address(held), held.nbytes)  # where nothing is there, any place will do
    return _make(raw.__class__, shape, dtype, held, first, tuple([s * dtype.itemsize for s in steps]))


def deep_copy(held: Any, memo: dict[int, Any]) -> Any:
    """A copy of memory; it is copied once for all who share it."""
    return copy.deepcopy(held, memo)


def mapped(filename: Any, shared: bool, nbytes: int) -> Any:
    """The first bytes of a file, mapped into memory; `shared` writes changes back and makes the file that long."""
    if shared:
        with open(filename, "ab") as f:
            f.truncate(max(nbytes, f.seek(0, 2)))
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,)))


def overlaps(a: Any, b: Any) -> bool:
    """Do two dense arrays share some memory?"""
    if a.size == 0 or b.size == 0 or owner(a) is not owner(b) or not (is_dense(a) and is_dense(b)):
        return False
    first, second = address(a), address(b)
    return bool(first < second + b.nbytes and second < first + a.nbytes)


def has_overlap(raw: Any) -> bool:
    """Do two elements of the array share memory? Only expanded axes are looked for."""
    return raw.size > 0 and any(s == 0 and n > 1 for s, n in zip(raw.strides, raw.shape))


def is_same(a: Any, b: Any) -> bool:
    """Are the arrays the same elements in the same memory?"""
    if not _is_real(a, b) or a.shape != b.shape or a.strides != b.strides or a.dtype != b.dtype:
        return False
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0])


def refuse_overlap(raw: Any) -> None:
    """What is written may not lie in one place twice."""
    if has_overlap(raw):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def overlap(a: Any, b: Any) -> bool:
    """Are the arrays the same, or may they share memory?"""
    return a is b or (_is_real(a, b) and bool(np.may_share_memory(a, b)))


def _is_real(a: Any, b: Any) -> bool:
    """Arrays without elements (backends.meta) all lie over the same untouched memory."""
    return a.__class__ is np.ndarray and b.__class__ is np.ndarray


def partly_overlap(a: Any, b: Any) -> bool:
    """Do two dense arrays share some memory without being the same view of it?"""
    if a is b or a.size == 0 or b.size == 0 or owner(a) is not owner(b) or not _is_real(a, b):
        return False
    if not (is_dense(a) and is_dense(b)):
        return False
    first, second = address(a), address(b)
    if first == second and a.nbytes == b.nbytes:
        return bool(a.strides != b.strides)
    return bool(first < second + b.nbytes and second < first + a.nbytes)


def is_dense(raw: Any) -> bool:
    return (
        raw.flags.c_contiguous
        or raw.flags.f_contiguous
        or is_non_overlapping_and_dense(raw.shape, element_strides(raw))
    )


def element_strides(raw: Any) -> Shape:
    """The steps of `raw`, in elements. NumPy steps by 0 where there are no elements, PyTorch does not."""
    return in_elements(raw.shape, raw.strides, raw.dtype.itemsize)


def in_elements(shape: Shape, strides: Shape, item: int) -> Shape:
    """NumPy's steps, in elements."""
    steps = tuple([step // item for step in strides])
    return contiguous_strides(shape) if 0 in shape and not any(steps) else steps


def strided(raw: Any, shape: Shape, strides: Shape, first: int = 0) -> Any:
    """Another shape and other steps over the memory of `raw`, `first` elements after its own first one."""
    if not isinstance(raw, np.ndarray):  # a NumPy scalar
        raw = np.asarray(raw)
    item = raw.dtype.itemsize
    steps = tuple([step * item for step in strides])
    if first >= 0 and raw.flags.c_contiguous:
        try:
            return _make(raw.__class__, shape, raw.dtype, raw, first * item, steps)
        except (TypeError, ValueError):  # reaches beyond `raw` itself
            pass
    held = owner(raw)
    start = address(raw) - address(held) + first * item
    if 0 in shape:  # nothing is there to be read: any place will do, NumPy wants one inside
        start = min(start, held.nbytes)
    return _make(raw.__class__, shape, raw.dtype, held if held.flags.c_contiguous else held.ravel("K"), start, steps)


def as_strided(raw: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """Another shape and other steps, `offset` elements after the beginning of the memory."""
    return strided(raw, shape, strides, offset - offset_of(raw))


def relaid(raw: Any, strides: Shape) -> Any:
    """A copy whose elements lie at the given steps."""
    extent = 1 + sum((n - 1) * s for n, s in zip(raw.shape, strides)) if raw.size else 0
    made = strided(np.zeros_like(raw, shape=extent), raw.shape, strides)
    made[...] = raw
    return made


def room_like(raw: Any, dtype: Any = None) -> Any:
    """A dense array, not filled, whose axes lie as those of `raw` do; NumPy orders stretched axes another way."""
    if 0 not in raw.strides or raw.flags.c_contiguous:
        return np.empty_like(raw, dtype)
    room = np.empty(raw.size, raw.dtype if dtype is None else dtype)
    return strided(room, raw.shape, dense_strides(raw.shape, element_strides(raw)))


def ordered_as(raw: Any, like: Any) -> Any:
    """`raw`, of the shape of `like`, with its axes in the order in which those of `like` lie."""
    if like.flags.c_contiguous:
        return np.asarray(raw, order="C")
    steps = dense_strides(like.shape, element_strides(like))
    return raw if element_strides(raw) == steps else relaid(raw, steps)


def ordered_as_met(raw: Any, *operands: Any) -> Any:
    """The result of several arrays (and numbers), with its axes in the order of those of the first that can tell.

    NumPy keeps an order that all agree on.
    """
    if raw.ndim < 2:
        return raw
    known = tuple([(x.shape, x.strides, x.dtype.itemsize) for x in operands if isinstance(x, np.ndarray)])
    if not known:
        return raw
    order = _order_wanted(raw.shape, raw.strides, raw.dtype.itemsize, known)
    return raw if order is None else order(raw)


@lru_cache(1024)
def _order_wanted(
    shape: Shape, strides: Shape, item: int, operands: tuple[tuple[Shape, Shape, int], ...]
) -> Callable[[Any], Any] | None:
    """What puts a result in order, if it is not."""
    steps = _met_steps(shape, [(s, in_elements(s, t, n)) for s, t, n in operands])
    if in_elements(shape, strides, item) == steps:
        return None
    order = sorted(range(len(shape)), key=lambda at: (-steps[at], shape[at] != 1))
    back = tuple([order.index(at) for at in range(len(shape))])
    sizes = tuple([shape[at] for at in order])
    if tuple([contiguous_strides(sizes)[at] for at in back]) != steps:  # axes of size 1, wherever
        return lambda raw: relaid(raw, steps)

    def ordered(raw: Any) -> Any:
        made = np.empty_like(raw, order="C", shape=sizes).transpose(back)
        made[...] = raw
        return made

    return ordered


def _met_steps(shape: Shape, operands: list[tuple[Shape, Shape]]) -> Shape:
    lying = {steps if own == shape else None for own, steps in operands}
    found = lying.pop()
    if not lying and found is not None and is_non_overlapping_and_dense(shape, found):
        return found
    return met_strides(shape, *[_stretched(own, steps, shape) for own, steps in operands])


def _stretched(own: Shape, steps: Shape, shape: Shape) -> Shape:
    """The steps of an array where it is broadcast: 0 along axes that it is repeated along."""
    lead = len(shape) - len(own)
    return (*(0,) * lead, *[0 if n != m else s for n, m, s in zip(own, shape[lead:], steps)])


def _positions(shape: Shape, strides: Shape, offset: int) -> Any:
    """The place in memory of every element."""
    found = np.full((), offset, np.int64)
    for size, step in zip(shape, strides):
        found = found[..., None] + np.arange(size, dtype=np.int64) * step
    return found


def _counted(origin: tuple[Shape, Shape, int], low: int, count: int) -> tuple[Any, Any]:
    """The places of the elements of `origin`, and how many elements share each."""
    at = _positions(*origin) - low
    return at, np.bincount(at.ravel(), minlength=count)[at]


def _window(a: Any, b: Any) -> tuple[int, int]:
    low = min(x.min(initial=0) for x in (a, b))
    return int(low), int(max(x.max(initial=0) for x in (a, b)) - low + 1)


def _poured(values: Any, at: Any, count: int) -> Any:
    buffer = np.zeros(count, values.dtype)
    np.add.at(buffer, at.ravel(), values.ravel())
    return buffer


def place(g: Any, shape: Shape, strides: Shape, offset: int, origin: tuple[Shape, Shape, int]) -> Any:
    """The adjoint of looking at memory with `shape` and `strides`: sums, shared by those in one place."""
    to = _positions(shape, strides, offset)
    low, count = _window(to, _positions(*origin))
    at, times = _counted(origin, low, count)
    return (_poured(g, to - low, count)[at] / times).astype(g.dtype, copy=False)


def take(h: Any, shape: Shape, strides: Shape, offset: int, origin: tuple[Shape, Shape, int]) -> Any:
    """The adjoint of `place`."""
    to = _positions(shape, strides, offset)
    low, count = _window(to, _positions(*origin))
    at, times = _counted(origin, low, count)
    return _poured((h / times).astype(h.dtype, copy=False), at, count)[to - low]
