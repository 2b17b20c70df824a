"""Laws of elementwise ops that need no PyTorch. tests/oracle/test_elementwise.py compares values and gradients."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

import chainrule as torch
from chainrule.backends.cpu import activations, masks
from chainrule.core.public import PUBLIC
from chainrule.ops.activation import sigmoid

DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)
ALIASES = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "clip": "clamp", "fix": "trunc", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "not_equal": "ne",
}  # fmt: skip
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.le, operator.gt,
    operator.ge,
)  # fmt: skip


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_the_op(alias):
    for place in "fm":
        assert PUBLIC[place][alias] is PUBLIC[place][ALIASES[alias]]
    if alias not in ("fix",):
        assert PUBLIC["m"][alias + "_"] is PUBLIC["m"][ALIASES[alias] + "_"]


class Foreign:
    """Knows tensors; tensors do not know it."""

    def __add__(self, other):
        return "mine"

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = __add__
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __add__
    __lt__ = __le__ = __gt__ = __ge__ = __add__


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_operators_leave_foreign_operands_to_their_class(op, dtype):
    x = torch.ones(2, dtype=dtype)
    assert op(x, Foreign()) == "mine"
    assert op(Foreign(), x) == "mine"
    with pytest.raises(TypeError, match="unsupported operand|not supported between"):
        op(x, object())


def test_equality_with_the_foreign_is_identity():
    x = torch.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    assert x in [x]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_conversion_that_changes_nothing_returns_the_tensor(dtype):
    x = torch.ones(2, dtype=dtype)
    assert x.to(dtype) is x
    assert x.to("cpu") is x
    assert x.to(x) is x
    assert x.type(dtype) is x
    assert x.to(dtype, copy=True) is not x


@pytest.mark.parametrize("wide", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("narrow", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_gradient_comes_back_in_the_dtype_of_its_tensor(wide, narrow):
    x = torch.ones(3, dtype=narrow, requires_grad=True)
    (x.to(wide) * 2).sum().backward()
    assert x.grad.dtype is narrow
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("size", [0, 5, 20_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_masks_are_where(size, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=size).astype(dtype) for _ in range(2))
    a[::3], b[::5] = np.nan, np.inf
    mask = rng.random(size) < 0.5
    for m in (mask, ~mask, mask & False, mask | True):
        assert np.array_equal(masks.keep(a, m), np.where(m, a, 0), equal_nan=True)
        assert np.array_equal(masks.choose(m, a, b), np.where(m, a, b), equal_nan=True)
        assert masks.keep(a, m).dtype == masks.choose(m, a, b).dtype == dtype


def test_masks_broadcast():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(100, 1, 90)), rng.normal(size=(90,))
    mask = rng.random((100, 2, 90)) < 0.5
    assert np.array_equal(masks.choose(mask, a, b), np.where(mask, a, b))
    assert np.array_equal(masks.keep(a, mask), np.where(mask, a, 0))


def test_a_gradient_that_is_infinite_does_not_pass_a_closed_relu():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    torch.log(torch.relu(x)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_has_no_overflow(dtype):
    x = np.array([[1e4, 1e4 - 1, -np.inf], [-1e4, -1e4, -1e4]], dtype)
    p = activations.softmax(x, 1)
    assert np.allclose(p.sum(1), 1)
    assert np.allclose(np.log(p[1]), activations.log_softmax(x, 1)[1])
    assert activations.log_softmax(x, 1)[0, 2] == -np.inf


@pytest.mark.parametrize("x", [np.float32(0.5), np.ones((), np.float32), np.ones((0, 3), np.float32)])
def test_activation_kernels_take_scalars_and_nothing(x):
    for kernel in (sigmoid, activations.gelu, activations.gelu_tanh):
        assert kernel(x).shape == x.shape
        assert kernel(x).dtype == np.float32


@pytest.mark.parametrize("number", [300, -1, 2**40])
def test_whole_numbers_wrap_around(number):
    x = torch.tensor([44], dtype=torch.uint8)
    assert (x + number).item() == (44 + number) % 256
    assert (x * number).item() == (44 * number) % 256


def test_no_warning_escapes():
    x = torch.tensor([0.0, -1.0, float("inf"), 1e30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (x.log(), x / 0, x.exp(), x.sigmoid(), x.sqrt(), x - x, x * 1e30, x.double().float(), x.acos()):
            assert y.shape == x.shape


def test_a_nan_gradient_is_masked_away():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.where(x > 1.5, x, torch.tensor(0.0)) * torch.tensor([float("nan"), 1.0])
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.tolist() == [0.0, 1.0]


def test_the_parts_of_complex_numbers_share_memory():
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.real.mul_(2)
    z.imag = torch.zeros(2)
    torch.view_as_real(z)[0, 1] = 7
    assert z.tolist() == [2 + 7j, 6 + 0j]


def test_whole_number_gradients_are_refused():
    x = torch.ones(2, requires_grad=True)
    y = x // 2
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_whole_numbers_are_not_divided_by_zero(name, dtype):
    x, zero = torch.tensor([1, 2], dtype=dtype), torch.tensor([0, 1], dtype=dtype)
    for divisor in (zero, 0, zero[0]):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(torch, name)(x, divisor)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            getattr(x, name + "_")(divisor)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, -1.0])
def test_a_number_to_the_power_of_a_tensor_without_axes(exponent):
    for base in (2.0, 3, torch.tensor(2.0), torch.tensor([2.0, 3.0])):
        got = base ** torch.tensor(exponent, dtype=torch.float64)
        want = np.asarray(base) ** exponent
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
