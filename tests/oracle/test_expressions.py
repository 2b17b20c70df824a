"""One-line programs: what they give, or how they refuse, is what PyTorch gives and how it refuses."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

# Separated by ` | ` and newlines. x: 2 by 3; e: a vector without elements; o: 3 by 4, to be written to; v, p: numbers.
OUT_OF_CREATION = """
torch.zeros(3, 4, dtype=torch.int64, out=o) | torch.zeros(3, 4, layout=torch.sparse_coo, out=o)
torch.zeros(3, 4, device="meta", out=o) | torch.full((3, 4), 1, layout=torch.sparse_coo, out=o)
torch.empty(3, 4, dtype=torch.int64, out=o) | torch.ones(3, 4, out=o) | torch.arange(12, dtype=torch.int64, out=o)
torch.eye(3, 4, dtype=torch.int64, out=o) | torch.linspace(0, 1, 12, out=o)
torch.rand(3, 4, dtype=torch.int64, out=o) | torch.randperm(3, dtype=torch.int32, out=o) | torch.zeros(3, 4, out=1)
torch.complex(o, o, out=o) | torch.polar(o, o, out=o) | torch.complex(o, o, out=o.to(torch.complex128))
"""
JOINED_AND_MOVED = """
torch.cat([x, e], 1) | torch.cat([e, e], 1) | torch.cat([e], 5) | torch.cat([x, e], 5) | torch.cat([e, e], -3)
torch.meshgrid(e, e.long()) | torch.meshgrid(e, e.to("meta")) | torch.roll(x, 1, None) | torch.roll(x, (1, 2), (0,))
torch.roll(x, 1, 2) | torch.repeat_interleave(x, torch.tensor(2)) | torch.repeat_interleave(torch.tensor(2))
torch.repeat_interleave(torch.tensor([1.0])) | torch.repeat_interleave(x, torch.tensor([1, 2]), 0)
torch.repeat_interleave(x, torch.tensor([1.0, 2.0]), 0)
torch.repeat_interleave(x, torch.tensor([1, 2]), 0, output_size=4)
torch.repeat_interleave(x, torch.tensor([[1, 2]]), 0)
"""
HASHED = """
torch.hash_tensor(x) | torch.hash_tensor(x, 0) | torch.hash_tensor(x, ()) | torch.hash_tensor(x, 1, keepdim=True)
x.hash_tensor((0, 1)) | torch.hash_tensor(x.half()) | torch.hash_tensor(x.int()) | torch.hash_tensor(x > 2)
torch.hash_tensor(x.to(torch.complex64)) | torch.hash_tensor(x, mode=1) | torch.hash_tensor(-x, 0)
torch.hash_tensor(x / 0) | torch.hash_tensor(x, 0, out=o)
"""
COUNTED = """
torch.histogram(v, 4) | torch.histogram(v, 4, range=(0.0, 4.0)) | torch.histogram(v, 4, range=(4.0, 0.0))
torch.histogram(v, 4, density=True) | torch.histogram(v, 4, range=(0.0, 4.0, 5.0)) | torch.histogram(v, 4, weight=v)
torch.histogram(v, 4, weight=v, density=True) | torch.histogram(v, torch.tensor([0.0, 1, 3]))
torch.histogram(v, torch.tensor([3.0])) | torch.histogram(v, torch.tensor([])) | torch.histogram(v, torch.tensor(3.0))
torch.histogram(v, torch.tensor([0, 1])) | torch.histogram(e, 4) | torch.histogram(v / 0, 4) | torch.histogram(v, -1)
torch.histogram(v.int(), 1) | torch.histogram(v, 1, weight=v.double()) | torch.histogram(v, 1, weight=e)
torch.histogramdd(p, 2) | torch.histogramdd(p, [2, 3]) | torch.histogramdd(p, [2, 3], range=[0.0, 4.0, 0.0, 6.0])
torch.histogramdd(p, [2]) | torch.histogramdd(p, [2, 3], range=[0.0, 4.0])
torch.histogramdd(p, [2, 3], weight=torch.tensor([1.0, 2, 3])) | torch.histogramdd(e, 2)
torch.histogramdd(p, [2, 3], weight=e) | torch.histogramdd(p, [2, 3], density=True) | torch.histogramdd(p, [2, -3])
torch.histogramdd(p, (torch.tensor([0.0, 2, 4]), torch.tensor([0.0, 5, 6])))
torch.histogramdd(p, [torch.tensor([0.0, 2, 4])]) | torch.histogramdd(p.int(), 2)
torch.histogramdd(torch.zeros(0, 2), 2) | torch.histogramdd(torch.zeros(3, 0), 2)
torch.histogramdd(torch.zeros(3, 0), 2, density=True) | torch.histc(v, 4) | torch.histc(v, 4, 3, 0)
torch.histc(v.int(), 4, 3, 0) | torch.histc(v / 0, 4) | torch.histc(v, 4, out=o.double()) | torch.histc(v, 0)
"""
MULTIPLIED = """
torch._int_mm(k, k.T) | torch._int_mm(k.to(torch.uint8), k.T) | torch._int_mm(k.int(), k.T)
torch._int_mm(k, k.T.to(torch.uint8)) | torch._int_mm(k[0], k.T) | torch._int_mm(k, k) | torch._int_mm(k, k.T, out=o)
torch._int_mm(k, k.T, out=o.int()) | torch._int_mm(k[:0], k.T) | torch._addmm_activation(p, p, p[:2])
torch._addmm_activation(-p, p, p[:2], use_gelu=True) | torch._addmm_activation(p, p, -p[:2], beta=2, alpha=0.5)
torch.linalg._powsum(v) | torch.linalg._powsum(p, 3, 1, True) | torch.linalg._powsum(-p, 1, dtype=torch.float64)
torch.linalg._powsum(x, 0) | torch.linalg._powsum(x, float("inf"))
"""
REREAD = """
torch.view_as_complex(p.as_strided((1, 2), (1, 1))).stride()
torch.view_as_complex(v[1:3]) | torch.view_as_complex(o[:, 2:4])
torch.view_as_complex(p.as_strided((2, 2), (1, 1))) | torch.view_as_real(torch.view_as_complex(p)[:, None]).stride()
torch.view_as_real(torch.zeros(3, 0, dtype=torch.complex64)).stride() | torch.view_as_complex(e.reshape(0, 2)).stride()
e.reshape(0, 3).view(torch.int16).stride() | x[:, :1].view(torch.int16).stride() | x[:, 1:2].t().view(torch.int16)
x[:1, :1].view(torch.float64) | x[:, 1:].view(torch.float64) | o[:, 2:].view(torch.float64).stride()
o[:, ::2].view(torch.float64) | o[:, ::2].view(torch.int8) | v[0].view(torch.int8) | v[:1].expand(3, 4).view(torch.int8)
v[:1, None].expand(4, 3).view(torch.int8)
"""
CALLED_BY_PARTS = """
torch.searchsorted(v, 2.5, sorter=torch.tensor([0, 2, 1, 3]))
torch.searchsorted(v, 2.5, sorter=torch.tensor([0, 1, 2, 4]))
torch.searchsorted(v, 2.5, sorter=torch.tensor([0, 1, 2, -1])) | torch.searchsorted(e, 2.5, sorter=e.long())
torch.ops.aten.index.Tensor(x, []) | torch.ops.aten.unfold_backward(x, [5], 0, 3, 2)
torch.ops.aten.unfold_backward(x, [6], 0, 3, 0) | torch.ops.aten.unfold_backward(x, [6], 0, -1, 1)
torch.add(x, torch.tensor(2), x) | torch.add(x, torch.tensor([2]), x) | torch.add(v > 1, torch.tensor(True), True)
torch.lerp(x.half(), -x.half(), 70000) | torch.lerp(x.half(), -x.half(), 1e40) | torch.lerp(x.half(), -x.half(), 0.7)
"""
OF_NUMBERS = """
torch.floor_divide(5, 2) | torch.floor_divide(5.0, 2) | torch.div(5, 2)
torch.trapezoid(v, dim=2) | torch.trapezoid(p, v)
torch.trapezoid(x, v[:3], dim=2) | torch.heaviside(v, v.int()) | v.int().heaviside_(v)
torch.heaviside(v, v, out=o.int())
v.to(torch.complex64).heaviside_(v.to(torch.complex64)) | (v > 1).heaviside_(v) | torch.pow(v.half(), 2.5j)
torch.pow(2j, v.half()) | torch.pow(1 + 0j, v.half()) | torch.pow(v.half(), 1 + 0j)
torch.pow(v.half(), 0j) | v.half() / 1j
torch.div(x.half() * 7, v[:3].half() / -10, rounding_mode="trunc")
torch.div(x.bfloat16() * 7, v[:3].bfloat16() / -10, rounding_mode="trunc")
"""
WITHOUT_CUDA = """
torch.cuda.is_available() | torch.cuda.device_count() | torch.cuda.is_initialized() | torch.cuda.current_device()
torch.cuda.synchronize() | torch.cuda.get_device_name(0) | torch.cuda.get_device_capability()
torch.cuda.empty_cache() | torch.cuda.manual_seed_all(0) | torch.cuda.memory_allocated()
torch.cuda.is_bf16_supported() | torch.cuda.has_magma | torch.cuda.get_rng_state() | torch.version.cuda
torch.cuda.get_rng_state_all() | torch.cuda.get_arch_list() | torch.cuda.memory_stats()
torch.cuda.nothing_of_that_name
"""

NAMED = """
torch.cumsum(x, axis=1) | x.cumprod(axis=0) | torch.cumsum(x) | torch.cumsum(x, 1, axis=1) | x.softmax(axis=1)
torch.log_softmax(x, axis=1) | x.cummax(axis=1) | torch.logcumsumexp(x, axis=0) | x.unsqueeze(axis=1) | x.unsqueeze()
torch.index_select(x, axis=0, index=torch.tensor([1])) | torch.index_select(x) | x.gather(axis=1, index=x.long() % 2)
x.select(axis=0, index=1) | x.logsumexp(axis=1) | x.logsumexp() | torch.gather(x, 0) | torch.tensor(2.0).cumsum()
torch.isclose(x, x, torch.tensor(1.5), torch.tensor(1))
torch.isclose(x, x, 0.1, torch.tensor(1.0, requires_grad=True))
torch.index_select(x, 1, torch.tensor([5])) | torch.index_select(x, 0, torch.tensor([5])) | torch.cummax(v[0], 100)
torch.index_select(v[0], 0, torch.tensor([0, 0])) | torch.ops.aten._local_scalar_dense(e) | torch.as_tensor()
torch.zeros(2, out=o, requires_grad=True) | torch.eye(2, out=o, requires_grad=True)
torch.ones(2, out=e.int(), requires_grad=True) | (v > 1)[1:].masked_fill_((v > 1)[:-1], False) | torch.cuda.Stream()
(m := v > 1, m[1:].masked_fill_(m[:-1], False)) | torch.cuda.FloatTensor() | torch.cuda.FloatTensor | torch.cuda.Event()
torch.set_default_tensor_type(torch.cuda.FloatTensor) | torch.cuda.ByteStorage.from_buffer() | torch.FloatTensor.is_xpu
torch.linspace(p[0, 0].clone().requires_grad_(), 3, 4) | torch.arange(p[0, 0].clone().requires_grad_())
torch.dot(v, o.double()) | torch.vdot(v, e.double()) | torch.linalg.cond(o[:, :3], 1)
torch.linalg.cond(p[:2], "nuc")
torch.linalg.cond(torch.stack([o[:, :3], torch.eye(3)]), "fro") | torch.linalg.cond(o[:, :3], "nuc")
torch.linalg.cond(torch.stack([o[:, :3], torch.eye(3)]), -1) | torch.linalg.cond(torch.ones(2, 2), float("inf"))
torch.linalg.cond(torch.ones(0, 0)) | torch.linalg.cond(torch.ones(2, 3, 0), 1) | torch.linalg.cond(x[:0], "fro")
torch.linalg.cond(torch.eye(3), "wrong") | torch.linalg.cond(torch.eye(3), 5)
torch.linalg.cond(torch.ones(0, 3, 3), 2)
torch.grid_sampler(x[None, None], o.view(1, 2, 3, 2), 0, 0, False) | torch.grid_sampler_3d(x, o, 0, 0, False)
torch.grid_sampler_2d(x[None, None], o.view(1, 2, 3, 2), 2, 1, True)
torch._tensor_str.get_summarized_data(torch.arange(40).view(2, 20)) | v.expand(2, 4).masked_fill_(v > 1, 0)
"""
CALLED_AT_RANDOM = """
x.clone().fmod_(0) | x.clone().remainder_(0) | x.long().fmod_(0) | e.long().fmod(0) | 1 / (torch.zeros(2) % -2)
x.clone().requires_grad_().logical_and_(x) | (x * 1).requires_grad_().mul(1).eq_(x)
torch.zeros(3).lt_(torch.ones(3, requires_grad=True)) | x.clone().requires_grad_().mul(1).asinh_()
x.requires_grad_().sum(dtype=torch.int32) | x.requires_grad_().cumsum(0, dtype=torch.int64) | x.requires_grad_().prod()
torch.softmax(v > 1, 0, dtype=torch.float16) | torch.softmax(e.int(), 0) | torch.log_softmax(e > 0, 0)
torch.nn.functional.mse_loss(v.long(), v) | torch.nn.functional.smooth_l1_loss(v > 1, v)
torch.nn.functional.mse_loss(v.requires_grad_(), v > 1, reduction="none") | torch.nn.functional.kl_div(v.long(), v)
torch.nn.functional.huber_loss(v, v.double()) | torch.nn.functional.huber_loss(v.long(), v)
torch.nn.functional.binary_cross_entropy_with_logits(v.double(), v)
torch.nn.functional.binary_cross_entropy_with_logits(v, v.long()) | torch.nn.functional.linear(x, x[None])
torch.mm(x[:, :0] > 0, x[:0] > 0) | torch.dist(x.long(), x) | torch.logsumexp(x, ()) | torch.logsumexp(x, (), True)
torch.autograd.grad(torch.var(v.requires_grad_(), ()), v) | torch.autograd.grad(torch.std(v.requires_grad_(), ()), v)
x.contiguous(memory_format=torch.preserve_format)
x.t().contiguous(memory_format=torch.preserve_format) | v.logit(1) | torch.logcumsumexp(e * 1j, 0)
v[:1].expand(3).copy_(v[:1].expand(3))
torch.heaviside(v * float("nan"), v) | x.copy_(1.5) | x.copy_(other=x) | x.copy_(1j)
torch.roll(e, 1, 5) | torch.nn.functional.adaptive_avg_pool2d(x, 1)
torch.nn.functional.layer_norm(x, 3) | x.unflatten(1, 3) | x.new_full(2, 1.0) | torch.full(2, 1.0)
torch.nn.functional.pad(x, 1) | v.long().addcmul(v.long(), v.long(), value=2.5) | x.sum(10**20)
x.clone().cumsum_(0, dtype=torch.float64) | (e > 0).cumsum_(0) | ((v > 1) * 1 > 0).cumsum_(0)
torch.nn.functional.embedding(torch.tensor([0]), x[:, :0].clone().requires_grad_()).sum().backward()
torch.remainder(x, x[:, :2] * 1j) | torch.clamp(x, max=x * 1j) | torch.matmul(x, x.t()[None].double())
torch.baddbmm(x[None], x[None], x[None]) | torch.addmm(x, x, x.double()) | torch.avg_pool1d(x, 2)
x.index_select(0, torch.tensor([5])) | e.index_select(0, torch.tensor([0])) | e.take(torch.tensor([0]))
torch.nn.functional.selu(torch.zeros(2, requires_grad=True)) | torch.func.jvp(torch.sin, (v[:1].expand(3),), (v[:3],))
torch.func.linearize(torch.cos, v.requires_grad_())[1](torch.ones(4)) | x.data.is_inference()
torch.nn.functional.linear(x, x[0], v[:1])
torch.autograd.functional.jacobian(torch.sin, e) | x.argmax(10**20)
"""
WHERE_NOTHING_IS = """
torch.nn.functional.adaptive_avg_pool2d(x[:, :0], 1) | torch.nn.functional.adaptive_avg_pool2d(x[:0], 1)
torch.dist(e, e, float("inf")) | torch.dist(e, e, 0) | torch.cummin(x[:, :0], 4) | torch.cummax(e, -3)
torch.cummax(x, -3) | e.scatter_add_(0, e.long(), e) | e.index_copy_(0, e.long(), e) | e.index_add_(0, e.long(), e)
torch.nn.functional.linear(x[:, :0] > 0, x[:, :0] > 0) | (x[:0] * 1j).amax(1) | (x[:0] * 1j).amin(0) | (e * 1j).amax()
x[:0, :0].__setitem__((slice(None), [0]), 2.0) | torch.nn.functional.pad(e.int(), [-1, 1], value=0.5)
torch.nn.functional.pad(x, [-4, 5]) | torch.nn.functional.pad(x, [5, -4]) | torch.nn.functional.pad(x, [-1, -2, -1, 0])
torch.nan_to_num(e.long(), 3.0, [1, "x"]) | torch.nan_to_num(v.long(), "x") | torch.nan_to_num(v > 1, 1j)
"""
OF_ONE_NUMBER = """
torch.kthvalue(x[0, 0] > 0, 1) | torch.kthvalue(x[0, 0] * 1j, 1) | torch.kthvalue(x[0, 0] > 0, 2)
torch.kthvalue(v > 1, 1) | x.to(1.5, copy=False) | x.to(1j) | x.to(True) | x.to([])
torch.repeat_interleave(x[0, 0], 2, 0)
torch.repeat_interleave(x[0, 0], 2) | torch.repeat_interleave(x[0, 0], torch.tensor([2]), 0)
torch.clamp_min(x > 1, True) | torch.clamp_max(x > 1, 1) | torch.clamp(x > 1, max=True) | torch.clamp_min(x > 1, x > 2)
torch.masked_fill(v.long(), v > 1, v[0].requires_grad_()) | torch.masked_fill(v.long(), v > 1, v[1])
torch.nn.functional.linear(x[None], x[0], v[0]) | torch.nn.functional.linear(v, v, v[0])
torch.nn.functional.linear(x, x[0], v[0]) | torch.pow(v * 0j, v * 0j) | torch.pow(v * 0j, 0) | 0 ** (v * 0j)
torch.index_put(x, (x > 0,), torch.tensor(True)) | torch.index_put(v.long(), (v > 1,), torch.tensor([1.5]))
torch.index_put(x, (x > 0,), torch.tensor(True), True) | torch.index_put(v.long(), (torch.tensor([0]),), v[0])
torch.nn.functional.pad(v.to(torch.uint8), (1, 1), value=-1) | torch.nn.functional.pad(v > 1, (1, 1), value=2)
torch.vmap(lambda a: a, chunk_size=1)(x[:1].requires_grad_()).is_leaf
torch.vmap(torch.func.jacrev(lambda a: torch.nn.functional.linear(a, torch.ones(3, 3))))(x).stride()
"""
AT_THE_EDGE = """
torch.conj_physical(x) is x | torch.conj_physical(x * 1j) | torch.heaviside(x / 0 - x / 0, x)
x[1:, None].stride() | x[:1].t().unsqueeze(0).stride() | x[:, :1].t().unsqueeze(-1).stride()
torch.addcmul(k, k, k, value=2.5) | torch.addcmul(x.long(), x.long(), x.long(), value=0.5)
torch.renorm(x / 0, 2, 0, 1.0) | torch.native_group_norm(x.half()[None], None, None, 1, 2, 3, 1, 1e-5)[1].dtype
x.half().index_fill(0, torch.tensor([0]), 1e60) | x.half().__setitem__(0, 1e60) | x.half().fill_(1e60)
torch.conv_transpose1d(torch.ones(1, 1, 5), x[None, :1, :2] / 0, padding=1, dilation=2)
torch.lerp(v.long(), v.long() + 3, v[0].double() / 2) | torch.lerp(v > 1, v > 2, v[0] / 2) | 1 / torch.relu(v * -0.0)
torch.lerp(v.long(), v.long(), v.long()[0]) | torch.lerp(v.long()[0], v.long()[0], v[:1]) | 1 / (v * -0.0).clamp(0, 1)
[f(torch.nonzero(x)).stride() for f in (torch.floor, torch.round, torch.nan_to_num, torch.sign, torch.trunc)]
[o.view(1, 2, 2, 3).to(d, memory_format=torch.channels_last).stride() for d in (torch.int32, torch.complex64)]
[o.view(1, 2, 2, 3).to(d).to(memory_format=torch.channels_last).stride() for d in (torch.float64, torch.complex64)]
torch.bmm(p[None] > 1, x[None].mT) | torch.matmul((o > 1).view(1, 2, 2, 3), o.view(1, 2, 3, 2))
(x > 1).t().sgn().stride() | torch.autograd.functional.hessian(lambda a: torch.view_as_real(a * 1j).sin().sum(), v[0])
v.long().lerp_(v.long(), v[0]) | 1 / torch.nn.functional.hardtanh(v * -0.0, 0, 1) | 1 / (v * 0.0).clamp(max=-0.0)
"""


def lines(text: str) -> list[str]:
    return [one.strip() for line in text.split("\n") for one in line.split(" | ") if one.strip()]


def told(lib: Any, expression: str) -> str:
    """The result in words; of an error its type and first sentence."""
    lib.manual_seed(0)
    names = {"torch": lib, "x": lib.arange(6.0).reshape(2, 3), "e": lib.zeros(0), "o": lib.zeros(3, 4)}
    names |= {"v": lib.tensor([1.0, 2, 1, 5]), "p": lib.tensor([[1.0, 2], [3, 4], [1, 5]])}
    names |= {"k": lib.tensor([[127, -128, 3], [2, 1, -1]], dtype=lib.int8)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, names))
        except Exception as e:
            return f"{type(e).__name__}: {re.split(r'[.:(] ', str(e))[0]}".replace("chainrule", "torch")


TEXTS = [
    OUT_OF_CREATION,
    JOINED_AND_MOVED,
    HASHED,
    COUNTED,
    MULTIPLIED,
    REREAD,
    CALLED_BY_PARTS,
    OF_NUMBERS,
    WITHOUT_CUDA,
    WHERE_NOTHING_IS,
    OF_ONE_NUMBER,
    AT_THE_EDGE,
    NAMED,
    CALLED_AT_RANDOM,
]
PROGRAMS = lines("\n".join(TEXTS))


@pytest.mark.parametrize("expression", PROGRAMS)
def test_as_pytorch(expression: str) -> None:
    assert told(chainrule, expression) == told(torch, expression)


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "made", ["torch.full((2,), 1j)", "torch.tensor([1j])", "torch.asarray(1j)", "torch.ones(2) * 1j"]
)
def test_complex_numbers_under_a_default(default: str, made: str) -> None:
    before = torch.get_default_dtype()
    found = []
    try:
        for lib in (chainrule, torch):
            lib.set_default_dtype(getattr(lib, default))
            found.append(told(lib, f"{made}.dtype"))
    finally:
        torch.set_default_dtype(before)
        chainrule.set_default_dtype(chainrule.float32)
    assert found[0] == found[1]
