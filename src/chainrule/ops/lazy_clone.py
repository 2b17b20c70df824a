"""A clone that is made when one of the two is written."""

from __future__ import annotations

from typing import Any

from chainrule.autograd.versions import BEFORE_WRITE
from chainrule.backends.cpu import lazy
from chainrule.core.family import general
from chainrule.core.op import Array
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.storages import bottom, own_memory

__all__ = ["is_lazy"]


@general(
    name="_lazy_clone", spelled="fm", linear=True, samples=samples(real, [((3, 4),), ((),)]),
    vmap=lambda values, batched, size, params: lazy_clone.public(values[0]),  # type: ignore[has-type]
)  # fmt: skip
def lazy_clone(xp: Any, input: Array) -> Array:
    """A copy that shares the memory until it or the original is written; gradients flow through."""
    if own_memory not in BEFORE_WRITE:
        BEFORE_WRITE.append(own_memory)
    return lazy.copied_lazily(input)


lazy_clone.vjp(input=lambda g: g)


def is_lazy(t: Tensor) -> bool:
    """Does a lazy copy still share the memory of `t`?"""
    return lazy.is_lazy(bottom(t))
