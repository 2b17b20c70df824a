"""Windows of images as columns, and its adjoint.

Arrays are (*lead, channels, height, width) and (*lead, channels * window, windows).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrule.backends.cpu._array import Array, through_float32

__all__ = ["col2im", "columns_shape", "im2col", "image_shape"]

Ints = tuple[int, ...]


def _blocks(space: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    """How many windows fit, per axis."""
    found = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(space, kernel, dilation, padding, stride)
    )
    if min(found) < 1:
        raise RuntimeError(
            f"Given input with spatial size {space}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {found}, but its components must be at least one."
        )
    return found


def columns_shape(shape: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    """The shape of im2col's result."""
    *lead, channels, h, w = shape
    blocks = _blocks((h, w), kernel_size, dilation, padding, stride)
    return (*lead, channels * kernel_size[0] * kernel_size[1], blocks[0] * blocks[1])


def image_shape(shape: Ints, params: dict[str, Any]) -> Ints:
    """The shape of col2im's result."""
    kernel = params["kernel_size"]
    return (*shape[:-2], shape[-2] // (kernel[0] * kernel[1]), *params["output_size"])


def _taps(blocks: Ints, kernel: Ints, dilation: Ints, stride: Ints) -> Iterator[tuple[int, int, Any]]:
    """(row, column, what that element of the window sees) for every element of the window."""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows, columns = (
                slice(at * d, at * d + (n - 1) * s + 1, s) for at, d, n, s in zip((i, j), dilation, blocks, stride)
            )
            yield i, j, (..., rows, columns)


def im2col(x: Array, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    """Every window as a column."""
    *lead, channels, h, w = x.shape
    blocks = _blocks((h, w), kernel, dilation, padding, stride)
    full = x
    if any(padding):
        full = np.zeros((*lead, channels, h + 2 * padding[0], w + 2 * padding[1]), x.dtype)
        full[..., padding[0] : padding[0] + h, padding[1] : padding[1] + w] = x
    out = np.empty((*lead, channels, *kernel, *blocks), x.dtype)
    for i, j, seen in _taps(blocks, kernel, dilation, stride):
        out[..., i, j, :, :] = full[seen]
    return out.reshape(*lead, channels * kernel[0] * kernel[1], blocks[0] * blocks[1])


@through_float32
def col2im(x: Array, space: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    """The adjoint of im2col over images of extents `space`."""
    blocks = _blocks(space, kernel, dilation, padding, stride)
    *lead, rows, _ = x.shape
    columns = x.reshape(*lead, rows // (kernel[0] * kernel[1]), *kernel, *blocks)
    (h, w), (top, left) = space, padding
    full = np.zeros((*columns.shape[: len(lead) + 1], h + 2 * top, w + 2 * left), x.dtype)
    for i, j, seen in _taps(blocks, kernel, dilation, stride):
        full[seen] += columns[..., i, j, :, :]
    return np.ascontiguousarray(full[..., top : top + h, left : left + w])
