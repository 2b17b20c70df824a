"""Reverse-mode transforms: vjp, grad, grad_and_value. Each opens a `Level`, runs the function there, and pulls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrule.autograd.engine import run
from chainrule.autograd.node import Freed, accumulator
from chainrule.autograd.views import refresh
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call
from chainrule.core.tensor import LEAF, Tensor
from chainrule.core.tree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from chainrule.func.interpreters import Level, lowered_aux
from chainrule.func.leveled import Wrapped

__all__ = ["Argnums", "check_outputs", "grad", "grad_and_value", "lifted", "normalized", "vjp", "vjp_of"]

Argnums = int | tuple[int, ...]


def lifted(level: Level, tree: Any) -> Any:
    """A tree whose tensors are constants of the level: the function may change them in place."""
    return tree_map(level.lift, tree)


def _lowered(level: Level, tree: Any) -> Any:
    return tree_map(lambda t: lowered_aux(level, t), tree)


def _edge(level: Level, t: Any) -> Any:
    """Where a gradient of a result goes in this level's graph; None for constants of the level."""
    if not (t.__class__ is Wrapped and t.level is level):
        return None
    if t.viewed is not None:
        refresh(t)
    return accumulator(t) if t.edge is LEAF else t.edge


def pull(level: Level, edges: list[Any], gs: list[Any], leaves: list[Wrapped], keep: bool) -> list[Tensor]:
    """The cotangents of the leaves, as tensors of the level below; zeros where nothing arrived."""
    roots = [(e, g) for e, g in zip(edges, gs) if e is not None]
    wanted: dict[Any, Any] = {(accumulator(x), 0): None for x in leaves}
    if roots:
        starts, cotangents = zip(*roots)
        run(starts, cotangents, tensors=False, keep=keep, freed=Freed(None, 0), wanted=wanted)
    found = [wanted[accumulator(x), 0] for x in leaves]
    return [call("zeros_like", x.raw) if g is None else g for x, g in zip(leaves, found)]


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`func(*primals)` and the function that maps a cotangent of the output to cotangents of the primals."""
    return vjp_of(func, primals, tuple(range(len(primals))), has_aux)


def vjp_of(func: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...], has_aux: bool) -> Any:
    """`vjp` with respect to some of the arguments; the others too become tensors of the level."""
    level = Level()
    primals = tuple([args[a] for a in argnums])
    flat, spec = tree_flatten(primals)
    _check_tensors(flat, "vjp", "primals")
    with level.entered():
        leaves = [level.leaf(x) for x in flat]
        replaced = dict(zip(argnums, tree_unflatten(leaves, spec)))
        out = func(*[replaced[i] if i in replaced else lifted(level, a) for i, a in enumerate(args)])
        aux = None
        if has_aux:
            out, aux = _with_aux(out, "vjp(f, *primals)")
        outs, out_spec = tree_flatten(out)
        check_outputs(outs, out, "vjp(f, *primals)")
        edges = [_edge(level, t) for t in outs]
    values = [level.lower(t) for t in outs]

    def pullback(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        gs, given_spec = tree_flatten(given)
        if given_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {treespec_pprint(given_spec)}, primal output: {treespec_pprint(out_spec)}"
            )
        for at, (g, v) in enumerate(zip(gs, values)):
            if tuple(g.shape) != tuple(v.shape):
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{at}] has a shape of {g.shape} and output[{at}] "
                    f"has a shape of {v.shape}."
                )
        return tree_unflatten(pull(level, edges, gs, leaves, retain_graph), spec)

    answer = tree_unflatten(values, out_spec)
    return (answer, pullback, _lowered(level, aux)) if has_aux else (answer, pullback)


def _check_tensors(flat: list[Any], api: str, argname: str) -> None:
    if not flat:
        raise RuntimeError(f"{api}(f, *{argname}): Expected {argname} to be non-empty, got: {tuple(flat)}")
    _check_leaves(flat)


def _check_leaves(flat: list[Any]) -> None:
    """What a gradient may be taken with respect to."""
    for x in flat:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if x.dtype.category < FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")


def check_outputs(outs: list[Any], out: Any, call: str) -> None:
    """What a differentiated function may return; `call` is how its transform was called."""
    if not outs or out is None:
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {out})")
    for t in outs:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(t)}")


def _with_aux(out: Any, api: str) -> tuple[Any, Any]:
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return out


def normalized(argnums: Argnums, count: int) -> Argnums:
    """Argument numbers, negatives resolved and checked."""
    if isinstance(argnums, int):
        return _one_argnum(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    for a in argnums:
        if not isinstance(a, int):
            raise RuntimeError(f"argnum must be int, got: {type(a)}")
    found = tuple(_one_argnum(a, count) for a in argnums)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _one_argnum(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (gradient, value), or (gradient, (value, aux))."""

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        at = normalized(argnums, len(args))
        chosen = args[at] if isinstance(at, int) else tuple(args[a] for a in at)
        flat, spec = tree_flatten(chosen)
        _check_leaves(flat)
        with level.entered():
            leaves = [level.leaf(x) for x in flat]
            inner = tree_unflatten(leaves, spec)
            replaced = {at: inner} if isinstance(at, int) else dict(zip(at, inner))
            rest = {i: lifted(level, a) for i, a in enumerate(args) if i not in replaced}
            out = func(*[replaced[i] if i in replaced else rest[i] for i in range(len(args))], **lifted(level, kwargs))
            aux = None
            if has_aux:
                out, aux = _with_aux(out, "grad_and_value(f)(*args)")
            _check_scalar(out)
            edge = _edge(level, out)
            if edge is not None and out.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
        value = level.lower(out)
        found = pull(level, [edge], [None if edge is None else call("ones_like", value)], leaves, keep=False)
        gradient = tree_unflatten(found, spec)
        return (gradient, (value, _lowered(level, aux))) if has_aux else (gradient, value)

    return both


def _check_scalar(out: Any) -> None:
    if not isinstance(out, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(out)}")
    if out.ndim != 0:
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. "
            "Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func` with respect to the chosen arguments."""

    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient
