"""Subscripts of every kind in any order, beside live PyTorch: what is read, what is written, who refuses first, in
which words, and what is warned of."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")

DTYPES = ["float32", "int64", "bool", "complex64", "float16", "uint8", "float64", "int32", "bfloat16"]
VALUES = [
    "2", "2.5", "True", "1j", "T.tensor(3)", "T.tensor(2.5)", "T.tensor([1.0, 2.0])", "T.ones(1, dtype=T.int64)",
    "np.float32(3)", "np.float64(3)", "np.int8(3)", "np.bool_(True)", "[1, 2]", "np.arange(2)", "'s'", "None",
    "T.tensor([[True], [False]])", "T.full((2, 1), 7, dtype=T.float64)", "T.zeros(0)", "float('nan')", "300", "-1",
    "1e60", "2**70", "T.ones(1, 1, 2)", "T.tensor(2 + 1j)",
]  # fmt: skip
ODD = [
    "1.5", "'a'", "np.float64(1)", "T.tensor(1.0)", "1j", "slice(None)", "[[0], [1]]", "np.bool_(True)", "[None]",
    "[slice(0, 1)]", "T.zeros(0, dtype=T.int64)", "[]", "()", "T.tensor([[0, 1], [1, 0]])", "[np.int64(0)]",
    "[T.tensor(0), T.tensor(1)]", "T.empty(0)",
]  # fmt: skip


def an_int(r, n):
    return r.randrange(-n - 2, n + 3) if r.random() < 0.15 else r.randrange(-n, n)


def a_list(r, n):
    if r.random() < 0.3:
        return str([r.random() < 0.5 for _ in range(r.choice([n, n, 2]))])
    return str([an_int(r, n) for _ in range(r.randrange(4))])


def a_slice(r, n):
    start, stop = (r.choice(["", "", str(r.randrange(-n - 2, n + 3))]) for _ in "ab")
    return f"{start}:{stop}{r.choice(['', '', ':2', ':3', ':1', r.choice([':-1', ':0', ':2'])])}"


def a_mask(r, shape, kind):
    return f"T.tensor(np.random.default_rng({r.randrange(99)}).integers(0, 2, {tuple(shape)}).astype({kind!r}))"


def part(r, n, shape):
    """One part of a subscript of an axis of size `n`; `shape` begins there."""
    i = an_int(r, n)
    return r.choice([
        lambda: str(i), lambda: str(i), lambda: a_slice(r, n), lambda: a_slice(r, n), lambda: a_slice(r, n),
        lambda: "None", lambda: "...", lambda: r.choice(["True", "False"]), lambda: f"T.tensor({i})",
        lambda: f"T.tensor({a_list(r, n)})", lambda: a_list(r, n),
        lambda: a_mask(r, shape[: r.randrange(1, 3)], "bool"),
        lambda: f"range({r.randrange(n + 1)})", lambda: f"np.int64({i})", lambda: f"np.array({a_list(r, n)})",
        lambda: a_mask(r, shape[:1], "uint8"),
        lambda: f"T.tensor({i}, dtype=T.{r.choice(['int32', 'int16', 'float32'])})",
        lambda: f"T.tensor([{i}, {an_int(r, n)}], dtype=T.{r.choice(['int32', 'int16', 'float32', 'int8'])})",
        lambda: f"T.tensor({r.choice(['True', 'False'])})", lambda: f"({i}, {an_int(r, n)})", lambda: r.choice(ODD),
    ])()  # fmt: skip


def case(seed):
    r = random.Random(seed)
    shape = [r.choice([2, 3, 4]) for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))]
    many = r.choice([1, 1, 1, 2, 2, 3, 4])
    key = ", ".join([part(r, shape[at] if at < len(shape) else 1, shape[at:] or [2]) for at in range(many)])
    value = f" = {r.choice(VALUES)}" if r.random() < 0.5 else ""
    return shape, r.choice(DTYPES), r.choice(["whole", "turned", "spread"]), f"x[{key}]{value}"


def build(T, shape, dtype, layout):
    values = np.random.default_rng(1).integers(0, 5, shape)
    kind = getattr(T, dtype)
    if layout == "turned" and len(shape) > 1:
        return T.tensor(np.ascontiguousarray(values.swapaxes(0, -1))).to(kind).transpose(0, -1)
    if layout == "spread" and shape:
        wide = T.zeros([2 * n for n in shape], dtype=kind)[tuple(slice(None, None, 2) for _ in shape)]
        return wide.copy_(T.tensor(values))
    return T.tensor(values).to(kind)


def outcome(T, shape, dtype, layout, text):
    x = build(T, shape, dtype, layout)
    names = {"T": T, "x": x, "np": np}
    try:
        if " = " in text:
            exec(text, names)
            return str(x.tolist()), x._version
        y = eval(text, names)
        place = (y.stride(), y.storage_offset()) if y.numel() else ()
        return tuple(y.shape), str(y.dtype).rpartition(".")[2], str(y.tolist()), place
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def run(T, *facts):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        T.set_warn_always(True)
        found = outcome(T, *facts)
        T.set_warn_always(False)
    return found, {str(w.message).split(" (Triggered")[0].split("\n")[0] for w in said}


@pytest.mark.parametrize("block", range(20))
def test_random_subscripts(block):
    for seed in range(block * 60, block * 60 + 60):
        facts = case(seed)
        mine, told = run(chainrule, *facts), run(torch, *facts)
        assert mine == told, (seed, facts)
