"""Checkpoints inside other things: transforms, batches of cotangents."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule as ch
from chainrule.utils.checkpoint import checkpoint


def kept(x: Any) -> Any:
    return checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False)


def bare(x: Any) -> Any:
    return x.sin().exp()


def gradients(f: Any) -> Any:
    x = ch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    out = f(x)
    return ch.autograd.grad(out, x, ch.ones_like(out))[0].tolist()


def test_inside_vmap_and_jvp_gradients_flow() -> None:
    for around in (lambda f: ch.func.vmap(f), lambda f: lambda x: ch.func.jvp(f, (x,), (x.cos(),))[1]):
        assert gradients(around(kept)) == gradients(around(bare))


def test_a_grad_transform_refuses() -> None:
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        ch.func.grad(lambda a: kept(a).sum())(ch.ones(2))


def test_a_batch_of_cotangents_passes_nested_checkpoints() -> None:
    x = ch.tensor([0.1, 0.2], requires_grad=True)
    gs = ch.tensor([[1.0, 0.0], [0.0, 2.0]])
    found = []
    for f in (kept, bare):
        inner = f
        out = checkpoint(lambda a: inner(a) * a, x, use_reentrant=False) if f is kept else bare(x) * x
        found.append(ch.autograd.grad(out, x, gs, is_grads_batched=True)[0].tolist())
    assert found[0] == found[1]
