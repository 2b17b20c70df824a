"""The registry as test parameters: every op with its cases, thinned where time is short."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import chainrule  # noqa: F401  (fills the registry)
from chainrule.core.op import REGISTRY, Op
from chainrule.testing.contract import Case, cases

FEW = 2

# Ops whose samples cannot be drawn, each with the reason and the test that stands in.
RANDOM = (
    "_sample_dirichlet", "_standard_gamma", "bernoulli", "bernoulli_of", "binomial", "cauchy", "draw", "draw_like",
    "exponential", "geometric", "log_normal", "multinomial", "normal", "normal_of", "poisson", "random", "uniform",
)  # fmt: skip
SPARSE = (
    "coalesce", "sparse_coo", "sparse_mask", "sparse_mm", "sparse_sum", "sparse_to_dense", "sparse_values",
    "sparse_values_at", "to_sparse",
)  # fmt: skip
UNDRAWN: dict[str, str] = {
    "_ctc_loss": "its rule counts on the log-softmax before it, so that it is no slope: tests/oracle/test_nn_ops.py",
    "as_strided": "looks at memory, so that another layout gives other values: tests/oracle/test_views.py",
    "as_strided_scatter": "looks at memory, so that another layout gives other values: tests/oracle/test_views.py",
    "empty_like": "gives what memory holds: tests/oracle/test_create.py",
    **dict.fromkeys(SPARSE, "its input or its result is sparse, which the laws do not move: tests/ops/test_sparse.py"),
    **dict.fromkeys(RANDOM, "draws numbers, other ones at every run: tests/oracle/test_random.py"),
}

# Laws that do not hold for an op, each with the reason.
PHASES = "complex eigenvectors are free in phase, so that their elements have no slope: tests/oracle/test_linalg.py"
EXEMPT: dict[tuple[str, str], str] = {
    ("linalg_eig", "holds_for_complex"): PHASES,
    ("linalg_eigh", "holds_for_complex"): PHASES,
    ("linalg_svd", "holds_for_complex"): PHASES,
}


# Samples whose gradient is meant to differ from the slope, each with the reason.
NOT_THE_SLOPE: dict[str, tuple[str, str]] = {
    "embedding": ("padding_idx", "the row of the padding gets no gradient"),
}

# Ops that vmap takes example by example, each with the reason.
UNALIKE = "how many there are, or how long, is a matter of the numbers of each example"
BY_PAIRS = "a loss of few programs, whose formula counts the examples"
PER_TABLE = "how often a row is named is counted for each table"
IN_MEMORY = "where elements lie is said for one example's memory"
LOOPED: dict[str, str] = {
    "_ctc_loss_backward": UNALIKE, "_int_mm": "for two matrices alone", "_pdist": BY_PAIRS, "bincount": UNALIKE,
    "embedding_again": PER_TABLE, "embedding_sum": PER_TABLE, "histc": UNALIKE,
    "histogramdd_from_bin_tensors": UNALIKE, "multi_margin_loss": BY_PAIRS, "multilabel_margin_loss": BY_PAIRS,
    "strided_place": IN_MEMORY, "strided_take": IN_MEMORY,
}  # fmt: skip


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


def laws_of(op: Op, laws: Any) -> list[Any]:
    """The laws that hold for an op."""
    return [law for law in laws if (op.name, law.__name__) not in EXEMPT]


def sampled() -> list[str]:
    return sorted(name for name, op in REGISTRY.items() if op.samples is not None)


def first_failure(op: Op, some: list[Case], laws: Any) -> str | None:
    """The first law that does not hold, as text."""
    for case in some:
        for law in laws_of(op, laws):
            try:
                law(case)
            except Exception as error:
                return f"{law.__name__}, {case.label}: {type(error).__name__}: {error}"
    return None
