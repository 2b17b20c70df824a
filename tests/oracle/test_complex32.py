"""complex32, two float16 in one number: what PyTorch computes with it on a CPU, computed alike."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

EXPRESSIONS = """
z | z.dtype | z + z | z * z | z * 2 | z * 2j | z + 1.5 | -z | z.abs() | z.sgn() | z.conj() | z.conj_physical()
z.real | z.imag | torch.view_as_real(z) | torch.view_as_complex(torch.ones(2, 2).half()) | torch.complex(h, h)
h * 1j | h + z | h.bfloat16() + z | torch.tensor([1.5]) + z | torch.tensor([1]) + z | z == z | z.isnan()
z.isfinite() | z.isinf() | z.isreal() | z.half() | z.long() | z.bool() | z.bfloat16() | z.to(torch.complex64)
z.to(torch.float32) | z[0].item() | z.tolist() | z.clone().fill_(2j) | z[0] | z[None] | z.reshape(2, 1)
torch.cat([z, z]) | torch.stack([z, z]) | torch.zeros(2, dtype=torch.chalf) | torch.full((2,), 1j).chalf()
torch.rand(3, dtype=torch.chalf) | torch.randn(20, dtype=torch.chalf)
torch.empty(2, dtype=torch.chalf).uniform_(1, 2) | z.masked_fill(z.real > 2, 0) | torch.where(z.real > 2, z, 0)
z.index_select(0, torch.tensor([1])) | z.repeat(2) | z.nonzero() | z.view(torch.half) | z.view(torch.int32)
torch.promote_types(torch.chalf, torch.float64) | torch.finfo(torch.chalf)
torch.linalg.vector_norm(z.cfloat()).half() | z.element_size() | torch.zeros_like(z) | z.T.contiguous()
str(z[0])
"""


def told(lib: Any, expression: str) -> str:
    lib.manual_seed(0)
    values = {"z": lib.tensor([1 + 2j, 3 - 4j], dtype=lib.complex32), "h": lib.tensor([1.5], dtype=lib.half)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(eval(expression, {"torch": lib} | values))


@pytest.mark.parametrize(
    "expression", [e.strip() for line in EXPRESSIONS.split("\n") for e in line.split("|") if e.strip()]
)
def test_as_pytorch(expression: str) -> None:
    assert told(chainrule, expression) == told(torch, expression)


def test_gradients_pass_through_it() -> None:
    grads = []
    for lib in (chainrule, torch):
        z = lib.tensor([1 + 2j, 3 - 4j], dtype=lib.complex64, requires_grad=True)
        z.to(lib.complex32).abs().float().sum().backward()
        grads.append(z.grad.tolist())
    assert grads[0] == pytest.approx(grads[1], rel=1e-3)
