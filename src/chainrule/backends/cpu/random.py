"""Draws from an `Engine`: PyTorch's CPU numbers for a seed, leaving the engine in the state PyTorch leaves.

Each function returns a fresh C-contiguous array, filled in that order. A caller that fills memory in another
order (a transposed target of an in-place draw) draws for the order of memory and permutes. Errors use
PyTorch's words.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainrule.core.dtype import OF_NUMPY, c_name
from chainrule.core.notices import warn

from . import memory
from .boxmuller import blocks32, blocks64, fused, libm_log, libm_log1p
from .draws import DIGITS, F32, F64, I64, Array, DType, Floats64, cast, check_dtype, pairs, title
from .rejection import binomial, dirichlet, gamma, poisson
from .twister import DEFAULT_SEED, STATE_BYTES, Engine, fresh_seed

__all__ = [
    "DEFAULT_SEED",
    "STATE_BYTES",
    "Engine",
    "bernoulli",
    "bernoulli_each",
    "binomial",
    "cauchy",
    "dirichlet",
    "dropout_noise",
    "exponential",
    "fresh_seed",
    "gamma",
    "geometric",
    "integers",
    "log_normal",
    "multinomial",
    "normal",
    "normal_each",
    "permutation",
    "poisson",
    "uniform",
]

Shape = tuple[int, ...]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_CHUNK = 16384  # elements converted at once, so that temporaries stay in cache

_PART_OF: dict[str, DType] = {"complex32": np.dtype(np.float16), "complex64": F32, "complex128": F64}
# By the character of a dtype, which is ten times quicker to read than its name; E is bfloat16.
_LARGEST = {"e": 65504.0, "E": 3.3895313892515355e38, "f": 3.4028234663852886e38, "d": sys.float_info.max}
_INTEGERS = {char: (int(np.iinfo(char).min), int(np.iinfo(char).max)) for char in "bBhHiIlLqQ"}
_INTEGERS["?"] = (0, 1)
_CLASSIC = "bBhilq"  # the integers PyTorch had before it had all the unsigned ones


def _short(value: float) -> str:
    """A number as a C++ stream writes it."""
    return f"{value:g}"


def _from_float(values: Floats64, dtype: DType) -> Array:
    """A C cast of doubles: integers keep the low bits of the truncated number."""
    if dtype.kind in "iu":
        with np.errstate(invalid="ignore"):
            return values.astype(np.int64).astype(dtype)
    return cast(values, dtype)


def _chunks(count: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, count, _CHUNK)]


# ---- continuous -------------------------------------------------------------------------------------------


def uniform(engine: Engine, shape: Shape, dtype: DType, low: float = 0.0, high: float = 1.0) -> Array:
    """Uniform on [low, high); a complex dtype draws both parts."""
    if dtype.char == "f" and low == 0.0 and high == 1.0:
        return engine.unit32(math.prod(shape)).reshape(shape)
    if dtype.kind in "cW":
        return uniform(engine, shape + (2,), _PART_OF[dtype.name], low, high).view(dtype).reshape(shape)
    _check_uniform(dtype, low, high)
    unit = (engine.unit64 if dtype == F64 else engine.unit32)(math.prod(shape))
    if low != 0.0 or high != 1.0:
        unit = _between(unit, low, high)
    return _open_ended(cast(unit, dtype), low, high).reshape(shape)


def _check_uniform(dtype: DType, low: float, high: float) -> None:
    check_dtype("check_uniform_bounds", dtype)
    largest = _LARGEST[dtype.char]
    for label, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{label} is out of bounds for {c_name(OF_NUMPY[dtype])}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={_short(low)} > to={_short(high)}"
        )
    if not high - low <= largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{title(dtype)}>::max(), but found "
            f"to={_short(high)} and from={_short(low)} which result in to-from to exceed the limit"
        )


def _between(unit: Array, low: float, high: float) -> Array:
    """unit * (high - low) + low, rounded once."""
    start = unit.dtype.type(low)
    span = unit.dtype.type(high) - start
    if unit.dtype == F64:
        return fused(unit, float(span), float(start))
    wide: Floats64 = np.multiply(unit, span, dtype=F64)
    wide += start
    return wide.astype(F32)


def _open_ended(values: Array, low: float, high: float) -> Array:
    """The end itself, which rounding can reach, becomes the start. (Wide types cannot round up to 1.)"""
    if low == 0.0 and high == 1.0 and values.dtype.itemsize > 2:
        return values
    ends = cast(np.array((low, high)), values.dtype)
    values[values == ends[1]] = ends[0]
    return values


def normal(
    engine: Engine,
    shape: Shape,
    dtype: DType,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    contiguous: bool = True,
) -> Array:
    """Normal numbers: 16 or more for contiguous memory come in blocks, others one by one, from pairs.

    A complex dtype draws both parts with the variance halved. `contiguous=False` is for a target that is not.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {_short(std)}")
    if dtype.kind in "cW":
        parts = normal(engine, shape + (2,), _PART_OF[dtype.name], mean, std / math.sqrt(2), contiguous=contiguous)
        return parts.view(dtype).reshape(shape)
    count = math.prod(shape)
    check_dtype("normal_kernel_cpu", dtype, empty=count == 0)
    if count < 16 or not contiguous:
        return cast(_normals(engine, count, mean, std), dtype).reshape(shape)
    if dtype == F64:
        return _blocks(engine.unit64, blocks64, count, count, mean, std).reshape(shape)
    # The half types draw nothing for numbers that the last block replaces; float32 and float64 do.
    drawn = count if dtype == F32 else count - count % 16
    return cast(_blocks(engine.unit32, blocks32, count, drawn, mean, std), dtype).reshape(shape)


