"""Discrete Fourier transforms: `torch.fft`.

Three ops, all linear: of complex numbers, of real numbers, back to real numbers. Each is the adjoint of another. The
public functions bring their input to the asked lengths, say how the sum is scaled, and call one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.backends.meta import empty as hollow
from chainrule.config import settings
from chainrule.core.dtype import NARROW, OF_NUMPY
from chainrule.core.family import call, general, shape_of
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import Tensor, fresh
from chainrule.ops.arguments import as_int
from chainrule.ops.complex import both_parts
from chainrule.ops.create import creation, dtype_from
from chainrule.ops.writing import into

__all__ = ["c2c", "c2r", "r2c"]

Dims = tuple[int, ...]
NONE, ROOT, ALL = range(3)  # what the sum is divided by: nothing, the root of the count, the count
_AHEAD: tuple[Any, ...] = ("backward", "ortho", "forward")  # NumPy's words for that
_BACK: tuple[Any, ...] = ("forward", "ortho", "backward")
_scaled: dict[str, list[Any]] = {"normalization": [NONE, ROOT, ALL]}


def _laid(out: Any, input: Any, dim: Dims, halved: bool = False) -> Any:
    """In the order of axes PyTorch leaves: those that are transformed last, each group by falling steps; behind all, if
    there is one, the axis that is halved."""
    steps, axes = memory.element_strides(input), [d % input.ndim for d in dim]
    batch = sorted([d for d in range(input.ndim) if d not in axes], key=lambda d: -steps[d])
    halves = axes[-1:] if halved else []
    order = (*batch, *sorted([d for d in axes if d not in halves], key=lambda d: -steps[d]), *halves)
    wanted, step = [0] * input.ndim, 1
    for d in reversed(order):
        wanted[d], step = step, step * max(out.shape[d], 1)
    return out if memory.element_strides(out) == tuple(wanted) else memory.relaid(out, tuple(wanted))


def _check(input: Any, to_complex: bool) -> None:
    if input.dtype.kind not in ("cW" if to_complex else "f"):
        found, kind = OF_NUMPY[input.dtype], "complex" if to_complex else "floating-point"
        if to_complex or not found.is_floating_point:
            raise RuntimeError(f"Only supports {kind} dtypes, but found: {found.title}")
    if input.dtype.char not in "fdFD":
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {OF_NUMPY[input.dtype].to_real().title}")


def _batched(name: str) -> Any:
    def rule(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
        (x,) = values
        dim = tuple([1 + normalize_dim(d, x.ndim - 1) for d in params["dim"]])
        return call(name, x, **{**params, "dim": dim})

    return rule


def _complex_like(raws: Any, params: dict[str, Any]) -> Any:
    return hollow(raws[0].shape, raws[0].dtype)


@general(
    name="_fft_c2c", node="FftC2C", spelled="f", linear=True, meta=_complex_like,
    vmap=_batched("_fft_c2c"),
    samples=samples(both_parts, [((3, 4),)], dim=[(0,), (0, 1)], **_scaled, forward=[True, False]),
)  # fmt: skip
def c2c(xp: Any, input: Array, dim: Dims, normalization: int, forward: bool) -> Array:
    """The transform of complex numbers along some axes, or with `forward` off its adjoint."""
    if not dim:
        return input.copy()
    _check(input, True)
    if not forward:
        return _laid(np.fft.ifftn(input, axes=dim, norm=_BACK[normalization]), input, dim)
    return _laid(np.fft.fftn(input, axes=dim, norm=_AHEAD[normalization]), input, dim)


def _halved(raws: Any, params: dict[str, Any]) -> Any:
    shape = list(raws[0].shape)
    if params["onesided"]:
        last = params["dim"][-1]
        shape[last] = shape[last] // 2 + 1
    return hollow(tuple(shape), OF_NUMPY[raws[0].dtype].to_complex().numpy)


@general(
    name="_fft_r2c", node="FftR2C", spelled="f", linear=True, holomorphic=False, meta=_halved,
    vmap=_batched("_fft_r2c"),
    samples=samples(real, [((3, 4),), ((3, 5),)], dim=[(1,), (0, 1)], **_scaled, onesided=[True, False]),
)  # fmt: skip
def r2c(xp: Any, input: Array, dim: Dims, normalization: int, onesided: bool) -> Array:
    """The transform of real numbers along some axes; `onesided`: the half of it that says all."""
    _check(input, False)
    work = np.fft.rfftn if onesided else np.fft.fftn
    return _laid(work(input, axes=dim, norm=_AHEAD[normalization]), input, dim, True)


def _doubled(raws: Any, params: dict[str, Any]) -> Any:
    shape = list(raws[0].shape)
    shape[params["dim"][-1]] = params["last_dim_size"]
    return hollow(tuple(shape), OF_NUMPY[raws[0].dtype].to_real().numpy)


@general(
    name="_fft_c2r", node="FftC2R", spelled="f", linear=True, holomorphic=False, meta=_doubled,
    vmap=_batched("_fft_c2r"),
    samples=samples(both_parts, [((3, 4),)], dim=[(1,), (0, 1)], **_scaled, last_dim_size=[6, 7]),
)  # fmt: skip
def c2r(xp: Any, input: Array, dim: Dims, normalization: int, last_dim_size: int) -> Array:
    """The adjoint transform, to real numbers, of the half that says all."""
    _check(input, True)
    sizes = (*[input.shape[d] for d in dim[:-1]], last_dim_size)
    return _laid(np.fft.irfftn(input, sizes, dim, _BACK[normalization]), input, dim, True)


def _whole(g: Any, dim: Dims, size: int) -> Any:
    """The half that says all, with zeros for the rest."""
    last, rank = dim[-1] % len(shape_of(g)), len(shape_of(g))
    more = size - shape_of(g)[last]
    return call("constant_pad_nd", g, (0, 0) * (rank - 1 - last) + (0, more)) if more else g


def _pull_real(g: Any, dim: Dims, normalization: int, onesided: bool, input_shape: Any) -> Any:
    g = _whole(g, dim, input_shape[dim[-1]]) if onesided else g
    return call("real", c2c(g, dim=dim, normalization=normalization, forward=False))


def _pull_half(g: Any, dim: Dims, normalization: int) -> Any:
    """What stands for two numbers of the whole counts twice."""
    found = r2c(g, dim=dim, normalization=normalization, onesided=True)
    last = dim[-1] % len(shape_of(g))
    weights = np.ones(shape_of(found)[last], g.dtype.numpy if isinstance(g, Tensor) else g.dtype)
    weights[1 : 1 + shape_of(g)[last] - len(weights)] = 2
    weights = weights.reshape(-1, *(1,) * (len(shape_of(g)) - 1 - last))
    return found * (fresh(weights) if isinstance(g, Tensor) else weights)


c2c.vjp(input=lambda g, dim, normalization, forward: c2c(g, dim=dim, normalization=normalization, forward=not forward))
r2c.vjp(input=_pull_real)
c2r.vjp(input=lambda g, dim, normalization: _pull_half(g, dim, normalization))


# ------------------------------------------------------------------------------------------------------ the arguments


def _scale(norm: Any, forward: bool) -> int:
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return ROOT
    return ALL if (norm == "forward") is forward else NONE


def _promoted(input: Tensor, to_complex: bool) -> Any:
    dtype = input.dtype
    if dtype.category < 2:
        dtype = settings.default_dtype
    if dtype.numpy in NARROW or OF_NUMPY[dtype.numpy].name == "complex32":
        raise RuntimeError(f"Unsupported dtype {dtype.title}")
    dtype = dtype.to_complex() if to_complex and not dtype.is_complex else dtype
    return input if dtype is input.dtype else input.to(dtype)


def _check_norm(name: str, norm: Any) -> None:
    if norm is not None and not isinstance(norm, str):
        raise TypeError(f"fft_{name}(): argument 'norm' must be str, not {type(norm).__name__}")


def _check_length(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(input: Any, dim: Dims, sizes: tuple[int, ...]) -> Any:
    """Cut off, or with zeros behind, along each axis."""
    widths = [0] * (2 * input.ndim)
    for d, n in zip(dim, sizes):
        have = input.shape[d]
        if n < have:
            input = input.narrow(d, 0, n)
        widths[2 * (input.ndim - 1 - d) + 1] = max(n - have, 0)
    return call("constant_pad_nd", input, tuple(widths)) if any(widths) else input


def _one(name: str, input: Any, n: Any, dim: int) -> tuple[int, int | None]:
    """The axis, and the length that was asked for."""
    axis = normalize_dim(as_int(f"fft_{name}", "dim", 3, dim), input.ndim, wrap_scalar=False)
    return axis, None if n is None else _check_length(as_int(f"fft_{name}", "n", 2, n))


def _axes(name: str, input: Any, s: Any, dim: Any) -> tuple[Dims, list[int]]:
    """The axes, and the length along each, -1 where it is left as it is."""
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    axes = None if dims is None else [normalize_dim(d, input.ndim, wrap_scalar=False) for d in dims]
    if axes is not None and len(set(axes)) != len(axes):
        raise RuntimeError("FFT dims must be unique")
    if sizes is None:
        axes = list(range(input.ndim)) if axes is None else axes
        return tuple(axes), [-1] * len(axes)
    if axes is not None and len(axes) != len(sizes):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(sizes) > input.ndim:
        raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {input.ndim} dimensions.")
    return tuple(range(input.ndim - len(sizes), input.ndim) if axes is None else axes), sizes


def _lengths(input: Any, axes: Dims, sizes: list[int]) -> tuple[int, ...]:
    return tuple([_check_length(input.shape[d] if n == -1 else n) for d, n in zip(axes, sizes)])


def _into(name: str, found: Any, out: Any, input: Any) -> Any:
    if out is not None and found.dtype.is_complex and not out.dtype.is_complex:
        raise RuntimeError(f"{name} expects a complex output tensor, but got {out.dtype.title}")
    if out is not None and not found.dtype.is_complex and not out.dtype.is_floating_point:
        raise RuntimeError(f"{name} expects a floating point output tensor, but got {out.dtype.title}")
    return into(f"fft_{name}", found, out, (input,))


# ------------------------------------------------------------------------------------------------------ along one axis


def _along(name: str, forward: bool, input: Any, n: Any, dim: int, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    axis, length = _one(name, input, n, dim)
    x = _promoted(input, False)
    x = _resized(x, (axis,), (_check_length(x.shape[axis]) if length is None else length,))
    scale = _scale(norm, forward)
    if x.dtype.is_complex:
        return _into(name, c2c.public(x, (axis,), scale, forward), out, input)
    found = r2c.public(x, (axis,), scale, False)
    return _into(name, found if forward else call("conj", found), out, input)


def _half(name: str, forward: bool, input: Any, n: Any, dim: int, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    if input.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype.title}")
    axis, length = _one(name, input, n, dim)
    x = _promoted(input, False)
    x = _resized(x, (axis,), (_check_length(x.shape[axis]) if length is None else length,))
    found = r2c.public(x, (axis,), _scale(norm, forward), True)
    return _into(name, found if forward else call("conj", found), out, input)


def _from_half(name: str, forward: bool, input: Any, n: Any, dim: int, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    axis, length = _one(name, input, n, dim)
    x = _promoted(input, True)
    length = _check_length(2 * (x.shape[axis] - 1)) if length is None else length
    x = _resized(x, (axis,), (length // 2 + 1,))
    x = call("conj", x) if forward else x
    return _into(name, c2r.public(x, (axis,), _scale(norm, forward), length), out, input)


@composite("t")
def fft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The transform along one axis."""
    return _along("fft", True, input, n, dim, norm, out)  # type: ignore[no-any-return]


