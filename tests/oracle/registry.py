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
from chainrule.core.tensor import Tensor
from chainrule.ops.create import made as over
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
    keep = case.keeping or np.asarray  # in other dtypes, too, only what the op is defined on
    made = [keep(cast(x, name)) if i in case.smooth else cast(x, name) for i, x in enumerate(case.inputs)]
    return [over(change(x)) if isinstance(x, np.ndarray) else x for x in made]


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
    exact = Exact(lambda inputs: outcome(fn, op, inputs, params)[0], reference, case)
    for k, (a, b) in enumerate(zip(got, want)):
        yield from (f"result {k}: {text}" for text in compare_values(a, b, name, exact.result(k)))
    if leaves:
        at = [ours[i] for i in leaves], [reference[i] for i in leaves]
        yield from compare_gradients(got, want, *at, name, exact)


class Exact:
    """What PyTorch computes in double precision from the same numbers, where a difference asks for it.

    In fewer bits two ways to round are two results, as far from each other as the terms are large, however small their
    sum. Of those, one that is no further from the exact result than PyTorch's is no difference.
    """

    def __init__(self, run: Callable[[list[Any]], Any], reference: list[Any], case: Case) -> None:
        self.run, self.reference, self.case = run, reference, case

    def again(self) -> tuple[Any, list[Any]]:
        """The results, and the inputs that gradients are taken of."""
        inputs = [
            x.detach().to(torch.complex128 if x.is_complex() else torch.float64)
            if isinstance(x, torch.Tensor) and self.case.inputs[i].dtype.kind in "fc"
            else x
            for i, x in enumerate(self.reference)
        ]
        leaves = [inputs[i].requires_grad_() for i, x in enumerate(self.reference) if getattr(x, "requires_grad", 0)]
        return self.run(inputs), leaves

    def result(self, k: int) -> Callable[[], Any]:
        def ask() -> Any:
            found, _ = self.again()
            return None if found is None else plain(found[k])

        return ask

    def gradient(self, k: int, cotangents: list[Any]) -> Callable[[], Any]:
        def ask() -> Any:
            found, leaves = self.again()
            carriers = [t for t in found or () if isinstance(t, torch.Tensor) and t.requires_grad]
            if len(carriers) != len(cotangents):
                return None
            gs, _ = attempt(torch, carriers, leaves, [g.to(t.dtype) for g, t in zip(cotangents, carriers)])
            return None if gs is None or gs[k] is None else plain(gs[k])

        return ask


def compare_errors(refusal: Any, error: Any) -> Iterator[str]:
    if "invalid combination of arguments" in str(refusal):
        return  # the sample calls a form that only we have
    unsupported = isinstance(refusal, NotImplementedError) or "does not support automatic" in str(refusal)
    if error is None:
        if not unsupported:  # we compute more dtypes
            yield f"silent, where PyTorch raises {type(refusal).__name__}: {str(refusal)[:200]}"
    elif refusal is None:
        yield f"raises {type(error).__name__}: {str(error)[:200]}"
    elif not isinstance(error, next(c for c in type(refusal).__mro__ if c.__module__ == "builtins")):
        yield f"raises {type(error).__name__}: {str(error)[:150]}, not {type(refusal).__name__}: {str(refusal)[:150]}"
    elif not unsupported and first_sentence(str(refusal)) not in re.sub(r"\d+", "#", str(error)):
        yield f"says {str(error)[:200]}, not {str(refusal)[:200]}"


def compare_values(a: Any, b: Any, name: str, exact: Callable[[], Any]) -> Iterator[str]:
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
        yield f"grad_fn is {stem(a)}, not {stem(b)}"
    if steps(a) != steps(b) and a.numel():
        yield f"stride is {steps(a)}, not {steps(b)}"
    yield from close(plain(a), plain(b), name, exact)


def stem(t: Any) -> str:
    """The name of a node without the number of the overload; of a leaf, none."""
    return "" if t.grad_fn is None else t.grad_fn.name().rstrip("0123456789")


def steps(t: Any) -> tuple[int, ...]:
    """The strides that matter: those of axes longer than 1."""
    return tuple(s for s, n in zip(t.stride(), t.shape) if n > 1)


def plain(t: Any) -> Any:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj().resolve_neg()
        wide = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}.get(t.dtype, t.dtype)
        return np.array(t.to(wide).numpy(force=True))
    wide = {"bfloat16": chainrule.float32, "complex32": chainrule.complex64}.get(t.dtype.name, t.dtype)
    return np.array(t.detach().to(wide).raw)


def close(a: Any, b: Any, name: str, exact: Callable[[], Any]) -> Iterator[str]:
    tol = TOLERANCE.get(name, 2e-5)
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))) if b.dtype.kind in "fc" else 0.0
        same = np.isclose(a, b, rtol=tol, atol=tol * scale, equal_nan=True)
        if np.all(same) or (name != "float64" and no_further(a, b, same, exact())):
            return
        yield f"values\n{a}\n not\n{b}"


def no_further(a: Any, b: Any, same: Any, exact: Any) -> bool:
    """Are the elements that differ at least as close to the exact ones as PyTorch's?"""
    return exact is not None and exact.shape == a.shape and bool(np.all(same | (abs(a - exact) <= abs(b - exact))))


def compare_gradients(
    got: Any, want: Any, leaves: Any, reference: Any, name: str, exact: Exact
) -> Iterator[str]:  # fmt: skip
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
                yield from (
                    f"gradient {k}: {text}" for text in close(plain(g), plain(e), name, exact.gradient(k, cotangents))
                )


def attempt(lib: Any, outs: Any, leaves: Any, gs: Any) -> tuple[Any, Any]:
    try:
        return lib.autograd.grad(outs, leaves, gs, allow_unused=True), None
    except Exception as error:
        return None, error
