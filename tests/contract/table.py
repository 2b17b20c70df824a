"""The registry as test parameters: every op with its cases, thinned where time is short."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import chainrule  # noqa: F401  (fills the registry)
from chainrule.core.op import REGISTRY, Op
from chainrule.testing.contract import Case, cases

FEW = 2

# Ops whose samples stand elsewhere or cannot be drawn, each with the reason.
POLYNOMIALS = [name for name in REGISTRY if name.startswith("special_") and "polynomial" in name]

RANDOM = (
    "bernoulli", "bernoulli_of", "binomial", "cauchy", "draw", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "normal_of", "poisson", "random", "uniform",
)  # fmt: skip
UNDRAWN: dict[str, str] = {
    "as_strided": "looks at memory, not at values: tests/oracle/test_views.py",
    "as_strided_scatter": "looks at memory, not at values: tests/oracle/test_views.py",
    "detach": "no result of its own: tests/ops/test_views.py",
    "floor_divide": "refuses to be differentiated: tests/oracle/test_elementwise.py",
    "heaviside": "refuses to be differentiated: tests/oracle/test_elementwise.py",
    "igamma": "refuses to be differentiated: tests/oracle/test_elementwise.py",
    "igammac": "refuses to be differentiated: tests/oracle/test_elementwise.py",
    "to_copy": "changes place and order, not values: tests/oracle/test_elementwise.py",
    **dict.fromkeys(RANDOM, "draws numbers: tests/oracle/test_random_api.py"),
    "empty_like": "gives what memory holds: tests/oracle/test_create.py",
    "full_like": "its value is a parameter, not an input: tests/oracle/test_create.py",
    "new_filled": "its input gives dtype and place only: tests/oracle/test_create.py",
    "nonzero": "the shape of its result depends on elements: tests/oracle/test_index.py",
    **dict.fromkeys(POLYNOMIALS, "refuses to be differentiated: tests/oracle/test_special.py"),
    "view_as_complex": "refuses a last axis that is not contiguous: tests/oracle/test_elementwise.py",
    "view_dtype": "reads bytes as another dtype: tests/ops/test_views.py",
}


# Samples whose gradient is meant to differ from the slope, each with the reason.
NOT_THE_SLOPE: dict[str, tuple[str, str]] = {
    "embedding": ("padding_idx", "the row of the padding gets no gradient"),
}


def all_cases(op: Op) -> list[Case]:
    odd, _ = NOT_THE_SLOPE.get(op.name, ("", ""))
    return [case for case in cases(op) if case.params.get(odd) in (None, op.defaults.get(odd))]


@cache
def few_cases(name: str) -> list[Case]:
    """The first case and one that the op's name picks."""
    found = all_cases(REGISTRY[name])
    if len(found) <= FEW:
        return found
    return [found[0], found[1 + zlib.crc32(name.encode()) % (len(found) - 1)]]


def sampled() -> list[str]:
    return sorted(name for name, op in REGISTRY.items() if op.samples is not None)


def first_failure(op: Op, some: list[Case], laws: Any) -> str | None:
    """The first law that does not hold, as text."""
    for case in some:
        for law in laws:
            try:
                law(case)
            except Exception as error:
                return f"{law.__name__}, {case.label}: {type(error).__name__}: {error}"
    return None
