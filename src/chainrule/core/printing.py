"""The text of a tensor, as PyTorch prints it: pure functions from a NumPy array and a few facts to a string.

Convention: all numbers of one tensor share one style (integral "1.", fixed "1.0000" or scientific
"1.0000e+00") and one column width. Style and width are decided by the finite, non-zero elements that will
be shown; zeros, nan and inf follow. A tensor above the threshold is first cut down to its edges, so the
cost depends on what is shown and not on its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PRINT_OPTS",
    "PrintOptions",
    "batched_text",
    "contents_text",
    "format_scalar",
    "get_printoptions",
    "grad_tracking_text",
    "parameter_text",
    "printoptions",
    "set_printoptions",
    "sparse_text",
    "tensor_text",
]

Array: TypeAlias = NDArray[Any]
Cells: TypeAlias = tuple[list[str], int]


# --- options --------------------------------------------------------------------------------------


@dataclass(slots=True)
class PrintOptions:
    """How tensors are printed; `sci_mode=None` chooses scientific notation from the values."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()
"""The options in force, for the whole process as in PyTorch; changed in place, so references stay valid."""

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed.

    A profile ("default", "short" or "full") is applied first and the other arguments on top of it. An
    argument left at None keeps its value, except `sci_mode`: leaving it out returns to the automatic choice.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes = _profile(profile) | {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def _profile(name: str | None) -> dict[str, float]:
    if name is None:
        return {}
    if name not in _PROFILES:
        raise ValueError(f"set_printoptions: profile must be one of {', '.join(_PROFILES)}; got {name!r}")
    return _PROFILES[name]


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return asdict(PRINT_OPTS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions(**options)` for the length of a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# --- the whole text -------------------------------------------------------------------------------


def tensor_text(
    array: Array | None,
    *,
    prefix: str = "tensor(",
    contents: str | None = None,
    size: Sequence[int] | None = None,
    dtype_name: str | None = None,
    default_dtype: str = "float32",
    device: str | None = None,
    grad_fn: str | None = None,
    requires_grad: bool = False,
    tangent: str | None = None,
) -> str:
    """The repr of a tensor.

    `array=None` is a tensor without values (meta, traced): then `size` and `dtype_name` are required and the
    contents read "...". Otherwise both come from the array, and giving `size` is an error. Names of dtypes
    are bare ("float32"). `device` is the text to show, None to show none. `grad_fn` is the bare name of the
    node ("MulBackward0"); it takes the place of `requires_grad`. `tangent` is the formatted tangent.
    `contents` replaces the numbers, for wrappers. `prefix` is "tensor(" for tensors and parameters, else
    the name of the subclass with its parenthesis.
    """
    if array is None:
        facts = _facts_without_values(size, dtype_name, default_dtype)
    elif size is not None:
        raise ValueError("tensor_text: size is read from the array; give it only when array is None")
    else:
        facts = _facts_of_values(array, dtype_name or array.dtype.name, default_dtype)
    if contents is None:
        contents = "..." if array is None else contents_text(array, len(prefix))
    if device is not None:
        facts.insert(0, f"device='{device}'")
    facts += _facts_of_graph(grad_fn, requires_grad, tangent)
    return _append_facts(prefix + contents, facts, len(prefix))


def sparse_text(
    indices: Array,
    values: Array,
    size: Sequence[int],
    *,
    prefix: str = "tensor(",
    contents: str | None = None,
    dtype_name: str,
    default_dtype: str = "float32",
    grad_fn: str | None = None,
    requires_grad: bool = False,
) -> str:
    """The repr of a sparse tensor: its places, its values, and facts as `tensor_text` has them."""
    indent = len(prefix)
    facts = [_size_fact(size), f"nnz={len(values)}", *_dtype_fact(dtype_name, _is_implied(dtype_name, default_dtype))]
    if contents is None:
        parts = [f"{name}=tensor({_part_text(x, indent + len(name) + 8)})" for name, x in
                 (("indices", indices), ("values", values))]  # fmt: skip
        contents = (",\n" + " " * indent).join(parts)
    facts += ["layout=torch.sparse_coo", *_facts_of_graph(grad_fn, requires_grad, None)]
    return _append_facts(prefix + contents, facts, indent, own_line=True)


def _part_text(x: Array, indent: int) -> str:
    return contents_text(x, indent) + (f", {_size_fact(x.shape)}" if x.size == 0 else "")


def _facts_without_values(size: Sequence[int] | None, dtype_name: str | None, default_dtype: str) -> list[str]:
    if size is None or dtype_name is None:
        raise ValueError("tensor_text: size and dtype_name are required when array is None")
    return [_size_fact(size), *_dtype_fact(dtype_name, dtype_name == default_dtype)]


def _facts_of_values(array: Array, dtype_name: str, default_dtype: str) -> list[str]:
    if array.size == 0:
        # No element tells its kind, so int64, bool and complex are named too.
        size = [] if array.ndim == 1 else [_size_fact(array.shape)]
        return size + _dtype_fact(dtype_name, dtype_name == default_dtype)
    size = [] if PRINT_OPTS.edgeitems else [_size_fact(array.shape)]
    return size + _dtype_fact(dtype_name, _is_implied(dtype_name, default_dtype))


def _is_implied(dtype_name: str, default_dtype: str) -> bool:
    default_complex = "complex128" if default_dtype == "float64" else "complex64"
    return dtype_name in (default_dtype, default_complex, "int64", "bool")


def _size_fact(size: Sequence[int]) -> str:
    return f"size={tuple(size)}"


def _dtype_fact(dtype_name: str, implied: bool) -> list[str]:
    return [] if implied else [f"dtype=torch.{dtype_name}"]


def _facts_of_graph(grad_fn: str | None, requires_grad: bool, tangent: str | None) -> list[str]:
    facts = []
    if grad_fn is not None:
        facts.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        facts.append("requires_grad=True")
    if tangent is not None:
        facts.append(f"tangent={tangent}")
    return facts


def _append_facts(text: str, facts: list[str], indent: int, own_line: bool = False) -> str:
    """Facts continue the last line while they fit; one that does not starts a line under the contents."""
    pieces = [text]
    # Two more than the line's length: PyTorch counts so, and where lines break depends on it.
    column = len(text) - text.rfind("\n") + 1
    for fact in facts:
        if own_line or column + len(fact) + 2 > PRINT_OPTS.linewidth:
            own_line = False
            pieces.append(",\n" + " " * indent + fact)
            column = indent + len(fact)
        else:
            pieces.append(", " + fact)
            column += len(fact) + 2
    return "".join(pieces) + ")"


# --- the numbers ----------------------------------------------------------------------------------


def contents_text(array: Array, indent: int) -> str:
    """The numbers in brackets, continuation lines indented to stand below a bracket in column `indent`."""
    if array.size == 0:
        return "[]"
    edge = PRINT_OPTS.edgeitems
    if array.size <= PRINT_OPTS.threshold or array.ndim == 0:
        return _brackets(array, (False,) * array.ndim, indent)
    if not edge:
        return "[...]"
    cut = tuple(length > 2 * edge for length in array.shape)
    return _brackets(_edges(array, cut, edge), cut, indent)


def _edges(array: Array, cut: tuple[bool, ...], edge: int) -> Array:
    # One indexing over all axes: axis by axis would copy most of an array whose last axis is the long one.
    kept = [np.r_[:edge, n - edge : n] if c else np.arange(n) for n, c in zip(array.shape, cut, strict=True)]
    shown: Array = array[np.ix_(*kept)]
    return shown


def _brackets(array: Array, cut: tuple[bool, ...], indent: int) -> str:
    texts, width = _cells(array)
    return _nest(iter(texts), array.shape, cut, indent, width)


def _nest(cells: Iterator[str], shape: tuple[int, ...], cut: tuple[bool, ...], indent: int, width: int) -> str:
    if not shape:
        return next(cells)
    if len(shape) == 1:
        return _row(list(islice(cells, shape[0])), cut[0], indent, width)
    parts = [_nest(cells, shape[1:], cut[1:], indent + 1, width) for _ in range(shape[0])]
    if cut[0]:
        parts.insert(PRINT_OPTS.edgeitems, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(cells: list[str], cut: bool, indent: int, width: int) -> str:
    if cut:
        cells.insert(PRINT_OPTS.edgeitems, " ...")
    per_line = max(1, int((PRINT_OPTS.linewidth - indent) // (width + 2)))
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# --- one number -----------------------------------------------------------------------------------


def _cells(array: Array) -> Cells:
    """The padded text of each element in row-major order, and the width of the column."""
    plain = _plain(array)
    values, kind = plain.reshape(-1).tolist(), plain.dtype.kind
    if kind == "c":
        return _complex_cells(values)
    return _exact_cells(values) if kind in "iub" else _float_cells(values)


def _plain(array: Array) -> Array:
    """The short types that NumPy knows only as opaque ones, in 32 bits."""
    return (
        array
        if array.dtype.isbuiltin == 1
        else array.astype(np.complex64 if array.dtype.name == "complex32" else np.float32)
    )


def _exact_cells(values: list[int]) -> Cells:
    texts = [str(value) for value in values]
    return _padded(texts, max(map(len, texts)))


def _float_cells(values: list[float]) -> Cells:
    return _padded(*_float_texts(values))


def _complex_cells(values: list[complex]) -> Cells:
    """Real parts stand in a column; imaginary ones follow unpadded, yet count as padded where lines break."""
    real, real_width = _float_cells([value.real for value in values])
    imag, imag_width = _float_texts([value.imag for value in values])
    texts = [r + (i if i[0] == "-" else "+" + i) + "j" for r, i in zip(real, imag, strict=True)]
    return texts, real_width + imag_width + 1


def _padded(texts: list[str], width: int) -> Cells:
    return [text.rjust(width) for text in texts], width


def _float_texts(values: list[float]) -> Cells:
    deciding = [value for value in values if value and isfinite(value)]
    spec, point = _style(deciding)
    texts = [format(value, spec) + point if isfinite(value) else format(value, spec) for value in values]
    return texts, max([len(format(value, spec)) for value in deciding], default=0) + len(point)


def _style(deciding: list[float]) -> tuple[str, str]:
    """The format specification, and what follows a finite number."""
    if deciding and _is_scientific(deciding):
        return f".{PRINT_OPTS.precision}e", ""
    if all(value.is_integer() for value in deciding):
        return ".0f", "."
    return f".{PRINT_OPTS.precision}f", ""


def _is_scientific(deciding: list[float]) -> bool:
    if PRINT_OPTS.sci_mode is not None:
        return PRINT_OPTS.sci_mode
    sizes = [abs(value) for value in deciding]
    low, high = min(sizes), max(sizes)
    return high / low > 1000 or high > 1e8 or low < 1e-4


def format_scalar(array: Array, spec: str) -> str:
    """`format` of a 0-d tensor, which is that of its Python number.

    PyTorch does so for exactly the type Tensor with values. Subclasses, parameters, meta tensors and tensors
    with dimensions go to `object.__format__`: the str for an empty specification, a TypeError for any other.
    """
    return format(_plain(array).item(), spec)


# --- wrappers -------------------------------------------------------------------------------------


def parameter_text(text: str, *, is_subclass: bool = False) -> str:
    """The repr of a parameter, from its text as a tensor; a subclass of Parameter is wrapped once more."""
    return "Parameter containing:\n" + (f"Parameter({text})" if is_subclass else text)


def grad_tracking_text(level: int, value: str) -> str:
    """The repr of a tensor under `func.grad`, `vjp` or `jvp`, from the repr of the value it wraps."""
    return f"GradTrackingTensor(lvl={level}, value=\n{_indented(value)}\n)"


def batched_text(level: int, bdim: int, value: str) -> str:
    """The repr of a tensor under `vmap`, from the repr of the value it wraps."""
    return f"BatchedTensor(lvl={level}, bdim={bdim}, value=\n{_indented(value)}\n)"


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.split("\n"))
