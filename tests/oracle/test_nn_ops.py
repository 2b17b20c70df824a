"""Functions of neural networks against live PyTorch: values, gradients, gradients of gradients, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest

import chainrule
import chainrule.nn.functional

torch = pytest.importorskip("torch")

Case = Callable[..., Any]
RNG = np.random.default_rng


class In:
    """An input of a case: how it is drawn, and whether a gradient is asked for."""

    def __init__(self, *shape: int, kind: str = "normal", high: int = 5) -> None:
        self.shape, self.kind, self.high = shape, kind, high

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        if self.kind == "normal":
            return rng.normal(size=self.shape)
        if self.kind == "unit":
            return rng.uniform(0.05, 0.95, size=self.shape)
        if self.kind == "sign":
            return rng.choice([-1.0, 1.0], size=self.shape)
        if self.kind == "apart":
            return rng.permutation(int(np.prod(self.shape))).reshape(self.shape) * 0.37 - 3.0
        if self.kind == "complex":
            return rng.normal(size=self.shape) + 1j * rng.normal(size=self.shape)
        return rng.integers(0, self.high, size=self.shape)

    @property
    def differentiable(self) -> bool:
        return self.kind not in ("integers", "sign")


X, I = In, lambda *shape, high=5: In(*shape, kind="integers", high=high)
U, S, A, C = (
    (lambda kind: lambda *shape: In(*shape, kind=kind))("unit"),
    (lambda *s: In(*s, kind="sign")),
    (lambda *s: In(*s, kind="apart")),
    (lambda *s: In(*s, kind="complex")),
)

CASES: dict[str, tuple[list[In], Case]] = {}


def case(name: str, *inputs: In) -> Callable[[Case], Case]:
    def add(fn: Case) -> Case:
        CASES[name] = (list(inputs), fn)
        return fn

    return add


def simple(name: str, inputs: list[In], call: Callable[..., Any]) -> None:
    CASES[name] = (inputs, call)


for red in ("none", "mean", "sum"):
    for loss, extra in (
        ("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": 0.7}), ("huber_loss", {"delta": 0.6}),
        ("soft_margin_loss", {}),
    ):  # fmt: skip
        second = S(3, 4) if loss == "soft_margin_loss" else X(3, 4)
        simple(
            f"{loss}-{red}",
            [X(3, 4), second],
            lambda F, T, a, b, loss=loss, extra=extra, red=red: getattr(F, loss)(a, b, reduction=red, **extra),
        )
    simple(f"bce-{red}", [U(3, 4), U(3, 4)], lambda F, T, a, b, red=red: F.binary_cross_entropy(a, b, reduction=red))
    simple(
        f"bce_w-{red}",
        [U(3, 4), U(3, 4), I(3, 4)],
        lambda F, T, a, b, w, red=red: F.binary_cross_entropy(a, b, w.to(a.dtype), reduction=red),
    )
    simple(
        f"bcel-{red}",
        [X(3, 4), U(3, 4)],
        lambda F, T, a, b, red=red: F.binary_cross_entropy_with_logits(a, b, reduction=red),
    )
    simple(
        f"bcel_w-{red}",
        [X(3, 4), U(3, 4), I(4)],
        lambda F, T, a, b, w, red=red: F.binary_cross_entropy_with_logits(
            a, b, w.to(a.dtype), pos_weight=w.to(a.dtype) + 1, reduction=red
        ),
    )
    for ignore in (-100, 2):
        simple(
            f"nll-{red}-{ignore}",
            [X(4, 5), I(4)],
            lambda F, T, a, t, red=red, ignore=ignore: F.nll_loss(a, t, reduction=red, ignore_index=ignore),
        )
        simple(
            f"nll_w-{red}-{ignore}",
            [X(4, 5), I(4), I(5)],
            lambda F, T, a, t, w, red=red, ignore=ignore: F.nll_loss(
                a, t, w.to(a.dtype) + 1, reduction=red, ignore_index=ignore
            ),
        )
        simple(
            f"nll2d-{red}-{ignore}",
            [X(2, 5, 3, 2), I(2, 3, 2)],
            lambda F, T, a, t, red=red, ignore=ignore: F.nll_loss(a, t, reduction=red, ignore_index=ignore),
        )
        simple(
            f"ce-{red}-{ignore}",
            [X(4, 5), I(4)],
            lambda F, T, a, t, red=red, ignore=ignore: F.cross_entropy(a, t, reduction=red, ignore_index=ignore),
        )
        simple(
            f"ce_ls-{red}-{ignore}",
            [X(4, 5), I(4)],
            lambda F, T, a, t, red=red, ignore=ignore: F.cross_entropy(
                a, t, reduction=red, ignore_index=ignore, label_smoothing=0.1
            ),
        )
        simple(
            f"ce_lsw-{red}-{ignore}",
            [X(4, 5), I(4), I(5)],
            lambda F, T, a, t, w, red=red, ignore=ignore: F.cross_entropy(
                a, t, w.to(a.dtype) + 1, reduction=red, ignore_index=ignore, label_smoothing=0.1
            ),
        )
        simple(
            f"ce_2d-{red}-{ignore}",
            [X(2, 5, 3), I(2, 3)],
            lambda F, T, a, t, red=red, ignore=ignore: F.cross_entropy(
                a, t, reduction=red, ignore_index=ignore, label_smoothing=0.2
            ),
        )
    simple(
        f"ce_p-{red}",
        [X(4, 5), U(4, 5), I(5)],
        lambda F, T, a, t, w, red=red: F.cross_entropy(a, t, w.to(a.dtype) + 1, reduction=red, label_smoothing=0.1),
    )
    simple(f"ce_p2-{red}", [X(2, 5, 3), U(2, 5, 3)], lambda F, T, a, t, red=red: F.cross_entropy(a, t, reduction=red))
    simple(
        f"poisson-{red}",
        [U(3, 4), U(3, 4)],
        lambda F, T, a, t, red=red: F.poisson_nll_loss(a, t * 3, log_input=False, full=True, reduction=red),
    )
    simple(
        f"poisson_log-{red}",
        [X(3, 4), U(3, 4)],
        lambda F, T, a, t, red=red: F.poisson_nll_loss(a, t * 3, full=True, reduction=red),
    )
    simple(
        f"gaussian-{red}",
        [X(3, 4), X(3, 4), U(3, 4)],
        lambda F, T, a, t, v, red=red: F.gaussian_nll_loss(a, t, v, full=True, reduction=red),
    )
    simple(
        f"gaussian1-{red}",
        [X(3, 4), X(3, 4), U(3)],
        lambda F, T, a, t, v, red=red: F.gaussian_nll_loss(a, t, v, reduction=red),
    )
    simple(
        f"hinge-{red}",
        [X(3, 4), S(3, 4)],
        lambda F, T, a, t, red=red: F.hinge_embedding_loss(a, t, margin=0.6, reduction=red),
    )
    simple(
        f"ranking-{red}",
        [X(5), X(5), S(5)],
        lambda F, T, a, b, t, red=red: F.margin_ranking_loss(a, b, t, margin=0.3, reduction=red),
    )
    simple(
        f"cosemb-{red}",
        [X(5, 3), X(5, 3), S(5)],
        lambda F, T, a, b, t, red=red: F.cosine_embedding_loss(a, b, t, margin=0.1, reduction=red),
    )
    simple(
        f"triplet-{red}",
        [X(5, 3), X(5, 3), X(5, 3)],
        lambda F, T, a, b, c, red=red: F.triplet_margin_loss(a, b, c, swap=True, reduction=red),
    )
    simple(f"multi_margin-{red}", [X(4, 5), I(4)], lambda F, T, a, t, red=red: F.multi_margin_loss(a, t, reduction=red))
    simple(
        f"multilabel_soft-{red}",
        [X(4, 5), U(4, 5)],
        lambda F, T, a, t, red=red: F.multilabel_soft_margin_loss(a, t, reduction=red),
    )
    simple(
        f"ctc-{red}",
        [X(7, 2, 5), I(2, 3, high=4)],
        lambda F, T, a, t, red=red: F.ctc_loss(
            a.log_softmax(2), t + 1, T.tensor([7, 6]), T.tensor([3, 2]), reduction=red
        ),
    )
for red in ("none", "mean", "sum", "batchmean"):
    for log_target in (False, True):
        simple(
            f"kl-{red}-{log_target}",
            [X(3, 4), U(3, 4)],
            lambda F, T, a, b, red=red, lt=log_target: F.kl_div(a, b, reduction=red, log_target=lt),
        )
simple(
    "multi_margin-p2w",
    [X(4, 5), I(4), I(5)],
    lambda F, T, a, t, w: F.multi_margin_loss(a, t, p=2, margin=0.7, weight=w.to(a.dtype) + 1),
)
simple("multilabel_margin", [X(4, 5), I(4, 5)], lambda F, T, a, t: F.multilabel_margin_loss(a, t - 1))
simple(
    "multilabel_margin-none",
    [X(4, 5), I(4, 5)],
    lambda F, T, a, t: F.multilabel_margin_loss(a, t - 1, reduction="none"),
)
simple("mse-broadcast", [X(3, 4), X(4)], lambda F, T, a, b: F.mse_loss(a, b))
simple("mse-weight", [X(3, 4), X(3, 4), U(3, 4)], lambda F, T, a, b, w: F.mse_loss(a, b, weight=w))

for groups in (1, 2):
    for stride, padding, dilation in ((1, 0, 1), (2, 1, 1), (1, 2, 2), ((2, 1), (1, 0), (1, 2))):
        n = f"-{groups}-{stride}-{padding}-{dilation}"
        simple(
            f"conv2d{n}",
            [X(2, 4, 7, 6), X(6, 4 // groups, 3, 2), X(6)],
            lambda F, T, x, w, b, a=(stride, padding, dilation, groups): F.conv2d(x, w, b, *a),
        )
        simple(
            f"convT2d{n}",
            [X(2, 4, 5, 4), X(4, 3, 3, 2), X(3 * groups)],
            lambda F, T, x, w, b, s=stride, p=padding, d=dilation, g=groups: F.conv_transpose2d(x, w, b, s, p, 0, g, d),
        )
simple("conv1d", [X(2, 3, 9), X(4, 3, 3)], lambda F, T, x, w: F.conv1d(x, w, stride=2, padding=1))
simple("conv1d-same", [X(2, 3, 9), X(4, 3, 4), X(4)], lambda F, T, x, w, b: F.conv1d(x, w, b, padding="same"))
simple(
    "conv2d-same",
    [X(2, 3, 5, 6), X(4, 3, 2, 3), X(4)],
    lambda F, T, x, w, b: F.conv2d(x, w, b, padding="same", dilation=(1, 2)),
)
simple("conv2d-unbatched", [X(3, 5, 6), X(4, 3, 2, 3), X(4)], lambda F, T, x, w, b: F.conv2d(x, w, b, padding="valid"))
simple("conv3d", [X(2, 3, 5, 4, 4), X(4, 3, 2, 2, 3), X(4)], lambda F, T, x, w, b: F.conv3d(x, w, b, padding=1))
simple(
    "convT1d",
    [X(2, 3, 5), X(3, 4, 3), X(4)],
    lambda F, T, x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1),
)
simple(
    "convT3d", [X(1, 3, 3, 3, 2), X(3, 2, 2, 2, 2), X(2)], lambda F, T, x, w, b: F.conv_transpose3d(x, w, b, stride=2)
)
simple("conv2d-complex", [C(1, 2, 5, 5), C(3, 2, 3, 3)], lambda F, T, x, w: F.conv2d(x, w, padding=1))
simple("conv_tbc", [X(6, 2, 3), X(3, 3, 4), X(4)], lambda F, T, x, w, b: T.conv_tbc(x, w, b, 1))

for ceil in (False, True):
    simple(f"max_pool1d-{ceil}", [A(2, 3, 9)], lambda F, T, x, c=ceil: F.max_pool1d(x, 3, 2, 1, ceil_mode=c))
    simple(
        f"max_pool2d-{ceil}", [A(2, 3, 7, 6)], lambda F, T, x, c=ceil: F.max_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=c)
    )
    simple(f"max_pool3d-{ceil}", [A(1, 2, 5, 4, 5)], lambda F, T, x, c=ceil: F.max_pool3d(x, 2, ceil_mode=c))
    for include in (False, True):
        simple(
            f"avg_pool1d-{ceil}-{include}",
            [X(2, 3, 9)],
            lambda F, T, x, c=ceil, i=include: F.avg_pool1d(x, 3, 2, 1, c, i),
        )
        simple(
            f"avg_pool2d-{ceil}-{include}",
            [X(2, 3, 7, 6)],
            lambda F, T, x, c=ceil, i=include: F.avg_pool2d(x, (3, 2), 2, (1, 0), c, i),
        )
        simple(
            f"avg_pool3d-{ceil}-{include}",
            [X(1, 2, 5, 4, 5)],
            lambda F, T, x, c=ceil, i=include: F.avg_pool3d(x, 2, None, 1, c, i, 3),
        )
simple(
    "max_pool2d-indices",
    [A(2, 3, 6, 6)],
    lambda F, T, x: F.max_pool2d(x, 2, return_indices=True)[1].to(x.dtype) + 0 * x.sum(),
)
simple("max_pool2d-dilated", [A(3, 7, 7)], lambda F, T, x: F.max_pool2d(x, 2, 1, dilation=2))
simple("max_unpool2d", [A(1, 2, 4, 4)], lambda F, T, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2))
simple(
    "max_unpool1d",
    [A(1, 2, 8)],
    lambda F, T, x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2, output_size=(9,)),
)
for k in (1, 2, 3):
    s = (5, 6, 4)[:k]
    simple(f"adaptive_avg{k}", [X(2, 3, *s)], lambda F, T, x, k=k: getattr(F, f"adaptive_avg_pool{k}d")(x, 3))
    simple(f"adaptive_avg{k}-one", [X(2, 3, *s)], lambda F, T, x, k=k: getattr(F, f"adaptive_avg_pool{k}d")(x, 1))
    simple(f"adaptive_max{k}", [A(2, 3, *s)], lambda F, T, x, k=k: getattr(F, f"adaptive_max_pool{k}d")(x, 3))
    simple(f"lp{k}", [U(2, 3, *s)], lambda F, T, x, k=k: getattr(F, f"lp_pool{k}d")(x, 3.0, 2))
    for mode in ("reflect", "replicate", "circular", "constant"):
        simple(f"pad{k}-{mode}", [X(2, 3, *s)], lambda F, T, x, k=k, m=mode: F.pad(x, (1, 2) * k, m))
    modes = {
        1: ["nearest", "nearest-exact", "linear", "area"],
        2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
        3: ["nearest", "nearest-exact", "trilinear", "area"],
    }[k]
    for mode in modes:
        simple(
            f"interp{k}-{mode}-size",
            [X(2, 3, *s)],
            lambda F, T, x, k=k, m=mode: F.interpolate(x, size=(7, 3, 5)[:k], mode=m),
        )
        simple(
            f"interp{k}-{mode}-scale",
            [X(2, 3, *s)],
            lambda F, T, x, k=k, m=mode: F.interpolate(x, scale_factor=1.7, mode=m),
        )
        simple(
            f"interp{k}-{mode}-re",
            [X(2, 3, *s)],
            lambda F, T, x, k=k, m=mode: F.interpolate(x, scale_factor=1.7, mode=m, recompute_scale_factor=True),
        )
        if mode in ("linear", "bilinear", "bicubic", "trilinear"):
            simple(
                f"interp{k}-{mode}-corners",
                [X(2, 3, *s)],
                lambda F, T, x, k=k, m=mode: F.interpolate(x, size=(7, 3, 5)[:k], mode=m, align_corners=True),
            )
for mode in ("bilinear", "bicubic"):
    simple(
        f"interp-aa-{mode}",
        [X(1, 2, 8, 9)],
        lambda F, T, x, m=mode: F.interpolate(x, size=(3, 4), mode=m, antialias=True),
    )
simple("pad-negative", [X(2, 3, 4)], lambda F, T, x: F.pad(x, (-1, 2, 1, -1), value=1.5))
simple("unfold", [X(2, 3, 6, 5)], lambda F, T, x: F.unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=(2, 1)))
simple("fold", [X(2, 12, 12)], lambda F, T, x: F.fold(x, (4, 5), 2))
simple("fold-unbatched", [X(12, 12)], lambda F, T, x: F.fold(x, (4, 5), 2))

for affine in (False, True):
    simple(
        f"layer_norm-{affine}",
        [X(2, 3, 4), X(3, 4), X(3, 4)],
        lambda F, T, x, w, b, a=affine: F.layer_norm(x, (3, 4), *((w, b) if a else ())),
    )
    simple(
        f"group_norm-{affine}",
        [X(2, 4, 3), X(4), X(4)],
        lambda F, T, x, w, b, a=affine: F.group_norm(x, 2, *((w, b) if a else ())),
    )
    simple(
        f"batch_norm-{affine}",
        [X(3, 4, 2, 2), X(4), X(4)],
        lambda F, T, x, w, b, a=affine: F.batch_norm(x, None, None, *((w, b) if a else (None, None)), True),
    )
    simple(
        f"batch_norm2-{affine}",
        [X(5, 4), X(4), X(4)],
        lambda F, T, x, w, b, a=affine: F.batch_norm(x, None, None, *((w, b) if a else (None, None)), True),
    )
    simple(
        f"batch_norm-eval-{affine}",
        [X(3, 4, 2), X(4), X(4)],
        lambda F, T, x, w, b, a=affine: F.batch_norm(
            x, T.arange(4).to(x.dtype), T.arange(4).to(x.dtype) + 1, *((w, b) if a else (None, None)), False
        ),
    )
    simple(
        f"instance_norm-{affine}",
        [X(2, 4, 5), X(4), X(4)],
        lambda F, T, x, w, b, a=affine: F.instance_norm(x, None, None, *((w, b) if a else (None, None))),
    )
    simple(
        f"rms_norm-{affine}",
        [X(2, 3, 4), X(4)],
        lambda F, T, x, w, a=affine: F.rms_norm(x, (4,), w if a else None, 1e-3),
    )
simple("layer_norm-weight", [X(2, 3, 4), X(4)], lambda F, T, x, w: F.layer_norm(x, (4,), w))
simple("lrn", [X(2, 5, 3)], lambda F, T, x: F.local_response_norm(x, 3, 0.5))
simple("lrn4", [X(2, 5, 3, 2)], lambda F, T, x: F.local_response_norm(x, 2, 0.5))
simple("normalize", [X(3, 4)], lambda F, T, x: F.normalize(x))
simple("normalize-1", [X(3, 4)], lambda F, T, x: F.normalize(x, 1.0, 0))
simple("cosine", [X(3, 4), X(3, 4)], lambda F, T, a, b: F.cosine_similarity(a, b))
simple("cosine-broadcast", [X(3, 1, 4), X(5, 4)], lambda F, T, a, b: F.cosine_similarity(a, b, dim=-1))
simple("pairwise", [X(3, 4), X(3, 4)], lambda F, T, a, b: F.pairwise_distance(a, b))
simple("pairwise-keep", [X(3, 4), X(4)], lambda F, T, a, b: F.pairwise_distance(a, b, 3.0, keepdim=True))
for p in (0.0, 1.0, 1.5, 2.0, 3.0, float("inf")):
    simple(f"cdist-{p}", [X(2, 3, 4), X(2, 5, 4)], lambda F, T, a, b, p=p: T.cdist(a, b, p))
    simple(f"pdist-{p}", [X(5, 4)], lambda F, T, a, p=p: F.pdist(a, p))
simple("cdist-broadcast", [X(3, 4), X(2, 5, 4)], lambda F, T, a, b: T.cdist(a, b))

qkv = [X(2, 3, 4, 6), X(2, 3, 5, 6), X(2, 3, 5, 6)]
simple("sdpa", qkv, lambda F, T, q, k, v: F.scaled_dot_product_attention(q, k, v))
simple("sdpa-causal", qkv, lambda F, T, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.7))
simple("sdpa-bool", [*qkv, I(4, 5, high=2)], lambda F, T, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m > 0))
simple(
    "sdpa-float", [*qkv, I(2, 1, 4, 5)], lambda F, T, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m.to(q.dtype))
)
simple("sdpa-float-grad", [*qkv, X(4, 5)], lambda F, T, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m))
simple("sdpa3", [X(3, 4, 6), X(3, 5, 6), X(3, 5, 7)], lambda F, T, q, k, v: F.scaled_dot_product_attention(q, k, v))
simple(
    "sdpa-gqa",
    [X(2, 6, 4, 6), X(2, 3, 5, 6), X(2, 3, 5, 6)],
    lambda F, T, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
)
simple("sdpa-blind", qkv, lambda F, T, q, k, v: F.scaled_dot_product_attention(q, k, v, T.zeros(4, 5) > 1))
for mode in ("bilinear", "nearest", "bicubic"):
    for pad in ("zeros", "border", "reflection"):
        for corners in (False, True):
            simple(
                f"grid-{mode}-{pad}-{corners}",
                [X(2, 3, 5, 4), X(2, 3, 4, 2)],
                lambda F, T, x, g, m=mode, p=pad, c=corners: F.grid_sample(x, g, m, p, c),
            )
simple("grid-none", [X(0, 3, 5, 4), X(0, 3, 4, 2)], lambda F, T, x, g: F.grid_sample(x, g, align_corners=False))
simple("grid3", [X(2, 3, 4, 3, 4), X(2, 2, 3, 2, 3)], lambda F, T, x, g: F.grid_sample(x, g, align_corners=False))
simple("affine_grid", [X(2, 2, 3)], lambda F, T, t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False))
simple("affine_grid3", [X(2, 3, 4)], lambda F, T, t: F.affine_grid(t, (2, 3, 3, 4, 5), align_corners=True))

# PyTorch has no second derivative, or one that is undefined at the sample.
ONCE = (
    "sdpa", "multi_margin", "multilabel_margin", "ctc", "cdist-0", "cdist-inf", "pdist", "grid", "cosemb", "nll",
    "cdist", "conv2d-complex",
)  # fmt: skip


def run(T: Any, F: Any, fn: Case, raws: list[np.ndarray], inputs: list[In], dtype: Any, twice: bool) -> list[Any]:
    """Value, gradients, and gradients of a function of the gradients."""
    tensors = []
    for raw, each in zip(raws, inputs):
        cast = raw.astype(
            dtype if raw.dtype.kind == "f" else np.result_type(dtype, 1j) if raw.dtype.kind == "c" else raw.dtype
        )
        t = T.tensor(cast)
        tensors.append(t.requires_grad_() if each.differentiable else t)
    wanted = [t for t in tensors if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = fn(F, T, *tensors)
        results = [out]
        weight = T.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(dtype))
        scalar = (out * weight).sum()
        if out.is_complex():
            scalar = scalar.real
        gs = T.autograd.grad(scalar, wanted, create_graph=twice, allow_unused=True)
        results += gs
        if twice:
            mixed = sum((g * g).sum().real if g.is_complex() else (g * g).sum() for g in gs if g is not None)
            results += (
                T.autograd.grad(mixed, wanted, allow_unused=True) if getattr(mixed, "requires_grad", False) else []
            )
    return [None if r is None else (r.detach() + 0).numpy() for r in results]


def compare(ours: list[Any], theirs: list[Any], rtol: float, atol: float) -> None:
    for at, (a, b) in enumerate(zip_longest(ours, theirs)):
        a = np.zeros_like(b) if a is None and b is not None else a
        b = np.zeros_like(a) if b is None and a is not None else b
        if a is None:
            continue
        assert a.shape == b.shape and a.dtype == b.dtype, (at, a.shape, b.shape, a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"result {at}")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, dtype: Any) -> None:
    inputs, fn = CASES[name]
    rng = RNG(abs(hash(name)) % 1000 if False else sum(map(ord, name)))
    raws = [each.draw(rng) for each in inputs]
    twice = dtype is np.float64 and not name.startswith(ONCE)
    theirs = run(torch, torch.nn.functional, fn, raws, inputs, dtype, twice)
    ours = run(chainrule, chainrule.nn.functional, fn, raws, inputs, dtype, twice)
    tight = dtype is np.float64
    compare(ours, theirs, 1e-7 if tight else 2e-4, 1e-8 if tight else 2e-4)
