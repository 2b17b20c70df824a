"""Tensors from nothing, from data, and in the likeness of others.

Most of these are no ops: a new tensor has no history, and inside a transform it is the same for every example. Those
that take a tensor as their pattern (`zeros_like`, `new_zeros`) ask the interpreters first, since a pattern may be
batched.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.autograd.cuts import EXITS, cut_of, known, returns
from chainrule.autograd.versions import InferenceStore
from chainrule.backends import meta
from chainrule.backends.cpu.memory import rooted, uninitialised
from chainrule.backends.sparse import Unsupported, is_sparse, nothing
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import LISTENING, here
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import Creation, call, common_dtype
from chainrule.core.function_protocol import override
from chainrule.core.layout import contiguous_format, preserve_format, sparse_coo, strided
from chainrule.core.literal import array_of, cast_number, check_array
from chainrule.core.notices import warn_once
from chainrule.core.op import Array
from chainrule.core.public import spell
from chainrule.core.samples import real, samples
from chainrule.core.shape import Size, dense_strides, is_non_overlapping_and_dense, strides_for
from chainrule.core.tensor import CPU, LEAF, META, PLAIN, Cut, Tensor
from chainrule.ops.exchange import tensor_over
from chainrule.ops.storages import fix
from chainrule.ops.typed_storage import is_storage

__all__ = [
    "allocate", "creation", "dtype_from", "filled", "made", "made_of", "place", "read_size", "tensor", "write_to",
]  # fmt: skip

_new = object.__new__
CALM = frozenset((int, float, bool, complex, tuple, list, Size, str))  # first arguments that never override
F32 = np.dtype(np.float32)


# ------------------------------------------------------------------------------------------------- shared pieces


def creation(spelled: str = "f", name: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Declare a public function that makes tensors: modes and subclasses may answer in its place."""

    def decorate(fn: Callable[..., Any]) -> Any:
        title = name or fn.__name__.rstrip("_")
        public = _asking(fn, title)
        spell(title, public, spelled)
        return public

    return decorate


def _asking(fn: Callable[..., Any], title: str) -> Any:
    """`fn`, after modes and the first argument's class were asked whether they answer; they are told of `func[0]`."""

    @wraps(fn)
    def public(*args: Any, **kwargs: Any) -> Any:
        if LISTENING or (args and args[0].__class__ not in CALM and args[0].__class__ not in PLAIN):
            done, result = override(func[0], args[:1], args, kwargs, here())
            if done:
                return result
        if kwargs.get("out") is not None:
            _check_out(title, **kwargs)
        return fn(*args, **kwargs)

    func: list[Any] = [public]
    public.__name__ = public.__qualname__ = title
    public.public, public.func = public, func  # type: ignore[attr-defined]
    return public


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
    t.edge = t.store = t.viewed = t.extra = t.cut = None
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
        t.cut = _cut_before(data, raw)
    return t


def _cut_before(data: Any, raw: Any) -> Cut | None:
    """Why no gradient flows to a tensor made of these data, if they were computed from what had one."""
    while isinstance(data, (tuple, list)) and data:
        data = data[0]
    if isinstance(data, Tensor):
        return cut_of(data, "copy")
    return returns(raw) if EXITS and raw.__class__ is np.ndarray else None


_COMMON = frozenset((list, tuple, int, float, bool, complex, np.ndarray))


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
            if n.__class__ is not int and not _is_index(n):
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


def _is_index(n: Any) -> bool:
    return hasattr(type(n), "__index__") and not isinstance(n, bool)


def _index(n: Any, name: str) -> int:
    if not _is_index(n):
        raise TypeError(
            f"{name}(): argument 'size' must be tuple of ints, but found element of type {type(n).__name__}"
        )
    return int(n.__index__())


_FILLERS: dict[Any, Callable[..., Any]] = {None: np.empty, 0: np.zeros}


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


# ----------------------------------------------------------------------------------------------------- from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new leaf with a copy of the data: a number, nested lists, an array."""
    if LISTENING or dtype is not None or device is not None or pin_memory or settings.default_device is not CPU:
        return _tensor_with(data, dtype, device, requires_grad, pin_memory)
    if data.__class__ is float and settings.default_dtype is dtypes.float32:
        raw = np.array(data, F32)
    elif isinstance(data, Tensor):
        return _copy_constructed(data, None, None, requires_grad)
    elif data.__class__ not in _COMMON and is_storage(data):
        return over_storage(data, None, requires_grad)
    else:
        raw = array_of(data, None)
    t: Tensor = _new(Tensor)
    t.raw = raw
    t.edge = t.store = t.viewed = t.extra = t.cut = None
    if requires_grad:
        if raw.dtype.kind not in "fcVW":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t.edge = LEAF
    elif data.__class__ is not float:
        t.cut = _cut_before(data, raw)
    elif EXITS:
        t.cut = known(data)
    return t


