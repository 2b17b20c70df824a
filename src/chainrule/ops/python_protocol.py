"""Tensors as Python objects: as numbers, as sequences, as arrays of others, copied and pickled, subclassed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.cuts import leaves
from chainrule.autograd.door import ANSWERERS
from chainrule.backends.cpu import memory
from chainrule.backends.pending import Pending, resolved
from chainrule.backends.sparse import is_sparse
from chainrule.core.ambient import LISTENING, here
from chainrule.core.dtype import bool_, widened
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import retyped
from chainrule.core.notices import warn
from chainrule.core.public import method, quiet_method, spell
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import LEAF, WRAPPERS, Tensor
from chainrule.ops.create import made
from chainrule.ops.storages import fix, own_memory

__all__ = ["concrete"]


def concrete(t: Any, what: str) -> Any:
    """The array under a tensor: under a transform's tensors too, but not where every example has its own value."""
    while isinstance(t.raw, Tensor):
        if t.level.kind == "vmap":
            _refuse_batched(what)
        t = t.raw
    if t.__class__ in WRAPPERS:
        return _answered(t, what)
    if t.raw.__class__ is not np.ndarray:
        return _of_other_array(t.raw, what)
    return t.raw


def _answered(t: Any, what: str) -> Any:
    """The element of a tensor whose class answers for it."""
    if what not in ("item", "bool"):
        raise RuntimeError(f".{what}() is not supported for tensor subclasses.")
    return np.asarray(ANSWERERS[2](t))


def _of_other_array(raw: Any, what: str) -> Any:
    if isinstance(raw, Pending):
        return _refuse_pending(raw) if what == "numpy" else resolved(raw)
    return _all_of(raw, what) if is_sparse(raw) else _refuse_meta(what)


def _refuse_pending(raw: Pending) -> NoReturn:
    bit, way = ("conjugate", "conj") if raw.is_conj else ("negative", "neg")
    raise RuntimeError(
        f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{way}().numpy() instead."
    )


def _all_of(raw: Any, what: str) -> Any:
    """The elements of a sparse array, where they are asked for as numbers."""
    if what == "numpy":
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if what == "tolist":
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    return raw.todense()


def _refuse_batched(what: str) -> NoReturn:
    if what == "bool":
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet, please shout over at https://github.com/pytorch/functorch/issues/257 ."
        )
    raise RuntimeError(
        f"vmap: It looks like you're calling .{what}() on a Tensor. We don't support vmap over calling .{what}() on a "
        "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside "
        "PyTorch internals, please file a bug report."
    )


def _refuse_meta(what: str) -> NoReturn:
    if what == "numpy":
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if what == "tolist":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    raise RuntimeError("Tensor.item() cannot be called on meta tensors")


# ------------------------------------------------------------------------------------------------------- as a number


@method
def item(self: Tensor) -> Any:
    """The one element, as a Python number."""
    raw = self.raw
    if LISTENING and here().dispatch and not here().stack:
        return ANSWERERS[2](self)
    if raw.__class__ is not np.ndarray:
        if self.numel() == 1:
            raw = concrete(self, "item")
        else:
            _refuse_many(self)
    if raw.size != 1:
        _refuse_many(self)
    if self.edge is not None or self.cut is not None:
        leaves(self, "number", raw)
    return (raw if raw.dtype.isbuiltin == 1 else widened(raw)).item()


def _refuse_many(t: Tensor) -> NoReturn:
    raise RuntimeError(f"a Tensor with {t.numel()} elements cannot be converted to Scalar")


@method
def tolist(self: Tensor) -> Any:
    """The elements, as nested Python lists."""
    raw = concrete(self, "tolist")
    if self.edge is not None or self.cut is not None:
        leaves(self, "number", raw)
    return (raw if raw.dtype.isbuiltin == 1 else widened(raw)).tolist()


def _scalar(t: Tensor, wanted: str = "") -> Any:
    if t.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if wanted == "double" and t.edge is not None:
        warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first.",
            UserWarning,
        )
    value = t.item()
    if wanted and value.__class__ is complex and value.imag:
        raise RuntimeError(f"value cannot be converted to type {wanted} without overflow")
    return value.real if wanted and value.__class__ is complex else value


@method
def __bool__(self: Tensor) -> bool:
    raw = self.raw
    if raw.__class__ is not np.ndarray:
        count = self.numel()
        raw = concrete(self, "bool") if count == 1 else np.empty(count)
    if raw.size != 1:
        values = "no values" if raw.size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
    return bool(raw.item())


@method
def __int__(self: Tensor) -> int:
    return int(_scalar(self, "int64_t"))


@method
def __float__(self: Tensor) -> float:
    return float(_scalar(self, "double"))


@method
def __complex__(self: Tensor) -> complex:
    return complex(_scalar(self))


@method
def __index__(self: Tensor) -> int:
    if self.dtype.category > 1 or self.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


# ----------------------------------------------------------------------------------------------------- as a sequence


@method
def __len__(self: Tensor) -> int:
    shape = self.shape
    if not shape:
        raise TypeError("len() of a 0-d tensor")
    return shape[0]


@quiet_method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@method
def __reversed__(self: Tensor) -> Tensor:
    return self if not self.shape else self.flip(0)


