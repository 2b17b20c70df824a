"""Numbers in a row: arange, linspace, logspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.backends import meta
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.dtype import dtype as DType
from chainrule.core.notices import warn
from chainrule.core.tensor import CPU, META, Tensor
from chainrule.ops.create import check_options, creation, dtype_from, is_index, made, place, write_to

__all__: list[str] = []


F32 = np.dtype(np.float32)


def _number(x: Any, name: str) -> Any:
    """An end point: a Python number, or a 0-d tensor as one."""
    if isinstance(x, Tensor) and (not x.requires_grad or name in ("linspace", "logspace")):  # these take tensors
        return x.item()
    if isinstance(x, np.generic):
        return x.item()
    if not isinstance(x, (bool, int, float, complex)):
        raise TypeError(f"{name}(): argument 'end' must be Number, not {type(x).__name__}")
    return x


def _deliver(name: str, raw: Any, kind: DType, out: Any, given: Any, device: Any, requires_grad: bool) -> Tensor:
    if out is not None:
        shaped = raw.reshape(out.shape) if out.numel() == raw.size else raw
        if shaped is raw and out.numel() != raw.size:
            _resized_for(name, out, raw.size)
        return write_to(out, shaped.astype(out.dtype.numpy), name, kind if given is not None else None)
    return made(meta.empty(raw.shape, raw.dtype) if place(device) is META else raw, requires_grad)


def _resized_for(name: str, out: Tensor, count: int) -> None:
    if name == "arange" and out.numel():
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.shape.numel()} which does "
            f"not match the computed number of elements {count}. Note that this may occur as a result of rounding "
            f"error. The out tensor will be resized to a tensor of shape ({count},).",
            UserWarning,
        )
    out.resize_((count,))


@creation()
def arange(
    *args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` up to, not including, `end`, in steps of `step`."""
    start, end, step = _arange_ends(args, start, end, step)
    if dtype is out is layout is device is None and end.__class__ is start.__class__ is step.__class__ is int:
        if step > 0 and end >= start and settings.default_device is CPU and not pin_memory:
            return made(np.arange(start, end, step), requires_grad)
    check_options("arange", layout, pin_memory)
    kind = _range_dtype((start, end, step), out) if dtype is None else dtype_from(dtype, "arange")
    a, b, s = (_number(x, "arange") for x in (start, end, step))
    count = _arange_count(a, b, s, kind)
    return _deliver("arange", _steps(a, s, count, kind), kind, out, dtype, device, requires_grad)


