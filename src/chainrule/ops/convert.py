"""Tensors in another dtype, on another device, in another memory order; one that is right already is returned."""

from __future__ import annotations

from typing import Any, NoReturn

from chainrule.backends.cpu import memory
from chainrule.backends.sparse import is_sparse
from chainrule.core import dtype as dtypes
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import bool_, complex128, float64
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import cast, elementwise
from chainrule.core.layout import contiguous_format, preserve_format
from chainrule.core.layout import memory_format as MemoryFormat
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import strides_for, suggested_format
from chainrule.core.tensor import CPU, META, Tensor
from chainrule.ops.arithmetic import one
from chainrule.ops.create import place
from chainrule.ops.likeness import like_array
from chainrule.ops.storages import bottom

__all__: list[str] = []


def _cast(input: Any, dtype: DType) -> Any:
    if input.dtype.kind in "cW" and not dtype.is_complex and dtype is not dtypes.bool_:
        if dtype.category >= dtypes.FLOAT:
            warn("Casting complex values to real discards the imaginary part", UserWarning)
        input = dtypes.widened(input).real
    found = dtypes.cast_array(input, dtype)
    return found if 0 not in input.strides else memory.ordered_as(found, input)


@elementwise(
    promote="none", spelled="", name="to_dtype", node="ToCopy", linear=True, holomorphic=False,
    samples=samples(real, one, dtype=[dtypes.float64]),
)  # fmt: skip
def to_dtype(xp: Any, input: Array, *, dtype: DType) -> Array:
    """The values in another dtype; fractions are cut off, complex numbers lose their imaginary part."""
    return _cast(input, dtype)


to_dtype.vjp(input=lambda g, input_dtype: cast(g, input_dtype))


@elementwise(
    promote="none", spelled="", name="to_copy", node="ToCopy", linear=True, holomorphic=False, ordered=False,
    samples=samples(
        real, [((3, 4),), ((),)], dtype=[dtypes.float64, dtypes.complex128], device=[CPU],
        memory_format=[preserve_format],
    ),
)  # fmt: skip
def to_copy(xp: Any, input: Array, *, dtype: DType, device: Device, memory_format: MemoryFormat) -> Array:
    """The values in new memory: another dtype, device, or order of the axes."""
    out = like_array(input, None, dtype, device, memory_format)
    if device is not META:
        out[...] = input if input.dtype == out.dtype else _cast(input, dtype)
    return out


to_copy.vjp(input=lambda g, input_dtype: cast(g, input_dtype))


def converted(
    t: Tensor, dtype: DType | None, device: Any = None, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """`t` in a dtype, on a device, in a memory format; `t` itself if that changes nothing and no copy is asked for."""
    want = t.dtype if dtype is None else dtype
    here = t.device
    where = here if device is None else place(device)
    ordered = memory_format is not None and memory_format is not preserve_format
    if where is here and not copy:
        if want is t.dtype and (not ordered or _in_order(t, memory_format)):
            return t
        if not ordered:
            return to_dtype.public(t, dtype=want)  # type: ignore[no-any-return]
    if where is META and is_sparse(bottom(t)):
        raise NotImplementedError("to(): device='meta': sparse tensors have elements")
    if here is META and where is not META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    form = memory_format if ordered else preserve_format
    return to_copy.public(t, dtype=want, device=where, memory_format=form)  # type: ignore[no-any-return]


def _in_order(t: Tensor, memory_format: Any) -> bool:
    """Does a tensor count as being in a format? PyTorch takes as contiguous whatever has its channels not last."""
    if memory_format is contiguous_format:
        return suggested_format(tuple(t.shape), tuple(t.stride())) is contiguous_format
    return tuple(t.stride()) == tuple(strides_for(tuple(t.shape), memory_format))


_FORMS = "got ({}), but expected one of:\n * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"  # fmt: skip  # noqa: E501


def _refuse_to(args: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    given = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in named.items()])
    raise TypeError("to() received an invalid combination of arguments - " + _FORMS.format(given))


_OF_NUMBER = {bool: bool_, float: float64, complex: complex128}  # a number stands for the tensor that holds it


