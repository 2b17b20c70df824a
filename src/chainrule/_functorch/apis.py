"""vmap by a number of chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.tree import tree_flatten
from chainrule.func.vmap import spread_dims, vmap

__all__ = ["chunk_vmap", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """`vmap` in so many steps: more of them need less memory."""

    def mapped(*args: Any, **kwargs: Any) -> Any:
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        dims = spread_dims(in_dims, args) if isinstance(in_dims, (int, tuple)) else None
        flat = tree_flatten(args)[0]
        sizes = [x.shape[d] for x, d in zip(flat, dims or ()) if d is not None]
        step = max(-(-sizes[0] // chunks), 1) if sizes else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=step)(*args, **kwargs)

    return mapped
