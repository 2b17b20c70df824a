"""Steps that combine what others do one by one: nested transforms, gradients that add up, defaults that change, layouts of images."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import torch

from tests.oracle.programs import made_of
from tests.oracle.steps_in_place import well_defined
from tests.oracle.steps_of_functions import others, real, smooth, written_apart
from tests.oracle.steps_of_values import view_text
from tests.oracle.writer import Writer, template


@template(1.5)
def nested(w: Writer) -> str | None:
    """Transforms inside each other."""
    x = real(w, lambda t: 0 < t.numel() <= 6 and t.dim() >= 1)
    if x is None:
        return None
    f = f"lambda a: {smooth(w, 'a', [], 1)}"
    scalar = f"lambda a: ({smooth(w, 'a', [], 1)}).sum()"
    d = w.rng.randint(-w.t(x).dim(), w.t(x).dim() - 1)
    forms = [
        f"torch.func.jacfwd(torch.func.jacrev({f}))({x})", f"torch.func.jacrev(torch.func.jacfwd({f}))({x})", f"torch.func.vmap(torch.func.jacrev({f}), {d})({x})",
        f"torch.func.vmap(torch.func.hessian({scalar}), {d})({x})", f"torch.func.grad(lambda a: torch.func.vmap({f}, {d})(a).pow(2).sum())({x})", f"torch.func.grad(lambda a: torch.func.grad({scalar})(a).cos().sum())({x})",
        f"torch.func.vmap(lambda a: torch.func.vmap(lambda b: a.sum() * b.sin())({x}), {d})({x})", f"torch.func.jvp(torch.func.vmap({f}, {d}), ({x},), ({x}.cos(),))[1]", f"torch.func.vjp(torch.func.vmap({f}, {d}, {d}), {x})[1]({x}.sin())[0]",
        f"torch.func.vmap(lambda a: torch.func.jvp({f}, (a,), (torch.ones_like(a),))[1], {d})({x})", f"torch.func.linearize({f}, {x})[1]({x}.cos())", f"torch.func.vmap({f}, {d}, chunk_size=1)({x})",
        f"torch.autograd.functional.hvp({scalar}, {x}, {x}.detach().cos())[1]", f"torch.autograd.functional.vhp({scalar}, {x}, {x}.detach().cos())[1]", f"torch.autograd.functional.jvp({f}, {x}, {x}.detach().cos(), create_graph=True)[1]",
        f"torch.autograd.functional.hessian({scalar}, {x}, create_graph=True)", f"torch.autograd.functional.jacobian({f}, {x}, vectorize=True)", f"torch.func.vmap(torch.func.grad({scalar}), in_dims=({d},), out_dims=-1)({x})",
    ]  # fmt: skip
    return written_apart(f"{w.new()} = {w.rng.choice(forms)}", w.t(x))


@template(1.5)
def adds_up(w: Writer) -> str | None:
    """A gradient is there already, of one kind or another, when the next arrives."""
    x = w.pick(lambda t: t.is_leaf and t.requires_grad and t.dtype is torch.float64)
    if x is None:
        return None
    twice = f"({x} * {x}).sum().backward()"
    forms = [
        f"{x}.grad = torch.ones_like({x})\n{twice}", f"{x}.grad = {x}.detach().clone()\n({x}.sin()).sum().backward(create_graph=True)", f"{twice}\n{twice}", f"{x}.grad = None\n{twice}\n{w.new()} = {x}.grad\n{twice}",
        f"{x}.grad = torch.ones(3)", f"{x}.grad = {x}.detach().float()", f"{x}.grad = 1.0", f"{x}.grad = torch.ones_like({x}).requires_grad_()\n{twice}",
        f"{twice}\n{x}.grad.detach_()\n{x}.grad.zero_()\n{twice}", f"{twice}\n{x}.data.add_({x}.grad, alpha=-0.1)\n{twice}" if unused(w, x) else twice, f"with torch.no_grad():\n    {x}.mul_(0.5)\n{twice}", f"({x}.expand(2, *{x}.shape) * 3).sum().backward()\n{twice}",
    ]  # fmt: skip
    return w.rng.choice(forms)


def unused(w: Writer, x: str) -> bool:
    """Was nothing computed of `x`? Who kept its old values, and sees new ones, is each rule's own affair."""
    same = {n for n, t in w.tensors().items() if t is w.t(x)}
    return made_of(same, w.steps) == same


