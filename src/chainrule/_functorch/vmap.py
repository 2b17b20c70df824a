"""vmap whose results say where their batches are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.tree import tree_flatten, tree_unflatten
from chainrule.func.interpreters import Vmap
from chainrule.func.vmap import spread_dims, vmap, wrapped_example

__all__ = ["restore_vmap", "vmap"]


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """`func` over batches; returns what it returns and where the batches are in it, None for what has none."""

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        flat, spec = tree_flatten(args)
        dims = spread_dims(in_dims, args)
        if dims is None:
            raise ValueError(f"restore_vmap: in_dims={in_dims} does not have the structure of the inputs, {spec}")
        level = Vmap(batch_size, randomness)
        examples = [x if d is None else wrapped_example(level, x, d) for x, d in zip(flat, dims)]
        with level.entered():
            out = func(*tree_unflatten(examples, spec), **kwargs)
        outs, out_spec = tree_flatten(out)
        found = [t.__dict__.get("given", (t.raw, 0)) if level.owns(t) else (t, None) for t in outs]
        return tree_unflatten([t for t, _ in found], out_spec), tree_unflatten([d for _, d in found], out_spec)

    return inner
