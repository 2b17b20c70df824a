"""Reading and writing along an axis by index tensors: gather, scatter and their relatives.

Reading ops are linear, and the gradient of each is the writing op that adds: gather and scatter_add, index_select and
index_add, take and put, masked_select and masked_scatter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.autograd.bind_inplace import inplace_of
from chainrule.autograd.door import check_fits
from chainrule.backends.cpu import memory
from chainrule.backends.meta import unknown_shape
from chainrule.core.ambient import here
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import call, cast, dtype_of, front, general, indexing, shape_of, spread, sum_to
from chainrule.core.literal import cast_number
from chainrule.core.notices import warn_once
from chainrule.core.op import REGISTRY, Array, Number
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, apart, integers, real, samples
from chainrule.core.shape import broadcast_shapes, normalize_dim, numel
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.along import SAME_OUT
from chainrule.ops.fill import check_apart, check_target
from chainrule.ops.index_batches import all_batched, elementwise_batched, lifted, no_batch, over_slices, slices_batched
from chainrule.ops.storages import bottom
from chainrule.ops.subscript import index as index_op

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_reduce", "index_select", "masked_scatter",
    "masked_select", "put", "scatter_add", "scatter_reduce", "take",
]  # fmt: skip

_rows = Drawn(integers(3), 2, 4)
_spots = np.array([2, 0])
_apart_rows = np.array(
    [[0, 1, 2, 0], [1, 2, 0, 2]]
)  # where nothing is written twice the order of writing does not matter


def zeros_of(g: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of any shape, of the kind and dtype of `g`."""
    return g.new_zeros(shape) if isinstance(g, Tensor) else np.zeros(shape, g.dtype)


def _masked(x: Any, mask: Any, value: float) -> Any:
    return call("where", mask, cast(_scalar(x, value), dtype_of(x)), x)


def _scalar(x: Any, value: float) -> Any:
    return x.new_full((), value) if isinstance(x, Tensor) else np.asarray(value, x.dtype)


# ---------------------------------------------------------------------------------------------------- batch rules


def _take_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, index = values
    if not batched[0]:
        return take.public(x, index)
    index = all_batched((index,), batched[1:], size)[0]
    return call(
        "reshape", call("gather", _flat_rows(x, size), 1, _counted(_flat_rows(index, size), x)), shape=shape_of(index)
    )


def _flat_rows(x: Any, size: int) -> Any:
    return call("reshape", x, shape=(size, -1))


def _counted(index: Any, x: Any) -> Any:
    """Positions counted from the front."""
    return call("where", index < 0, index + numel(shape_of(x)[1:]), index)


def _put_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, index, source = all_batched(values, batched, size)
    flat, at, given = _flat_rows(x, size), _counted(_flat_rows(index, size), x), _flat_rows(source, size)
    found = flat.scatter_add(1, at, given) if params["accumulate"] else flat.scatter(1, at, given)
    return call("reshape", found, shape=shape_of(x))


def _select_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    x, index = values
    rank = len(shape_of(x)) - bool(batched[0])
    index = lifted(index, batched[1])
    if rank == 0:
        found = _select_batched((lifted(x, batched[0]), index), batched, size, params)
        return call("select", found, dim=1, index=0)
    dim = normalize_dim(params["dim"], rank)
    if not batched[1]:
        return index_select.public(x, dim + 1, index)
    return index_op.op.batch((x, index), batched, size, {"dims": (dim,)})


# ------------------------------------------------------------------------------------------------ gather, scatter


