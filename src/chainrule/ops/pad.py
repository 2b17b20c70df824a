"""Borders around tensors: constant, reflected, replicated, circular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.backends import cpu
from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import uint8
from chainrule.core.family import general
from chainrule.core.literal import cast_number
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.along import laid_as
from chainrule.ops.arguments import read_list

__all__ = ["bordered", "constant_pad_nd"]

Ints = tuple[int, ...]


def _vmap_constant(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    return constant_pad_nd(values[0], **params)


def _padded(raws: Any, params: dict[str, Any], mode: str = "constant") -> Any:
    widths = params["pad"] if mode == "constant" else params["padding"]
    return hollow(cpu.pad.pad_output_shape(raws[0].shape, tuple(widths), mode), raws[0].dtype)


@general(
    samples=samples(real, [((3, 4),)], pad=[(1, 2), (-1, 1, 2, 0)], value=[0, 1.5]), spelled="f", vmap=_vmap_constant,
    meta=_padded,
)  # fmt: skip
def constant_pad_nd(xp: Any, input: Array, pad: Ints, value: Any = 0) -> Array:
    """A border of one value; negative widths cut off."""
    return laid_as(xp.pad.pad(input, tuple(pad), "constant", value), input)


constant_pad_nd.vjp(input=lambda g, pad: constant_pad_nd(g, tuple(-p for p in pad), 0))


def bordered(mode: str, rank: int, name: str, node: str) -> Any:
    """The two ops of one mode and rank: the border, and its adjoint, which is linear too."""

    def forward(xp: Any, input: Array, padding: Ints) -> Array:
        if input.dtype.kind == "b":
            xp.pad.pad_output_shape(input.shape, tuple(padding), mode)  # has the word first
            raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
        found = xp.pad.pad(input, tuple(padding), mode)
        return found if mode == "circular" else laid_as(found, input)

    def adjoint(xp: Any, grad: Array, shape: Ints, padding: Ints) -> Array:
        return xp.pad.pad_adjoint(grad, shape, tuple(padding), mode)

    forward.__doc__ = f"The border that {mode}s the input, over {rank} axes."
    adjoint.__doc__ = f"The adjoint of `{name}`."
    rank = rank or 1
    given = samples(real, [((2, *(3,) * rank),)], padding=[(1, 2) * rank])
    pad = general(
        forward, name=name, node=node, spelled="", linear=True, straight=mode != "circular", samples=given,
        vmap=lambda values, batched, size, params: pad(values[0], **params),  # type: ignore[has-type]
        meta=lambda raws, params: _padded(raws, params, mode),
    )  # fmt: skip
    back = general(
        adjoint, name=f"{name}_backward", node=f"{node}Backward", spelled="", linear=True,
        vmap=lambda values, batched, size, params: back(values[0], (size, *params["shape"]), params["padding"]),  # type: ignore[has-type]
        samples=samples(real, [((2, *(6,) * rank),)], shape=[(2, *(3,) * rank)], padding=[(1, 2) * rank]),
        meta=lambda raws, params: hollow(params["shape"], raws[0].dtype),
    )  # fmt: skip
    pad.vjp(input=lambda g, input_shape, padding: back(g, tuple(input_shape), padding))
    back.vjp(grad=lambda g, padding: pad(g, padding))
    return pad


_BORDERS = {
    (mode, rank): bordered(mode, rank, f"{title}_pad{rank}d", f"{title.capitalize()}Pad{rank}D")
    for mode, title in (("reflect", "reflection"), ("replicate", "replication"))
    for rank in (1, 2, 3)
}
# The circular border is one op of any rank; PyTorch writes it as copies into slices.
_circular = bordered("circular", 0, "_pad_circular", "PadCircular")


@composite(spelled="n")
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """A border: `pad` gives the widths before and after, of the last axis first."""
    widths = read_list("pad", "pad", pad, 2)
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        _check_cuts(input, widths)
        if value is not None:
            cast_number(value, input.dtype)  # or raise, where it does not fit
            if value < 0 and input.dtype is uint8:
                raise RuntimeError("value cannot be converted to type uint8_t without overflow")
        return constant_pad_nd.public(input, widths, 0 if value is None else value)  # type: ignore[no-any-return]
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _with_mode(input, widths, mode)  # type: ignore[no-any-return]


def _check_cuts(input: Any, widths: Ints) -> None:
    """Elements are cut off before others are put on: there must be as many."""
    for axis, (before, after) in enumerate(zip(widths[::2], widths[1::2]), 1):
        left = input.shape[-axis]
        for cut in (min(before, 0), min(after, 0)):
            left += cut
            if left < 0 <= left + max(before, 0) + max(after, 0):
                raise RuntimeError("narrow(): length must be non-negative.")


def _with_mode(input: Any, widths: Ints, mode: str) -> Any:
    rank = len(widths) // 2
    if not (1 <= rank <= 3 and input.ndim in (rank + 1, rank + 2)):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    return _circular.public(input, widths) if mode == "circular" else _BORDERS[mode, rank].public(input, widths)
