"""Shapes and strides as pure functions on tuples; the refusals are PyTorch's.

A shape is a tuple of sizes, `strides` a tuple of steps in ELEMENTS (not bytes), both in dimension order.
Functions that take a user's dim say so and wrap negatives; all others expect dims in `range(ndim)`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, NoReturn, SupportsIndex, overload

from chainrule.core import layout

__all__ = [
    "Shape", "Size", "broadcast_shapes", "channels_last_strides", "common_shape", "compute_view_strides",
    "contiguous_strides", "dense_strides", "expand_shape", "infer_size", "is_contiguous", "is_expandable_to",
    "is_non_overlapping_and_dense", "make_size", "memory_order", "met_strides", "narrow_start", "normalize_dim",
    "normalize_dims", "normalize_permutation", "numel", "reduced_shape", "select_index", "slice_indices",
    "slice_length", "squeezed_shape", "storage_extent", "strides_for", "suggested_format",
    "sum_to_size_axes",
]  # fmt: skip

Shape = tuple[int, ...]


class Size(tuple[int, ...]):
    """A shape as programs see it: a tuple that counts its elements and stays a Size when sliced or joined.

    Inside the package shapes are plain tuples: indexing this class costs three times as much.
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        return make_size(_as_int(each, position) for position, each in enumerate(sizes))

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __reduce__(self) -> tuple[Any, tuple[Shape]]:
        return Size, (tuple(self),)

    @overload
    def __getitem__(self, at: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Size: ...
    def __getitem__(self, at: Any) -> Any:
        found = tuple.__getitem__(self, at)
        return found if at.__class__ is not slice else make_size(found)

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            if hasattr(type(other), "__radd__") and not isinstance(other, (int, float, complex)):
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return make_size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def make_size(sizes: Iterable[int]) -> Size:
    """A Size of ints that need no check."""
    return tuple.__new__(Size, sizes)


def _as_int(each: SupportsIndex, position: int) -> int:
    try:
        return operator.index(each)
    except TypeError:
        kind = type(each).__name__
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{kind}')") from None


numel = prod


def _listed(shape: Iterable[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


# --- dims -----------------------------------------------------------------------------------------


def normalize_dim(dim: int, ndim: int, *, wrap_scalar: bool = True) -> int:
    """A user's `dim` in `range(ndim)`; with `wrap_scalar`, 0 and -1 give 0 where there are no dimensions."""
    span = ndim or _span_of_scalar(dim, wrap_scalar)
    if dim.__class__ is bool:
        raise TypeError("dim must be int, not bool")  # the careful path names the argument
    if not -span <= dim < span:
        if not -(1 << 63) <= dim < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim if dim >= 0 else dim + span


def _span_of_scalar(dim: int, wrap_scalar: bool) -> int:
    if not wrap_scalar:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return 1


def normalize_dims(dims: int | Iterable[int] | None, ndim: int) -> Shape:
    """A user's dims in `range(ndim)`, in the order given; None is all of them, () is none."""
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        return (normalize_dim(dims, ndim),)
    wrapped = tuple([normalize_dim(dim, ndim) for dim in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(dim for at, dim in enumerate(wrapped) if dim in wrapped[:at])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped


def normalize_permutation(dims: Sequence[int], ndim: int) -> Shape:
    """A user's complete order of the dimensions, as `permute` takes it."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            f"the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    seen: list[int] = []
    for dim in dims:
        seen.append(normalize_dim(dim, ndim))
        if seen[-1] in seen[:-1]:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
    return tuple(seen)


def reduced_shape(shape: Shape, dims: Iterable[int], keepdim: bool) -> Shape:
    """What is left of `shape` after a reduction over `dims`."""
    gone = set(dims)
    if keepdim:
        return tuple([1 if dim in gone else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in gone])


def squeezed_shape(shape: Shape, dims: Iterable[int] | None = None) -> Shape:
    """`shape` without those of `dims` (None: all) that have size 1."""
    gone = set(range(len(shape)) if dims is None else dims)
    return tuple([size for dim, size in enumerate(shape) if size != 1 or dim not in gone])


# --- broadcasting ---------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that operands of `shapes` have together; they are aligned at the last dimension."""
    result: Shape = shapes[0] if shapes else ()
    for shape in shapes[1:]:
        if shape != result:
            result = _broadcast(result, shape)
    return result


def _broadcast(a: Shape, b: Shape) -> Shape:
    missing = len(a) - len(b)
    long_a = a if missing >= 0 else (1,) * -missing + a
    long_b = b if missing <= 0 else (1,) * missing + b
    return tuple([
        m if n == 1 or m == n else n if m == 1 else _refuse_broadcast(long_a, long_b)
        for m, n in zip(long_a, long_b)
    ])  # fmt: skip


def _refuse_broadcast(a: Shape, b: Shape) -> NoReturn:
    dim = max(d for d, (m, n) in enumerate(zip(a, b)) if m != n and m != 1 and n != 1)
    raise RuntimeError(
        f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton dimension {dim}"
    )


def common_shape(*shapes: int | Sequence[int]) -> Size:
    """`torch.broadcast_shapes`: the law of `broadcast_shapes` for what users pass, with its own refusals."""
    checked = [_checked_shape(given) for given in shapes]
    result = [1] * max(map(len, checked), default=0)
    for position, shape in enumerate(checked):
        for dim in range(-1, -len(shape) - 1, -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
                    f"Mismatching argument at index {position} had {shape}; "
                    f"but expected shape should be broadcastable to {result}"
                )
    return make_size(result)


def _checked_shape(given: int | Sequence[int]) -> Shape:
    if not isinstance(given, (int, tuple, list)):
        raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {given}")
    shape = (given,) if isinstance(given, int) else tuple(given)
    if any(size < 0 for size in shape):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return shape


def is_expandable_to(shape: Shape, target: Shape) -> bool:
    """Whether a tensor of `shape` broadcasts to exactly `target`."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(n == m or n == 1 for n, m in zip(shape, target[lead:]))


def sum_to_size_axes(shape: Shape, target: Shape) -> Shape:
    """The dims of `shape` to sum over (keeping them, then reshaping to `target`) to undo a broadcast."""
    if not is_expandable_to(target, shape):
        raise RuntimeError(f"size {{{_listed(target)}}} is not expandable to size {{{_listed(shape)}}}.")
    lead = len(shape) - len(target)
    stretched = [lead + d for d, (n, m) in enumerate(zip(target, shape[lead:])) if n == 1 and m != 1]
    return (*range(lead), *stretched)


def expand_shape(
    shape: Shape, strides: Shape, target: Sequence[int], type_name: Callable[[], str] = lambda: "torch.Tensor"
) -> tuple[Shape, Shape]:
    """Shape and strides of `expand(target)`; -1 keeps a size, stretched dimensions get stride 0."""
    lead = len(target) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({type_name()}{{{_listed(shape)}}}, size={_listed(target)}): the number of sizes provided "
            f"({len(target)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    sizes, steps = list(target), list((0,) * lead + strides)
    for dim in range(len(target) - 1, -1, -1):
        old = shape[dim - lead] if dim >= lead else 1
        sizes[dim] = size = _expanded_size(target, shape, dim, old, is_new=dim < lead)
        if size != old:
            steps[dim] = 0
        elif dim < lead and shape:  # a new dimension of size 1 steps over all that follow, as in PyTorch
            steps[dim] = sizes[dim + 1] * steps[dim + 1]
    return tuple(sizes), tuple(steps)


def _expanded_size(target: Sequence[int], shape: Shape, dim: int, old: int, *, is_new: bool) -> int:
    wanted = target[dim]
    if wanted == -1 and is_new:
        raise RuntimeError(
            f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing dimension {dim}"
        )
    if wanted == -1 or wanted == old:
        return old
    if old != 1 or wanted < 0:
        raise RuntimeError(
            f"The expanded size of the tensor ({wanted}) must match the existing size ({old}) at "
            f"non-singleton dimension {dim}.  "
            f"Target sizes: {_listed(target)}.  Tensor sizes: {_listed(shape)}"
        )
    return wanted


# --- reshaping ------------------------------------------------------------------------------------


def infer_size(shape: Sequence[int], count: int) -> Shape:
    """The sizes `view` and `reshape` mean by `shape`, at most one of them -1, for `count` elements."""
    hole, known = None, 1
    for at, size in enumerate(shape):
        if size >= 0:
            known *= size
        elif size < -1:
            raise RuntimeError(f"invalid shape dimension {size} at index {at} of shape {_listed(shape)}")
        elif hole is not None:
            raise RuntimeError("only one dimension can be inferred")
        else:
            hole = at
    if known != count and (hole is None or known == 0 or count % known):
        raise RuntimeError(f"shape '{_listed(shape)}' is invalid for input of size {count}")
    return tuple(shape) if hole is None else _filled(shape, hole, known, count)


def _filled(shape: Sequence[int], hole: int, known: int, count: int) -> Shape:
    if known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {_listed(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    return (*shape[:hole], count // known, *shape[hole + 1 :])


def compute_view_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """The steps under which the same memory has `new_shape` (of equal count); None if only a copy can."""
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    steps: list[int] = []
    sizes = iter(reversed(new_shape))
    size = next(sizes, None)
    for count, step in _runs(shape, strides):
        filled = 1
        while size is not None and (filled < count or size == 1):
            steps.append(filled * step)
            filled *= size
            size = next(sizes, None)
        if filled != count:
            return None
    return tuple(reversed(steps))


def _runs(shape: Shape, strides: Shape) -> Iterator[tuple[int, int]]:
    """From the last dimension: (elements, step) of each longest group of dimensions with one even step.

    A dimension of size 1 joins the group behind it; a group steps as its last dimension does.
    """
    count, step = 1, strides[-1] if strides else 1
    for dim in range(len(shape) - 1, -1, -1):
        count *= shape[dim]
        if dim == 0:
            break
        if shape[dim - 1] != 1 and strides[dim - 1] != count * step:
            yield count, step
            count, step = 1, strides[dim - 1]
    yield count, step


# --- memory ---------------------------------------------------------------------------------------


def contiguous_strides(shape: Shape) -> Shape:
    """Row-major steps; an empty dimension counts as 1, as in PyTorch."""
    if len(shape) == 1:
        return (1,)
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size or 1
    return tuple(reversed(steps))


# Dimensions from the fastest to the slowest: channels, then the picture, then the batch.
_FASTEST_FIRST = {layout.channels_last: (1, 3, 2, 0), layout.channels_last_3d: (1, 4, 3, 2, 0)}


def channels_last_strides(shape: Shape) -> Shape:
    """Steps of NCHW (or NCDHW) sizes stored with the channels last."""
    return _strides_in_order(shape, (1, *range(len(shape) - 1, 1, -1), 0))


def _strides_in_order(shape: Shape, order: Iterable[int]) -> Shape:
    steps, step = [0] * len(shape), 1
    for dim in order:
        steps[dim] = step
        step *= shape[dim]
    return tuple(steps)


def strides_for(shape: Shape, memory_format: layout.memory_format) -> Shape:
    """The steps of a new tensor in a memory format."""
    if memory_format is layout.contiguous_format:
        return contiguous_strides(shape)
    if memory_format is layout.preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    order = _FASTEST_FIRST[memory_format]
    if len(order) != len(shape):
        raise RuntimeError(f"required rank {len(order)} tensor to use {memory_format.name} format")
    return _strides_in_order(shape, order)


def is_contiguous(shape: Shape, strides: Shape, memory_format: layout.memory_format = layout.contiguous_format) -> bool:
    """Whether the elements follow one another in the format's order; dimensions of size 1 do not matter."""
    if memory_format in _FASTEST_FIRST:
        order = _FASTEST_FIRST[memory_format]
        return len(order) == len(shape) and _steps_evenly(shape, strides, order)
    return 0 in shape or _steps_evenly(shape, strides, range(len(shape) - 1, -1, -1))


def suggested_format(shape: Shape, strides: Shape) -> layout.memory_format:
    """The format that a tensor counts as being in: with the channels last, if its steps grow in that order."""
    for format, order in _FASTEST_FIRST.items():
        if len(order) == len(shape) and _grows(shape, strides, order):
            return format
    return layout.contiguous_format


def _grows(shape: Shape, strides: Shape, order: Iterable[int]) -> bool:
    """Are the steps those of axes in an order, the fastest first, whatever lies between?"""
    if 0 in shape or not strides[1]:
        return False
    least = 0
    for dim in order:
        if strides[dim] < least or (dim == 0 and least == strides[1]):  # N11C counts as NCHW
            return False
        least = strides[dim] * shape[dim]
    return True


def _steps_evenly(shape: Shape, strides: Shape, order: Iterable[int]) -> bool:
    expected = 1
    for dim in order:
        if shape[dim] != 1:
            if strides[dim] != expected:
                return False
            expected *= shape[dim]
    return True


def is_non_overlapping_and_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill their memory exactly, in whatever order of dimensions."""
    if 0 in shape:
        return True
    expected = 1
    for step, size in sorted([(step, size) for size, step in zip(shape, strides) if size > 1]):
        if step != expected:
            return False
        expected *= size
    return True


def storage_extent(shape: Shape, strides: Shape) -> int:
    """How many elements of memory, from the first one, a tensor reaches over."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides))


def dense_strides(shape: Shape, strides: Shape) -> Shape:
    """The steps of a dense copy that keeps the order of dimensions in memory: `preserve_format`."""
    return strides if is_non_overlapping_and_dense(shape, strides) else met_strides(shape, strides)


def met_strides(shape: Shape, *strides: Shape) -> Shape:
    """The steps of the dense result of an op whose operands have these: the first that can tell decides the order."""
    steps, step = [0] * len(shape), 1
    for dim in memory_order(shape, *strides):
        steps[dim] = step
        step *= shape[dim]
    return tuple(steps)


def memory_order(shape: Shape, *strides: Shape) -> list[int]:
    """Dimensions from the fastest to the slowest, later ones first among equals.

    Step 0 compares as equal to everything, which is no order to sort by: hence insertion, as PyTorch does it.
    """
    order = list(range(len(shape) - 1, -1, -1))
    for end in range(1, len(order)):
        at = end
        for before in range(end - 1, -1, -1):
            verdict = next((v for s in strides if (v := _compare_steps(shape, s, order[before], order[at]))), 0)
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    return order


def _compare_steps(shape: Shape, strides: Shape, a: int, b: int) -> int:
    """Negative: `a` is the faster dimension. Positive: `b` is. 0: cannot be told."""
    if strides[a] == 0 or strides[b] == 0:
        return 0
    if strides[a] == strides[b]:
        return int(shape[a] > shape[b])
    return strides[a] - strides[b]


# --- slices ---------------------------------------------------------------------------------------


def slice_indices(cut: slice, size: int) -> tuple[int, int, int]:
    """(start, stop, step) of `x[start:stop:step]` over `size` elements, clamped, with `start <= stop`."""
    step = 1 if cut.step is None else operator.index(cut.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start, stop, _ = slice(cut.start, cut.stop, step).indices(size)
    return start, max(start, stop), step


def slice_length(start: int, stop: int, step: int) -> int:
    """How many elements `range(start, stop, step)` has, for a positive step."""
    return max(0, (stop - start + step - 1) // step)


def select_index(index: int, size: int, dim: int) -> int:
    """A user's index into dimension `dim`, wrapped."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return index if index >= 0 else index + size


def narrow_start(start: int, length: int, size: int) -> int:
    """A user's `start` of `narrow(dim, start, length)`, wrapped."""
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = start if start >= 0 else start + size
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return first
