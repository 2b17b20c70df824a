"""torch.fft beside live PyTorch: values, gradients, layouts, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.oracle.comparing import agree, refuse  # noqa: E402

REAL = np.random.default_rng(0).normal(size=(2, 4, 5))
COMPLEX = REAL + 1j * np.random.default_rng(1).normal(size=(2, 4, 5))
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
NORMS = [None, "backward", "ortho", "forward"]


def _kinds(name: str) -> list[Any]:
    return [REAL] if name.startswith(("rfft", "ihfft")) else [REAL, COMPLEX]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(name: str, norm: str | None) -> None:
    for x in _kinds(name):
        for n, dim in ((None, -1), (3, 1), (8, 0), (None, 1)):
            agree(lambda m, t, n=n, dim=dim: getattr(m.fft, name)(t[0], n, dim, norm), [x], second=n is None)
        agree(
            lambda m, t: getattr(m.fft, name)(t[0].to(m.complex64 if t[0].is_complex() else m.float32)), [x], tol=1e-5
        )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_along_several_axes(name: str, norm: str | None) -> None:
    for x in _kinds(name):
        for s, dim in ((None, None), ((3, 6), None), (None, (1, 0)), ((3, -1), (2, 0)), (None, (1,))):
            agree(lambda m, t, s=s, dim=dim: getattr(m.fft, name + "n")(t[0], s, dim, norm), [x], second=s is None)
        agree(lambda m, t: getattr(m.fft, name + "2")(t[0], norm=norm), [x])


@pytest.mark.parametrize("name", ONE)
def test_layouts_and_nodes(name: str) -> None:
    def said(m: Any, x: Any) -> Any:
        t = m.tensor(x, requires_grad=True)
        many = [getattr(m.fft, name + "n")(t, dim=dim) for dim in ((0,), (0, 1), (2, 0))]
        found = [*many, *(getattr(m.fft, name)(t, dim=d) for d in range(3))]
        return [(f.stride(), f.is_conj(), f.grad_fn.name()) for f in found]

    import chainrule

    for x in _kinds(name):
        assert said(chainrule, x.tolist()) == said(torch, x.tolist())


def test_frequencies() -> None:
    for n, d in ((5, 1.0), (4, 0.5), (1, 2.0), (6, -1.0)):
        agree(lambda m, t, n=n, d=d: (m.fft.fftfreq(n, d), m.fft.rfftfreq(n, d, dtype=m.float64)), [], tol=1e-6)
    for dim in (None, 1, (0, 2)):
        agree(lambda m, t, dim=dim: (m.fft.fftshift(t[0], dim), m.fft.ifftshift(t[0], dim)), [REAL])


def test_under_transforms() -> None:
    agree(lambda m, t: m.vmap(lambda x: m.fft.irfft(m.fft.rfft(x * x, dim=0), n=4, dim=0))(t[0]), [REAL])
    agree(lambda m, t: m.func.jvp(lambda x: m.fft.fftn(x * x).abs(), (t[0],), (t[0].cos(),)), [REAL], grad=False)
    agree(lambda m, t: m.vmap(m.func.grad(lambda x: m.fft.fft2(x).abs().sum()))(t[0]), [COMPLEX], grad=False)


REFUSED: dict[str, Any] = {
    "half": lambda m, t: m.fft.fft(t[0].half()),
    "no points": lambda m, t: m.fft.fft(t[0], 0),
    "dim": lambda m, t: m.fft.fft(t[0], dim=5),
    "no axes": lambda m, t: m.fft.fft(m.tensor(1.0)),
    "norm": lambda m, t: m.fft.fft(t[0], norm="a"),
    "complex rfft": lambda m, t: m.fft.rfft(t[1]),
    "complex ihfft": lambda m, t: m.fft.ihfft(t[1]),
    "complex rfftn": lambda m, t: m.fft.rfftn(t[1]),
    "short irfft": lambda m, t: m.fft.irfft(t[1][..., :1]),
    "long shape": lambda m, t: m.fft.fftn(t[0], s=(1, 2, 3, 4)),
    "shape and dim": lambda m, t: m.fft.fftn(t[0], s=(3,), dim=(0, 1)),
    "twice": lambda m, t: m.fft.fftn(t[0], dim=(1, -2)),
    "nothing": lambda m, t: m.fft.rfftn(t[0], dim=()),
    "real out": lambda m, t: m.fft.fft(t[0], out=m.empty(0)),
    "complex out": lambda m, t: m.fft.irfft(t[1], out=m.empty(0, dtype=m.complex64)),
    "n": lambda m, t: m.fft.fft(t[0], 2.5),
    "norm of another type": lambda m, t: m.fft.fft(t[0], norm=3),
    "integers": lambda m, t: m.fft.fftfreq(4, dtype=m.int64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    refuse(REFUSED[name], [REAL, COMPLEX])
