"""Kernels of machine code compute NumPy's bits, or hand the call to NumPy; they own and lose no references."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

machine = pytest.importorskip("chainrule.backends.cpu.machine")

A, B, C = (("x", i) for i in range(3))
FORMULAS = {
    "kept": (("keep", A, ("not_equal", B, 0)), 2, lambda a, b: np.where(b != 0, a, a.dtype.type(0))),
    "chosen": (("choose", ("greater", A, B), A, ("multiply", B, 2)), 2, lambda a, b: np.where(a > b, a, b * 2)),
    "a + b": (("add", A, B), 2, lambda a, b: a + b),
    "a * b": (("multiply", A, B), 2, lambda a, b: a * b),
    "a / b": (("true_divide", A, B), 2, lambda a, b: a / b),
    "-a": (("negative", A), 1, lambda a: -a),
    "a - 2.5": (("subtract", A, 2.5), 1, lambda a: a - 2.5),
    "a * (b * (1 - b))": (("multiply", A, ("multiply", B, ("subtract", 1, B))), 2, lambda a, b: a * (b * (1 - b))),
    "(a + b) / c": (("true_divide", ("add", A, B), C), 3, lambda a, b, c: (a + b) / c),
}
# How an operand may lie, given the shape of the result.
LAYOUTS = ("full", "columns", "steps", "turned", "row", "element", "backwards", "stretched", "integers", "one row")


def laid_out(how: str, shape: tuple[int, ...], dtype: type, rng: np.random.Generator) -> np.ndarray:
    def some(*sizes: int) -> np.ndarray:
        return np.asarray(rng.normal(size=sizes)).astype(dtype)

    last = shape[-1:] or (1,)
    if how == "columns":
        return some(*shape[:-1], last[0] + 5)[..., 2 : 2 + last[0]].reshape(shape)
    if how == "steps":
        return some(*shape[:-1], 2 * last[0])[..., ::2].reshape(shape)
    if how == "turned":
        return some(*shape[::-1]).T
    if how == "row":
        return some(*last)
    if how == "element":
        return some()
    if how == "backwards":
        return some(*shape)[::-1] if shape else some()
    if how == "stretched":
        return np.broadcast_to(some(*shape[:-1], 1) if shape else some(), shape)
    if how == "integers":
        return np.asarray(some(*shape) * 9).astype(np.int64)
    if how == "one row":
        return some(1, *last)
    return some(*shape)


def same(got: object, want: object) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()
    if want.size > 1:
        assert got.flags.c_contiguous == want.flags.c_contiguous


@given(st.data())
@pytest.mark.parametrize("name", FORMULAS)
def test_a_kernel_computes_what_numpy_computes(name: str, data: st.DataObject) -> None:
    formula, arity, plain = FORMULAS[name]
    shape = tuple(data.draw(st.lists(st.sampled_from((1, 2, 3, 7, 16, 17, 40, 0)), max_size=3)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtypes = data.draw(st.sampled_from(((np.float32,) * 3, (np.float64,) * 3, (np.float32, np.float64, np.float32))))
    ways = [data.draw(st.sampled_from(LAYOUTS)) for _ in range(arity)]
    operands = [laid_out(how, shape, dtype, rng) for how, dtype in zip(ways, dtypes)]
    with np.errstate(all="ignore"):
        same(machine.kernel(formula, arity)(*operands), plain(*operands))


def test_infinities_and_nothing() -> None:
    add, divide = machine.kernel(("add", A, B), 2), machine.kernel(("true_divide", A, B), 2)
    odd = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e38, 1e-45], np.float32)
    with np.errstate(all="ignore"):
        for a in odd:
            one = np.array(a)
            same(np.isnan(add(odd, one)), np.isnan(odd + one))
            same(np.nan_to_num(add(odd, one)), np.nan_to_num(odd + one))
            same(np.signbit(divide(odd, one)[3:]), np.signbit((odd / one)[3:]))


def test_large_arrays_are_numpys() -> None:
    big = np.ones(1 << 17, np.float32)
    same(machine.kernel(("add", A, B), 2)(big, big), big + big)


def test_a_scalar_result_is_an_array() -> None:
    two = np.array(2.0)
    assert machine.kernel(("multiply", A, B), 2)(two, two).__class__ is np.ndarray


def test_refusals_are_numpys() -> None:
    add = machine.kernel(("add", A, B), 2)
    with pytest.raises(ValueError, match="could not be broadcast"):
        add(np.ones(2, np.float32), np.ones(3, np.float32))
    with pytest.raises(TypeError):
        add(np.ones(2, np.float32))
    assert add(1, 2.5) == 3.5


def test_a_sum_into_its_first_operand() -> None:
    for shape in ((8, 32), (), (3,), (2, 3, 5)):
        for other in (np.ones(shape, np.float32), np.array(2, np.float32), np.ones(shape[-1:], np.float32)):
            mine = np.full(shape, 0.5, np.float32)
            want = mine + other
            assert machine.add_into(mine, other) is mine
            same(mine, want)
    fixed = np.ones(3, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        machine.add_into(fixed, fixed)
    with pytest.raises(ValueError, match="broadcast"):
        machine.add_into(np.ones(3, np.float32), np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="broadcast"):
        machine.add_into(np.ones((), np.float32), np.ones(1, np.float32))


def test_references_are_neither_kept_nor_lost() -> None:
    kernel, wide = machine.kernel(("add", A, B), 2), np.ones((4, 9), np.float32)
    operands = wide[:, :3], np.ones((4, 3), np.float32), np.ones(3, np.float32), np.ones((4, 3)), wide.T
    watched = [*operands, np.dtype(np.float32), np.dtype(np.float64)]
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(100):
        kernel(operands[0], operands[1])
        kernel(operands[1], operands[2])
        kernel(operands[3], operands[3])
        kernel(operands[4], operands[4])
        machine.add_into(operands[1], operands[0])
    assert [sys.getrefcount(x) for x in watched] == before
