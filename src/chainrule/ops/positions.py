"""Where elements are, and what they are among: nonzero, isin, one_hot, the diagonal, positions along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.meta import unknown_shape
from chainrule.core.family import call, indexing, spread
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import integers, samples
from chainrule.core.tensor import META, Tensor
from chainrule.ops.index_batches import no_batch

__all__ = ["isin_op", "nonzero_op"]


@indexing(
    spelled="",
    vmap=no_batch("nonzero"),
    meta=unknown_shape,
    name="nonzero",
    exact="nonzero: Expected out tensor to have scalar type Long but got scalar type{out}",
    samples=samples(integers(2), [((2, 3),), ((4,),)]),
)
def nonzero_op(xp: Any, input: Array) -> Array:
    """The positions of elements that are not zero, one row each."""
    return xp.array(xp.nonzero(input)).T if input.ndim else xp.zeros((int(bool(input)), 0), np.int64)


@composite("fm")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """Where the elements are not zero: one row per element, or (`as_tuple`) one vector per axis."""
    if not as_tuple:
        return nonzero_op.public(input) if out is None else nonzero_op.public(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    x = input if input.ndim else input.unsqueeze(0)
    return nonzero_op.public(x).unbind(1)


@composite("fm")
def argwhere(input: Tensor) -> Tensor:
    """The positions of elements that are not zero, one row each."""
    return nonzero_op.public(input)  # type: ignore[no-any-return]


@composite("m", "fill_diagonal_")
def _fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Overwrite the main diagonal; `wrap` goes on below a tall matrix's square."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides = self.stride()
    columns, step, offset = min(self.shape), sum(strides), self.storage_offset()
    self.as_strided((columns,), (step,), offset).fill_(fill_value)
    if wrap and self.ndim == 2 and self.shape[0] > columns + 1:
        offset += strides[0] * (columns + 1)
        rows = self.shape[0] - columns - 1
        count = (rows * columns + columns) // (columns + 1)
        if count > 0:
            self.as_strided((count,), (step,), offset).fill_(fill_value)
    return self


@composite("f")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None,
) -> Tensor:  # fmt: skip
    """Which elements occur among the test elements."""
    tensors = [t for t in (elements, test_elements) if isinstance(t, Tensor)]
    if not tensors:
        raise TypeError("isin(): at least one of elements and test_elements must be a Tensor")
    x, y = (t if isinstance(t, Tensor) else tensors[0].new_tensor(t) for t in (elements, test_elements))
    found = isin_op.public(x, y, invert=invert)
    return found if out is None else out.copy_(found)  # type: ignore[no-any-return]


def _isin_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    elements, among = values
    if not batched[1]:
        return isin_op.public(elements, among, **params)
    x = spread(elements, batched[0], size)
    among = call("view", call("reshape", among, shape=(size, -1)), shape=(size, *(1,) * (x.ndim - 1), -1))
    found = call("eq", x.unsqueeze(-1), among).any(-1)
    return found.logical_not() if params["invert"] else found


@indexing(
    spelled="", name="isin", vmap=_isin_batched, samples=samples(integers(4), [((2, 3), (3,))], invert=[False, True])
)
def isin_op(xp: Any, elements: Array, test_elements: Array, *, invert: bool) -> Array:
    """Which elements occur among the test elements."""
    return xp.isin(elements, test_elements, invert=invert)


@composite("n")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as rows with a single one."""
    if input.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    empty = 0 in input.shape
    if empty and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    unseen = _is_batch(input) or input.device is META  # nobody can look at the numbers
    if num_classes == -1 or not unseen:
        if not empty and input.min().item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        most = 0 if empty else int(input.max().item()) + 1
        if num_classes != -1 and (num_classes < 1 or most > num_classes):
            if empty:
                raise RuntimeError("num_classes should be positive")
            raise RuntimeError("Class values must be smaller than num_classes.")
        num_classes = most if num_classes == -1 else num_classes
    zeros = input.new_zeros((*input.shape, num_classes))
    return zeros.scatter(-1, input.unsqueeze(-1), 1)


@composite("f")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a flattened tensor of a shape, as one index tensor per axis."""
    if not isinstance(indices, Tensor) or indices.dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {getattr(indices, 'dtype', type(indices))}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = np.cumprod([1, *sizes[:0:-1]])[::-1] if sizes else ()
    return tuple((indices // int(step)) % int(n) for step, n in zip(steps, sizes))


def _is_batch(t: Tensor) -> bool:
    """Has every example its own values, at some level?"""
    while isinstance(t.raw, Tensor):
        if t.level.kind == "vmap":  # type: ignore[attr-defined]
            return True
        t = t.raw
    return False
