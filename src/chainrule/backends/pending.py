"""Arrays whose elements are meant conjugated or negated: `x.conj()` looks at the memory of `x` and remembers that.

NumPy's view functions keep what is pending. Everything that computes sees the elements as they are meant, and what is
written is turned before it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

__all__ = ["Pending", "conjugated", "negated", "parts", "resolved"]


class Pending(np.ndarray[Any, Any]):
    """An array with something pending."""

    is_conj: ClassVar[bool] = False
    is_neg: ClassVar[bool] = False

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found if isinstance(found, Pending) else _turned(self, found)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, _turned(self, resolved(value)))

    def fill(self, value: Any) -> None:
        """One value into every element."""
        self[...] = value

    def copy(self, order: Any = "C") -> Any:
        """The elements as they are meant, in memory of their own."""
        return resolved(self).copy(order)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        inputs = tuple([resolved(x) for x in inputs])
        if out is None or not any(isinstance(o, Pending) for o in out):
            return getattr(ufunc, method)(*inputs, **kwargs, **({} if out is None else {"out": out}))
        results = getattr(ufunc, method)(*inputs, **kwargs)
        for target, result in zip(out, results if isinstance(results, tuple) else (results,)):
            target[...] = result
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _VIEWS:
            return func._implementation(*args, **kwargs)
        return func(*_resolved_all(args), **{k: _resolved_all(v) for k, v in kwargs.items()})


def _resolved_all(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_resolved_all(v) for v in value])
    return resolved(value)


def _method_of(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(resolved(self), name)(*args, **kwargs)

    method.__name__ = name
    return method


_COMPUTING = """
    all any argmax argmin argsort astype choose clip compress conj conjugate cumprod cumsum dot item max mean min
    nonzero prod ptp repeat round searchsorted std sum take tobytes tolist trace var __bool__ __complex__ __contains__
    __copy__ __deepcopy__ __float__ __int__ __iter__ __reduce__ __reduce_ex__
""".split()
for _name in _COMPUTING:
    setattr(Pending, _name, _method_of(_name))
setattr(Pending, "real", property(lambda self: parts(self)[0]))  # noqa: B010  NumPy's may be assigned, these not
setattr(Pending, "imag", property(lambda self: parts(self)[1]))  # noqa: B010

_VIEWS = {
    np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.diagonal, np.shape, np.ndim, np.size, np.flip, np.rollaxis, np.matrix_transpose, np.split,
    np.array_split, np.broadcast_arrays, np.may_share_memory, np.shares_memory, np.iscomplexobj, np.isrealobj,
}  # fmt: skip


class _Conjugated(Pending):
    """Meant conjugated."""

    is_conj = True


class _Negated(Pending):
    """Meant negated."""

    is_neg = True


class _Both(Pending):
    """Meant conjugated and negated."""

    is_conj = is_neg = True


_KINDS: dict[tuple[bool, bool], type[Pending]] = {
    (True, False): _Conjugated,
    (False, True): _Negated,
    (True, True): _Both,
}


class _Tagged(dict[np.dtype[Any], np.dtype[Any]]):
    """The dtype of these arrays: equal to the ordinary one but another object, so that code which compares dtypes with
    `is` before it takes a shortcut takes none."""

    def __missing__(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        made = self[dtype] = np.dtype(dtype, metadata={"elements": "pending"})
        return made


_tagged = _Tagged()


def _turned(like: Pending, value: Any) -> Any:
    """A value with what is pending on an array done to it, which also undoes it."""
    if like.is_conj:
        value = np.conjugate(value)
    return np.negative(value) if like.is_neg else value


def _stored(raw: Any) -> Any:
    """The elements as they stand in memory."""
    return raw.view(np.dtype(raw.dtype.type), np.ndarray) if isinstance(raw, Pending) else raw


def resolved(value: Any) -> Any:
    """The elements as they are meant: a new array if something is pending, else the value itself."""
    return np.asarray(_turned(value, _stored(value))) if isinstance(value, Pending) else value


def _meant(raw: Any, conj: bool, neg: bool) -> Any:
    """An array over the same memory, with this pending."""
    kind, plain = _KINDS.get((conj, neg)), _stored(raw)
    return plain if kind is None else plain.view(_tagged[plain.dtype], kind)


def _flags(raw: Any) -> tuple[bool, bool]:
    return (raw.is_conj, raw.is_neg) if isinstance(raw, Pending) else (False, False)


def conjugated(raw: Any) -> Any:
    """The conjugate, sharing memory."""
    conj, neg = _flags(raw)
    return _meant(raw, not conj, neg)


def negated(raw: Any) -> Any:
    """The negative, sharing memory."""
    conj, neg = _flags(raw)
    return _meant(raw, conj, not neg)


def parts(raw: Any) -> tuple[Any, Any]:
    """The real and the imaginary parts, sharing memory: those of a conjugate are meant negated."""
    (conj, neg), stored = _flags(raw), _stored(raw)
    return _meant(stored.real, False, neg), _meant(stored.imag, False, neg != conj)
