"""One call and its gradients: dtypes, shapes, strides, values, or the class of the error, are PyTorch's.

A row is an expression over `x` (2 by 3, float32, wants a gradient) and `t` (its transpose, as a value).
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

ROWS = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]], np.float32)

NUMPY_SCALARS = """
torch.add(x, x, alpha=np.float64(0.5))
x.sub(x * 2, alpha=np.float32(0.5))
torch.nn.functional.leaky_relu(x, np.float64(0.1))
torch.nn.functional.elu(x, np.float64(0.5))
torch.nn.functional.softplus(x, np.float64(2), np.float64(1))
torch.nn.functional.layer_norm(x, (3,), eps=np.float64(1e-3))
torch.nn.functional.smooth_l1_loss(x, x * 0, beta=np.float64(0.5))
torch.nn.functional.dropout(x, np.float16(0.5))
torch.nn.functional.max_pool1d(x, np.int64(2))
torch.addcmul(x, x, x, value=np.float64(0.5))
torch.addmm(x, x @ x.T, x, beta=np.float64(2), alpha=np.float32(0.5))
torch.linalg.vector_norm(x, np.float64(3))
torch.norm(x, np.float32(1.5))
x.abs() ** np.float64(1.5)
x ** np.int32(2)
torch.xlogy(x.abs(), np.float32(2))
torch.ones(2, dtype=torch.int64) * np.bool_(True)
x.sum(np.int64(0))
x.mean(np.int64(1))
x.var(np.int64(1))
x.max(np.int64(1))
x.prod(np.int32(0))
x.any(np.int64(0))
x.logsumexp(np.int64(0))
x.softmax(np.int64(1))
x.median(np.int64(1))
x.cumsum(np.int64(1))
x.std(torch.tensor(1))
torch.tensor([np.float64(1), 2.5])
torch.tensor([[np.float64(1)], [2]])
torch.tensor([np.float32(1), 2.5])
torch.normal(0.0, torch.tensor(0.5), (2,))
x.softmax(True)
x.unsqueeze(True)
x.gather(True, torch.tensor([[0]]))
"""
LOSSES = """
F.cross_entropy(x, torch.tensor([1, 1]), ignore_index=1)
F.nll_loss(x, torch.tensor([1, 1]), ignore_index=1)
F.cross_entropy(x + torch.tensor([-float("inf"), 0, 0]), torch.tensor([1, -100]))
F.cross_entropy(x, torch.tensor([1, 2]), weight=x[0])
F.nll_loss(x.detach(), torch.tensor([1, 2]), weight=x[0])
F.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid(), weight=x)
F.binary_cross_entropy_with_logits(x, x.detach().sigmoid(), pos_weight=x)
F.soft_margin_loss(x, x)
F.multi_margin_loss(x, torch.tensor([1, 2]), weight=x[0])
"""
LAYOUTS = """
t.to(torch.float64, memory_format=torch.contiguous_format)
t.long().float(memory_format=torch.contiguous_format)
torch.tensor(t.float(memory_format=torch.contiguous_format) is t)
torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last).to(memory_format=torch.contiguous_format)
torch.fill(torch.ones(3).expand(2, 3), 1)
(t * 1).half().expand(3, 2).exp()
torch.ones(2, dtype=torch.float16).expand(3, 2).exp()
t.long().floor()
(t > 0).sgn()
torch.log1p(t.to(torch.complex64))
(t > 0).nan_to_num()
t.double() + torch.ones(3, 2)
torch.exp(t, out=torch.empty(0))
torch.mul(t, 2, out=torch.ones(20)[3:])
torch.tensor(np.ones((2, 3)).T)
torch.tensor(np.broadcast_to(np.ones(3), (2, 3)))
torch.tensor(np.arange(3)[::-1])
torch.from_numpy(np.array(t))
pickle.loads(pickle.dumps(torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)))
pickle.loads(pickle.dumps(t.bfloat16()))
pickle.loads(pickle.dumps(torch.ones(3).expand(2, 3)))
[shared := pickle.loads(pickle.dumps([t, t[0]])), shared[1].add_(1)][0]
"""
WRITTEN = """
[y := x * 1, y.__setitem__(y > 0, y[0, 0]), y][-1]
t.__setitem__(torch.tensor([0, 1, 2]), t)
[y := x * 1, y.__setitem__(slice(None), y[1]), y][-1]
[y := x * 1, y.__setitem__(None, y[0]), y][-1]
t.__setitem__(slice(1, None), t[:-1])
torch.ones(3).expand(2, 3).__setitem__(..., 1)
torch.ones(3).expand(2, 3).fill_(torch.tensor(1.0))
[y := torch.ones(2), y.__setitem__(y > 0, torch.zeros(1, 1)), y][-1]
[torch.neg_(t), torch.square_(t), torch.sqrt_(t), torch.rsqrt_(t), torch.reciprocal_(t), torch.negative_(t)]
t.masked_fill_(torch.tensor([True, False, True]), 1)
t.masked_select(torch.tensor([True, False, True]))
t.masked_scatter(torch.tensor([True, False, True]), t)
x.repeat_interleave(torch.tensor(2))
x.repeat_interleave(2, output_size=5)
x.repeat_interleave(2, 1, output_size=6)
x.index_add(0, torch.tensor([0]), torch.ones(1, 3).double())
torch.nanmean(x, 0, dtype=torch.int64)
t.narrow_copy(0, 1, 2)
t.long().div_(2, rounding_mode="ceil")
[torch.get_device(t), torch.is_same_size(t, t)]
"""
DRAWN = """
torch.where(torch.tensor([0, 2, 5], dtype=torch.uint8), x, 2 * x)
torch.ones(torch.autograd.grad(F.layer_norm(x.half(), (3,), x[0], x[1]).sum(), x, create_graph=True)[0].shape)
F.cross_entropy(x[:0], x[:0].detach())
[torch.linalg.norm(input=x), torch.linalg.norm(x, np.float32(2), np.int64(0)), torch.linalg.matrix_norm(input=x)]
torch.zeros(5, 7).t().bernoulli_(torch.tensor(0.4))
torch.zeros(5, 7).t().bernoulli_(torch.rand(7, 5))
torch.multinomial(torch.rand(5, 7).t(), 3)
torch.stack([x[0]] * 3).std(0)
torch.stack([x[0] / 3] * 7).double().std(0)
F.scaled_dot_product_attention(*[x.half()] * 3, attn_mask=torch.zeros(2, 2))
F.scaled_dot_product_attention(*[x.bfloat16()] * 3, is_causal=True)
"""
TABLES = (DRAWN, NUMPY_SCALARS, LOSSES, LAYOUTS, WRITTEN)
CALLS = [row for table in TABLES for row in table.strip().splitlines()]


def told(lib: Any, expression: str) -> list[Any]:
    """What a call gives, and the gradient of the sum of what of it wants one."""
    x = lib.from_numpy(ROWS.copy()).requires_grad_()
    names = {
        "torch": lib,
        "F": lib.nn.functional,
        "np": np,
        "pickle": pickle,
        "x": x,
        "t": x.detach().T,
        "m": x.detach() > 0,
    }
    lib.manual_seed(3)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(expression, names)
    except Exception as error:
        return [next(c for c in type(error).__mro__ if c.__module__ == "builtins")]
    results = [t for t in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(t, lib.Tensor)]
    wanting = [t.sum() for t in results if t.requires_grad]
    if wanting:
        results += lib.autograd.grad(sum(wanting), x, allow_unused=True)
    gradients = len(wanting) > 0
    facts = [t if t is None else (str(t.dtype), tuple(t.shape), t.stride(), t.detach()) for t in results]
    return facts[:-1] + [f and (*f[:2], (), f[3]) for f in facts[-1:]] if gradients else facts


@pytest.mark.parametrize("expression", CALLS)
def test_as_pytorch(expression: str) -> None:
    ours, theirs = told(chainrule, expression), told(torch, expression)
    assert len(ours) == len(theirs)
    for got, want in zip(ours, theirs):
        if not isinstance(want, tuple):
            assert got is want
            continue
        assert isinstance(got, tuple) and got[:3] == want[:3]
        np.testing.assert_allclose(got[3].to(chainrule.complex128), want[3].to(torch.complex128), rtol=1e-5, atol=1e-6)
