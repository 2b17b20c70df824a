"""A = L D L^T of symmetric matrices: `linalg.ldl_factor`, `linalg.ldl_solve`. Without derivatives, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends.meta import is_meta
from chainrule.core.dtype import NARROW, OF_NUMPY
from chainrule.core.family import front, general, spread
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.along import SAME_OUT
from chainrule.ops.arithmetic import no_derivative
from chainrule.ops.linalg_basics import named, regular, require_square, run, spell_op, squares, whole_batch
from chainrule.ops.linalg_factor import solution_shape
from chainrule.ops.writing import into

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]


def _check_factor(name: str, A: Any) -> None:
    require_square(name, A)
    found = OF_NUMPY[A.dtype]
    if found.category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {found.title}")
    if A.dtype in NARROW:
        raise NotImplementedError(f"\"ldl_factor_kernel_cpu\" not implemented for '{found.title}'")


@general(
    name="linalg_ldl_factor_ex", exact=SAME_OUT, spelled="", outs=("LD", "pivots", "info"), node={"": "NotImplemented"},
    vmap=whole_batch("linalg_ldl_factor_ex"), samples=samples(regular, squares, hermitian=[False, True]),
)  # fmt: skip
def ldl_factor_ex(xp: Any, input: Array, *, hermitian: bool = False, check_errors: bool = False) -> Array:
    """L and D of A = L D L^T in one matrix, the row swaps, and per matrix an int32 that is not 0 if D is singular."""
    name = "torch.linalg.ldl_factor_ex"
    _check_factor(name, input)
    packed, pivots, info = run(xp.ldl.factor, input, hermitian)
    if check_errors and not is_meta(info):
        _check_info(name, info)
    return packed, pivots, info


def _check_info(name: str, info: Any) -> None:
    failed = np.flatnonzero(info)
    if failed.size:
        where = f"(Batch element {failed[0]}): " if info.ndim else ""
        raise RuntimeError(f"{name}: {where}block {info.reshape(-1)[failed[0]]} of D is zero, so that A is singular.")


ldl_factor_ex.vjp(input=no_derivative("linalg_ldl_factor_ex"))
spell_op(ldl_factor_ex, "ldl_factor_ex")


@composite(spelled="l")
def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """L and D of A = L D L^T (or, if Hermitian, L D L^H) in one matrix, and the row swaps."""
    packed, pivots, _ = ldl_factor_ex.public(A, hermitian=hermitian, check_errors=True)
    return into(
        "linalg_ldl_factor", named("linalg_ldl_factor", ("LD", "pivots"), (packed, pivots)), out, (A,), SAME_OUT
    )


def _check_solve(LD: Any, pivots: Any, B: Any) -> None:
    name = "torch.linalg.ldl_solve"
    require_square(name, LD)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if B.shape[-2] != LD.shape[-1]:
        a, b = (f"{x.shape[-2]} by {x.shape[-1]}" for x in (LD, B))
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {a} but each b matrix is {b}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if OF_NUMPY[pivots.dtype].category != 1:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {OF_NUMPY[pivots.dtype].title}")
    if B.dtype != LD.dtype:
        b, a = OF_NUMPY[B.dtype].title, OF_NUMPY[LD.dtype].title
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b} and A of type {a} instead."
        )
    if not pivots.size:
        return
    for wrong, text in ((pivots == 0, ">= 1"), (np.abs(pivots) > LD.shape[-2], "<= LD.size(-2)")):
        if wrong.any():
            raise RuntimeError(
                f"Pivots given to ldl_solve must all satisfy |pivot| {text}. Did you properly pass the result of "
                "ldl_factor?"
            )


def _solve_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    LD, pivots, B = values
    rank = max(LD.ndim - batched[0], B.ndim - batched[2])
    if batched[0] or batched[1]:  # the two are of one matrix
        LD, pivots = front(spread(LD, batched[0], size), rank), front(spread(pivots, batched[1], size), rank - 1)
    return ldl_solve.public(LD, pivots, front(B, rank) if batched[2] else B, **params)


def _in_place(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Swaps that leave each row where it is."""
    return np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int32), shape).copy()


@general(
    name="linalg_ldl_solve", exact=SAME_OUT, spelled="", node={"": "NotImplemented"}, vmap=_solve_batched,
    meta=solution_shape,
    samples=samples(
        regular, [((3, 3), Drawn(_in_place, 3), (3, 3)), ((2, 3, 3), Drawn(_in_place, 2, 3), (2, 3, 3))],
        hermitian=[False, True],
    ),
)  # fmt: skip
def ldl_solve(xp: Any, LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Array:
    """X with A X = B, from the factors of A."""
    _check_solve(LD, pivots, B)
    return run(xp.ldl.solve, LD, pivots, B, hermitian)


ldl_solve.vjp(LD=no_derivative("linalg_ldl_solve"), B=no_derivative("linalg_ldl_solve"))
spell_op(ldl_solve, "ldl_solve")
