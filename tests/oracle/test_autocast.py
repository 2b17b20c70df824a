"""Autocast beside live PyTorch: the dtypes of results, the graph, the switches and what they say."""

from __future__ import annotations

import warnings

import pytest

import chainrule
import chainrule.utils.checkpoint

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")

# In terms of x (2, 3), w (3, 3), im (1, 2, 4, 4), vol (1, 2, 4, 4, 4), p (a parameter), i (class numbers).
COMPUTED = """
x @ w; torch.mm(x, w); x.mv(x[0]); torch.dot(x[0], x[0]); torch.bmm(x[None], w[None]); torch.addmm(x, x, w)
w[None] @ w; torch.baddbmm(x[None], x[None], w[None]); torch.addbmm(x, x[None], w[None]); torch.matmul(x[None], w)
x[0] @ w; F.linear(x, w); F.linear(x, w, w[0]); F.linear(x[None], w); torch.einsum("ij,jk", x, w)
torch.tensordot(x, w, 1); torch.linalg.multi_dot([x, w, w]); torch.linalg.vecdot(x, x); F.conv2d(im, im)
F.conv3d(vol, vol); F.conv1d(im[0], im[0]); F.conv_transpose2d(im, im); F.prelu(x, p[0, :1])
F.scaled_dot_product_attention(x[None], x[None], x[None]); F.mse_loss(x, x); F.l1_loss(x, x); F.smooth_l1_loss(x, x)
F.huber_loss(x, x); F.cross_entropy(x, i); F.nll_loss(x, i)
F.binary_cross_entropy(x.sigmoid().float(), x.sigmoid().float()); F.binary_cross_entropy_with_logits(x, x)
F.kl_div(x, x); F.hinge_embedding_loss(x, x); F.soft_margin_loss(x, x); F.poisson_nll_loss(x, x)
F.multi_margin_loss(x, i); F.margin_ranking_loss(x, x, x); F.cosine_embedding_loss(x, x, x[:, 0])
F.triplet_margin_loss(x, x, x); x.prod(); x.prod(1); torch.cdist(x, x); w.trace(); torch.linalg.svdvals(x)
torch.linalg.inv(w); torch.inverse(w); torch.linalg.qr(x).R; torch.linalg.solve(w, w); torch.linalg.cond(w)
torch.linalg.eigvalsh(w); torch.linalg.det(w); torch.quantile(x, 0.5); torch.pinverse(w); torch.linalg.matrix_rank(w)
F.avg_pool3d(vol, 2); F.max_pool3d(vol, 2); F.adaptive_avg_pool3d(vol, 2); F.avg_pool2d(im, 2); F.max_pool2d(im, 2)
F.softmax(x, 0); F.layer_norm(x, (3,)); F.gelu(x); x.sum(); x.mean(); x.exp(); x + w[0]; x.softmax(0); x.cumsum(0)
x.norm(); x.std(); torch.cat([x, x]); torch.cat([x, h]); torch.stack([h, x]); torch.stack([h, h]); x + h
torch.where(x > 0, x, h); torch.cat([h, x.double()]); torch.mm(x.double(), w.double()); torch.mm(x.long(), w.long())
x.addmm_(x, w); x.sub_(h); torch.mm(h, w.bfloat16()); torch.mm(h.half(), w); torch.mm(x, w, out=torch.empty(2, 3))
torch.polar(x, x); torch.log(x); torch.view_as_complex(x[:, :2].contiguous())
F.grid_sample(im, torch.zeros(1, 2, 2, 2), align_corners=False); F.embedding(i, w)
torch.nn.MultiheadAttention(3, 1)(x, x, x)[0]; torch.nn.Linear(3, 2)(x); torch.nn.Conv2d(2, 1, 1)(im)
F.pad(im, (1, 1, 1, 1), "reflect"); F.interpolate(im, scale_factor=2)
(x @ p, p)[0].grad_fn.next_functions[1][0].name()
(x @ p).grad_fn.next_functions[1][0] is (x @ p).grad_fn.next_functions[1][0]; torch.autograd.grad((x @ p).sum(), p)[0]
torch.func.grad(lambda q: (x @ q).float().sum())(w); torch.vmap(lambda r: w @ r)(x)
torch.func.jvp(lambda q: x @ q, (w,), (w,))[1]
torch.utils.checkpoint.checkpoint(lambda q: x @ q, p, use_reentrant=False)
"""
SWITCHES = """
torch.autocast("cpu")._enabled; torch.autocast("foo"); torch.autocast(3)
torch.autocast("cpu", torch.float32)._enabled; torch.autocast("cuda")._enabled; torch.autocast("meta")
torch.autocast("xpu").__dict__; torch.autocast("cpu:0").device; torch.is_autocast_enabled("cpu")
torch.is_autocast_enabled(); torch.is_autocast_enabled("foo"); torch.is_autocast_enabled(3)
torch.is_autocast_enabled("meta"); torch.get_autocast_dtype("cpu"); torch.get_autocast_dtype("cuda")
torch.get_autocast_dtype("meta"); torch.get_autocast_dtype("hpu"); torch.set_autocast_enabled("cpu", 1)
torch.is_autocast_cpu_enabled(); torch.get_autocast_cpu_dtype(); torch.get_autocast_gpu_dtype()
torch.set_autocast_cpu_enabled(False); torch.set_autocast_cpu_dtype(torch.bfloat16); torch.is_autocast_cache_enabled()
torch.cpu.amp.autocast().__dict__; torch.amp.is_autocast_available("cpu"); torch.amp.is_autocast_available("foo")
torch.amp.is_autocast_available("meta"); torch.amp.is_autocast_available("cuda"); torch.clear_autocast_cache()
(torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()); torch.amp.autocast is torch.autocast
sorted(torch.amp.autocast_mode.__all__); torch.autocast(); torch.amp.custom_fwd(device_type=3)
torch.amp.custom_bwd(device_type=3)
"""


