"""Laws of the types and of promotion that need no PyTorch."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import chainrule
from chainrule.core import dtype as T

ORDINARY = [each for each in T.ALL if each not in (T.uint16, T.uint32, T.uint64)]
PAIRS = list(itertools.product(ORDINARY, ORDINARY))


@pytest.fixture(autouse=True)
def default():
    yield
    T.set_default_dtype(T.float32)


@pytest.mark.parametrize("each", T.ALL, ids=str)
def test_a_type_is_one_object(each):
    assert pickle.loads(pickle.dumps(each)) is copy.copy(each) is copy.deepcopy(each) is each
    assert repr(each) == str(each) == f"torch.{each.name}"
    assert each and {each: 1}[each] == 1


def test_short_types_reach_another_process():
    script = "import pickle, sys; t = pickle.load(sys.stdin.buffer); print(t.dtype, t.tolist())"
    kept = pickle.dumps(chainrule.ones(2, dtype=T.bfloat16))
    found = subprocess.run([sys.executable, "-c", script], input=kept, capture_output=True, check=True)
    assert found.stdout.split() == [b"torch.bfloat16", b"[1.0,", b"1.0]"]


def test_types_cannot_be_made_or_changed():
    with pytest.raises(TypeError, match=r"cannot create 'torch\.dtype' instances"):
        T.dtype("float32")
    with pytest.raises(AttributeError, match="not writable"):
        T.float32.is_signed = False
    with pytest.raises(AttributeError, match="no attribute 'width'"):
        T.float32.width  # noqa: B018


def test_arrays_lead_back_to_their_type():
    for array_type, each in T.OF_NUMPY.items():
        assert each.numpy == array_type and each.itemsize == array_type.itemsize
        assert T.OF_NUMPY[np.zeros(1, each.numpy).dtype] is each
    assert T.OF_NUMPY[np.dtype(ml_dtypes.bfloat16)] is T.bfloat16
    assert T.OF_NUMPY[np.dtype(ml_dtypes.complex32)] is T.complex32
    with pytest.raises(NotImplementedError, match="quint8"):
        T.NAMES["quint8"].numpy  # noqa: B018


def test_short_types_are_computed_with_in_32_bits_and_rounded_back():
    z = np.array([1 + 2j, 0.1]).astype(T.complex32.numpy)
    assert T.widened(z).dtype == np.complex64 and T.wide(z.dtype) == np.complex64
    assert T.narrowed(T.widened(z) * 2, z.dtype).dtype == z.dtype
    assert T.narrowed(abs(T.widened(z)), z.dtype).dtype == np.float16
    assert T.narrowed(np.ones(2, bool), z.dtype).dtype == bool


def test_promotion_is_a_join():
    for a, b in PAIRS:
        joined = T.promote_types(a, b)
        assert joined is T.promote_types(b, a)
        assert T.promote_types(a, a) is a
        assert joined.category == max(a.category, b.category)
        assert T.can_cast(a, joined) and T.can_cast(b, joined)


def test_promotion_is_associative_but_for_the_two_halves():
    halves = {T.float16, T.bfloat16}
    for a, b, c in itertools.product(ORDINARY, repeat=3):
        if not (halves <= {a, b, c} or T.complex32 in (a, b, c)):
            assert T.promote_types(T.promote_types(a, b), c) is T.promote_types(a, T.promote_types(b, c))


@pytest.mark.parametrize("storage", [T.uint16, T.uint32, T.uint64], ids=str)
def test_storage_types_promote_with_floats_only(storage):
    assert T.promote_types(storage, T.float16) is T.float16
    for other in (T.bool_, T.uint8, T.int64, T.complex64):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            T.promote_types(storage, other)


RESULTS = [
    ([(T.float32, "dim"), (T.float64, "zero")], T.float32),
    ([(T.int32, "dim"), (T.float64, "zero")], T.float64),
    ([(T.int32, "dim"), (T.float32, "scalar")], T.float32),
    ([(T.int8, "dim"), (T.int64, "scalar")], T.int8),
    ([(T.bool_, "dim"), (T.int64, "scalar")], T.int64),
    ([(T.uint8, "dim"), (T.bool_, "scalar")], T.uint8),
    ([(T.uint8, "dim"), (T.int8, "dim")], T.int16),
    ([(T.float16, "dim"), (T.complex64, "scalar")], T.complex32),
    ([(T.bfloat16, "dim"), (T.complex64, "scalar")], T.complex64),
    ([(T.float64, "zero"), (T.complex64, "scalar")], T.complex128),
    ([(T.int64, "zero"), (T.float32, "scalar")], T.float32),
    ([(T.float32, "dim"), (T.complex128, "zero")], T.complex64),
]


@pytest.mark.parametrize("operands, expected", RESULTS, ids=str)
def test_result_type(operands, expected):
    assert T.result_type(operands) is expected
    assert T.result_type(operands[::-1]) is expected


def test_python_floats_follow_the_default():
    T.set_default_dtype(T.float64)
    assert T.scalar_dtype(1.0) is T.float64 and T.scalar_dtype(1j) is T.complex128
    assert T.result_type([(T.int32, "dim"), (T.float32, "scalar")]) is T.float64
    assert T.finfo() == T.finfo(T.float64)


NUMBERS = [
    (True, T.bool_), (3, T.int64), (2.0, T.float32), (1j, T.complex64), (np.bool_(1), T.bool_),
    (np.int8(1), T.int64), (np.float64(1), T.float32), (np.complex64(1), T.complex64),
]  # fmt: skip


@pytest.mark.parametrize("number, expected", NUMBERS, ids=repr)
def test_scalar_dtype(number, expected):
    assert T.scalar_dtype(number) is expected


def test_set_default_dtype_refuses():
    for wrong in (T.int32, T.complex64, "float32", None, float):
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            T.set_default_dtype(wrong)
    assert T.get_default_dtype() is T.float32


@pytest.mark.parametrize("each", [T.float16, T.bfloat16, T.float32, T.float64], ids=str)
def test_finfo_agrees_with_arrays(each):
    ours, arrays = T.finfo(each), ml_dtypes.finfo(each.numpy)
    for name in ("eps", "max", "min", "tiny", "smallest_normal", "bits", "resolution"):
        assert getattr(ours, name) == pytest.approx(float(getattr(arrays, name)), rel=1e-2)
    assert each.numpy.type(ours.max) == arrays.max and each.numpy.type(ours.eps) == arrays.eps
    assert T.finfo(each.to_complex()).bits >= ours.bits
    assert pickle.loads(pickle.dumps(ours)) == ours


@pytest.mark.parametrize("each", [t for t in T.ALL if t.category == T.INT], ids=str)
def test_iinfo_agrees_with_arrays(each):
    ours, arrays = T.iinfo(each), np.iinfo(each.numpy)
    assert (ours.min, ours.max, ours.bits, ours.dtype) == (arrays.min, arrays.max, arrays.bits, each.name)


def test_limits_refuse_the_other_kind():
    with pytest.raises(TypeError, match="requires a floating point input type. Use torch.iinfo"):
        T.finfo(T.int8)
    with pytest.raises(TypeError, match="requires an integer input type. Use torch.finfo"):
        T.iinfo(T.float32)
    with pytest.raises(TypeError, match=r"torch\.bool is not supported by torch\.iinfo"):
        T.iinfo(T.bool_)
    with pytest.raises(TypeError, match=r"must be torch\.dtype, not int"):
        T.finfo(3)
