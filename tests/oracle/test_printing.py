"""Every printed character against live PyTorch: dtypes, magnitudes, shapes, options and facts at random."""

import random
from math import inf, nan

import numpy as np
import pytest

from chainrule.core import printing

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
EXACT = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
SHAPES = [(), (1,), (3,), (7,), (40,), (2, 3), (1, 1), (3, 30), (2, 0), (0,), (0, 3), (2, 1, 4), (2, 2, 2, 3)]
LARGE = [(1001,), (50, 30), (6, 200), (7, 200), (2, 600), (600, 2), (9, 8, 20), (3, 5, 7, 11)]
SPECIAL = [0.0, -0.0, nan, inf, -inf, 5e-324, 1e-45, 6e-8, 1.0, -1.0, 1e8, 1e-4, 0.5]


@pytest.fixture(autouse=True)
def restored_options():
    ours, theirs = printing.get_printoptions(), torch._tensor_str.get_printoptions()
    yield
    printing.set_printoptions(**ours)
    torch.set_printoptions(**theirs)


def set_both(**options):
    printing.set_printoptions(**options)
    torch.set_printoptions(**options)


def both(tensor, **facts):
    """Our text and PyTorch's of one tensor."""
    name = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.detach()
    bits = plain.view(torch.int16).numpy() if name == "bfloat16" else None
    array = plain.numpy() if bits is None else bits.view(ml_dtypes.bfloat16)
    return printing.tensor_text(array, **facts), repr(tensor)


def check(tensor, **facts):
    ours, theirs = both(tensor, **facts)
    assert ours == theirs


def random_floats(draw, count):
    low = draw.choice([-12, -5, -4, -3, -1, 0, 0])
    high = draw.choice([0, 1, 2, 4, 8, 9, 12])
    sizes = 10.0 ** np.array([draw.uniform(low, high) for _ in range(count)])
    values = sizes * [draw.choice([-1, 1]) for _ in range(count)]
    if draw.random() < 0.3:
        values = np.rint(values)
    share = draw.choice([0, 0, 0.05, 0.3, 1])
    return [draw.choice(SPECIAL) if draw.random() < share else v for v in values]


def random_tensor(draw, dtype, shape):
    count = int(np.prod(shape))
    kind = getattr(torch, dtype)
    if dtype in EXACT:
        least, most = (0, 1) if dtype == "bool" else (torch.iinfo(kind).min, torch.iinfo(kind).max)
        top = 2 ** draw.choice([1, 4, 7, 15, 31, 64])
        values = [draw.randint(max(least, -top), min(most, top)) for _ in range(count)]
        return torch.tensor(values, dtype=kind).reshape(shape)
    if dtype in COMPLEX:
        parts = zip(random_floats(draw, count), random_floats(draw, count), strict=True)
        return torch.tensor([complex(*part) for part in parts], dtype=kind).reshape(shape)
    return torch.tensor(random_floats(draw, count), dtype=torch.float64).to(kind).reshape(shape)


def random_options(draw):
    options = {
        "precision": draw.choice([None, 0, 1, 2, 4, 8]),
        "threshold": draw.choice([None, 0, 5, 20, 1000, inf]),
        "edgeitems": draw.choice([None, 0, 1, 2, 3, 5]),
        "linewidth": draw.choice([None, 1, 20, 40, 79, 81, 120]),
        "profile": draw.choice([None, "default", "short", "full"]),
        "sci_mode": draw.choice([None, None, True, False]),
    }
    return {name: value for name, value in options.items() if value is not None and draw.random() < 0.5}


@pytest.mark.parametrize("dtype", FLOATS + EXACT + COMPLEX)
def test_random_values_with_default_options(dtype):
    draw = random.Random(dtype)
    for _ in range(500):
        check(random_tensor(draw, dtype, draw.choice(SHAPES)))


@pytest.mark.parametrize("dtype", FLOATS + EXACT + COMPLEX)
def test_random_values_with_random_options(dtype):
    draw = random.Random(dtype + "options")
    for _ in range(500):
        set_both(profile="default")
        set_both(**random_options(draw))
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        check(random_tensor(draw, dtype, draw.choice(SHAPES)))


