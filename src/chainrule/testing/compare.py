"""`assert_close`, as `torch.testing` has it: its tolerances, its questions, its words when it fails."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from chainrule.core import dtype as dtypes
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor

__all__ = ["assert_close"]

# dtype -> (rtol, atol); whatever is not here must be equal.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_NUMBERS = (bool, int, float, complex)
_EXACT = (0.0, 0.0)


class _Options:
    """What one call of `assert_close` was told."""

    __slots__ = ("atol", "device", "dtype", "equal_nan", "layout", "msg", "rtol", "stride", "subclasses")

    rtol: float | None
    atol: float | None
    equal_nan: bool
    device: bool
    dtype: bool
    layout: bool
    stride: bool
    subclasses: bool
    msg: str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise `AssertionError` unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    Takes tensors, arrays, Python numbers, None, and sequences and mappings of these.
    Without `rtol` and `atol` the dtype decides how close is close.
    """
    if (rtol is None) is not (atol is None):
        given = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {given}.")
    o = _Options()
    o.rtol, o.atol, o.equal_nan, o.msg, o.subclasses = rtol, atol, equal_nan, msg, allow_subclasses
    o.device, o.dtype, o.layout, o.stride = check_device, check_dtype, check_layout, check_stride
    _compare(actual, expected, o, ())


def _fail(text: str, at: tuple[Any, ...], o: _Options) -> NoReturn:
    if at:
        text += f"\n\nThe failure occurred for item {''.join(f'[{k!r}]' for k in at)}"
    raise AssertionError(text if o.msg is None else o.msg(text) if callable(o.msg) else o.msg)


def _compare(actual: Any, expected: Any, o: _Options, at: tuple[Any, ...]) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        return _mappings(actual, expected, o, at)
    if _listed(actual) and _listed(expected):
        return _sequences(actual, expected, o, at)
    if actual is None or expected is None:
        return None if actual is expected else _fail(f"None mismatch: {actual} is not {expected}", at, o)
    if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        same = bool(actual) is bool(expected)
        return None if same else _fail(f"Booleans mismatch: {actual} is not {expected}", at, o)
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return _numbers(actual, expected, o, at)
    if _comparable(actual, expected, o):
        return _tensors(actual, expected, o, at)
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        + (f"\n\nThe failure occurred for item {''.join(f'[{k!r}]' for k in at)}" if at else "")
    )