def _blocks(
    unit: Callable[[int], Array],
    transform: Callable[..., None],
    count: int,
    drawn: int,
    mean: float,
    std: float,
) -> Array:
    """Blocks of 16; a partial one at the end is drawn anew, over the last 16 numbers."""
    rest = count % 16
    if not rest:
        out = unit(count)
        transform(out, mean, std)
        return out
    blocks, whole = unit(drawn + 16), count - rest
    blocks[whole : whole + 16] = blocks[-16:]
    transform(blocks[: whole + 16], mean, std)
    out = blocks[:count].copy()
    out[-16:] = blocks[whole : whole + 16]
    return out


def _normals(engine: Engine, count: int, mean: float, std: float) -> Floats64:
    """In double precision, one by one: cosine, then sine; a sine left over is kept in the engine."""
    if count == 0:
        return np.empty(0)
    kept = engine.next_double
    missing = count - (kept is not None)
    values = pairs(engine, (missing + 1) // 2)
    engine.next_double = float(values[-1]) if missing % 2 else None
    if missing % 2:
        values = values[:-1]
    if kept is not None:
        values = np.concatenate(((kept,), values))
    return fused(values, std, mean)


def normal_each(engine: Engine, mean: Any, std: Any) -> Array:
    """Normal numbers with arrays for mean, deviation or both; the mean's dtype, else the deviation's."""
    if not isinstance(std, np.ndarray):
        out = normal(engine, mean.shape, mean.dtype, 0.0, std)
        out += mean
        return out
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    out = normal(engine, np.broadcast_shapes(np.shape(mean), std.shape), dtype)
    out *= std
    out += np.asarray(mean, dtype)
    return out


def log_normal(engine: Engine, shape: Shape, dtype: DType, mean: float = 1.0, std: float = 2.0) -> Array:
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={_short(std)}")
    check_dtype("log_normal_cpu", dtype, empty=0 in shape)
    exponents = _normals(engine, math.prod(shape), mean, std)
    return cast(_pointwise(exponents, np.exp, math.exp, dtype), dtype).reshape(shape)


def exponential(engine: Engine, shape: Shape, dtype: DType, rate: float = 1.0) -> Array:
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={_short(rate)}")
    if dtype.char not in DIGITS and 0 not in shape:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating "
            f"point but you specified {title(dtype)}"
        )
    out = _log1p(-engine.unit64(math.prod(shape)), dtype)
    out *= -1.0 / rate
    return cast(out, dtype).reshape(shape)


def cauchy(engine: Engine, shape: Shape, dtype: DType, median: float = 0.0, sigma: float = 1.0) -> Array:
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={_short(sigma)}")
    if dtype.char not in DIGITS:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point "
            f"but you specified {c_name(OF_NUMPY[dtype])}"
        )
    angles = engine.unit64(math.prod(shape))
    angles -= 0.5
    angles *= math.pi
    return cast(fused(_pointwise(angles, np.tan, math.tan, dtype), sigma, median), dtype).reshape(shape)


