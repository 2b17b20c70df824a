"""Tensors from nothing, and what everything that makes tensors shares.

Most of these are no ops: a new tensor has no history, and inside a transform it is the same for every example.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.autograd.cuts import EXITS, cut_of, returns
from chainrule.autograd.door import ANSWERERS
from chainrule.autograd.versions import InferenceStore, turned_store
from chainrule.backends import meta
from chainrule.backends.cpu.memory import uninitialised
from chainrule.backends.sparse import Unsupported, nothing
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import LISTENING, here
from chainrule.core.blame import blame_call, check_flags, flags_of, missing
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import override
from chainrule.core.layout import contiguous_format, preserve_format, sparse_coo, strided
from chainrule.core.literal import cast_number
from chainrule.core.public import spell
from chainrule.core.shape import Size, strides_for
from chainrule.core.tensor import CPU, LEAF, META, PLAIN, Cut, Tensor
from chainrule.ops.arguments import read_list
from chainrule.ops.exchange import tensor_over

__all__ = ["allocate", "creation", "dtype_from", "filled", "made", "made_of", "place", "read_size", "write_to"]


# ----------------------------------------------------------------------------------------------------------------- head


_new = object.__new__
CALM = frozenset((int, float, bool, complex, tuple, list, Size, str))  # first arguments that never override
F32 = np.dtype(np.float32)


# -------------------------------------------------------------------------------------------------------- shared pieces


def creation(spelled: str = "f", name: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Declare a public function that makes tensors: modes and subclasses may answer in its place."""

    def decorate(fn: Callable[..., Any]) -> Any:
        title = name or fn.__name__.rstrip("_")
        public = _asking(fn, title)
        spell(title, public, spelled)
        return public

    return decorate


