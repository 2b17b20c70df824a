"""`x[key]` and `x[key] = value`, in every form NumPy and PyTorch know.

A key is read from left to right. Ints, slices, None and `...` are views, made at once, one op each; what remains are
index tensors, each for one axis of that view. The index tensors are broadcast and stacked into a single one, and read
by one op, `index`, or written by one, `index_put`. Where their axes lie next to each other the result has the index
axes in their place, else in front.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd.cuts import passes_on
from chainrule.autograd.door import door
from chainrule.autograd.eager import refuse_unfollowed
from chainrule.autograd.versions import touch
from chainrule.backends.cpu import memory
from chainrule.core.ambient import LISTENING, here
from chainrule.core.dtype import FLOAT, OF_NUMPY
from chainrule.core.family import call, front, indexing, shape_of, spread, sum_to
from chainrule.core.function_protocol import override
from chainrule.core.literal import array_of, cast_number
from chainrule.core.notices import warn, warn_once
from chainrule.core.op import Array
from chainrule.core.public import composite, quiet_method
from chainrule.core.samples import Drawn, either, integers, real, samples
from chainrule.core.shape import (
    broadcast_shapes,
    compute_view_strides,
    contiguous_strides,
    expand_shape,
    met_strides,
    normalize_dim,
    select_index,
    slice_indices,
)
from chainrule.core.tensor import PLAIN, Tensor, fresh
from chainrule.ops.fill import check_apart, copy_, fill_, inplace_form, quiet
from chainrule.ops.parts import select, slice_view
from chainrule.ops.views import alias_view, unsqueeze

__all__ = ["index", "index_put", "index_sum", "read_indices"]

Dims = tuple[int, ...]
I64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)
_LONG = 1 << 63
_FLOAT = 3.4028234663852886e38  # the largest of 32 bits


# ------------------------------------------------------------------------------------------------------ the ops


def _at(indices: Any, dims: Dims) -> Any:
    """A NumPy key: the index arrays on their axes, whole slices before and between."""
    if len(dims) == 1:
        return (slice(None),) * dims[0] + (indices,)
    key: list[Any] = [slice(None)] * (dims[-1] + 1)
    for d, part in zip(dims, indices):
        key[d] = part
    return tuple(key)


def _in_words(error: IndexError, dims: Dims) -> IndexError:
    """NumPy's words as PyTorch's, which count only the axes that are indexed."""
    text = str(error)
    if "empty axes" in text or "with size 0" in text:
        return IndexError("index is out of bounds for dimension with size 0")
    for place, axis in enumerate(dims):
        text = text.replace(f"axis {axis} ", f"dimension {place} ")
    return IndexError(text)


def _index_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, indices = values
    dims: Dims = params["dims"]
    if not batched[1]:
        if _adjacent(dims):
            return index.public(x, indices, dims=tuple(d + 1 for d in dims))
        many = len(shape_of(indices)) - 1
        return call("movedim", index.public(x, indices, dims=tuple(d + 1 for d in dims)), source=many, destination=0)
    if batched[0]:
        found = index.public(_leading(x, dims), _with_rows(indices, size, len(dims)), dims=tuple(range(len(dims) + 1)))
        return _at_home(found, dims, len(shape_of(indices)) - 1 - (len(dims) > 1))
    turned = indices if len(dims) == 1 else call("movedim", indices, source=1, destination=0)
    found = index.public(x, turned, dims=dims)
    return found if not _adjacent(dims) or dims[0] == 0 else call("movedim", found, source=dims[0], destination=0)


def _leading(x: Any, dims: Dims) -> Any:
    """A batch with the axes that are indexed before those that are not."""
    return _moved(x, tuple(d + 1 for d in dims), tuple(range(1, len(dims) + 1)))


def _back(x: Any, dims: Dims) -> Any:
    """The inverse of `_leading`."""
    return _moved(x, tuple(range(1, len(dims) + 1)), tuple(d + 1 for d in dims))


def _at_home(found: Any, dims: Dims, many: int) -> Any:
    """A batch whose `many` index axes lead, as one of what indexing these axes gives."""
    at = dims[0] + 1 if _adjacent(dims) else 1
    return _moved(found, tuple(range(1, many + 1)), tuple(range(at, at + many)))


def _index_first(found: Any, dims: Dims, many: int) -> Any:
    """The inverse of `_at_home`."""
    at = dims[0] + 1 if _adjacent(dims) else 1
    return _moved(found, tuple(range(at, at + many)), tuple(range(1, many + 1)))


def _moved(x: Any, source: Dims, destination: Dims) -> Any:
    return x if source == destination else call("movedim", x, source=source, destination=destination)


def _with_rows(indices: Any, size: int, many: int) -> Any:
    """Stack the number of the example before a batch of indices."""
    rank = len(shape_of(indices))
    rows = call("arange", size)
    if many == 1:
        rows = call("view", rows, shape=(size, *(1,) * (rank - 1)))
        return call("stack", [call("expand", rows, size=shape_of(indices)), indices], dim=0)
    parts = call("movedim", indices, source=1, destination=0)
    shape = shape_of(parts)[1:]
    rows = call("expand", call("view", rows, shape=(1, size, *(1,) * (rank - 2))), size=(1, *shape))
    return call("cat", [rows, parts], dim=0)


def _adjacent(dims: Dims) -> bool:
    return dims == tuple(range(dims[0], dims[0] + len(dims)))


_one_axis = Drawn(integers(3), 2, 3)
_two_axes = Drawn(integers(2), 2, 4)  # a stack: positions along two axes


@indexing(
    spelled="", linear=True, vmap=_index_batched,
    samples=either(
        samples(real, [((3, 4), _one_axis), ((3,), _one_axis)], dims=[(0,)]),
        samples(real, [((2, 3, 4), _one_axis)], dims=[(1,)]),
        samples(real, [((2, 3, 4), _two_axes), ((2, 2), _two_axes)], dims=[(0, 1)]),
        samples(real, [((2, 3, 2), _two_axes)], dims=[(0, 2)]),
    ),
)  # fmt: skip
def index(xp: Any, input: Array, indices: Array, *, dims: tuple[int, ...]) -> Array:
    """The elements at positions along some axes: `indices` is one index array, or a stack of one per axis."""
    try:
        found = input.take(indices, dims[0]) if len(dims) == 1 else input[_at(indices, dims)]
    except IndexError as error:
        key = _at(indices, dims)
        _refuse_nothing(input, key)
        if 0 in _shape_at(input, key):  # where nothing is read nobody looks
            return np.empty(_shape_at(input, key), input.dtype)
        raise _in_words(error, dims) from None
    if found.ndim < 2 or (input.flags.c_contiguous and found.flags.c_contiguous and indices.flags.c_contiguous):
        return found
    return _laid(found, input, indices if len(dims) == 1 else indices[0], dims)


def _laid(found: Any, input: Any, given: Any, dims: Dims) -> Any:
    """The elements in the order of axes that PyTorch gives them: the input's, its indexed axes telling nothing, and
    after it that of the index array, which has an axis of size 1 for each that is left."""
    left = [step for d, step in enumerate(memory.element_strides(input)) if d not in dims]
    at = dims[0] if _adjacent(dims) else 0
    read = (*left[:at], *(0,) * given.ndim, *left[at:])
    sizes = (*(1,) * at, *given.shape, *(1,) * (len(left) - at))
    named = compute_view_strides(given.shape, memory.element_strides(given), sizes) or contiguous_strides(sizes)
    told = tuple([step if n == size else 0 for n, size, step in zip(found.shape, sizes, named)])
    steps = met_strides(found.shape, read, told)
    return found if memory.element_strides(found) == steps else memory.relaid(found, steps)


def _sum_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    g, indices = values
    dims, shape = params["dims"], params["shape"]
    if not batched[1] and _adjacent(dims):
        return index_sum.public(g, indices, dims=tuple(d + 1 for d in dims), shape=(size, *shape))
    many = len(shape_of(indices)) - batched[1] - (len(dims) > 1)
    rows = _with_rows(spread(indices, batched[1], size), size, len(dims))
    first = (*[shape[d] for d in dims], *[n for d, n in enumerate(shape) if d not in dims])
    g = _index_first(spread(g, batched[0], size), dims, many)
    return _back(index_sum.public(g, rows, dims=tuple(range(len(dims) + 1)), shape=(size, *first)), dims)


@indexing(
    spelled="", linear=True, node="IndexPut",
    vmap=_sum_batched,
    samples=either(
        samples(real, [((2, 3, 4), _one_axis)], dims=[(0,)], shape=[(3, 4)]),
        samples(real, [((3, 2, 3), _one_axis)], dims=[(1,)], shape=[(3, 4)]),
        samples(real, [((4, 3), _two_axes)], dims=[(0, 2)], shape=[(2, 3, 2)]),
    ),
)  # fmt: skip
def index_sum(xp: Any, input: Array, indices: Array, *, dims: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """The transpose of `index`: zeros of a shape, with every element added at its position."""
    if input.size == 0:
        return xp.zeros(shape, input.dtype)
    return xp.scatter.index_put(xp.zeros(shape, input.dtype), _at(indices, dims), input, True)


index.vjp(input=lambda g, indices, dims, input_shape: index_sum(g, indices, dims=dims, shape=input_shape))
index_sum.vjp(input=lambda g, indices, dims: index(g, indices, dims=dims))


def _put_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    dims, accumulate = params["dims"], params["accumulate"]
    x, indices, source = values
    many = len(shape_of(indices)) - batched[1] - (len(dims) > 1)
    rank = len(shape_of(x)) - batched[0] - len(dims) + many
    x = spread(x, batched[0], size)
    if not batched[1] and _adjacent(dims):
        source = front(source, rank) if batched[2] else source
        return index_put.public(x, indices, source, dims=tuple(d + 1 for d in dims), accumulate=accumulate)
    rows = _with_rows(spread(indices, batched[1], size), size, len(dims))
    source = _index_first(front(spread(source, batched[2], size), rank), dims, many)
    at = tuple(range(len(dims) + 1))
    return _back(index_put.public(_leading(x, dims), rows, source, dims=at, accumulate=accumulate), dims)


def _write_at(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    target, indices, values = (t.raw for t in inputs)
    check_apart(target, inputs[1:])
    key = _at(indices, params["dims"])
    _check_values(target, key, values)
    if params["accumulate"]:
        if values.size and indices.size:
            target[...] = xp.scatter.index_put(target, key, values, True)
        return
    if not target.flags.c_contiguous and memory.has_overlap(target):
        warn_once(
            "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            "operation. This also applies to advanced indexing e.g. tensor[indices] = tensor"
        )
    try:
        target[key] = values
    except IndexError as error:
        if 0 not in _shape_at(target, key):  # where nothing is written nobody looks
            raise _in_words(error, params["dims"]) from None


def _shape_at(target: Any, key: Any) -> tuple[int, ...]:
    """The shape of what a key of slices and index arrays names."""
    want = broadcast_shapes(*(k.shape for k in key if not isinstance(k, slice)))
    dims = [i for i, k in enumerate(key) if not isinstance(k, slice)]
    rest = [n for i, n in enumerate(target.shape) if i not in dims]
    at = dims[0] if _adjacent(tuple(dims)) else 0
    return (*rest[:at], *want, *rest[at:])


def _refuse_nothing(target: Any, key: Any) -> None:
    """Refuse to look for elements along an axis that has none, before anything else is refused."""
    if any([not n and not isinstance(k, slice) and k.size for n, k in zip(target.shape, key)]):
        raise IndexError("index is out of bounds for dimension with size 0")


def _check_values(target: Any, key: Any, values: Any) -> None:
    _refuse_nothing(target, key)
    shape = _shape_at(target, key)
    lead = len(shape) - values.ndim
    if lead < 0 or any(n != 1 and n != m for n, m in zip(values.shape, shape[lead:])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}"
        )
    if values.dtype != target.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {OF_NUMPY[target.dtype].title} for the "
            f"destination and {OF_NUMPY[values.dtype].title} for the source."
        )


_places = np.array([2, 0])
_pairs = np.array([[0, 1, 1], [1, 0, 1]])


@indexing(
    spelled="", vmap=_put_batched, write=_write_at, name="index_put_at", node="IndexPut",
    vmap_title="index_put_",
    samples=either(
        samples(real, [((3, 4), _places, (2, 4)), ((3, 4), _places, (4,))], dims=[(0,)], accumulate=[False, True]),
        samples(real, [((2, 3, 2), _pairs, (3, 3)), ((2, 3, 2), _pairs, ())], dims=[(0, 2)], accumulate=[False, True]),
    ),
)  # fmt: skip
def index_put(
    xp: Any, input: Array, indices: Array, values: Array, *, dims: tuple[int, ...], accumulate: bool
) -> Array:
    """The input with values written (or added, counting repeats) at positions along some axes."""
    key = _at(indices, dims)
    _check_values(input, key, values)
    try:
        found = xp.scatter.index_put(input, key, values, accumulate and values.size > 0 and indices.size > 0)
    except IndexError as error:
        if 0 in _shape_at(input, key):  # where nothing is written nobody looks
            return input.copy()
        raise _in_words(error, dims) from None
    return memory.ordered_as(found, input)


def _zero_like(g: Any) -> Any:
    """A 0-d zero of the same kind."""
    return g.new_zeros(()) if isinstance(g, Tensor) else np.zeros((), g.dtype)


index_put.vjp(
    input=lambda g, indices, dims, accumulate: (
        g if accumulate else index_put(g, indices, _zero_like(g), dims=dims, accumulate=False)
    ),
    values=lambda g, indices, dims, values_shape: sum_to(index(g, indices, dims=dims), values_shape),
)


def _put_in_place(input: Tensor, indices: Tensor, values: Tensor, *, dims: Dims, accumulate: bool) -> Tensor:
    return door(_PUT, (input, indices, values), {"dims": dims, "accumulate": accumulate})  # type: ignore[no-any-return]


_PUT = inplace_form(index_put, _put_in_place)


# ---------------------------------------------------------------------------------------------- reading a key


def _refuse_key(part: Any) -> NoReturn:
    kind = type(part)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise IndexError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {name})"
    )


def _as_parts(key: Any) -> tuple[Any, ...]:
    """The parts of a key; a short list that holds more than numbers counts as a tuple, as in old NumPy."""
    if key.__class__ is tuple:
        return key
    if isinstance(key, (Tensor, np.ndarray, slice, int)) or key is None or key is Ellipsis:
        return (key,)
    if isinstance(key, tuple):
        return tuple(key)
    if not _is_sequence(key) or len(key) >= 32 or isinstance(key, range):
        return (key,)
    if any(isinstance(p, (Tensor, slice)) or p is None or p is Ellipsis or _is_sequence(p) for p in key):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
            UserWarning,
        )
        return tuple(key)
    return (key,)


def _is_sequence(x: Any) -> bool:
    kind = x.__class__
    if kind is list or kind is tuple:
        return True
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not isinstance(x, (dict, set, np.generic))


def _dims_of(part: Any) -> int:
    """How many axes a part of a key uses up."""
    if part is None or part is Ellipsis or part is True or part is False:
        return 0
    if isinstance(part, (Tensor, np.ndarray)) and str(part.dtype).rpartition(".")[2] in ("bool", "uint8"):
        return len(part.shape)
    return 1


_POSITIONS = frozenset(("int64", "int32"))


def _ends_early(part: slice) -> bool:
    """Would a slice cut something off if there were anything? Then it is one, also of no elements."""
    return part.stop is not None and operator.index(part.stop) < 0


class _Reader:
    """Walks over the parts of a key: `x` is the view made so far, `axis` the next axis, `found` the index
    tensors; `at` is the part being read, which PyTorch's messages call the dimension."""

    __slots__ = ("at", "axis", "found", "masks", "odd", "rank", "used", "x")

    def __init__(self, x: Tensor, used: int) -> None:
        self.x, self.rank, self.used = x, len(x.shape), used
        self.at = 0
        self.axis = 0
        self.found: dict[int, Tensor] = {}
        self.masks: list[tuple[int, Tensor]] = []
        self.odd = False  # a tensor that is neither mask nor positions was met

    def read(self, part: Any) -> None:
        """One part."""
        kind = part.__class__
        if kind is int:
            self.pick(part)
        elif kind is slice:
            self.cut(part)
        elif part is Ellipsis:
            self.axis += self.rank - self.used
        elif part is None:
            self.x = unsqueeze.public(self.x, self.axis)
            self.axis += 1
        elif kind is bool:
            self.switch(part)
        else:
            self.tensor(part)

    def pick(self, at: int) -> None:
        size = self.x.shape[self.axis] if self.axis < len(self.x.shape) else 0  # beyond the end after a second `...`
        self.x = select.public(self.x, self.axis, select_index(at, size, self.at))

    def cut(self, part: slice) -> None:
        if self.axis >= len(self.x.shape) and part == slice(None):
            self.axis += 1
            return
        size = self.x.shape[normalize_dim(self.axis, len(self.x.shape), wrap_scalar=False)]
        start, stop, step = slice_indices(part, size)
        odd = (part.start is not None and operator.index(part.start)) or (not size and _ends_early(part))
        if start or stop != size or step != 1 or odd:
            self.x = slice_view.public(self.x, self.axis, start, stop, step)
        self.axis += 1

    def switch(self, on: bool) -> None:
        """A bool: a new axis of size 1, or 0."""
        self.x = unsqueeze.public(self.x, self.axis)
        self.keep(fresh(np.zeros(int(on), I64)))

    def keep(self, indices: Tensor) -> None:
        self.found[self.axis] = indices
        self.axis += 1

    def tensor(self, part: Any) -> None:
        """A tensor, or what can be made one."""
        t = part if isinstance(part, Tensor) else _indices_from(part)
        if t.__class__ is int:
            self.pick(t)
        elif t.dtype.name == "bool" or t.dtype.name == "uint8":
            self.mask(t)
        elif t.ndim == 0 and t.dtype.category == 1 and (t.__class__ in PLAIN or t.dtype.name not in _POSITIONS):
            self.pick(int(t.raw) if t.__class__ in PLAIN else int(t.item()))
        else:
            self.odd = self.odd or t.dtype.name not in _POSITIONS
            self.keep(t)

    def mask(self, t: Tensor) -> None:
        """A mask over several axes; it becomes positions when the key is read to its end."""
        if t.ndim == 0:
            self.switch(bool(t.item()))
            return
        self.masks.append((self.axis, t))
        self.axis += t.ndim

    def done(self, one: bool = False) -> None:
        """The whole key is read: refuse tensors that are no positions, turn masks into some. `one`: one element is to
        be written."""
        self.count()
        if self.odd:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        lone = one and not self.found and len(self.masks) == 1
        for first, t in self.masks:
            if t.dtype.name == "uint8" and not lone:
                warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
            shape = tuple(t.shape)
            for at, n in enumerate(shape, first):
                if at >= len(self.x.shape) or n != self.x.shape[at]:
                    raise IndexError(
                        f"The shape of the mask {list(shape)} at index {at - first} does not match the shape of the "
                        f"indexed tensor {list(self.x.shape)} at index {at}"
                    )
            if t.dtype.name == "uint8" and lone:  # PyTorch writes with `masked_fill_` then
                raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
            self.found |= dict(enumerate(_positions(t), first))

    def count(self) -> None:
        """Refuse more indices than axes; a mask counts one."""
        last, wide = -1, [(first, t.ndim - 1) for first, t in self.masks]
        for axis in (*self.found, *(first for first, _ in wide)):
            last = max(last, axis - sum([more for first, more in wide if first < axis]))
        rank = len(self.x.shape)
        if last >= rank:
            raise IndexError(f"too many indices for tensor of dimension {rank} (got {last + 1})")

    def is_one_mask(self) -> bool:
        """Is there nothing but one mask?"""
        return len(self.masks) == 1 and len(self.found) in (0, self.masks[0][1].ndim)


