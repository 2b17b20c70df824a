"""Tensors in the likeness of others: `zeros_like`, `new_zeros`.

They ask the interpreters first, since a pattern may be batched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.autograd.cuts import cut_of
from chainrule.backends import meta
from chainrule.backends.sparse import is_sparse
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import LISTENING, here
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import Creation, call, common_dtype
from chainrule.core.layout import preserve_format
from chainrule.core.literal import array_of, cast_number
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import dense_strides, is_non_overlapping_and_dense
from chainrule.core.tensor import CPU, PLAIN, Tensor
from chainrule.ops.arguments import read_list
from chainrule.ops.create import (
    COMMON,
    allocate,
    as_fill,
    asked_size,
    by_strides,
    check_options,
    creation,
    dtype_from,
    filled,
    made,
    made_of,
    over_storage,
    place,
    read_size,
    sparse_array,
    strided_raw,
)
from chainrule.ops.typed_storage import is_storage

__all__ = ["like_array"]


# -------------------------------------------------------------------------------------------- in the likeness of others


_pattern = Creation().decorate


def like_array(x: Any, fill: Any, dtype: DType | None, device: Any, format: Any) -> Any:
    """A new array of the shape (and, unless `format` says otherwise, the axis order) of `x`."""
    plain = x.__class__ is np.ndarray
    kind = dtype.numpy if dtype is not None else x.dtype if plain else dtypes.OF_NUMPY[x.dtype].numpy
    if not plain and is_sparse(x):
        return sparse_array("fill_", x.shape, fill, kind, x.sparse_dim)
    where = getattr(x, "home", CPU) if device is None else device
    if format is None or format is preserve_format:
        if x.flags.c_contiguous or x.size == 0:
            return allocate(x.shape, kind, where, fill)
        return _same_order(x, kind, where, fill)
    return allocate(x.shape, kind, where, fill, format)


def _same_order(x: Any, kind: Any, where: Device, fill: Any) -> Any:
    steps = tuple(s // x.itemsize for s in x.strides)
    if not is_non_overlapping_and_dense(x.shape, steps):
        steps = dense_strides(x.shape, steps)
    return by_strides(x.shape, tuple(s * kind.itemsize for s in steps), kind, where, fill)


def _behind(op_fn: Any, public: Any, array: Callable[..., Any]) -> Any:
    """Put the user's function in front of a pattern op: rules may call it on arrays too."""

    def fn(input: Any, *args: Any, **params: Any) -> Any:
        return public(input, *args, **params) if isinstance(input, Tensor) else array(input, *args, **params)

    fn.op, fn.public, fn.door = op_fn.op, public, op_fn.public  # type: ignore[attr-defined]
    op_fn.op.fn = fn
    return fn


def _alike(
    op_fn: Any, input: Any, fill: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, requires_grad: bool,
    memory_format: Any, **more: Any,
) -> Tensor:  # fmt: skip
    """The common end of the `*_like` functions."""
    name = op_fn.__name__
    if layout is not None and isinstance(input, Tensor) and layout is not input.layout:
        kind = input.dtype if dtype is None else dtype
        return filled(name, tuple(input.shape), fill, kind, device, layout, requires_grad, pin_memory)
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if pin_memory:
        check_options(name, None, pin_memory)
    kind = None if dtype is None else dtype_from(dtype, name)
    where = None if device is None else place(device)
    if memory_format is not None and is_sparse(input.raw):
        raise RuntimeError("memory format option is only supported by strided tensors")
    if input.__class__ in PLAIN and not (LISTENING and (here().stack or here().dispatch)):
        return made(like_array(input.raw, fill, kind, where, memory_format), requires_grad)
    t: Tensor = op_fn.public(input, **more, dtype=kind, device=where, memory_format=memory_format)
    t.cut = None
    return t.requires_grad_() if requires_grad else t


_patterns: list[tuple[Any, ...]] = [((2, 3),), ((),)]


