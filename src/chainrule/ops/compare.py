"""Comparisons, choices between tensors, and questions about numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from chainrule.core.dtype import BOOL, COMPLEX, FLOAT, bool_, uint8
from chainrule.core.family import call, elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import alias, composite
from chainrule.core.samples import apart, real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops.arithmetic import one, two, zeros_like
from chainrule.ops.domains import not_for

__all__: list[str] = []


# ---------------------------------------------------------------------------------------------------- comparisons


@elementwise(promote="compare")
def eq(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where are they equal?"""
    return xp.equal(input, other)


@elementwise(promote="compare")
def ne(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where do they differ?"""
    return xp.not_equal(input, other)


@elementwise(promote="compare", check=not_for("lt_cpu", COMPLEX))
def lt(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where is the first less?"""
    return xp.less(input, other)


@elementwise(promote="compare", check=not_for("le_cpu", COMPLEX))
def le(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where is the first less or equal?"""
    return xp.less_equal(input, other)


@elementwise(promote="compare", check=not_for("gt_cpu", COMPLEX))
def gt(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where is the first greater?"""
    return xp.greater(input, other)


@elementwise(promote="compare", check=not_for("ge_cpu", COMPLEX))
def ge(xp: Any, input: Array, other: Array | Number) -> Array:
    """Where is the first greater or equal?"""
    return xp.greater_equal(input, other)


alias(ne, "not_equal")
alias(lt, "less")
alias(le, "less_equal")
alias(gt, "greater")
alias(ge, "greater_equal")


# -------------------------------------------------------------------------------------------------------- choices


def _check_where(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    found = inputs[0].dtype
    if found is uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=6,
        )
    elif found is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {found.title}"
        )


def chosen(xp: Any, condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; all of one dtype (a Python number takes the other's)."""
    return xp.where(condition if condition.dtype == np.bool_ else condition != 0, a, b)


@elementwise(
    name="where",
    unpromoted=("condition",),
    check=_check_where,
    spelled="",
    samples=samples(real, [((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3,)), ((3,), 2.5)]),
)
def select(xp: Any, condition: Array, input: Array | Number, other: Array | Number) -> Array:
    """`input` where the condition holds, else `other`."""
    return chosen(xp, condition, input, other)


select.vjp(
    input=lambda g, condition: select(condition, g, 0),
    other=lambda g, condition: select(condition, 0, g),
)
