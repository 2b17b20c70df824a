"""Families: what an op inherits by being the kind of op it is.

A family says how input dtypes meet (`prepare`), how a cotangent is brought back to an input's shape (`fit`), whether a
pull rule may be read as a push rule (`diagonal`), and how the op runs with a batch axis in front (`vmap`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.op import REGISTRY, Op, OpFunction
from chainrule.core.public import PUBLIC
from chainrule.core.shape import broadcast_shapes, normalize_dim, normalize_dims
from chainrule.core.tensor import PLAIN, Tensor

__all__ = [
    "Alias", "Contraction", "Creation", "Elementwise", "Family", "Fused", "Indexing", "Random", "Reduction", "Scan",
    "ViewFamily", "call", "contraction", "elementwise", "fused", "general", "indexing", "random", "reduction", "scan",
    "sharing", "spread", "view",
]  # fmt: skip


def call(name: str, *args: Any, **params: Any) -> Any:
    """An op or composite by its name: families use ops that are declared far below them."""
    op = REGISTRY.get(name)
    return op.fn(*args, **params) if op is not None else (PUBLIC["f"].get(name) or PUBLIC["m"][name])(*args, **params)


def shape_of(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else ()


def dtype_of(x: Any) -> dtypes.dtype:
    """The dtype of a tensor or an array."""
    return x.dtype if isinstance(x, Tensor) else dtypes.OF_NUMPY[x.dtype]


class Family:
    """The general case: no broadcasting, no promotion; batches by a loop unless the op declares its own rule."""

    name = "general"
    diagonal = False
    is_view = False
    shares = False  # the result shares memory with the input, without being a view of it to autograd

    def prepare(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """The arrays to compute on: cast, where dtypes meet."""
        return tuple(t.raw if isinstance(t, Tensor) else t for t in inputs)

    def compute(self, xp: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The forward, on prepared arrays; of arrays without elements, what `meta` in the declaration says."""
        if op.check is not None:
            op.check(inputs, params)
        raws = self.prepare(op, inputs, params)
        if op.meta is not None and any([is_hollow(r) for r in raws]):
            return op.meta(raws, params)
        return op.run(xp, raws, params)

    def check_out(self, op: Op, result: Any, out: Any, inputs: tuple[Any, ...]) -> None:
        """Refuse an `out=` that the kind of op does not take."""

    def fit(self, g: Any, shape: tuple[int, ...], dtype: dtypes.dtype) -> Any:
        """A cotangent in the shape and dtype of its input; None where a rule has none."""
        return None if g is None else cast(g, dtype)

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        """Run the op with a batch axis in front of the marked values; None asks for the loop."""
        return None

    @overload
    def decorate(self, forward: Callable[..., Any], /, **facts: Any) -> OpFunction: ...

    @overload
    def decorate(self, /, **facts: Any) -> Callable[[Callable[..., Any]], OpFunction]: ...

    def decorate(self, forward: Callable[..., Any] | None = None, /, **facts: Any) -> Any:
        """The decorator that declares an op of this family."""
        return (lambda f: declare(f, self, facts)) if forward is None else declare(forward, self, facts)


def cast(x: Any, dtype: dtypes.dtype) -> Any:
    """`x` in another dtype; complex to real takes the real part."""
    have = dtype_of(x)
    if have is dtype:
        return x
    if have.is_complex and not dtype.is_complex:
        x = call("real", x)
    return call("to_dtype", x, dtype=dtype) if isinstance(x, Tensor) else x.astype(dtype.numpy)


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Undo broadcasting: sum over the axes that were added or stretched."""
    have = shape_of(g)
    if have == shape:
        return g
    lead = len(have) - len(shape)
    axes = (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1])
    if isinstance(g, Tensor):
        g = call("sum", g, dim=axes) if axes else g
        return call("view", g, shape=shape)
    return np.reshape(np.add.reduce(g, axes, g.dtype) if axes else g, shape)


_ones: dict[tuple[int, np.dtype[Any]], Any] = {}
MANY = 4096  # terms: more are not for BLAS, which adds in a few running sums; NumPy adds pairs of pairs


def ones_of(n: int, dtype: np.dtype[Any]) -> Any:
    """A vector of ones, of at most MANY: the beginning of one that all share."""
    ones = _ones.get((n, dtype))
    if ones is None:
        whole = _ones.setdefault((MANY, dtype), np.ones(MANY, dtype))
        ones = _ones[n, dtype] = whole[:n]
    return ones


def column_sums(g: Any) -> Any:
    """Sums down the columns of a matrix: BLAS needs a third of the time of NumPy's reduction."""
    n, dtype = len(g), g.dtype
    if n > MANY or dtype.itemsize < 4:
        return np.add.reduce(g, 0, np.float32).astype(dtype) if dtype.itemsize < 4 else np.add.reduce(g, 0)
    return ones_of(n, dtype).dot(g)


