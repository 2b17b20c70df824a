"""Gradients kept from growing too large."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from chainrule.autograd.grad_mode import no_grad
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.reduce import vector_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]
F = TypeVar("F", bound=Callable[..., Any])


def _no_grad(fn: F) -> F:
    wrapped: F = no_grad()(fn)
    return wrapped


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) else list(given)


@_no_grad
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors, as if they were one vector."""
    found = _listed(tensors)
    norm_type = float(norm_type)
    if not found:
        return names.tensor(0.0)  # type: ignore[no-any-return]
    each = [vector_norm(t, norm_type) for t in found]
    total = vector_norm(names.stack(each), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total  # type: ignore[no-any-return]


@_no_grad
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients so that a total norm of `total_norm` becomes one of at most `max_norm`."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not grads:
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor)


@_no_grad
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together so that their norm is at most `max_norm`; returns what it was."""
    if not isinstance(parameters, Tensor):
        if not isinstance(parameters, list):
            parameters = list(parameters)
            if not parameters:
                warn("`parameters` is an empty generator, no gradient clipping will occur.")
    found = _listed(parameters)
    total = get_total_norm([p.grad for p in found if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under its old name."""
    warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of torch.nn.utils.clip_grad_norm_.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_no_grad
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Keep every element of every gradient within `clip_value` of zero."""
    for p in _listed(parameters):
        if p.grad is not None:
            p.grad.clamp_(-float(clip_value), float(clip_value))