spell("tensor", tensor, "f")


def _tensor_with(data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    state = here()
    if state.modes:
        given = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        kwargs = {k: v for k, v in given.items() if v is not None and v is not False}
        done, result = override(tensor, (data,), (data,), kwargs, state)
        if done:
            return result  # type: ignore[no-any-return]
    check_options("tensor", None, pin_memory)
    kind = None if dtype is None else dtype_from(dtype, "tensor")
    if isinstance(data, Tensor):
        return _copy_constructed(data, kind, device, requires_grad)
    if data.__class__ not in _COMMON and is_storage(data):
        t = over_storage(data, kind, requires_grad)
        return t if place(device) is CPU else t.to(place(device))
    raw = array_of(data, kind)
    return made_of(data, raw if place(device) is CPU else meta.empty(raw.shape, raw.dtype), requires_grad)


def _copy_constructed(data: Tensor, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        UserWarning,
        stacklevel=3 if dtype is None and device is None else 4,
    )
    copy: Tensor = data.detach().clone()
    copy.cut = cut_of(data, "copy")
    if dtype is not None or device is not None:
        copy = copy.to(dtype=dtype or data.dtype, device=place(device) if device is not None else data.device)
    return copy.requires_grad_() if requires_grad else copy


@creation()
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor: itself if it is one, sharing memory with an array, else a copy."""
    return _as_tensor(data, None if dtype is None else dtype_from(dtype, "as_tensor"), device, None)


def _as_tensor(data: Any, dtype: DType | None, device: Any, copy: bool | None) -> Tensor:
    if isinstance(data, Tensor):
        return _converted(data, dtype, device, bool(copy))
    if isinstance(data, np.ndarray) and not copy:
        return _converted(over_array(data), dtype, device, False)
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return _tensor_with_no_modes(data, dtype, device)


def _tensor_with_no_modes(data: Any, dtype: DType | None, device: Any) -> Tensor:
    if data.__class__ not in _COMMON and is_storage(data):
        return over_storage(data, dtype)
    raw = array_of(data, dtype)
    return made_of(data, raw if place(device) is CPU else meta.empty(raw.shape, raw.dtype))


def _converted(t: Tensor, dtype: DType | None, device: Any, copy: bool) -> Tensor:
    to_dtype = dtype is not None and dtype is not t.dtype
    to_device = device is not None and place(device) is not t.device
    if not (to_dtype or to_device or copy):
        return t
    where = t.device if device is None else place(device)
    return t.to(dtype=dtype or t.dtype, device=where, copy=copy)


def shared(array: Any) -> Any:
    """An ndarray as a tensor's memory, or why it cannot be."""
    check_array(array)
    for step in array.strides:
        if step < 0 and array.size:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your "
                "array  with array.copy().) "
            )
        if step % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. "
                "Copy the numpy array to reallocate the memory."
            )
    if not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed "
            "for the rest of this program."
        )
    return rooted(array)


def over_array(array: Any) -> Tensor:
    """A tensor over the memory of an array, which stays where it is."""
    t = made_of(array, shared(array))
    fix(t)
    return t


@creation()
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the array's own memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return over_array(ndarray)


@creation()
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """Anything array-like as a tensor; `copy` True always copies, False never."""
    kind = None if dtype is None else dtype_from(dtype, "asarray")
    if isinstance(obj, np.generic) and copy is False:
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    source = _array_like(obj, kind)
    if copy is False and isinstance(source, (Tensor, np.ndarray)):
        _require_alias(source, kind, device)
    t = _as_tensor(source, kind, device, copy)
    if not isinstance(source, Tensor):
        return t.requires_grad_() if requires_grad else t
    return _as_asked(t, source, requires_grad)


def _as_asked(t: Tensor, source: Tensor, requires_grad: bool | None) -> Tensor:
    """A tensor out of a tensor: attached as its source is, unless the caller says otherwise."""
    if requires_grad is None:
        if source.requires_grad:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad. Pass requires_grad "
                "explicitly to silence this warning.",
                UserWarning,
                stacklevel=4,
            )
        return t
    if not requires_grad:
        return t.detach() if t.requires_grad else t
    return t if t.requires_grad else t.requires_grad_()