def _want_gradient(out: Tensor) -> None:
    if not (out.dtype.is_floating_point or out.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    out.requires_grad_()


def _asking(fn: Callable[..., Any], title: str) -> Any:
    """`fn`, after modes and the first argument's class were asked whether they answer; they are told of `func[0]`."""
    fn.__qualname__ = title
    flags = flags_of(fn)

    @wraps(fn)
    def public(*args: Any, **kwargs: Any) -> Any:
        if LISTENING or (args and args[0].__class__ not in CALM and args[0].__class__ not in PLAIN):
            state = here()
            done, result = override(func[0], args[:1], args, kwargs, state)
            if done:
                return result
            if state.dispatch and title not in _OF_DATA and not (args and isinstance(args[0], Tensor)):
                return ANSWERERS[1](title, args, kwargs)
        if kwargs.get("out") is not None:
            _check_out(title, **kwargs)
        if flags and kwargs:
            check_flags(title, fn, flags, args, kwargs)
        try:
            result = fn(*args, **kwargs)
        except Exception:
            found = blame_call(title, fn, args, kwargs) or missing(title, fn, args, kwargs)
            if found is None:
                raise
            raise found from None
        if kwargs and kwargs.get("out") is not None and kwargs.get("requires_grad") is True:
            _want_gradient(result)
        return result

    func: list[Any] = [public]
    public.__name__ = public.__qualname__ = title
    public.public, public.func = public, func  # type: ignore[attr-defined]
    return public


_OF_DATA = frozenset(("as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "scalar_tensor", "tensor"))


def _check_out(
    name: str, *, out: Any, dtype: Any = None, layout: Any = None, device: Any = None, **others: Any
) -> None:
    """What is asked for beside `out` must be what it has."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype is not None and dtype is not out.dtype:
        want = dtype_from(dtype, name)
        raise RuntimeError(f"dtype {want.title} does not match dtype of out parameter ({out.dtype.title})")
    if layout is not None and layout is not out.layout:
        have: Any = out.layout
        raise RuntimeError(f"layout {_title(layout)} does not match layout of out parameter ({_title(have)})")
    if device is not None and place(device) is not out.device:
        raise RuntimeError(
            f"device type {place(device).type} does not match device type of out parameter ({out.device.type})"
        )


def _title(layout: Any) -> str:
    """`Strided`, `SparseCsr`; the oldest sparse layout is plain `Sparse`."""
    return str(layout.name).removesuffix("_coo").title().replace("_", "")


def made(raw: Any, requires_grad: bool = False) -> Tensor:
    """A new leaf over an array."""
    t: Tensor = _new(Tensor)
    t.raw = raw
    t.edge = t.viewed = t.extra = t.cut = None
    t.store = turned_store(raw)
    if LISTENING:
        state = here()
        if state.inference:
            t.store = InferenceStore()
        for interpreter in state.stack:
            t = interpreter.born(t)
    if requires_grad:
        if raw.dtype.kind not in "fcVW":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t.edge = LEAF
    return t


def made_of(data: Any, raw: Any, requires_grad: bool = False) -> Tensor:
    """A new leaf with the data in it; where they came out of a graph, it knows where that was cut."""
    t = made(raw, requires_grad)
    if not requires_grad:
        t.cut = cut_before(data, raw)
    return t


def cut_before(data: Any, raw: Any) -> Cut | None:
    """Why no gradient flows to a tensor made of these data, if they were computed from what had one."""
    while isinstance(data, (tuple, list)) and data:
        data = data[0]
    if isinstance(data, Tensor):
        return cut_of(data, "copy")
    return returns(raw) if EXITS and raw.__class__ is np.ndarray else None


COMMON = frozenset((list, tuple, int, float, bool, complex, np.ndarray))


def over_storage(data: Any, dtype: DType | None, requires_grad: bool = False) -> Tensor:
    """A flat tensor over the memory of a storage."""
    t = tensor_over(data, dtype, "Expected a Storage of type {} or an UntypedStorage, but got {}")
    return t.requires_grad_() if requires_grad else t


_PYTHON_TYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128}


def dtype_from(given: Any, name: str) -> DType:
    """What an argument `dtype=...` means."""
    if given.__class__ is DType:
        return given
    found = _PYTHON_TYPES.get(given) if isinstance(given, type) else None
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return found


def place(device: Any) -> Device:
    """Where an argument `device=...` puts a tensor: the CPU or meta, the devices there are."""
    found = settings.default_device if device is None else as_device(device)
    if found is CPU or found is META:
        return found
    if found.type in ("cpu", "meta"):
        return CPU if found.type == "cpu" else META
    if found.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    raise RuntimeError(f"Could not run on device '{found}': this backend is not available")


def check_options(name: str, layout: Any, pin_memory: Any) -> None:
    """Refuse what no backend here can do."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}(): layout={layout!r}: what it makes is strided")
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
            "is available on this system."
        )


def read_size(size: tuple[Any, ...], name: str) -> tuple[int, ...]:
    """A shape given as `(2, 3)`, `2, 3`, or a Size; entries may be 0-d integer tensors."""
    if len(size) == 1 and size[0].__class__ is not int:
        (one,) = size
        size = tuple(one) if isinstance(one, (tuple, list)) or (isinstance(one, Tensor) and one.ndim) else size
        for at, n in enumerate(size):
            if n.__class__ is not int and not is_index(n):
                if size[0] is one:
                    raise TypeError(
                        f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}"
                    )
                raise TypeError(
                    f"{name}(): argument 'size' failed to unpack the object at pos {at + 1} with error "
                    f'"type must be tuple of ints,but got {type(n).__name__}"'
                )
    shape = tuple(n if n.__class__ is int else _index(n, name) for n in size)
    for n in shape:
        if n < 0 and name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def is_index(n: Any) -> bool:
    return hasattr(type(n), "__index__") and not isinstance(n, bool)


def _index(n: Any, name: str) -> int:
    if not is_index(n):
        raise TypeError(
            f"{name}(): argument 'size' must be tuple of ints, but found element of type {type(n).__name__}"
        )
    return int(n.__index__())


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], device: Device, fill: Any = None, format: Any = None) -> Any:
    """A new array; `fill` None leaves it as memory happens to be."""
    if format is not None and format is not contiguous_format and format is not preserve_format:
        steps = tuple(s * dtype.itemsize for s in strides_for(shape, format))
        return by_strides(shape, steps, dtype, device, fill)
    if device is META:
        return meta.empty(shape, dtype)
    try:
        if fill is None:
            return uninitialised(shape, dtype)
        return np.zeros(shape, dtype) if fill == 0 else np.full(shape, fill, dtype)
    except (ValueError, MemoryError):
        raise _too_big(shape, dtype) from None