def _positions(mask: Tensor) -> list[Tensor]:
    """Where a mask holds, one index tensor per axis."""
    if mask.__class__ in PLAIN:
        return [fresh(part) for part in mask.raw.nonzero()]
    return list(mask.nonzero(as_tuple=True))


def _indices_from(part: Any) -> Any:
    """A list, an array, or an int of another class as an index."""
    if isinstance(part, np.ndarray):
        array = part if part.dtype.kind in "iub" else part.astype(I64)
        return fresh(np.asarray(array))
    if isinstance(part, (bytes, str)):
        raise TypeError(f"new(): invalid data type '{type(part).__name__}'")
    if _is_sequence(part):
        array = array_of(part, None)
        return fresh(array if array.dtype.kind in "iub" else array.astype(I64))
    if hasattr(type(part), "__index__") and not isinstance(part, np.bool_):
        return operator.index(part)
    return _refuse_key(part)


_SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
_OUTSIDE = "index {} is out of bounds for dimension 0 with size 0"


def _read(x: Tensor, key: Any) -> _Reader:
    """Apply a key: the view that its basic parts make, and the index tensors that remain."""
    reader = _walked(x, key)
    reader.done()
    return reader


def _walked(x: Tensor, key: Any) -> _Reader:
    """The same, its tensors not yet looked at closely."""
    parts = _as_parts(key)
    used = sum([_dims_of(p) for p in parts])
    rank = len(x.shape)
    if used > rank:
        if rank == 0 and hasattr(type(key), "__index__") and not isinstance(key, (Tensor, np.ndarray)):
            raise IndexError(_SCALAR if not operator.index(key) else _OUTSIDE.format(operator.index(key)))
        if rank == 0 and key.__class__ is slice:
            slice_indices(key, 0)
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    reader = _Reader(x, used)
    for at, part in enumerate(parts):
        reader.at = at
        reader.read(part)
    return reader