def _listed(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _comparable(actual: Any, expected: Any, o: _Options) -> bool:
    """Both tensors or both arrays, of related classes."""
    kinds = (Tensor, (np.ndarray, np.generic))
    if not any(isinstance(actual, kind) and isinstance(expected, kind) for kind in kinds):
        return False
    a, b = type(actual), type(expected)
    return a is b or (o.subclasses and (issubclass(a, b) or issubclass(b, a)))


def _sequences(actual: Any, expected: Any, o: _Options, at: tuple[Any, ...]) -> None:
    if len(actual) != len(expected):
        _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", at, o)
    for i, (a, b) in enumerate(zip(actual, expected)):
        _compare(a, b, o, (*at, i))


def _mappings(actual: Any, expected: Any, o: _Options, at: tuple[Any, ...]) -> None:
    missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or extra:
        text = "The keys of the mappings do not match:"
        text += f"\nMissing keys in the actual mapping: {_sorted(missing)}" if missing else ""
        text += f"\nAdditional keys in the actual mapping: {_sorted(extra)}" if extra else ""
        _fail(text, at, o)
    for k in _sorted(actual):
        _compare(actual[k], expected[k], o, (*at, k))


def _sorted(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


# --------------------------------------------------------------------------------------------------- numbers


def _numbers(actual: Any, expected: Any, o: _Options, at: tuple[Any, ...]) -> None:
    if o.dtype and type(actual) is not type(expected):
        _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", at, o)
    rtol, atol = _given(o, [dtypes.complex128] if _inexact(actual) or _inexact(expected) else [])
    _check_scalar(actual, expected, rtol, atol, o, at)


def _inexact(x: Any) -> bool:
    return isinstance(x, (float, complex))


def _given(o: _Options, kinds: list[dtypes.dtype]) -> tuple[float, float]:
    if o.rtol is not None and o.atol is not None:
        return o.rtol, o.atol
    pairs = [TOLERANCES.get(kind, _EXACT) for kind in kinds] or [_EXACT]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _check_scalar(actual: Any, expected: Any, rtol: float, atol: float, o: _Options, at: tuple[Any, ...]) -> None:
    if actual == expected or (o.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(expected) and difference <= atol + rtol * abs(expected):
        return
    exact = rtol == atol == 0
    relative = float("inf") if expected == 0 else difference / abs(expected)
    text = f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}."
    text += f"\nAbsolute difference: {difference}" + ("" if exact else f" (up to {atol} allowed)")
    _fail(text + f"\nRelative difference: {relative}" + ("" if exact else f" (up to {rtol} allowed)"), at, o)


# --------------------------------------------------------------------------------------------------- tensors


def _tensors(actual: Any, expected: Any, o: _Options, at: tuple[Any, ...]) -> None:
    facts = ["shape"]
    if isinstance(actual, Tensor):
        facts += ["device"] * o.device + ["layout"] * o.layout
    for name in [*facts, *(["dtype"] * o.dtype)]:
        a, b = _fact(actual, name), _fact(expected, name)
        if a != b:
            _fail(f"The values for attribute '{name}' do not match: {a} != {b}.", at, o)
    if o.stride and isinstance(actual, Tensor) and actual.stride() != expected.stride():
        a, b = actual.stride(), expected.stride()
        _fail(f"The values for attribute 'stride()' do not match: {a} != {b}.", at, o)
    if isinstance(actual, Tensor) and "meta" in (actual.device.type, expected.device.type):
        return
    tolerances = _given(o, [_kind(actual), _kind(expected)])
    if isinstance(actual, Tensor) and actual.is_sparse and expected.is_sparse:
        _sparse_tensors(actual, expected, tolerances, o, at)
    else:
        _check_values(_elements(actual), _elements(expected), tolerances, o, at)


def _sparse_tensors(a: Any, b: Any, tolerances: tuple[float, float], o: _Options, at: tuple[Any, ...]) -> None:
    """What is written down, and where, in its order."""
    if a._nnz() != b._nnz():
        _fail(f"The number of specified values in sparse COO tensors does not match: {a._nnz()} != {b._nnz()}", at, o)
    _check_values(_elements(a._indices()), _elements(b._indices()), _EXACT, o, at, "Sparse COO indices")
    _check_values(_elements(a._values()), _elements(b._values()), tolerances, o, at, "Sparse COO values")


def _fact(x: Any, name: str) -> Any:
    if isinstance(x, Tensor):
        return getattr(x, name)
    return dtypes.OF_NUMPY.get(x.dtype, x.dtype) if name == "dtype" else tuple(x.shape)


def _kind(x: Any) -> Any:
    return x.dtype if isinstance(x, Tensor) else dtypes.OF_NUMPY.get(x.dtype)


def _elements(x: Any) -> Any:
    if isinstance(x, Tensor):
        x = x.to_dense() if x.is_sparse else x
        x = x.raw if type(x.raw) is np.ndarray else PUBLIC["m"]["numpy"](x, force=True)
    return dtypes.widened(np.asarray(x))


def _check_values(
    a: Any, b: Any, tolerances: tuple[float, float], o: _Options, at: tuple[Any, ...], what: str = "Tensor-likes"
) -> None:
    rtol, atol = tolerances
    if a.dtype != b.dtype:
        a, b = a.astype(np.result_type(a, b)), b.astype(np.result_type(a, b))
    exact = a.dtype.kind in "iub" and rtol == atol == 0
    wrong = a != b if exact else ~_close(a, b, rtol, atol, o.equal_nan)
    if not np.any(wrong):
        return None
    if a.ndim == 0:
        a, b = a.item(), b.item()
        return _check_scalar(
            int(a) if a is True or a is False else a,
            int(b) if b is True or b is False else b,
            rtol,
            atol,
            o,
            at,
        )
    _fail(_report(what, a, b, wrong, rtol, atol), at, o)


def _close(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    with np.errstate(all="ignore"):
        if a.dtype.kind in "iub":
            a, b = a.astype(np.float64), b.astype(np.float64)
        return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _report(what: str, a: Any, b: Any, wrong: Any, rtol: float, atol: float) -> str:
    exact = rtol == atol == 0
    count, total = int(np.sum(wrong)), wrong.size
    if a.dtype.kind in "iub":
        a, b = a.astype(np.int64), b.astype(np.int64)
    with np.errstate(all="ignore"):
        absolute = np.where(wrong, np.abs(a - b), 0)
        real = np.float32 if a.dtype.itemsize < 8 or a.dtype.kind in "iub" or a.dtype == np.complex64 else np.float64
        relative = np.where(wrong, (absolute / np.abs(b)).astype(real), 0)
    text = f"{what} are not {'equal' if exact else 'close'}!\n\n"
    text += f"Mismatched elements: {count} / {total} ({count / total:.1%})"
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        where = np.unravel_index(int(np.argmax(values)), values.shape)
        index = tuple(int(i) for i in where)
        text += f"\nGreatest {name} difference: {values[where].item()} at index {index}"
        text += "" if exact else f" (up to {allowed} allowed)"
    return text