def _patterned(name: str, fill: Any, doc: str) -> Any:
    def fn(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
        requires_grad: bool = False, memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        return _alike(op_fn, input, fill, dtype, layout, device, pin_memory, requires_grad, memory_format)

    def forward(
        xp: Any, input: Array, *, dtype: DType | None = None, device: Any = None, memory_format: Any = None
    ) -> Array:
        return like_array(input, fill, dtype, device, memory_format)

    fn.__name__ = forward.__name__ = name
    fn.__doc__ = forward.__doc__ = doc
    op_fn: Any = _pattern(
        spelled="", vmap=lambda values, batched, size, params: public(values[0], **params),
        samples=None if fill is None else samples(real, _patterns, dtype=[None, dtypes.int32]),
    )(forward)  # fmt: skip
    public: Any = creation()(fn)
    return _behind(
        op_fn, public, lambda x: like_array(np.asanyarray(x), fill, None, None, None)
    )  # a rule may see a scalar


zeros_like = _patterned("zeros_like", 0, "Zeros in the shape of another tensor.")
ones_like = _patterned("ones_like", 1, "Ones in the shape of another tensor.")
empty_like = _patterned("empty_like", None, "An uninitialised tensor in the shape of another.")


@_pattern(
    spelled="", name="full_like", vmap=lambda values, batched, size, params: call("full_like", values[0], **params),
    samples=samples(real, _patterns, fill_value=[2.5], dtype=[None, dtypes.int32]),
)  # fmt: skip
def _full_like(
    xp: Any, input: Array, *, fill_value: Any, dtype: DType | None = None, device: Any = None,
    memory_format: Any = None,
) -> Array:  # fmt: skip
    """One value everywhere, in the shape of another tensor."""
    return like_array(input, fill_value, dtype, device, memory_format)


@creation()
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """One value everywhere, in the shape of another tensor."""
    kind = input.dtype if dtype is None else dtype_from(dtype, "full_like")
    value = cast_number(as_fill(fill_value, "full_like"), kind, strict=input.shape.numel() != 1)[()]
    return _alike(
        _full_like, input, value, kind, layout, device, pin_memory, requires_grad, memory_format, fill_value=value
    )


@_pattern(
    spelled="", name="new_filled",
    vmap=lambda values, batched, size, params: call(
        "new_filled", values[0], **{**params, "size": (size, *params["size"])}
    ),
    samples=samples(real, _patterns, size=[(), (3, 2)], fill=[0, 2.5], dtype=[None, dtypes.int32]),
)  # fmt: skip
def _new_filled(
    xp: Any, input: Array, *, size: tuple[int, ...], fill: Any, dtype: DType | None = None, device: Any = None,
) -> Array:  # fmt: skip
    """An array of any shape, in the dtype and on the device of another."""
    return new_array(input, size, fill, dtype, device)


def new_array(x: Any, size: tuple[int, ...], fill: Any, dtype: DType | None, device: Any) -> Any:
    """A new array in the dtype and on the device of `x`."""
    if x.__class__ is not np.ndarray and is_sparse(x):
        return sparse_array("fill_", size, fill, x.dtype if dtype is None else dtype.numpy)
    where = getattr(x, "home", CPU) if device is None else device
    return allocate(size, x.dtype if dtype is None else dtype.numpy, where, fill)


def _renewed(
    name: str, self: Tensor, size: tuple[int, ...], fill: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """The common end of the `new_*` methods."""
    check_options(name, layout, pin_memory)
    kind = None if dtype is None else dtype_from(dtype, name)
    where = None if device is None else place(device)
    if self.__class__ in PLAIN and not (LISTENING and (here().stack or here().dispatch)):
        return made(new_array(self.raw, size, fill, kind, where), requires_grad)
    t: Tensor = _new_filled.public(self, size=size, fill=fill, dtype=kind, device=where)
    t.cut = None
    return t.requires_grad_() if requires_grad else t


def _renewing(name: str, fill: Any, doc: str) -> Any:
    def fn(
        self: Tensor, *args: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        return _renewed(
            name, self, asked_size(args, size, name), fill, dtype, layout, device, pin_memory, requires_grad
        )

    fn.__name__, fn.__doc__ = name, doc
    return creation("m")(fn)


new_zeros = _renewing("new_zeros", 0, "Zeros of this tensor's dtype and device.")
new_ones = _renewing("new_ones", 1, "Ones of this tensor's dtype and device.")
new_empty = _renewing("new_empty", None, "Uninitialised memory of this tensor's dtype and device.")


@creation("m")
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """One value everywhere, in this tensor's dtype and on its device."""
    kind = self.dtype if dtype is None else dtype_from(dtype, "new_full")
    value = cast_number(as_fill(fill_value, "new_full"), kind)[()]
    shape = read_size((read_list("new_full", "size", size, 1),), "new_full")
    return _renewed("new_full", self, shape, value, kind, layout, device, pin_memory, requires_grad)


@creation("m")
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Uninitialised memory with the given strides, in this tensor's dtype and on its device."""
    check_options("new_empty_strided", layout, pin_memory)
    kind = self.dtype if dtype is None else dtype_from(dtype, "new_empty_strided")
    where = self.device if device is None else place(device)
    return made(strided_raw(size, stride, kind, where), requires_grad)


@creation("m")
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A copy of the data, in this tensor's dtype and on its device."""
    check_options("new_tensor", layout, pin_memory)
    kind = self.dtype if dtype is None else dtype_from(dtype, "new_tensor")
    where = self.device if device is None else place(device)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
            UserWarning,
        )
        copy = data.detach().clone().to(dtype=kind, device=where)
        copy.cut = cut_of(data, "copy")
        return copy.requires_grad_() if requires_grad else copy
    if data.__class__ not in COMMON and is_storage(data):
        return over_storage(data, kind, requires_grad)
    raw = array_of(data, kind)
    return made_of(data, raw if where is CPU else meta.empty(raw.shape, raw.dtype), requires_grad)


# --------------------------------------------------------------------------------------------------- dtypes of operands


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an arithmetic result over two tensors or numbers."""
    return common_dtype((tensor1, tensor2))


spell("result_type", result_type, "f")
