"""Steps in which somebody else's code takes part: hooks, custom Functions, checkpoints, saved-tensor hooks, transforms, dual numbers."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import re
from typing import Any

import torch

from tests.oracle.steps_in_place import well_defined
from tests.oracle.writer import Writer, broadcasts, template


def smooth(w: Writer, a: str, rest: list[str], depth: int = 2) -> str:
    """A smooth expression of `a`, of the shape of `a`; `rest` are names of other tensors of that shape."""
    if depth == 0 or w.chance(0.2):
        return w.one(a, a, *rest) if rest else a
    x = smooth(w, a, rest, depth - 1)
    y = smooth(w, a, rest, depth - 1)
    return w.one(
        f"({x}).sin()", f"({x}).tanh()", f"({x}).sigmoid()", f"torch.nn.functional.softplus({x})", f"({x}) * ({y})", f"({x}) + ({y})",
        f"({x}) - 0.5 * ({y})", f"({x}) / (1 + ({y}) ** 2)", f"({x}) ** 2", f"({x}).cos()", f"torch.nn.functional.gelu({x})", f"({x}).atan()",
    )  # fmt: skip


def real(w: Writer, more: Any = lambda t: True) -> str | None:
    return w.pick(lambda t: t.dtype is torch.float64 and not t.is_inference() and more(t))


def others(w: Writer, x: str) -> list[str]:
    """Up to two tensors of the same shape."""
    shape = w.t(x).shape
    names = [
        n
        for n, t in w.tensors().items()
        if t.shape == shape and t.dtype is torch.float64 and n != x and not t.is_inference()
    ]
    return names[-2:]


@template(4)
def custom(w: Writer) -> str | None:
    """A Function of the user's."""
    x = real(w)
    if x is None:
        return None
    y = w.one(*others(w, x), x) if others(w, x) else x
    t = w.t(x)
    forms = [
        f"{w.new()} = Cube.apply({x})", f"{w.new()} = Grow.apply({x})", f"{w.new()}, {w.new()} = Both.apply({x}, {y}, 2)", f"{w.new()}, {w.new()} = Sparse.apply({x})",
        f"{w.new()} = Same.apply({x})", f"{w.new()} = Window.apply({x})", f"{w.new()} = Once.apply({x})", f"{w.new()} = Cube.apply(Grow.apply({x}.tanh()))",
    ]  # fmt: skip
    if not (t.is_leaf and t.requires_grad) and well_defined(w, x) and not torch._debug_has_internal_overlap(t):
        forms += [f"{w.new()} = Twice.apply({x})", f"{w.new()} = Twice.apply({x}.clone())", f"Twice.apply({x})"]
    return w.rng.choice(forms)


@template(2)
def checkpointed(w: Writer) -> str | None:
    x = real(w)
    if x is None:
        return None
    reentrant = w.one("False", "False", "True")
    rest = others(w, x)
    body = w.one(
        "block",
        f"lambda a: {smooth(w, 'a', rest)}",
        f"lambda a: torch.utils.checkpoint.checkpoint(block, a, use_reentrant={reentrant}) * a",
    )
    if body.removeprefix("lambda a: ") in rest:
        reentrant = "False"  # a tensor returned as it is gets the checkpoint for its history: backward would never end
    return f"{w.new()} = torch.utils.checkpoint.checkpoint({body}, {x}, use_reentrant={reentrant})"


@template(2)
def packed(w: Writer) -> str | None:
    """Saved tensors go through the user's hands."""
    x = real(w)
    if x is None:
        return None
    text = f"{w.new()} = {smooth(w, x, others(w, x))}"
    around = w.one(
        "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)", "torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t)",
        "torch.autograd.graph.saved_tensors_hooks(store.pack, store.unpack)", "torch.autograd.graph.save_on_cpu()", "torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a))",
        "torch.autograd.set_detect_anomaly(True)",
    )  # fmt: skip
    lines = [f"with {around}:", f"    {text}"]
    return "\n".join(["store = Store()", *lines] if "store" in around else lines)


@template(4)
def noted(w: Writer) -> str | None:
    """Hooks that only look: on tensors, on nodes, on leaves after they accumulated."""
    x = w.pick(lambda t: t.requires_grad and t.dtype is torch.float64 and not t._is_view())
    if x is None:
        return None
    at = len(w.steps)
    forms = [f"{x}.register_hook(lambda g: note('tensor {at}', g))"]
    if w.t(x).is_leaf:
        forms += [f"{x}.register_post_accumulate_grad_hook(lambda t: note('after {at}', t.grad))"]
    else:
        forms += [
            f"{x}.grad_fn.register_hook(lambda gi, go: note('node {at}', *go))", f"{x}.grad_fn.register_prehook(lambda go: note('before {at}', *go))",
            f"{x}.retain_grad()", f"{x}.register_hook(lambda g: note('tensor {at}', g)).remove()",
        ]  # fmt: skip
    return w.rng.choice(forms)


