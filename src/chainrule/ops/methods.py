"""Tensor's operators, spelled once.

An operator is its op, except that it declines (`NotImplemented`) operands it does not know. Reflected forms, `2 - x`,
put the operands in the op's order; in-place forms, `x += y`, are the in-place ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.autograd.bind import operator
from chainrule.autograd.door import NUMBERS
from chainrule.core.dtype import FLOAT
from chainrule.core.op import REGISTRY
from chainrule.core.public import PUBLIC, equip_tensor
from chainrule.core.tensor import PLAIN, Tensor

__all__: list[str] = []

_SAME_EITHER_WAY = {"add": "add", "mul": "mul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
_ONE_WAY = {
    "sub": "sub", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _known(x: Any) -> bool:
    return isinstance(x, (Tensor, *NUMBERS)) or hasattr(type(x), "__torch_function__")


def _reflected(op: Any) -> Any:
    """`other` before `self`, in the op's order."""
    own = op.fn.operator

    def reflected(self: Tensor, other: Any) -> Any:
        return own(other, self)

    return reflected


def _rtruediv(self: Tensor, other: Any) -> Any:
    return self.reciprocal() * other if _known(other) or isinstance(other, np.ndarray) else NotImplemented


def _inplace(method: Any) -> Any:
    def assign(self: Tensor, other: Any) -> Any:
        return method(self, other) if _known(other) else NotImplemented

    return assign


def _invert(self: Tensor) -> Tensor:
    if self.dtype.category >= FLOAT:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    result: Tensor = PUBLIC["f"]["bitwise_not"](self)
    return result


_product = PUBLIC["f"]["matmul"]


def _any_product(op: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What `@` does with operands that are not two matrices."""
    self, other = operands
    return _product(self, other) if other.__class__ in PLAIN or _matrix(other) else NotImplemented


def _rmatmul(self: Tensor, other: Any) -> Any:
    return PUBLIC["f"]["matmul"](other, self) if _matrix(other) else NotImplemented


def _matrix(x: Any) -> bool:
    return isinstance(x, Tensor) or hasattr(type(x), "__torch_function__")


def _operators() -> dict[str, Any]:
    """Every operator by its Python name."""
    table: dict[str, Any] = {}
    for dunder, name in (_SAME_EITHER_WAY | _ONE_WAY).items():
        table[dunder] = operator(REGISTRY[name])
        same = dunder in _SAME_EITHER_WAY
        table["r" + dunder] = table[dunder] if same else _reflected(REGISTRY[name])
        table["i" + dunder] = _inplace(PUBLIC["m"][name + "_"])
    table |= {name: operator(REGISTRY[name]) for name in _COMPARISONS}
    table |= {f"r{name}": operator(REGISTRY[f"r{name}"]) for name in ("sub", "pow")}
    table |= {"rtruediv": _rtruediv, "matmul": operator(REGISTRY["mm"], (2, 2), _any_product), "rmatmul": _rmatmul}
    table |= {"div": table["truediv"], "rdiv": _rtruediv, "idiv": table["itruediv"], "invert": _invert}
    return table | {"neg": PUBLIC["m"]["neg"], "pos": PUBLIC["m"]["positive"], "abs": PUBLIC["m"]["abs"]}


equip_tensor()
for _name, _fn in _operators().items():
    setattr(Tensor, f"__{_name}__", _fn)
