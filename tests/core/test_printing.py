"""What tensors look like as text: a table of what PyTorch prints, then laws."""

from math import inf, nan

import numpy as np
import pytest

from chainrule.core import printing
from chainrule.core.printing import printoptions, set_printoptions, tensor_text

# values, dtype, options, facts, what PyTorch 2.13 prints
# fmt: off
TEXTS = [
    ([], "float32", {}, {}, "tensor([])"),
    ([1.0, 2.0, 3.0], "float32", {}, {}, "tensor([1., 2., 3.])"),
    ([0.0, -0.0], "float32", {}, {}, "tensor([0., -0.])"),
    ([1.5, 2.0, -3.25], "float32", {}, {}, "tensor([ 1.5000,  2.0000, -3.2500])"),
    ([0.1, 100.0], "float32", {}, {}, "tensor([  0.1000, 100.0000])"),
    ([0.1, 100.1], "float32", {}, {}, "tensor([1.0000e-01, 1.0010e+02])"),
    ([1e-5, 1.0], "float32", {}, {}, "tensor([1.0000e-05, 1.0000e+00])"),
    ([1e-4], "float64", {}, {}, "tensor([0.0001], dtype=torch.float64)"),
    ([1e8], "float64", {}, {}, "tensor([100000000.], dtype=torch.float64)"),
    ([100000001.0], "float64", {}, {}, "tensor([1.0000e+08], dtype=torch.float64)"),
    ([1.5, 1500.0], "float64", {}, {}, "tensor([   1.5000, 1500.0000], dtype=torch.float64)"),
    ([1.5, 1500.5], "float64", {}, {}, "tensor([1.5000e+00, 1.5005e+03], dtype=torch.float64)"),
    ([5e-324, 1.0], "float64", {}, {}, "tensor([4.9407e-324,  1.0000e+00], dtype=torch.float64)"),
    ([nan, inf, -inf], "float32", {}, {}, "tensor([nan, inf, -inf])"),
    ([nan, 1.0, -inf], "float32", {}, {}, "tensor([nan, 1., -inf])"),
    ([nan, 1.5, inf], "float32", {}, {}, "tensor([   nan, 1.5000,    inf])"),
    ([nan, 1e-9, inf, 0.0], "float32", {}, {}, "tensor([       nan, 1.0000e-09,        inf, 0.0000e+00])"),
    ([0.1, 65504.0], "float16", {}, {}, "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)"),
    ([0.1, 2.0], "bfloat16", {}, {}, "tensor([0.1001, 2.0000], dtype=torch.bfloat16)"),
    ([True, False], "bool", {}, {}, "tensor([ True, False])"),
    ([1, -20, 300], "int64", {}, {}, "tensor([  1, -20, 300])"),
    ([1, -20, 127], "int8", {}, {}, "tensor([  1, -20, 127], dtype=torch.int8)"),
    ([18446744073709551615], "uint64", {}, {}, "tensor([18446744073709551615], dtype=torch.uint64)"),
    ([1 + 2j, -1.5 - 0.25j], "complex64", {}, {}, "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
    ([1 + 2j, 3 - 4j], "complex128", {}, {}, "tensor([1.+2.j, 3.-4.j], dtype=torch.complex128)"),
    ([complex(nan, -inf), 1e-9 + 1e9j], "complex64", {}, {},
     "tensor([       nan-infj, 1.0000e-09+1.0000e+09j])"),
    (3, "int64", {}, {}, "tensor(3)"),
    (1.5, "float32", {}, {}, "tensor(1.5000)"),
    (nan, "float32", {}, {}, "tensor(nan)"),
    (1e-7, "float32", {}, {}, "tensor(1.0000e-07)"),
    (1 - 1j, "complex64", {}, {}, "tensor(1.-1.j)"),
    (True, "bool", {}, {}, "tensor(True)"),
    ([], "int64", {}, {}, "tensor([], dtype=torch.int64)"),
    ([], "bool", {}, {}, "tensor([], dtype=torch.bool)"),
    ([[], []], "float32", {}, {}, "tensor([], size=(2, 0))"),
    ([[], []], "complex64", {}, {}, "tensor([], size=(2, 0), dtype=torch.complex64)"),
    ([[1, 2], [3, 40]], "int64", {}, {},
     "tensor([[ 1,  2],\n"
     "        [ 3, 40]])"),
    ([[[1.0, 2.0]], [[3.5, 4.0]]], "float32", {}, {},
     "tensor([[[1.0000, 2.0000]],\n"
     "\n"
     "        [[3.5000, 4.0000]]])"),
    (range(30), "int64", {}, {},
     "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
     "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"),
    ([i / 3 for i in range(20)], "float32", {}, {},
     "tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,\n"
     "        3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667,\n"
     "        6.0000, 6.3333])"),
    ([complex(i, -i) for i in range(12)], "complex64", {}, {},
     "tensor([ 0.+0.j,  1.-1.j,  2.-2.j,  3.-3.j,  4.-4.j,  5.-5.j,  6.-6.j,\n"
     "         7.-7.j,  8.-8.j,  9.-9.j, 10.-10.j, 11.-11.j])"),
    (range(1001), "int64", {}, {}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ([[i / 7 + j for i in range(40)] for j in range(40)], "float32", {}, {},
     "tensor([[ 0.0000,  0.1429,  0.2857,  ...,  5.2857,  5.4286,  5.5714],\n"
     "        [ 1.0000,  1.1429,  1.2857,  ...,  6.2857,  6.4286,  6.5714],\n"
     "        [ 2.0000,  2.1429,  2.2857,  ...,  7.2857,  7.4286,  7.5714],\n"
     "        ...,\n"
     "        [37.0000, 37.1429, 37.2857,  ..., 42.2857, 42.4286, 42.5714],\n"
     "        [38.0000, 38.1429, 38.2857,  ..., 43.2857, 43.4286, 43.5714],\n"
     "        [39.0000, 39.1429, 39.2857,  ..., 44.2857, 44.4286, 44.5714]])"),
    (range(10), "int64", {"threshold": 9, "edgeitems": 2}, {}, "tensor([0, 1,  ..., 8, 9])"),
    (range(10), "int64", {"threshold": 10, "edgeitems": 2}, {}, "tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"),
    ([[1, 2]] * 9, "int64", {"threshold": 5, "edgeitems": 1}, {},
     "tensor([[1, 2],\n"
     "        ...,\n"
     "        [1, 2]])"),
    (range(10), "int64", {"threshold": 5, "edgeitems": 0}, {}, "tensor([...], size=(10,))"),
    (range(3), "int64", {"edgeitems": 0}, {}, "tensor([0, 1, 2], size=(3,))"),
    ([1.23456], "float32", {"precision": 2}, {}, "tensor([1.23])"),
    ([1.23456, 2.0], "float32", {"sci_mode": True}, {}, "tensor([1.2346e+00, 2.0000e+00])"),
    ([1e-9, 2.0], "float32", {"sci_mode": False}, {}, "tensor([0.0000, 2.0000])"),
    ([1.0, 2.0], "float32", {"sci_mode": True, "precision": 1}, {}, "tensor([1.0e+00, 2.0e+00])"),
    ([0.0, nan], "float32", {"sci_mode": True}, {}, "tensor([0., nan])"),
    (range(12), "int64", {"linewidth": 20}, {},
     "tensor([ 0,  1,  2,\n"
     "         3,  4,  5,\n"
     "         6,  7,  8,\n"
     "         9, 10, 11])"),
    ([i / 3 for i in range(6)], "float32", {"profile": "short"}, {},
     "tensor([0.00, 0.33, 0.67, 1.00, 1.33, 1.67])"),
    ([1.0, 2.0], "float32", {}, {"requires_grad": True}, "tensor([1., 2.], requires_grad=True)"),
    ([1.0, 2.0], "float32", {}, {"requires_grad": True, "grad_fn": "AddBackward0"},
     "tensor([1., 2.], grad_fn=<AddBackward0>)"),
    ([1.0, 2.0], "float64", {}, {"requires_grad": True, "grad_fn": "MulBackward0"},
     "tensor([1., 2.], dtype=torch.float64, grad_fn=<MulBackward0>)"),
    ([i / 3 for i in range(8)], "float32", {}, {"requires_grad": True, "grad_fn": "MulBackward0"},
     "tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333],\n"
     "       grad_fn=<MulBackward0>)"),
    ([i / 3 for i in range(8)], "float64", {}, {"requires_grad": True, "grad_fn": "MulBackward0"},
     "tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333],\n"
     "       dtype=torch.float64, grad_fn=<MulBackward0>)"),
    ([[1.0], [2.0]], "float32", {"linewidth": 25}, {"requires_grad": True},
     "tensor([[1.],\n"
     "        [2.]],\n"
     "       requires_grad=True)"),
    ([1.0, 2.0], "float64", {}, {"default_dtype": "float64"}, "tensor([1., 2.])"),
    ([1.0, 2.0], "float32", {}, {"default_dtype": "float64"}, "tensor([1., 2.], dtype=torch.float32)"),
    ([1j], "complex128", {}, {"default_dtype": "float64"}, "tensor([0.+1.j])"),
    ([1j], "complex64", {}, {"default_dtype": "float64"}, "tensor([0.+1.j], dtype=torch.complex64)"),
]
# fmt: on

WITHOUT_VALUES = [
    ((2, 3), "float32", "tensor(..., device='meta', size=(2, 3))"),
    ((2, 3), "int64", "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"),
    ((), "bool", "tensor(..., device='meta', size=(), dtype=torch.bool)"),
    ((0,), "complex64", "tensor(..., device='meta', size=(0,), dtype=torch.complex64)"),
]


def array_of(values, dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    return np.array(values, dtype=dtype)


@pytest.mark.parametrize(("values", "dtype", "options", "facts", "text"), TEXTS)
def test_the_text_is_what_pytorch_prints(values, dtype, options, facts, text):
    with printoptions(**options):
        assert tensor_text(array_of(values, dtype), **facts) == text


@pytest.mark.parametrize(("size", "dtype", "text"), WITHOUT_VALUES)
def test_a_tensor_without_values_shows_its_size(size, dtype, text):
    assert tensor_text(None, size=size, dtype_name=dtype, device="meta") == text


def test_size_comes_from_the_array_or_from_the_caller():
    with pytest.raises(ValueError, match="size"):
        tensor_text(np.ones(2), size=(2,))
    with pytest.raises(ValueError, match="dtype_name"):
        tensor_text(None, size=(2,))


def test_contents_can_be_replaced():
    assert tensor_text(np.ones(2), prefix="Mine(", contents="hidden") == "Mine(hidden, dtype=torch.float64)"


def test_a_tangent_comes_last():
    text = tensor_text(np.ones(2, "float32"), requires_grad=True, tangent="tensor([1., 1.])")
    assert text == "tensor([1., 1.], requires_grad=True, tangent=tensor([1., 1.]))"


def test_parameters():
    text = tensor_text(np.ones(2, "float32"), requires_grad=True)
    assert printing.parameter_text(text) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert printing.parameter_text("P([1.])", is_subclass=True) == "Parameter containing:\nParameter(P([1.]))"


def test_wrappers_indent_what_they_hold_but_not_blank_lines():
    value = tensor_text(np.ones((2, 1, 1), "float32"))
    inner = "tensor([[[1.]],\n\n            [[1.]]])"
    assert printing.batched_text(1, 0, value) == f"BatchedTensor(lvl=1, bdim=0, value=\n    {inner}\n)"
    assert printing.grad_tracking_text(2, value) == f"GradTrackingTensor(lvl=2, value=\n    {inner}\n)"


def test_a_scalar_formats_as_its_number():
    assert printing.format_scalar(np.array(1.256, "float32"), ".2f") == "1.26"
    assert printing.format_scalar(np.array(10), "x") == "a"
    assert printing.format_scalar(array_of(1.5, "bfloat16"), "") == "1.5"


@pytest.mark.parametrize("shape", [(2001,), (40, 40), (9, 9, 20)])
@pytest.mark.parametrize("edge", [1, 2, 3])
def test_a_summary_is_styled_by_what_it_shows(shape, edge):
    array = np.zeros(shape)
    with printoptions(edgeitems=edge):
        zeros = tensor_text(array)
        array[(slice(edge, -edge),) * array.ndim] = 1e30
        assert tensor_text(array) == zeros
        array[(edge - 1,) * array.ndim] = 1e30
        assert "1.0000e+30" in tensor_text(array)


def test_only_what_is_shown_is_read():
    huge = np.broadcast_to(np.float32(1), (10**6, 10**6))
    assert tensor_text(huge).count("1.") == 36


def test_options_apply_in_the_order_profile_then_arguments():
    with printoptions():
        set_printoptions(profile="full", precision=7)
        full = {"precision": 7, "threshold": inf, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
        assert printing.get_printoptions() == full
        set_printoptions(profile="short")
        short = {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80, "sci_mode": None}
        assert printing.get_printoptions() == short


def test_each_call_sets_sci_mode():
    with printoptions(sci_mode=True):
        assert printing.PRINT_OPTS.sci_mode is True
        set_printoptions(precision=3)
        assert printing.PRINT_OPTS.sci_mode is None


def test_options_return_after_the_block_even_if_it_raises():
    before = printing.get_printoptions()
    with pytest.raises(RuntimeError), printoptions(precision=9, sci_mode=False):
        raise RuntimeError
    assert printing.get_printoptions() == before


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="profile"):
        set_printoptions(profile="tiny")
    with pytest.raises(TypeError, match="digits"), printoptions(digits=3):
        pass
