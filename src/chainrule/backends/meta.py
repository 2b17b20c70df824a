"""Arrays without elements: shape, strides and dtype are real, the memory is never touched.

A `MetaArray` lies over one shared, reserved but never used stretch of virtual memory, so that NumPy's own view
functions give true strides and offsets. Ufuncs and reductions compute shapes and dtypes only; a function this module
does not know runs on the (all zero) memory, which is right but takes time. Writing is ignored.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from chainrule.core.tensor import META

__all__ = ["MetaArray", "emptied", "empty", "is_meta", "like", "strided", "unknown_shape"]

_RESERVE = (1 << 45, 1 << 42, 1 << 38, 1 << 34, 1 << 30)  # bytes of address space to ask for, at most
_memory: list[Any] = []


def _reserved() -> Any:
    """The one stretch of address space, mapped on first use."""
    if not _memory:
        _memory.append(_mapped())
    return _memory[0]


def _mapped() -> Any:
    flags = getattr(mmap, "MAP_PRIVATE", 2) | getattr(mmap, "MAP_ANONYMOUS", 32) | getattr(mmap, "MAP_NORESERVE", 16384)
    for size in _RESERVE:
        try:
            return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)
        except (OSError, ValueError, OverflowError):
            continue
        except TypeError:  # no flags on this system: memory is committed, so ask for little
            return np.frombuffer(mmap.mmap(-1, _RESERVE[-1]), np.uint8)
    raise MemoryError("no address space for meta tensors")


class MetaArray(np.ndarray[Any, Any]):
    """An array of which only shape, strides and dtype are real."""

    home = META  # the device of tensors over it

    def __setitem__(self, key: Any, value: Any) -> None:
        np.broadcast_shapes(np.shape(value), np.ndarray.__getitem__(self, key).shape)

    def fill(self, value: Any) -> None:
        """Nothing to fill."""

    def astype(  # type: ignore[override]  # NumPy overloads it by dtype; the result here is always a MetaArray
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The same shape in another dtype."""
        return like(self, dtype)

    def copy(self, order: Any = "C") -> Any:
        """Another array of the same shape."""
        return like(self) if order in "KA" else empty(self.shape, self.dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method != "__call__":
            return _reduced(ufunc, method, inputs, out, kwargs)
        if out is not None:
            return out[0] if len(out) == 1 else out
        kwargs.pop("where", None)
        if ufunc.signature is not None:
            return (
                _computed(lambda *zeros: ufunc(*zeros, **kwargs), inputs) if ufunc is not np.matmul else _matmul(inputs)
            )
        shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
        tiny = ufunc(*(_tiny(x) for x in inputs), **kwargs)
        parts = tuple(empty(shape, t.dtype) for t in (tiny if isinstance(tiny, tuple) else (tiny,)))
        return parts if isinstance(tiny, tuple) else parts[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = _KNOWN.get(func)
        if known is not None:
            return known(*args, **kwargs)
        if func in _VIEWS:
            return func._implementation(*args, **kwargs)
        return _computed(
            lambda *a: func(*a[: len(args)], **dict(zip(kwargs, a[len(args) :]))), (*args, *kwargs.values())
        )


def _method_of(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _computed(lambda *a: getattr(a[0], name)(*a[1:], **kwargs), (self, *args))

    method.__name__ = name
    return method


for _name in (
    "take", "argmax", "argmin", "argsort", "choose", "compress", "cumprod", "cumsum", "nonzero", "repeat",
    "searchsorted", "trace", "round", "clip", "conj",
):  # fmt: skip
    setattr(MetaArray, _name, _method_of(_name))


def is_meta(x: Any) -> bool:
    """Is this an array without elements?"""
    return isinstance(x, MetaArray)


class _Tagged(dict[np.dtype[Any], np.dtype[Any]]):
    """The dtype of meta arrays: equal to the ordinary one but another object, so that code which compares dtypes with
    `is` before it takes a shortcut takes none."""

    def __missing__(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        made = self[dtype] = np.dtype(dtype, metadata={"device": "meta"})
        return made


_tagged = _Tagged()


def strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, offset: int = 0) -> MetaArray:
    """An array with the given strides and so far from the beginning, in bytes."""
    dtype = _tagged[np.dtype(dtype)]
    made: MetaArray = np.ndarray.__new__(MetaArray, shape, dtype, _reserved(), offset, strides)
    return made


def empty(shape: tuple[int, ...], dtype: Any) -> MetaArray:
    """A contiguous array."""
    dtype = _tagged[np.dtype(dtype)]
    try:
        made: MetaArray = np.ndarray.__new__(MetaArray, shape, dtype, _reserved())
    except TypeError as error:
        raise RuntimeError(
            f"meta tensor of {prod(shape) * dtype.itemsize} bytes: more than the address space"
        ) from error
    return made


def like(x: Any, dtype: Any = None) -> MetaArray:
    """An array of the same shape and order of axes."""
    want = np.dtype(x.dtype if dtype is None else dtype)
    if not isinstance(x, np.ndarray) or x.flags.c_contiguous:
        return empty(x.shape, want)
    order = sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))
    turned = empty(tuple(x.shape[a] for a in order), want)
    made: MetaArray = turned.transpose(tuple(np.argsort(order)))
    return made


def unknown_shape(raws: Any, params: Any) -> Any:
    """What an op infers whose result is as long as the elements say."""
    raise NotImplementedError("the shape of the result depends on elements, and meta tensors have none")


def _tiny(x: Any) -> Any:
    return np.ones((1,) * min(x.ndim, 1), x.dtype) if isinstance(x, np.ndarray) else x


_COMPUTE_LIMIT = 1 << 26  # elements; beyond that a function that is not known by shape is refused


def _computed(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Run on zeros and keep only shapes and dtypes."""
    return emptied(fn(*(_zeros(a) for a in args)))


def _zeros(x: Any) -> Any:
    if isinstance(x, MetaArray):
        if x.size > _COMPUTE_LIMIT:
            raise NotImplementedError(f"an operation on a meta tensor of {x.size} elements whose shape rule is unknown")
        return np.zeros(x.shape, x.dtype)
    return type(x)(map(_zeros, x)) if x.__class__ in (list, tuple) else x


def emptied(x: Any) -> Any:
    """Results as arrays without elements, those in tuples too."""
    if isinstance(x, MetaArray):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        return like(x)
    return type(x)(map(emptied, x)) if x.__class__ in (list, tuple) else x


def _matmul(inputs: tuple[Any, ...]) -> Any:
    a, b = inputs
    dtype = np.matmul(np.ones((1, 1), a.dtype), np.ones((1, 1), b.dtype)).dtype
    inner = b.shape[0] if b.ndim == 1 else b.shape[-2]
    if a.shape[-1] != inner:
        raise ValueError(f"matmul: inner sizes {a.shape[-1]} and {inner} differ")
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return empty((*lead, *(a.shape[-2:-1] if a.ndim > 1 else ()), *(b.shape[-1:] if b.ndim > 1 else ())), dtype)


def _reduced(ufunc: Any, method: str, inputs: tuple[Any, ...], out: Any, kwargs: dict[str, Any]) -> Any:
    """`add.reduce` and its kind: shapes from axes, dtype from one element."""
    if out is not None:
        return out[0]
    if method not in ("reduce", "accumulate"):
        return _computed(lambda *a: getattr(ufunc, method)(*a, **kwargs), inputs)
    (x, *more) = inputs
    axis = kwargs.get("axis", more[0] if more else 0)
    dtype = getattr(ufunc, method)(np.ones((1,), x.dtype), dtype=kwargs.get("dtype")).dtype
    if method == "accumulate":
        return empty(x.shape, dtype)
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    keep = kwargs.get("keepdims", False)
    return empty(tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes), dtype)


# --------------------------------------------------------------------------------------------------- functions

_VIEWS = {
    np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.diagonal, np.real, np.imag, np.shape, np.ndim, np.size, np.flip, np.rollaxis, np.permute_dims,
    np.matrix_transpose, np.split, np.array_split, np.sum, np.prod, np.any, np.all, np.max, np.min, np.mean, np.amax,
    np.amin, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.may_share_memory, np.shares_memory,
    np.broadcast_arrays,
}  # fmt: skip


def _reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    try:
        return np.ndarray.reshape(a, shape, copy=False)
    except ValueError:
        if copy is False:
            raise
    return np.ndarray.reshape(empty(a.shape, a.dtype), shape, copy=False)


def _empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any
) -> Any:
    if shape is not None:
        return empty(shape, dtype or prototype.dtype)
    return like(prototype, dtype)


def _full_like(a: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    return _empty_like(a, dtype, *args, **kwargs)


def _where(condition: Any, x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(condition), np.shape(x), np.shape(y))
    return empty(shape, np.where(True, _tiny(x), _tiny(y)).dtype)


def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    kind = dtype or np.result_type(*(np.empty(0, a.dtype) for a in arrays))
    if axis is None:
        return empty((sum(a.size for a in arrays),), kind)
    at = axis % arrays[0].ndim
    if len({(*a.shape[:at], *a.shape[at + 1 :]) for a in arrays}) > 1:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    first = arrays[0].shape
    return empty((*first[:at], sum(a.shape[at] for a in arrays), *first[at + 1 :]), kind)


def _stack(arrays: Any, axis: int = 0, out: Any = None, **kwargs: Any) -> Any:
    return _concatenate([np.expand_dims(a, axis) for a in arrays], axis % (arrays[0].ndim + 1), **kwargs)


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    np.broadcast_shapes(np.shape(src), dst.shape)


_KNOWN: dict[Any, Callable[..., Any]] = {
    np.reshape: _reshape, np.empty_like: _empty_like, np.zeros_like: _empty_like, np.ones_like: _empty_like,
    np.full_like: _full_like, np.where: _where, np.concatenate: _concatenate, np.stack: _stack, np.copyto: _copyto,
    np.copy: lambda a, order="K", subok=False: a.copy(order),
    np.ravel: lambda a, order="C": _reshape(a, -1),
    np.dot: lambda a, b, out=None: _matmul((a, b)),
}  # fmt: skip
