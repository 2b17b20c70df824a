"""Every composition of transforms beside live PyTorch, over functions written once for both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402

Fn = Callable[[Any, Any, Any], Any]  # (torch or chainrule, x [3, 4], w [4, 3]) -> a tensor


def _pooled(t: Any, x: Any, w: Any) -> Any:
    y = t.nn.functional.max_pool2d(x.reshape(1, 1, 3, 4), 2, stride=1)
    return t.nn.functional.avg_pool2d(y, 2) * w.sum()


def _conv(t: Any, x: Any, w: Any) -> Any:
    return t.nn.functional.conv1d(x.unsqueeze(0), w.t().reshape(2, 3, 2), padding=1).tanh()


def _conv_transposed(t: Any, x: Any, w: Any) -> Any:
    return t.nn.functional.conv_transpose1d(x.unsqueeze(0), w.t().reshape(3, 2, 2), stride=2)


def _inplace(t: Any, x: Any, w: Any) -> Any:
    y = x.clone()
    y[0] = w[:, 0]
    y[1].mul_(w[:, 1]).add_(1)
    y[:, 2:] += y[:, :2].sin()
    return y


def _scattered(t: Any, x: Any, w: Any) -> Any:
    at = t.tensor([[0, 2, 1], [3, 3, 0]])
    zeros = t.zeros_like(x)
    return zeros.scatter_add(1, at, w.t()[:2, :3]) * x + x.gather(1, at).sum()


def _built(t: Any, x: Any, w: Any) -> Any:
    out = t.zeros(3, 3, dtype=x.dtype)
    out[1] = x[0, :3] * w[0]
    return out + x.new_ones(3, 3).cumsum(0) * w[0, 0]


def _attention(t: Any, x: Any, w: Any) -> Any:
    q, k = x.reshape(1, 1, 3, 4), w.t().reshape(1, 1, 3, 4)
    return t.nn.functional.scaled_dot_product_attention(q, k, q * k, is_causal=True)


def _loss(t: Any, x: Any, w: Any) -> Any:
    return t.nn.functional.cross_entropy(x @ w, t.tensor([0, 2, 1])).reshape(1)


def _normed(t: Any, x: Any, w: Any) -> Any:
    F = t.nn.functional
    y = F.layer_norm(x, (4,), w[:, 0], w[:, 1])
    scale = w[:, 2].contiguous()  # PyTorch 2.13 takes wrong gradients with a scale that is not
    return F.batch_norm(y, None, None, scale, None, training=True) + F.group_norm(x.reshape(1, 4, 3), 2).reshape(3, 4)


def _solved(t: Any, x: Any, w: Any) -> Any:
    a = x @ x.t() + 2 * t.eye(3, dtype=x.dtype)
    return t.linalg.solve(a, w.t()) + t.linalg.inv(a).sum() + t.logdet(a) + t.linalg.cholesky(a).sum()


FUNCTIONS: dict[str, Fn] = {
    "polynomial": lambda t, x, w: x**3 + 2 * x - 1 / (x * x + 1),
    "elementwise": lambda t, x, w: (x * w.t()).sin().exp() + t.sigmoid(x) * t.tanh(w.t()) - t.atan2(x, w.t() + 3),
    "broadcast": lambda t, x, w: x[:, None, :] * w[:, 0] + w.sum() * x[0],
    "matmul": lambda t, x, w: (x @ w).relu() @ w.t(),
    "vectors": lambda t, x, w: t.dot(x[0], w[:, 1]) * t.mv(x, w[:, 0]) + t.outer(x[1], w[0])[0, :3],
    "einsum": lambda t, x, w: t.einsum("ij,jk->ik", x, w).cos() + t.einsum("ij->i", x)[:, None],
    "bmm": lambda t, x, w: t.bmm(x.expand(2, 3, 4), w.expand(2, 4, 3)),
    "linear": lambda t, x, w: t.nn.functional.linear(x, w.t(), w[0]),
    "reductions": lambda t, x, w: x.mean(0) * x.var(0) + x.logsumexp(1).sum() + x.norm() + w.prod(1),
    "extremes": lambda t, x, w: x.max(1).values * x.amin(0)[:3] + t.maximum(x, w.t()).sum(1) + x.median(),
    "scans": lambda t, x, w: x.cumsum(0) * x.cumprod(1) + t.logcumsumexp(x, 1),
    "softmax": lambda t, x, w: t.softmax(x, 1) @ w + t.log_softmax(w, 0).sum(),
    "views": lambda t, x, w: x.t().reshape(2, 6).flip(0)[:, ::2].unsqueeze(1).squeeze(1) * x.flatten()[:3],
    "moved": lambda t, x, w: x.expand(2, 3, 4).movedim(0, -1).permute(1, 0, 2).diagonal(0, 0, 1).tril(),
    "joined": lambda t, x, w: t.cat([x, w.t()], 0) * t.stack([x[0], x[1], w[:, 0], w[:, 1], x[2], w[:, 2]]),
    "split": lambda t, x, w: t.cat([p * k for k, p in enumerate(x.split(2, 1), 1)], 1) + x.chunk(2, 1)[0].sum(),
    "unbound": lambda t, x, w: sum(r * r for r in x.unbind(0)) + x.tile(2, 1)[3],
    "indexed": lambda t, x, w: x[t.tensor([2, 0, 2])] * x[:, t.tensor([1, 1])].sum() + x[0, 1:3].sum(),
    "masked": lambda t, x, w: t.where(x > 0, x * w.t(), -x).masked_fill(x > 1, 0.5).clamp(-1, 1),
    "scattered": _scattered,
    "selected": lambda t, x, w: x.index_select(1, t.tensor([3, 0])) * t.take(x, t.tensor([5, 1])),
    "sorted": lambda t, x, w: x.sort(1).values * t.topk(x, 4, 1).values + x.argsort(1) * w.t(),
    "inplace": _inplace,
    "built": _built,
    "activations": lambda t, x, w: t.nn.functional.gelu(x) + t.nn.functional.silu(x) * t.nn.functional.softplus(w.t()),
    "losses": lambda t, x, w: (
        t.nn.functional.mse_loss(x, w.t()) * t.nn.functional.huber_loss(x, w.t(), reduction="none")
    ),
    "classes": _loss,
    "norms": _normed,
    "convolution": _conv,
    "transposed convolution": _conv_transposed,
    "pools": _pooled,
    "attention": _attention,
    "embedding": lambda t, x, w: t.nn.functional.embedding(t.tensor([[0, 2], [1, 1]]), x) * w[:, 0],
    "linear algebra": _solved,
    "padded": lambda t, x, w: (
        t.nn.functional.pad(x, (1, 2), value=1.0) * t.nn.functional.pad(x[None], (1, 2), mode="reflect")[0]
    ),
    "detached": lambda t, x, w: x * x.detach() + w.t().clone().detach() * x,
    "constant": lambda t, x, w: w.t() * 2 + t.ones(3, 4, dtype=x.dtype),
    "halves": lambda t, x, w: (x.to(t.float32) * w.t().to(t.float32)).to(t.float64),
}  # fmt: skip


def _scalar(f: Any) -> Any:
    return lambda x, w: (f(x, w) * 0.7).cos().sum()


def _transforms(t: Any) -> dict[str, Any]:
    """name -> (function -> function of (x, w)); those with "batch" in the name take xs [5, 3, 4]."""
    fn = t.func
    return {
        "value": lambda f: f,
        "grad": lambda f: fn.grad(_scalar(f), argnums=(0, 1)),
        "jacrev": lambda f: fn.jacrev(f, argnums=(0, 1)),
        "jacfwd": lambda f: fn.jacfwd(f, argnums=(0, 1)),
        "hessian": lambda f: fn.hessian(_scalar(f)),
        "jacrev of jacrev": lambda f: fn.jacrev(fn.jacrev(_scalar(f)), argnums=1),
        "jvp": lambda f: lambda x, w: fn.jvp(f, (x, w), (x.cos(), w.sin())),
        "jvp of grad": lambda f: lambda x, w: fn.jvp(fn.grad(_scalar(f)), (x, w), (x.cos(), w.sin())),
        "grad of jvp": lambda f: fn.grad(lambda x, w: fn.jvp(f, (x, w), (x.cos(), w))[1].sum()),
        "vjp": lambda f: lambda x, w: _pulled(fn, f, x, w),
        "batch value": lambda f: fn.vmap(f, in_dims=(0, None)),
        "batch last": lambda f: lambda x, w: fn.vmap(f, in_dims=(2, None), out_dims=-1)(x.movedim(0, 2), w),
        "batch of both": lambda f: lambda x, w: fn.vmap(f)(x, w + 0.1 * x[:, :1, :3]),
        "batch of weights": lambda f: lambda x, w: fn.vmap(f, (None, 0))(x[0], w + 0.1 * x[:, :1, :3]),
        "batch grad": lambda f: fn.vmap(fn.grad(_scalar(f), argnums=(0, 1)), in_dims=(0, None)),
        "batch grad of both": lambda f: lambda x, w: fn.vmap(fn.grad(_scalar(f), (0, 1)))(x, w + 0.1 * x[:, :1, :3]),
        "batch jvp": lambda f: fn.vmap(lambda x, w: fn.jvp(f, (x, w), (x.cos(), w.sin())), in_dims=(0, None)),
        "grad of batch": lambda f: fn.grad(lambda x, w: fn.vmap(_scalar(f), (0, None))(x, w).sum(), (0, 1)),
        "jvp of batch": lambda f: lambda x, w: fn.jvp(fn.vmap(f, (0, None)), (x, w), (x.cos(), w.sin())),
        "batch of batch": lambda f: lambda x, w: fn.vmap(fn.vmap(f, (0, None)), (None, 0))(x, w + x[:2, :1, :3]),
        "batch chunks": lambda f: fn.vmap(f, in_dims=(0, None), chunk_size=2),
    }


def _pulled(fn: Any, f: Any, x: Any, w: Any) -> Any:
    out, pull = fn.vjp(f, x, w)
    return out, pull(out.sin())


def _flat(tree: Any) -> list[Any]:
    return [tree] if not isinstance(tree, (tuple, list)) else [leaf for part in tree for leaf in _flat(part)]


# What PyTorch 2.13 gets wrong (finite differences agree with us), each with the reason.
WRONG_IN_PYTORCH = {
    ("norms", "grad of jvp"): "forward mode of layer_norm and batch_norm is not differentiated through the statistics",
    ("linear algebra", "grad of jvp"): "forward mode of solve and slogdet is not differentiated through their factors",
}


@pytest.mark.parametrize("transform", list(_transforms(chainrule)))
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_composition(name: str, transform: str) -> None:
    if (name, transform) in WRONG_IN_PYTORCH:
        pytest.skip(WRONG_IN_PYTORCH[name, transform])
    rng = np.random.default_rng(7)
    shape = (5, 3, 4) if "batch" in transform else (3, 4)
    x, w = rng.normal(size=shape), rng.normal(size=(4, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = _flat(_run(torch, name, transform, x, w))
        except RuntimeError as error:
            pytest.skip(f"PyTorch: {error}")
        got = _flat(_run(chainrule, name, transform, x, w))
    assert len(got) == len(want)
    for g, e in zip(got, want):
        assert str(g.dtype) == str(e.dtype) and tuple(g.shape) == tuple(e.shape)
        np.testing.assert_allclose(g.detach().numpy(), e.detach().numpy(), rtol=1e-5, atol=1e-7)


def _run(t: Any, name: str, transform: str, x: Any, w: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        return FUNCTIONS[name](t, x, w)

    return _transforms(t)[transform](f)(t.tensor(x), t.tensor(w))


CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "fill_": lambda t, z, x: z.fill_(2),
    "fill_ by an example": lambda t, z, x: z.fill_(x[0]),
    "fill_ of a view": lambda t, z, x: z.diagonal(0).fill_(1),
    "masked_fill_": lambda t, z, x: z.masked_fill_(x > 1, 7),
    "masked_fill_ by an example": lambda t, z, x: z.masked_fill_(t.tensor([True, False, True]), x[1]),
    "masked_fill_ of a view": lambda t, z, x: z[1].masked_fill_(x > 1, 7),
    "zero_": lambda t, z, x: z.add_(x)[0].zero_(),
    "copy_": lambda t, z, x: z[:, 2].copy_(x),
    "an assignment": lambda t, z, x: z.__setitem__((0, 0), x[2]),
    "fill_diagonal_": lambda t, z, x: z.fill_diagonal_(3),
    "arithmetic": lambda t, z, x: z.t()[1].add_(x).mul_(2),
    "clamp_": lambda t, z, x: z.add_(x).clamp_(1, 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_inside_vmap_is_changed(name: str) -> None:
    def changed(t: Any) -> list[Any]:
        def f(x: Any) -> Any:
            z = x.new_zeros(3, 3)
            CHANGES[name](t, z, x)
            return z

        return t.vmap(f)(t.arange(6.0).reshape(2, 3)).tolist()

    assert changed(chainrule) == changed(torch)


def test_forward_mode_inside_vmap() -> None:
    """PyTorch refuses the forward mode of autograd.functional inside vmap."""

    def jacobian(x: Any) -> Any:
        return chainrule.autograd.functional.jacobian(
            lambda y: y.sin().sum(), x, strategy="forward-mode", vectorize=True
        )

    x = chainrule.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(chainrule.vmap(jacobian)(x).numpy(), x.cos().numpy(), rtol=1e-6)


REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {  # (package, x [3, 4] of a batch of two, what all examples share)
    "mul_": lambda t, x, s: s.mul_(x[0]),
    "addcmul_": lambda t, x, s: s.addcmul_(x[0], x[0]),
    "copy_": lambda t, x, s: s.copy_(x[0]),
    "fill_": lambda t, x, s: s.fill_(x[0, 0]),
    "masked_fill_": lambda t, x, s: s.masked_fill_(x[0] > 0, 1.0),
    "scatter_": lambda t, x, s: s.scatter_(0, t.tensor([1]), x[0]),
    "scatter_add_": lambda t, x, s: s.scatter_add_(0, t.tensor([1]), x[0]),
    "index_put_": lambda t, x, s: s.index_put_((t.tensor([1]),), x[0, 0]),
    "le_": lambda t, x, s: s.le_(x[0]),
    "equal": lambda t, x, s: t.equal(x, x),
    "allclose": lambda t, x, s: t.allclose(x, x),
    "is_nonzero": lambda t, x, s: t.is_nonzero(x[0, 0]),
    "clone": lambda t, x, s: x.view(1, 1, 3, 4).clone(memory_format=t.channels_last),
    "beyond an example": lambda t, x, s: x.as_strided((2, 2), (12, 1), 3),
    "beyond a row": lambda t, x, s: x[1].as_strided((2, 2), (4, 1)),
    "before a row": lambda t, x, s: x[1].as_strided((2,), (1,), 2),
    "equal outside": lambda t, x, s: t.equal(s, s),
    "masked_fill by a vector": lambda t, x, s: t.masked_fill(x, x > 2, x[0, :1]),
    "masked_fill by complex numbers": lambda t, x, s: t.masked_fill(x.long(), x > 2, x[0, 0] + 1j),
    "masked_scatter by numbers": lambda t, x, s: t.masked_scatter(x, x, x),
    "masked_scatter of another dtype": lambda t, x, s: t.masked_scatter(x, x > 2, x.double()),
    "view of numbers as bytes": lambda t, x, s: x[0, 0].view(t.uint8),
    "view of numbers as complex": lambda t, x, s: t.view_as_complex(x[0, 0]),
    "randn into a tensor": lambda t, x, s: t.randn(4, out=s),
    "normal into a tensor": lambda t, x, s: t.normal(s, s, out=s),
    "conv1d of a complex bias": lambda t, x, s: t.conv1d(s.view(1, 1, 4), x[:1, None, :2], s[:1].cfloat()),
    "gradient over two devices": lambda t, x, s: t.gradient(x, spacing=[s[:3], s.to("meta")], dim=(0, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_vmap_refuses(name: str) -> None:
    def said(t: Any) -> Any:
        x, shared = t.arange(24.0).reshape(2, 3, 4), t.ones(4)
        try:
            return t.vmap(lambda x: REFUSED[name](t, x, shared), out_dims=None)(x)
        except Exception as error:
            return type(error).__name__, str(error).split("(Triggered")[0].strip()

    assert said(chainrule) == said(torch)


def test_a_batch_that_escaped_is_refused() -> None:
    def said(t: Any) -> Any:
        found: list[Any] = []
        x = t.arange(6.0).reshape(2, 3)
        t.vmap(lambda y: found.append(y) or y)(x)
        with pytest.raises(RuntimeError) as error:
            found[0].mul_(2)
        return str(error.value).split(" in `")[0], repr(found[0])

    assert said(chainrule) == said(torch)


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_gamma_numbers_inside_vmap(name: str, randomness: str) -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(7)
        x = t.arange(1.0, 7.0).reshape(2, 3)
        given = x if randomness == "different" else x[0]
        f = lambda y: getattr(t, name)(given if randomness == "same" else y) + 0 * y  # noqa: E731
        return t.vmap(f, randomness=randomness)(x).tolist()

    np.testing.assert_allclose(drawn(chainrule), drawn(torch), rtol=1e-6)


def _quiet(t: Any, x: Any) -> Any:
    with t.no_grad():
        y = x.sin()
    return y * x


def _through_a_view(t: Any, x: Any) -> Any:
    y = x * 1.0
    y[:2].mul_(x[1:])
    return y.sin()


AROUND: dict[str, Callable[..., Any]] = {
    "grad": lambda t, f: t.func.grad(lambda x: f(x).sum()),
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (x.cos(),))[1],
    "vjp": lambda t, f: lambda x: t.func.vjp(f, x)[1](t.ones_like(f(x)))[0],
    "jacfwd": lambda t, f: t.func.jacfwd(f),
    "vmap": lambda t, f: lambda x: t.vmap(f)(t.stack([x, 2 * x])),
}


@pytest.mark.parametrize("inner", [_quiet, _through_a_view], ids=lambda f: f.__name__)
@pytest.mark.parametrize("names", [(a, b, c) for a in AROUND for b in AROUND for c in ("", "grad", "vmap")])
def test_what_is_cut_or_changed_is_so_for_every_level(names: tuple[str, ...], inner: Any) -> None:
    """`no_grad` inside a function means each gradient around it; a tangent changed in place was kept by those above."""

    def run(t: Any) -> Any:
        f = lambda x: inner(t, x)  # noqa: E731
        for name in filter(None, names):
            if name == "jacfwd" and t is torch and inner is _through_a_view:
                f = t.func.jacrev(f)  # the same; forward mode over itself refuses to change its zeros
            else:
                f = AROUND[name](t, f)
        return f(t.tensor([0.7, -0.4, 1.2], dtype=t.float64)).detach().numpy()

    np.testing.assert_allclose(run(chainrule), run(torch), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("modes", [("different", "different"), ("different", "same"), ("same", "different")])
@pytest.mark.parametrize("dims", [(0, 0), (-1, 0), (0, -1), (-1, -1)])
def test_numbers_like_a_batch_lie_as_it_does(dims: tuple[int, int], modes: tuple[str, str]) -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(0)
        inner = t.vmap(t.rand_like, in_dims=dims[0], randomness=modes[0])
        both = t.vmap(inner, in_dims=dims[1], randomness=modes[1])(t.zeros(3, 2, 4))
        return both.tolist(), t.func.grad(lambda x: (x * t.randn_like(x)).sum())(t.zeros(3, 2).t()).tolist()

    (ours, mine), (theirs, wanted) = drawn(chainrule), drawn(torch)
    assert ours == theirs
    np.testing.assert_allclose(mine, wanted, rtol=1e-6)


AT_ZERO = """
x.norm() x.norm(3) x.std() torch.linalg.vector_norm(x,1.5) torch.linalg.matrix_norm(torch.outer(x,x))
torch.stack([x,x]).std(1).sum() torch.dist(x,2*x) x[None].renorm(2,0,1.).sum() torch.complex(x,2*x).abs().sum()
torch.view_as_real(torch.complex(x,2*x).sgn()).sum() torch.complex(x,2*x).angle().sum() torch.std_mean(x)[0]
""".split()


@pytest.mark.parametrize("text", AT_ZERO)
def test_slopes_where_a_size_is_zero(text: str) -> None:
    """Forward mode gives the zeros that reverse mode gives; neither is NaN where PyTorch's is not."""

    def run(t: Any) -> list[Any]:
        f = lambda x: eval(text, {"torch": t, "x": x})  # noqa: E731
        forward, reverse = t.func.jacfwd(f), t.func.jacrev(f)
        at = t.zeros(3, dtype=t.float64)
        return [g(at).tolist() for g in (forward, reverse, t.func.jacfwd(reverse))]

    for ours, theirs in zip(run(chainrule), run(torch)):
        if not np.isnan(theirs).any():
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