def _array_like(obj: Any, dtype: DType | None) -> Any:
    """What shares its memory as an array or a tensor; the rest (numbers, lists) as it is."""
    if isinstance(obj, (Tensor, np.ndarray, list, tuple, int, float, complex)):
        return obj
    if isinstance(obj, np.generic):
        return np.asarray(obj)
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        from chainrule.backends.cpu.foreign import imported  # lazy: ctypes, for memory of others

        return imported(obj)
    try:
        memoryview(obj)
    except TypeError:
        return obj
    return np.frombuffer(obj, (dtype or settings.default_dtype).numpy)


def _require_alias(source: Any, dtype: DType | None, device: Any) -> None:
    have = source.dtype if isinstance(source, Tensor) else OF_NUMPY.get(source.dtype)
    if dtype is not None and have is not dtype:
        raise ValueError(f"can't alias tensor with dtype '{have.title if have else have}' into dtype '{dtype.title}'.")
    where = source.device if isinstance(source, Tensor) else CPU
    if device is not None and place(device) is not where:
        raise ValueError(f"can't alias tensor from device '{where}' to '{place(device)}'.")


@creation()
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A flat tensor over the memory of a Python buffer."""
    kind = dtype_from(dtype, "frombuffer")
    view = _memory_of(buffer)
    size, itemsize = view.nbytes, kind.itemsize
    if not 0 < size:
        raise ValueError(f"both buffer length ({0 if count < 0 else size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count == 0 or count < -1:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if count < 0 and (size - offset) % itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({itemsize})"
        )
    if count > 0 and offset + count * itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({size} bytes)"
        )
    return made(np.frombuffer(view, kind.numpy, count, offset), requires_grad)


def _memory_of(buffer: Any) -> memoryview:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
            "will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=5,
        )
    return view


@creation()
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-d tensor."""
    made_: Tensor = full.__wrapped__(
        (), s, dtype=dtype or settings.default_dtype, layout=layout, device=device, requires_grad=requires_grad,
        pin_memory=pin_memory,
    )  # fmt: skip
    return made_


# ---------------------------------------------------------------------------------------------------- constants


def _size_of(args: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
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
        shape = _size_of(args, size, name)
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
    shape = _size_of(args, size, "empty")
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
    return made(_strided_raw(size, stride, kind, place(device)), requires_grad)


def _strided_raw(size: Any, stride: Any, kind: DType, device: Device) -> Any:
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
    shape = read_size((size,), "full")
    _refuse_names(names, "full")
    value = _fill_value(fill_value, "full")
    kind = _suggested(fill_value, value) if dtype is None else dtype_from(dtype, "full")
    if out is not None:
        return write_to(out, np.full(shape, value).astype(out.dtype.numpy), "full", None if dtype is None else kind)
    check_options("full", layout, pin_memory)
    where = place(device)
    return made(meta.empty(shape, kind.numpy) if where is META else _full_array(shape, value, kind), requires_grad)


def _full_array(shape: tuple[int, ...], value: Any, kind: DType) -> Any:
    made = np.empty(shape, kind.numpy)
    made[...] = cast_number(value, kind)
    return made


def _suggested(given: Any, value: Any) -> DType:
    if value.__class__ is complex:
        return dtypes.complex128 if settings.default_dtype is dtypes.float64 else dtypes.complex64
    return given.dtype if isinstance(given, Tensor) else dtypes.scalar_dtype(value)


def _fill_value(value: Any, name: str) -> Any:
    if isinstance(value, Tensor):
        if value.ndim:
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


# ------------------------------------------------------------------------------------------------------- ranges


def _number(x: Any, name: str) -> Any:
    """An end point: a Python number, or a 0-d tensor as one."""
    if isinstance(x, Tensor):
        return x.item()
    if isinstance(x, np.generic):
        return x.item()
    if not isinstance(x, (bool, int, float, complex)):
        raise TypeError(f"{name}(): argument 'end' must be Number, not {type(x).__name__}")
    return x


def _deliver(name: str, raw: Any, kind: DType, out: Any, given: Any, device: Any, requires_grad: bool) -> Tensor:
    if out is not None:
        shaped = raw.reshape(out.shape) if out.numel() == raw.size else raw
        if shaped is raw and out.numel() != raw.size:
            _resized_for(name, out, raw.size)
        return write_to(out, shaped.astype(out.dtype.numpy), name, kind if given is not None else None)
    return made(meta.empty(raw.shape, raw.dtype) if place(device) is META else raw, requires_grad)


def _resized_for(name: str, out: Tensor, count: int) -> None:
    if name == "arange" and out.numel():
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.shape.numel()} which does "
            f"not match the computed number of elements {count}. Note that this may occur as a result of rounding "
            f"error. The out tensor will be resized to a tensor of shape ({count},).",
            UserWarning,
            stacklevel=5,
        )
    out.resize_((count,))


