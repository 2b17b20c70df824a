"""Data types, how they promote, and what their numbers can hold.

A `dtype` is one of the objects made in this module and nothing else: compare with `is`, use it as a key.
Promotion has four categories, bool < int < float < complex. Between categories the higher one wins; inside
one the wider type wins, and only operands of the strongest kind decide: "dim" (a tensor with dimensions),
then "zero" (a tensor without), then "scalar" (a Python number).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal, NoReturn, TypeVar

import numpy as np

from chainrule.config import settings

__all__ = [
    "ALIASES", "ALL", "FLOAT8", "NAMES", "NARROW", "OF_NUMPY", "Kind", "bfloat16", "bool_", "c_name", "can_cast",
    "cast_array", "cdouble", "cfloat", "chalf", "complex128", "complex32", "complex64", "default_complex_dtype",
    "double", "dtype", "finfo", "float16", "float32", "float64", "float_", "get_default_dtype", "half", "iinfo",
    "int16", "int32", "int64", "int8", "int_", "long", "narrowed", "promote_types", "result_type", "scalar_dtype",
    "set_default_dtype", "short", "uint16", "uint32", "uint64", "uint8", "wide", "widened",
]  # fmt: skip

Kind = Literal["dim", "zero", "scalar"]

BOOL, INT, FLOAT, COMPLEX = range(4)


Fact = TypeVar("Fact")


class _Late(Generic[Fact]):
    """An attribute that an instance gets on first use, if at all. It gives way to the instance's own, so that reading
    it costs what any attribute does; beside a `__getattr__` every attribute would cost three times that."""

    def __init__(self, make: Callable[[Any], Fact]) -> None:
        self.make = make

    def __get__(self, owner: Any, kind: type) -> Fact:
        return self if owner is None else self.make(owner)  # type: ignore[return-value]  # of the class: itself


def _array_type(d: Any) -> np.dtype[Any]:
    if d.name in _PACKAGED:
        return _load(d)
    raise NotImplementedError(f"{d!r} is only a name here: NumPy has no array type for it")


def _signedness(d: Any) -> NoReturn:
    if d.name.startswith("bits"):
        raise RuntimeError("Bits types are undefined")
    raise RuntimeError("isSignedType not supported for quantized types")


class dtype:
    """The type of a tensor's elements: `torch.float32` and its siblings. There is one object per type."""

    __slots__ = (
        "__dict__", "__weakref__", "abbr", "category", "is_complex", "is_floating_point", "itemsize", "name", "title",
    )  # fmt: skip

    name: str
    numpy = _Late(_array_type)  # the array type that stores it
    category: int  # 0 bool, 1 int, 2 float, 3 complex: promotion never goes down
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_signed: _Late[bool] = _Late(_signedness)
    abbr: str  # "f32"
    title: str  # "Float", the spelling of error messages

    _by_name: ClassVar[dict[str, dtype]] = {}

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{attribute}' of 'torch.dtype' objects is not writable")

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self

    @property
    def tensor_type(self) -> str:
        """What the C++ half of PyTorch calls a tensor of it: `torch.FloatTensor`, or `CPUBoolType`."""
        legacy = self in (uint8, int8, int16, int32, int64, float16, float32, float64)
        return f"torch.{self.title}Tensor" if legacy else f"CPU{self.title}Type"

    def to_complex(self) -> dtype:
        """The complex type whose parts hold this floating type; a complex type is its own."""
        if self.is_complex:
            return self
        found = _COMPLEX_OF.get(self)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.title}")
        return found

    def to_real(self) -> dtype:
        """The type of the real part; a type that is not complex is its own."""
        return _REAL_OF.get(self, self)


def _named(name: str) -> dtype:
    return dtype._by_name[name]


