"""Every draw gives PyTorch's numbers, bit for bit, and leaves the generator in PyTorch's state."""

import copy
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

from chainrule.backends.cpu import random as R

torch = pytest.importorskip("torch")

SIZES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 100, 1000)
SEEDS = (0, 42, 2**40 + 7)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TORCH = {
    name: getattr(torch, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED_AND_BYTE = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")


def numpy_dtype(name):
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def array(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(BFLOAT16)
    return tensor.numpy()


def tensor(values):
    if values.dtype == BFLOAT16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def bits(values):
    return values.reshape(-1).view(np.uint8)


def assert_same(ours, theirs, engine, generator):
    theirs = array(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.flags.c_contiguous
    different = np.flatnonzero(bits(ours) != bits(theirs)) // ours.dtype.itemsize
    assert different.size == 0, (different[:5], ours.ravel()[different[:5]], theirs.ravel()[different[:5]])
    assert np.array_equal(engine.get_state(), generator.get_state().numpy())


def pair(seed):
    return R.Engine(seed), torch.Generator().manual_seed(seed)


# draw: dtypes, ours(engine, shape, dtype), theirs(empty tensor, generator)
DRAWS = {
    "uniform": (FLOATS + COMPLEX, R.uniform, lambda t, g: t.uniform_(generator=g)),
    "uniform_from_to": (
        FLOATS + COMPLEX,
        lambda e, s, d: R.uniform(e, s, d, -0.3, 0.9),
        lambda t, g: t.uniform_(-0.3, 0.9, generator=g),
    ),
    "uniform_large": (
        FLOATS,
        lambda e, s, d: R.uniform(e, s, d, 100, 100.3),
        lambda t, g: t.uniform_(100, 100.3, generator=g),
    ),
    "normal": (FLOATS + COMPLEX, R.normal, lambda t, g: t.normal_(generator=g)),
    "normal_mean_std": (
        FLOATS + COMPLEX,
        lambda e, s, d: R.normal(e, s, d, 0.3, 0.7),
        lambda t, g: t.normal_(0.3, 0.7, generator=g),
    ),
    "normal_mean": (FLOATS, lambda e, s, d: R.normal(e, s, d, 5), lambda t, g: t.normal_(5, generator=g)),
    "normal_std": (
        FLOATS,
        lambda e, s, d: R.normal(e, s, d, 0, 3.3),
        lambda t, g: t.normal_(0, 3.3, generator=g),
    ),
    "normal_constant": (
        FLOATS,
        lambda e, s, d: R.normal(e, s, d, 2, 0),
        lambda t, g: t.normal_(2, 0, generator=g),
    ),
    "log_normal": (FLOATS, R.log_normal, lambda t, g: t.log_normal_(generator=g)),
    "log_normal_mean_std": (
        FLOATS,
        lambda e, s, d: R.log_normal(e, s, d, 0.2, 0.1),
        lambda t, g: t.log_normal_(0.2, 0.1, generator=g),
    ),
    "exponential": (FLOATS, R.exponential, lambda t, g: t.exponential_(generator=g)),
    "exponential_rate": (
        FLOATS,
        lambda e, s, d: R.exponential(e, s, d, 0.3),
        lambda t, g: t.exponential_(0.3, generator=g),
    ),
    "cauchy": (FLOATS, R.cauchy, lambda t, g: t.cauchy_(generator=g)),
    "cauchy_scaled": (
        FLOATS,
        lambda e, s, d: R.cauchy(e, s, d, 0.2, 3),
        lambda t, g: t.cauchy_(0.2, 3, generator=g),
    ),
    "geometric": (
        FLOATS + SIGNED_AND_BYTE,
        lambda e, s, d: R.geometric(e, s, d, 0.3),
        lambda t, g: t.geometric_(0.3, generator=g),
    ),
    "geometric_rare": (
        FLOATS + SIGNED_AND_BYTE,
        lambda e, s, d: R.geometric(e, s, d, 0.001),
        lambda t, g: t.geometric_(0.001, generator=g),
    ),
    "bernoulli": (
        FLOATS + SIGNED_AND_BYTE + ("bool",),
        lambda e, s, d: R.bernoulli(e, s, d, 0.3),
        lambda t, g: t.bernoulli_(0.3, generator=g),
    ),
    "bernoulli_never": (
        FLOATS,
        lambda e, s, d: R.bernoulli(e, s, d, 0),
        lambda t, g: t.bernoulli_(0, generator=g),
    ),
    "bernoulli_always": (
        FLOATS,
        lambda e, s, d: R.bernoulli(e, s, d, 1),
        lambda t, g: t.bernoulli_(1, generator=g),
    ),
    "random": (FLOATS + SIGNED_AND_BYTE + ("bool",), R.integers, lambda t, g: t.random_(generator=g)),
    "random_digit": (
        FLOATS + SIGNED_AND_BYTE + UNSIGNED,
        lambda e, s, d: R.integers(e, s, d, 0, 10),
        lambda t, g: t.random_(0, 10, generator=g),
    ),
    "random_coin": (
        ("bool", *FLOATS, *SIGNED_AND_BYTE),
        lambda e, s, d: R.integers(e, s, d, 0, 2),
        lambda t, g: t.random_(2, generator=g),
    ),
    "random_negative": (
        FLOATS + SIGNED_AND_BYTE[1:],
        lambda e, s, d: R.integers(e, s, d, -100, 27),
        lambda t, g: t.random_(-100, 27, generator=g),
    ),
    "random_below_2_28": (
        ("int32", "int64", "uint32", "uint64", "float64", "float32", "bfloat16"),
        lambda e, s, d: R.integers(e, s, d, 1, 2**28),
        lambda t, g: t.random_(1, 2**28, generator=g),
    ),
    "random_2_28": (
        ("int32", "int64", "uint32", "uint64", "float64", "float32", "bfloat16"),
        lambda e, s, d: R.integers(e, s, d, 0, 2**28),
        lambda t, g: t.random_(0, 2**28, generator=g),
    ),
    "random_wide": (
        ("int64", "float64", "float32", "bfloat16"),
        lambda e, s, d: R.integers(e, s, d, -(2**62), 2**62 + 12345),
        lambda t, g: t.random_(-(2**62), 2**62 + 12345, generator=g),
    ),
    "random_from": (
        FLOATS + SIGNED_AND_BYTE + ("bool",),
        lambda e, s, d: R.integers(e, s, d, 1 if d.kind == "b" else 5),
        lambda t, g: t.random_(1 if t.dtype == torch.bool else 5, None, generator=g),
    ),
    "random_64_bits": (
        ("int64", "float64", "float32", "bfloat16"),
        lambda e, s, d: R.integers(e, s, d, -(2**63)),
        lambda t, g: t.random_(-(2**63), None, generator=g),
    ),
    "random_rounding_bounds": (
        ("float16",),
        lambda e, s, d: R.integers(e, s, d, -65503, 65504),
        lambda t, g: t.random_(-65503, 65504, generator=g),
    ),
}
CASES = [(draw, dtype) for draw, (dtypes, _, _) in DRAWS.items() for dtype in dtypes]


@pytest.mark.parametrize(("draw", "dtype"), CASES, ids=map("-".join, CASES))
@pytest.mark.filterwarnings("ignore:.*out of bounds:UserWarning")
def test_draw(draw, dtype):
    _, ours, theirs = DRAWS[draw]
    for seed in SEEDS:
        engine, generator = pair(seed)
        for size in SIZES:
            got = ours(engine, (size,), numpy_dtype(dtype))
            assert_same(got, theirs(torch.empty(size, dtype=TORCH[dtype]), generator), engine, generator)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("draw", ["uniform", "normal", "normal_mean_std", "exponential", "bernoulli", "random_digit"])
def test_large_draw(draw, dtype):
    _, ours, theirs = DRAWS[draw]
    engine, generator = pair(5)
    size = 50_001
    assert_same(
        ours(engine, (3, size // 3), numpy_dtype(dtype)),
        theirs(torch.empty(3, size // 3, dtype=TORCH[dtype]), generator),
        engine,
        generator,
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_into_memory_that_is_not_contiguous(dtype):
    engine, generator = pair(1)
    for size in (4, 100):
        target = torch.empty(2 * size, dtype=TORCH[dtype])[::2].normal_(0.5, 2, generator=generator)
        got = R.normal(engine, (size,), numpy_dtype(dtype), 0.5, 2, contiguous=False)
        assert_same(got, target.contiguous(), engine, generator)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [3, 40])
def test_normal_with_arrays(dtype, size):
    engine, generator = pair(2)
    mean = R.uniform(engine, (size,), numpy_dtype(dtype))
    std = R.uniform(engine, (4, size), numpy_dtype(dtype))
    generator.set_state(torch.from_numpy(engine.get_state()))
    for m, s in ((mean, std), (mean, 0.7), (0.3, std), (mean, std[0])):
        theirs = torch.normal(*(tensor(x) if isinstance(x, np.ndarray) else x for x in (m, s)), generator=generator)
        assert_same(R.normal_each(engine, m, s), theirs, engine, generator)


@pytest.mark.parametrize("dtype", [*FLOATS, "uint8", "int8", "int16", "int32", "int64"])
def test_permutation(dtype):
    engine, generator = pair(3)
    for size in (0, 1, 2, 3, 10, 100, 127):
        theirs = torch.randperm(size, dtype=TORCH[dtype], generator=generator)
        assert_same(R.permutation(engine, size, numpy_dtype(dtype)), theirs, engine, generator)


@pytest.mark.parametrize("size", [255, 1000, 20_000])
def test_large_permutation(size):
    engine, generator = pair(size)
    assert_same(R.permutation(engine, size), torch.randperm(size, generator=generator), engine, generator)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_each(dtype):
    engine, generator = pair(4)
    for size in SIZES:
        p = R.uniform(engine, (size,), numpy_dtype(dtype))
        generator.set_state(torch.from_numpy(engine.get_state()))
        assert_same(R.bernoulli_each(engine, p), torch.bernoulli(tensor(p), generator=generator), engine, generator)
        theirs = torch.empty(size, dtype=torch.int32).bernoulli_(tensor(p), generator=generator)
        assert_same(R.bernoulli_each(engine, p, np.dtype(np.int32)), theirs, engine, generator)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.7])
def test_dropout(dtype, p):
    engine = R.Engine(9)
    torch.manual_seed(9)
    for size in SIZES[1:]:
        theirs = torch.nn.functional.dropout(torch.ones(size, dtype=TORCH[dtype]), p)
        assert_same(R.dropout_noise(engine, (size,), numpy_dtype(dtype), p), theirs, engine, torch.default_generator)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "count", "replacement"),
    [
        ((5,), 1, False),
        ((5,), 1, True),
        ((5,), 3, False),
        ((50,), 50, False),
        ((5,), 300, True),
        ((3, 7), 4, True),
        ((3, 7), 2, False),
        ((4, 1000), 1, False),
    ],
)
def test_multinomial(dtype, shape, count, replacement):
    engine, generator = pair(6)
    for _ in range(5):
        weights = R.uniform(engine, shape, numpy_dtype(dtype))
        generator.set_state(torch.from_numpy(engine.get_state()))
        twin = engine.clone()
        theirs = torch.multinomial(tensor(weights), count, replacement, generator=generator)
        if not replacement and count > 1 and weights.dtype.itemsize == 2:
            # Equal quotients are common in half types, and PyTorch's selection does not order them.
            race = weights / R.exponential(twin, shape, weights.dtype)
            ours = R.multinomial(engine, weights, count)
            assert np.array_equal(np.take_along_axis(race, ours, -1), np.take_along_axis(race, theirs.numpy(), -1))
            continue
        assert_same(R.multinomial(engine, weights, count, replacement), theirs, engine, generator)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [0.0, 0.5, 9.0, 30.0, 1000.0])
def test_poisson(dtype, scale):
    engine, generator = pair(7)
    rate = (R.uniform(engine, (300,), np.dtype(np.float64)) * scale).astype(np.float32).astype(numpy_dtype(dtype))
    generator.set_state(torch.from_numpy(engine.get_state()))
    assert_same(R.poisson(engine, rate), torch.poisson(tensor(rate), generator=generator), engine, generator)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 30.0])
def test_gamma_and_dirichlet(dtype, scale):
    engine, generator = pair(8)
    alpha = R.uniform(engine, (40, 5), np.dtype(dtype)) * np.dtype(dtype).type(scale)
    generator.set_state(torch.from_numpy(engine.get_state()))
    assert_same(R.gamma(engine, alpha), torch._standard_gamma(tensor(alpha), generator=generator), engine, generator)
    alpha += np.dtype(dtype).type(0.1)
    assert_same(
        R.dirichlet(engine, alpha),
        torch._sample_dirichlet(tensor(alpha), generator=generator),
        engine,
        generator,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("trials", [0, 5, 40, 1000])
def test_binomial(dtype, trials):
    engine, generator = pair(8)
    prob = R.uniform(engine, (200,), np.dtype(dtype))
    count = np.full(200, trials, dtype)
    generator.set_state(torch.from_numpy(engine.get_state()))
    theirs = torch.binomial(tensor(count), tensor(prob), generator=generator)
    assert_same(R.binomial(engine, count, prob), theirs, engine, generator)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**32 - 1, 2**32, 2**63 + 5, 2**64 - 1, -(2**63), R.DEFAULT_SEED])
