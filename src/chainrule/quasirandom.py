"""PyTorch's `torch.quasirandom`: points that fill a cube more evenly than random ones do."""

from __future__ import annotations

from typing import Any

from chainrule import (
    Generator,
    _sobol_engine_draw,
    _sobol_engine_ff_,
    _sobol_engine_initialize_state_,
    _sobol_engine_scramble_,
    arange,
    cat,
    mv,
    randint,
    zeros,
)
from chainrule.backends.cpu import sobol
from chainrule.core.device import device
from chainrule.core.dtype import dtype as DType
from chainrule.core.dtype import get_default_dtype, int64
from chainrule.core.tensor import Tensor

__all__ = ["SobolEngine"]

_CPU = device("cpu")


class SobolEngine:
    """A Sobol' sequence in so many dimensions; `scramble` makes it a random one, the same for the same `seed`."""

    MAXBIT = sobol.BITS
    MAXDIM = sobol.DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = zeros(dimension, self.MAXBIT, device=_CPU, dtype=int64)
        _sobol_engine_initialize_state_(self.sobolstate, dimension)
        self.shift = self._scrambled() if scramble else zeros(dimension, device=_CPU, dtype=int64)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scrambled(self) -> Tensor:
        """Scramble the direction numbers; the point to start from."""
        source = None if self.seed is None else Generator().manual_seed(self.seed)
        bits: Any = randint(2, (self.dimension, self.MAXBIT), device=_CPU, generator=source)
        matrices = randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), device=_CPU, generator=source)
        _sobol_engine_scramble_(self.sobolstate, matrices.tril(), self.dimension)
        return mv(bits, 2 ** arange(self.MAXBIT, device=_CPU))  # type: ignore[no-any-return]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next n points, a row each."""
        want = get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        if first and n == 1:
            result: Tensor = self._first_point.to(want)
        else:
            count, done = (n - 1, 0) if first else (n, self.num_generated - 1)
            result, self.quasi = _sobol_engine_draw(
                self.quasi, count, self.sobolstate, self.dimension, done, dtype=want
            )
            if first:
                result = cat((self._first_point.to(want), result), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2**m points; all points drawn must then be a power of two, for only so many lie evenly."""
        n, so_far = 2**m, self.num_generated
        total = so_far + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{so_far} points have been previously generated, then: n={so_far}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out n points."""
        count, done = (n - 1, 0) if self.num_generated == 0 else (n, self.num_generated - 1)
        _sobol_engine_ff_(self.quasi, count, self.sobolstate, self.dimension, done)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"]
        shown += ["scramble=True"] if self.scramble else []
        shown += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(shown)})"
