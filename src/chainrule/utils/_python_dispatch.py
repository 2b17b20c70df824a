"""PyTorch's `torch.utils._python_dispatch`: blocks in which a mode answers every op below autograd."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from chainrule.core.ambient import THREAD, here, leave, put, swapped
from chainrule.core.tensor import Tensor

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode:
    """A block in which every op is asked about, below autograd: override `__torch_dispatch__`.

    with MyMode():
        y = (x * 2).sum()  # MyMode().__torch_dispatch__(torch.ops.aten.mul.Tensor, (), (x, 2), {}), and so on
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        state = here()
        put(state.but(dispatch=(*state.dispatch, self)))
        return self

    def __exit__(self, *exception: object) -> None:
        inside = THREAD.record
        try:
            leave(inside, "dispatch")
        except BaseException:  # Ctrl-C, just then
            leave(inside, "dispatch")
            raise

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance (the old way to enter a mode)."""
        return cls(*args, **kwargs)


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    modes = here().dispatch
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """All modes, the innermost last."""
    return list(here().dispatch)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A block without the modes around it."""
    modes = list(here().dispatch)
    with swapped(dispatch=()):
        yield modes


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """A block without the innermost mode."""
    *rest, mode = here().dispatch
    with swapped(dispatch=tuple(rest)):
        yield mode


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Can the tensor be taken apart into the tensors it is made of, and made again?"""
    kind = type(t)
    return isinstance(t, Tensor) and kind is not Tensor and _has_parts(kind)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class."""
    return issubclass(t, Tensor) and t is not Tensor and _has_parts(t)


def _has_parts(kind: type) -> bool:
    return hasattr(kind, "__tensor_flatten__") and hasattr(kind, "__tensor_unflatten__")
