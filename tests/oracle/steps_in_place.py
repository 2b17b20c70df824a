"""Steps that change values in place: whole tensors, views of them, parts of them, `out=`."""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

from typing import Any

import torch

from tests.oracle.steps_of_values import view_text
from tests.oracle.writer import Writer, broadcasts, template


def fits_into(u: Any, t: Any) -> bool:
    if u.requires_grad and not (t.dtype.is_floating_point or t.dtype.is_complex):
        return False  # PyTorch lets a view of integers require a gradient then
    if u is not t and u.untyped_storage().data_ptr() == t.untyped_storage().data_ptr():
        return False  # what is read may be what was just written
    if u is t and t.numel() == 1:
        return False  # `x[0] = x` loses all its axes in PyTorch, and then overlaps itself
    return broadcasts(u.shape, t.shape) and u.dim() <= t.dim() and u.dtype is not torch.bool


def inplace_text(w: Writer, x: str) -> str | None:
    t = w.t(x)
    y = w.pick(lambda u: fits_into(u, t)) or "2.0"
    if t.dtype is torch.bool:  # which of several refusals comes first is nobody's promise
        return w.one(f"{x}.zero_()", f"{x}.fill_(True)", f"{x} += {y}", f"{x}.logical_not_()", f"{x} ^= True")
    forms = [
        f"{x}.add_({y})", f"{x}.mul_({y})", f"{x}.sub_({y}, alpha=2)", f"{x}.div_({w.one('2.0', y)})", f"{x} += {y}", f"{x} *= {y}", f"{x} -= 1", f"{x} /= 2",
        f"{x}.zero_()", f"{x}.fill_(1.5)", f"{x}.copy_({y})" if y[0] == "v" else f"{x}.neg_()", f"{x}.neg_()", f"{x}.exp_()", f"{x}.sigmoid_()", f"{x}.tanh_()", f"{x}.relu_()",
        f"{x}.clamp_(-1, 1)", f"{x}.sqrt_()", f"{x}.square_()", f"{x}.pow_(2)", f"{x}.abs_()", f"{x}.masked_fill_({x} > 0, 0.5)" if not t.dtype.is_complex else f"{x}.neg_()", f"{x}.lerp_({x}, 0.5)" if t.dtype.is_floating_point else f"{x}.neg_()", f"{x}.addcmul_({x}, {x})", f"torch.nn.functional.relu({x}, inplace=True)", f"{x}.clamp_(min=0.1)", f"{x}.sin_()", f"{x}.reciprocal_()",
        f"torch.add({x}, 1, out={x})", f"{x}.cos_()",
    ]  # fmt: skip
    if t.dim() and t.numel():
        n = max(t.shape[0], 1)
        forms += [
            f"{x}[0] = {w.one('1.0', f'{x}[-1]', y)}",
            f"{x}[...] = {w.one('0.5', y)}",
            f"{x}[torch.tensor([0])] = 2.0",
            f"{x}[{x} > 0] = -1.0" if not t.dtype.is_complex else f"{x}[0] = 1j",
            f"{x}[1:] += 1",
            f"{x}[{w.rng.randint(0, n - 1)}] *= 2",
            f"{x}[::2] = {w.one('0.0', f'{x}[0]')}",
            f"{x}.index_fill_(0, torch.tensor([0]), 0.0)",
            f"{x}.index_add_(0, torch.tensor([0]), {x}[:1].clone())",
            f"{x}.index_copy_(0, torch.tensor([0]), {x}[-1:].clone())",
            f"{x}.select(0, 0).mul_(3)",
            f"{x}.cumsum_(0)" if t.dtype is not torch.bool else f"{x}.zero_()",
        ]
        if not (t.is_leaf and t.requires_grad):  # a leaf's saved copies keep the old shape in PyTorch
            forms += [f"{x}.transpose_(0, -1)", f"{x}.unsqueeze_(0)", f"{x}.squeeze_()"]
    if t.dim() == 2 and t.numel():
        forms += [
            f"{x}[:, 0] = {w.one('2.0', f'{x}[:, -1]')}",
            f"{x}.t_()",
            f"{x}.t().mul_(2)",
            f"{x}.diagonal().fill_(1.0)",
            f"{x}[:, 1:].add_(1)",
            f"{x}.tril_()",
            f"{x}.fill_diagonal_(0.0)",
            f"{x}.scatter_(1, torch.zeros(2, 1, dtype=torch.int64), 1.5)",
            f"{x}.scatter_add_(1, torch.zeros(2, 1, dtype=torch.int64), {x}.detach().clone()[:2, :1])",
        ]
    return w.rng.choice(forms)


@template(13)
def inplace(w: Writer) -> str | None:
    x = w.pick(lambda t: not (t.is_leaf and t.requires_grad)) if w.chance(0.95) else w.pick()
    if not x or w.t(x).is_inference() or not well_defined(w, x):
        return None  # in inference mode PyTorch raises after it has written
    text = inplace_text(w, x)
    return None if text and "[" in text and torch._debug_has_internal_overlap(w.t(x)) else text


def well_defined(w: Writer, x: str) -> bool:
    """Windows that overlap are written twice, with a result that depends on the order."""
    return torch._debug_has_internal_overlap(w.t(x)) != 2


@template(3)
def inplace_on_view_of_view(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and not (t.is_leaf and t.requires_grad))
    if x is None or not well_defined(w, x) or w.t(x).is_inference():
        return None
    inner = view_text(w, x)
    if inner is None or "unfold" in inner:  # its windows overlap: what is written twice is undefined
        return None
    return f"{inner}.{w.one('mul_(2)', 'add_(1)', 'zero_()', 'copy_(torch.ones(()))', 'sin_()', 'clamp_(min=0)', 'fill_(2)')}"
