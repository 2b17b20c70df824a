"""Comparisons, choices between tensors, and questions about numbers."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.door import check_partial_overlap
from chainrule.backends.cpu import memory
from chainrule.core.blame import kind_of
from chainrule.core.dtype import COMPLEX, OF_NUMPY, bool_, c_name, finfo, uint8, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, common_dtype, elementwise, front, shape_of
from chainrule.core.literal import cast_number
from chainrule.core.notices import warn, warn_of_expanded
from chainrule.core.op import Array, Number
from chainrule.core.public import PUBLIC, alias, composite, quiet_method
from chainrule.core.samples import Drawn, apart, real, samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import FOREIGN, Tensor
from chainrule.ops.along import packed
from chainrule.ops.arithmetic import one
from chainrule.ops.domains import EXACT, Check, both, no_complex, not_for, unimplemented
from chainrule.ops.storages import bottom

__all__: list[str] = []

pairs: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]


def coin(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Trues and falses."""
    return rng.random(size=shape) < 0.5


# ---------------------------------------------------------------------------------------------------- comparisons


@elementwise(
    promote="compare", in_place_slope="zero", of_arrays=True, samples=samples(apart, [*pairs, ((3,), 0.5)])
)  # fmt: skip
def eq(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the two are equal."""
    return xp.equal(input, other)


@elementwise(promote="compare", in_place_slope="zero", samples=samples(apart, [*pairs, ((3,), 0.5)]))
def ne(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the two differ."""
    return xp.not_equal(input, other)


@elementwise(
    promote="compare",
    in_place_slope="zero",
    check=not_for("lt_cpu", COMPLEX),
    integers="ib",
    samples=samples(apart, [*pairs, ((3,), 0.5)]),
)
def lt(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the first is less."""
    return xp.less(input, other)


@elementwise(
    promote="compare",
    in_place_slope="zero",
    check=not_for("le_cpu", COMPLEX),
    integers="ib",
    samples=samples(apart, [*pairs, ((3,), 0.5)]),
)
def le(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the first is less or equal."""
    return xp.less_equal(input, other)


@elementwise(
    promote="compare",
    in_place_slope="zero",
    check=not_for("gt_cpu", COMPLEX),
    integers="ib",
    samples=samples(apart, [*pairs, ((3,), 0.5)]),
)
def gt(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the first is greater."""
    return xp.greater(input, other)


@elementwise(
    promote="compare",
    in_place_slope="zero",
    check=not_for("ge_cpu", COMPLEX),
    integers="ib",
    samples=samples(apart, [*pairs, ((3,), 0.5)]),
)
def ge(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where the first is greater or equal."""
    return xp.greater_equal(input, other)


alias(ne, "not_equal")
alias(lt, "less")
alias(le, "less_equal")
alias(gt, "greater")
alias(ge, "greater_equal")


# -------------------------------------------------------------------------------------------------------- choices


def _check_where(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    found = inputs[0].dtype
    if found is uint8:
        warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
            UserWarning,
        )
    elif found is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {found.title}"
        )


@elementwise(
    name="where",
    exact="Expected out type to be {result} but got {out}",
    unpromoted=("condition",),
    integers="ib",
    check=_check_where,
    of_numbers=("wrapped",),
    spelled="",
    samples=samples(
        real, [((Drawn(coin, 3, 4)), (3, 4), (3, 4)), (Drawn(coin, 3, 4), (4,), ()), (Drawn(coin, 3), (3,), 2.5)]
    ),
)
def select(xp: Any, condition: Array, input: Array | Number, other: Array | Number) -> Array:
    """`input` where the condition holds, else `other`."""
    return xp.masks.choose(condition, input, other)


def _truth(condition: Any) -> Any:
    """A condition of uint8 counts where it is not 0."""
    return condition if condition.dtype in (bool_, bool_.numpy) else condition != 0


select.vjp(
    input=lambda g, condition: kept(g, _truth(condition)),  # type: ignore[has-type]
    other=lambda g, condition: kept(g, call("logical_not", condition)),  # type: ignore[has-type]
)


def _read_where(condition: Any, input: Any, other: Any, named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Arguments given by name; PyTorch calls `input` `self` where it is a number, and only there."""
    given = {"condition": condition, "input": input, "other": other}
    for name, value in named.items():
        place = "input" if name == "self" else name
        number = isinstance(value, (int, float, complex))
        if place not in given or given[place] is not None or (place == "input" and number is not (name == "self")):
            raise TypeError(
                f"where() received an invalid combination of arguments - got {name}={kind_of(value)}, but expected "
                "(Tensor condition, Tensor input, Tensor other) or (Tensor condition, Number self, Tensor other)"
            )
        given[place] = value
    return given["condition"], given["input"], given["other"]


@composite(spelled="f")
def where(
    condition: Any = None, input: Any = None, other: Any = None, /, *, out: Tensor | None = None, **named: Any
) -> Any:
    """`input` where the condition holds, else `other`; of a condition alone, where it holds, one tensor per axis."""
    if named:
        condition, input, other = _read_where(condition, input, other, named)
    if out is not None:
        for at, (name, value) in enumerate((("input", input), ("other", other)), 2):
            if not isinstance(value, Tensor):
                raise TypeError(f"where(): argument '{name}' (position {at}) must be Tensor, not {kind_of(value)}")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return select.public(condition, input, other, out=out)


@quiet_method
def _where_of(self: Tensor, condition: Tensor, other: Any) -> Any:
    """The tensor's elements where the condition holds, else `other`."""
    return select.public(condition, self, other)


_where_of.__name__ = _where_of.__qualname__ = "where"
PUBLIC["m"]["where"] = PUBLIC["m"].pop("_where_of")


@elementwise(unpromoted=("mask",), spelled="", samples=samples(real, [((3, 4), Drawn(coin, 3, 4))]))
def kept(xp: Any, input: Array, mask: Array) -> Array:
    """The values where the mask holds, 0 elsewhere, whatever stood there."""
    return xp.masks.keep(input, mask)


kept.vjp(input=lambda g, mask: kept(g, mask))


def over(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0: there its derivatives are 0 too, not 0 / 0."""
    return kept(a / (b + (b == 0)), b != 0)


def refuse_overflow(number: Any, dtype: DType) -> None:
    """Refuse a Python number that a dtype cannot hold."""
    cast_number(number, dtype)


def _refuse_value(rank: int) -> NoReturn:
    raise RuntimeError(
        f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {rank} dimension(s)."
    )


def _check_fill(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    input, mask, value = inputs
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask.dtype)}")
    if isinstance(value, Tensor):
        if value.ndim:
            _refuse_value(value.ndim)
        if value.raw.__class__ is np.ndarray and value.dtype is not input.dtype:
            cast_number(value.raw.item(), input.dtype)
    else:
        cast_number(value, input.dtype)


def _write_fill(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    input, mask, value = inputs
    _check_fill(inputs, params)
    if broadcast_shapes(input.raw.shape, mask.raw.shape) != tuple(input.raw.shape):
        raise RuntimeError(
            f"The expanded size of the tensor {list(mask.shape)} must match the existing size {list(input.shape)}"
        )
    filling = value.raw if isinstance(value, Tensor) else cast_number(value, input.dtype)
    check_partial_overlap(input.raw, inputs[1:])
    if memory.has_overlap(input.raw):
        warn_of_expanded("masked_fill_", "mask] = scalar")
    xp.copyto(input.raw, filling.astype(input.raw.dtype), where=mask.raw)


def _batch_fill(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """A value per example is a choice between tensors."""
    rank = max(len(shape_of(v)) - b for v, b in zip(values, batched))
    input, mask, value = (front(v, rank) if b else v for v, b in zip(values, batched))
    if not batched[2]:
        return masked_fill.public(input, mask, value)
    if values[2].ndim > 1:
        _refuse_value(values[2].ndim - 1)
    for each in np.ravel(bottom(values[2])) if value.dtype.is_complex else ():
        cast_number(each.item(), input.dtype)  # refuses what does not fit
    return select.public(mask, call("to_dtype", value, dtype=input.dtype), input)


@elementwise(
    vmap_title="inplace arithmetic",
    promote="none",
    unpromoted=("mask",),
    check=_check_fill,
    write=_write_fill,
    vmap=_batch_fill,
    ordered=False,
    spelled="fmi",
    node={"TTT": "MaskedFillBackward1", "TTN": "MaskedFillBackward0"},
    samples=samples(real, [((3, 4), Drawn(coin, 3, 4), ()), ((3, 4), Drawn(coin, 4), 2.5)]),
)
def masked_fill(xp: Any, input: Array, mask: Array, value: Array | Number) -> Array:
    """The tensor with `value` where the mask holds."""
    if getattr(value, "ndim", 0):
        _refuse_value(value.ndim)
    if not isinstance(value, np.ndarray):
        value = cast_number(value, OF_NUMPY[input.dtype])
    return packed(xp.masks.choose(mask, value.astype(input.dtype), input))


masked_fill.vjp(input=lambda g, mask: kept(g, call("logical_not", mask)), value=lambda g, mask: kept(g, mask))


# ------------------------------------------------------------------------------------------------- extremes, bounds


def _extreme(kernel: str, message: str) -> Any:
    return both(no_complex(message), not_for(kernel, COMPLEX))


def _shared(g: Any, mine: Any, theirs: Any, loses: Any) -> Any:
    """The cotangent of one of two candidates: all if it won, half of it if they tie."""
    return kept(select(mine == theirs, g * 0.5, g), call("logical_not", loses(mine, theirs)))


def _less(a: Any, b: Any) -> Any:
    return a < b


def _greater(a: Any, b: Any) -> Any:
    return a > b


@elementwise(
    samples=samples(apart, pairs),
    check=_extreme("max", "maximum not implemented for complex tensors."),
    integers="ib",
    spelled="fm",
)
def maximum(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements; NaN if either is. A tie shares the gradient."""
    return xp.maximum(input, other)


maximum.vjp(
    input=lambda g, input, other: _shared(g, input, other, _less),
    other=lambda g, input, other: _shared(g, other, input, _less),
)


@elementwise(
    samples=samples(apart, pairs),
    check=_extreme("min", "minimum not implemented for complex tensors."),
    integers="ib",
    spelled="fm",
)
def minimum(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements; NaN if either is. A tie shares the gradient."""
    return xp.minimum(input, other)


minimum.vjp(
    input=lambda g, input, other: _shared(g, input, other, _greater),
    other=lambda g, input, other: _shared(g, other, input, _greater),
)


@elementwise(
    samples=samples(apart, pairs),
    check=_extreme("fmax", "fmax not implemented for complex tensors."),
    integers="ib",
    spelled="fm",
)
def fmax(xp: Any, input: Array, other: Array) -> Array:
    """The larger of two elements, numbers before NaN. A tie goes to the first."""
    return xp.fmax(input, other)


fmax.vjp(
    input=lambda g, input, other: kept(g, (input >= other) | isnan(other)),  # type: ignore[has-type]
    other=lambda g, input, other: kept(g, call("logical_not", (input >= other) | isnan(other))),  # type: ignore[has-type]
)


@elementwise(
    samples=samples(apart, pairs),
    check=_extreme("fmin", "fmin not implemented for complex tensors."),
    integers="ib",
    spelled="fm",
)
def fmin(xp: Any, input: Array, other: Array) -> Array:
    """The smaller of two elements, numbers before NaN. A tie goes to the first."""
    return xp.fmin(input, other)


fmin.vjp(
    input=lambda g, input, other: kept(g, (input <= other) | isnan(other)),  # type: ignore[has-type]
    other=lambda g, input, other: kept(g, call("logical_not", (input <= other) | isnan(other))),  # type: ignore[has-type]
)


NO_BOUND = "torch.clamp: At least one of 'min' or 'max' must not be None"


def _refuse_complex_clamp(inputs: tuple[Any, ...], met: DType) -> NoReturn:
    """A complex input is refused as such; one that bounds make complex has no kernel, whose name tells the bounds."""
    input, low, high = inputs
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    if len(tensors) == 1 and not input.dtype.is_complex:
        raise RuntimeError("value cannot be converted to type double without overflow")
    if input.dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    broadcast_shapes(*(t.shape for t in tensors))
    raise unimplemented("minimum_cpu" if low is None else "maximum_cpu" if high is None else "clamp_cpu", met)


def _are_mixed(bounds: tuple[Any, ...]) -> bool:
    """Is one bound a number, and the other a tensor that cannot stand for one?"""
    given = [b for b in bounds if b is not None]
    tensors = [b for b in given if isinstance(b, Tensor)]
    return 0 < len(tensors) < len(given) and any([t.ndim or t.requires_grad for t in tensors])


def _check_clamp(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    bounds = inputs[1:]
    if all(b is None for b in bounds):
        raise RuntimeError(NO_BOUND)
    if _are_mixed(bounds):
        got = ", ".join([kind_of(b) for b in bounds])
        raise TypeError(
            f"clamp() received an invalid combination of arguments - got (Tensor, {got}), but expected Tensors or "
            "Numbers"
        )
    met = common_dtype(inputs)
    if met.is_complex:
        _refuse_complex_clamp(inputs, met)
    if met is bool_ and all(b is not None for b in bounds):
        raise unimplemented("clamp_cpu" if any(isinstance(b, Tensor) for b in bounds) else "clamp_scalar_cpu", met)
    for b in bounds:
        if b is not None and not isinstance(b, Tensor):
            if met is bool_:
                raise unimplemented("clamp_max_scalar_cpu" if bounds[0] is None else "clamp_min_scalar_cpu", met)
            refuse_overflow(b, met)


@elementwise(
    check=_check_clamp,
    integers="i",
    samples=samples(
        real, [((3, 4), -0.5, 0.5), ((3, 4), None, 0.3), ((3, 4), 0.1, None), ((3, 4), (4,), None), ((3,), (3,), (3,))]
    ),
    node={"TTT": "ClampBackward0", "TTO": "ClampBackward0", "TOT": "ClampBackward0", "TNN": "ClampBackward1",
          "TNO": "ClampBackward1", "TON": "ClampBackward1"},
    exact=lambda inputs, **_: None if any(isinstance(t, Tensor) for t in inputs[1:]) else EXACT, spelled="fmiF",
)  # fmt: skip
def clamp(xp: Any, input: Array, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """Every element moved into [min, max]; if min > max, everything is max."""
    if min is None and max is None:
        raise RuntimeError(NO_BOUND)
    if min is not None:  # a zero at a bound of zero keeps its sign: of two equal numbers the second is taken
        input = xp.maximum(min, input)
    return input if max is None else xp.minimum(max, input)


def _inside(input: Any, min: Any, max: Any) -> Any:
    if min is None or max is None:
        return input >= min if max is None else input <= max
    return (input >= min) & (input <= max)


def _pull_min(g: Any, input: Any, min: Any, max: Any) -> Any:
    below = input < min
    return kept(g, below if max is None else below & (min < max))


clamp.vjp(
    input=lambda g, input, min, max: kept(g, _inside(input, min, max)),
    min=_pull_min,
    max=lambda g, input, min, max: kept(g, (input > max) if min is None else (input > max) | (max < min)),
)
alias(clamp, "clip")


def _check_bound(kernel: str) -> Check:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        first, bound = inputs
        if isinstance(bound, Tensor):
            not_for(kernel, COMPLEX)(inputs, params)
        elif isinstance(bound, complex):
            raise NotImplementedError("clamp is not supported for complex types")
        _check_clamp((first, None, bound) if kernel == "minimum_cpu" else (first, bound, None), params)

    return check


@elementwise(
    check=_check_bound("maximum_cpu"), integers="i", samples=samples(real, [((3, 4), 0.5), ((3, 4), (4,))]),
    node={"TN": "ClampMinBackward0", "TT": "ClampMinBackward1"}, spelled="fmiF",
)  # fmt: skip
def clamp_min(xp: Any, input: Array, min: Array | Number) -> Array:
    """Every element, but at least `min`."""
    return xp.maximum(input, min)


clamp_min.vjp(input=lambda g, input, min: kept(g, input >= min), min=lambda g, input, min: kept(g, input < min))


@elementwise(
    check=_check_bound("minimum_cpu"), integers="i", samples=samples(real, [((3, 4), 0.5), ((3, 4), (4,))]),
    node={"TN": "ClampMaxBackward0", "TT": "ClampMaxBackward1"}, spelled="fmiF",
)  # fmt: skip
def clamp_max(xp: Any, input: Array, max: Array | Number) -> Array:
    """Every element, but at most `max`."""
    return xp.minimum(input, max)


clamp_max.vjp(input=lambda g, input, max: kept(g, input <= max), max=lambda g, input, max: kept(g, input > max))


# ---------------------------------------------------------------------------------------- questions about numbers


@elementwise(promote="none", samples=samples(real, one), spelled="fm")
def isnan(xp: Any, input: Array) -> Array:
    """Which elements are no numbers."""
    return xp.isnan(input)


@elementwise(promote="none", samples=samples(real, one), spelled="fm")
def isinf(xp: Any, input: Array) -> Array:
    """Which elements are infinite."""
    return xp.isinf(input)


@elementwise(promote="none", samples=samples(real, one), spelled="fm")
def isfinite(xp: Any, input: Array) -> Array:
    """Which elements are finite numbers."""
    return xp.isfinite(input)


@elementwise(
    promote="none",
    samples=samples(real, one),
    spelled="fm",
    check=no_complex("isposinf does not support complex inputs."),
    exact="isposinf does not support non-boolean outputs.",
)
def isposinf(xp: Any, input: Array) -> Array:
    """Which elements are +inf."""
    return input == np.inf if input.dtype.kind not in "biu" else xp.zeros(input.shape, bool)


@elementwise(
    promote="none",
    samples=samples(real, one),
    spelled="fm",
    check=no_complex("isneginf does not support complex inputs."),
    exact="isneginf does not support non-boolean outputs.",
)
def isneginf(xp: Any, input: Array) -> Array:
    """Which elements are -inf."""
    return input == -np.inf if input.dtype.kind not in "biu" else xp.zeros(input.shape, bool)


@elementwise(promote="none", samples=samples(real, one), spelled="fm")
def isreal(xp: Any, input: Array) -> Array:
    """Which elements have no imaginary part."""
    if input.dtype.kind in "cW":  # W: complex32
        return xp.imag(widened(input)) == 0
    found = memory.room_like(input, np.bool_)
    found[...] = True
    return found


def _check_close(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    a, b = inputs
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{a.dtype.title} did not match {b.dtype.title}")
    _check_tolerance(**params)


def _check_tolerance(rtol: Any, atol: Any, equal_nan: bool = False) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")


@elementwise(promote="none", samples=samples(apart, pairs), spelled="fm", check=_check_close)
def isclose(
    xp: Any, input: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Array:
    """Where |input - other| <= atol + rtol * |other|."""
    _check_tolerance(rtol, atol)
    near = xp.equal(input, other)
    if equal_nan:
        near = near | (xp.isnan(input) & xp.isnan(other))
    if input.dtype.kind in "biu":
        input, other = input.astype(np.float64), other.astype(np.float64)
    gap = xp.absolute(xp.subtract(input, other))
    return near | (xp.isfinite(gap) & (gap <= atol + xp.absolute(rtol * other)))


_NO_EQUAL = "Batching rule not implemented for aten::equal. We could not generate a fallback."
_NO_ALLCLOSE = (
    "vmap over torch.allclose isn't supported yet. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)


def _all_of(found: Any, no_batch: str) -> bool:
    """Does every pair fit? The pairs of a batch have an answer each, which no bool can say."""
    if found.__class__ not in FOREIGN:
        return bool(found.raw.all())
    if found.level.kind == "vmap":
        raise RuntimeError(no_batch)
    return bool(found.all())


@composite(spelled="fm")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether every pair of elements is close."""
    return _all_of(isclose.public(input, other, rtol, atol, equal_nan), _NO_ALLCLOSE)


@composite(spelled="fm")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether they have the same shape and the same elements."""
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return tuple(input.shape) == tuple(other.shape) and _all_of(eq.public(input, other), _NO_EQUAL)


@composite(spelled="fm")
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is other than 0."""
    if input.__class__ in FOREIGN:
        return bool(input)
    count = input.raw.size
    if count != 1:
        what = "no values" if count == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(input.raw.reshape(()) != 0)


@composite(spelled="fm")
def is_complex(input: Tensor) -> bool:
    """Whether it is of a complex dtype."""
    return input.dtype.is_complex


@composite(spelled="fm")
def is_floating_point(input: Tensor) -> bool:
    """Whether it is of a (real) floating point dtype."""
    return input.dtype.is_floating_point


@composite(spelled="fm")
def is_signed(input: Tensor) -> bool:
    """Whether its dtype can hold negative numbers."""
    signed: bool = input.dtype.is_signed
    return signed


def _filled(xp: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    limits = finfo(OF_NUMPY[x.dtype])
    top, bottom = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    x = xp.where(xp.isnan(x), x.dtype.type(0.0 if nan is None else nan), x)
    x = xp.where(x == np.inf, x.dtype.type(top), x)
    return xp.where(x == -np.inf, x.dtype.type(bottom), x)


def _check_replacements(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    for at, name in enumerate(("nan", "posinf", "neginf"), 2):
        value = params[name]
        if value is not None and not isinstance(value, (int, float, np.number, Tensor)):
            raise TypeError(f"nan_to_num(): argument '{name}' (position {at}) must be float, not {kind_of(value)}")


@elementwise(
    promote="none", samples=samples(real, one, nan=[None, 1.0], posinf=[None], neginf=[None]), holomorphic=False,
    check=_check_replacements,
    real_slopes=True, spelled="fmiF", exact="nan_to_num: dtype of out: {out} should be same as input: {result}",
)  # fmt: skip
def nan_to_num(
    xp: Any, input: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced: by 0 and the largest finite numbers, unless told otherwise."""
    if input.dtype.kind in "biu":
        return input.copy("K")
    if input.dtype.kind != "c":
        return _filled(xp, input, nan, posinf, neginf)
    out = xp.empty_like(input)
    out.real, out.imag = (_filled(xp, part, nan, posinf, neginf) for part in (input.real, input.imag))
    return out


def _replace(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    """How the in-place form writes: integers have nothing to replace, and are left alone."""
    target = inputs[0].raw
    _check_replacements(inputs, params)
    if target.dtype.kind not in "biu":
        memory.refuse_overlap(target)
        target[...] = nan_to_num.op.forward(xp, target, **params)


nan_to_num.op.write = _replace
nan_to_num.vjp(input=lambda g, input: kept(g, isfinite(input)))
