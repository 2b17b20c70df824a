"""Are the gradients right? `gradcheck` compares them with finite differences, `gradgradcheck` the gradients'
own gradients.

All Jacobians here are arrays with one row per element of the input and one column per element of the output.
A complex output is
checked as two real functions. For a complex input z = x + iy the gradient is dL/dx + i dL/dy, in both
columns of the comparison.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from chainrule.autograd import api, forward_ad
from chainrule.autograd.cells import Cells, check_sparse_gradient, flat, whole
from chainrule.autograd.node import Node, tick
from chainrule.core.dtype import complex128, float64
from chainrule.core.family import call
from chainrule.core.notices import warn
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor, fresh

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]

Func = Callable[..., Any]


class GradcheckError(RuntimeError):
    """A gradient is wrong, or not what gradients must be."""


_NONDETERMINISTIC = (
    "\n\n\nNOTE: If your op relies on operations that are not deterministic, this may be expected: pass "
    "`nondet_tol=<tol>` to gradcheck or gradgradcheck."
)
_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: the backward of the "
    "function does not give under vmap what it gives for one cotangent at a time. Pass "
    "`check_batched_grad=False` to leave this check out."
)
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD: the tangents of the "
    "function are not under vmap what they are one at a time. Pass `check_batched_forward_grad=False` to "
    "leave this check out."
)
_UNDEFINED_WARNING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)
_FAST_BUT_SLOW_OK = (
    "Fast gradcheck failed but element-wise differences are small. This means that the test might've passed "
    "in slow_mode! Pass `fast_mode=False` to compare element by element."
)


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(o for o in _as_tuple(outputs) if o.requires_grad)


def _wants(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


@dataclass(frozen=True)
class _Check:
    """One function, where it is checked, and how closely."""

    func: Func
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool
    forward: bool = False
    complex_at: tuple[int, ...] = ()  # the outputs (forward mode: the inputs) of which this function is one part
    imaginary: bool = False
    masked: bool = False  # are the elements that a sparse input does not write down left out?

    def moving(self) -> _Check:
        """The same with inputs whose elements can all be moved."""
        return self if self.masked else replace(self, inputs=tuple(map(whole, self.inputs)))

    @property
    def wanted(self) -> list[int]:
        """Positions of the inputs that require a gradient."""
        return [i for i, x in enumerate(self.inputs) if _wants(x)]

    @property
    def leaves(self) -> list[Any]:
        return [self.inputs[i] for i in self.wanted]


# ------------------------------------------------------------------------------------------- finite differences


def _evaluated(check: _Check) -> list[Any]:
    return [o.clone() for o in _as_tuple(check.func(*check.inputs))]


def _difference(check: _Check, at: int, step: Any, length: float) -> list[Any]:
    """The central difference of every output when the input moves along `step`, per unit of `length`."""
    cells = Cells(check.inputs[at])
    origin = cells.array.copy()
    try:
        cells.put(origin - step)
        low = _evaluated(check)
        cells.put(origin + step)
        high = _evaluated(check)
    finally:
        cells.put(origin)
    for a, b in zip(low, high):
        _check_same_kind(a, b, check.eps)
    return [(flat(b) - flat(a)) / (2 * length) for a, b in zip(low, high)]


def _check_same_kind(a: Any, b: Any, eps: Any, index: Any = None) -> None:
    where = "" if index is None else f"on index {index} "
    text = "Expected `func` to return outputs with the same {} when inputs are perturbed "
    text += f"{where}by {eps}, but got:"
    if a.shape != b.shape:
        raise AssertionError(f"{text.format('shape')} shapes {a.shape} and {b.shape}.")
    if a.dtype is not b.dtype:
        raise AssertionError(f"{text.format('dtype')} dtypes {a.dtype} and {b.dtype}.")


def _numerical(check: _Check, at: int) -> list[Any]:
    """The Jacobians of every output with respect to one input."""
    x = check.inputs[at]
    parts = (1, 1j) if x.dtype.is_complex else (1,)
    cells, rows = Cells(x), []
    for k in range(len(cells.at)):
        found: list[Any] = []
        for part in parts:
            moved = _difference(check, at, cells.unit(k, check.eps * part), check.eps)
            found = moved if not found else [a + 1j * b for a, b in zip(found, moved)]
        rows.append(found)
    if not rows:
        return [np.zeros((x.numel(), o.numel())) for o in _evaluated(check)]
    return [cells.rows(list(column), x.numel()) for column in zip(*rows)]


# ------------------------------------------------------------------------------------------------ what autograd says


def _pulled(out: Any, leaves: list[Any], v: Any) -> list[Any]:
    cotangent = fresh(np.asarray(v).reshape(tuple(out.shape)).astype(out.raw.dtype))
    found: Any = api.grad(out, leaves, cotangent, retain_graph=True, allow_unused=True)
    return list(found)


def _stacked(rows: list[list[Any]], leaves: list[Any]) -> tuple[list[Any], bool, bool]:
    """Rows of gradients as Jacobians; are all sizes and dtypes those of the inputs?"""
    sizes = all(g is None or g.shape == x.shape for row in rows for g, x in zip(row, leaves))
    dtypes = all(g is None or g.dtype is x.dtype for row in rows for g, x in zip(row, leaves))
    found = []
    for i, x in enumerate(leaves):
        columns = [np.zeros(x.numel()) if row[i] is None else flat(row[i]) for row in rows]
        if any(c.size != x.numel() for c in columns):
            raise GradcheckError("Analytical gradient has incorrect size")
        found.append(np.stack(columns, 1) if columns else np.zeros((x.numel(), 0)))
    return found, sizes, dtypes


def _analytical(check: _Check, out: Any, vs: list[Any]) -> list[Any]:
    """The Jacobians of one output with respect to all inputs (its rows combined by each of `vs`), computed
    twice."""
    leaves = check.leaves
    first, sizes, dtypes = _stacked([_pulled(out, leaves, v) for v in vs], leaves)
    again, _, _ = _stacked([_pulled(out, leaves, v) for v in vs], leaves)
    if not dtypes and check.dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not _repeatable(first, again, check.nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
            "times gives different values, although analytical gradient matches numerical gradient. The "
            f"tolerance for nondeterminism was {check.nondet_tol}.{_NONDETERMINISTIC}"
        )
    return first


def _repeatable(first: list[Any], again: list[Any], tol: float) -> bool:
    return all(a.size == 0 or not np.abs(a - b).max() > tol for a, b in zip(first, again))


def _with_zero_tangent(x: Any) -> Any:
    return forward_ad.make_dual(x.detach(), call("zeros_like", x.detach()))


def _pushed(check: _Check, at: int, tangent: Any) -> list[Any]:
    """The tangents of every output; None where there is none."""
    with forward_ad.dual_level():
        duals = [_with_zero_tangent(x) if _wants(x) else x for x in check.inputs]
        like = check.inputs[at].detach()
        along = np.asarray(tangent).reshape(like.raw.shape).astype(like.raw.dtype)
        duals[at] = forward_ad.make_dual(like, fresh(along))
        outs = [o for o in _as_tuple(check.func(*duals)) if isinstance(o, Tensor)]
        pairs = [forward_ad.unpack_dual(o) for o in outs]
        found = []
        for primal, t in pairs:
            if t is None:
                found.append(np.zeros(primal.numel()))
                continue
            if check.dtypes and t.dtype is not primal.dtype:
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            if t.shape != primal.shape:
                raise GradcheckError("Forward AD gradient has incorrect size.")
            found.append(flat(t))
        return found


# ---------------------------------------------------------------------------------------------------- comparisons


def _close(a: Any, n: Any, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a, n, rtol=rtol, atol=atol))


def _mismatch(check: _Check, a: Any, n: Any, out_at: int, in_at: int) -> str:
    part, what = ("imaginary" if check.imaginary else "real"), ("inputs" if check.forward else "outputs")
    is_part = (in_at if check.forward else out_at) in check.complex_at
    prefix = f"While considering the {part} part of complex {what} only, " if is_part else ""
    mode = "computed with forward mode " if check.forward else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {out_at} with respect to input {in_at},\n"
        f"numerical:{fresh(np.asarray(n))}\nanalytical:{fresh(np.asarray(a))}\n"
    )


def _no_outputs(check: _Check) -> None:
    for at in check.wanted:
        if any((j != 0).any() for j in _numerical(check, at)):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _slow(check: _Check, func_out: tuple[Any, ...]) -> None:
    """Element by element."""
    kept = [i for i, o in enumerate(func_out) if o.requires_grad]
    if not kept:
        return _no_outputs(check)
    numerical = [[_numerical(check.moving(), at)[i] for i in kept] for at in check.wanted]
    for o, i in enumerate(kept):
        if check.forward:
            found = [_forward_jacobian(check, at, i) for at in check.wanted]
        else:
            found = _analytical(check, func_out[i], list(np.eye(func_out[i].numel())))
        for j, a in enumerate(found):
            if not _close(a, numerical[j][o], check.rtol, check.atol):
                raise GradcheckError(_mismatch(check, a, numerical[j][o], o, j))
    return None


def _forward_jacobian(check: _Check, at: int, out_at: int) -> Any:
    n = check.inputs[at].numel()
    rows = [_pushed(check, at, unit)[out_at] for unit in np.eye(n)]
    return np.stack(rows) if rows else np.zeros((0, 0))


def _direction(x: Any, rng: np.random.Generator) -> Any:
    """A random unit vector with an element for each of x; for a complex x a pair of them."""
    u = np.zeros(x.numel())
    spots = Cells(x).spots
    u[spots] = rng.random(len(spots))
    u /= max(float(np.linalg.norm(u)), 1e-300)
    return u


def _fast(check: _Check, func_out: tuple[Any, ...]) -> None:
    """One number per output and input: v J u for random unit vectors."""
    rng = np.random.default_rng(np.frombuffer(b"gradcheck", np.uint8))
    kept = [i for i, o in enumerate(func_out) if o.requires_grad]
    vs = [_direction(func_out[i], rng) for i in kept]
    us = [(_direction(x, rng), _direction(x, rng) if x.dtype.is_complex else None) for x in check.leaves]
    if not kept and not check.forward:
        return _no_outputs_fast(check, us)
    analytical = None if check.forward else [_analytical(check, func_out[i], [v]) for i, v in zip(kept, vs)]
    for j, (at, (u, w)) in enumerate(zip(check.wanted, us)):
        moving = check.moving()
        along, across = _moved(moving, at, u, 1), None if w is None else _moved(moving, at, w, 1j)
        pushed = _pushed(check, at, u) if check.forward else None
        for o, i in enumerate(kept):
            if analytical is None:
                assert pushed is not None
                a, n, scale = pushed[i], along[i], u.sum()
            else:
                row = analytical[o][j][:, 0]
                a = np.real(row) @ u + (0 if w is None else 1j * (np.imag(row) @ w))
                n = vs[o] @ along[i] + (0 if across is None else 1j * (vs[o] @ across[i]))
                scale = (u.sum() + (0 if w is None else w.sum())) * vs[o].sum()
            if not _close(a, n, check.rtol, check.atol * float(scale)):
                raise GradcheckError(_mismatch(check, a, n, o, j) + _in_slow_mode(check, func_out, i, at))
    return None


def _moved(check: _Check, at: int, u: Any, part: complex) -> list[Any]:
    return _difference(check, at, Cells(check.inputs[at]).step(check.eps * u * part), check.eps)


def _no_outputs_fast(check: _Check, us: list[Any]) -> None:
    for at, (u, _) in zip(check.wanted, us):
        if any(j.size and np.abs(j).max() > check.nondet_tol for j in _moved(check, at, u, 1)):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _in_slow_mode(check: _Check, func_out: tuple[Any, ...], out_at: int, in_at: int) -> str:
    """What the element-wise comparison would have said."""
    n = _numerical(check.moving(), in_at)[out_at]
    if check.forward:
        a = _forward_jacobian(check, in_at, out_at)
    else:
        a = _analytical(check, func_out[out_at], list(np.eye(func_out[out_at].numel())))[check.wanted.index(in_at)]
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. "
        "Below, we recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n "
        f"{fresh(n)}\nAnalytical:\n{fresh(a)}\n\nThe max per-element difference (slow mode) is: "
        f"{np.abs(n - a).max()}.\n"
    )
    return text + (_FAST_BUT_SLOW_OK if _close(a, n, check.rtol, check.atol) else "")


# ------------------------------------------------------------------------------------- complex functions in two parts


def _output_part(func: Func, take: str) -> Func:
    def part(*inputs: Any) -> Any:
        outs = _as_tuple(func(*inputs))
        return tuple(getattr(o, take) if o.dtype.is_complex else o for o in outs)

    return part


def _input_part(func: Func, at: tuple[int, ...], inputs: tuple[Any, ...], imaginary: bool) -> Func:
    """The function of one part of its complex inputs; the other part stays as it is."""

    def part(*given: Any) -> Any:
        full = list(given)
        for i in at:
            full[i] = inputs[i].real + given[i] * 1j if imaginary else given[i] + inputs[i].imag * 1j
        return _as_tuple(func(*full))

    return part


def _compared(check: _Check, func_out: Any, fast: bool) -> None:
    (_fast if fast else _slow)(check, _as_tuple(func_out))


def _backward_checked(check: _Check, func_out: Any, fast: bool) -> None:
    outs = _as_tuple(func_out)
    at = tuple(i for i, o in enumerate(_differentiable(outs)) if o.dtype.is_complex)
    if not any(o.dtype.is_complex for o in outs):
        return _compared(check, outs, fast)
    for imaginary in (True, False):
        part = _output_part(check.func, "imag" if imaginary else "real")
        one = replace(check, func=part, complex_at=at, imaginary=imaginary)
        _compared(one, part(*check.inputs), fast)
    return None


def _forward_checked(check: _Check, func_out: Any, fast: bool, undefined: bool) -> None:
    check = replace(check, forward=True)
    at = tuple(i for i, x in enumerate(check.inputs) if isinstance(x, Tensor) and x.dtype.is_complex)
    checks = [(check, func_out)]
    if at:
        checks = [_forward_part(check, at, imaginary) for imaginary in (True, False)]
    for one, out in checks:
        _compared(one, out, fast)
    for one, _ in checks if undefined else ():
        _undefined_forward(one)


def _forward_part(check: _Check, at: tuple[int, ...], imaginary: bool) -> tuple[_Check, Any]:
    func = _input_part(check.func, at, check.inputs, imaginary)
    # a part of a complex tensor is a view of it: finite differences move a copy, or the rest would move too
    inputs = tuple(_part_of(x, imaginary) if i in at else x for i, x in enumerate(check.inputs))
    one = replace(check, func=func, inputs=inputs, complex_at=at, imaginary=imaginary)
    return one, func(*inputs)


def _part_of(x: Any, imaginary: bool) -> Any:
    part = (x.imag if imaginary else x.real).detach().clone()
    return part.requires_grad_() if x.requires_grad else part


# --------------------------------------------------------------------------------------------------- further checks


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    for i, x in enumerate(inputs):
        if not _wants(x):
            continue
        if x.dtype not in (float64, complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or "
                "complex. ",
            )
        content = x._values() if x.is_sparse else x
        if any(step == 0 and n > 1 for step, n in zip(content.stride(), content.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    if not any(map(_wants, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _check_outputs(outputs: tuple[Any, ...]) -> None:
    if any(o.is_sparse for o in outputs):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of "
            "fn for gradcheck."
        )


def _random_like(t: Any) -> Any:
    return PUBLIC["f"]["randn_like"](t)


def _same(a: Any, b: Any) -> bool:
    return bool(np.allclose(flat(a), flat(b), rtol=1e-5, atol=1e-8, equal_nan=False))


def _batched_backward(check: _Check, out: Any, out_at: int) -> None:
    """One batched backward gives what two single ones give."""
    leaves = check.leaves

    def pull(v: Any) -> tuple[Any, ...]:
        found = api.grad(out, leaves, v, retain_graph=True, allow_unused=True)
        return tuple(call("zeros_like", x.detach()) if g is None else g for g, x in zip(found, leaves))

    _batches(pull, [_random_like(out) for _ in range(2)], _BATCHED, lambda i: (out_at, i))


def _batches(fn: Func, rows: list[Any], text: str, place: Callable[[int], tuple[int, int]]) -> None:
    try:
        expected = [call("stack", list(column), dim=0) for column in zip(*(fn(r) for r in rows))]
        found = api.BATCHED[0](fn, [call("stack", [r.detach() for r in rows], dim=0)])
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{text}") from error
    for i, (got, want) in enumerate(zip(found, expected)):
        if not _same(got, want):
            out_at, in_at = place(i)
            head = f"For output {out_at} and input {in_at}:\n\n{text}"
            raise GradcheckError(f"{head}\n\nGot:\n{got}\n\nExpected:\n{want}")


def _batched_forward(check: _Check, at: int) -> None:
    """Tangents of one input under vmap are what they are one at a time."""

    def push(tangent: Any) -> tuple[Any, ...]:
        with forward_ad.dual_level():
            duals = [x.detach() if isinstance(x, Tensor) else x for x in check.inputs]
            duals[at] = forward_ad.make_dual(duals[at], tangent)
            pairs = [forward_ad.unpack_dual(o) for o in _as_tuple(check.func(*duals)) if o is not None]
            return tuple(call("zeros_like", p) if t is None else t for p, t in pairs)

    _batches(push, [_random_like(check.inputs[at]) for _ in range(2)], _BATCHED_FORWARD, lambda i: (i, at))


def _zero_cotangents(check: _Check, outputs: tuple[Any, ...], masked: bool) -> None:
    """A backward is linear: zero in, zero out."""
    leaves = check.leaves
    found = api.grad(outputs, leaves, [call("zeros_like", o.detach()) for o in outputs], allow_unused=True)
    for g, x in zip(found, leaves):
        if g is None:
            continue
        wrong = check_sparse_gradient(g, x)
        if wrong is not None:
            raise GradcheckError(wrong)
        if not (np.allclose(flat(g), 0) if masked else (flat(g) == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


class UndefinedGrad(Node):
    """An identity whose backward gives nothing."""

    __slots__ = ()

    def pull(self, g: Any) -> tuple[Any, ...]:
        return (None,)

    pull_graph = pull


def _without_gradient(t: Any) -> Any:
    node = object.__new__(UndefinedGrad)
    node.edges, node.saved, node.checks, node.hooks = (api.gradient_edge(t),), (), None, None
    node.code, node.lasti, node.key = None, 0, tick()
    out = t.detach()
    out.edge = node
    return out


def _undefined_backward(check: _Check) -> None:
    """Outputs whose gradient never comes, all of them and each in turn."""
    outs = _differentiable(check.func(*check.inputs))
    _undefined_ok(check, [_without_gradient(o) for o in outs])
    for missing in range(len(outs)) if len(outs) > 1 else ():
        outs = _differentiable(check.func(*check.inputs))
        _undefined_ok(check, [_without_gradient(o) if i == missing else o for i, o in enumerate(outs)])


def _undefined_ok(check: _Check, outs: list[Any]) -> None:
    try:
        found = api.grad(outs, check.leaves, [call("zeros_like", o.detach()) for o in outs], allow_unused=True)
    except RuntimeError as error:
        warn(_UNDEFINED_WARNING)
        raise GradcheckError("Expected backward function to handle undefined output grads.") from error
    if any(g is not None and (flat(g) != 0).any() for g in found):
        warn(_UNDEFINED_WARNING)
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
        )


def _undefined_forward(check: _Check) -> None:
    """An input without a tangent counts like one whose tangent is zero."""
    with forward_ad.dual_level():
        plain = [x.detach() if _wants(x) else x for x in check.inputs]
        duals = [forward_ad.make_dual(p, _random_like(p)) if _wants(x) else p for x, p in zip(check.inputs, plain)]
        for at in check.wanted:
            zero = forward_ad.make_dual(plain[at], call("zeros_like", plain[at]))
            given, absent = (_tangents(check.func, [*duals[:at], x, *duals[at + 1 :]]) for x in (zero, plain[at]))
            for i, (a, b) in enumerate(zip(given, absent)):
                if a is not None and b is not None and not _same(a, b):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {i} when input: {plain[at]} has "
                        f"an undefined tangent value.  Got: {a} but expected: {b}"
                    )


def _tangents(func: Func, inputs: list[Any]) -> list[Any]:
    outs = [o for o in _as_tuple(func(*inputs)) if isinstance(o, Tensor)]
    return [forward_ad.unpack_dual(o).tangent for o in outs if o.dtype.is_floating_point or o.dtype.is_complex]


# ------------------------------------------------------------------------------------------------------ public names


def gradcheck(
    func: Func,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with finite differences; give the inputs in double precision."""
    assert check_forward_ad or check_backward_ad, (
        "Expected at least one of check_forward_ad or check_backward_ad to be True"
    )
    assert not (check_batched_grad and not check_backward_ad), (
        "Setting check_batched_grad=True requires check_backward_ad to be True"
    )
    assert not (check_batched_forward_grad and not check_forward_ad), (
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, masked=bool(masked))
    try:
        _check_inputs(check.inputs)
        func_out = func(*check.inputs)
        outputs = _differentiable(func_out)
        _check_outputs(outputs)
        if check_backward_ad:
            _backward_checked(check, func_out, fast_mode)
        if check_forward_ad:
            _forward_checked(check, func_out, fast_mode, check_undefined_grad)
        if check_batched_forward_grad:
            for at in check.wanted:
                _batched_forward(check, at)
        if check_backward_ad:
            for i, out in enumerate(outputs) if check_batched_grad else ():
                _batched_backward(check, out, i)
            if outputs:
                _zero_cotangents(check, outputs, bool(masked))
            if check_undefined_grad:
                _undefined_backward(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Func,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the gradients of the gradients of `func` with finite differences of the gradients."""
    assert check_fwd_over_rev or check_rev_over_rev, (
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    )
    assert not (check_undefined_grad and not check_rev_over_rev), (
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    )
    assert not (check_batched_grad and not check_rev_over_rev), (
        "Setting check_batched_grad=True requires check_rev_over_rev to be True"
    )
    given = _as_tuple(inputs)
    if grad_outputs is None:
        outs = _differentiable(func(*given))
        cotangents = tuple(_cotangent_for(o, gen_non_contig_grad_outputs) for o in outs)
    else:
        cotangents = _as_tuple(grad_outputs)
    wanted, count = [i for i, x in enumerate(given) if _wants(x)], len(given)
    marked = [i for i, x in enumerate(cotangents) if _wants(x)]

    def pull(*args: Any) -> tuple[Any, ...]:
        xs = [x.requires_grad_() if i in wanted else x for i, x in enumerate(args[:count])]
        gs = [g.requires_grad_() if i in marked else g for i, g in enumerate(args[count:])]
        outs = _differentiable(func(*xs))
        found = api.grad(outs, [xs[i] for i in wanted], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        pull, given + cotangents, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        masked=masked,
    )  # fmt: skip


def _cotangent_for(out: Any, strided: bool) -> Any:
    """A random cotangent; `strided`: one that is not contiguous."""
    dtype = out.dtype if out.dtype.is_floating_point or out.dtype.is_complex else float64
    shape = tuple(out.shape)
    rng = np.random.default_rng()
    wide = (*shape[:-1], 2 * shape[-1]) if strided and shape else shape
    raw = rng.uniform(-1, 1, wide) + (1j * rng.uniform(-1, 1, wide) if dtype.is_complex else 0)
    raw = np.asarray(raw).astype(dtype.numpy)
    return fresh(raw[..., ::2] if strided and shape else raw).requires_grad_()


# --------------------------------------------------------------------------------- deprecated, kept for old programs


_ONLY_ONE = "no longer supports values of grad_out != 1.0."


def _deprecated(name: str) -> None:
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and "
        "it will be removed in a future version of PyTorch.",
        FutureWarning,
    )


def get_numerical_jacobian(
    fn: Func, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """The Jacobians of the first output of `fn(inputs)` by finite differences."""
    _deprecated("get_numerical_jacobian")
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. get_numerical_jacobian {_ONLY_ONE}")
    given = _as_tuple(inputs)
    check = _Check(lambda *xs: fn(inputs if not isinstance(inputs, tuple) else xs), given, eps, 0.0, 0.0, 0.0, False)
    wanted = [i for i in check.wanted if target is None or any(given[i] is t for t in _as_tuple(target))]
    return [fresh(_numerical(check, i)[0]) for i in wanted]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[Any, bool, bool, bool]:
    """The Jacobians of `output` by backward; are two runs equal, are the sizes right, are the dtypes
    right?"""
    _deprecated("get_analytical_jacobian")
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. get_analytical_jacobian {_ONLY_ONE}")
    if output.dtype.is_complex:
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    leaves = [x for x in _as_tuple(inputs) if _wants(x)]
    units = list(np.eye(output.numel()))
    first, sizes, dtypes = _stacked([_pulled(output, leaves, v) for v in units], leaves)
    again, _, _ = _stacked([_pulled(output, leaves, v) for v in units], leaves)
    return tuple(fresh(j) for j in first), _repeatable(first, again, nondet_tol), sizes, dtypes


class _FunctionAndModule(ModuleType):
    """PyTorch has a function and a module named `torch.autograd.gradcheck`; whichever is met can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _FunctionAndModule