_NATIVE = frozenset(("none", "compare", "native"))


class Elementwise(Family):
    """Broadcasts; its Jacobian is diagonal, so one rule serves both directions.

    `promote` in a declaration: "same", the common dtype; "float", the same but integers become the default float;
    "integer", the same but bool becomes int64; "compare", computes in the common dtype and gives bool; "none", the
    forward takes its inputs as they come. A function of the parameters says one of these words. 16-bit floats are
    computed with in 32 bits and rounded at the end, as PyTorch does; "native", the common dtype without that.
    """

    name = "elementwise"
    diagonal = True

    def prepare(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        if op.check is not None:
            op.check(inputs, params)
        if op.promote == "none":
            return Family.prepare(self, op, inputs, params)
        want = self.common(op, inputs, params).numpy
        if not op.unpromoted:
            return tuple([_as(t, want) for t in inputs])
        return tuple([t.raw if n in op.unpromoted else _as(t, want) for n, t in zip(op.inputs, inputs)])

    def common(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> dtypes.dtype:
        """The dtype the op computes in."""
        if op.unpromoted:
            inputs = tuple([t for n, t in zip(op.inputs, inputs) if n not in op.unpromoted])
        found = common_dtype(inputs)
        if found.category >= 2 or op.promote == "same":
            return found
        word = op.promote if op.promote.__class__ is str else op.promote(params)
        if word == "float":
            return settings.default_dtype
        return dtypes.int64 if word == "integer" and found is dtypes.bool_ else found

    def compute(self, xp: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        raws = self.prepare(op, inputs, params)
        meta = next((r for r in raws if isinstance(r, np.ndarray) and r.__class__ is not np.ndarray), None)
        if meta is None:
            try:
                return self._run(xp, op, raws, inputs, params)
            except ValueError:
                broadcast_shapes(*(r.shape for r in raws if isinstance(r, np.ndarray)))  # refuses in PyTorch's words
                raise
        one = self._run(xp, op, tuple([_one_element(r) for r in raws]), inputs, params)
        shape = broadcast_shapes(*(r.shape for r in raws if isinstance(r, np.ndarray)))
        return np.empty_like(meta, one.dtype, shape=None if shape == meta.shape else shape)

    def _run(self, xp: Any, op: Op, raws: tuple[Any, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        word = op.promote if op.promote.__class__ is str else op.promote(params)
        if word in _NATIVE:
            return op.run(xp, raws, params)
        narrow = next((r.dtype for r in raws if r is not None and r.dtype in dtypes.NARROW), None)
        if narrow is None:
            return op.run(xp, raws, params)
        pairs = zip(raws, inputs)
        exact = "exact" in op.of_numbers
        wide = tuple(
            [as_array(t, dtypes.wide(narrow)) if exact and is_number(t) else dtypes.widened(r) for r, t in pairs]
        )
        return dtypes.narrowed(op.run(xp, wide, params), narrow)

    def fit(self, g: Any, shape: tuple[int, ...], dtype: dtypes.dtype) -> Any:
        if g.__class__ is np.ndarray and g.dtype is dtype.numpy:
            have = g.shape
            if have == shape:
                return g
            if len(have) == 2 and have[1:] == shape and g.dtype.kind == "f":
                return column_sums(g)
        return cast(sum_to(g, shape), dtype)

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        ranks = [t.ndim - b if isinstance(t, Tensor) else 0 for t, b in zip(values, batched)]
        if 0 in ranks and len(values) > 1 and isinstance(op, Op):
            values = self._cast_scalars(op, values, batched, ranks)
        rank = max(ranks)
        return op.call(
            tuple([front(v, rank) if b and r != rank else v for v, b, r in zip(values, batched, ranks)]), params
        )

    def _cast_scalars(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], ranks: list[int]
    ) -> tuple[Any, ...]:
        """A 0-d example yields to the dtype of examples with axes; its batch, which has an axis, would not."""
        free = [
            (t, b, r)
            for n, t, b, r in zip(op.inputs, values, batched, ranks)
            if t is not None and n not in op.unpromoted
        ]
        tensors = [(t, r) for t, _, r in free if isinstance(t, Tensor)]
        if all(t.dtype is tensors[0][0].dtype for t, _ in tensors):
            return values
        want = dtypes.result_type(
            (t.dtype, "dim" if r else "zero") if isinstance(t, Tensor) else _operand(t) for t, _, r in free
        )
        small = [isinstance(t, Tensor) and b and not r for t, b, r in zip(values, batched, ranks)]
        return tuple(
            [cast(t, want) if s and n not in op.unpromoted else t for n, t, s in zip(op.inputs, values, small)]
        )


def is_number(t: Any) -> bool:
    """Neither a tensor nor absent."""
    return t is not None and not isinstance(t, Tensor)


def common_dtype(inputs: tuple[Any, ...]) -> dtypes.dtype:
    """PyTorch's result_type of tensors, numbers and absent inputs."""
    first = inputs[0]
    if isinstance(first, Tensor):
        raw = first.raw.dtype
        for t in inputs[1:]:
            if t.__class__ not in PLAIN or t.raw.dtype is not raw:
                break
        else:
            return first.dtype
    return dtypes.result_type(_operand(t) for t in inputs if t is not None)


def _operand(t: Any) -> tuple[dtypes.dtype, Any]:
    if isinstance(t, Tensor):
        return t.dtype, "dim" if t.ndim else "zero"
    return dtypes.scalar_dtype(t), "scalar"


def _as(t: Any, want: np.dtype[Any]) -> Any:
    if isinstance(t, Tensor):
        raw = t.raw
        return raw if raw.dtype == want else raw.astype(want, "C" if 0 in raw.strides else "K")
    return t if t is None else as_array(t, want)


def as_array(number: Any, want: np.dtype[Any]) -> Any:
    """A Python number as an array of a dtype; integers wrap around as PyTorch's do."""
    dtypes.refuse_huge(number)
    try:
        return np.asarray(number).astype(want)
    except (OverflowError, TypeError):
        raise RuntimeError("Overflow when unpacking long long") from None


def front(v: Any, rank: int) -> Any:
    """[B, *s] -> [B, 1, ..., 1, *s], so that s lines up with partners of that rank."""
    b, *s = shape_of(v)
    return v if len(s) == rank else call("view", v, shape=(b, *(1,) * (rank - len(s)), *s))


def spread(v: Any, batch: bool, size: int) -> Any:
    """A value with a batch axis in front: if it has none, the same for every example."""
    if batch or not isinstance(v, Tensor):
        return v
    return call("expand", call("unsqueeze", v, dim=0), size=(size, *v.shape))


class Reduction(Family):
    """Folds axes away. The parameter `dim` names them; None or () means all."""

    name = "reduction"

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        if not all(batched) or "dim" not in params:
            return None
        rank = len(shape_of(values[0])) - 1
        dim = shifted(params["dim"], rank)
        if rank:
            return op.call(values, {**params, "dim": dim})
        folded = {"keepdim": False} if "keepdim" in params else {}
        return op.call(tuple(as_column(v) for v in values), {**params, "dim": dim, **folded})


def shifted(dim: Any, rank: int) -> Any:
    """Axes of one example, as axes of the batch: all of them if `dim` names none. A 0-d example counts as one axis."""
    if isinstance(dim, int):
        return 1 + normalize_dim(dim, rank)
    if dim is None or len(dim) == 0:
        return tuple(range(1, max(rank, 1) + 1))
    return tuple([1 + d for d in normalize_dims(dim, rank)])


def as_column(v: Any) -> Any:
    """[B] -> [B, 1]: a batch of 0-d examples with an axis to work along."""
    return call("view", v, shape=(*shape_of(v), 1))


class Scan(Family):
    """Keeps the shape, works along the one axis `dim`."""

    name = "scan"

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        rank = len(shape_of(values[0])) - 1
        if not all(batched) or not isinstance(params.get("dim"), int):
            return None
        dim = shifted(params["dim"], rank)
        if rank:
            return op.call(values, {**params, "dim": dim})
        result = op.call(tuple(as_column(v) for v in values), {**params, "dim": dim})
        flat = [call("view", r, shape=(size,)) for r in (result if op.outs is not None else (result,))]
        return flat[0] if op.outs is None else tuple(flat)


class ViewFamily(Family):
    """Moves elements, changes none: the result shares memory with the input.

    Under vmap the parameters of one example become those of the batch by their names: `dim`, `dim0`, `dim1` and `dims`
    name axes; ops whose parameters mean something else declare `vmap=` themselves.
    """

    name = "view"
    is_view = True

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        (v,) = values
        rank = len(shape_of(v)) - 1
        if rank == 0 and params:
            return self._of_scalars(op, v, size, params)
        moved = {n: shifted(p, rank) if n in _AXES and p is not None else p for n, p in params.items()}
        return op.call((v,), moved)

    def _of_scalars(self, op: Op, v: Any, size: int, params: dict[str, Any]) -> Any:
        """Views of 0-d examples are few: the same again, or one more axis of size 1."""
        if size == 0:
            return None
        one = op.call((call("select", v, dim=0, index=0),), params)
        if op.outs is not None:
            return None
        return call("view", v, shape=(size, *shape_of(one)))

    def one_of_many(self, op: Op, g: Any, picked: int, known: dict[str, Any]) -> Any:
        """A cotangent of one output of a view op with several, as one of the input."""
        (name,) = op.pulls
        keeps = op.pulls[name].keeps
        shape = known[f"{name}_shape"]
        outline = np.broadcast_to(np.zeros((), np.bool_), shape)
        parts = op.run(np, (outline,), {p: known[p] for p in op.params if p != name})
        zeros = [
            call("new_zeros", g, size=p.shape) if isinstance(g, Tensor) else np.zeros(p.shape, g.dtype) for p in parts
        ]
        zeros[picked] = g
        return op.pulls[name].fn(tuple(zeros), *(known[k] for k in keeps))


_AXES = frozenset(("dim", "dim0", "dim1", "dim2", "dims"))


class Alias(Family):
    """The same memory, cut from the graph: shares the version counter, but is no view that autograd follows."""

    name = "alias"
    shares = True

    def vmap(
        self, op: Op, values: tuple[Any, ...], batched: tuple[bool, ...], size: int, params: dict[str, Any]
    ) -> Any:
        return op.call(values, params)


class Contraction(Family):
    """Sums products over shared axes; dtypes must agree."""

    name = "contraction"


class Indexing(Family):
    """Moves elements by computed positions."""

    name = "indexing"


class Fused(Family):
    """Several steps in one op, for their speed together: layers. 16-bit floats are computed with in 32 bits."""

    name = "fused"

    def prepare(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([dtypes.widened(r) for r in Family.prepare(self, op, inputs, params)])

    def compute(self, xp: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        result = Family.compute(self, xp, op, inputs, params)
        narrow = inputs[0].raw.dtype
        if narrow not in dtypes.NARROW:
            return result
        if op.outs is None:
            return result.astype(narrow)
        if not op.spelled or any([t is not None and t.raw.dtype not in dtypes.NARROW for t in inputs[1:]]):
            return (result[0].astype(narrow), *result[1:])  # beside 32-bit parameters, and unseen, the rest is precise
        return tuple([r.astype(narrow) for r in result])


def _one_element(r: Any) -> Any:
    """Something with elements, few, in the place of an array without."""
    return np.ones((1,) * r.ndim, r.dtype.type) if isinstance(r, np.ndarray) else r


def is_hollow(r: Any) -> bool:
    """An array without elements (backends.meta)."""
    return r.__class__ is not np.ndarray and hasattr(r, "home")


class Creation(Family):
    """Makes tensors from nothing."""

    name = "creation"


class Random(Family):
    """Draws from a generator."""

    name = "random"


_bind: list[Callable[[Op], OpFunction]] = []


def declare(forward: Callable[..., Any], family: Family, facts: dict[str, Any]) -> OpFunction:
    """Make the op; the binder (autograd.bind) gives it its functions."""
    op = Op(forward, family, **facts)
    return _bind[0](op)


def set_binder(bind: Callable[[Op], OpFunction]) -> None:
    """Called once by the module that turns declarations into functions."""
    _bind[:] = [bind]


elementwise = Elementwise().decorate
reduction = Reduction().decorate
scan = Scan().decorate
view = ViewFamily().decorate
sharing = Alias().decorate
contraction = Contraction().decorate
indexing = Indexing().decorate
random = Random().decorate
general = Family().decorate
fused = Fused().decorate
