"""Orthogonal polynomials of torch.special, from their three-term recurrences.

`row` of the table: the polynomial of degree 1, and (x, k, p, q) -> the polynomial of degree k + 1 from those of degree
k and k - 1. Without derivatives, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.dtype import COMPLEX
from chainrule.core.family import elementwise
from chainrule.core.op import Array, Number
from chainrule.core.public import spell
from chainrule.core.samples import Drawn, integers, samples, unit
from chainrule.ops.arithmetic import as_arrays, no_derivative
from chainrule.ops.domains import not_for

__all__: list[str] = []

First = Callable[[Any], Any]
Step = Callable[[Any, int, Any, Any], Any]


def _chebyshev(x: Any, k: int, p: Any, q: Any) -> Any:
    return 2 * x * p - q


_TABLE: dict[str, tuple[First, Step]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def _values(x: Any, n: Any, first: First, step: Step) -> Any:
    degree = np.trunc(n)
    q, p = np.ones_like(x), first(x)
    out = np.where(degree < 0, 0, np.where(degree == 0, q, p)).astype(x.dtype)
    top = int(degree.max()) if degree.size and np.isfinite(degree).all() else 1
    for k in range(1, top):
        q, p = p, step(x, k, p, q)
        out = np.where(degree == k + 1, p, out)
    return out.astype(x.dtype)


def _declare(name: str, first: First, step: Step, shifted: bool) -> None:
    title = f"shifted_{name}" if shifted else name

    def forward(xp: Any, input: Array | Number, n: Array | Number) -> Array:
        x, degree = as_arrays(input, n)
        return _values(2 * x - 1 if shifted else x, degree, first, step)

    forward.__doc__ = f"The {title.replace('_', ' ')} of degree n at every element."
    forward.__annotations__ = {"input": "Array | Number", "n": "Array | Number"}
    fn = elementwise(
        name=f"special_{title}", promote="float", spelled="", check=not_for(title, COMPLEX),
        node={"": "NotImplemented"}, samples=samples(unit, [((3, 4), Drawn(integers(6), 4))]),
    )(forward)  # fmt: skip
    refuse = no_derivative(f"special_{title}")
    fn.vjp(input=refuse, n=refuse)
    spell(title, fn.public, "s")


for _name, (_first, _step) in _TABLE.items():
    _declare(_name, _first, _step, shifted=False)
    if _name.startswith("chebyshev"):
        _declare(_name, _first, _step, shifted=True)
