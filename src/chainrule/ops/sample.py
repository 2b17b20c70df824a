"""Images read at any position: grid_sample, and the grids of affine maps. Made of gathers and weights."""

from __future__ import annotations

from itertools import product
from typing import Any

from chainrule.core.dtype import int64
from chainrule.core.notices import warn
from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops import names

__all__ = ["affine_grid", "grid_sample"]

_CUBIC = -0.75  # PyTorch's parameter of the cubic kernel


def _steps(n: int, align_corners: bool, like: Any) -> Any:
    """Positions of n elements between -1 and 1: of their centres, or with corners on the ends."""
    if n <= 1:
        return names.zeros(n, dtype=like.dtype)
    steps = names.linspace(-1, 1, n, dtype=like.dtype)
    return steps if align_corners else steps * ((n - 1) / n)


@composite(spelled="n")
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Tensor:
    """The positions that an affine map sends those of an image of this size to."""
    if align_corners is None:
        _warn_corners("affine_grid")
    _check_theta(theta, size)
    axes = [_steps(n, bool(align_corners), theta) for n in reversed(size[2:])]
    space = tuple(size[2:])
    rank = len(space)
    columns = [
        axis.view(*(-1 if d == rank - 1 - i else 1 for d in range(rank))).expand(space) for i, axis in enumerate(axes)
    ]
    base = names.stack([*columns, names.ones(space, dtype=theta.dtype)], -1).view(1, -1, rank + 1)
    grid = names.bmm(base.expand(size[0], -1, -1), theta.transpose(1, 2))
    return grid.view(size[0], *space, rank)  # type: ignore[no-any-return]


def _warn_corners(name: str) -> None:
    warn(
        f"Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        f"align_corners=True if the old behavior is desired. See the documentation of {name} for details.",
    )


def _check_theta(theta: Any, size: Any) -> None:
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    rank = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {tuple(size)}. "
            f"Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")


@composite(spelled="n")
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """What an image holds at the positions of a grid, -1 and 1 being its ends."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_corners("grid_sample")
    _check_grid(input, grid, mode)
    return _sampled(input, grid, mode, padding_mode, bool(align_corners))  # type: ignore[no-any-return]


_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _grid_sampler(rank: int | None) -> Any:
    def sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
        _check_grid(input, grid, mode)
        if rank is not None and input.ndim != rank + 2:
            raise RuntimeError(
                f"grid_sampler(): expected {rank + 2}D input and grid with same number of dimensions, but got input "
                f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
            )
        return _sampled(input, grid, mode, padding, align_corners)  # type: ignore[no-any-return]

    sampler.__doc__ = "`grid_sample`, its modes by number."
    return sampler


for _name, _rank in (
    ("grid_sampler", None), ("grid_sampler_2d", 2), ("grid_sampler_3d", 3), ("_grid_sampler_2d_cpu_fallback", 2),
):  # fmt: skip
    composite(spelled="f", name=_name)(_grid_sampler(_rank))


def _check_grid(input: Any, grid: Any, mode: str) -> None:
    given = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {given}")
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {given}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)}"
        )


def _inside(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Positions outside brought to the border, or reflected."""
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return x * 0
        x = (x - low).abs()
        turns = (x / span).floor()
        rest = x - turns * span
        x = names.where(turns % 2 == 0, rest + low, span - rest + low)
    return x if padding_mode == "zeros" else x.clamp(0, n - 1)


def _taps(x: Any, n: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Any, Any]]:
    """Along one axis: (which element, its weight) for each of those that a position sees."""
    x = (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2
    if mode != "bicubic":
        x = _inside(x, n, padding_mode, align_corners)
    if mode == "nearest":
        return [(x.detach().round(), None)]
    first = x.detach().floor()
    t = x - first
    if mode == "bilinear":
        return [(first, 1 - t), (first + 1, t)]
    weights = (_far(t + 1), _near(t), _near(1 - t), _far(2 - t))
    at = [_inside(first + i, n, padding_mode, align_corners) for i in (-1, 0, 1, 2)]
    return list(zip(at, weights))


def _near(t: Any) -> Any:
    return ((_CUBIC + 2) * t - (_CUBIC + 3)) * t * t + 1


def _far(t: Any) -> Any:
    return ((_CUBIC * t - 5 * _CUBIC) * t + 8 * _CUBIC) * t - 4 * _CUBIC


def _sampled(input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    space = tuple(input.shape[2:])
    batch, channels = input.shape[:2]
    out = tuple(grid.shape[1:-1])
    axes = [_taps(grid[..., len(space) - 1 - i], n, mode, padding_mode, align_corners) for i, n in enumerate(space)]
    flat = input.flatten(2)
    total: Any = None
    for taps in product(*axes):
        place, seen, weight = 0, None, None
        for (at, w), n in zip(taps, space):
            ok = (at >= 0) & (at <= n - 1)
            place = place * n + at.clamp(0, n - 1).to(int64)
            seen = ok if seen is None else seen & ok
            weight = w if weight is None else weight * w
        index = place.flatten(1).unsqueeze(1).expand(-1, channels, -1)  # type: ignore[attr-defined]
        values = flat.gather(2, index).view(batch, channels, *out)
        mask = seen.unsqueeze(1)  # type: ignore[union-attr]
        values = names.where(mask, values if weight is None else values * weight.unsqueeze(1), names.zeros_like(values))
        total = values if total is None else total + values
    return total