def _too_big(shape: tuple[int, ...], dtype: np.dtype[Any]) -> RuntimeError:
    count = math.prod(shape) * dtype.itemsize
    if len(shape) > 64:  # NumPy's limit; PyTorch has tensors of more, and says this where it folds them
        return RuntimeError(f"only tensors with up to 64 dims are supported, got {len(shape)}")
    if 0 in shape:
        return RuntimeError(f"Stride calculation overflowed with sizes={list(shape)}")
    if count >= 2**63:
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return RuntimeError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {count} bytes. Error code "
        "12 (Cannot allocate memory)"
    )


def by_strides(
    shape: tuple[int, ...], steps: tuple[int, ...], dtype: np.dtype[Any], device: Device, fill: Any = None
) -> Any:
    """A new array with the given strides, in bytes."""
    if device is META:
        return meta.strided(shape, steps, dtype)
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps)) // dtype.itemsize
    if count * dtype.itemsize >= 2**63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={[s // dtype.itemsize for s in steps]}"
        )
    memory = uninitialised(count, dtype)
    if fill is not None:
        memory.fill(fill)
    return np.ndarray(shape, dtype, memory, 0, steps)


def filled(
    name: str, shape: tuple[int, ...], fill: Any, dtype: Any, device: Any, layout: Any, requires_grad: bool,
    pin_memory: Any,
) -> Tensor:  # fmt: skip
    """The common end of zeros, ones, full and empty."""
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, name)
    if layout is sparse_coo and not pin_memory:
        return made(sparse_array(name, shape, fill, kind.numpy), requires_grad)
    if layout is not None or pin_memory:
        check_options(name, layout, pin_memory)
    where = settings.default_device if device is None else place(device)
    return made(allocate(shape, kind.numpy, where, fill), requires_grad)


def write_to(out: Any, raw: Any, name: str, dtype: Any = None) -> Tensor:
    """Put a new array's values into the tensor given as `out`."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype is not None and out.dtype is not dtype:
        raise RuntimeError(f"dtype {dtype.title} does not match dtype of out parameter ({out.dtype.title})")
    if tuple(out.shape) != raw.shape:
        out._resize_output(raw.shape)
    out.copy_(made(raw))
    return out


# ------------------------------------------------------------------------------------------------------------ constants


def asked_size(args: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
    if size is not None:
        if args:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        args = (size,)
    if not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return read_size(args, name)


def _refuse_names(names: Any, name: str) -> None:
    if names is not None:
        raise NotImplementedError(f"{name}(): names={names!r}: tensors here have no named dimensions")


_SHAPES = frozenset((tuple, list, Size))


def _constant(name: str, fill: int, make: Callable[..., Any], doc: str) -> Any:
    def careful(
        *args: Any, size: Any = None, out: Any = None, names: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        shape = asked_size(args, size, name)
        _refuse_names(names, name)
        if out is not None:
            kind = None if dtype is None else dtype_from(dtype, name)
            if layout is not None and layout is not out.layout:
                raise RuntimeError(f"layout {layout} does not match layout of out parameter ({out.layout})")
            return write_to(out, np.full(shape, fill, out.dtype.numpy), name, kind)
        return filled(name, shape, fill, dtype, device, layout, requires_grad, pin_memory)

    careful.__name__ = name
    asking = _asking(careful, name)

    def public(*args: Any, **options: Any) -> Tensor:
        if LISTENING or options or settings.default_device is not CPU or not args:
            return asking(*args, **options)  # type: ignore[no-any-return]
        first = args[0]
        try:
            raw = make(first if first.__class__ in _SHAPES else args, settings.default_dtype.numpy)
        except (TypeError, ValueError, MemoryError):
            return asking(*args)  # type: ignore[no-any-return]
        t: Tensor = _new(Tensor)
        t.raw = raw
        t.edge = t.store = t.viewed = t.extra = t.cut = None
        return t

    public.__name__ = public.__qualname__ = name
    public.__doc__, public.public = doc, public  # type: ignore[attr-defined]
    asking.func[0] = public
    spell(name, public, "f")
    return public


zeros = _constant("zeros", 0, np.zeros, "A tensor of zeros.")
ones = _constant("ones", 1, np.ones, "A tensor of ones.")


@creation()
def empty(
    *args: Any, size: Any = None, out: Any = None, names: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor whose elements are whatever memory holds."""
    shape = asked_size(args, size, "empty")
    _refuse_names(names, "empty")
    kind = (settings.default_dtype if out is None else out.dtype) if dtype is None else dtype_from(dtype, "empty")
    if out is not None:
        if tuple(out.shape) != shape:
            out.resize_(shape)
        if settings.fills_memory and out.raw.__class__ is np.ndarray:
            out.raw[...] = uninitialised((), out.raw.dtype)
        return out  # type: ignore[no-any-return]
    if layout is sparse_coo:
        return filled("empty", shape, None, kind, device, layout, requires_grad, pin_memory)
    check_options("empty", layout, pin_memory)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format option Preserve")
    return made(allocate(shape, kind.numpy, place(device), None, memory_format), requires_grad)