def test_seed(seed):
    engine, generator = pair(0)
    engine.seed(seed)
    generator.manual_seed(seed)
    assert engine.initial_seed == generator.initial_seed()
    assert np.array_equal(engine.get_state(), generator.get_state().numpy())
    assert_same(engine.unit32(1300), torch.rand(1300, generator=generator), engine, generator)


def test_default_seed():
    assert np.array_equal(R.Engine().get_state(), torch.Generator().get_state().numpy())


@pytest.mark.parametrize("drawn", [0, 1, 3, 623, 624, 625, 5000])
def test_state_travels_both_ways(drawn):
    engine, generator = pair(11)
    torch.rand(drawn, generator=generator)
    torch.randn(3, generator=generator)
    engine.set_state(generator.get_state().numpy())
    twins = [engine, engine.clone(), copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))]
    theirs = torch.randn(7, generator=generator)
    for twin in twins:
        assert_same(R.normal(twin, (7,), np.dtype(np.float32)), theirs, twin, generator)


def test_state_with_an_odd_position_is_read_as_torch_reads_it():
    engine, generator = pair(12)
    state = engine.get_state()
    state[8:12].view(np.int32)[0] = 300  # left
    state[16:24].view(np.uint64)[0] = 10  # next
    engine.set_state(state)
    generator.set_state(torch.from_numpy(state))
    assert_same(engine.unit32(2000), torch.rand(2000, generator=generator), engine, generator)


