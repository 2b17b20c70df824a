"""Sparse tensors: made from places and values, taken apart, made dense; their sums and matrix products.

A sparse tensor is a tensor whose `raw` is a `SparseArray` (backends.sparse). Most ops know nothing of it: their
formula runs on the record, or refuses. What stands here is what only sparse tensors have, and where PyTorch's answer is
another than the formula's. COO is the one layout: docs/decisions/0005.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.autograd.cuts import cut_of
from chainrule.autograd.tasks import current
from chainrule.backends.sparse import SparseArray, Unsupported, from_dense, is_sparse, nothing, values_at
from chainrule.config import settings
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call, general
from chainrule.core.layout import layout as Layout
from chainrule.core.layout import sparse_coo, strided
from chainrule.core.op import REGISTRY, Array, OpFunction
from chainrule.core.public import attribute, composite, method, quiet_method, spell
from chainrule.core.shape import normalize_dims
from chainrule.core.tensor import CPU, Tensor, fresh
from chainrule.ops.create import dtype_from, made, place, read_size
from chainrule.ops.storages import bottom

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sum"]

Shape = tuple[int, ...]


def record_of(t: Tensor, name: str) -> SparseArray:
    """The record under a tensor, which must be sparse."""
    raw = bottom(t)
    if not is_sparse(raw):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")
    return raw  # type: ignore[no-any-return]


def _as_it_is(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    """What ops do whose forward is made for sparse arrays."""
    return op.run(np, tuple([t.raw if isinstance(t, Tensor) else t for t in inputs]), params)


def _op(**facts: Any) -> Callable[[Callable[..., Any]], OpFunction]:
    return general(spelled="", linear=True, sparse=_as_it_is, **facts)


def _places(x: Any) -> Any:
    """The indices of a sparse array, or of a sparse tensor."""
    return fresh(bottom(x).indices) if isinstance(x, Tensor) else x.indices


# ---------------------------------------------------------------------------------------------- parts and conversions


@_op(name="sparse_coo", node="SparseCooTensorWithDimsAndTensors")
def from_parts(xp: Any, indices: Array, values: Array, *, size: Shape, coalesced: bool | None = None) -> Array:
    """Elements in their places, zeros elsewhere."""
    return SparseArray(indices, values, size, coalesced)


@_op(name="sparse_values_at", node="SparseValuesAt")
def taken(xp: Any, input: Array, indices: Array) -> Array:
    """The elements, or dense blocks, at given places: the transpose of making a sparse tensor."""
    return values_at(input, indices)


from_parts.vjp(values=lambda g, indices: taken(g, indices))
taken.vjp(input=lambda g, indices, input_shape: from_parts(indices, g, size=tuple(input_shape)))


@_op(name="sparse_values", node="Values")
def values_of(xp: Any, input: Array) -> Array:
    """The elements that are written down."""
    if not input.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return input.values


values_of.vjp(
    input=lambda g, input, input_shape: from_parts(_places(input), g, size=tuple(input_shape), coalesced=True)
)


@_op(name="coalesce")
def coalesced(xp: Any, input: Array) -> Array:
    """Each place once, in ascending order."""
    return input.coalesce()


coalesced.vjp(input=lambda g: g)


@_op(name="sparse_mask")
def masked(xp: Any, input: Array, mask: Array) -> Array:
    """The elements of the input in the places of the mask."""
    return SparseArray(mask.indices, values_at(input, mask.indices), mask.shape, mask.coalesced)


@_op(name="sparse_to_dense", node="ToDense")
def dense(xp: Any, input: Array, *, masked_grad: bool = True) -> Array:
    """All elements; the gradient has those places that are written down, or all."""
    return input.todense() if is_sparse(input) else input


@_op(name="to_sparse", overload="whole")
def sparsified(xp: Any, input: Array, *, sparse_dim: int, whole: bool | None = None) -> Array:
    """What of a dense tensor is not zero."""
    return from_dense(input, sparse_dim)


def _mask_pull(g: Any, input: Any, mask: Any) -> Any:
    g = masked(g, mask)
    return g if is_sparse(bottom(input)) else dense(g)


def _dense_pull(g: Any, input: Any, masked_grad: bool) -> Any:
    if masked_grad:
        return masked(g, coalesced(input))
    return g if is_sparse(bottom(g)) else sparsified(g, sparse_dim=bottom(input).sparse_dim)


masked.vjp(input=_mask_pull)
dense.vjp(input=_dense_pull)
sparsified.vjp(input=lambda g: dense(g))


@method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements; a dense tensor itself."""
    if not is_sparse(bottom(self)):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return dense.public(self, masked_grad=masked_grad is not False)  # type: ignore[no-any-return]


