"""Tensors of the transforms: `Wrapped`, of a grad, vjp or jvp, and `Batched`, of a vmap.

Both hold, as `raw`, a tensor one level below. Facts about memory and values are that tensor's; what a batch has no
answer for raises with the words people search for.
"""

from __future__ import annotations

from typing import Any, NoReturn

from chainrule.core import shape as shapes
from chainrule.core.ambient import here, put
from chainrule.core.function_protocol import disabled
from chainrule.core.layout import contiguous_format
from chainrule.core.printing import batched_text, grad_tracking_text
from chainrule.core.shape import Size
from chainrule.core.tensor import FOREIGN, Tensor

__all__ = ["Batched", "Wrapped", "blank"]

_new = object.__new__


class Wrapped(Tensor):
    """A tensor of a grad, vjp or jvp transform: `raw` is the tensor one level below."""

    __slots__ = ("level",)
    __torch_function__: Any = disabled

    level: Any

    @property
    def shape(self) -> Size:
        return self.raw.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.raw.dtype

    @property
    def device(self) -> Any:
        return self.raw.device

    @property
    def ndim(self) -> int:
        return self.raw.ndim  # type: ignore[no-any-return]

    def rewrapped(self) -> Wrapped:
        """Another tensor of this level over the same one below, with no history."""
        return self.level.wrap(self.raw)  # type: ignore[no-any-return]

    def underlying(self) -> Tensor:
        """The tensor whose edge counts."""
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return grad_tracking_text(self.level.depth, _text_below(self))


class Batched(Tensor):
    """A tensor inside vmap: `raw`, one level below, has the batch at axis 0, which this one hides."""

    __slots__ = ("level",)
    __torch_function__: Any = disabled

    level: Any

    @property
    def shape(self) -> Size:
        return Size(self.raw.shape[1:])

    @property
    def dtype(self) -> Any:
        return self.raw.dtype

    @property
    def device(self) -> Any:
        return self.raw.device

    @property
    def ndim(self) -> int:
        return self.raw.ndim - 1  # type: ignore[no-any-return]

    def rewrapped(self) -> Batched:
        """Another tensor over the same one below."""
        return self.level.wrap(self.raw)  # type: ignore[no-any-return]

    def underlying(self) -> Tensor:
        """The tensor whose edge counts: the one below."""
        return self.raw.underlying() if self.raw.__class__ in FOREIGN else self.raw  # type: ignore[no-any-return]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return batched_text(self.level.depth, 0, _text_below(self))


def blank(kind: type[Any], level: Any, raw: Any) -> Any:
    """A tensor of a level over one below, with no history."""
    t = _new(kind)
    t.raw, t.level = raw, level
    t.edge = t.store = t.viewed = t.extra = t.cut = None
    return t


FOREIGN.update((Wrapped, Batched))


# ------------------------------------------------------------------------------------------------ facts asked below


def _told(name: str) -> Any:
    """A method that the tensor below answers, in the state of its level."""

    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = put(here().but(stack=self.level.below_stack))
        try:
            return getattr(self.raw, name)(*args, **kwargs)
        finally:
            put(before)

    told.__name__ = told.__qualname__ = name
    return told


_text_below = _told("__repr__")
for _name in ("data_ptr", "is_contiguous", "is_inference", "item", "storage_offset", "stride", "tolist"):
    setattr(Wrapped, _name, _told(_name))
for _name in ("is_inference", "storage_offset"):
    setattr(Batched, _name, _told(_name))


def _strides(self: Batched, dim: int | None = None) -> Any:
    steps = self.raw.stride()[1:]
    return steps if dim is None else steps[dim]


def _in_order(self: Batched, memory_format: Any = contiguous_format) -> bool:
    if memory_format is not contiguous_format:
        raise RuntimeError(
            "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
        )
    return shapes.is_contiguous(tuple(self.shape), _strides(self), contiguous_format)


for _name, _fn in (("stride", _strides), ("is_contiguous", _in_order)):
    setattr(Batched, _name, _fn)


# -------------------------------------------------------------------------------------------- what has no one answer

_POINTER = "Cannot access data pointer of Tensor that doesn't have storage"
_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_IN_TRANSFORM = (
    "You are attempting to call Tensor.{0}() {1}inside of a function being transformed by a functorch transform. This "
    "is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
    "{0}() outside of a function being transformed instead."
)


def _refusing(error: type[Exception], text: str) -> Any:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise error(text)

    return refuse


for _name in ("__array__", "__dlpack__", "data_ptr", "numpy", "tolist"):
    setattr(Batched, _name, _refusing(RuntimeError, _POINTER))
for _name in ("storage", "untyped_storage", "_typed_storage"):
    setattr(Batched, _name, _refusing(NotImplementedError, "Cannot access storage of BatchedTensorImpl"))
for _name, _text in (("item", _ITEM), ("__bool__", _BRANCH)):
    setattr(Batched, _name, _refusing(RuntimeError, _text))
_no_data = property(
    _refusing(RuntimeError, "accessing `data` under vmap transform is not allowed"),
    _refusing(RuntimeError, "mutating directly with `.data` under vmap transform is not allowed."),
)
setattr(Batched, "data", _no_data)  # noqa: B010  a property, where Tensor's own is declared too


def _outside_only(name: str, hint: str = "") -> None:
    """A method that transforms refuse, on any tensor."""
    plain = getattr(Tensor, name)
    text = _IN_TRANSFORM.format(name, hint)

    def checked(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if here().stack and not (name == "retain_grad" and self.edge is None):
            raise RuntimeError(text)
        return plain(self, *args, **kwargs)

    for kind in (Wrapped, Batched):
        setattr(kind, name, checked)


_outside_only("retain_grad")
_outside_only("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) ")
