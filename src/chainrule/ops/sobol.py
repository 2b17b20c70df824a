"""Steps of Sobol' sequences, on tensors: `quasirandom.SobolEngine` is made of them."""

from __future__ import annotations

from chainrule.autograd.versions import touch
from chainrule.backends.cpu import sobol
from chainrule.config import settings
from chainrule.core.dtype import dtype as DType
from chainrule.core.dtype import float32, float64, int64
from chainrule.core.public import composite
from chainrule.core.tensor import Tensor
from chainrule.ops.create import made

__all__: list[str] = []


def _check_long(**given: Tensor) -> None:
    for name, t in given.items():
        if t.dtype is not int64:
            raise RuntimeError(f"{name} needs to be of type Long")


@composite("f")
def _sobol_engine_draw(
    quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int, dtype: DType | None
) -> tuple[Tensor, Tensor]:
    """The next n points, and the last of them as whole numbers."""
    _check_long(sobolstate=sobolstate, quasi=quasi)
    want = settings.default_dtype if dtype is None else dtype
    if want not in (float32, float64):
        raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{want.title}'")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {dimension}]")
    points = sobol.drawn(quasi.raw, n, sobolstate.raw, num_generated)
    last = points[-1].copy() if n else quasi.raw.copy()
    return made(points.astype(want.numpy) * want.numpy.type(2.0**-sobol.BITS)), made(last)


@composite("f", name="_sobol_engine_ff_")
def _sobol_engine_ff_(quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int) -> Tensor:
    """Leave out n points."""
    _check_long(sobolstate=sobolstate, quasi=quasi)
    if n > 0:
        quasi.raw[...] = sobol.drawn(quasi.raw, n, sobolstate.raw, num_generated)[-1]
        touch(quasi, "_sobol_engine_ff_")
    return quasi


@composite("f", name="_sobol_engine_initialize_state_")
def _sobol_engine_initialize_state_(sobolstate: Tensor, dimension: int) -> Tensor:
    """The direction numbers of so many dimensions."""
    _check_long(sobolstate=sobolstate)
    sobolstate.raw[...] = sobol.directions(dimension)
    touch(sobolstate, "_sobol_engine_initialize_state_")
    return sobolstate


@composite("f", name="_sobol_engine_scramble_")
def _sobol_engine_scramble_(sobolstate: Tensor, ltm: Tensor, dimension: int) -> Tensor:
    """The direction numbers, multiplied by random triangular matrices of bits."""
    _check_long(sobolstate=sobolstate)
    if ltm.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {ltm.dtype.title}")
    sobolstate.raw[...] = sobol.scrambled(sobolstate.raw, ltm.raw)
    touch(sobolstate, "_sobol_engine_scramble_")
    return sobolstate