@method
def coalesce(self: Tensor) -> Tensor:
    """Each place once, in ascending order; itself if it is so already."""
    return self if record_of(self, "coalesce").coalesced else coalesced.public(self)


@method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of this tensor in the places of a sparse one."""
    if not is_sparse(bottom(mask)):
        raise NotImplementedError(
            "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask must be sparse"
        )
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    return masked.public(self, mask)  # type: ignore[no-any-return]


def _refuse_layout(name: str, asked: Any) -> None:
    raise NotImplementedError(f"{name}: layout={asked!r}: sparse tensors here are torch.sparse_coo")


@method
def to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    """What of a tensor is not zero, as a sparse tensor; `sparse_dim` axes are sparse, the others dense."""
    if isinstance(sparse_dim, Layout):
        sparse_dim, layout = None, sparse_dim
    if layout not in (None, sparse_coo, strided):
        _refuse_layout("to_sparse()", layout)
    if blocksize is not None:
        raise RuntimeError(
            "dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is not supported"
        )
    if layout is strided:
        return to_dense(self)
    given = bottom(self)
    axes = self.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if is_sparse(given):
        if sparse_dim is not None and axes != given.sparse_dim:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not "
                "supported"
            )
        return self
    _check_sparse_dim(axes, self.ndim)
    return sparsified.public(self, sparse_dim=axes, whole=sparse_dim is None or None)  # type: ignore[no-any-return]


def _check_sparse_dim(axes: int, rank: int) -> None:
    if axes == 0 and rank:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= axes <= rank:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{rank}] range, but {axes} is given")


@method
def to_sparse_coo(self: Tensor) -> Tensor:
    """What of a tensor is not zero, as a sparse tensor."""
    return to_sparse(self)


def _other_layout(name: str, kind: Any) -> None:
    def convert(self: Tensor, *args: Any, **named: Any) -> Tensor:
        raise NotImplementedError(f"to_{name}(): layout={kind!r}: sparse tensors here are torch.sparse_coo")

    def make(*args: Any, **named: Any) -> Tensor:
        raise NotImplementedError(f"{name}_tensor(): layout={kind!r}: sparse tensors here are torch.sparse_coo")

    convert.__doc__ = make.__doc__ = f"Refused: there are no tensors of layout {kind!r}."
    convert.__name__, make.__name__ = f"to_{name}", f"{name}_tensor"
    spell(convert.__name__, convert, "m")
    spell(make.__name__, make, "f")


for _layout in (Layout._members[f"sparse_{_kind}"] for _kind in ("csr", "csc", "bsr", "bsc")):
    _other_layout(_layout.name, _layout)


# -------------------------------------------------------------------------------------------------------------- facts


def _has(name: str, doc: str, sparse: Any, otherwise: Any) -> None:
    def fact(self: Tensor) -> Any:
        raw = bottom(self)
        return sparse(self, raw) if is_sparse(raw) else otherwise(self, name)

    fact.__name__, fact.__doc__ = name, doc
    spell(name, fact, "m")


def _only_sparse(t: Tensor, name: str) -> Any:
    raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")


def _values_alone(t: Tensor, raw: Any) -> Tensor:
    found = fresh(raw.values)
    found.cut = cut_of(t, "_values")
    return found


_has("sparse_dim", "How many axes are sparse.", lambda t, raw: raw.sparse_dim, lambda t, _: 0)
_has("dense_dim", "How many axes are dense.", lambda t, raw: raw.ndim - raw.sparse_dim, lambda t, _: t.ndim)
_has("_dimI", "How many axes are sparse.", lambda t, raw: raw.sparse_dim, _only_sparse)
_has("_dimV", "How many axes are dense.", lambda t, raw: raw.ndim - raw.sparse_dim, _only_sparse)
_has("_nnz", "How many elements, or blocks, are written down.", lambda t, raw: raw.nnz, _only_sparse)
_has("is_coalesced", "Is each place named once, in ascending order?", lambda t, raw: raw.coalesced, _only_sparse)
_has("_indices", "The places, whatever their order.", lambda t, raw: fresh(raw.indices), _only_sparse)
_has("_values", "The elements, whatever their order, with no history.", _values_alone, _only_sparse)


def _is_sparse(self: Tensor) -> bool:
    """Is it stored as places and values?"""
    return is_sparse(bottom(self))


def _layout_of(self: Tensor) -> Layout:
    """How the elements are stored: torch.strided, or torch.sparse_coo."""
    return sparse_coo if is_sparse(bottom(self)) else strided


attribute("is_sparse", _is_sparse)
attribute("layout", _layout_of)


@method
def indices(self: Tensor) -> Tensor:
    """The places of the elements, one column each."""
    raw = record_of(self, "indices")
    if not raw.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return fresh(raw.indices)


@method
def values(self: Tensor) -> Tensor:
    """The elements that are written down."""
    record_of(self, "values")
    return values_of.public(self)  # type: ignore[no-any-return]


@quiet_method
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Believe that places ascend and none repeats (or that they do not)."""
    record_of(self, "_coalesced_").coalesced = coalesced
    return self


# ----------------------------------------------------------------------------------------------------------- creation


class check_sparse_tensor_invariants:
    """Check places and values of every sparse tensor that is made: a context manager, a decorator, or on and off."""

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Are they checked now?"""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Check no more."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state, check_sparse_tensor_invariants._on = self.is_enabled(), self.state

    def __exit__(self, *raised: object) -> None:
        assert self.saved_state is not None
        check_sparse_tensor_invariants._on, self.saved_state = self.saved_state, None

    def __call__(self, fn: Any) -> Any:
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return fn(*args, **kwargs)

        return checked


def _coo_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """indices, values, size: all, the first two, or the size alone."""
    given = dict(zip(("indices", "values", "size"), args))
    if len(args) == 1 and not isinstance(args[0], Tensor):
        given = {"size": args[0]}
    for name in ("indices", "values", "size"):
        if name in named:
            given[name] = named.pop(name)
    if ("indices" in given) is not ("values" in given) or not given:
        raise TypeError(
            "sparse_coo_tensor(): wants (indices, values), (indices, values, size) or (size) alone, got "
            + ", ".join(given)
        )
    return given.get("indices"), given.get("values"), given.get("size")


@composite("f")
def sparse_coo_tensor(
    *args: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None, **named: Any,
) -> Tensor:  # fmt: skip
    """A sparse tensor: `indices[:, i]` is the place of `values[i]`; a place may be named several times."""
    indices, values, size = _coo_arguments(args, named)
    if named:
        raise TypeError(f"sparse_coo_tensor() received an unexpected argument {next(iter(named))!r}")
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if place(device) is not CPU:
        raise NotImplementedError("sparse_coo_tensor(): device='meta': sparse tensors have elements")
    kind = None if dtype is None else dtype_from(dtype, "sparse_coo_tensor")
    if indices is None:
        shape = read_size((size,), "sparse_coo_tensor")
        t = made(nothing(shape, len(shape), np.empty(0, (kind or settings.default_dtype).numpy)))
        return t.requires_grad_(requires_grad)
    found = values if isinstance(values, Tensor) else call("tensor", values)
    found = found if kind is None else found.to(kind)
    found = found if found.ndim else found.reshape(1)
    where = (indices if isinstance(indices, Tensor) else call("tensor", indices)).detach().long()
    checks = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
    shape = _checked_size(bottom(where), bottom(found), size, checks, is_coalesced)
    if requires_grad and found.dtype.category < FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t = from_parts.public(where, found, size=shape, coalesced=is_coalesced)
    return t if t.requires_grad or not requires_grad else t.requires_grad_()  # type: ignore[no-any-return]


def _checked_size(indices: Any, values: Any, size: Any, thoroughly: bool, is_coalesced: bool | None) -> Shape:
    """The shape of a sparse tensor, where its parts fit together."""
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    k, nnz = indices.shape
    if nnz != len(values):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: {len(values)}"
        )
    low = indices.min(1) if nnz else np.zeros(k, np.int64)
    if size is None or thoroughly:
        for axis in np.flatnonzero(low < 0):
            raise RuntimeError(f"found negative index {low[axis]} for dim {axis}")
    high = indices.max(1) + 1 if nnz else np.zeros(k, np.int64)
    if size is None:
        return (*high.tolist(), *values.shape[1:])
    shape = read_size((tuple(size),), "sparse_coo_tensor")
    if len(shape) != k + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {k}, "
            f"dense_dim = {values.ndim - 1}"
        )
    if values.shape[1:] != shape[k:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *shape[k:]]}, got {list(values.shape)}")
    if thoroughly:
        _check_places(indices, shape, high, is_coalesced)
    return shape


def _check_places(indices: Any, shape: Shape, high: Any, is_coalesced: bool | None) -> None:
    for axis, (n, most) in enumerate(zip(shape, high)):
        if most > n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {axis}, size is {n} but found index {most - 1}"
            )
    flat = np.ravel_multi_index(tuple(indices), shape[: len(indices)]) if len(indices) else np.arange(0)
    if is_coalesced and not (flat[1:] > flat[:-1]).all():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


# ------------------------------------------------------------------------------------------------- sums and products


def _sum_of_kinds(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    """A sparse tensor may be added to a dense one, in place with as much work as it has elements; not the reverse.

    Inside a backward pass cotangents of both kinds meet in either order.
    """
    a, b = inputs
    if is_sparse(getattr(a, "raw", None)) and not is_sparse(getattr(b, "raw", None)) and current() is None:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    raws = op.family.prepare(op, inputs, params)
    if into is not None and not is_sparse(into):
        ufunc = np.add if op.name == "add" else np.subtract
        return ufunc(into, raws[1] * params["alpha"], out=into)
    return op.run(np, raws, params)


def _formula(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    """What ops do whose formula runs on sparse arrays as it is."""
    return op.family.compute(np, op, inputs, params)


def _copied(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    return inputs[0].raw.copy()


def _any(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    raw = inputs[0].raw
    if params["dim"] is not None:
        raise Unsupported("any.dim")
    return np.asarray(raw.coalesce().values.any())


def _product(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], into: Any) -> Any:
    op.check(inputs, params)
    return np.matmul(inputs[0].raw, inputs[1].raw)


_FORMULAS = """
    addmm alias detach linalg_vector_norm linear_batch linear_batch_plain linear_rows linear_rows_plain mm_turned
    permute sum t transpose view_as_complex view_as_real
