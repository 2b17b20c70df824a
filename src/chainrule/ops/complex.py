"""Complex numbers: their parts, made from parts, conjugated.

None of these is holomorphic, so each rule is the adjoint itself: the gradient of a real loss is dL/dRe + i dL/dIm.
A conjugate shares memory with its tensor (backends.pending): only those who compute with it conjugate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.backends.cpu import memory
from chainrule.backends.pending import Pending, conjugated, negated
from chainrule.backends.sparse import is_sparse
from chainrule.core.dtype import OF_NUMPY, complex32, float16, float32, float64
from chainrule.core.family import call, elementwise, is_hollow, shape_of, view
from chainrule.core.op import Array
from chainrule.core.public import attribute, composite, spell
from chainrule.core.samples import real as any_real
from chainrule.core.samples import samples
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import Tensor
from chainrule.ops.arithmetic import is_complex, zeros_like
from chainrule.ops.compare import over
from chainrule.ops.domains import EXACT, Check
from chainrule.ops.storages import bottom

__all__: list[str] = []

pairs: list[tuple[Any, ...]] = [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,))]


def both_parts(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Complex numbers."""
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def as_complex(g: Any) -> Any:
    """A real cotangent as a complex one."""
    return g if is_complex(g) else g + 0j


# ---------------------------------------------------------------------------------------------------------- parts


def parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary parts of an array, over its memory. (NumPy does not know those of complex32.)"""
    if x.dtype.kind == "c":
        return x.real, x.imag
    pairs = x[..., None].view(OF_NUMPY[x.dtype].to_real().numpy)
    return pairs[..., 0], pairs[..., 1]


@view(name="real", node="Select", samples=samples(both_parts, [((3, 4),)]), spelled="", holomorphic=False)
def _real(xp: Any, input: Array) -> Array:
    """The real parts, sharing memory."""
    return parts(input)[0]


_real.vjp(input=lambda g: as_complex(g))


@view(name="imag", node="Select", samples=samples(both_parts, [((3, 4),)]), spelled="", holomorphic=False)
def _imag(xp: Any, input: Array) -> Array:
    """The imaginary parts, sharing memory."""
    return parts(input)[1]


_imag.vjp(input=lambda g: g * 1j)


@composite(spelled="f")
def real(input: Tensor) -> Tensor:
    """The real parts, sharing memory; of a real tensor, the tensor itself."""
    return _real.public(input) if input.dtype.is_complex else input


@composite(spelled="f")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, sharing memory."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag.public(input)  # type: ignore[no-any-return]


def _set_real(t: Tensor, value: Any) -> None:
    _assign(real(t), value)


def _set_imag(t: Tensor, value: Any) -> None:
    _assign(imag(t), value)


def _assign(part: Tensor, value: Any) -> None:
    part.copy_(value if isinstance(value, Tensor) else call("tensor", value, dtype=part.dtype))


attribute("real", real, _set_real)
attribute("imag", imag, _set_imag)


def _joined(g: Any) -> Any:
    """A last axis of (real, imaginary) as complex numbers."""
    if isinstance(g, Tensor):
        return view_as_complex(g.contiguous())
    g = np.ascontiguousarray(g)
    return g.view(OF_NUMPY[g.dtype].to_complex().numpy)[..., 0]


@view(
    spelled="f", samples=samples(both_parts, [((3, 4),)]), holomorphic=False,
    vmap=lambda values, batched, size, params: view_as_real(values[0]),  # type: ignore[has-type]
)  # fmt: skip
def view_as_real(xp: Any, input: Array) -> Array:
    """Complex numbers as a last axis of (real, imaginary), sharing memory."""
    if not OF_NUMPY[input.dtype].is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if is_sparse(input):
        return input.with_values(view_as_real(input.values))
    _refuse_pending(input)
    steps = [2 * s for s in memory.element_strides(input)]
    return memory.reread(input, OF_NUMPY[input.dtype].to_real().numpy, (*input.shape, 2), (*steps, 1))


view_as_real.vjp(input=_joined)


def _with_parts(batch: Any) -> Any:
    if len(shape_of(batch)) < 2:
        raise RuntimeError("Input tensor must have one or more dimensions")
    return batch


@view(
    spelled="f", samples=samples(any_real, [((3, 2),), ((2, 3, 2),)]), holomorphic=False,
    vmap=lambda values, batched, size, params: view_as_complex(_with_parts(values[0])),  # type: ignore[has-type]
)  # fmt: skip
def view_as_complex(xp: Any, input: Array) -> Array:
    """A last axis of (real, imaginary) as complex numbers, sharing memory."""
    found = OF_NUMPY[input.dtype]
    if found not in (float16, float32, float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, "
            f"but got a tensor of scalar type: {found.title}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if is_sparse(input) and input.values.ndim > 1:
        return input.with_values(view_as_complex(input.values))
    *steps, last = memory.element_strides(input)
    if last != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s, n in zip(steps, input.shape) if n != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if memory.offset_of(input) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return memory.reread(input, found.to_complex().numpy, input.shape[:-1], tuple([s // 2 for s in steps]))


view_as_complex.vjp(input=lambda g: view_as_real(g))


# ------------------------------------------------------------------------------------------------------ conjugates


_turns: dict[str, Any] = {"spelled": "", "linear": True, "holomorphic": False}


@view(
    name="conj", vmap=lambda values, *_: _conj_view.public(values[0]),  # type: ignore[has-type]
    samples=samples(both_parts, [((3, 4),), ((),)]), **_turns,
)  # fmt: skip
def _conj_view(xp: Any, input: Array) -> Array:
    """The complex conjugate, sharing memory."""
    return conjugated(input) if isinstance(input, np.ndarray) and not is_hollow(input) else xp.conjugate(input)


@view(
    name="_neg_view", node="NegView", vmap=lambda values, *_: _negative_view.public(values[0]),  # type: ignore[has-type]
    samples=samples(both_parts, [((3, 4),), ((),)]), **_turns,
)  # fmt: skip
def _negative_view(xp: Any, input: Array) -> Array:
    """The negative, sharing memory."""
    return negated(input) if isinstance(input, np.ndarray) and not is_hollow(input) else -input


_conj_view.vjp(input=lambda g: _conj(g))
_negative_view.vjp(input=lambda g: -g)
spell("_neg_view", _negative_view.public, "fm")


def _conj(g: Any) -> Any:
    """The conjugate in memory of its own, of arrays or tensors."""
    return conj_physical(g)


@composite(spelled="fm")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, sharing memory; of a real tensor, the tensor itself."""
    if not input.dtype.is_complex:
        return input
    turn = conj_physical if input.dtype is complex32 else _conj_view
    return turn.public(input)  # type: ignore[no-any-return]


@elementwise(samples=samples(both_parts, [((3, 4),), ((),)]), spelled="iF", holomorphic=False, exact=EXACT)
def conj_physical(xp: Any, input: Array) -> Array:
    """The complex conjugate, in memory of its own."""
    return xp.conjugate(input) if input.dtype.kind == "c" else input.copy()


conj_physical.vjp(input=lambda g: _conj(g))


@composite("fm", "conj_physical")
def _conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, in memory of its own; of a real tensor, the tensor itself."""
    if out is None and isinstance(input, Tensor) and not input.dtype.is_complex:
        return input
    return conj_physical.public(input, out=out)  # type: ignore[no-any-return]


@composite(spelled="fm")
def is_conj(input: Tensor) -> bool:
    """Does the tensor look at memory that is meant conjugated?"""
    return getattr(bottom(input), "is_conj", False)


@composite(spelled="fm")
def is_neg(input: Tensor) -> bool:
    """Does the tensor look at memory that is meant negated?"""
    return getattr(bottom(input), "is_neg", False)


@composite(spelled="fm")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor with its elements as they are meant; itself, where no conjugation is pending."""
    return call("clone", input) if is_conj(input) else input