@template(5)
def passes(w: Writer) -> str | None:
    """Backward passes with more arguments: cotangents, chosen inputs, several roots, twice."""
    ends = [n for n, t in w.tensors().items() if usable(t) and not t.is_leaf][-5:]
    leaves = [n for n, t in w.tensors().items() if usable(t) and t.is_leaf]
    if not ends or not leaves:
        return None
    y, z = w.one(*ends), w.one(*ends)
    x = w.one(*leaves)
    inner = w.one(*ends)
    loss = f"({y} * {y}).sum()"
    keep = w.one("", ", retain_graph=True", ", create_graph=True", ", retain_graph=True")
    g = f"torch.full_like({y}, 0.5)"
    forms = [
        f"torch.autograd.backward([{loss}, {z}.sum()]{keep})", f"torch.autograd.backward([{y}, {z}], [{g}, torch.ones_like({z})]{keep})", f"{y}.backward({g}, inputs=[{x}]{keep})",
        f"{loss}.backward(inputs=[{x}, {inner}]{keep})", f"{loss}.backward(retain_graph=True)\n{loss}.backward({keep[2:]})", f"{y}.sum().backward({keep[2:]})",
        f"{w.new()}, = torch.autograd.grad({y}, [{x}], {g}, allow_unused=True{keep})", f"{w.new()}, {w.new()} = torch.autograd.grad([{loss}, {z}.sum()], [{x}, {inner}], allow_unused=True{keep})",
        *(
            []
            if any("hook" in s.text or "retain" in s.text or "inputs=" in s.text for s in w.steps)  # a batch would leak
            else [f"{w.new()}, = torch.autograd.grad({y}, [{x}], torch.stack([{g}, {g} * 2]), is_grads_batched=True, allow_unused=True{', retain_graph=True' if keep else ''})"]
        ),
        f"{w.new()}, = torch.autograd.grad({loss}, [{inner}], materialize_grads=True{keep})",
    ]  # fmt: skip
    return w.rng.choice(forms)


def usable(t: Any) -> bool:
    try:
        return t.requires_grad and t.dtype is torch.float64
    except RuntimeError:
        return False


@template(3)
def transformed(w: Writer) -> str | None:
    """torch.func in the middle of a program."""
    x = real(w)
    if x is None:
        return None
    t, rest = w.t(x), others(w, x)
    f = f"lambda a: {smooth(w, 'a', rest)}"
    scalar = f"lambda a: ({smooth(w, 'a', rest)}).sum()"
    v = w.one(*rest, f"{x}.cos()") if rest else f"{x}.cos()"
    forms = [
        f"{w.new()} = torch.func.grad({scalar})({x})", f"{w.new()}, {w.new()} = torch.func.jvp({f}, ({x},), ({v},))", f"{w.new()} = torch.func.vjp({f}, {x})[1]({v})[0]",
        f"{w.new()} = torch.func.jvp(torch.func.grad({scalar}), ({x},), ({v},))[1]", f"{w.new()} = torch.func.grad(lambda b: torch.func.jvp({f}, (b,), (b.sin(),))[1].sum())({x})",
        f"{w.new()}, {w.new()} = torch.func.grad_and_value({scalar})({x})",
    ]  # fmt: skip
    if t.numel() <= 12:
        forms += [
            f"{w.new()} = torch.func.{w.one('jacrev', 'jacfwd')}({f})({x})",
            f"{w.new()} = torch.func.hessian({scalar})({x})",
            f"{w.new()} = torch.autograd.functional.{w.one('jacobian', 'jacobian')}({f}, {x}, create_graph={w.one('True', 'False')})",
        ]
    if t.dim() and t.numel():
        d = w.rng.randint(-t.dim(), t.dim() - 1)
        inner = f"lambda a: {smooth(w, 'a', [])}"
        forms += [
            f"{w.new()} = torch.func.vmap({inner}, in_dims={d})({x})",
            f"{w.new()} = torch.func.vmap(torch.func.grad(lambda a: ({smooth(w, 'a', [])}).sum()), {d}, {w.one(0, -1)})({x})",
        ]
    return written_apart(w.rng.choice(forms), t)


def written_apart(text: str, t: Any) -> str | None:
    """No forward mode of an expanded tensor: PyTorch lays the tangent out like it, and then cannot write it."""
    forward = re.search(r"func\.(jvp|jacfwd|hessian)", text)
    return None if forward and torch._debug_has_internal_overlap(t) == 1 else text


@template(2)
def dual(w: Writer) -> str | None:
    """Forward mode."""
    x = real(w, lambda t: not t._is_view())
    if x is None:
        return None
    rest = others(w, x)
    v = w.one(*rest, f"{x}.detach().cos()") if rest else f"{x}.detach().cos()"
    made, primal, tangent = w.new(), w.new(), w.new()
    lines = [
        "with torch.autograd.forward_ad.dual_level():",
        f"    {made} = {smooth(w, f'torch.autograd.forward_ad.make_dual({x}, {v})', rest)}",
        f"    {primal}, {tangent} = torch.autograd.forward_ad.unpack_dual({made})",
    ]
    return "\n".join(lines)


@template(2)
def blocks(w: Writer) -> str | None:
    """Several steps under one mode."""
    x = real(w)
    if x is None:
        return None
    y = w.pick(lambda t: t.dtype is torch.float64 and broadcasts(t.shape, w.t(x).shape) and not t.is_inference()) or x
    mode = w.one(
        "torch.no_grad()",
        "torch.enable_grad()",
        "torch.set_grad_enabled(False)",
        "torch.inference_mode()",
        "torch.inference_mode(False)",
    )
    lines = [
        f"{w.new()} = {x} * {y}", f"{w.new()} = {w.new_last()}.sin()", f"{w.new()} = {x}.view(-1)", *([f"{w.new()} = {x}.clone().requires_grad_()"] if mode != "torch.inference_mode()" else []), f"{w.new()} = torch.is_grad_enabled()",
        f"{w.new()} = {x}.detach()", f"{w.new()} = {smooth(w, x, [])}", f"{w.new()} = torch.ones_like({x})",
    ]  # fmt: skip
    chosen = [lines[0], *w.rng.sample(lines[2:], 2)]
    return "\n    ".join([f"with {mode}:", *chosen])
