"""Types, promotion and limits against live PyTorch: every type, every pair, random lists of operands."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.core import device as D
from chainrule.core import dtype as T

torch = pytest.importorskip("torch")

PAIRS = list(itertools.product(T.ALL, T.ALL))
FLOATS = [each for each in T.ALL if each.is_floating_point]


def twin(each):
    return getattr(torch, each.name)


def outcome(call, *args):
    try:
        return str(call(*args))
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)


@pytest.fixture(autouse=True)
def defaults():
    yield
    T.set_default_dtype(T.float32)
    torch.set_default_dtype(torch.float32)


def use_default(each):
    T.set_default_dtype(each)
    torch.set_default_dtype(twin(each))


@pytest.mark.parametrize("each", T.ALL, ids=str)
def test_facts(each):
    other = twin(each)
    for name in ("is_floating_point", "is_complex", "is_signed", "itemsize", "abbr"):
        assert getattr(each, name) == getattr(other, name)
    assert repr(each) == repr(other) and str(each) == str(other)
    for method in ("to_complex", "to_real"):
        assert outcome(getattr(each, method)) == outcome(getattr(other, method))


def test_aliases():
    assert {name: str(each) for name, each in T.ALIASES.items()} == {n: str(getattr(torch, n)) for n in T.ALIASES}


def test_promote_and_cast_every_pair():
    for a, b in PAIRS:
        assert outcome(T.promote_types, a, b) == outcome(torch.promote_types, twin(a), twin(b))
        assert T.can_cast(a, b) == torch.can_cast(twin(a), twin(b))


def test_numpy_agrees_about_size():
    for array_type, each in T.OF_NUMPY.items():
        assert array_type.itemsize == twin(each).itemsize
        if array_type.isbuiltin == 1:
            assert str(torch.from_numpy(np.zeros(1, array_type)).dtype) == str(each)


ordinary = [each for each in T.ALL if each not in (T.uint16, T.uint32, T.uint64, T.complex32)]
kinds = st.sampled_from(["dim", "zero", "scalar"])
numbers = {T.bool_: True, T.int64: 2, T.float32: 2.5, T.complex64: 1j}


@settings(max_examples=1500, deadline=None)
@given(
    st.tuples(st.sampled_from(ordinary), kinds),
    st.tuples(st.sampled_from(ordinary), kinds),
    st.sampled_from([T.float32, T.float64, T.float16, T.bfloat16]),
)
def test_result_type_of_two(a, b, default):
    use_default(default)
    mine, told = zip(*(operand(*each) for each in (a, b)))
    assert str(T.result_type(mine)) == str(torch.result_type(*told))


def operand(each, kind):
    if kind == "scalar":
        number = numbers[(T.bool_, T.int64, T.float32, T.complex64)[each.category]]
        return (T.scalar_dtype(number), "scalar"), number
    return (each, kind), torch.ones((1,) if kind == "dim" else (), dtype=twin(each))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ordinary), st.sampled_from(["dim", "zero"])), min_size=1, max_size=5))
def test_result_type_of_many(drawn):
    """torch.cat and torch.stack promote over a whole list, each over one kind."""
    mine, told = zip(*(operand(each, "dim") for each, _ in drawn))
    assert str(T.result_type(mine)) == str(torch.cat(told).dtype)
    mine, told = zip(*(operand(each, "zero") for each, _ in drawn))
    assert str(T.result_type(mine)) == str(torch.stack(told).dtype)


@pytest.mark.parametrize("each", T.ALL, ids=str)
def test_limits(each):
    for info in ("finfo", "iinfo"):
        mine, told = outcome(getattr(T, info), each), outcome(getattr(torch, info), twin(each))
        assert mine == told or mine[0] == told[0] == "TypeError"
    if each.category >= T.FLOAT:
        mine, told = T.finfo(each), torch.finfo(twin(each))
        for name in ("eps", "max", "min", "tiny", "smallest_normal", "resolution", "bits", "dtype"):
            assert getattr(mine, name) == getattr(told, name)
    elif each is not T.bool_:
        mine, told = T.iinfo(each), torch.iinfo(twin(each))
        assert (mine.bits, mine.max, mine.min, mine.dtype) == (told.bits, told.max, told.min, told.dtype)


@pytest.mark.parametrize("each", [*T.ALL, "float32", None], ids=str)
def test_set_default_dtype(each):
    other = twin(each) if isinstance(each, T.dtype) else each
    assert outcome(T.set_default_dtype, each) == outcome(torch.set_default_dtype, other)
    assert str(T.get_default_dtype()) == str(torch.get_default_dtype())


DEVICES = [
    ("cpu",), ("cuda:0",), ("cuda", 1), ("cuda",), ("cuda:1", 2), ("cuda", -1), ("cpu:0",), ("foo",), ("",),
    ("cuda:",), ("cuda:x",), ("cuda:-1",), ("cuda:01",), ("cuda:1:2",), ("meta",), ("mps",), ("cpu", None),
    ("cpu", "x"), ("CPU",), ("xpu:1",), (-1,),
]  # fmt: skip


@pytest.mark.parametrize("args", DEVICES, ids=repr)
def test_device(args):
    assert outcome(D.device, *args) == outcome(torch.device, *args)
    assert outcome(lambda: repr(D.device(*args))) == outcome(lambda: repr(torch.device(*args)))


@pytest.mark.parametrize("args", [(), (3.5,), (None,), (True,)], ids=repr)
def test_device_refuses(args):
    phrase = "device() received an invalid combination of arguments"
    for make in (D.device, torch.device):
        kind, text = outcome(make, *args)
        assert kind == "TypeError" and phrase in text


@pytest.mark.parametrize("each", [*T.FLOAT8, *T.NAMES.values()], ids=str)
def test_facts_of_short_types_and_names(each):
    other = twin(each)
    for name in ("is_floating_point", "is_complex", "itemsize", "abbr"):
        assert getattr(each, name) == getattr(other, name)
    assert outcome(lambda: each.is_signed)[:2] == outcome(lambda: other.is_signed)[:2]
    assert repr(each) == repr(other)
    if each in T.FLOAT8:
        mine, told = T.finfo(each), torch.finfo(other)
        for name in ("eps", "max", "min", "tiny", "smallest_normal", "resolution", "bits", "dtype"):
            assert getattr(mine, name) == getattr(told, name)
        for partner in T.ALL:
            assert outcome(T.promote_types, each, partner) == outcome(torch.promote_types, other, twin(partner))


@pytest.mark.parametrize("each", T.FLOAT8, ids=str)
def test_short_floats_round_as_pytorch(each):
    drawn = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    values = np.concatenate([drawn, np.array([0.0, -0.0, 448.0, 464.0, 480.0, 500.0, np.inf, -np.inf], np.float32)])
    values = values[~np.isnan(values)]
    mine = T.cast_array(values, each).view(np.uint8)
    assert (mine == torch.from_numpy(values).to(twin(each)).view(torch.uint8).numpy()).all()
    every = np.arange(256, dtype=np.uint8)
    back = torch.from_numpy(every).view(twin(each)).to(torch.float32).numpy()
    assert np.array_equal(every.view(each.numpy).astype(np.float32), back, equal_nan=True)