@indexing(exact=SAME_OUT, samples=samples(real, [((3, 4), _rows)], dim=[0]), vmap=elementwise_batched("gather"))
def gather(xp: Any, input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """Elements picked along an axis: `out[i][j] = input[index[i][j]][j]` for dim 0."""
    return xp.scatter.gather(input, normalize_dim(dim, input.ndim), index)


def _gather_pull(g: Any, index: Any, dim: int, input_shape: Any, sparse_grad: bool) -> Any:
    return (_placed if sparse_grad else _scattered)(g, index, dim, tuple(input_shape))


def _scattered(g: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    return scatter_add(zeros_of(g, shape), dim, index, g)


def _placed(g: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """The transpose of picking as a sparse array: each value in the place it was picked from."""
    picked = bottom(index)
    places = np.empty((len(shape), picked.size), np.int64)
    if shape:
        places[:] = np.indices(picked.shape or (1,)).reshape(len(shape), -1)
        places[normalize_dim(dim, len(shape))] = picked.reshape(-1)
    return call("sparse_coo", fresh(places) if isinstance(g, Tensor) else places, g.reshape(-1), size=shape)


gather.vjp(input=_gather_pull)


@indexing(
    vmap_title="scatter_add_",
    spelled="fmi", exact=SAME_OUT, vmap=elementwise_batched("scatter_add"),
    samples=samples(real, [((3, 4), _rows, (2, 4)), ((3, 4), _rows, (3, 4))], dim=[0]),
)  # fmt: skip
def scatter_add(xp: Any, input: Array, dim: int, index: Array, src: Array) -> Array:
    """The input with `src` added where `index` says along an axis, repeats in turn."""
    return xp.scatter.scatter_add(input, normalize_dim(dim, input.ndim), index, src)


scatter_add.vjp(input=lambda g: g, src=lambda g, index, dim, src_shape: _covered(gather(g, dim, index), src_shape))


def _covered(g: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent of the part of `src` that the index covers, as one of the whole `src`."""
    return g if shape_of(g) == shape else corner(g, shape=shape)


@indexing(
    spelled="", linear=True, samples=samples(real, [((2, 3),)], shape=[(3, 4)]),
    vmap=lambda values, batched, size, params: corner.public(  # type: ignore[has-type]
        values[0], shape=(size, *params["shape"])
    ),
)  # fmt: skip
def corner(xp: Any, input: Array, *, shape: tuple[int, ...]) -> Array:
    """Zeros of a shape, with the input in the corner where all indices begin."""
    whole = xp.zeros(shape, input.dtype)
    whole[tuple(slice(n) for n in input.shape)] = input
    return whole


corner.vjp(input=lambda g, input_shape: g[tuple(slice(n) for n in input_shape)])


@indexing(
    spelled="", exact=SAME_OUT, node={"TTT": "ScatterBackward0", "TTN": "ScatterBackward1"},
    vmap=elementwise_batched("scatter"), name="scatter",
    samples=samples(real, [((3, 4), _apart_rows, (2, 4)), ((3, 4), _apart_rows, 2.5)], dim=[0]),
)  # fmt: skip
def scatter_op(xp: Any, input: Array, index: Array, src: Array | Number, *, dim: int) -> Array:
    """The input overwritten where `index` says along an axis."""
    if isinstance(src, (int, float, complex)):
        cast_number(src, dtype_of(input))  # or refuse what does not fit
    return xp.scatter.scatter(input, normalize_dim(dim, input.ndim), index, src)


scatter_op.vjp(
    input=lambda g, index, dim: scatter_op(g, index, 0, dim=dim),
    src=lambda g, index, dim, src_shape: _covered(gather(g, dim, index), src_shape),
)


@indexing(
    spelled="", exact=SAME_OUT, node="NotImplemented", vmap=elementwise_batched("scatter_fold"),
    samples=samples(real, [((3, 4), _rows, (2, 4))], dim=[0], reduce=["add"]),
)  # fmt: skip
def scatter_fold(xp: Any, input: Array, index: Array, src: Array | Number, *, dim: int, reduce: str) -> Array:
    """The input with `src` added to it, or multiplied into it, where `index` says."""
    return xp.scatter.scatter(input, normalize_dim(dim, input.ndim), index, src, reduce)


def _fold_pull(g: Any, reduce: str) -> Any:
    if reduce != "add":
        raise NotImplementedError("the derivative for 'scatter' with reduce='multiply' is not implemented")
    return g


scatter_fold.vjp(
    input=_fold_pull,
    src=lambda g, index, dim, src_shape, reduce: _covered(gather(_fold_pull(g, reduce), dim, index), src_shape),
)


def _scatter_source(name: str, src: Any, value: Any) -> Any:
    if (src is None) is (value is None):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: expected one of (Tensor input, int dim, Tensor "
            "index, Tensor src), (Tensor input, int dim, Tensor index, Number value)"
        )
    given = src if value is None else value
    return given.item() if isinstance(given, Tensor) and value is not None else given


@composite("fm")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """The input overwritten (or, with `reduce`, added to or multiplied) where `index` says along an axis."""
    source = _scatter_source("scatter", src, value)
    more = {} if out is None else {"out": out}
    if reduce is None:
        return scatter_op.public(input, index, source, dim=dim, **more)  # type: ignore[no-any-return]
    return scatter_fold.public(input, index, source, dim=dim, reduce=reduce, **more)  # type: ignore[no-any-return]


def _writer(op: Any) -> Any:
    """How the in-place form writes: as any, but first it looks whether an input shares memory with what is written."""

    def write(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        target = inputs[0].raw
        check_apart(target, inputs[1:])
        result = op.family.compute(xp, op, inputs, params)
        check_fits(op, inputs[0], result)
        if op.name == "index_fill" and not target.flags.c_contiguous and memory.has_overlap(target):
            warn_once(
                "Use of index_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing "
                "this operation. This also applies to advanced indexing e.g. tensor[mask] = scalar"
            )
        else:
            check_target(target)
        target[...] = result

    return write


for _fn in (scatter_op, scatter_fold, scatter_add):
    _fn.op.write = _writer(_fn.op)
_scatter_in_place, _fold_in_place = inplace_of(scatter_op), inplace_of(scatter_fold)


@composite("m", "scatter_")
def _scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place form of `scatter`."""
    source = _scatter_source("scatter_", src, value)
    if reduce is None:
        return _scatter_in_place(self, index, source, dim=dim)  # type: ignore[no-any-return]
    return _fold_in_place(self, index, source, dim=dim, reduce=reduce)  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------------------------- with a fold


class _Along:
    """How a fold reads its result at the places it wrote, and adds to them."""

    __slots__ = ("dim", "index", "slices")

    def __init__(self, dim: int, index: Any, slices: bool) -> None:
        self.dim, self.index, self.slices = dim, index, slices

    def read(self, x: Any) -> Any:
        return index_select(x, self.dim, self.index) if self.slices else gather(x, self.dim, self.index)

    def add(self, x: Any, src: Any) -> Any:
        return (index_add if self.slices else scatter_add)(x, self.dim, self.index, src)

    def clear(self, x: Any) -> Any:
        if self.slices:
            return index_fill(x, self.dim, self.index, 0)
        return scatter_op(x, self.index, 0, dim=self.dim)

    def fold(self, x: Any, src: Any, reduce: str, include_self: bool) -> Any:
        fn = index_reduce if self.slices else scatter_reduce
        return fn(x, self.dim, self.index, src, reduce, include_self=include_self)


def _truth(mask: Any, like: Any) -> Any:
    return cast(mask, dtype_of(like))


def _fold_to_input(g: Any, at: _Along, x: Any, src: Any, reduce: str, include_self: bool, out: Any) -> Any:
    """The cotangent of what was folded into."""
    if not include_self:
        return at.clear(g)
    if reduce == "sum":
        return g
    if reduce == "prod":
        whole = _masked(x, x == 0, 1.0)
        return g * at.fold(whole, src, "prod", True) / whole
    if reduce == "mean":
        return g / _fold_count(g, at, src, include_self)
    return _truth(x == out, g) * (g / _fold_ties(g, at, x, src, out))


def _fold_to_source(g: Any, at: _Along, x: Any, src: Any, reduce: str, include_self: bool, out: Any) -> Any:
    """The cotangent of what was folded in."""
    if reduce == "sum":
        return at.read(g)
    if reduce == "mean":
        return at.read(g) / at.read(_fold_count(g, at, src, include_self))
    if reduce == "prod":
        return _product_to_source(g, at, x, src, include_self, out)
    return _truth(src == at.read(out), g) * at.read(g / _fold_ties(g, at, x, src, out))


def _fold_count(g: Any, at: _Along, src: Any, include_self: bool) -> Any:
    start = call("ones_like", g) if include_self else call("zeros_like", g)
    count = at.add(start, call("ones_like", src))
    return _masked(count, count == 0, 1.0)


def _fold_ties(g: Any, at: _Along, x: Any, src: Any, out: Any) -> Any:
    """By how many each extreme is shared."""
    count = at.add(_truth(x == out, g), _truth(src == at.read(out), g))
    return _masked(count, count == 0, 1.0)


def _product_to_source(g: Any, at: _Along, x: Any, src: Any, include_self: bool, out: Any) -> Any:
    """As out / src, but where one factor alone is zero, the product of the others."""
    zero = src == 0
    zeros = at.read(at.add(call("zeros_like", x), _truth(zero, src)))
    alone = zero & (zeros == 1)
    others = at.fold(x, _masked(src, alone, 1.0), "prod", include_self)
    pulled = call("where", alone, at.read(g * others), at.read(g * out) / _masked(src, zero, 1.0))
    if isinstance(pulled, Tensor) and here().grad and (here().stack or _is_shared(zeros)):
        return _differentiable_once(pulled, zeros, why=_TOGETHER.format(*_FOLDED[at.slices]))
    return pulled


def _is_shared(zeros: Any) -> bool:
    """Do zeros meet anywhere? Transforms cannot say before a second backward asks."""
    return bool((abs(zeros) > 1).any())


_FOLDED = (("scatter_reduce", "src"), ("index_reduce", "source"))
_TOGETHER = (
    "{0}(): Double backward is unsupported for {1} when >1 zeros in {1} are scattered to the same position in self"
)


def _same_batched(name: str) -> Any:
    return lambda values, batched, size, params: call(
        name, *[spread(v, b, size) for v, b in zip(values, batched)], **params
    )


@general(
    spelled="", name="differentiable_once", vmap=_same_batched("differentiable_once"), node={"": "DelayedError"},
    samples=samples(real, [((3,), Drawn(integers(2), 3))], why=["why not"]),
)  # fmt: skip
def _differentiable_once(xp: Any, input: Array, zeros: Array, *, why: str) -> Array:
    """The input as it is; a gradient through it is refused where several zeros meet."""
    return input.copy()


@general(
    spelled="", name="unless_shared", vmap=_same_batched("unless_shared"), node={"": "DelayedError"}, linear=True,
    samples=samples(real, [((3,), Drawn(integers(2), 3))], why=["why not"]),
)  # fmt: skip
def _unless_shared(xp: Any, input: Array, zeros: Array, *, why: str) -> Array:
    """The input as it is; refused where several zeros meet."""
    if _is_shared(zeros):
        raise RuntimeError(why)
    return input.copy()


for _fn in (_differentiable_once, _unless_shared):
    _fn.vjp(input=lambda g, zeros, why: _unless_shared(g, zeros, why=why))


def _fold_rules(slices: bool, source: str) -> dict[str, Any]:
    texts = {}
    for name, pull in (("input", _fold_to_input), (source, _fold_to_source)):
        scope = {"pull": pull, "Along": _Along}
        head = f"lambda g, input, dim, index, {source}, reduce, include_self, out"
        texts[name] = eval(
            f"{head}: pull(g, Along(dim, index, {slices}), input, {source}, reduce, include_self, out)", scope
        )
    return texts


@indexing(
    vmap_title="scatter_reduce_",
    spelled="fmi", exact=SAME_OUT, vmap=elementwise_batched("scatter_reduce"),
    samples=samples(
        apart, [((3, 4), _rows, (2, 4))], dim=[0], reduce=["sum", "mean", "prod", "amax", "amin"],
        include_self=[True, False],
    ),
)  # fmt: skip
def scatter_reduce(
    xp: Any, input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True,
) -> Array:  # fmt: skip
    """The input with `src` folded in by sum, prod, mean, amax or amin where `index` says along an axis."""
    return xp.scatter.scatter_reduce(input, normalize_dim(dim, input.ndim), index, src, reduce, include_self)


scatter_reduce.vjp(**_fold_rules(False, "src"))


# ----------------------------------------------------------------------------------------------- slice by slice


def _check_index(name: str, index: Any) -> None:
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")


_SAME = "{name}(): self and result must have the same scalar type"


@indexing(
    exact=_SAME.format(name="index_select"), samples=samples(real, [((3, 4), _spots)], dim=[0]), vmap=_select_batched
)
def index_select(xp: Any, input: Array, dim: int, index: Array) -> Array:
    """The slices along an axis that an index vector names."""
    _check_index("index_select", index)
    return xp.scatter.index_select(input, normalize_dim(dim, input.ndim), index)


index_select.vjp(input=lambda g, index, dim, input_shape: index_add(zeros_of(g, input_shape), dim, index, g))  # type: ignore[has-type]


@indexing(
    vmap_title="index_add_",
    spelled="fmi", exact=SAME_OUT, vmap=slices_batched("index_add"),
    samples=samples(real, [((3, 4), _spots, (2, 4))], dim=[0], alpha=[1, 2]),
)  # fmt: skip
def index_add(xp: Any, input: Array, dim: int, index: Array, source: Array, *, alpha: Number = 1) -> Array:
    """The input with slices of `source` added where an index vector says."""
    if input.dtype != source.dtype:
        titles = [OF_NUMPY[x.dtype].title for x in (input, source)]
        raise RuntimeError("index_add_(): self ({}) and source ({}) must have the same scalar type".format(*titles))
    return xp.scatter.index_add(input, normalize_dim(dim, input.ndim), index, source, alpha)


index_add.vjp(
    input=lambda g: g,
    source=lambda g, index, dim, alpha, source_shape: _spread(_times(index_select(g, dim, index), alpha), source_shape),
)


def _times(g: Any, alpha: Any) -> Any:
    return g if alpha == 1 else g * alpha


def _spread(g: Any, shape: tuple[int, ...]) -> Any:
    return g if shape_of(g) == shape else call("reshape", g, shape=shape)


@indexing(
    spelled="fmi", exact=SAME_OUT, vmap=slices_batched("index_copy"),
    samples=samples(real, [((3, 4), _spots, (2, 4))], dim=[0]),
)  # fmt: skip
def index_copy(xp: Any, input: Array, dim: int, index: Array, source: Array) -> Array:
    """The input with slices replaced by those of `source` where an index vector says."""
    if input.dtype != source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{dtype_of(input).title} and (source) {dtype_of(source).title}")  # fmt: skip
    return xp.scatter.index_copy(input, normalize_dim(dim, input.ndim), index, source)


index_copy.vjp(
    input=lambda g, index, dim: index_fill(g, dim, index, 0),  # type: ignore[has-type]
    source=lambda g, index, dim, source_shape: _spread(index_select(g, dim, index), source_shape),
)


def _fill_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    def fill(inputs: Any, params: dict[str, Any]) -> Any:
        return REGISTRY["index_fill"].call((*inputs, values[2]), params)

    if not batched[2]:
        return over_slices(fill, values[:2], batched[:2], size, params)
    x, index, value = values
    index = lifted(index, batched[1])
    shape = list(shape_of(x)[1:] if batched[0] else shape_of(x))
    if shape:
        shape[normalize_dim(params["dim"], len(shape))] = shape_of(index)[-1]
    column = call("reshape", value, shape=(size, *(1 for _ in shape)))
    source = call("expand", column.to(x.dtype), size=(size, *shape))
    return over_slices(REGISTRY["index_copy"].call, (x, index, source), batched, size, params)


@indexing(
    vmap_title="index_fill_",
    spelled="fmi", vmap=_fill_batched, node={"TTN": "IndexFillBackward0", "TTT": "IndexFillBackward1"},
    samples=samples(real, [((3, 4), _spots, 2.0), ((3, 4), _spots, ())], dim=[0]),
)  # fmt: skip
def index_fill(xp: Any, input: Array, dim: int, index: Array, value: Array | Number) -> Array:
    """The input with one value in the slices that an index vector names."""
    if np.ndim(value):
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{np.ndim(value)} dimension(s)."
        )
    if isinstance(value, complex) and input.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if not isinstance(value, np.ndarray):
        value = cast_number(value, dtype_of(input))
    found = xp.scatter.index_fill(input, normalize_dim(dim, input.ndim), index, value)
    return memory.ordered_as(found, input)


index_fill.vjp(
    input=lambda g, index, dim: index_fill(g, dim, index, 0),
    value=lambda g, index, dim: call("sum", index_select(g, dim, index)),
)


@indexing(
    spelled="fmi",
    samples=samples(
        apart, [((3, 4), _spots, (2, 4))], dim=[0], reduce=["mean", "prod", "amax", "amin"], include_self=[True, False]
    ),
)
def index_reduce(
    xp: Any, input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True,
) -> Array:  # fmt: skip
    """The input with slices of `source` folded in by prod, mean, amax or amin where an index vector says."""
    return xp.scatter.index_reduce(input, normalize_dim(dim, input.ndim), index, source, reduce, include_self)


index_reduce.vjp(**_fold_rules(True, "source"))
index_reduce.op.batch = slices_batched("index_reduce")


# ------------------------------------------------------------------------------------------------ flat, by a mask


@indexing(
    samples=samples(real, [((3, 4), Drawn(integers(12), 2, 2))]), vmap=_take_batched,
    exact="take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}",
)  # fmt: skip
def take(xp: Any, input: Array, index: Array) -> Array:
    """Elements of the flattened input, in the shape of the index."""
    if index.dtype != np.int64:
        raise RuntimeError("take(): Expected a long tensor for index, but got " + dtype_of(index).title)
    return xp.scatter.take(input, index)


take.vjp(input=lambda g, index, input_shape: put(zeros_of(g, input_shape), index, g, True))  # type: ignore[has-type]


@indexing(
    spelled="fmi", samples=samples(real, [((3, 4), np.array([3, 1]), (2,))], accumulate=[False, True]),
    vmap=_put_batched,
)  # fmt: skip
def put(xp: Any, input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """The input with elements overwritten (or added to) at positions of its flattened self."""
    return memory.ordered_as(xp.scatter.put(input, index, source, accumulate), input)


put.vjp(
    input=lambda g, index, accumulate: g if accumulate else put(g, index, zeros_of(g, shape_of(index)), False),
    source=lambda g, index, source_shape: _spread(take(g, index), source_shape),
)


_mask = np.array([[True, False, True], [False, True, True]])


@indexing(
    exact=_SAME.format(name="masked_select"), meta=unknown_shape, samples=samples(real, [((2, 3), _mask)]),
    vmap=no_batch("masked_select"),
)  # fmt: skip
def masked_select(xp: Any, input: Array, mask: Array) -> Array:
    """The elements where a mask holds, as a vector."""
    return xp.scatter.masked_select(input, mask)


def _unselect(g: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    whole = broadcast_shapes(shape, shape_of(mask))
    return sum_to(masked_scatter(zeros_of(g, whole), mask, g), shape)


masked_select.vjp(input=lambda g, mask, input_shape: _unselect(g, mask, input_shape))


def _ranks(mask: Any, size: int) -> Any:
    """For every place of a batch of masks, how many places before it in its example hold."""
    return call("clamp", call("cumsum", call("reshape", mask, shape=(size, -1)), 1) - 1, min=0)


def _masked_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    if values[1].dtype.name != "bool" or values[0].dtype is not values[2].dtype:
        return None  # which refuses
    x, mask, source = (spread(v, b, size) for v, b in zip(values, batched))
    if not source.numel():
        return None
    rank = max(x.ndim, mask.ndim) - 1
    x, mask = call("broadcast_tensors", front(x, rank), front(mask, rank))
    taken = gather.public(call("reshape", source, shape=(size, -1)), 1, _ranks(mask, size))
    return call("where", mask, call("view", taken, shape=tuple(mask.shape)), x)


def _rest_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    g, mask = (spread(v, b, size) for v, b in zip(values, batched))
    g, mask = call("broadcast_tensors", g, front(mask, g.ndim - 1))
    count = math.prod(params["shape"])
    if not count:
        return None
    kept = call("reshape", call("where", mask, g, 0), shape=(size, -1))
    summed = scatter_add.public(g.new_zeros((size, count)), 1, _ranks(mask, size), kept)
    return call("view", summed, shape=(size, *params["shape"]))


@indexing(
    spelled="fmi", vmap=_masked_batched, samples=samples(real, [((2, 3), _mask, (5,)), ((2, 3), _mask, (2, 3))])
)  # fmt: skip
def masked_scatter(xp: Any, input: Array, mask: Array, source: Array) -> Array:
    """The input with the leading elements of `source`, in order, where a mask holds."""
    return xp.scatter.masked_scatter(input, mask, source)


masked_scatter.vjp(
    input=lambda g, mask, input_shape: sum_to(_masked(g, mask, 0.0), input_shape),
    source=lambda g, mask, source_shape: masked_rest(g, mask, shape=source_shape),  # type: ignore[has-type]
)


@indexing(spelled="", vmap=_rest_batched, samples=samples(real, [((2, 3), _mask)], shape=[(5,)]))
def masked_rest(xp: Any, input: Array, mask: Array, *, shape: tuple[int, ...]) -> Array:
    """What a mask selects, then zeros: the transpose of `masked_scatter` in its source."""
    return xp.scatter.masked_scatter_source(input, mask, shape)


masked_rest.vjp(input=lambda g, mask, input_shape: masked_scatter(zeros_of(g, input_shape), mask, g))


for _fn in (scatter_reduce, index_add, index_copy, index_fill, index_reduce, put, masked_scatter):
    _fn.op.write = _writer(_fn.op)

# ------------------------------------------------------------------------------------------------------ composites


@composite("fm")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """`gather` with broadcasting; without `dim`, from the flattened input."""
    more = {} if out is None else {"out": out}
    if dim is None:
        return gather.public(input.view(-1), 0, indices.view(-1), **more)  # type: ignore[no-any-return]
    if indices.dtype.name != "int64":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.title}")
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = normalize_dim(dim, input.ndim)
    if input.shape[dim]:
        indices = indices.remainder(input.shape[dim])
    shape = broadcast_shapes(_flat_at(input.shape, dim), _flat_at(indices.shape, dim))
    x = input.expand(_set_at(shape, dim, input.shape[dim]))
    return gather.public(x, dim, indices.expand(_set_at(shape, dim, indices.shape[dim])), **more)  # type: ignore[no-any-return]


def _flat_at(shape: Any, dim: int) -> tuple[int, ...]:
    return _set_at(tuple(shape), dim, 1)


def _set_at(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])
