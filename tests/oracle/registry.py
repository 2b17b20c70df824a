"""Every op of the registry beside the PyTorch function of its name, on its own samples, in many dtypes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import chainrule
from chainrule.core.op import Op
from chainrule.core.tensor import Tensor, fresh
from chainrule.testing.contract import Case
from tests.oracle.programs import first_sentence

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "complex128",
    "complex64",
    "int64",
    "int32",
    "uint8",
    "bool",
]
TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}


def theirs(op: Op) -> Callable[..., Any] | None:
    """PyTorch's function of this op, where its name is public."""
    rooms = {
        "f": torch,
        "n": torch.nn.functional,
        "l": torch.linalg,
        "s": torch.special,
        "t": torch.fft,
        "m": torch.Tensor,
    }
    for place, room in rooms.items():
        if place in op.spelled and hasattr(room, op.name):
            return getattr(room, op.name)
    return None


def to_torch(x: Any) -> Any:
    """A value of ours as PyTorch's."""
    if isinstance(x, Tensor):
        raw = np.array(x.raw)
        strides = tuple(s // raw.itemsize for s in x.raw.strides)
        flat = torch.tensor(raw.astype(np.float32)).bfloat16() if raw.dtype.name == "bfloat16" else torch.tensor(raw)
        return torch.empty_strided(raw.shape, strides, dtype=flat.dtype).copy_(flat)
    if isinstance(x, chainrule.core.dtype.dtype):
        return getattr(torch, x.name)
    return x


def cast(x: Any, name: str) -> Any:
    """A sample array in another dtype; only floating ones change."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
        return x
    dtype = getattr(chainrule, name)
    if name.startswith("complex"):
        x = x + 1j * np.roll(x, 1)
    elif dtype.category < 2:
        x = x > 0 if name == "bool" else np.abs(np.round(2 * x)) if name == "uint8" else np.round(2 * x)
    return np.asarray(x).astype(dtype.numpy)


def tensors(case: Case, name: str, change: Callable[[Any], Any]) -> list[Any]:
    made = [cast(x, name) for x in case.inputs]
    return [fresh(change(x)) if isinstance(x, np.ndarray) else x for x in made]


def outcome(fn: Callable[..., Any], op: Op, inputs: list[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """(results as a tuple, None) or (None, error)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = fn(inputs, **params) if op.variadic else fn(*inputs, **params)
        except Exception as error:
            return None, error
    return (tuple(result) if isinstance(result, (tuple, list)) else (result,)), None


def compare(case: Case, name: str, change: Callable[[Any], Any]) -> Iterator[str]:
    """What differs, as text."""
    op, fn = case.op, theirs(case.op)
    ours = tensors(case, name, change)
    reference = [to_torch(x) for x in ours]
    given = {k: v for k, v in case.params.items() if k not in op.defaults or op.defaults[k] is not v}
    params = {k: to_torch(v) for k, v in given.items()}
    leaves = [i for i in case.smooth if getattr(chainrule, name).category >= 2]
    for i in leaves:
        ours[i].requires_grad_()
        reference[i].requires_grad_()
    want, refusal = outcome(fn, op, reference, params)
    got, error = outcome(op.fn.public, op, ours, given)
    if refusal is not None or error is not None:
        yield from compare_errors(refusal, error)
        return
    if len(want) != len(got):
        yield f"{len(got)} results, not {len(want)}"
        return
    for k, (a, b) in enumerate(zip(got, want)):
        yield from (f"result {k}: {text}" for text in compare_values(a, b, name))
    if leaves:
        yield from compare_gradients(got, want, [ours[i] for i in leaves], [reference[i] for i in leaves], name)


def compare_errors(refusal: Any, error: Any) -> Iterator[str]:
    if "invalid combination of arguments" in str(refusal):
        return  # the sample calls a form that only we have
    unsupported = isinstance(refusal, NotImplementedError) or "does not support automatic" in str(refusal)
    if error is None:
        if not unsupported:  # we compute more dtypes
            yield f"silent, where PyTorch raises {type(refusal).__name__}: {str(refusal)[:200]}"
    elif refusal is None:
        yield f"raises {type(error).__name__}: {str(error)[:200]}"
    elif not isinstance(error, type(refusal)):
        yield f"raises {type(error).__name__}: {str(error)[:150]}, not {type(refusal).__name__}: {str(refusal)[:150]}"
    elif not unsupported and first_sentence(str(refusal)) not in re.sub(r"\d+", "#", str(error)):
        yield f"says {str(error)[:200]}, not {str(refusal)[:200]}"


def compare_values(a: Any, b: Any, name: str) -> Iterator[str]:
    if not isinstance(b, torch.Tensor):
        if a != b:
            yield f"{a!r}, not {b!r}"
        return
    if tuple(a.shape) != tuple(b.shape) or a.dtype.name != str(b.dtype).partition(".")[2]:
        yield f"{a.dtype} {tuple(a.shape)}, not {b.dtype} {tuple(b.shape)}"
        return
    if a.requires_grad != b.requires_grad:
        yield f"requires_grad is {a.requires_grad}"
    elif b.requires_grad and stem(a) != stem(b):
        yield f"grad_fn is {a.grad_fn.name()}, not {b.grad_fn.name()}"
    if steps(a) != steps(b) and a.numel():
        yield f"stride is {steps(a)}, not {steps(b)}"
    yield from close(plain(a), plain(b), name)


def stem(t: Any) -> str:
    """The name of a node without the number of the overload."""
    return t.grad_fn.name().rstrip("0123456789")


def steps(t: Any) -> tuple[int, ...]:
    """The strides that matter: those of axes longer than 1."""
    return tuple(s for s, n in zip(t.stride(), t.shape) if n > 1)


def plain(t: Any) -> Any:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj().resolve_neg()
        return np.array((t.float() if t.dtype is torch.bfloat16 else t).numpy(force=True))
    raw = np.array(t.raw)
    return raw.astype(np.float32) if raw.dtype.name == "bfloat16" else raw


def close(a: Any, b: Any, name: str) -> Iterator[str]:
    tol = TOLERANCE.get(name, 2e-5)
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))) if b.dtype.kind in "fc" else 0.0
        if not np.allclose(a, b, rtol=tol, atol=tol * scale, equal_nan=True):
            yield f"values\n{a}\n not\n{b}"