def texts(table):
    return [part.strip() for part in table.replace("\n", ";").split(";") if part.strip()]


def evaluated(t, text, names):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = eval(text, {"torch": t, "F": t.nn.functional, **names})
        except Exception as error:
            return type(error).__name__, str(error).replace("chainrule.", "torch.")
    facts = (str(found.dtype), found.requires_grad) if isinstance(found, t.Tensor) else str(found)
    return facts, [(w.category, str(w.message).partition(" (Triggered")[0]) for w in said]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("text", texts(COMPUTED))
def test_same_dtypes(text, dtype):
    def run(t):
        t.manual_seed(0)
        x, im, vol = t.rand(2, 3), t.rand(1, 2, 4, 4), t.rand(1, 2, 4, 4, 4)
        w = t.rand(3, 3) + 3 * t.eye(3)
        low = getattr(t, dtype)
        names = {"x": x, "w": w @ w.mT, "im": im, "vol": vol, "p": w.clone().requires_grad_(), "i": t.tensor([0, 1])}
        with t.autocast("cpu", dtype=low):
            return evaluated(t, text, {**names, "h": x.to(low)})[0]

    assert run(chainrule) == run(torch)


@pytest.mark.parametrize("text", texts(SWITCHES))
def test_same_switches(text):
    assert evaluated(chainrule, text, {}) == evaluated(torch, text, {})


def test_blocks_nest_and_are_left():
    def run(t):
        seen, x = [], t.ones(2, 2)

        def look():
            seen.append((t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu")), str((x @ x).dtype)))

        with t.autocast("cpu", dtype=t.float16):
            look()
            with t.autocast("cpu", enabled=False):
                look()
            with t.autocast("cpu"):
                look()
            look()
        look()
        t.autocast("cpu")(look)()
        look()
        return seen

    assert run(chainrule) == run(torch)


def test_functions_remember_autocast():
    def run(t):
        seen = []

        class Product(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                seen.append((t.is_autocast_enabled("cpu"), str(g.dtype), str((g @ b.mT).dtype)))
                return g @ b.mT, a.mT @ g

        class Exact(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx, a):
                seen.append((t.is_autocast_enabled("cpu"), str(a.dtype), str((a @ a).dtype)))
                return a * 2

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                seen.append((t.is_autocast_enabled("cpu"), str(g.dtype)))
                return g

        a = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y = Exact.apply(Product.apply(a, a))
        y.sum().backward()
        return seen, str(y.dtype), a.grad.tolist()

    assert run(chainrule) == run(torch)


def test_training_step():
    def run(t):
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.LayerNorm(8), t.nn.Linear(8, 3))
        opt = t.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            with t.autocast("cpu", dtype=t.bfloat16):
                loss = t.nn.functional.cross_entropy(net(t.rand(5, 4)), t.tensor([0, 1, 2, 0, 1]))
            loss.backward()
            opt.step()
        return loss.item(), [str(p.grad.dtype) for p in net.parameters()]

    ours, theirs = run(chainrule), run(torch)
    assert ours[1] == theirs[1] and abs(ours[0] - theirs[0]) < 5e-3


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_run_again_as_they_ran(use_reentrant):
    def run(t):
        seen, x = [], t.ones(2, 2, requires_grad=True)

        def part(q):
            seen.append(str((q @ q).dtype))
            return (q @ q).exp()

        with t.autocast("cpu"):
            y = t.utils.checkpoint.checkpoint(part, x, use_reentrant=use_reentrant)
        y.float().sum().backward()
        return seen, x.grad.tolist()

    assert run(chainrule) == run(torch)
