"""The same call on Chainrule and on PyTorch: values, dtypes, gradients, second gradients, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

Call = Callable[[Any, Any], Any]  # (the library, the operands) -> a tensor or a tuple of them


def ours(a: Any, grad: bool = False) -> Any:
    """A tensor of Chainrule over a copy of the array, with the array's strides."""
    if not isinstance(a, np.ndarray):
        return a
    t = chainrule.from_numpy(a.copy(order="K"))
    return t.requires_grad_() if grad and t.dtype.is_floating_point | t.dtype.is_complex else t


def theirs(a: Any, grad: bool = False) -> Any:
    """The same for PyTorch."""
    if not isinstance(a, np.ndarray):
        return a
    t = torch.from_numpy(a.copy(order="K"))
    return t.requires_grad_() if grad and (t.dtype.is_floating_point or t.dtype.is_complex) else t


def outputs(result: Any) -> list[Any]:
    """The tensors of a result."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def array(t: Any) -> Any:
    if t.__class__ is torch.Tensor and t._is_zerotensor():
        t = t.clone()
    return np.asarray(t.detach().resolve_conj().numpy() if hasattr(t, "resolve_conj") else t.detach().numpy())


def close(got: Any, want: Any, tol: float, what: str) -> None:
    """Shapes and dtypes exactly, values to a tolerance."""
    g, w = array(got), array(want)
    assert g.shape == w.shape, f"{what}: {g.shape}, not {w.shape}"
    assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1], f"{what}: {got.dtype}, not {want.dtype}"
    if w.dtype.kind in "fc":
        scale = float(np.max(np.abs(w), initial=1.0, where=np.isfinite(w)))
        ok = np.isclose(g, w, rtol=tol, atol=tol * scale, equal_nan=True)
    else:
        ok = np.asarray(g == w)
    assert ok.all(), f"{what}:\n{g}\nnot\n{w}"


def tolerance(arrays: list[Any]) -> float:
    if not any(a.dtype.kind in "fc" for a in arrays):
        return 2e-5
    wide = all(a.dtype.itemsize >= (16 if a.dtype.kind == "c" else 8) for a in arrays if a.dtype.kind in "fc")
    half = any(a.dtype == np.float16 for a in arrays)
    return 1e-9 if wide else 5e-3 if half else 2e-5


def agree(call: Call, arrays: list[Any], *, grad: bool = True, second: bool = False, tol: float | None = None) -> None:
    """Values, and with `grad` the gradients of a random weighting of all outputs; with `second` theirs too."""
    real = [a for a in arrays if isinstance(a, np.ndarray)]
    tol = tolerance(real) if tol is None else tol
    mine, them = [ours(a, grad) for a in arrays], [theirs(a, grad) for a in arrays]
    got, want = outputs(call(chainrule, mine)), outputs(call(torch, them))
    assert len(got) == len(want)
    for at, (g, w) in enumerate(zip(got, want)):
        close(g, w, tol, f"output {at}")
    if not grad:
        return
    pairs = [(g, w) for g, w in zip(got, want) if w.requires_grad]
    assert [g.requires_grad for g in got] == [w.requires_grad for w in want]
    if pairs:
        _gradients(pairs, mine, them, tol, second)


def _weighted(results: list[Any], make: Any) -> Any:
    rng = np.random.default_rng(7)
    total = None
    for r in results:
        weight = np.asarray(rng.normal(size=tuple(r.shape))).astype(array(r).real.dtype)
        parts = [r.real, r.imag] if r.is_complex() else [r]
        for part in parts:
            term = (part * make(weight)).sum()
            total = term if total is None else total + term
    return total


def _gradients(pairs: list[Any], mine: list[Any], them: list[Any], tol: float, second: bool) -> None:
    leaves, lthem = (
        [t for t in mine if getattr(t, "requires_grad", False)],
        [t for t in them if getattr(t, "requires_grad", False)],
    )
    a, b = _weighted([g for g, _ in pairs], ours), _weighted([w for _, w in pairs], theirs)
    first = chainrule.autograd.grad(a, leaves, create_graph=second, allow_unused=True)
    other = torch.autograd.grad(b, lthem, create_graph=second, allow_unused=True)
    for at, (g, w) in enumerate(zip(first, other)):
        assert (g is None) == (w is None), f"gradient {at}: {g}, not {w}"
        if g is not None:
            close(g, w, 10 * tol, f"gradient {at}")
    if second:
        _second(first, other, leaves, lthem, tol)


def _second(first: Any, other: Any, leaves: list[Any], lthem: list[Any], tol: float) -> None:
    got, want = [g for g in first if g is not None], [w for w in other if w is not None]
    kept = [(g, w) for g, w in zip(got, want) if w.requires_grad]
    if not kept:
        return
    a, b = _weighted([g for g, _ in kept], ours), _weighted([w for _, w in kept], theirs)
    if not a.requires_grad:
        return
    for at, (g, w) in enumerate(
        zip(chainrule.autograd.grad(a, leaves, allow_unused=True), torch.autograd.grad(b, lthem, allow_unused=True))
    ):
        g = g if g is not None else None
        if w is None or g is None:
            present = w if g is None else g
            assert present is None or not array(present).any(), f"second gradient {at}: {g}, not {w}"
            continue
        close(g, w, 100 * tol, f"second gradient {at}")


def refuse(call: Call, arrays: list[Any], phrase: str | None = None) -> None:
    """Both refuse, with the same type and the same first sentence (or the given phrase)."""
    with pytest.raises(Exception) as want:
        call(torch, [theirs(a) for a in arrays])
    with pytest.raises(Exception) as got:
        call(chainrule, [ours(a) for a in arrays])
    assert issubclass(type(got.value), _kind(want.value)), f"{type(got.value)}, not {type(want.value)}"
    text = str(want.value).split("\n")[0]
    expected = phrase if phrase is not None else text
    assert expected in str(got.value), f"{got.value}\nnot\n{text}"


def _kind(error: BaseException) -> type:
    return RuntimeError if type(error).__name__ in ("_LinAlgError", "LinAlgError") else type(error)