def _pointwise(x: Floats64, fast: Any, exact: Callable[[float], float], dtype: DType) -> Floats64:
    """Doubles that will be rounded to fewer bits come from NumPy; those that stay, from the C library."""
    if dtype != F64:
        with np.errstate(over="ignore"):
            return fast(x)  # type: ignore[no-any-return]
    try:
        return np.fromiter(map(exact, x.tolist()), np.float64, x.size)
    except OverflowError:
        with np.errstate(over="ignore"):
            return fast(x)  # type: ignore[no-any-return]


def _log1p(x: Floats64, dtype: DType) -> Floats64:
    return libm_log1p(x) if dtype == F64 else np.log1p(x)


# ---- discrete ---------------------------------------------------------------------------------------------


def integers(engine: Engine, shape: Shape, dtype: DType, low: int | None = None, high: int | None = None) -> Array:
    """The forms of `random_`: [low, high); `low` to the dtype's end; without bounds, 0 to the dtype's end.

    A float dtype ends where its consecutive integers do. Ranges of 2**28 and more take two words per number.
    """
    count = math.prod(shape)
    if low is None:
        return _natural(engine, count, dtype).reshape(shape)
    if high is None and low == _INT64_MIN:
        return _all_64_bits(engine, count, dtype).reshape(shape)
    first, last = _range(dtype, low, high)
    return _from_words(_modulo(engine, count, last - first + 1), first, dtype).reshape(shape)


def _range(dtype: DType, low: int, high: int | None) -> tuple[int, int]:
    """First and last number of the range, in the dtype's own steps."""
    if high is not None and not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind in "cW":  # W: complex32
        form = "check_random_bounds" if high is not None else "random_from_to_impl"
        raise RuntimeError(f"{form} handles only integral, floating-point and boolean types")
    if dtype.itemsize == 1 and dtype.kind == "V":
        raise NotImplementedError(f"\"random_update_from_to\" not implemented for '{title(dtype)}'")
    if dtype.char in DIGITS:
        first, last = _float_range(dtype, low, high)
    else:
        first, last = low, _last_integer(dtype) if high is None else high - 1
    _check_range(dtype, first, last)
    return first, last


def _last_integer(dtype: DType) -> int:
    return -1 if dtype == np.uint64 else _INTEGERS[dtype.char][1]


def _float_range(dtype: DType, low: int, high: int | None) -> tuple[int, int]:
    """Move the bounds inwards to numbers of the dtype, so that rounding cannot leave the range."""
    digits = DIGITS[dtype.char]
    after = _rounded(low + 1, dtype)
    if after < low:
        low = after + (1 << (abs(low + 1).bit_length() - digits))
    if high is None:
        if not low < 1 << digits:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                f"dtype, but got from={low} > to_inc={1 << digits}"
            )
        return low, 1 << digits
    before = _rounded(high - 1, dtype)
    if before >= high:
        high = before - (1 << (abs(high - 1).bit_length() - digits))
    if not low < high:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={low} >= to={high}"
        )
    return low, high - 1


def _rounded(value: int, dtype: DType) -> int:
    rounded = float(cast(np.array(value, np.int64), dtype))
    return int(rounded) if abs(rounded) < 2.0**63 else _INT64_MIN


def _check_range(dtype: DType, first: int, last: int) -> None:
    least, most = _bounds(dtype.char)
    if least <= first and last <= most and first <= most and least <= last:
        if dtype.char in DIGITS:
            _warn_beyond("from", first, dtype)
            _warn_beyond("to - 1", last, dtype)
        return
    label = "to - 1" if least <= first <= most else "from"
    raise RuntimeError(f"{label} is out of bounds for {c_name(OF_NUMPY[dtype])}")


def _bounds(char: str) -> tuple[float, float]:
    if char in _LARGEST:
        return -_LARGEST[char], _LARGEST[char]
    least, most = _INTEGERS[char]
    return least, min(most, _INT64_MAX)


def _warn_beyond(label: str, value: int, dtype: DType) -> None:
    digits = DIGITS[dtype.char]
    if not -(1 << digits) <= value <= 1 << digits:
        warn(
            f"{label} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
            f"{c_name(OF_NUMPY[dtype])} can support discrete uniform distribution only within this range.",
            UserWarning,
        )


