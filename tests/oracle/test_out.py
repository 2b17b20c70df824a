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
sum(x,0,dtype=m.float32) prod(x,0,dtype=m.float64) mean(x,0,dtype=m.float32) nansum(x,0,dtype=m.float64)
nanmean(x,0,dtype=m.float32) nonzero(x) nonzero(x,as_tuple=True) searchsorted(x,x) bucketize(x,x[0],out_int32=True)
""".split()


@pytest.mark.parametrize("call", " ".join(CALLS).replace("(x, x)", "(x,x)").split())
@pytest.mark.parametrize("dtype", ["int16", "float64", "float32", "bool", "complex64"])
def test_out_of_another_dtype(call: str, dtype: str) -> None:
    outcomes = [outcome(m, call, dtype) for m in (chainrule, torch)]
    if isinstance(outcomes[1], str):
        assert isinstance(outcomes[0], str) and first_sentence(outcomes[1]) in re.sub(r"\d+", "#", outcomes[0])
    else:
        assert outcomes[0] == outcomes[1]


PAIRS = "mode(x) median(x,0) nanmedian(x,0) kthvalue(x,1,0) max(x,0) sort(x) topk(x,1) cummax(x,0)".split()


@pytest.mark.parametrize("call", PAIRS)
@pytest.mark.parametrize("dtypes", [("float32", "int32"), ("float64", "int64")])
def test_out_of_values_and_indices_of_another_dtype(call: str, dtypes: tuple[str, str]) -> None:
    outcomes = []
    for m in (chainrule, torch):
        room = [m.empty(0, dtype=getattr(m, d)) for d in dtypes]
        scope = {"m": m, "x": m.tensor([[1.5, -2.0], [0.5, 3.0]]), "o": room}
        with pytest.raises(RuntimeError) as caught:
            eval(f"m.{call[:-1]}, out=tuple(o))", scope)
        outcomes.append(first_sentence(str(caught.value)))
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
