"""Derivatives of sampled functions, from the differences of neighbouring samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from chainrule.core import dtype as dtypes
from chainrule.core.family import call
from chainrule.core.public import composite
from chainrule.core.shape import normalize_dim, normalize_dims
from chainrule.core.tensor import Tensor

__all__: list[str] = []

_NUMBERS = (bool, int, float, complex)


def _refuse(spacing: Any, dim: Any, edge_order: Any) -> NoReturn:
    given = {"spacing": spacing, "dim": dim, "edge_order": edge_order}
    got = ", ".join(["Tensor", *(f"{k}={type(v).__name__}" for k, v in given.items() if v is not None)])
    raise TypeError(
        f"gradient() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        " * (Tensor input, *, Number spacing = None, int dim = None, int edge_order = 1)\n"
        " * (Tensor input, *, tuple of Scalars spacing, tuple of ints dim, int edge_order = 1)\n"
        " * (Tensor input, *, tuple of Tensors spacing, tuple of ints dim, int edge_order = 1)\n"
    )


def _axes(input: Tensor, dim: Any) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input.ndim))
    return (normalize_dim(dim, input.ndim),) if isinstance(dim, int) else normalize_dims(tuple(dim), input.ndim)


def _check_samples(input: Tensor, axes: tuple[int, ...], edge_order: int) -> None:
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if any(input.shape[a] < edge_order + 1 for a in axes):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


def _check_count(input: Tensor, spacing: Any, dim: Any, axes: tuple[int, ...]) -> None:
    if len(spacing) == len(axes):
        return
    if dim is None:
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.ndim}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    raise RuntimeError(
        "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
        f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(axes)}."
    )


def _check_devices(spacing: Any) -> None:
    places = [s.device for s in spacing if isinstance(s, Tensor)]
    for place in places[1:]:
        if place != places[0]:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{places[0]} and {place}!"
            )


def _steps(spacing: Any) -> list[Any]:
    """For each axis a number, the distance of all neighbours, or a tensor, the distance of each pair."""
    if not any(isinstance(s, Tensor) for s in spacing):
        return list(spacing)
    for at, s in enumerate(spacing):
        if not isinstance(s, Tensor):
            raise TypeError(f"expected Tensor as element {at} in argument 1, but got {type(s).__name__}")
        if s.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{s.ndim} dimensions!"
            )
    return [call("diff", s) for s in spacing]


@composite("f")
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative along each axis of a function given by samples, with second order accuracy between the edges."""
    if not isinstance(input, Tensor):
        raise TypeError(f"gradient(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if isinstance(spacing, Tensor) and not spacing.ndim:
        spacing = spacing.item()
    if not isinstance(edge_order, int) or not isinstance(spacing, (*_NUMBERS, list, tuple, type(None))):
        _refuse(spacing, dim, edge_order)
    axes = _axes(input, dim)
    if not isinstance(spacing, (list, tuple)):
        spacing = [1 if spacing is None else spacing] * len(axes)
    elif not all(isinstance(s, (*_NUMBERS, Tensor)) for s in spacing):
        _refuse(spacing, dim, edge_order)
    _check_count(input, spacing, dim, axes)
    _check_devices(spacing)
    steps = _steps(spacing)
    _check_samples(input, axes, edge_order)
    return tuple([_slope(input, a, h, edge_order) for a, h in zip(axes, steps)])


def _slope(x: Any, axis: int, h: Any, edge_order: int) -> Tensor:
    last = x.shape[axis] - 1

    def part(first: int, count: int) -> Any:
        return call("narrow", x, axis, first, count)

    form = _uneven if isinstance(h, Tensor) else _even
    parts = form(part, h, last, edge_order, (1,) * (x.ndim - axis - 1))
    return call("cat", parts, dim=axis)  # type: ignore[no-any-return]


Part = Callable[[int, int], Any]


def _even(part: Part, h: Any, last: int, edge_order: int, _: Any) -> list[Any]:
    inner = (part(2, last - 1) - part(0, last - 1)) / (2.0 * h)
    if edge_order == 1:
        return [(part(1, 1) - part(0, 1)) / h, inner, (part(last, 1) - part(last - 1, 1)) / h]
    first = (part(0, 1) * -1.5 + part(1, 1) * 2.0 - part(2, 1) * 0.5) / h
    end = (part(last - 2, 1) * 0.5 - part(last - 1, 1) * 2.0 + part(last, 1) * 1.5) / h
    return [first, inner, end]


def _uneven(part: Part, h: Any, last: int, edge_order: int, trailing: Any) -> list[Any]:
    """By the neighbours' distances; `trailing` axes of size 1 line them up with their axis."""
    left, right = h[:-1].reshape(-1, *trailing), h[1:].reshape(-1, *trailing)
    span = left + right
    inner = (
        -right / (left * span) * part(0, last - 1)
        + (right - left) / (left * right) * part(1, last - 1)
        + left / (right * span) * part(2, last - 1)
    )
    if edge_order == 1:
        return [(part(1, 1) - part(0, 1)) / h[0], inner, (part(last, 1) - part(last - 1, 1)) / h[-1]]
    a, b = h[0], h[1]
    first = (
        -(a * 2.0 + b) / (a * (a + b)) * part(0, 1) + (a + b) / (a * b) * part(1, 1) - a / (b * (a + b)) * part(2, 1)
    )
    a, b = h[-2], h[-1]
    end = b / (a * (a + b)) * part(last - 2, 1) - (a + b) / (a * b) * part(last - 1, 1)
    return [first, inner, end + (b * 2.0 + a) / (b * (a + b)) * part(last, 1)]