@composite("t")
def ifft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The inverse transform along one axis."""
    return _along("ifft", False, input, n, dim, norm, out)  # type: ignore[no-any-return]


@composite("t")
def rfft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The transform of real numbers along one axis: the half that says all."""
    return _half("rfft", True, input, n, dim, norm, out)  # type: ignore[no-any-return]


@composite("t")
def irfft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The inverse of `rfft`; `n` is the length of the result."""
    return _from_half("irfft", False, input, n, dim, norm, out)  # type: ignore[no-any-return]


@composite("t")
def hfft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The transform along one axis of what is Hermitian, from its half, to real numbers."""
    return _from_half("hfft", True, input, n, dim, norm, out)  # type: ignore[no-any-return]


@composite("t")
def ihfft(input: Tensor, n: Any = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The inverse of `hfft`."""
    return _half("ihfft", False, input, n, dim, norm, out)  # type: ignore[no-any-return]


# -------------------------------------------------------------------------------------------------- along several axes


def _several(name: str, forward: bool, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    axes, sizes = _axes(name, input, s, dim)
    x = _promoted(input, True)
    x = _resized(x, axes, _lengths(x, axes, sizes))
    return _into(name, c2c.public(x, axes, _scale(norm, forward), forward), out, input)


def _need_axes(name: str, axes: Dims) -> None:
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")


def _several_half(name: str, forward: bool, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    if input.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real-valued input tensor, but got {input.dtype.title}")
    axes, sizes = _axes(name, input, s, dim)
    _need_axes(name, axes)
    x = _promoted(input, False)
    x, scale = _resized(x, axes, _lengths(x, axes, sizes)), _scale(norm, forward)
    if forward:
        return _into(name, r2c.public(x, axes, scale, True), out, input)
    found = r2c.public(x, axes[-1:], scale, True)
    if len(axes) == 1:
        return _into(name, call("conj", found), out, input)
    return _into(name, c2c.public(call("conj", found), axes[:-1], scale, False), out, input)


def _several_from_half(name: str, forward: bool, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    _check_norm(name, norm)
    axes, sizes = _axes(name, input, s, dim)
    _need_axes(name, axes)
    x = _promoted(input, True)
    length = 2 * (x.shape[axes[-1]] - 1) if sizes[-1] == -1 else sizes[-1]
    x = _resized(x, axes, (*_lengths(x, axes[:-1], sizes[:-1]), _check_length(length) // 2 + 1))
    scale = _scale(norm, forward)
    if not forward:
        return _into(name, c2r.public(x, axes, scale, length), out, input)
    x = c2c.public(x, axes[:-1], scale, True) if len(axes) > 1 else x
    return _into(name, c2r.public(call("conj", x), axes[-1:], scale, length), out, input)


def _declare_several(name: str, work: Any, forward: bool, what: str) -> None:
    def many(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
        return work(f"{name}n", forward, input, s, dim, norm, out)  # type: ignore[no-any-return]

    def two(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Tensor:
        return work(f"{name}n", forward, input, s, dim, norm, out)  # type: ignore[no-any-return]

    for fn, title, where in ((many, f"{name}n", "several axes"), (two, f"{name}2", "two axes")):
        fn.__name__ = fn.__qualname__ = title
        fn.__doc__ = f"{what} along {where}."
        composite("t")(fn)


for _name, _work, _forward, _what in (
    ("fft", _several, True, "The transform"),
    ("ifft", _several, False, "The inverse transform"),
    ("rfft", _several_half, True, "The transform of real numbers, the half that says all,"),
    ("irfft", _several_from_half, False, "The inverse of the transform of real numbers"),
    ("hfft", _several_from_half, True, "The transform, to real numbers, of what is Hermitian"),
    ("ihfft", _several_half, False, "The inverse of the transform of what is Hermitian"),
):
    _declare_several(_name, _work, _forward, _what)


# --------------------------------------------------------------------------------------------------------- frequencies


def _frequencies(name: str, found: Any, n: int, d: float, options: dict[str, Any]) -> Tensor:
    dtype = options.pop("dtype", None)
    kind = settings.default_dtype if dtype is None else dtype_from(dtype, name)
    if kind.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    out, wants = options.pop("out", None), options.pop("requires_grad", False)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.float64(1) / (n * d) if n else 0.0
        values = (found * np.asarray(scale, kind.to_real().numpy)).astype(kind.numpy)
    t: Tensor = call("tensor", values, dtype=kind, **{k: v for k, v in options.items() if v is not None})
    t = into(name, t, out, ())
    return t.requires_grad_() if wants else t


@creation("t")
def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequency of each number that `fft` gives, for samples a time `d` apart."""
    half = np.arange(n, dtype=np.float64)
    return _frequencies("fftfreq", np.where(half < (n + 1) // 2, half, half - n), n, d, options)


@creation("t")
def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequency of each number that `rfft` gives, for samples a time `d` apart."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1, dtype=np.float64), n, d, options)


def _shifted(name: str, input: Any, dim: Any, back: bool) -> Any:
    axes = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [normalize_dim(d, input.ndim) for d in axes]
    sizes = [input.shape[d] for d in axes]
    if not axes:
        return input
    return call("roll", input, shifts=[(n + 1) // 2 if back else n // 2 for n in sizes], dims=axes)


@composite("t")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The frequency zero to the middle."""
    return _shifted("fftshift", input, dim, False)  # type: ignore[no-any-return]


@composite("t")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", input, dim, True)  # type: ignore[no-any-return]
