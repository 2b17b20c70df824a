"""torch.gradient against live PyTorch: every form of `spacing` and `dim`, values, gradients, dtypes and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

CALLS = [
    "gradient(x)", "gradient(x, dim=1)", "gradient(x, dim=-1, spacing=2.5)", "gradient(x, spacing=0.5, dim=(0, 2))",
    "gradient(x, spacing=[1, 2, 3])", "gradient(x, spacing=(2,), dim=1, edge_order=2)", "gradient(x, edge_order=2)",
    "gradient(x, spacing=c)", "gradient(x, spacing=c, edge_order=2)", "gradient(x, spacing=(c[2], c[0]), dim=(2, 0))",
    "gradient(x, spacing=2j)", "gradient(x, spacing=[k.to(tt.int64) * 2 for k in c])", "gradient(x, dim=())",
    "gradient(x[0, 0, 0])", "gradient(x, spacing=tt.tensor(2.0))", "gradient(x, spacing=True)",
]  # fmt: skip
REFUSED = [
    "gradient(x, spacing=(1,))", "gradient(x, spacing=(1, 2), dim=0)", "gradient(x, edge_order=3)", "gradient(x[:1])",
    "gradient(x[:2], edge_order=2)", "gradient(x, dim=5)", "gradient(x, dim=(0, 0))", "gradient(x.to(tt.uint8))",
    "gradient(x, spacing=(1, c[0], c[1]))", "gradient(x, spacing=(c[0][None],) * 3)", "gradient(x > 0)",
    "gradient(x, spacing='a')", "gradient(x, spacing=c[0])", "gradient(x, edge_order='a')", "gradient(3)",
]  # fmt: skip


def run(t, text, dtype):
    values = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(dtype) * 3
    x = t.tensor(values, requires_grad=values.dtype.kind in "fc")
    c = [t.tensor((np.random.default_rng(n).random(n) + 0.5).cumsum().astype(np.float32)) for n in values.shape]
    try:
        parts = eval("t." + text, {"t": t, "tt": t, "x": x, "c": c})
    except (RuntimeError, TypeError, IndexError) as error:
        return type(error).__name__, str(error).split("\n")[0].split(" - got")[0]  # below it ours gives advice
    assert isinstance(parts, tuple)
    if parts and x.requires_grad:
        sum(p.abs().square().sum() for p in parts).backward()
    return [np.asarray(p.detach()) for p in parts], None if x.grad is None else np.asarray(x.grad)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "float16"])
@pytest.mark.parametrize("text", CALLS)
def test_values(text, dtype):
    if dtype == "float16" and "2j" in text:
        pytest.skip("PyTorch's complex32")
    (mine, grad), (told, wanted) = run(chainrule, text, dtype), run(torch, text, dtype)
    rough = {"rtol": 3e-2, "atol": 0.2} if dtype == "float16" else {"rtol": 1e-5, "atol": 1e-5}
    assert [p.dtype for p in mine] == [p.dtype for p in told]
    for a, b in zip(
        [*mine, *([] if grad is None else [grad])], [*told, *([] if wanted is None else [wanted])], strict=True
    ):
        np.testing.assert_allclose(a, b, **rough)


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    assert run(chainrule, text, "float32") == run(torch, text, "float32")
