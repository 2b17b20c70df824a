"""Draws by rejection: how many uniform numbers they take depends on what is drawn, so they go element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .draws import DIGITS, F32, F64, Array, Floats64, cast, check_dtype, pairs, title
from .twister import Engine

__all__ = ["binomial", "dirichlet", "gamma", "poisson"]


def poisson(engine: Engine, rate: Array) -> Array:
    check_dtype("poisson_cpu", rate.dtype)
    counts = [_poisson_one(engine, value) for value in rate.astype(np.float64).ravel().tolist()]
    return cast(np.array(counts, np.int64), rate.dtype).reshape(rate.shape)


def _poisson_one(engine: Engine, rate: float) -> int:
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate >= 10:
        return _poisson_rejection(engine, rate)
    if rate == 0:
        return 0
    draw, bound = engine.next_unit64, math.exp(-rate)
    count, product = 0, draw()
    while product > bound:
        count += 1
        product *= draw()
    return count


def _poisson_rejection(engine: Engine, rate: float) -> int:
    """Hörmann's transformed rejection (1993)."""
    draw, log_rate = engine.next_unit64, math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draw() - 0.5, draw()
        distance = 0.5 - abs(u)
        if distance == 0:
            continue
        k = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        accepted = _log(v) + log_inverse_alpha - math.log(a / (distance * distance) + b)
        if accepted <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _log(x: float) -> float:
    return math.log(x) if x else -math.inf


def _normal_one(engine: Engine) -> float:
    kept = engine.next_double
    if kept is None:
        kept, engine.next_double = pairs(engine, 1).tolist()
    else:
        engine.next_double = None
    return kept


def gamma(engine: Engine, alpha: Array) -> Array:
    """Gamma numbers of scale 1, at least the smallest normal number of the dtype."""
    if alpha.dtype != F32 and alpha.dtype != F64:
        raise NotImplementedError(f"\"gamma_cpu\" not implemented for '{title(alpha.dtype)}'")
    values = [_gamma_one(engine, value) for value in alpha.ravel()]
    out: Array = np.array(values).astype(alpha.dtype)
    np.maximum(out, np.finfo(alpha.dtype).tiny, out=out)
    return out.reshape(alpha.shape)


def _gamma_one(engine: Engine, alpha: Any) -> float:
    """Marsaglia and Tsang (2000); `alpha` is a NumPy scalar, whose precision the first steps keep."""
    one, scale = type(alpha)(1), 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1 - engine.next_unit64(), float(one / alpha))
        alpha += one
    d = float(alpha - type(alpha)(np.float32(1) / np.float32(3)))
    return scale * d * _gamma_cube(engine, d)


_SQUEEZE = float(np.float32(0.0331))


def _gamma_cube(engine: Engine, d: float) -> float:
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while True:
        x = _normal_one(engine)
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - engine.next_unit64()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return v


def dirichlet(engine: Engine, alpha: Array) -> Array:
    """Points of the simplex along the last axis."""
    if alpha.dtype != F32 and alpha.dtype != F64:
        raise NotImplementedError(f"\"dirichlet\" not implemented for '{title(alpha.dtype)}'")
    parts = gamma(engine, alpha.astype(np.float64))
    parts /= _sums(parts)[..., None]
    one = alpha.dtype.type(1)
    out: Array = parts.astype(alpha.dtype)
    return np.clip(out, np.finfo(alpha.dtype).tiny, np.nextafter(one, one - one), out=out)


def _sums(x: Floats64) -> Floats64:
    """Sums along the last axis in the order of PyTorch's kernel: vectors of four in four strips.

    Doubt: beyond 256 numbers the kernel cascades, and the last bit may differ.
    """
    lead, vectors, rounds = x.shape[:-1], x.shape[-1] // 4, x.shape[-1] // 16
    lanes = x[..., : vectors * 4].reshape(lead + (vectors, 4))
    strips = lanes[..., : rounds * 4, :].reshape(lead + (rounds, 4, 4)).sum(-3)
    for i in range(rounds * 4, vectors):
        strips[..., 0, :] += lanes[..., i, :]
    total = np.zeros(lead)
    for i in range(vectors * 4, x.shape[-1]):
        total += x[..., i]
    packed = strips[..., 0, :] + strips[..., 1, :] + strips[..., 2, :] + strips[..., 3, :]
    for i in range(4):
        total += packed[..., i]
    return total


def binomial(engine: Engine, count: Array, prob: Array) -> Array:
    """How many of `count` trials succeed, `prob` each."""
    for label, array in (("count", count), ("prob", prob)):
        if array.dtype.char not in DIGITS:
            raise ValueError(f"binomial only supports floating-point dtypes for {label}, got: {title(array.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {title(prob.dtype)} but expected {title(count.dtype)}")
    if count.dtype.itemsize == 2:
        raise NotImplementedError(f"\"binomial_cpu\" not implemented for '{title(count.dtype)}'")
    count, prob = np.broadcast_arrays(count, prob)
    values = [_binomial_one(engine, n, p) for n, p in zip(count.ravel(), prob.ravel())]
    return np.array(values, count.dtype).reshape(count.shape)


def _binomial_one(engine: Engine, n: Any, p: Any) -> float:
    if n <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return float(n)
    if p > 0.5:
        return float(n - type(n)(_successes(engine, n, type(p)(1.0 - float(p)))))
    return _successes(engine, n, p) if p <= 0.5 else math.nan


def _successes(engine: Engine, n: Any, p: Any) -> float:
    """For p of at most a half. `n` and `p` are NumPy scalars, whose precision their product keeps."""
    return _binomial_rejection(engine, n, p) if n * p >= 10 else _binomial_inversion(engine, n, p)


def _binomial_inversion(engine: Engine, n: Any, p: Any) -> float:
    log_failure = float(np.log1p(-p)) if p.dtype == F32 else math.log1p(-p)
    spent, successes = 0.0, 0
    while True:
        spent += np.ceil(_log(engine.next_unit64()) / log_failure)
        if spent > n:
            return float(successes)
        successes += 1


_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _binomial_rejection(engine: Engine, n: Any, p: Any) -> float:
    """Hörmann's transformed rejection with a squeeze (1993)."""
    draw, one = engine.next_unit64, type(n)(1)
    deviation = float(np.sqrt(n * p * (one - p)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    centre = float(n * p) + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = float(p / (one - p))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((n + one) * p))
    trials = float(n)
    while True:
        u, v = draw() - 0.5, draw()
        distance = 0.5 - abs(u)
        if distance == 0:
            continue
        k = float(math.floor((2 * a / distance + b) * u + centre))
        if k < 0 or k > trials:
            continue
        if distance >= 0.07 and v <= squeeze:
            return k
        if _log(v * alpha / (a / (distance * distance) + b)) <= _binomial_bound(trials, k, mode, odds):
            return k


def _binomial_bound(n: float, k: float, mode: float, odds: float) -> float:
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
        + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
        + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
        + _stirling_tail(mode)
        + _stirling_tail(n - mode)
        - _stirling_tail(k)
        - _stirling_tail(n - k)
    )
