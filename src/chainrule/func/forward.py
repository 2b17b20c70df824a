"""Forward-mode transform: jvp. A `Level` whose inputs carry tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.autograd import forward_ad
from chainrule.autograd.forward import set_tangent, tangent_of
from chainrule.autograd.tangents import check_size
from chainrule.backends.cpu import memory
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.core.tree import tree_flatten, tree_map, tree_unflatten
from chainrule.func.interpreters import Level, lowered_aux
from chainrule.func.reverse import check_outputs, lifted

__all__ = ["jvp", "jvp_of"]


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`func(*primals)` and the directional derivative along `tangents`."""
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(
    func: Callable[..., Any], primals: Any, tangents: Any, given: tuple[Any, Any] | None, strict: bool, has_aux: bool
) -> Any:
    """`jvp`; `given` is (args, argnums) where the primals are only some of the arguments."""
    if not isinstance(primals, tuple):
        raise RuntimeError(_not_a_tuple("primals"))
    spec, tangent_spec = tree_flatten(primals)[1], tree_flatten(tangents)[1]
    if spec != tangent_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {tangent_spec}"
        )
    flat, ts = _checked(primals, "primals"), _checked(tangents, "tangents")
    for x, t in zip(flat, ts) if given is None else ():
        if x.raw.__class__ is t.raw.__class__ is np.ndarray and x.raw.strides != t.raw.strides:
            memory.refuse_overlap(x.raw)  # the tangent would be laid out like the primal
    level = Level(grad=False, dual=True)
    with level.entered():
        duals = [_dual(level, x, t) for x, t in zip(flat, ts)]
        whole = tree_unflatten(duals, spec)
        if given is not None:
            replaced = dict(zip(given[1], whole))
            whole = [replaced[i] if i in replaced else lifted(level, a) for i, a in enumerate(given[0])]
        out = func(*whole)
        aux = None
        if has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise RuntimeError(
                    "jvp(f, primals, tangents): output of function f should be a tuple: "
                    "(output, aux) if has_aux is True"
                )
            out, aux = out
        outs, out_spec = tree_flatten(out)
        check_outputs(outs, out, "jvp(f, primals, tangents)")
        pushed = [tangent_of(t) if level.owns(t) else None for t in outs]
    values = [_apart(level, t, flat) for t in outs]
    answers = [_tangent(level, t, v, strict) for t, v in zip(pushed, values)]
    result = (tree_unflatten(values, out_spec), tree_unflatten(answers, out_spec))
    return (*result, tree_map(lambda t: lowered_aux(level, t), aux)) if has_aux else result


def _apart(level: Level, t: Tensor, primals: list[Any]) -> Tensor:
    """An output; where it is a tensor that was there before, another one over its memory."""
    value: Tensor = level.lower(t)
    return call("alias", value) if value is t or any([value is x for x in primals]) else value


def _not_a_tuple(name: str) -> str:
    return f"jvp(f, primals, tangents): Expected {name} to be a tuple. E.g. it should be valid to call f(*primals)."


def _checked(given: Any, name: str) -> list[Any]:
    flat = tree_flatten(given)[0]
    if not flat:
        raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.")
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(x)} among them"
            )
    return flat


def _dual(level: Level, x: Tensor, t: Tensor) -> Tensor:
    check_size(x, t)
    for name, v in (("primal", x), ("tangent", t)):
        if v.dtype.category < FLOAT:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {v.dtype}")
    dual = level.wrap(x)
    set_tangent(dual, level.wrap(t), level.depth)
    return dual


def _tangent(level: Level, tangent: Tensor | None, value: Tensor, strict: bool) -> Tensor:
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        return call("zeros_like", value)  # type: ignore[no-any-return]
    return level.lower(tangent)  # type: ignore[no-any-return]


def _opened() -> Level:
    """The level of a `forward_ad.dual_level()` that is entered inside another transform."""
    return Level(grad=False, dual=True)


forward_ad.LEVELS[:] = [_opened]
