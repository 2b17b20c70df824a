"""`vmap`: a function of one example, as a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from chainrule.autograd import api
from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.core.tree import broadcast_to_and_flatten, tree_flatten, tree_unflatten
from chainrule.func.interpreters import Vmap

__all__ = ["mapped_over", "spread_dims", "vmap", "wrapped_example"]

Dims = Any  # an int, None, or a tree of them


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | Literal["all"] | None = None,
) -> Callable[..., Any]:
    """Map `func` over an axis of its inputs: as a loop over examples would, computed on the whole batch."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not (chunk_size == "all" or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    return mapped_over(func, in_dims, out_dims, randomness, chunk_size)


def mapped_over(
    func: Callable[..., Any], in_dims: Dims, out_dims: Dims, randomness: str, chunk_size: Any = None
) -> Callable[..., Any]:
    """`vmap`; with the randomness "never", as the derivatives use it: one draw for all would be no derivative."""

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        flat, dims, spec = _inputs(func, in_dims, args)
        size = _batch_size(flat, dims)
        if chunk_size is None or chunk_size == "all":
            return _run(func, flat, dims, spec, kwargs, out_dims, size, randomness)
        return _in_chunks(func, flat, dims, spec, kwargs, out_dims, size, randomness, chunk_size)

    return mapped


def _name(func: Any) -> str:
    return getattr(func, "__name__", repr(func))


def _inputs(func: Any, in_dims: Dims, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], Any]:
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
            f"nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = spread_dims(in_dims, args)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
            f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return flat, [_checked_dim(func, in_dims, x, d) for x, d in zip(flat, dims)], spec


def spread_dims(dims: Dims, tree: Any) -> list[Any] | None:
    """One entry of `dims` per leaf of `tree`; None if their structures do not match."""
    spec = tree_flatten(tree)[1]
    return broadcast_to_and_flatten(dims, spec)


def _checked_dim(func: Any, in_dims: Dims, x: Any, d: Any) -> Any:
    head = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if d is None:
        return None
    if not isinstance(d, int):
        raise ValueError(f"{head}Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{head}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    if not -x.ndim <= d < x.ndim:
        raise ValueError(
            f"{head}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so expected "
            f"in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
        )
    return d % x.ndim


def _batch_size(flat: list[Any], dims: list[Any]) -> int:
    sizes = [x.shape[d] for x, d in zip(flat, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over: every in_dim was None")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def _run(
    func: Any, flat: list[Any], dims: list[Any], spec: Any, kwargs: Any, out_dims: Dims, size: int, randomness: str
) -> Any:
    level = Vmap(size, randomness)
    batched = [x if d is None else wrapped_example(level, x, d) for x, d in zip(flat, dims)]
    with level.entered():
        out = func(*tree_unflatten(batched, spec), **kwargs)
    if isinstance(out, Tensor) and out_dims.__class__ is int:
        return _placed(level, out, out_dims, func)
    outs, out_spec = tree_flatten(out)
    positions = _out_positions(func, out_dims, out)
    return tree_unflatten([_placed(level, t, p, func) for t, p in zip(outs, positions)], out_spec)


def wrapped_example(level: Vmap, x: Tensor, d: int) -> Tensor:
    """An input as one example; a custom Function's own rule is told where the user had the batch."""
    if d == 0:
        return level.wrap(x)  # type: ignore[no-any-return]
    t: Tensor = level.wrap(call("movedim", x, source=d, destination=0))
    t.__dict__["given"] = (x, d)
    return t


def _out_positions(func: Any, out_dims: Dims, out: Any) -> list[Any]:
    for p in tree_flatten(out_dims)[0]:
        if not (p is None or isinstance(p, int)):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )
    if isinstance(out, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    found = spread_dims(out_dims, out)
    if found is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has "
            f"structure {tree_flatten(out)[1]}."
        )
    return found


def _placed(level: Vmap, t: Any, position: Any, func: Any) -> Any:
    """A result with its batch where it was asked for."""
    if position is None:
        if level.owns(t):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return t
    if not isinstance(t, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(t)}. Did you mean to "
            "set out_dims= to None for output?"
        )
    if level.owns(t):
        return t.raw if position == 0 else call("movedim", t.raw, source=0, destination=position)
    raw = call("expand", call("unsqueeze", t, dim=0), size=(level.size, *t.shape))
    return raw if position == 0 else call("movedim", raw, source=0, destination=position)


def _in_chunks(
    func: Any, flat: list[Any], dims: list[Any], spec: Any, kwargs: Any, out_dims: Dims, size: int, randomness: str,
    chunk: int,
) -> Any:  # fmt: skip
    """A few examples at a time; with randomness "same" every chunk draws the same numbers."""
    parts = []
    state = call("get_rng_state") if randomness == "same" else None
    for start in range(0, size, chunk):
        length = min(chunk, size - start)
        if state is not None:
            call("set_rng_state", state)
        piece = [x if d is None else call("narrow", x, dim=d, start=start, length=length) for x, d in zip(flat, dims)]
        parts.append(_run(func, piece, dims, spec, kwargs, out_dims, length, randomness))
    leaves = [tree_flatten(p)[0] for p in parts]
    out_spec = tree_flatten(parts[0])[1]
    positions = _out_positions(func, out_dims, parts[0])
    joined = [
        column[0] if p is None else call("cat", list(column), dim=p) for column, p in zip(zip(*leaves), positions)
    ]
    return tree_unflatten(joined, out_spec)


def _over_cotangents(fn: Callable[..., Any], gs: list[Any]) -> Any:
    """vmap as `autograd.grad(is_grads_batched=True)` uses it: absent results stay None."""
    level = Vmap(gs[0].shape[0], "never")
    with level.entered():
        found = fn(*(level.wrap(g) for g in gs))
    return tuple(None if t is None else _placed(level, t, 0, fn) for t in found)


api.BATCHED[:] = [_over_cotangents]