def _modulo(engine: Engine, count: int, span: int) -> Array:
    """Words modulo `span`, which is skewed by at most 2**-4 of a number's chance."""
    words: Array = engine.random32(count) if span < 1 << 28 else engine.random64(count)
    divisor = words.dtype.type(span)
    if count < 1024:
        words %= divisor
        return words
    for part in _chunks(count):  # NumPy divides in vectors, but has no vector remainder
        words[part] -= words[part] // divisor * divisor
    return words


def _from_words(words: Array, base: int, dtype: DType) -> Array:
    if dtype == np.int64 and words.dtype == np.uint64:
        out = words.view(np.int64)
        out += base
        return out
    out = np.empty(words.size, dtype)
    for part in _chunks(words.size):
        values = words[part].astype(np.int64)
        if base:
            values += base
        out[part] = cast(values, dtype)
    return out


def _natural(engine: Engine, count: int, dtype: DType) -> Array:
    check_dtype("random_kernel_cpu", dtype, "?" + _CLASSIC, empty=count == 0)
    if count == 0:
        return np.empty(0, dtype)
    if dtype in (F64, I64):
        span = 2**63 if dtype.kind == "i" else 2**53 + 1
        return _from_words(engine.random64(count) % np.uint64(span), 0, dtype)
    digits = DIGITS.get(dtype.char)
    span = _last_integer(dtype) + 1 if digits is None else (1 << digits) + 1
    return _from_words(engine.random32(count) % np.uint32(span), 0, dtype)


def _all_64_bits(engine: Engine, count: int, dtype: DType) -> Array:
    kernel = "random_full_64_bits_range_kernel_cpu"
    if count and dtype.name in ("float16", "bool", "uint16", "uint32", "uint64", "complex64", "complex128"):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(dtype)}'")
    if count and dtype.name not in ("int64", "float64", "float32", "bfloat16"):
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    return cast(engine.random64(count).view(np.int64), dtype)


def permutation(engine: Engine, n: int, dtype: DType = I64) -> Array:
    """The numbers below n in random order."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _check_permutation(n, dtype)
    if n >= (2**32 - 1) // 20:
        return _inside_out(engine, n, dtype)
    words = engine.random32(max(n - 1, 0)).astype(np.int64)
    words %= np.arange(n, 1, -1)
    words += np.arange(words.size)
    return cast((_swapped if n < 256 else _swapped_at_once)(words, n), dtype)


def _check_permutation(n: int, dtype: DType) -> None:
    check_dtype("randperm", dtype, _CLASSIC)
    if dtype.kind in "iu" and n - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    limit = (1 << DIGITS.get(dtype.char, 64)) + 1
    if n > limit and dtype.name != "bfloat16":
        raise RuntimeError(f"n cannot be greater than {limit} for {title(dtype)} type.")


def _swapped(partners: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """0, 1, ... n - 1 after exchanging, for each i in turn, the elements at i and at partners[i] >= i."""
    order = list(range(n))
    for i, j in enumerate(partners.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _swapped_at_once(partners: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """`_swapped` without a loop over elements.

    Exchange i leaves at partners[i] what stood at i, and nothing touches i after it. What stands at a place
    is what the last exchange with that place found at its own; these links end at a place still untouched.
    """
    times = np.arange(partners.size)
    before, last = _earlier(partners, n)
    found = np.arange(n)  # found[i]: what stands at i just before exchange i
    linked = np.flatnonzero(last >= 0)
    found[linked] = last[linked]
    while linked.size:
        further = found[found[linked]]
        moved = further != found[linked]
        linked = linked[moved]
        found[linked] = further[moved]
    order = np.empty(n, np.int64)
    order[times] = np.where(before >= 0, found[before], partners)
    order[n - 1] = found[n - 1]
    return order


def _earlier(partners: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The last exchange before i with partners[i], and the last before i with i; -1 where there is none."""
    times = np.arange(partners.size)
    place, when = np.divmod(np.sort(partners * n + times), n)
    before = np.full(partners.size, -1)
    again = place[1:] == place[:-1]
    before[when[1:][again]] = when[:-1][again]
    last = np.full(n, -1)
    last[partners] = times  # of several, the last one stays
    own = np.flatnonzero(last[:-1] == times)
    last[own] = before[own]
    return before, last


def _inside_out(engine: Engine, n: int, dtype: DType) -> Array:
    """For so many elements that 32-bit words would be visibly skewed; element by element, so minutes."""
    out = np.zeros(n, dtype)
    for start in range(0, n, _CHUNK):
        count = min(_CHUNK, n - start)
        partners = engine.random64(count) % np.arange(start + 1, start + count + 1, dtype=np.uint64)
        for i, j in enumerate(partners.tolist(), start):
            out[i] = i
            out[i] = out[j]
            out[j] = i
    return out


