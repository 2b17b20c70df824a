# ruff: noqa: E501
"""assert_close: what is close, what is not, and what it says."""

from __future__ import annotations

import pytest

import chainrule as torch
from chainrule.testing import assert_close, make_tensor


def T(data: object, **kwargs: object) -> torch.Tensor:
    return torch.tensor(data, **kwargs)


CLOSE = [
    (T([1.0, 2.0]), T([1.0, 2.0 + 1e-6]), {}),
    (T([1.0]), T([2.0]), {"rtol": 0, "atol": 1.0}),
    (T([1.0]), T([1.0], dtype=torch.float64), {"check_dtype": False}),
    (T([float("nan")]), T([float("nan")]), {"equal_nan": True}),
    (T([float("inf")]), T([float("inf")]), {}),
    (T([]), T([]), {}),
    (1, 1, {}),
    (1.0, 1.0 + 1e-9, {}),
    (None, None, {}),
    ([1.0, {"a": T([1])}], (1.0, {"a": T([1])}), {}),
]

FAR = [
    (T([1.0, 2, 3]), T([1.0, 2, 4]), {}, r"not close!\n\nMismatched elements: 1 / 3 \(33.3%\)\nGreatest absolute difference: 1.0 at index \(2,\) \(up to 1e-05 allowed\)\nGreatest relative difference: 0.25 at index \(2,\) \(up to 1.3e-06 allowed\)$"),
    (T([1, 2]), T([1, 3]), {}, r"Tensor-likes are not equal!"),
    (T(1.0), T(2.0), {}, r"Scalars are not close!\n\nExpected 2.0 but got 1.0"),
    (1, 2, {}, r"Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
    (True, False, {}, r"Booleans mismatch: True is not False"),
    (1.0, 1, {}, r"The \(d\)types do not match: <class 'float'> != <class 'int'>."),
    (T([1.0]), T([1.0, 2]), {}, r"'shape' do not match: torch.Size\(\[1\]\) != torch.Size\(\[2\]\)."),
    (T([1.0]), T([1.0], dtype=torch.float64), {}, r"'dtype' do not match: torch.float32 != torch.float64."),
    (T([float("nan")]), T([float("nan")]), {}, r"difference: nan at index \(0,\)"),
    ([1], [1, 2], {}, r"The length of the sequences mismatch: 1 != 2"),
    ({"a": 1}, {"b": 1}, {}, r"Missing keys in the actual mapping: \['b'\]\nAdditional keys in the actual mapping: \['a'\]"),
    ({"a": [1, 2]}, {"a": [1, 3]}, {}, r"The failure occurred for item \['a'\]\[1\]"),
    (None, 1, {}, r"None mismatch: None is not 1"),
    (T([1.0]), T([2.0]), {"msg": "mine"}, r"^mine$"),
    (T([1.0]), T([2.0]), {"msg": lambda m: "mine: " + m}, r"^mine: Tensor-likes are not close!"),
]  # fmt: skip


@pytest.mark.parametrize("actual, expected, options", CLOSE)
def test_close(actual: object, expected: object, options: dict) -> None:
    assert_close(actual, expected, **options)


@pytest.mark.parametrize("actual, expected, options, text", FAR)
def test_far(actual: object, expected: object, options: dict, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected, **options)


def test_one_tolerance_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=1e-3)


def test_other_things_cannot_be_compared() -> None:
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(T([1.0]), [1.0])


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64])
def test_make_tensor_draws_in_range(dtype: torch.dtype) -> None:
    made = make_tensor(50, 3, dtype=dtype, device="cpu")
    assert made.dtype is dtype and made.shape == (50, 3) and made.is_contiguous()
    assert len({str(x) for x in made.reshape(-1).tolist()}) > 1


def test_make_tensor_can_be_spread_out_and_want_a_gradient() -> None:
    made = make_tensor((4, 3), dtype=torch.float64, device="cpu", low=1, high=2, noncontiguous=True, requires_grad=True)
    assert made.requires_grad and not made.is_contiguous()
    assert 1 <= float(made.min()) and float(made.max()) < 2


def test_make_tensor_without_zeros() -> None:
    assert bool((make_tensor(100, dtype=torch.int64, device="cpu", low=0, high=2, exclude_zero=True) != 0).all())