def read_indices(found: dict[int, Tensor]) -> tuple[Tensor, Dims]:
    """Index tensors by axis, as one tensor and the axes."""
    dims = tuple(sorted(found))
    if len(dims) == 1:
        return found[dims[0]], dims
    parts = [found[d] for d in dims]
    if all(t.__class__ in PLAIN for t in parts):
        return fresh(_stacked([t.raw for t in parts])), dims
    whole = call("broadcast_tensors", *parts)
    return call("stack", [call("to_dtype", t, dtype=OF_NUMPY[I64]) for t in whole], dim=0), dims


def _stacked(arrays: list[Any]) -> Any:
    """One array of all, with the axes in the order in which the first that can tell has them."""
    try:
        parts = np.broadcast_arrays(*arrays)
        if all([a.flags.c_contiguous for a in arrays]):
            return np.stack(parts)
        shape = parts[0].shape
        steps = met_strides(shape, *map(memory.element_strides, parts))
        return memory.relaid(np.stack(parts), (parts[0].size, *steps))
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(a.shape)) for a in arrays)
        ) from None


# ------------------------------------------------------------------------------------------- x[key], x[key] = v


def _asked(name: str, values: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[bool, Any]:
    return override(getattr(Tensor, name), values, args, {}, here())


@quiet_method
def __getitem__(self: Tensor, key: Any) -> Any:
    """The part of the tensor that a key names: a view where it can be one."""
    if LISTENING or self.__class__ not in PLAIN:
        done, result = _asked("__getitem__", (self, key), (self, key))
        if done:
            return result
        shape: Any = self.shape
    else:
        shape = self.raw.shape
    kind = key.__class__
    if kind is int and shape:
        n = shape[0]
        return pick(self, 0, key if -n <= key < n else select_index(key, n, 0))
    if kind is slice and shape:
        start, stop, step = key.indices(shape[0]) if key.step is None else slice_indices(key, shape[0])
        return cut(self, 0, start, stop if stop > start else start, step)
    if kind is tuple and len(key) <= len(shape) and _BASIC.issuperset(map(type, key)):
        return _cut_out(self, key)
    if kind is Tensor and shape and key.raw.__class__ is np.ndarray and key.raw.dtype is I64 and key.raw.ndim:
        return take_at(self, key, dims=_FIRST)
    return _general(self, key)


pick, cut, take_at = select.public, slice_view.public, index.public
_BASIC, _FIRST = frozenset((int, slice)), (0,)


def _cut_out(x: Tensor, key: tuple[Any, ...]) -> Tensor:
    """A key of ints and slices, an op for each that does anything."""
    whole, axis = x, 0
    for at, part in enumerate(key):
        n = x.shape[axis]
        if part.__class__ is int:
            x = pick(x, axis, part if -n <= part < n else select_index(part, n, at))
            continue
        start, stop, step = slice_indices(part, n)
        if start or stop != n or step != 1 or part.start or (not n and _ends_early(part)):
            x = cut(x, axis, start, stop, step)
        axis += 1
    return alias_view.public(x) if x is whole else x


def _general(x: Tensor, key: Any) -> Any:
    reader = _read(x, key)
    if reader.found:
        indices, dims = read_indices(reader.found)
        return take_at(reader.x, indices, dims=dims)
    return alias_view.public(x) if reader.x is x else reader.x


@quiet_method
def __setitem__(self: Tensor, key: Any, value: Any) -> None:
    """Overwrite the part of the tensor that a key names."""
    if LISTENING or self.__class__ not in PLAIN or (isinstance(value, Tensor) and value.__class__ not in PLAIN):
        done, _ = _asked("__setitem__", (self, key, value), (self, key, value))
        if done:
            return
    elif _written(self, key, value):
        return
    source = value if isinstance(value, Tensor) else _as_tensor(value, self)
    if key is False:  # PyTorch writes nothing then, and counts no change
        return
    key = None if key is True else key
    one = source.numel() == 1
    reader = _walked(self, key)
    if (reader.found or reader.masks) and reader.x.__class__ in PLAIN:
        refuse_unfollowed(reader.x, source)
    reader.done(one)
    if reader.found:
        if one and reader.is_one_mask():  # it goes through as a number
            if source.dtype.is_complex and not reader.x.dtype.is_complex:
                cast_number(source.item(), reader.x.dtype)  # refuses what has an imaginary part
            if source.dtype is not reader.x.dtype:
                source = call("to_dtype", source, dtype=reader.x.dtype)
            elif memory.overlap(reader.x.raw, source.raw):
                source = source.clone()
        indices, dims = read_indices(reader.found)
        _put_in_place(
            reader.x, indices, _without_lead(source, _put_rank(reader.x, indices, dims)), dims=dims, accumulate=False
        )
    elif isinstance(value, Tensor):
        _copy_to(reader.x, value)
    elif reader.x.ndim:
        memory.refuse_overlap(reader.x.raw)
        fill_(reader.x, source.item())
    else:
        copy_(reader.x, source)


def _written(x: Tensor, key: Any, value: Any) -> bool:
    """The common case in one NumPy assignment: nothing is recorded, the key is basic, the value is of the same kind.
    Whatever NumPy refuses goes the long way, to be refused in PyTorch's words."""
    raw = x.raw
    if not quiet(x) or not raw.flags.c_contiguous or raw.__class__ is not np.ndarray:
        return False
    op = "copy_"
    if key.__class__ is Tensor:
        key, op = key.raw, "index_put_"
        if key.__class__ is not np.ndarray or (key.dtype is not I64 and key.dtype is not BOOL) or not key.ndim:
            return False
    elif not _is_basic(key):
        return False
    if value.__class__ in PLAIN:
        if value.edge is not None or value.extra is not None or value.raw.dtype is not raw.dtype:
            return False
        source = value.raw
        if (source.base is not None or source is raw) and memory.overlap(raw, source):
            return False
        if value.cut is not None:
            passes_on(value.cut, x)
        value = source
    elif value.__class__ is int:
        if not -_LONG <= value < _LONG:
            return False
    elif value.__class__ is not float or not -_FLOAT <= value <= _FLOAT:
        return False
    try:
        raw[key] = value
    except (ValueError, TypeError, IndexError, OverflowError):
        return False
    touch(x, op)
    return True


def _is_basic(key: Any) -> bool:
    """Ints and slices without a step."""
    parts = key if key.__class__ is tuple else (key,)
    return _BASIC.issuperset(map(type, parts)) and all([p.__class__ is int or p.step is None for p in parts])


def _copy_to(target: Tensor, value: Tensor) -> None:
    value = _without_lead(value, len(target.shape))
    shape = tuple(value.shape)
    expand_shape(shape, shape, tuple(target.shape), lambda: value.dtype.tensor_type)
    if shape != tuple(target.shape) and shape and memory.overlap(target.raw, value.raw):
        value = call("expand", value, size=tuple(target.shape))  # read at every place before one is written
    if shape or not target.ndim:
        copy_(target, value)
    else:
        fill_(target, value)


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _legacy_type(t: Tensor) -> str:
    return f"torch.{t.dtype.title}Tensor"


def _as_tensor(value: Any, like: Tensor) -> Tensor:
    """A number in the dtype of a tensor; of NumPy's numbers those that are Python's, too, and whole ones."""
    if not isinstance(value, (int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {_type_name(value)} to a {_legacy_type(like)}")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        raise ValueError("Overflow when unpacking long long")
    return fresh(cast_number(value.item() if isinstance(value, np.generic) else value, like.dtype, strict=False))


def _put_rank(x: Tensor, indices: Tensor, dims: Dims) -> int:
    return len(x.shape) - len(dims) + len(indices.shape) - (len(dims) > 1)


@quiet_method
def __delitem__(self: Tensor, key: Any) -> NoReturn:
    raise TypeError("Tensor does not support deleting items")


def _without_lead(value: Tensor, rank: int) -> Tensor:
    """A value whose leading axes of size 1 are dropped, if it has more axes than `rank`."""
    shape = tuple(value.shape)
    extra = 0
    while len(shape) > rank and extra < len(shape) and shape[extra] == 1:
        extra += 1
    return call("reshape", value, shape=shape[extra:]) if extra else value


# --------------------------------------------------------------------------------------------------- index_put


def _put_walked(input: Tensor, indices: Any) -> _Reader:
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put_(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}"
        )
    for at, part in enumerate(indices):
        if part is not None and not isinstance(part, Tensor):
            raise TypeError(f"expected Tensor as element {at} in argument 0, but got {type(part).__name__}")
    return _Reader(input, 0)


def _put_parts(reader: _Reader, indices: Any, one: bool) -> tuple[Tensor, Tensor, Dims]:
    if len(indices) > reader.rank:
        raise IndexError(f"too many indices for tensor of dimension {reader.rank} (got {len(indices)})")
    for part in indices:
        if part is None:
            reader.axis += 1
        elif part.ndim == 0 and part.dtype.name != "bool":
            reader.keep(part)
        else:
            reader.tensor(part)
    if reader.axis > len(reader.x.shape):
        normalize_dim(reader.axis - 1, reader.rank)
    reader.done(one)
    if not reader.found:
        raise RuntimeError("index_put(): at least one of the indices must be a tensor")
    found, dims = read_indices(reader.found)
    return reader.x, found, dims


def _filling(input: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """What is written: a single value is filled in behind a mask, and then may be of another dtype."""
    masks = [part for part in indices if part is not None]
    fills = len(masks) == 1 and masks[0].dtype.name in ("bool", "uint8") and not accumulate
    if not fills or values.numel() != 1:
        return values
    if values.ndim > 1:
        values = call("reshape", values, shape=())
    return values if values.dtype is input.dtype else call("to_dtype", values, dtype=input.dtype)


def _index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write (or, with `accumulate`, add) values at the positions that index tensors name, in place."""
    reader = _put_walked(input, indices)
    if input.__class__ in PLAIN:
        refuse_unfollowed(input, values)
    x, found, dims = _put_parts(reader, indices, not accumulate and values.numel() == 1)
    values = _filling(input, indices, values, accumulate)
    _put_in_place(x, found, values, dims=dims, accumulate=accumulate)
    return input


@composite("fm", "index_put")
def _index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with values written (or added) at the positions that index tensors name."""
    one = not accumulate and values.numel() == 1
    x, found, dims = _put_parts(_put_walked(input, indices), indices, one)
    filled = _filling(input, indices, values, accumulate)
    if filled.dtype is not values.dtype and values.requires_grad and input.dtype.category < FLOAT and here().grad:
        raise RuntimeError(f"Autograd not support dtype: {input.dtype.title}")
    values = filled
    return index_put.public(x, found, values, dims=dims, accumulate=accumulate)  # type: ignore[no-any-return]


composite("fm", "index_put_")(_index_put_)