""".split()
_FORMS: dict[str, Any] = {
    "add": _sum_of_kinds, "sub": _sum_of_kinds, "clone": _copied, "any": _any, "mm": _product, "mv": _product,
    **dict.fromkeys(_FORMULAS, _formula),
}  # fmt: skip
for _name, _form in _FORMS.items():
    REGISTRY[_name].sparse = _form


@_op(name="sparse_sum")
def summed(xp: Any, input: Array, *, dim: tuple[int, ...]) -> Array:
    """The sum over some axes; its gradient has the places of the input."""
    return np.add.reduce(input, dim)


def _sum_pull(g: Any, input: Any, dim: tuple[int, ...]) -> Any:
    input = coalesced(input)
    raw = bottom(input)
    k = raw.sparse_dim
    kept = _places(input)[[a for a in range(k) if a not in dim]]
    g = taken(g, kept)
    for axis in sorted(a for a in dim if a >= k):
        g = call("unsqueeze", g, dim=1 + axis - k)
    g = call("expand", g, size=tuple(raw.values.shape))
    return from_parts(_places(input), g, size=raw.shape, coalesced=True)


summed.vjp(input=_sum_pull)


@_op(name="sparse_mm", node="SparseAddmm")
def multiplied(xp: Any, input: Array, mat2: Array) -> Array:
    """The product of a sparse matrix and another; the gradient of a sparse matrix has its places."""
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, input.shape))} and "
            f"{'x'.join(map(str, mat2.shape))})"
        )
    return np.matmul(input, mat2)


def _turned(x: Any) -> Any:
    return call("transpose", x, 0, 1) if isinstance(x, Tensor) else x.T


def _times(a: Any, b: Any) -> Any:
    return call("mm", a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else np.matmul(a, b)


def _like(g: Any, input: Any) -> Any:
    return masked(g, coalesced(input)) if is_sparse(bottom(input)) else g


multiplied.vjp(
    input=lambda g, input, mat2: _like(_times(g, _turned(mat2)), input),
    mat2=lambda g, input, mat2: _like(_times(_turned(input), g), mat2),
)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor over some axes, or all: sparse if a sparse axis is left."""
    record_of(input, "coalesce")
    t = input if dtype is None else input.to(dtype)
    if dim is None:
        return call("sum", values(coalesce(t)))  # type: ignore[no-any-return]
    axes = normalize_dims((dim,) if isinstance(dim, int) else tuple(dim), t.ndim)
    return summed.public(t, dim=tuple(axes))  # type: ignore[no-any-return]


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, one of them sparse at least; the gradient of a sparse one has its places."""
    if reduce is not None:
        raise NotImplementedError(f"torch.sparse.mm(): reduce={reduce!r}")
    return multiplied.public(mat1, mat2)  # type: ignore[no-any-return]


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), `mat1` sparse."""
    return mat * beta + mm(mat1, mat2) * alpha
