"""Small functions beside live PyTorch: each expression gives the same text or the same refusal."""

from __future__ import annotations

import importlib
import re

import pytest

import chainrule

torch = pytest.importorskip("torch")

ASSERTIONS = """
t._check(False); t._check(True); t._check(False, lambda: "m"); t._check(1); t._check(False, "abc")
t._check(False, lambda: 3); t._check_is_size(-1); t._check_is_size(3); t._check_is_size("a")
t._check_with(KeyError, False, lambda: "x"); t._check_index(False); t._check_tensor_all(b)
t._check_tensor_all(b[:1]); t._check_tensor_all(b, lambda: "m"); t._check(b[0]); t._check_value(False)
t._assert_async(x[0]); t._assert_async(x[1]); t._assert_async(x); t._assert_async(x[:0])
t._assert_async(x[0], "hi"); t._assert(False, "hey"); t._assert(b[0], "hey"); t._check_type(False, lambda: x)
t._check_tensor_all(3); t._check_tensor_all(x); t._check_not_implemented(False); t._debug_has_internal_overlap(3)
t._debug_has_internal_overlap(x); t._debug_has_internal_overlap(x.expand(2, 4))
t._debug_has_internal_overlap(x[::2]); t._debug_has_internal_overlap(x[:0])
t._debug_has_internal_overlap(t.randn(10).as_strided([2, 1, 5], [1, 0, 2]))
t._debug_has_internal_overlap(t.randn(20)[::2].as_strided((2, 1, 5), (10, 0, 2)))
"""
FORMS = """
x.view(); x.expand(); x.permute(); x.reshape(); x.repeat(); x.tile(); x.flip(); x.broadcast_to(); x.resize_()
x.new_zeros(); x[0].view(()); x[0].view([]); x[0].expand(()); x[0].permute(()); x[0].tile(()); x[0].view(t.Size([]))
t.Size([1]) + [2]; t.Size([1]) + (2,); t.Size([1]) + 3; t.Size([1]) + Right(); Right() + t.Size([1])
t.Size([1]) + "a"; x.int().type(t.Tensor); x.type(t.DoubleTensor); x.type("torch.IntTensor"); x.type("torch.Foo")
x.type(t.int8); x.type(); x.half().type(); x.type(3); t.set_num_threads(-1); t.set_num_threads(2**65)
t.set_num_interop_threads(0); t.set_num_threads("a"); t.set_num_threads(True)
sorted(c.__name__ for c in t._tensor_classes if not c.is_sparse and not c.is_cuda); len(t._C._get_all_dtypes())
t.use_deterministic_algorithms(1); t.use_deterministic_algorithms(False, warn_only=1)
t.set_deterministic_debug_mode("x"); t.set_deterministic_debug_mode(3); t.set_deterministic_debug_mode(None)
t.utils.deterministic.fill_uninitialized_memory
"""


class Right:
    def __add__(self, other):
        return 41

    def __radd__(self, other):
        return 42


def expressions(text):
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def run(t, text):
    x = t.arange(4.0)
    try:
        return re.sub("chainrule", "torch", repr(eval(text, {"t": t, "x": x, "b": x > 0, "Right": Right}))), str(
            x.tolist()
        )
    except Exception as error:
        return type(error).__name__, str(error).split(" - got")[0].split("\n")[0]


@pytest.mark.parametrize("text", [*expressions(ASSERTIONS), *expressions(FORMS)])
def test_same_text(text):
    mine, told = run(chainrule, text), run(torch, text)
    if told[0] == "TypeError" and "an invalid combination" in told[1]:
        assert mine[0] == "TypeError"
    else:
        assert mine == told


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "int64", "uint8", "bool", "bfloat16"])
def test_new_memory_is_filled_where_every_run_shall_be_the_same(dtype):
    def run(t):
        kind = getattr(t, dtype)
        zeros = t.zeros(2, dtype=kind)
        t.use_deterministic_algorithms(True)
        try:
            made = [
                t.empty(2, dtype=kind), t.empty_like(zeros), t.empty_strided((2, 2), (1, 4), dtype=kind),
                zeros.clone().resize_(4), zeros.clone().view(2, 1).resize_(3, 2), zeros.new_empty(2),
                t.empty(2, out=zeros.clone()), t.empty_permuted((2, 3), (1, 0), dtype=kind),
            ]  # fmt: skip
        finally:
            t.use_deterministic_algorithms(False)
        return [str(m.tolist()) for m in made]

    assert run(chainrule) == run(torch)


def test_there_is_no_gpu_of_apples():
    def run(t):
        mps = importlib.import_module(f"{t.__name__}.mps")
        said = [mps.is_available(), mps.device_count(), mps.manual_seed(3)]
        for refused in (mps.synchronize, mps.empty_cache):
            with pytest.raises(RuntimeError) as error:
                refused()
            said.append(str(error.value))
        return said

    assert run(chainrule) == run(torch)
