"""Golden numbers of PyTorch 2.13, and laws that need no reference."""

import hashlib
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from chainrule.backends.cpu import boxmuller
from chainrule.backends.cpu import random as R

F16, F32, F64, I64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64, np.int64))
BF16 = np.dtype(ml_dtypes.bfloat16)

EXACT = {
    "uniform": (
        lambda e: R.uniform(e, (4,), F32),
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688],
    ),
    "uniform float64": (lambda e: R.uniform(e, (2,), F64), [0.9700530018065531, 0.707819864399788]),
    "uniform float16": (lambda e: R.uniform(e, (3,), F16), [0.496337890625, 0.76806640625, 0.0885009765625]),
    "integers": (lambda e: R.integers(e, (8,), I64, 0, 10), [4, 9, 3, 0, 3, 9, 7, 3]),
    "wide integers": (lambda e: R.integers(e, (2,), I64, -(2**40), 2**40), [-358231004625, -593374360384]),
    "permutation": (lambda e: R.permutation(e, 10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
    "long permutation": (lambda e: R.permutation(e, 300)[:6], [44, 120, 71, 270, 111, 139]),
    "bernoulli": (lambda e: R.bernoulli(e, (12,), F32, 0.3), [0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1]),
    "bernoulli each": (
        lambda e: R.bernoulli_each(e, np.full(12, 0.3, F32)),
        [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    ),
    "multinomial": (lambda e: R.multinomial(e, np.arange(1, 5, dtype=F32), 6, True), [3, 3, 2, 3, 3, 3]),
    "multinomial without": (lambda e: R.multinomial(e, np.arange(1, 5, dtype=F32), 3), [2, 1, 3]),
    "poisson": (lambda e: R.poisson(e, np.array([0.5, 3, 20, 200], F32)), [2, 4, 21, 198]),
    "geometric": (lambda e: R.geometric(e, (6,), F32, 0.3), [1, 1, 3, 1, 2, 1]),
    "binomial": (
        lambda e: R.binomial(e, np.array([10, 100, 1000], F32), np.array([0.2, 0.5, 0.9], F32)),
        [5, 45, 898],
    ),
}
# Through the C library's functions, whose last bit is the machine's.
CLOSE = {
    "normal": (
        lambda e: R.normal(e, (4,), F32),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991],
    ),
    "normal blocks": (
        lambda e: R.normal(e, (17,), F32)[[0, 1, 2, 14, 15, 16]],
        [
            -1.1258398294448853,
            -1.6959311962127686,
            0.5666506290435791,
            0.946298360824585,
            -0.843676745891571,
            0.9318265914916992,
        ],
    ),
    "exponential": (
        lambda e: R.exponential(e, (3,), F32),
        [3.508326292037964, 1.2303847074508667, 0.615044116973877],
    ),
    "cauchy": (
        lambda e: R.cauchy(e, (3,), F32),
        [10.597729682922363, 0.7647672891616821, -0.12829934060573578],
    ),
    "gamma": (
        lambda e: R.gamma(e, np.array([0.5, 3, 20], F32)),
        [0.0007893581641837955, 1.2728434801101685, 20.386518478393555],
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_golden(name):
    draw, want = EXACT[name]
    assert draw(R.Engine(0)).tolist() == want


@pytest.mark.parametrize("name", CLOSE)
def test_golden_to_the_last_bit_but_one(name):
    draw, want = CLOSE[name]
    np.testing.assert_allclose(draw(R.Engine(0)), want, rtol=3e-7)


def test_golden_state():
    engine = R.Engine(7)
    R.uniform(engine, (1000,), F32)
    R.normal(engine, (3,), F32)
    state = engine.get_state()
    state[5024:5032] = 0  # the kept normal number: its last bit is the machine's
    want = "e51eb735c679faa0a0a4b12dcc96fbf9c41b0cca812f1d17d3c057b14ca3ced9"
    assert state.shape == (R.STATE_BYTES,) and hashlib.sha256(state.tobytes()).hexdigest() == want


@pytest.mark.parametrize("parts", [(1, 1, 1), (0, 623, 1, 1), (624, 624), (5, 20_000, 3, 700), (10_000, 5_000)])
def test_a_stream_does_not_depend_on_how_it_is_cut(parts):
    cut, whole = R.Engine(3), R.Engine(3)
    pieces = [cut.random32(part) for part in parts]
    assert np.array_equal(np.concatenate(pieces), whole.random32(sum(parts)))
    assert np.array_equal(cut.get_state(), whole.get_state())
    assert cut.next32() == int(whole.random32(1)[0])


def test_units_are_the_words():
    words, units = R.Engine(4), R.Engine(4)
    assert np.array_equal(units.unit32(700), (words.random32(700) % 2**24) * np.float32(2**-24))
    assert np.array_equal(units.unit64(700), (words.random64(700) % np.uint64(2**53)) * 2.0**-53)
    assert units.next_unit64() == int(words.random64(1)[0]) % 2**53 * 2.0**-53


def test_what_is_drawn_does_not_change_the_block():
    engine, untouched = R.Engine(4), R.Engine(4)
    engine.random32(10)[...] = 0
    engine.unit32(10)[...] = 0
    untouched.random32(20)
    assert np.array_equal(engine.random32(600), untouched.random32(600))


@pytest.mark.parametrize("drawn", [0, 1, 624, 1000])
def test_a_clone_goes_its_own_way(drawn):
    engine = R.Engine(5)
    engine.random32(drawn)
    R.normal(engine, (3,), F64)
    twin = engine.clone()
    assert np.array_equal(twin.get_state(), engine.get_state()) and twin.initial_seed == 5
    want = R.normal(engine, (9,), F64)
    assert np.array_equal(R.normal(twin, (9,), F64), want)


def test_seeding_forgets_everything():
    engine, fresh = R.Engine(5), R.Engine(6)
    R.normal(engine, (3,), F64)
    engine.seed(6)
    assert np.array_equal(engine.get_state(), fresh.get_state())
    assert 0 <= R.fresh_seed() < 2**64 and R.fresh_seed() != R.fresh_seed()


@pytest.mark.parametrize("n", [2, 3, 17, 256, 1000])
def test_exchanging_at_once_is_exchanging_one_by_one(n):
    for seed in range(5):
        partners = np.array([np.random.default_rng(seed + i).integers(i, n) for i in range(n - 1)])
        assert np.array_equal(R._swapped_at_once(partners, n), R._swapped(partners, n))
    assert np.array_equal(R._swapped_at_once(np.arange(n - 1), n), np.arange(n))
    assert np.array_equal(R._swapped_at_once(np.full(n - 1, n - 1), n), R._swapped(np.full(n - 1, n - 1), n))


@pytest.mark.parametrize("dtype", [I64, F32])
def test_the_permutation_for_huge_numbers_is_one(dtype):
    order = R._inside_out(R.Engine(1), 40_000, dtype)
    assert order.dtype == dtype and np.array_equal(np.sort(order), np.arange(40_000))


def test_fused_rounds_once():
    a = np.random.default_rng(0).normal(size=2000)
    for b in (0.7, -1e-3, 1e9):
        for c in (0.3, 1e-17, -1e17, float(-a[5] * b)):
            want = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
            assert boxmuller.fused(a, b, c).tolist() == want


def test_a_zero_has_a_log():
    assert boxmuller.libm_log(np.array([0.0, 1.0])).tolist() == [-math.inf, 0.0]


# draw of many numbers, its mean and its standard deviation
MOMENTS = {
    "uniform": (lambda e, n, d: R.uniform(e, n, d, -1, 3), 1, 4 / math.sqrt(12)),
    "normal": (lambda e, n, d: R.normal(e, n, d, 2, 3), 2, 3),
    "normal one by one": (lambda e, n, d: R.normal(e, n, d, 2, 3, contiguous=False), 2, 3),
    "exponential": (lambda e, n, d: R.exponential(e, n, d, 2), 0.5, 0.5),
    "bernoulli": (lambda e, n, d: R.bernoulli(e, n, d, 0.3), 0.3, math.sqrt(0.21)),
    "dropout": (lambda e, n, d: R.dropout_noise(e, n, d, 0.2), 1, 0.5),
    "geometric": (lambda e, n, d: R.geometric(e, n, d, 0.5), 2, math.sqrt(2)),
    "log normal": (lambda e, n, d: R.log_normal(e, n, d, 0, 0.25), math.exp(1 / 32), 0.2620),
    "poisson": (lambda e, n, d: R.poisson(e, np.full(n, 3).astype(d)), 3, math.sqrt(3)),
    "large poisson": (lambda e, n, d: R.poisson(e, np.full(n, 64).astype(d)), 64, 8),
    "integers": (lambda e, n, d: R.integers(e, n, d, 0, 100), 49.5, 28.866),
}


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name, dtype):
    draw, mean, deviation = MOMENTS[name]
    values = draw(R.Engine(2), (50, 200), dtype)
    assert values.shape == (50, 200) and values.dtype == dtype and values.flags.c_contiguous
    values = values.astype(F64)
    assert abs(values.mean() - mean) < 0.05 * deviation
    assert abs(values.std() - deviation) < 0.04 * deviation


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_have_unit_variance(dtype):
    values = R.normal(R.Engine(2), (10_000,), np.dtype(dtype))
    assert values.dtype == dtype and abs((values * values.conj()).real.mean() - 1) < 0.03


def test_points_of_the_simplex():
    points = R.dirichlet(R.Engine(1), np.full((500, 3), 2.0))
    np.testing.assert_allclose(points.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(points.mean(0), 1 / 3, atol=0.03)
    assert R.dirichlet(R.Engine(1), np.ones((2, 1))).max() < 1


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64], ids=str)
def test_uniform_never_reaches_its_end(dtype):
    values = R.uniform(R.Engine(0), (50_000,), dtype, 1, 1.01)
    assert (values < np.array(1.01).astype(dtype)).all() and (values >= 1).all()


def test_a_range_beyond_the_consecutive_integers_warns():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        R.integers(R.Engine(), (2,), F32, 0, 2**30)


ERRORS = {
    "normal expects std >= 0.0, but found std -1": lambda e: R.normal(e, (3,), F32, 0, -1),
    "random_ expects 'from' to be less than 'to'": lambda e: R.integers(e, (3,), I64, 5, 5),
    "to - 1 is out of bounds for unsigned char": lambda e: R.integers(e, (3,), np.dtype(np.uint8), 0, 300),
    "bernoulli_ expects p to be in": lambda e: R.bernoulli(e, (3,), F32, 1.5),
    "exponential_ expects lambda > 0.0": lambda e: R.exponential(e, (3,), F32, 0),
    "cannot sample n_sample > prob_dist": lambda e: R.multinomial(e, np.ones(2), 3),
    "invalid multinomial distribution": lambda e: R.multinomial(e, np.zeros(2), 1),
    "invalid Poisson rate": lambda e: R.poisson(e, np.array([-1.0])),
}


@pytest.mark.parametrize("phrase", ERRORS)
def test_errors(phrase):
    with pytest.raises(RuntimeError) as caught:
        ERRORS[phrase](R.Engine())
    assert phrase in str(caught.value)


def test_no_kernel():
    with pytest.raises(NotImplementedError, match="\"normal_kernel_cpu\" not implemented for 'Int'"):
        R.normal(R.Engine(), (3,), np.dtype(np.int32))
