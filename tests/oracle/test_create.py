"""Tensors in the likeness of others beside PyTorch: shape, order of axes, dtype, device, gradient wish, refusals."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

PATTERNS = {
    "contiguous": lambda m: m.arange(6.0).view(2, 3),
    "transposed": lambda m: m.arange(6).view(2, 3).t(),
    "spread": lambda m: m.arange(12.0).view(3, 4)[:, ::2],
    "expanded": lambda m: m.ones(3, 1).expand(3, 4),
    "permuted": lambda m: m.arange(24.0).view(2, 3, 4).permute(2, 0, 1),
    "empty": lambda m: m.ones(0, 3),
    "scalar": lambda m: m.tensor(True),
    "images": lambda m: m.ones(2, 3, 4, 5).to(memory_format=m.channels_last),
    "on meta": lambda m: m.ones(2, 3, device="meta"),
}
OPTIONS: list[Any] = [
    lambda m: {}, lambda m: {"dtype": m.int32}, lambda m: {"dtype": m.complex64, "requires_grad": True},
    lambda m: {"memory_format": m.contiguous_format}, lambda m: {"device": "meta"}, lambda m: {"layout": m.strided},
    lambda m: {"requires_grad": True},
]  # fmt: skip
MAKERS = {
    "empty_like": lambda m, x, **k: m.empty_like(x, **k),
    "zeros_like": lambda m, x, **k: m.zeros_like(x, **k),
    "ones_like": lambda m, x, **k: m.ones_like(x, **k),
    "full_like": lambda m, x, **k: m.full_like(x, 1, **k),
}


def facts(m: Any, maker: str, pattern: str, option: Any) -> Any:
    try:
        t = MAKERS[maker](m, PATTERNS[pattern](m), **option(m))
    except RuntimeError as error:
        return str(error).splitlines()[0]
    told = tuple(t.shape), t.stride(), str(t.dtype).split(".")[1], t.device.type, t.requires_grad, t.is_leaf
    return told if maker == "empty_like" or t.device.type == "meta" else (*told, t.tolist())


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("maker", MAKERS)
def test_likeness(maker: str, pattern: str) -> None:
    for option in OPTIONS:
        assert facts(chainrule, maker, pattern, option) == facts(torch, maker, pattern, option)