def _declare(
    name: str, title: str, abbr: str, category: int, itemsize: int, array_type: Any = None, signed: bool | None = True
) -> dtype:
    made = object.__new__(dtype)
    facts: dict[str, Any] = {
        "name": name, "title": title, "abbr": abbr, "category": category, "itemsize": itemsize,
        "is_floating_point": category == FLOAT, "is_complex": category == COMPLEX,
    }  # fmt: skip
    if signed is not None:
        facts["is_signed"] = category != BOOL and not name.startswith("uint") and not name.endswith("fnu")
    if array_type is not None:
        facts["numpy"] = np.dtype(array_type)
    for key, value in facts.items():
        object.__setattr__(made, key, value)
    dtype._by_name[name] = made
    return made


bool_ = _declare("bool", "Bool", "b8", BOOL, 1, np.bool_)
uint8 = _declare("uint8", "Byte", "u8", INT, 1, np.uint8)
int8 = _declare("int8", "Char", "i8", INT, 1, np.int8)
int16 = _declare("int16", "Short", "i16", INT, 2, np.int16)
int32 = _declare("int32", "Int", "i32", INT, 4, np.int32)
int64 = _declare("int64", "Long", "i64", INT, 8, np.int64)
float16 = _declare("float16", "Half", "f16", FLOAT, 2, np.float16)
bfloat16 = _declare("bfloat16", "BFloat16", "bf16", FLOAT, 2)
float32 = _declare("float32", "Float", "f32", FLOAT, 4, np.float32)
float64 = _declare("float64", "Double", "f64", FLOAT, 8, np.float64)
complex64 = _declare("complex64", "ComplexFloat", "c64", COMPLEX, 8, np.complex64)
complex128 = _declare("complex128", "ComplexDouble", "c128", COMPLEX, 16, np.complex128)

# For storage: they hold and convert values, but do not promote with other integers.
uint16 = _declare("uint16", "UInt16", "u16", INT, 2, np.uint16)
uint32 = _declare("uint32", "UInt32", "u32", INT, 4, np.uint32)
uint64 = _declare("uint64", "UInt64", "u64", INT, 8, np.uint64)

# Two float16; what float16 and 1j promote to.
complex32 = _declare("complex32", "ComplexHalf", "c32", COMPLEX, 4)

ALL: tuple[dtype, ...] = tuple(dtype._by_name.values())

# For storage: they convert and compare, and promote with nothing.
float8_e5m2 = _declare("float8_e5m2", "Float8_e5m2", "f8e5m2", FLOAT, 1)
float8_e4m3fn = _declare("float8_e4m3fn", "Float8_e4m3fn", "f8e4m3fn", FLOAT, 1)
float8_e5m2fnuz = _declare("float8_e5m2fnuz", "Float8_e5m2fnuz", "f8e5m2fnuz", FLOAT, 1)
float8_e4m3fnuz = _declare("float8_e4m3fnuz", "Float8_e4m3fnuz", "f8e4m3fnuz", FLOAT, 1)
float8_e8m0fnu = _declare("float8_e8m0fnu", "Float8_e8m0fnu", "f8e8m0fnu", FLOAT, 1)
FLOAT8 = (float8_e5m2, float8_e4m3fn, float8_e5m2fnuz, float8_e4m3fnuz, float8_e8m0fnu)


