"""PyTorch's `torch._C._functorch`: the interpreters of the transforms, and their tensors, by hand."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from chainrule.config import settings
from chainrule.core.ambient import here, under
from chainrule.core.family import call
from chainrule.core.tensor import FOREIGN, Tensor
from chainrule.func.interpreters import Level, Vmap
from chainrule.func.leveled import Batched, Wrapped

__all__ = [
    "CInterpreter", "TransformType", "current_level", "dlevel", "get_dynamic_layer_stack_depth",
    "get_interpreter_stack", "get_unwrapped", "is_batchedtensor", "is_dead_tensor_wrapper",
    "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "maybe_current_level", "maybe_get_bdim", "maybe_get_level",
    "peek_interpreter_stack", "pop_dynamic_layer_stack_and_undo_to_depth", "reshape_dim_into", "reshape_dim_outof",
    "unwrap_if_dead",
]  # fmt: skip


class TransformType(Enum):
    """What an interpreter does."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class CInterpreter:
    """An interpreter of the stack, as rules of higher-order operators are told of it."""

    def __init__(self, layer: Any, level: int) -> None:
        self._layer, self._level = layer, level

    def key(self) -> TransformType:
        """Which transform it belongs to."""
        layer = self._layer
        if isinstance(layer, Level):
            return TransformType.Jvp if layer.dual else TransformType.Grad
        return TransformType.Vmap if isinstance(layer, Vmap) else TransformType.Torch

    def level(self) -> int:
        """Its place in the stack, counted from 1."""
        return self._level

    def lower(self) -> AbstractContextManager[None]:
        """A block that runs on the level below."""
        return under(self._layer.before if isinstance(self._layer, Level) else here().but(stack=here().stack[:-1]))

    def batchSize(self) -> int:
        """How many examples a vmap has."""
        return self._layer.size  # type: ignore[no-any-return]

    def randomness(self) -> str:
        """What a vmap does with random ops."""
        return self._layer.randomness  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------- the stack


