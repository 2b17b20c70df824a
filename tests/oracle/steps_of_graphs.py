"""Steps about the graph: modes, cuts, hooks, backward passes, custom Functions, checkpoints, transforms."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import re

import torch

from tests.oracle.programs import gradients
from tests.oracle.steps_in_place import inplace_text
from tests.oracle.steps_of_values import view_text
from tests.oracle.writer import Writer, holds, template


@template(3)
def quiet(w: Writer) -> str | None:
    x = w.pick(lambda t: torch._debug_has_internal_overlap(t) != 2 and not t.is_inference())
    change = inplace_text(w, x)
    if change and re.search(r"(squeeze|transpose|\bt)_\(", change):
        return None  # a new shape with an old history
    body = w.rng.choices([change, f"{w.new()} = {view_text(w, x)}", f"{w.new()} = {x} * 2"], [3, 3, 1])[0]
    mode = w.rng.choices(["no_grad()", "enable_grad()", "set_grad_enabled(False)", "inference_mode()"], [6, 1, 1, 0.7])[
        0
    ]
    if w.chance(0.15):
        return f"with torch.no_grad():\n    with torch.enable_grad():\n        {body}"
    return f"with torch.{mode}:\n    {body}"


@template(5)
def cut(w: Writer) -> str | None:
    x = w.pick()
    # in PyTorch a gradient may be a view, and one tensor the gradient of several: what is done to it is done to all
    own = x not in gradients(w.steps)
    forms = [
        f"{w.new()} = {x}.detach()",
        f"{w.new()} = {x}.clone()",
        f"{w.new()} = {x}.data"
        if w.t(x).is_leaf
        else f"{w.new()} = {x}.data.clone()",  # a change there is never noticed
        f"{w.new()} = {x}.detach().requires_grad_()",
        f"{w.new()} = {x}.detach().clone().requires_grad_()",
        f"{x}.requires_grad_()" if own else f"{w.new()} = {x}.clone().requires_grad_()",
        f"{x}.requires_grad_(False)",
        *([f"{x}.detach_()"] if own and (w.t(x)._is_view() or not w.t(x).requires_grad) else []),
        f"{x}.requires_grad = {w.one('True', 'False') if own else False}",
        f"{x}.retain_grad()",
        f"{x}.grad = None",
        f"{w.new()} = {x}.item()" if w.t(x).numel() == 1 else f"{w.new()} = {x}.tolist()",
    ]
    return w.rng.choice(forms)


@template(2)
def hook(w: Writer) -> str | None:
    x = w.pick(lambda t: t.requires_grad and not t._is_view())  # PyTorch may crash on a view
    return x and f"{x}.register_hook(lambda g: {w.one('g * 2', 'None', 'g + 1', 'g.clone()', 'g.sin()')})"


@template(5)
def backward(w: Writer) -> str | None:
    x = w.pick(lambda t: t.requires_grad)
    if x is None:
        return None
    flags = w.one("", "", "retain_graph=True", "create_graph=True", "retain_graph=True")
    if w.chance(0.1):
        return f"{x}.backward({flags})"
    if w.chance(0.2):
        return f"{x}.backward(torch.ones_like({x}){', ' + flags if flags else ''})"
    return f"({w.one(f'{x}', f'{x} * {x}', f'{x} * 2')}).sum().backward({flags})"


@template(5)
def take_grad(w: Writer) -> str | None:
    y = w.pick(lambda t: t.requires_grad and (t.dtype.is_floating_point or t.dtype.is_complex))
    x = w.pick(lambda t: t.requires_grad)
    if y is None or x is None:
        return None
    flags = w.one("", ", create_graph=True", ", create_graph=True", ", retain_graph=True")
    unused = w.one("", ", allow_unused=True", ", allow_unused=True", ", materialize_grads=True")
    form = f"({y} * {y}).sum()" if not w.t(y).dtype.is_complex else f"{y}.abs().sum()"
    return f"{w.new()}, = torch.autograd.grad({form}, [{x}]{flags}{unused})"


@template(1)
def use_grad(w: Writer) -> str | None:
    x = w.pick(lambda t: t.is_leaf and t.grad is not None)
    return x and w.one(
        f"{w.new()} = {x}.grad",
        f"{x}.grad.zero_()",
        f"{w.new()} = {x}.grad * 2",
        f"{x}.grad = None",
        f"with torch.no_grad():\n    {x} -= 0.1 * {x}.grad",
    )


def finale(w: Writer) -> list[str]:
    """A loss over everything that still wants a gradient; its gradients; their gradients."""
    ends = [
        n
        for n, t in w.tensors().items()
        if holds(lambda t: t.requires_grad and t.dtype is torch.float64 and not t.is_leaf, t)
    ][-4:]
    leaves = [
        n
        for n, t in w.tensors().items()
        if holds(lambda t: t.requires_grad and t.is_leaf and t.dtype is torch.float64, t)
    ]
    ends = [e for e in ends if w.chance(0.15) or pulls_back(w, e, leaves)]
    if not ends or not leaves:
        return []
    loss = " + ".join(f"({e} * {w.one(e, '1.5', e + '.sin()')}).sum()" for e in ends)
    names = ", ".join(leaves)
    found = [f"g{i}" for i in range(len(leaves))]
    steps = [
        f"g100 = {loss}",
        f"{', '.join(found)}, = torch.autograd.grad(g100, [{names}], create_graph=True, allow_unused=True)",
    ]
    again = " + ".join(f"(({g}.atan() * {x}).sum() if {g} is not None else 0)" for g, x in zip(found, leaves))
    steps += [
        f"g101 = {again}",
        f"g102 = torch.autograd.grad(g101, [{names}], allow_unused=True, retain_graph=True) if isinstance(g101, torch.Tensor) else None",
    ]
    return [*steps, "g100.backward()"]


def pulls_back(w: Writer, end: str, leaves: list[str]) -> bool:
    """Does a gradient of this tensor still come through: nothing freed, nothing stale?"""
    try:
        t = w.t(end)
        torch.autograd.grad((t * t).sum(), [w.t(n) for n in leaves], allow_unused=True, retain_graph=True)
    except Exception:
        return False
    return True