PICKED = [
    "x.index_select(0, i)", "torch.gather(x, 0, i)", "x.index_fill(0, i, v)", "x.index_fill(0, i, 5.0)",
    "x.index_copy(0, i, v)", "x.index_add(0, i, v)", "x.scatter_add(0, i, v)", "x.scatter(0, i, v)",
    "x.scatter(0, i, 2.0)",
]  # fmt: skip
NUMBERED = {"x": [3.0, 4.0, 5.0], "i": [0, 0, 0], "v": [10.0, 20.0, 30.0]}


@pytest.mark.parametrize("shared", ["", "x", "i", "v"])
@pytest.mark.parametrize("vectors", ["", "x", "i", "xi", "xv", "iv", "xiv"])
@pytest.mark.parametrize("text", PICKED)
def test_numbers_are_picked_from_without_a_loop(text: str, vectors: str, shared: str) -> None:
    """Each example's input, index and source may be a number or a vector of one: as PyTorch does one by one."""
    here, there = [
        {k: t.tensor(v).reshape(3, 1) if k in vectors else t.tensor(v) for k, v in NUMBERED.items()}
        for t in (chainrule, torch)
    ]
    one = [k for k in NUMBERED if k in shared]
    try:
        rows = [eval(text, {"torch": torch}, {k: v[0 if k in one else n] for k, v in there.items()}) for n in range(3)]
    except RuntimeError:
        return  # not allowed for one: what a batch makes of it is not compared
    given = [v[0] if k in one else v for k, v in here.items()]
    work = chainrule.vmap(
        lambda x, i, v: eval(text, {"torch": chainrule}, {"x": x, "i": i, "v": v}),
        in_dims=tuple(None if k in one else 0 for k in here),
    )
    loops = chainrule._C._functorch
    loops._set_vmap_fallback_enabled(False)
    try:
        found = work(*given)
    finally:
        loops._set_vmap_fallback_enabled(True)
    assert found.tolist() == torch.stack(rows).tolist()