def get_interpreter_stack() -> list[CInterpreter] | None:
    """All interpreters, the innermost last; None where there is none."""
    return [CInterpreter(layer, at) for at, layer in enumerate(here().stack, 1)] or None


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost interpreter."""
    stack = here().stack
    return CInterpreter(stack[-1], len(stack)) if stack else None


def get_dynamic_layer_stack_depth() -> int:
    return len(here().stack)


def maybe_current_level() -> int | None:
    """The depth of the stack; None outside transforms."""
    return len(here().stack) or None


def current_level() -> int:
    """The depth of the stack; only inside transforms."""
    depth = len(here().stack)
    if not depth:
        raise RuntimeError("current_level: no transform is active")
    return depth


_OPENED: dict[Any, AbstractContextManager[Any]] = {}  # interpreters opened by hand


def _opened(layer: Any) -> int:
    block = layer.entered()
    block.__enter__()
    _OPENED[layer] = block
    return len(here().stack)


def _closed(kind: Any, dual: bool | None = None) -> int:
    """Leave the innermost interpreter, which was opened by hand; where it stood."""
    stack = here().stack
    if not stack or stack[-1] not in _OPENED or not isinstance(stack[-1], kind):
        raise RuntimeError(f"the innermost interpreter is no {kind.__name__} that was opened by hand")
    if dual is not None and stack[-1].dual is not dual:
        raise RuntimeError("the innermost interpreter is of the other mode of differentiation")
    _OPENED.pop(stack[-1]).__exit__(None, None, None)
    return len(stack)


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    return _opened(Vmap(batch_size, randomness))


def _vmap_decrement_nesting() -> int:
    return _closed(Vmap)


def _grad_increment_nesting() -> int:
    return _opened(Level())


def _grad_decrement_nesting() -> int:
    return _closed(Level, dual=False)


def _jvp_increment_nesting() -> int:
    return _opened(Level(grad=False, dual=True))


def _jvp_decrement_nesting() -> int:
    return _closed(Level, dual=True)


def pop_dynamic_layer_stack_and_undo_to_depth(depth: int) -> None:
    """Leave interpreters that were opened by hand until so many are left."""
    while len(here().stack) > depth:
        _closed(object)


# --------------------------------------------------------------------------------------------------------- tensors


def is_batchedtensor(t: Any) -> bool:
    """Is it an example of a batch?"""
    return isinstance(t, Batched)


def is_gradtrackingtensor(t: Any) -> bool:
    """Does it belong to a grad, vjp or jvp?"""
    return isinstance(t, Wrapped)


def is_functorch_wrapped_tensor(t: Any) -> bool:
    """Does it belong to any transform?"""
    return t.__class__ in FOREIGN


def is_dead_tensor_wrapper(t: Any) -> bool:
    """Is its transform over?"""
    return t.__class__ in FOREIGN and not t.level.alive


def unwrap_if_dead(t: Any) -> Any:
    """What lies under a tensor whose transform is over; else itself."""
    return t.raw if is_dead_tensor_wrapper(t) else t


def dlevel(t: Any) -> int:
    """The level of a tensor of a grad, vjp or jvp: -1 if that is over; 0 for all others."""
    return maybe_get_level(t) if isinstance(t, Wrapped) else 0


def maybe_get_level(t: Any) -> int:
    """The level of a tensor of a transform; -1 if that is over, and for others."""
    return t.level.depth if t.__class__ in FOREIGN and t.level.alive else -1


def maybe_get_bdim(t: Any) -> int:
    """Where the batch lies in what is under the tensor: here always in front; -1 if there is none."""
    return 0 if isinstance(t, Batched) else -1


def get_unwrapped(t: Any) -> Tensor:
    """The tensor one level below."""
    if t.__class__ not in FOREIGN:
        raise RuntimeError("No wrappers present!")
    return t.raw  # type: ignore[no-any-return]


def _layer_at(level: int) -> Any:
    stack = here().stack
    if not 0 < level <= len(stack):
        raise RuntimeError(f"there is no transform at level {level}: {len(stack)} are active")
    return stack[level - 1]


def _add_batch_dim(t: Tensor, batch_dim: int, level: int) -> Tensor:
    layer = _layer_at(level)
    return layer.wrap(call("movedim", t, source=batch_dim, destination=0))  # type: ignore[no-any-return]


def _remove_batch_dim(t: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    if isinstance(t, Batched) and t.level.depth == level:
        return call("movedim", t.raw, source=0, destination=out_dim)  # type: ignore[no-any-return]
    spread = call("expand", call("unsqueeze", t, dim=0), size=(batch_size, *t.shape))
    return call("movedim", spread, source=0, destination=out_dim)  # type: ignore[no-any-return]


def _unwrap_batched(t: Tensor, level: int) -> tuple[Tensor, int | None]:
    batch = isinstance(t, Batched) and t.level.depth == level
    return (t.raw, 0) if batch else (t, None)


def _wrap_for_grad(t: Tensor, level: int) -> Tensor:
    return _layer_at(level).wrap(t)  # type: ignore[no-any-return]


def _unwrap_for_grad(t: Tensor, level: int) -> Tensor:
    return t.raw if isinstance(t, Wrapped) and t.level.depth == level else t


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """Fold one axis into another, which becomes that many times longer; `dst` counts without `src`."""
    rank = x.ndim
    src, dst = src % rank, dst % (rank - 1)
    moved = call("movedim", x, source=src, destination=dst)
    sizes = list(moved.shape)
    sizes[dst : dst + 2] = [sizes[dst] * sizes[dst + 1]]
    return call("reshape", moved, shape=tuple(sizes))  # type: ignore[no-any-return]


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """Split an axis into two, the first of size `size1`."""
    src %= x.ndim
    sizes = list(x.shape)
    if sizes[src] % size1:
        raise RuntimeError(f"an axis of size {sizes[src]} does not split into {size1} equal parts")
    sizes[src : src + 1] = [size1, sizes[src] // size1]
    return call("reshape", x, shape=tuple(sizes))  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------------------- ops without a batch rule


def _is_vmap_fallback_enabled() -> bool:
    return settings.vmap_loops


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """May vmap take an op without a batch rule example by example?"""
    settings.vmap_loops = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Let vmap say where it does."""
    settings.vmap_loop_warns = enabled