def _arange_ends(args: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        if len(args) > 3:
            raise TypeError(f"arange() takes from 1 to 3 positional arguments but {len(args)} were given")
        given = [start, end, step]
        for at, value in enumerate(args):
            if given[at] is not None:
                raise TypeError("arange() got multiple values for an argument")
            given[at] = value
        start, end, step = given
    if end is None:
        raise TypeError("arange() received an invalid combination of arguments: no end was given")
    return 0 if start is None else start, end, 1 if step is None else step


def _range_dtype(ends: tuple[Any, ...], out: Any) -> DType:
    if out is not None:
        return out.dtype  # type: ignore[no-any-return]
    kinds = [e.dtype if isinstance(e, Tensor) else dtypes.scalar_dtype(e) for e in ends]
    return settings.default_dtype if any(k.category >= 2 for k in kinds) else dtypes.int64


def _arange_count(a: Any, b: Any, s: Any, kind: DType) -> int:
    if kind.category < 2 and not any(isinstance(x, float) and not math.isfinite(x) for x in (a, b, s)):
        a, b, s = int(a), int(b), int(s)
    _check_steps(a, b, s)
    if isinstance(a, int) and isinstance(b, int) and isinstance(s, int):
        return int(-((a - b) // s))
    count: int = math.ceil((b - a) / s)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    return count


def _check_steps(a: Any, b: Any, s: Any) -> None:
    if s == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(a) and math.isfinite(b)):
        raise RuntimeError(f"unsupported range: {a} -> {b}")
    if (s > 0 and b < a) or (s < 0 and b > a):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _steps(a: Any, s: Any, count: int, kind: DType) -> Any:
    if kind.category < 2:
        return np.arange(count, dtype=np.int64).__mul__(int(s)).__iadd__(int(a)).astype(kind.numpy, copy=False)
    return (a + s * np.arange(count, dtype=np.float64)).astype(kind.numpy, copy=False)


@creation("f", "range")
def _range(
    start: Any, end: Any, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` to `end`, both included."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
    )
    check_options("range", layout, pin_memory)
    kind = (settings.default_dtype if out is None else out.dtype) if dtype is None else dtype_from(dtype, "range")
    a, b, s = (_number(x, "range") for x in (start, end, step))
    _check_steps(a, b, s)
    return _deliver("range", _steps(a, s, math.floor((b - a) / s) + 1, kind), kind, out, dtype, device, requires_grad)


@creation()
def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` numbers, evenly from `start` to `end`, both included."""
    check_options("linspace", layout, pin_memory)
    kind = _line_dtype("linspace", start, end, steps, out, dtype)
    raw = _line(_end_point(start, "linspace"), _end_point(end, "linspace"), steps, kind.numpy)
    return _deliver("linspace", raw, kind, out, dtype, device, requires_grad)


@creation()
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` powers of `base`, whose exponents go evenly from `start` to `end`."""
    check_options("logspace", layout, pin_memory)
    kind = _line_dtype("logspace", start, end, steps, out, dtype)
    raw = _powers(base, _end_point(start, "logspace"), _end_point(end, "logspace"), steps, kind)
    return _deliver("logspace", raw, kind, out, dtype, device, requires_grad)


def _end_point(x: Any, name: str) -> Any:
    if isinstance(x, Tensor) and x.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got end with {x.ndim} dimension(s)."
        )
    return _number(x, name)


def _line_dtype(name: str, start: Any, end: Any, steps: Any, out: Any, dtype: Any) -> DType:
    if not is_index(steps):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    is_complex = any((x.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, complex)) for x in (start, end))
    if dtype is not None:
        kind = dtype_from(dtype, name)
        if is_complex and not kind.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {_default_complex()} can't be safely cast to passed dtype {kind}"
            )
        return kind
    if out is not None:
        return out.dtype  # type: ignore[no-any-return]
    return _default_complex() if is_complex else settings.default_dtype


def _default_complex() -> DType:
    return dtypes.default_complex_dtype()


def _line(a: Any, b: Any, steps: int, target: np.dtype[Any]) -> Any:
    """Both halves are counted from their own end, so that the result is symmetric."""
    if steps == 0:
        return np.empty(0, target)
    if steps == 1:
        return np.full(1, a).astype(target)
    if target.kind in "iu":
        a, b = int(a), int(b)
        work: Any = F32
        step = np.float32(np.float32(b - a) / (steps - 1))
    else:
        work = F32 if target.itemsize == 2 else target
        a, b = np.array(a).astype(target).astype(work)[()], np.array(b).astype(target).astype(work)[()]
        step = ((b - a) / work.type(steps - 1)).astype(target).astype(work)
    return _two_halves(a, b, step, steps, work, target)


def _two_halves(a: Any, b: Any, step: Any, steps: int, work: Any, target: np.dtype[Any]) -> Any:
    half = steps // 2
    up, down = np.arange(half).astype(work), np.arange(steps - half)[::-1].astype(work)
    made = np.empty(steps, target)
    made[:half] = (a + step * up).astype(target)
    made[half:] = (b - step * down).astype(target)
    return made


def _powers(base: float, a: Any, b: Any, steps: int, kind: DType) -> Any:
    target = kind.numpy
    if steps == 1:
        return np.full(1, base**a).astype(target)
    work = target if target.kind == "c" else F32 if target.kind in "iu" or target.itemsize == 2 else target
    return np.power(work.type(base), _line(a, b, steps, work)).astype(target)