@composite(spelled="fm")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor with its elements as they are meant; itself, where no negation is pending."""
    return call("clone", input) if is_neg(input) else input


def _refuse_pending(input: Array) -> None:
    """A look at the bare memory would show elements as they are not meant."""
    if isinstance(input, Pending) and input.is_conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )


# ----------------------------------------------------------------------------------------------- made from parts


def _same_parts(names: str) -> Check:
    def check(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        a, b = (t.dtype for t in inputs)
        if a not in (float16, float32, float64) or b not in (float16, float32, float64):
            raise RuntimeError(
                f"Expected both inputs to be Half, Float or Double tensors but got {a.title} and {b.title}"
            )
        if a is not b:
            raise RuntimeError(
                f"Expected object of scalar type {a.title} but got scalar type {b.title} for second argument"
            )

    return check


def real_of(g: Any) -> Any:
    """The real part of a cotangent."""
    return (real(g) if isinstance(g, Tensor) else g.real) if is_complex(g) else g


def imag_of(g: Any) -> Any:
    """The imaginary part of a cotangent."""
    if not is_complex(g):
        return zeros_like(g)
    return imag(g) if isinstance(g, Tensor) else g.imag


_PARTS_OUT = "Expected object of scalar type {result} but got scalar type {out} for argument 'out'"


def _room(a: Any, b: Any) -> Any:
    """An array of complex numbers to be made of two of real ones."""
    dtype = OF_NUMPY[a.dtype].to_complex().numpy
    return memory.room_like(a, dtype) if a.shape == b.shape else np.empty(broadcast_shapes(a.shape, b.shape), dtype)


@elementwise(
    name="complex",
    promote="none",
    spelled="",
    holomorphic=False,
    check=_same_parts("complex"),
    exact=_PARTS_OUT,
    samples=samples(any_real, pairs),
)
def _complex(xp: Any, real: Array, imag: Array) -> Array:
    """Complex numbers from real and imaginary parts."""
    out = _room(real, imag)
    parts(out)[0][...], parts(out)[1][...] = real, imag
    return out


_complex.vjp(real=lambda g: real_of(g), imag=lambda g: imag_of(g))
spell("complex", _complex.public, "f")


@elementwise(
    promote="none",
    spelled="f",
    holomorphic=False,
    check=_same_parts("polar"),
    samples=samples(any_real, pairs),
    exact=_PARTS_OUT,
)
def polar(xp: Any, abs: Array, angle: Array) -> Array:
    """Complex numbers from sizes and angles."""
    out = _room(abs, angle)
    parts(out)[0][...], parts(out)[1][...] = abs * xp.cos(angle), abs * xp.sin(angle)
    return out


def _direction(angle: Any) -> Any:
    return _complex(call("cos", angle), call("sin", angle))


polar.vjp(
    abs=lambda g, angle: real_of(g * _conj(_direction(angle))),
    angle=lambda g, out: real_of(g * _conj(out * 1j)),
)


@elementwise(promote="float", spelled="fm", holomorphic=False, samples=samples(any_real, [((3, 4),)]))
def angle(xp: Any, input: Array) -> Array:
    """The angle of a complex number; of a real one 0, or pi if it is negative."""
    if input.dtype.kind == "c":
        return xp.arctan2(input.imag, input.real)
    out = xp.where(input < 0, math.pi, 0).astype(input.dtype)
    return xp.where(xp.isnan(input), input, out)


def _pull_angle(g: Any, input: Any) -> Any:
    if not is_complex(input):
        return zeros_like(g)
    size = call("abs", input)
    return over(g, size * size) * (input * 1j)


angle.vjp(input=_pull_angle)