@pytest.mark.parametrize("shape", LARGE)
def test_summaries(shape):
    draw = random.Random(str(shape))
    for dtype in ("float32", "bfloat16", "int64", "bool", "complex64"):
        tensor = random_tensor(draw, dtype, shape)
        for options in ({}, {"edgeitems": 0}, {"edgeitems": 1}, {"edgeitems": 5, "linewidth": 30}):
            set_both(profile="default", **options)
            check(tensor)
            check(tensor.transpose(0, -1))


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_the_dtype_is_named_unless_it_is_implied(default):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        for dtype in FLOATS + EXACT + COMPLEX:
            for shape in ((2,), (), (0,), (0, 2)):
                check(torch.ones(shape, dtype=getattr(torch, dtype)), default_dtype=default)
                meta = torch.ones(shape, dtype=getattr(torch, dtype), device="meta")
                facts = {"size": shape, "dtype_name": dtype, "default_dtype": default, "device": "meta"}
                assert printing.tensor_text(None, **facts) == repr(meta)
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_facts_of_the_graph_wrap_as_they_do_in_pytorch(dtype):
    for length in range(40):
        leaf = torch.arange(length).to(getattr(torch, dtype)).requires_grad_()
        check(leaf, requires_grad=True)
        check(leaf * 2, requires_grad=True, grad_fn="MulBackward0")
        check((leaf * 2).reshape(1, -1), requires_grad=True, grad_fn="ViewBackward0")


@pytest.mark.parametrize("shape", [(), (3,), (20,), (2, 3), (3, 30)])
def test_tangents(shape):
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        tangent = torch.full(shape, 0.25)
        dual = forward.make_dual(torch.ones(shape), tangent)
        assert printing.tensor_text(np.ones(shape, np.float32), tangent=f"{tangent}") == repr(dual)


def test_parameters_and_subclasses():
    array = np.ones(2, np.float32)

    class Child(torch.nn.Parameter):
        pass

    class Other(torch.Tensor):
        pass

    text = printing.tensor_text(array, requires_grad=True)
    assert printing.parameter_text(text) == repr(torch.nn.Parameter(torch.ones(2)))
    text = printing.tensor_text(array, prefix="Child(", requires_grad=True)
    assert printing.parameter_text(text, is_subclass=True) == repr(Child(torch.ones(2)))
    assert printing.tensor_text(array, prefix="Other(") == repr(torch.ones(2).as_subclass(Other))


def test_wrappers_of_transforms():
    seen = []

    def record(x):
        seen.append(repr(x))
        return x.sum()

    torch.func.vmap(torch.func.grad(record))(torch.ones(2, 3, 2))
    value = printing.tensor_text(np.ones((2, 3, 2), np.float32))
    assert seen == [printing.grad_tracking_text(2, printing.batched_text(1, 0, value))]


@pytest.mark.parametrize("spec", ["", ".2f", "10.3e", "g", ">12"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_format_of_a_scalar(spec, dtype):
    array = np.asarray(1.1, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    assert printing.format_scalar(array, spec) == format(torch.tensor(1.1, dtype=getattr(torch, dtype)), spec)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_eight_bit_floats(dtype):
    values = torch.tensor([0.5, -3.0, 448.0, 0.0]).to(getattr(torch, dtype))
    array = values.view(torch.uint8).numpy().view(getattr(ml_dtypes, dtype))
    assert printing.tensor_text(array) == repr(values)


BOUNDS = [[1.5, 1500.0], [1.5, 1500.5], [1e8, 1e5 + 0.5], [1e8 + 8], [1e-4], [9.9e-5], [2.0, 2e3]]


@pytest.mark.parametrize("values", BOUNDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_the_scientific_style(values, dtype):
    check(torch.tensor(values, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("threshold", [11, 12, 13])
def test_bound_of_the_summary(threshold):
    set_both(threshold=threshold, edgeitems=2)
    check(torch.arange(12))
    check(torch.arange(12).reshape(2, 6))