@method
def __contains__(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, np.number)):
        return bool((self == element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


# -------------------------------------------------------------------------------------------------------- as an array


@method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """An array over the tensor's memory; `force` detaches and copies as far as needed."""
    if force:
        return self.detach().cpu().resolve_conj().resolve_neg().numpy()
    own_memory(self)
    raw = concrete(self, "numpy")
    if here().grad and self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if raw.dtype.isbuiltin != 1:
        raise TypeError(f"Got unsupported ScalarType {self.dtype.title}")
    if self.edge is not None or self.cut is not None:
        leaves(self, "array", raw)
    fix(self)
    return raw.view()


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy("K") if copy else array


@method
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    array = np.asarray(array)
    return made(array.astype(np.uint8) if array.dtype == bool_.numpy else array)


# -------------------------------------------------------------------------------------------------- copied and pickled


@method
def __copy__(self: Tensor) -> Tensor:
    twin = retyped(self.detach(), type(self))
    twin.viewed = twin.store = None  # the same memory, but changes of one are not counted for the other, as in PyTorch
    twin.edge = LEAF if self.requires_grad else None
    twin.__dict__.update(self.__dict__)
    return twin  # type: ignore[no-any-return]


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    twin = retyped(made(_copied(self.raw, memo) if not isinstance(self.raw, Tensor) else self.raw.clone()), type(self))
    memo[id(self)] = twin
    twin.edge = self.edge
    if self.extra is not None and self.extra.grad is not None:
        twin.grad = copy.deepcopy(self.extra.grad, memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return twin  # type: ignore[no-any-return]


def _copied(raw: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array; arrays over the same memory are copied once and share the copy."""
    if raw.__class__ is not np.ndarray:
        return raw.copy("K")
    held = memory.owner(raw)
    whole = copy.deepcopy(held, memo)
    if held is raw:
        return whole
    return np.ndarray(raw.shape, raw.dtype, whole, memory.address(raw) - memory.address(held), raw.strides)


def _plainly_typed(array: Any, dtype: DType | None) -> Any:
    """An array that was pickled, whose dtype is an object of its own, with NumPy's own dtype, or another's."""
    want = np.dtype(array.dtype.type) if dtype is None else dtype.numpy
    return array if array.dtype is want else array.view(want)


def rebuild(
    cls: type, array: Any, dtype: DType | None, requires_grad: bool, state: dict[str, Any] | None, place: Any = None
) -> Tensor:
    """A tensor from what `pickle` kept of it; `dtype`: where the array has only its bits; `place`: where in it."""
    if place is not None and dtype is not None:
        shape, strides, offset = place
        array = np.ndarray(shape, dtype.numpy, array, offset, strides)
    elif isinstance(array, np.ndarray):
        array = _plainly_typed(array, dtype)
    t = retyped(made(array), cls)
    t.edge = LEAF if requires_grad else None
    if state:
        t.__dict__.update(state)
    return t  # type: ignore[no-any-return]


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    state = self.__dict__ or None
    if is_sparse(self.raw):
        return rebuild, (type(self), self.raw, None, self.requires_grad, state)
    raw = concrete(self, "tolist")
    odd = raw.dtype.isbuiltin != 1  # bfloat16 and its kind: their bits travel as integers
    array = np.ascontiguousarray(raw).view(f"u{raw.itemsize}").reshape(raw.shape) if odd else raw
    held, place = _whole(raw)
    if held is not None:
        return rebuild, (type(self), held, self.dtype, self.requires_grad, state, place)
    return rebuild, (type(self), array, self.dtype if odd else None, self.requires_grad, state)


def _whole(raw: Any) -> tuple[Any, Any]:
    """The memory of a view, or of what NumPy would put in C order, and where in it the elements lie."""
    held = memory.owner(raw)
    if held is not raw and held.__class__ is np.ndarray:
        return _bits(held), (raw.shape, raw.strides, memory.address(raw) - memory.address(held))
    if not raw.flags.c_contiguous and memory.is_dense(raw):
        return _bits(raw.ravel("K")), (raw.shape, raw.strides, 0)
    return None, None


def _bits(held: Any) -> Any:
    """An array of its own over the same memory: each tensor comes back with its own, as in PyTorch."""
    return held.view(held.dtype if held.dtype.isbuiltin == 1 else f"u{held.itemsize}")


# ----------------------------------------------------------------------------------------------- element by element


@method
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Overwrite every element with what a Python function makes of it; slow."""
    return _applied(self, callable)


@method
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Overwrite every element with a function of it and the other tensor's."""
    return _applied(self, callable, tensor)


@method
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Overwrite every element with a function of it and two other tensors'."""
    return _applied(self, callable, x, y)


def _applied(t: Tensor, fn: Any, *others: Tensor) -> Tensor:
    if t.requires_grad or any(o.requires_grad for o in others):
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    for x in others:
        if broadcast_shapes(tuple(t.shape), tuple(x.shape)) != tuple(t.shape):
            raise RuntimeError(f"output with shape {list(t.shape)} doesn't match the broadcast shape of the inputs")
    columns = [np.broadcast_to(concrete(x, "tolist"), t.raw.shape).ravel().tolist() for x in (t, *others)]
    values = np.array([fn(*row) for row in zip(*columns)]).reshape(t.raw.shape)
    if values.dtype.kind not in "biufc":
        raise TypeError(f"apply_(): the function must return numbers, not {values.dtype.type.__name__}")
    return t.copy_(made(values.astype(t.raw.dtype)))


@method
def __dir__(self: Tensor) -> list[str]:
    return sorted({*dir(type(self)), *self.__dict__})


def is_tensor(obj: Any, /) -> bool:
    """Is this a tensor?"""
    return isinstance(obj, Tensor)


spell("is_tensor", is_tensor, "f")


@method
def numel(self: Tensor) -> int:
    """The number of elements."""
    return self.shape.numel()


def _numel(input: Tensor) -> int:
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise TypeError(f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input.numel()


spell("numel", _numel, "f")
spell("nelement", numel, "m")
