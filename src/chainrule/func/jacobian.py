"""Whole Jacobians: vmap of a pullback over the outputs' basis (jacrev), of a pushforward over the inputs'."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrule.core.family import call
from chainrule.core.shape import numel
from chainrule.core.tensor import FOREIGN, Tensor
from chainrule.core.tree import tree_flatten, tree_unflatten
from chainrule.func.forward import jvp_of
from chainrule.func.reverse import Argnums, normalized, vjp_of
from chainrule.func.vmap import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


def _chosen(args: tuple[Any, ...], argnums: Argnums) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The chosen positions, and the arguments there."""
    at = normalized(argnums, len(args))
    places = (at,) if isinstance(at, int) else at
    return places, tuple([args[p] for p in places])


def _check_real(flat: list[Any], api: str, what: str) -> None:
    for t in flat:
        if isinstance(t, Tensor) and t.dtype.is_complex:
            raise RuntimeError(
                f"{api}: Expected all {what} to be real but received complex tensor at flattened input idx: 0"
            )


def _basis(flat: list[Tensor], total: int, start: int, stop: int) -> list[Any]:
    """Rows start..stop of the standard basis of all tensors together, cut and shaped as each tensor."""
    parts, at = [], 0
    for t in flat:
        size = numel(tuple(t.shape))
        eye = call("eye", total, dtype=t.dtype, device=t.device) if total else call("zeros", (0, 0), dtype=t.dtype)
        rows = call(
            "narrow", call("narrow", eye, dim=0, start=start, length=stop - start), dim=1, start=at, length=size
        )
        part = call("reshape", rows, (stop - start, *t.shape))
        # inside a transform: as PyTorch makes it of the output, so that a batch of results has memory of its own
        parts.append(call("add", part, call("zeros_like", t)) if t.__class__ in FOREIGN else part)
        at += size
    return parts


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `func` by reverse mode: a tree of outputs, each a tree of inputs."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        places, primals = _chosen(args, argnums)
        flat, in_spec = tree_flatten(primals)
        _check_real(flat, "jacrev", "inputs")
        out, pull, *aux = vjp_of(functools.partial(func, **kwargs), args, places, has_aux)
        outs, out_spec = tree_flatten(out)
        _check_real(outs, "jacrev", "outputs")
        total = sum(numel(tuple(t.shape)) for t in outs)

        def pulled(*gs: Any) -> Any:
            return tree_flatten(pull(tree_unflatten(list(gs), out_spec)))[0]

        columns = _in_chunks(pulled, outs, total, chunk_size)
        rows = [_by_output(c, outs, tuple(x.shape)) for c, x in zip(columns, flat)]
        result = tree_unflatten([_inputs([r[i] for r in rows], in_spec, argnums) for i in range(len(outs))], out_spec)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _in_chunks(fn: Callable[..., Any], flat: list[Any], total: int, chunk: int | None) -> list[Any]:
    """`fn` mapped over the basis of `flat`; per result, all rows."""
    step = total if chunk is None else chunk
    if total == 0:
        return [call("zeros", (0, *r.shape), dtype=r.dtype) for r in fn(*(call("zeros_like", t) for t in flat))]
    parts = []
    for start in range(0, total, step):
        stop = min(start + step, total)
        rows = _basis(flat, total, start, stop)
        if chunk == 1:
            found = [call("unsqueeze", r, dim=0) for r in fn(*(call("squeeze_dim", b, dim=0) for b in rows))]
        else:
            found = vmap(fn)(*rows)
        parts.append(found)
    return [column[0] if len(column) == 1 else call("cat", list(column), dim=0) for column in zip(*parts)]


def _by_output(rows: Any, outs: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Rows of all outputs, cut by output: [*output shape, *input shape] each."""
    cut, at = [], 0
    for t in outs:
        size = numel(tuple(t.shape))
        cut.append(call("reshape", call("narrow", rows, dim=0, start=at, length=size), (*t.shape, *shape)))
        at += size
    return cut


def _inputs(parts: list[Any], in_spec: Any, argnums: Argnums) -> Any:
    whole = tree_unflatten(parts, in_spec)
    return whole[0] if isinstance(argnums, int) else whole


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The Jacobian of `func` by forward mode: a tree of outputs, each a tree of inputs."""

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        places, primals = _chosen(args, argnums)
        of_chosen = functools.partial(func, **kwargs)
        flat, in_spec = tree_flatten(primals)
        _check_real(flat, "jacfwd", "inputs")
        total = sum(numel(tuple(x.shape)) for x in flat)

        def pushed(*ts: Any) -> Any:
            found = jvp_of(of_chosen, primals, tree_unflatten(list(ts), in_spec), (args, places), False, has_aux)
            _check_real(tree_flatten(found[0])[0], "jacfwd", "outputs")
            return found[1:] if has_aux else (found[1],)

        dims = (0, None) if has_aux else (0,)
        tangents, *aux = vmap(pushed, out_dims=dims, randomness=randomness)(*_basis(flat, total, 0, total))
        outs, out_spec = tree_flatten(tangents)
        rows = [_by_input(t, flat) for t in outs]
        result = tree_unflatten([_inputs(r, in_spec, argnums) for r in rows], out_spec)
        return (result, aux[0]) if has_aux else result

    return jacobian


def _by_input(columns: Any, flat: list[Any]) -> list[Any]:
    """Columns of all inputs (the input's axis in front), cut by input: [*output shape, *input shape] each."""
    shape, last = tuple(columns.shape[1:]), call("movedim", columns, 0, -1)
    cut, at = [], 0
    for x in flat:
        size = numel(tuple(x.shape))
        part = call("narrow", last, dim=len(shape), start=at, length=size)
        cut.append(call("reshape", part, (*shape, *x.shape)))
        at += size
    return cut


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