@creation()
def arange(
    *args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` up to, not including, `end`, in steps of `step`."""
    start, end, step = _arange_ends(args, start, end, step)
    if dtype is out is layout is device is None and end.__class__ is start.__class__ is step.__class__ is int:
        if step > 0 and end >= start and settings.default_device is CPU and not pin_memory:
            return made(np.arange(start, end, step), requires_grad)
    check_options("arange", layout, pin_memory)
    kind = _range_dtype((start, end, step), out) if dtype is None else dtype_from(dtype, "arange")
    a, b, s = (_number(x, "arange") for x in (start, end, step))
    count = _arange_count(a, b, s, kind)
    return _deliver("arange", _steps(a, s, count, kind), kind, out, dtype, device, requires_grad)


def _arange_ends(args: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        given = [start, end, step]
        for at, value in enumerate(args[:3]):
            if given[at] is not None:
                raise TypeError("arange() got multiple values for an argument")
            given[at] = value
        start, end, step = given
    if end is None:
        raise TypeError("arange() received an invalid combination of arguments: no end was given")
    return 0 if start is None else start, end, 1 if step is None else step


def _range_dtype(ends: tuple[Any, ...], out: Any) -> DType:
    if out is not None:
        return out.dtype  # type: ignore[no-any-return]
    kinds = [e.dtype if isinstance(e, Tensor) else dtypes.scalar_dtype(e) for e in ends]
    return settings.default_dtype if any(k.category >= 2 for k in kinds) else dtypes.int64


def _arange_count(a: Any, b: Any, s: Any, kind: DType) -> int:
    if kind.category < 2 and not any(isinstance(x, float) and not math.isfinite(x) for x in (a, b, s)):
        a, b, s = int(a), int(b), int(s)
    _check_steps(a, b, s)
    if isinstance(a, int) and isinstance(b, int) and isinstance(s, int):
        return int(-((a - b) // s))
    count: int = math.ceil((b - a) / s)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    return count


def _check_steps(a: Any, b: Any, s: Any) -> None:
    if s == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(a) and math.isfinite(b)):
        raise RuntimeError(f"unsupported range: {a} -> {b}")
    if (s > 0 and b < a) or (s < 0 and b > a):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _steps(a: Any, s: Any, count: int, kind: DType) -> Any:
    if kind.category < 2:
        return np.arange(count, dtype=np.int64).__mul__(int(s)).__iadd__(int(a)).astype(kind.numpy, copy=False)
    return (a + s * np.arange(count, dtype=np.float64)).astype(kind.numpy, copy=False)


@creation("f", "range")
def _range(
    start: Any, end: Any, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` to `end`, both included."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    check_options("range", layout, pin_memory)
    kind = (settings.default_dtype if out is None else out.dtype) if dtype is None else dtype_from(dtype, "range")
    a, b, s = (_number(x, "range") for x in (start, end, step))
    _check_steps(a, b, s)
    return _deliver("range", _steps(a, s, math.floor((b - a) / s) + 1, kind), kind, out, dtype, device, requires_grad)


@creation()
def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` numbers, evenly from `start` to `end`, both included."""
    check_options("linspace", layout, pin_memory)
    kind = _line_dtype("linspace", start, end, steps, out, dtype)
    raw = _line(_end_point(start, "linspace"), _end_point(end, "linspace"), steps, kind.numpy)
    return _deliver("linspace", raw, kind, out, dtype, device, requires_grad)


@creation()
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` powers of `base`, whose exponents go evenly from `start` to `end`."""
    check_options("logspace", layout, pin_memory)
    kind = _line_dtype("logspace", start, end, steps, out, dtype)
    raw = _powers(base, _end_point(start, "logspace"), _end_point(end, "logspace"), steps, kind)
    return _deliver("logspace", raw, kind, out, dtype, device, requires_grad)


def _end_point(x: Any, name: str) -> Any:
    if isinstance(x, Tensor) and x.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got end with {x.ndim} dimension(s)."
        )
    return _number(x, name)


def _line_dtype(name: str, start: Any, end: Any, steps: Any, out: Any, dtype: Any) -> DType:
    if not _is_index(steps):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    is_complex = any((x.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, complex)) for x in (start, end))
    if dtype is not None:
        kind = dtype_from(dtype, name)
        if is_complex and not kind.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {_default_complex()} can't be safely cast to passed dtype {kind}"
            )
        return kind
    if out is not None:
        return out.dtype  # type: ignore[no-any-return]
    return _default_complex() if is_complex else settings.default_dtype


def _default_complex() -> DType:
    return dtypes.default_complex_dtype()


def _line(a: Any, b: Any, steps: int, target: np.dtype[Any]) -> Any:
    """Both halves are counted from their own end, so that the result is symmetric."""
    if steps == 0:
        return np.empty(0, target)
    if steps == 1:
        return np.full(1, a).astype(target)
    if target.kind in "iu":
        a, b = int(a), int(b)
        work: Any = F32
        step = np.float32(np.float32(b - a) / (steps - 1))
    else:
        work = F32 if target.itemsize == 2 else target
        a, b = np.array(a).astype(target).astype(work)[()], np.array(b).astype(target).astype(work)[()]
        step = ((b - a) / work.type(steps - 1)).astype(target).astype(work)
    return _two_halves(a, b, step, steps, work, target)


def _two_halves(a: Any, b: Any, step: Any, steps: int, work: Any, target: np.dtype[Any]) -> Any:
    half = steps // 2
    up, down = np.arange(half).astype(work), np.arange(steps - half)[::-1].astype(work)
    made = np.empty(steps, target)
    made[:half] = (a + step * up).astype(target)
    made[half:] = (b - step * down).astype(target)
    return made


def _powers(base: float, a: Any, b: Any, steps: int, kind: DType) -> Any:
    target = kind.numpy
    if steps == 1:
        return np.full(1, base**a).astype(target)
    work = target if target.kind == "c" else F32 if target.kind in "iu" or target.itemsize == 2 else target
    return np.power(work.type(base), _line(a, b, steps, work)).astype(target)


# -------------------------------------------------------------------------------------- in the likeness of others


_pattern = Creation().decorate


def sparse_array(name: str, shape: tuple[int, ...], fill: Any, dtype: np.dtype[Any]) -> Any:
    """A new sparse array: zeros, of which none is written down."""
    if fill is not None and fill != 0:
        raise Unsupported(name)
    return nothing(shape, len(shape), np.empty(0, dtype.type))


def like_array(x: Any, fill: Any, dtype: DType | None, device: Any, format: Any) -> Any:
    """A new array of the shape (and, unless `format` says otherwise, the axis order) of `x`."""
    kind = x.dtype if dtype is None else dtype.numpy
    if x.__class__ is not np.ndarray and is_sparse(x):
        return sparse_array("fill_", x.shape, fill, kind)
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
    if input.__class__ in PLAIN and not (LISTENING and here().stack):
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
    value = cast_number(_fill_value(fill_value, "full_like"), kind)[()]
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
    if self.__class__ in PLAIN and not (LISTENING and here().stack):
        return made(new_array(self.raw, size, fill, kind, where), requires_grad)
    t: Tensor = _new_filled.public(self, size=size, fill=fill, dtype=kind, device=where)
    t.cut = None
    return t.requires_grad_() if requires_grad else t


def _renewing(name: str, fill: Any, doc: str) -> Any:
    def fn(
        self: Tensor, *args: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        return _renewed(name, self, _size_of(args, size, name), fill, dtype, layout, device, pin_memory, requires_grad)

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
    value = cast_number(_fill_value(fill_value, "new_full"), kind)[()]
    return _renewed(
        "new_full", self, read_size((size,), "new_full"), value, kind, layout, device, pin_memory, requires_grad
    )


@creation("m")
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Uninitialised memory with the given strides, in this tensor's dtype and on its device."""
    check_options("new_empty_strided", layout, pin_memory)
    kind = self.dtype if dtype is None else dtype_from(dtype, "new_empty_strided")
    where = self.device if device is None else place(device)
    return made(_strided_raw(size, stride, kind, where), requires_grad)


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
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor).",
            UserWarning,
            stacklevel=3,
        )
        copy = data.detach().clone().to(dtype=kind, device=where)
        copy.cut = cut_of(data, "copy")
        return copy.requires_grad_() if requires_grad else copy
    if data.__class__ not in _COMMON and is_storage(data):
        return over_storage(data, kind, requires_grad)
    raw = array_of(data, kind)
    return made_of(data, raw if where is CPU else meta.empty(raw.shape, raw.dtype), requires_grad)


# ------------------------------------------------------------------------------------------------ dtypes of operands


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an arithmetic result over two tensors or numbers."""
    return common_dtype((tensor1, tensor2))


spell("result_type", result_type, "f")