def read_to(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, DType | None, bool, bool, Any]:
    """The arguments of `.to`, in any of its forms: device, dtype, non_blocking, copy, memory format."""
    rest: list[Any] = list(args)
    device, dtype = named.pop("device", None), named.pop("dtype", None)
    other = named.pop("other", None)
    head: Any = rest[0] if rest else False
    if rest and head.__class__ in _OF_NUMBER:
        dtype = _OF_NUMBER[rest.pop(0).__class__]
    elif isinstance(head, Tensor):
        other = rest.pop(0)
    elif isinstance(head, DType):
        dtype = rest.pop(0)
    elif head is None or (isinstance(head, (str, int, Device)) and not isinstance(head, bool)):
        device = rest.pop(0)
        second: Any = rest[0] if rest else False
        if second is None or isinstance(second, DType):
            dtype = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    flags = {"non_blocking": False, "copy": False} | dict(zip(("non_blocking", "copy"), rest))
    flags |= {k: named.pop(k) for k in ("non_blocking", "copy") if k in named}
    form = named.pop("memory_format", None)
    wrong = named or len(rest) > 2 or not all(isinstance(f, bool) for f in flags.values())
    if wrong or not (dtype is None or isinstance(dtype, DType)):
        _refuse_to(args, named)
    if not (form is None or isinstance(form, MemoryFormat)):
        raise TypeError(f"to(): argument 'memory_format' must be torch.memory_format, not {type(form).__name__}")
    return device, dtype, flags["non_blocking"], flags["copy"], form


@composite(spelled="m")
def to(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """The tensor in another dtype or on another device: `to(dtype)`, `to(device, dtype)`, `to(other)`."""
    if len(args) == 1 and not named and args[0].__class__ is DType:
        return self if self.dtype is args[0] else to_dtype.public(self, dtype=args[0])
    device, dtype, _, copy, form = read_to(args, named)
    if isinstance(device, (str, int)):
        device = as_device(device)
    return converted(self, dtype, device, copy, form)


def _caster(name: str, dtype: DType) -> None:
    def cast_to(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
        if self.dtype is dtype and memory_format is preserve_format:
            return self
        return converted(self, dtype, memory_format=memory_format)

    cast_to.__doc__ = f"The values as {dtype}."
    composite(spelled="m", name=name)(cast_to)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.complex32,
}.items():  # fmt: skip
    _caster(_name, _dtype)


@composite(spelled="m")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The values in the dtype, and on the device, of another tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return converted(self, other.dtype, other.device)


_LEGACY = {f"{d.title}Tensor": d for d in (*dtypes.ALL, *dtypes.FLOAT8)}


def _named_type(name: str) -> DType:
    package, _, kind = name.rpartition(".")
    if package == "torch.cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if package != "torch" or (kind not in _LEGACY and kind != "Tensor"):
        raise ValueError(f"invalid type: '{name}'")
    return dtypes.get_default_dtype() if kind == "Tensor" else _LEGACY[kind]


@composite(spelled="m", name="type")
def _type(self: Tensor, dtype: DType | type | str | None = None, non_blocking: bool = False, **named: Any) -> Any:
    """The name of the tensor's type, `torch.FloatTensor`; or the tensor in another type, given by dtype or name."""
    if dtype is None:
        return f"torch.{'sparse.' if is_sparse(bottom(self)) else ''}{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        dtype = _named_type(dtype)
    elif not isinstance(dtype, DType):
        if isinstance(dtype, type) and issubclass(dtype, Tensor):
            found: Any = dtypes.get_default_dtype()
        else:
            found = getattr(dtype, "dtype", None)
        if not isinstance(found, DType):
            raise TypeError("dtype must be a type, str, or dtype object")
        dtype = found
    return converted(self, dtype)


@composite(spelled="m")
def cpu(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
    """The tensor on the CPU."""
    return converted(self, None, "cpu", memory_format=memory_format)


@composite(spelled="m")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """The tensor on a CUDA device; there is none."""
    return converted(self, None, "cuda" if device is None else device, memory_format=memory_format)
