"""The same memory without its history, and the same values in new memory."""

from __future__ import annotations

from typing import Any

from chainrule.backends.cpu import memory
from chainrule.core import shape as shapes
from chainrule.core.family import general, sharing
from chainrule.core.layout import contiguous_format as CONTIGUOUS
from chainrule.core.layout import memory_format
from chainrule.core.layout import preserve_format as PRESERVE
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor

__all__ = ["clone", "contiguous", "detach"]


@sharing(name="detach", spelled="fm", samples=samples(real, [((3, 4),), ((),)]))
def detach(xp: Any, input: Array) -> Array:
    """The same memory, cut from the graph."""
    return input


def _title(form: Any) -> str:
    """A memory format as PyTorch's errors write it: ChannelsLast."""
    return "".join([word.capitalize() for word in str(form).removeprefix("torch.").split("_")])


def _batch_clone(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    form = params["memory_format"]
    if form is not None and form is not PRESERVE and form is not CONTIGUOUS:
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format "
            f"or torch.contiguous_format (got {_title(form)})"
        )
    return clone.public(values[0], memory_format=form)


@general(spelled="fm", linear=True, samples=samples(real, [((3, 4),), ((),)]), vmap=_batch_clone)
def clone(xp: Any, input: Array, *, memory_format: Any = None) -> Array:
    """A copy with its own memory; gradients flow through."""
    if memory_format is None or memory_format is PRESERVE:
        return input.copy("K") if 0 not in input.strides or input.flags.c_contiguous else _densely(input)
    return laid_out(input, memory_format)


def _densely(input: Any) -> Any:
    """A copy of something expanded, with the order of axes that PyTorch gives it."""
    return memory.relaid(input, shapes.dense_strides(input.shape, memory.element_strides(input)))


def laid_out(input: Any, want: memory_format) -> Any:
    """A copy in a memory format."""
    if want is CONTIGUOUS:
        return input.copy("C")
    return memory.relaid(input, shapes.strides_for(input.shape, want))


clone.vjp(input=lambda g: g)


@composite("m", quick=True)
def contiguous(self: Tensor, *, memory_format: Any = CONTIGUOUS) -> Tensor:
    """The tensor itself if its elements follow one another in memory, else a copy where they do."""
    if memory_format is PRESERVE and not self.is_contiguous():
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is PRESERVE:
        return self
    return self if self.is_contiguous(memory_format=memory_format) else clone(self, memory_format=memory_format)
