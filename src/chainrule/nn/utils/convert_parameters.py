"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chainrule.core.tensor import Tensor
from chainrule.ops import names

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _same_device(param: Any, found: Any) -> Any:
    if found is not None and param.device != found:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return param.device


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other."""
    parts, device = [], None
    for param in parameters:
        device = _same_device(param, device)
        parts.append(param.view(-1))
    return names.cat(parts)  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give every parameter its part of the vector, as views of it."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    given: Any = vec
    device, at = None, 0
    for param in parameters:
        device = _same_device(param, device)
        size = param.numel()
        param.data = given[at : at + size].view_as(param).data
        at += size