def outcome(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return type(error), str(error).split("  (Could this")[0].split("\n")[0]


F32, I32 = np.dtype(np.float32), np.dtype(np.int32)
ALL_DTYPES = tuple(TORCH)
ERRORS = {
    **{f"dtype-{draw}": (ALL_DTYPES, ours, theirs) for draw, (_, ours, theirs) in DRAWS.items()},
    "from": (
        ALL_DTYPES,
        lambda e, s, d: R.integers(e, s, d, -1, 2**40),
        lambda t, g: t.random_(-1, 2**40, generator=g),
    ),
    "to": (
        ALL_DTYPES,
        lambda e, s, d: R.integers(e, s, d, 0, 2**40),
        lambda t, g: t.random_(0, 2**40, generator=g),
    ),
    "from-none": (
        ALL_DTYPES,
        lambda e, s, d: R.integers(e, s, d, 2**20),
        lambda t, g: t.random_(2**20, None, generator=g),
    ),
    "empty": (
        ALL_DTYPES,
        lambda e, s, d: R.integers(e, s, d, 3, 3),
        lambda t, g: t.random_(3, 3, generator=g),
    ),
    "uniform": (
        FLOATS,
        lambda e, s, d: R.uniform(e, s, d, 2, 1.5),
        lambda t, g: t.uniform_(2, 1.5, generator=g),
    ),
    "uniform-wide": (
        FLOATS,
        lambda e, s, d: R.uniform(e, s, d, -1e39, 1),
        lambda t, g: t.uniform_(-1e39, 1, generator=g),
    ),
    "uniform-span": (
        FLOATS,
        lambda e, s, d: R.uniform(e, s, d, -6e4, 6e4),
        lambda t, g: t.uniform_(-6e4, 6e4, generator=g),
    ),
    "normal": (
        ALL_DTYPES,
        lambda e, s, d: R.normal(e, s, d, 0, -1),
        lambda t, g: t.normal_(0, -1, generator=g),
    ),
    "bernoulli": (
        ALL_DTYPES,
        lambda e, s, d: R.bernoulli(e, s, d, 1.5),
        lambda t, g: t.bernoulli_(1.5, generator=g),
    ),
    "exponential": (
        ALL_DTYPES,
        lambda e, s, d: R.exponential(e, s, d, -1),
        lambda t, g: t.exponential_(-1, generator=g),
    ),
    "geometric": (
        ALL_DTYPES,
        lambda e, s, d: R.geometric(e, s, d, 1),
        lambda t, g: t.geometric_(1, generator=g),
    ),
    "log_normal": (
        ALL_DTYPES,
        lambda e, s, d: R.log_normal(e, s, d, 0, 0),
        lambda t, g: t.log_normal_(0, 0, generator=g),
    ),
    "cauchy": (
        ALL_DTYPES,
        lambda e, s, d: R.cauchy(e, s, d, 0, 0),
        lambda t, g: t.cauchy_(0, 0, generator=g),
    ),
    "permutation": (
        ALL_DTYPES,
        lambda e, s, d: R.permutation(e, 3000, d),
        lambda t, g: torch.randperm(3000, dtype=t.dtype, generator=g),
    ),
    "permutation-negative": (
        ALL_DTYPES,
        lambda e, s, d: R.permutation(e, -1, d),
        lambda t, g: torch.randperm(-1, dtype=t.dtype, generator=g),
    ),
    "gamma": (
        FLOATS,
        lambda e, s, d: R.gamma(e, np.ones(s, d)),
        lambda t, g: torch._standard_gamma(t.fill_(1), generator=g),
    ),
    "dirichlet": (
        FLOATS,
        lambda e, s, d: R.dirichlet(e, np.ones(s, d)),
        lambda t, g: torch._sample_dirichlet(t.fill_(1), generator=g),
    ),
    "poisson": (
        ALL_DTYPES,
        lambda e, s, d: R.poisson(e, np.ones(s, d)),
        lambda t, g: torch.poisson(t.fill_(1), generator=g),
    ),
    "binomial": (
        ALL_DTYPES,
        lambda e, s, d: R.binomial(e, np.ones(s, d), np.ones(s, d)),
        lambda t, g: torch.binomial(t.fill_(1), t.fill_(1), generator=g),
    ),
    "bernoulli-each": (
        ALL_DTYPES,
        lambda e, s, d: R.bernoulli_each(e, np.ones(s, d)),
        lambda t, g: torch.bernoulli(t.fill_(1), generator=g),
    ),
    "bernoulli-each-2": (
        FLOATS,
        lambda e, s, d: R.bernoulli_each(e, np.full(s, 2, d)),
        lambda t, g: torch.bernoulli(t.fill_(2), generator=g),
    ),
    "multinomial": (
        ALL_DTYPES,
        lambda e, s, d: R.multinomial(e, np.ones(s, d), 3),
        lambda t, g: t.fill_(1).multinomial(3, generator=g),
    ),
    **{
        f"multinomial-{count}-{replacement}-{fill}": (
            FLOATS,
            lambda e, s, d, n=count, r=replacement, f=fill: R.multinomial(e, np.full(s, f, d), n, r),
            lambda t, g, n=count, r=replacement, f=fill: t.fill_(f).multinomial(n, r, generator=g),
        )
        for count, replacement, fill in (
            (0, True, 1),
            (9, False, 1),
            (2, True, -1),
            (2, False, -1),
            (2, True, np.inf),
            (1, True, np.nan),
            (2, True, 0),
            (1, True, 0),
        )
    },
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("size", [0, 4])
def test_errors(case, size):
    dtypes, ours, theirs = ERRORS[case]
    for dtype in dtypes:
        engine, generator = pair(1)
        want = outcome(lambda: theirs(torch.empty(size, dtype=TORCH[dtype]), generator))
        got = outcome(lambda: ours(engine, (size,), numpy_dtype(dtype)))
        if isinstance(want, tuple):
            assert got == want, dtype
        else:
            assert_same(got, want, engine, generator)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, "a", True, None])
def test_bad_seed(seed):
    ours, theirs = (
        outcome(lambda: R.Engine().seed(seed)),
        outcome(lambda: torch.Generator().manual_seed(seed)),
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "state",
    [
        np.zeros(3, np.uint8),
        np.zeros(5056, np.float32),
        np.zeros(5056, np.uint8),
        np.zeros(10112, np.uint8)[::2],
    ],
)
def test_bad_state(state):
    theirs = outcome(lambda: torch.Generator().set_state(torch.from_numpy(state)))
    assert outcome(lambda: R.Engine().set_state(state)) == theirs