def bernoulli(engine: Engine, shape: Shape, dtype: DType, p: float = 0.5) -> Array:
    """1 with probability p, else 0; two words each."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={_short(p)}")
    count = math.prod(shape)
    check_dtype("bernoulli_scalar_cpu_", dtype, "?" + _CLASSIC, empty=count == 0)
    return _below(engine.random32(2 * count), p).astype(dtype).reshape(shape)


def _below(words: NDArray[np.uint32], p: float) -> NDArray[np.bool]:
    """Whether the 53 bits of each pair of words are below p * 2**53; the low one breaks ties."""
    high, low = divmod(math.ceil(p * 2.0**53), 2**32)
    tops = words[0::2] & np.uint32(0x1FFFFF)
    out = tops < np.uint32(high)
    if low:
        ties = np.flatnonzero(tops == np.uint32(high))
        out[ties] = words[1::2][ties] < np.uint32(low)
    return out


def bernoulli_each(engine: Engine, p: Array, dtype: DType | None = None) -> Array:
    """1 with the probability at each place of `p`; one word each, two when `p` is float64."""
    dtype = p.dtype if dtype is None else dtype
    if p.size:
        check_dtype("bernoulli_tensor_cpu_self_", dtype, "?" + _CLASSIC)
        check_dtype("bernoulli_tensor_cpu_p_", p.dtype)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    if p.dtype == F64:
        return (engine.unit64(p.size).reshape(p.shape) < p).astype(dtype)
    return (engine.unit32(p.size).reshape(p.shape) < p.astype(np.float32)).astype(dtype)


def dropout_noise(engine: Engine, shape: Shape, dtype: DType, p: float) -> Array:
    """What dropout multiplies by: 0 with probability p, else 1 / (1 - p). (p of 0 or 1 draws nothing.)"""
    kept = bernoulli(engine, shape, dtype, 1 - p)
    kept *= cast(np.array(1.0 / (1 - p)), dtype)
    return kept


def geometric(engine: Engine, shape: Shape, dtype: DType, p: float) -> Array:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={_short(p)}")
    check_dtype("geometric_cpu", dtype, _CLASSIC, empty=0 in shape)
    trials = libm_log(engine.unit64(math.prod(shape)))
    trials /= math.log1p(-p)
    return _from_float(np.ceil(trials, out=trials), dtype).reshape(shape)


def multinomial(engine: Engine, weights: Array, count: int, replacement: bool = False) -> NDArray[np.int64]:
    """Indices along the last axis of `weights` (1 or 2 axes), drawn in proportion to the weights.

    Without replacement, equal quotients (in half dtypes, or of zero weights) come in order of their indices.
    """
    _check_multinomial(weights, count, replacement)
    if 0 in weights.shape[:-1]:
        return np.empty(weights.shape[:-1] + (count,), np.int64)
    if replacement and count > 1:
        rows = [_draw_row(engine, row, count) for row in np.atleast_2d(weights)]
        return np.array(rows).reshape(weights.shape[:-1] + (count,))
    _check_weights(weights)
    with np.errstate(divide="ignore", over="ignore"):
        in_order = memory.room_like(weights).flags.c_contiguous  # the numbers are drawn as the weights lie in memory
        shape = weights.shape if in_order else weights.shape[::-1]
        times = exponential(engine, shape, weights.dtype)
        race = weights / (times if in_order else times.T)
    if count == 1:
        return np.asarray(race.argmax(-1, keepdims=True))
    return np.ascontiguousarray(np.argsort(-race, axis=-1, kind="stable")[..., :count])


def _check_multinomial(weights: Array, count: int, replacement: bool) -> None:
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype.char not in DIGITS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {title(weights.dtype)}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _check_weights(weights: Array) -> None:
    if weights.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights > 0).any(-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _draw_row(engine: Engine, row: Array, count: int) -> NDArray[np.int64]:
    if not (row >= 0).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not (row < np.inf).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    steps: Array = np.cumsum(row, dtype=F64 if row.dtype == F64 else F32)
    if not (row.size and steps[-1] > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    steps /= steps[-1]
    steps[-1] = 1
    return np.searchsorted(steps.astype(np.float64), engine.unit64(count))
