"""The constructors of old: `Tensor(2, 3)`, `FloatTensor([1, 2])`, `x.new(...)`.

Ints are a shape, and the memory is not initialised; one sequence is data; one tensor is itself again.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.versions import touch
from chainrule.backends.cpu.memory import uninitialised
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.device import as_device
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import retyped
from chainrule.core.layout import strided
from chainrule.core.literal import array_of
from chainrule.core.notices import warn_once
from chainrule.core.public import PUBLIC, quiet_method, spell
from chainrule.core.shape import Size
from chainrule.core.tensor import Tensor
from chainrule.ops.create import made, made_of, read_size
from chainrule.ops.exchange import tensor_over
from chainrule.ops.storages import StorageBase
from chainrule.ops.typed_storage import TypedStorage

__all__ = ["TypedTensor"]


def _refuse(args: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    got = ", ".join([*(type(a).__name__ for a in args), *(f"{k}={type(v).__name__}" for k, v in named.items())])
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({got}), but expected one of: (*, torch.device "
        "device), (torch.Storage storage), (Tensor other), (tuple of ints size, *, torch.device device), (object "
        "data, *, torch.device device)"
    )


def _is_size(x: Any) -> bool:
    return x.__class__ is int or (
        not isinstance(x, bool) and hasattr(type(x), "__index__") and not getattr(x, "shape", ())
    )


def construct(dtype: DType, args: tuple[Any, ...], named: dict[str, Any], any_tensor: bool) -> Tensor:
    """A tensor as `Tensor(*args)` makes it; `any_tensor`: a tensor of another dtype is accepted as it is."""
    device = named.pop("device", None)
    if device is not None and as_device(device).type != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {as_device(device).type} was passed"
        )
    if device is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported. Use "
            "torch.tensor(...) or torch.as_tensor(...) instead."
        )
    if "size" in named and not args:
        args = (Size(named.pop("size")),)
    if "data" in named and not args:
        args = (named.pop("data"),)
    if named:
        _refuse(args, named)
    if not args:
        return made(np.empty(0, dtype.numpy))
    if len(args) == 1 and (isinstance(args[0], (Tensor, TypedStorage, StorageBase)) or not _is_size(args[0])):
        return _from_one(dtype, args[0], any_tensor)
    if not all(map(_is_size, args)):
        _refuse(args, named)
    return made(uninitialised(read_size(tuple(int(a) for a in args), "new"), dtype.numpy))


def _from_one(dtype: DType, data: Any, any_tensor: bool) -> Tensor:
    if isinstance(data, (TypedStorage, StorageBase)):
        t = tensor_over(
            data, dtype, "Expected a Storage of type {} or an UntypedStorage, but got type {} for argument 1 'storage'"
        )
        touch(t, "set_")
        return t
    if isinstance(data, Size):
        return made(uninitialised(tuple(data), dtype.numpy))
    if isinstance(data, Tensor):
        if data.dtype is not dtype and not any_tensor:
            raise TypeError(f"expected TensorOptions(dtype={dtype.name}) (got TensorOptions(dtype={data.dtype.name}))")
        return data.as_subclass(Tensor)  # type: ignore[no-any-return]
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not hasattr(type(data), "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return made_of(data, array_of(data, dtype))


def _new_tensor(cls: Any, *args: Any, **named: Any) -> Any:
    """`Tensor(...)`, also of subclasses."""
    t = construct(settings.default_dtype, args, dict(named), any_tensor=True)
    return t if cls is Tensor else retyped(t, cls)


Tensor.__new__ = staticmethod(_new_tensor)  # type: ignore[method-assign]


@quiet_method
def new(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """A tensor of this one's dtype, as the class of its type makes it."""
    return construct(self.dtype, args, dict(named), any_tensor=False)


class TypedTensor(type):
    """The class of `FloatTensor` and its siblings: constructors that tensors of their dtype count as instances of."""

    dtype: DType

    def __new__(cls, name: str, bases: tuple[type, ...], facts: dict[str, Any]) -> TypedTensor:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, facts)

    def __call__(cls, *args: Any, **named: Any) -> Tensor:
        return construct(cls.dtype, args, dict(named), any_tensor=False)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype and value.device.type == "cpu"


TypedTensor.__name__ = TypedTensor.__qualname__ = "tensortype"
TypedTensor.__module__ = "torch"

for _dtype in dtypes.ALL:
    if _dtype.title not in ("UInt16", "UInt32", "UInt64", "ComplexHalf"):
        _name = f"{_dtype.title}Tensor"
        _facts = {
            "dtype": _dtype, "layout": strided, "is_cuda": False, "is_sparse": False, "is_xpu": False,
            "__module__": "torch",
        }  # fmt: skip
        spell(_name, TypedTensor(_name, (), _facts), "f")

PUBLIC["f"]["_tensor_classes"] = {  # type: ignore[assignment]
    t for t in PUBLIC["f"].values() if isinstance(t, TypedTensor) and not t.dtype.is_complex
}


def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a tensor type, given as a class or by name, the default one."""
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        package, _, name = t.rpartition(".")
        found = PUBLIC["f"].get(name)
        if package != "torch" or not isinstance(found, TypedTensor):
            raise TypeError(
                f"invalid type object: only floating-point types are supported as the default type, got {t}"
            )
        t = found
    if t is Tensor:
        return
    if getattr(t, "is_cuda", False):
        raise TypeError(f"type torch.cuda.{t.__name__} not available. Torch not compiled with CUDA enabled.")
    if not isinstance(t, TypedTensor) or not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(t.dtype)


spell("set_default_tensor_type", set_default_tensor_type, "f")
