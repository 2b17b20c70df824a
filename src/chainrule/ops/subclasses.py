"""Tensors as objects of users' classes: over the same memory, or with facts alone, whose class answers every op."""

from __future__ import annotations

from typing import Any

from chainrule.backends import meta
from chainrule.config import settings
from chainrule.core.asking import equip
from chainrule.core.device import as_device
from chainrule.core.dispatch_protocol import disabled as no_dispatch
from chainrule.core.family import call
from chainrule.core.function_protocol import default, retyped
from chainrule.core.function_protocol import disabled as no_function
from chainrule.core.layout import contiguous_format, strided
from chainrule.core.public import quiet_method
from chainrule.core.shape import strides_for
from chainrule.core.tensor import CPU, LEAF, Tensor
from chainrule.ops.create import made

__all__: list[str] = []


@quiet_method
def as_subclass(self: Tensor, cls: type) -> Any:
    """The same tensor as an object of a subclass; gradients flow through."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    return retyped(call("alias", self), cls)


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **options: Any) -> Any:
    """An object of a subclass over the memory of `data`, with no history."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    _refuse_policies("_make_subclass", options)
    t = retyped(data.detach(), cls)
    t.viewed = None
    if require_grad:
        t.requires_grad = True
    return t


def _make_subclass_of(*args: Any, **options: Any) -> Any:
    """`Tensor._make_subclass(cls, data, require_grad)`."""
    return _make_subclass(*args, **options)


def _refuse_policies(name: str, options: dict[str, Any]) -> None:
    """Facts of tensors are known here without asking their class."""
    asked = [k for k, v in options.items() if v]
    if asked:
        raise NotImplementedError(f"{name}(): {', '.join(asked)}: sizes, strides, devices and layouts are not asked")


def _make_wrapper_subclass(
    cls: Any, size: Any, strides: Any = None, storage_offset: int | None = None, memory_format: Any = None,
    dtype: Any = None, layout: Any = strided, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """An object of a subclass with facts but without elements: its class answers every op (`__torch_dispatch__`)."""
    if getattr(cls, "__torch_dispatch__", None) is None or cls.__torch_dispatch__ is Tensor.__torch_dispatch__:
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    if layout is not strided or pin_memory:
        raise NotImplementedError("_make_wrapper_subclass(): layout, pin_memory: tensors here lie strided in memory")
    _refuse_policies("_make_wrapper_subclass", options)
    shape = tuple(int(n) for n in size)
    kind = (settings.default_dtype if dtype is None else dtype).numpy
    steps = strides_for(shape, memory_format or contiguous_format) if strides is None else tuple(strides)
    raw = meta.strided(shape, tuple(s * kind.itemsize for s in steps), kind, (storage_offset or 0) * kind.itemsize)
    raw.home = CPU if device is None else as_device(device)
    t = retyped(made(raw), cls)
    t.edge = LEAF if requires_grad else None
    return t


def _subclassed(cls: Any, /, **named: Any) -> None:
    """A class that answers ops and says nothing of functions wants none: its results are its own to make. Others are
    asked also where attributes are read."""
    super(Tensor, cls).__init_subclass__(**named)
    answers = getattr(cls.__torch_dispatch__, "__func__", cls.__torch_dispatch__) is not no_dispatch
    if answers and getattr(cls.__torch_function__, "__func__", None) is default:
        cls.__torch_function__ = no_function
    equip(cls)


_OF_THE_CLASS: dict[str, Any] = {
    "__init_subclass__": classmethod(_subclassed),
    "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass), "_make_subclass": staticmethod(_make_subclass_of),
    "__torch_dispatch__": classmethod(no_dispatch), "__torch_function__": classmethod(default),
}  # fmt: skip
for _name, _value in _OF_THE_CLASS.items():
    setattr(Tensor, _name, _value)