def compare_gradients(got: Any, want: Any, leaves: Any, reference: Any, name: str) -> Iterator[str]:
    pairs = [(a, b) for a, b in zip(got, want) if isinstance(b, torch.Tensor) and b.requires_grad and a.requires_grad]
    if not pairs:
        return
    rng = np.random.default_rng(3)
    cotangents = []
    for _, b in pairs:
        g = rng.normal(size=tuple(b.shape))
        g = torch.tensor(g + 1j * rng.normal(size=g.shape) if b.dtype.is_complex else g).to(b.dtype)
        cotangents.append(g)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, refusal = attempt(torch, [b for _, b in pairs], reference, cotangents)
        ours = [
            chainrule.tensor(plain(g), dtype=getattr(chainrule, str(g.dtype).partition(".")[2])) for g in cotangents
        ]
        found, error = attempt(chainrule, [a for a, _ in pairs], leaves, ours)
    if refusal is not None or error is not None:
        yield from (f"gradient {text}" for text in compare_errors(refusal, error))
        return
    for k, (g, e) in enumerate(zip(found, expected)):
        if (g is None) != (e is None):
            yield f"gradient {k} is {g}, not {e}"
        elif g is not None:
            if g.dtype.name != str(e.dtype).partition(".")[2] or tuple(g.shape) != tuple(e.shape):
                yield f"gradient {k} is {g.dtype} {tuple(g.shape)}, not {e.dtype} {tuple(e.shape)}"
            else:
                yield from (f"gradient {k}: {text}" for text in close(plain(g), plain(e), name))


def attempt(lib: Any, outs: Any, leaves: Any, gs: Any) -> tuple[Any, Any]:
    try:
        return lib.autograd.grad(outs, leaves, gs, allow_unused=True), None
    except Exception as error:
        return None, error