@template(1)
def defaults(w: Writer) -> str | None:
    """Another default dtype, for a few lines."""
    x = real(w)
    kind = w.one("float64", "float32", "float16", "bfloat16", "int64")
    inner = w.one(
        "torch.ones(2) / 3", "torch.tensor([1.5, 2.0])", "torch.tensor([1, 2]) / 2", "torch.arange(3).sin()", "torch.tensor(1j) * 2", "torch.full((2,), 1.5)",
        "torch.tensor([1, 2]) * 0.5", "torch.linspace(0, 1, 3)", "torch.tensor([True]) * 1.5", "torch.ones(2, dtype=torch.int32).mean(dtype=None) if False else torch.zeros(2)", f"{x}.float() * 1.5" if x else "torch.eye(2)",
    )  # fmt: skip
    if "1j" in inner and kind == "float16":
        return None  # NumPy has no complex numbers of that size
    return f"old = torch.get_default_dtype()\ntry:\n    torch.set_default_dtype(torch.{kind})\n    {w.new()} = {inner}\nfinally:\n    torch.set_default_dtype(old)"


@template(2)
def image(w: Writer) -> str | None:
    """What keeps or changes the order of axes in memory."""
    x = w.pick(lambda t: t.dim() == 4 and t.dtype is torch.float64 and t.numel() > 0)
    if x is None:
        return (
            f"{w.new()} = torch.arange(24.0, dtype=torch.float64).reshape(1, 2, 3, 4).sin(){w.one('.requires_grad_()', '')}"
            if w.chance(0.3)
            else None
        )
    forms = [
        f"{x}.to(memory_format=torch.channels_last)", f"{x}.contiguous(memory_format=torch.channels_last)", f"{x}.clone(memory_format=torch.{w.one('channels_last', 'contiguous_format', 'preserve_format')})",
        f"torch.empty_like({x}).fill_(1.5)", f"torch.nn.functional.avg_pool2d({x}, 2, 1)", f"torch.nn.functional.pad({x}, (1, 1, 0, 1))", f"{x} * 2", f"{x}.sin()", f"{x}.sum(1, keepdim=True)", f"{x}.permute(0, 2, 3, 1)",
        f"torch.nn.functional.conv2d({x}, torch.ones(1, {w.t(x).shape[1]}, 1, 1, dtype=torch.float64))", f"{x}.is_contiguous(memory_format=torch.channels_last)", f"{x}.flatten(1)", f"{x}.mean((2, 3))", f"torch.zeros_like({x}, memory_format=torch.contiguous_format)",
    ]  # fmt: skip
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(1.5)
def deeper(w: Writer) -> str | None:
    """In-place through views of views, some of them cut off."""
    x = w.pick(lambda t: t.dim() >= 1 and t.dtype is torch.float64 and not (t.is_leaf and t.requires_grad))
    if x is None or w.t(x).is_inference() or torch._debug_has_internal_overlap(w.t(x)) or not well_defined(w, x):
        return None
    inner = view_text(w, x)
    if inner is None or "unfold" in inner or "expand" in inner:
        return None
    a, b = w.new(), w.new()
    change = w.one("mul_(2)", "add_(1)", "zero_()", "sin_()", "copy_(torch.ones(()))", "fill_(2)")
    forms = [
        f"{a} = {inner}\n{b} = {a}.view_as({a})\n{b}.{change}", f"{a} = {inner}\nwith torch.no_grad():\n    {b} = {a}.view_as({a})\n{b}.{change}", f"{a} = {inner}\n{b} = {a}.detach()\n{b}.{change}",
        f"{a} = {inner}\n{b} = {a}[...]\n{a}.{change}\n{b}.{change}", f"{a} = {inner}\n{x}.{change}\n{b} = {a} * 1", f"{a} = {inner}\n{b} = {a}.detach()\n{a}.{change}\n{b}.mul_(2)", f"{a} = {inner}\n{b} = ({a} * {a}).sum()\n{a}.data.mul_(2)",
        f"{a}, *{b} = {x}.unbind(0)\n{a}.{change}", f"{a} = {inner}.detach_()\n{b} = {a} * 2", f"{a} = {inner}\n{a}.requires_grad_()\n{b} = {a} * 2", f"{a} = {x}.chunk(1)[0]\n{a}.{change}\n{b} = {a} * {w.one(*others(w, x), a)}" if others(w, x) else f"{a} = {x}.clone()\n{b} = Twice.apply({a}[...])",
    ]  # fmt: skip
    return w.rng.choice(forms)
