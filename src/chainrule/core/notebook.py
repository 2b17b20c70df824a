"""A tensor in a notebook: a small table of facts and a picture of its values, as one piece of HTML.

Pure functions over NumPy arrays, nothing to load. Large arrays are sampled by striding along their axes:
statistics look at `STATISTICS_LIMIT` elements at most and the picture at `PICTURE_SIDE` per axis, and the
page says so. The picture is an indexed PNG, a few kilobytes, where a table cell per value would take
hundreds.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["PICTURE_SIDE", "STATISTICS_LIMIT", "html_text"]

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = list[tuple[str, str]]

PICTURE_SIDE = 64
STATISTICS_LIMIT = 1_000_000

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def html_text(
    array: Array | None,
    *,
    title: str = "Tensor",
    size: Sequence[int] | None = None,
    dtype_name: str | None = None,
    device: str = "cpu",
    grad_fn: str | None = None,
    requires_grad: bool = False,
) -> str:
    """The HTML of a tensor; `array=None` is one without values: then `size` and `dtype_name` are required."""
    if array is None and (size is None or dtype_name is None):
        raise ValueError("html_text: size and dtype_name are required when array is None")
    if array is not None and size is not None:
        raise ValueError("html_text: size is read from the array; give it only when array is None")
    shape = array.shape if array is not None else tuple(size or ())
    name = dtype_name or (array.dtype.name if array is not None else "")
    rows = [("shape", str(tuple(shape))), ("dtype", name), ("device", device)]
    rows += _graph_rows(grad_fn, requires_grad)
    if array is None or array.size == 0:
        return _page(title, rows, "")
    return _page(title, rows + _value_rows(array), _picture(array))


def _graph_rows(grad_fn: str | None, requires_grad: bool) -> Rows:
    if grad_fn is not None:
        return [("grad_fn", grad_fn)]
    return [("requires_grad", "True")] if requires_grad else []


def _page(title: str, rows: Rows, picture: str) -> str:
    cells = "".join(
        f'<tr><td style="text-align:left;opacity:.6">{_escaped(label)}</td>'
        f'<td style="text-align:left">{_escaped(text)}</td></tr>'
        for label, text in rows
    )
    return (
        '<div style="display:flex;gap:16px;align-items:flex-start;font:12px monospace">'
        f"<div><b>{_escaped(title)}</b><table>{cells}</table></div>{picture}</div>"
    )


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


# --- statistics -----------------------------------------------------------------------------------


def _value_rows(array: Array) -> Rows:
    sample = _thinned(array, STATISTICS_LIMIT)
    if array.dtype == np.bool_:
        rows = [("true", f"{np.count_nonzero(sample)} of {sample.size}")]
    else:
        rows = _number_rows(_reals(sample), "|z| " if array.dtype.kind == "c" else "")
    return rows + ([("from", f"a sample of {sample.size}")] if sample.size < array.size else [])


def _number_rows(values: Floats, of: str) -> Rows:
    finite = values[np.isfinite(values)]
    nans = int(np.isnan(values).sum())
    rows = [(f"{of}{label}", f"{number:.6g}") for label, number in _summary(finite)]
    rows += [("nan", str(nans))] if nans else []
    infs = values.size - finite.size - nans
    return rows + ([("inf", str(infs))] if infs else [])


def _summary(finite: Floats) -> list[tuple[str, float]]:
    if finite.size == 0:
        return []
    with np.errstate(over="ignore"):
        return [("min", finite.min()), ("mean", finite.mean()), ("max", finite.max())]


def _thinned(array: Array, limit: int) -> Array:
    """A view of every second, fourth, ... index of the longest axes, down to at most `limit` elements."""
    while array.size > limit:
        longest = int(np.argmax(array.shape))
        array = array[(slice(None),) * longest + (slice(None, None, 2),)]
    return array


def _reals(array: Array) -> Floats:
    return (np.abs(array) if array.dtype.kind == "c" else array).astype(np.float64)


# --- picture --------------------------------------------------------------------------------------

_NAN_INDEX = 255
_LEVELS = 254


def _ramp(stops: list[tuple[int, int, int]]) -> bytes:
    """A palette of 255 colours through the stops, and the colour of nan at the end."""
    place = np.linspace(0, len(stops) - 1, _LEVELS + 1)
    channels = [np.interp(place, range(len(stops)), [stop[c] for stop in stops]) for c in range(3)]
    return np.stack(channels, 1).astype(np.uint8).tobytes() + bytes((208, 0, 208))


_BLUE, _PALE, _RED = (44, 90, 176), (244, 244, 244), (190, 40, 44)


def _picture(array: Array) -> str:
    """The heat map of one or two dimensions; pale is zero, or what is nearest to it if one sign is absent."""
    if array.ndim not in (1, 2):
        return ""
    grid = _reals(_picked(np.atleast_2d(array)))
    levels, colours = _levels(grid)
    height, width = grid.shape
    pixels = max(3, min(16, 192 // max(height, width)))
    note = "" if grid.size == array.size else f'<div style="opacity:.6">sampled {height}x{width}</div>'
    return (
        f'<div><img alt="heat map" width="{width * pixels}" height="{height * pixels}" '
        f'style="image-rendering:pixelated" src="data:image/png;base64,{_png(levels, colours)}">{note}</div>'
    )


def _picked(grid: Array) -> Array:
    rows, columns = (np.linspace(0, n - 1, min(n, PICTURE_SIDE)).astype(np.intp) for n in grid.shape)
    return grid[np.ix_(rows, columns)]


def _levels(grid: Floats) -> tuple[NDArray[np.uint8], bytes]:
    finite = grid[np.isfinite(grid)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    stops = [_PALE, _RED] if low >= 0 else [_BLUE, _PALE]
    if low < 0 < high:
        high = max(-low, high)
        low, stops = -high, [_BLUE, _PALE, _RED]
    # Halved, because the span of two finite doubles can overflow.
    span = high / 2 - low / 2
    with np.errstate(invalid="ignore"):
        fraction = np.clip((grid / 2 - low / 2) / span, 0, 1) if span else np.where(np.isnan(grid), grid, 0.0)
        levels = np.where(np.isnan(fraction), _NAN_INDEX, np.rint(fraction * _LEVELS))
    return levels.astype(np.uint8), _ramp(stops)


def _png(levels: NDArray[np.uint8], colours: bytes) -> str:
    height, width = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    # Each line starts with its filter, 0 for none.
    lines = np.pad(levels, ((0, 0), (1, 0))).tobytes()
    chunks = [(b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