def _declare_names() -> dict[str, dtype]:
    """Types that programs name and compare with; no tensor has one."""
    _declare("float4_e2m1fn_x2", "Float4_e2m1fn_x2", "f4e2m1fnx2", FLOAT, 1)
    for name, title, itemsize in (
        ("quint8", "QUInt8", 1), ("qint8", "QInt8", 1), ("qint32", "QInt32", 4),
        ("quint4x2", "QUInt4x2", 1), ("quint2x4", "QUInt2x4", 1),
    ):  # fmt: skip
        _declare(name, title, name, INT, itemsize, signed=None)
    for bits, count in ((1, 8), (2, 4), (4, 2), (8, 1), (16, 1)):
        times = f"x{count}" if count > 1 else ""
        _declare(f"bits{bits}{times}", f"Bits{bits}{times}", f"b{bits}x{count}", INT, bits * count // 8, signed=None)
    for bits in range(1, 8):
        _declare(f"uint{bits}", f"UInt{bits}", f"uint{bits}", INT, 1)
        _declare(f"int{bits}", f"Int{bits}", f"int{bits}", INT, 1)
    known = {*ALL, *FLOAT8}
    return {name: each for name, each in dtype._by_name.items() if each not in known}


NAMES = _declare_names()

half, float_, double = float16, float32, float64
chalf, cfloat, cdouble = complex32, complex64, complex128
short, int_, long = int16, int32, int64

# The second names, as the package exports them; three of them would hide Python's own in this module.
ALIASES: dict[str, dtype] = {
    "bool": bool_, "short": int16, "int": int32, "long": int64,
    "half": float16, "float": float32, "double": float64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip


# Array types that a package of its own brings; it is loaded when the first such array is seen.
_PACKAGED = {each.name: each for each in (bfloat16, complex32, *FLOAT8)}


class _OfNumpy(dict[np.dtype[Any], dtype]):
    """Array types to ours."""

    def __missing__(self, array_type: np.dtype[Any]) -> dtype:
        found = _PACKAGED.get(array_type.name)
        if found is None:
            raise KeyError(array_type)
        _load(found)
        return found


OF_NUMPY: dict[np.dtype[Any], dtype] = _OfNumpy((each.numpy, each) for each in ALL if each.name not in _PACKAGED)


def _load(each: dtype) -> np.dtype[Any]:
    import ml_dtypes  # lazy: importing the package alone must load nothing but NumPy

    array_type: np.dtype[Any] = np.dtype(getattr(ml_dtypes, each.name))
    object.__setattr__(each, "numpy", array_type)
    OF_NUMPY[array_type] = each
    NARROW.add(array_type)
    if each.is_complex:
        _WIDE[array_type] = complex64.numpy
    return array_type


# Computed with in 32 bits, rounded once at the end; the types of `_PACKAGED` join when loaded.
NARROW: set[np.dtype[Any]] = {float16.numpy}


_WIDE: dict[np.dtype[Any], np.dtype[Any]] = {}
_F32 = float32.numpy


def wide(array_type: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in: 32 bits (a part) for the short types, the type itself for others."""
    return _WIDE.get(array_type, _F32) if array_type in NARROW else array_type


def widened(x: Any) -> Any:
    """An array of short floats in 32 bits; any other value as it is."""
    kind = getattr(x, "dtype", None)
    return x.astype(_WIDE.get(kind, _F32)) if kind in NARROW else x


def narrowed(x: Any, short: np.dtype[Any]) -> Any:
    """What was computed in 32 bits from arrays of a short type, rounded to it; complex32 has real parts of 16 bits."""
    if x.dtype == _F32:
        return x.astype(float16.numpy if short in _WIDE else short)
    return x.astype(short) if short in _WIDE and x.dtype == complex64.numpy else x


def cast_array(x: Any, want: dtype) -> Any:
    """An array in another type. The 8-bit floats round as PyTorch's do: see the two exceptions."""
    if want not in _ROUNDED:
        return (widened(x) if x.dtype in _WIDE else x).astype(want.numpy)
    return _ROUNDED[want](x.astype(np.float32))


def _saturated(x: Any) -> Any:
    return np.clip(x, -448, 448).astype(float8_e4m3fn.numpy)


def _power(x: Any) -> Any:
    """The exponent alone, rounded to even; the sign is lost, infinity becomes NaN."""
    bits = x.view(np.uint32)
    exponent, half, rest = bits >> 23 & 255, bits & 0x400000 != 0, bits & 0x3FFFFF != 0
    up = half & ((exponent > 0) | rest) & (exponent < 255)
    return (exponent + up).astype(np.uint8).view(float8_e8m0fnu.numpy)


_ROUNDED = {float8_e4m3fn: _saturated, float8_e8m0fnu: _power}

_COMPLEX_OF = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}
_REAL_OF = {complex32: float16, complex64: float32, complex128: float64}
_STORAGE_ONLY = frozenset((uint16, uint32, uint64))


# --- promotion --------------------------------------------------------------------------------------------


def _join(low: dtype, high: dtype) -> dtype | None:
    """The smallest type that both convert to, or None; `low` comes first in (category, itemsize)."""
    if low is high:
        return low
    if (low in _STORAGE_ONLY or high in _STORAGE_ONLY) and high.category != FLOAT:
        return None
    if high.is_complex and low.is_floating_point:
        return max(high, low.to_complex(), key=_width)
    if low.category < high.category:
        return high
    if low.itemsize == high.itemsize:
        return int16 if low.category == INT else float32
    return high


def _width(each: dtype) -> tuple[int, int]:
    return each.category, each.itemsize


def _promotion_table() -> dict[tuple[dtype, dtype], dtype]:
    joins = ((a, b, _join(*sorted((a, b), key=_width))) for a in ALL for b in ALL)
    return {(a, b): joined for a, b, joined in joins if joined is not None}


_PROMOTED = _promotion_table() | {(each, each): each for each in (*FLOAT8, *NAMES.values())}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type, by size and category, that both types convert to without going down a category."""
    found = _PROMOTED.get((type1, type2))
    return found if found is not None else _refuse_promotion(type1, type2)


_UNPROMOTED = (
    (
        frozenset((*FLOAT8, NAMES["float4_e2m1fn_x2"])),
        "Promotion for Float8 Types is not supported, attempted to promote {} and {}",
    ),
    (
        frozenset(each for name, each in NAMES.items() if name.startswith("q")),
        "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
        "offending types: {} {}",
    ),
    (frozenset(NAMES.values()), "Promotion from {} and {} is unsupported."),
)


def _refuse_promotion(type1: dtype, type2: dtype) -> NoReturn:
    for position, given in enumerate((type1, type2), 1):
        _check_is_dtype(given, "promote_types", f"type{position}", position)
    for kinds, says in _UNPROMOTED:
        if kinds & {type1, type2}:
            raise RuntimeError(says.format(type1.title, type2.title))
    raise RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, "
        f"attempted to promote {type1.title} and {type2.title}"
    )


def _check_is_dtype(given: object, function: str, argument: str, position: int) -> None:
    if not isinstance(given, dtype):
        kind = type(given).__name__
        where = f"{function}(): argument '{argument}' (position {position})"
        raise TypeError(f"{where} must be torch.dtype, not {kind}")


def _join_known(a: dtype | None, b: dtype | None) -> dtype | None:
    return a if b is None else b if a is None else promote_types(a, b)


def _outrank(strong: dtype | None, weak: dtype | None) -> dtype | None:
    """`strong` keeps its own type unless `weak` is of a higher category."""
    if strong is None or weak is None:
        return strong or weak
    if strong.is_floating_point and weak.is_complex:
        return strong.to_complex()
    if weak.category > strong.category or strong is bool_:
        return promote_types(strong, weak)
    return strong


def _of_python_number(given: dtype, default: dtype) -> dtype:
    return given if given.category < FLOAT else default if given.is_floating_point else default.to_complex()


@lru_cache(maxsize=4096)
def _result_type(operands: tuple[tuple[dtype, Kind], ...], default: dtype) -> dtype:
    best: dict[Kind, dtype | None] = {"dim": None, "zero": None, "scalar": None}
    for given, kind in operands:
        best[kind] = _join_known(best[kind], _of_python_number(given, default) if kind == "scalar" else given)
    found = _outrank(best["dim"], _outrank(best["zero"], best["scalar"]))
    if found is None:
        raise RuntimeError("result_type needs at least one operand")
    return found


def result_type(operands: Iterable[tuple[dtype, Kind]]) -> dtype:
    """The type of an arithmetic result over operands given as (dtype, kind); see the module's convention.

    A "scalar" is a Python number with the type `scalar_dtype` gives it.
    """
    return _result_type(tuple(operands), settings.default_dtype)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values may be converted as the result of an op: never down a category."""
    _check_is_dtype(from_, "can_cast", "from_", 1)
    _check_is_dtype(to, "can_cast", "to", 2)
    return from_.category <= to.category


# --- defaults ---------------------------------------------------------------------------------------------

settings.default_dtype = float32


def get_default_dtype() -> dtype:
    """The floating point type of new tensors when nothing else decides."""
    return settings.default_dtype


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` the floating point type of new tensors, for the whole process."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d


def default_complex_dtype(of_data: bool = False) -> dtype:
    """The complex type whose parts have the default dtype; bfloat16 has one in promotion, not where data are read."""
    if settings.default_dtype not in _COMPLEX_OF or (of_data and settings.default_dtype is bfloat16):
        raise RuntimeError("invalid default scalar type for complex")
    return settings.default_dtype.to_complex()


def refuse_huge(number: Any) -> None:
    """Python's whole numbers have no end; those of a computation have 64 bits, with a sign or without."""
    if number.__class__ is int and not -(1 << 63) <= number < 1 << 64:
        raise OverflowError("int too big to convert" if number > 0 else "can't convert negative int to unsigned")


def scalar_dtype(number: object) -> dtype:
    """The type a Python or NumPy number brings into promotion: bool, int64, the default float or complex."""
    if number.__class__ is float:  # the common case first: scalars are in every formula
        return settings.default_dtype
    if isinstance(number, (bool, np.bool_)):
        return bool_
    if isinstance(number, (int, np.integer)):
        return int64
    if isinstance(number, (float, np.floating)) or type(number).__name__ == "bfloat16":
        return settings.default_dtype
    if isinstance(number, (complex, np.complexfloating)):
        return default_complex_dtype()
    raise TypeError(f"expected a number, got {type(number).__name__}")


# --- what the numbers hold --------------------------------------------------------------------------------

_FRACTION_AND_EXPONENT_BITS = {float16: (10, 5), bfloat16: (7, 8), float32: (23, 8), float64: (52, 11)}

# The 8-bit types give the codes of infinity away, each in its own manner: eps, max, tiny.
_LIMITS = {
    float8_e5m2: (0.25, 57344.0, 2.0**-14), float8_e5m2fnuz: (0.125, 57344.0, 2.0**-15),
    float8_e4m3fn: (0.125, 448.0, 2.0**-6), float8_e4m3fnuz: (0.125, 240.0, 2.0**-7),
    float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127),
}  # fmt: skip


_DType = dtype  # the classes below have an attribute of the name `dtype`, a string as in PyTorch


_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "int64": "long int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def c_name(each: dtype) -> str:
    """What C++ calls the type: some of PyTorch's messages do so."""
    return _C_NAMES.get(each.name, each.title)


class _info:
    __slots__ = ("_dtype", "bits", "max", "min")

    bits: int
    _dtype: _DType

    @property
    def dtype(self) -> str:
        return self._dtype.name

    def __eq__(self, other: object) -> bool:
        return self._dtype is other._dtype if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._dtype)

    def __reduce__(self) -> tuple[Any, tuple[_DType]]:
        return type(self), (self._dtype,)


class finfo(_info):
    """The limits of a floating point type, or of a complex type's parts; by default of the default dtype."""

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: _DType | None = None) -> None:
        given = settings.default_dtype if type is None else type
        _check_is_dtype(given, "finfo", "type", 1)
        if given.category < FLOAT or given in NAMES.values():
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{given}'")
        self._dtype = given.to_real()
        self.bits = self._dtype.itemsize * 8
        if self._dtype in _LIMITS:
            self.eps, self.max, self.tiny = _LIMITS[self._dtype]
            self.resolution = 1.0
        else:
            fraction, exponent = _FRACTION_AND_EXPONENT_BITS[self._dtype]
            top = 2 ** (exponent - 1) - 1
            self.eps = 2.0**-fraction
            self.max = (2.0 - self.eps) * 2.0**top
            self.tiny = 2.0 ** (1 - top)
            self.resolution = float(f"1e-{math.floor(fraction * math.log10(2))}")
        self.smallest_normal = self.tiny
        self.min = -self.max if self._dtype.is_signed else self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_info):
    """The limits of an integer type."""

    __slots__ = ()

    def __init__(self, type: _DType) -> None:
        _check_is_dtype(type, "iinfo", "type", 1)
        if type is bool_:
            raise TypeError(f"{type} is not supported by torch.iinfo")
        if type.category != INT or type in NAMES.values():
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self._dtype = type
        self.bits = type.itemsize * 8
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
