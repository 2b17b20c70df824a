"""Rounding, to whole numbers or to decimals."""

from __future__ import annotations

from typing import Any

from chainrule.core.dtype import BOOL, COMPLEX, INT
from chainrule.core.family import elementwise
from chainrule.core.op import Array
from chainrule.core.public import alias
from chainrule.core.samples import apart, samples
from chainrule.ops.arithmetic import one, zeros_like
from chainrule.ops.domains import EXACT, both, no_complex, not_for

__all__: list[str] = []


def _check(name: str) -> Any:
    message = f"{name} is not supported for complex inputs"
    return both(no_complex(message, NotImplementedError), not_for(f"{name}_vml_cpu", BOOL))


def _whole(input: Any) -> bool:
    return bool(input.dtype.kind in "iu")


@elementwise(samples=samples(apart, one), check=_check("floor"), exact=EXACT, spelled="fmiF")
def floor(xp: Any, input: Array) -> Array:
    """The largest whole number that is not larger."""
    return input.copy("K") if _whole(input) else xp.floor(input)


floor.vjp(input=lambda g: zeros_like(g))


@elementwise(samples=samples(apart, one), check=_check("ceil"), exact=EXACT, spelled="fmiF")
def ceil(xp: Any, input: Array) -> Array:
    """The smallest whole number that is not smaller."""
    return input.copy("K") if _whole(input) else xp.ceil(input)


ceil.vjp(input=lambda g: zeros_like(g))


@elementwise(samples=samples(apart, one), check=_check("trunc"), exact=EXACT, spelled="fmiF")
def trunc(xp: Any, input: Array) -> Array:
    """The whole part, toward 0."""
    return input.copy("K") if _whole(input) else xp.trunc(input)


trunc.vjp(input=lambda g: zeros_like(g))
alias(trunc, "fix")


@elementwise(samples=samples(apart, one), check=not_for("frac_cpu", BOOL, INT, COMPLEX), exact=EXACT, spelled="fmiF")
def frac(xp: Any, input: Array) -> Array:
    """What `trunc` takes away."""
    return input - xp.trunc(input)


frac.vjp(input=lambda g: g)


def _check_round(inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    found = inputs[0].dtype
    if found.is_complex or found.category == BOOL or (params["decimals"] is not None and found.category == INT):
        kernel = "round_cpu" if params["decimals"] else "round_vml_cpu"
        not_for(kernel, BOOL, INT, COMPLEX)(inputs, params)


@elementwise(samples=samples(apart, one, decimals=[0, 1]), check=_check_round, exact=EXACT, spelled="fmiF")
def round(xp: Any, input: Array, *, decimals: int | None = None) -> Array:
    """The nearest whole number (or number of so many decimals), halves to even."""
    if not decimals:
        return input.copy("K") if _whole(input) else xp.rint(input)
    ten = float(10.0 ** abs(decimals))
    return xp.rint(input * ten) / ten if decimals > 0 else xp.rint(input / ten) * ten


round.vjp(input=lambda g: zeros_like(g))
alias(round, "round", spelled="s")
