"""`out=` of another dtype beside live PyTorch: cast, or refused with the same words."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402
from tests.oracle.programs import first_sentence  # noqa: E402

# Each with operands of floats; `o` is the tensor to fill, `i` one of int64 for indices.
CALLS = """
add(x, x) exp(x) sum(x,0) mean(x,0) prod(x,0) cumsum(x,0) cumprod(x,0) amax(x,0) logcumsumexp(x,0) clamp(x,-1,1)
index_select(x,0,k) gather(x,0,k[None]) take(x,k) masked_select(x,x>0) tril(x) triu(x) mm(x,x) mv(x,x[0]) dot(x[0],x[0])
bmm(x[None],x[None]) matmul(x,x[0]) matmul(x,x) softmax(x,0) log_softmax(x,0) scatter_add(x,0,k[None],x)
index_add(x,0,k,x[:1])
index_copy(x,0,k,x[:1]) where(x>0,x,x) pow(x,2) lerp(x,x,x) addmm(x,x,x) renorm(x,2,0,1.) nan_to_num(x) round(x) sign(x)
abs(x) cat([x,x]) maximum(x,x) div(x,x) gt(x,1) argmax(x,0) outer(x[0],x[0]) kron(x,x)
""".split()


@pytest.mark.parametrize("call", " ".join(CALLS).replace("(x, x)", "(x,x)").split())
@pytest.mark.parametrize("dtype", ["int16", "float64", "float32", "bool", "complex64"])
def test_out_of_another_dtype(call: str, dtype: str) -> None:
    outcomes = [outcome(m, call, dtype) for m in (chainrule, torch)]
    if isinstance(outcomes[1], str):
        assert isinstance(outcomes[0], str) and first_sentence(outcomes[1]) in re.sub(r"\d+", "#", outcomes[0])
    else:
        assert outcomes[0] == outcomes[1]


def outcome(m: Any, call: str, dtype: str) -> Any:
    scope = {"m": m, "x": m.tensor([[1.5, -2.0], [0.5, 3.0]]), "k": m.tensor([0])}
    scope["o"] = m.zeros(0, dtype=getattr(m, dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(f"m.{call[:-1]}, out=o)", scope)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            return str(error)
    assert found is scope["o"]
    return [str(v) if v.__class__ is complex else round(v, 5) for v in found.flatten().tolist()]