@creation()
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor with the given strides, uninitialised."""
    check_options("empty_strided", layout, pin_memory)
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, "empty_strided")
    return made(strided_raw(size, stride, kind, place(device)), requires_grad)


def strided_raw(size: Any, stride: Any, kind: DType, device: Device) -> Any:
    shape, strides = read_size((size,), "empty_strided"), tuple(int(s) for s in stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    for s in strides:
        if s < 0:
            raise RuntimeError(f"negative strides are not supported: got {list(strides)}")
    return by_strides(shape, tuple(s * kind.itemsize for s in strides), kind.numpy, device)


@creation()
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A dense tensor whose axes lie in memory in the given order, uninitialised."""
    check_options("empty_permuted", layout, pin_memory)
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, "empty_permuted")
    shape, order = read_size((size,), "empty_permuted"), tuple(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(f"Dimension out of range or duplicate in physical_layout {list(order)}")
    steps, step = [0] * len(shape), kind.itemsize
    for axis in reversed(order):
        steps[axis] = step
        step *= max(shape[axis], 1)
    return made(by_strides(shape, tuple(steps), kind.numpy, place(device)), requires_grad)


@creation()
def full(
    size: Any, fill_value: Any, *, out: Any = None, names: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of one value everywhere."""
    shape = read_size((read_list("full", "size", size, 1),), "full")
    _refuse_names(names, "full")
    value = as_fill(fill_value, "full")
    kind = _suggested(fill_value, value) if dtype is None else dtype_from(dtype, "full")
    if out is not None:
        return write_to(out, np.full(shape, value).astype(out.dtype.numpy), "full", None if dtype is None else kind)
    check_options("full", layout, pin_memory)
    where = place(device)
    return made(meta.empty(shape, kind.numpy) if where is META else _full_array(shape, value, kind), requires_grad)


def _full_array(shape: tuple[int, ...], value: Any, kind: DType) -> Any:
    made = np.empty(shape, kind.numpy)
    made[...] = cast_number(value, kind, strict=made.size != 1)
    return made


def _suggested(given: Any, value: Any) -> DType:
    if value.__class__ is complex:
        return dtypes.complex128 if settings.default_dtype is dtypes.float64 else dtypes.complex64
    return given.dtype if isinstance(given, Tensor) else dtypes.scalar_dtype(value)


def as_fill(value: Any, name: str) -> Any:
    if isinstance(value, Tensor):
        if value.ndim or value.requires_grad:
            raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor")
        return value.item()
    if not isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    return value.item() if isinstance(value, np.generic) else value


@creation()
def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Ones on the diagonal, zeros elsewhere."""
    columns = n if m is None else m
    for letter, size in (("n", n), ("m", columns)):
        if size < 0:
            raise RuntimeError(f"{letter} must be greater or equal to 0, got {size}")
    check_options("eye", layout, pin_memory)
    kind = (settings.default_dtype if out is None else out.dtype) if dtype is None else dtype_from(dtype, "eye")
    if out is not None:
        return write_to(out, np.eye(n, columns, dtype=out.dtype.numpy), "eye", None if dtype is None else kind)
    if place(device) is META:
        return made(meta.empty((n, columns), kind.numpy), requires_grad)
    return made(np.eye(n, columns, dtype=kind.numpy), requires_grad)


def sparse_array(
    name: str, shape: tuple[int, ...], fill: Any, dtype: np.dtype[Any], sparse_dim: int | None = None
) -> Any:
    """A new sparse array: zeros, of which none is written down."""
    if fill is not None and fill != 0:
        raise Unsupported(name)
    return nothing(shape, len(shape) if sparse_dim is None else sparse_dim, np.empty(0, dtype.type))
