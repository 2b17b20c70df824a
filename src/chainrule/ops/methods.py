"""Tensor's operators, spelled once."""

from __future__ import annotations

from typing import Any

from chainrule.core.public import PUBLIC, equip_tensor
from chainrule.core.tensor import Tensor

__all__: list[str] = []

_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow"}

equip_tensor()
for _dunder, _name in _BINARY.items():
    setattr(Tensor, f"__{_dunder}__", PUBLIC["m"][_name])
Tensor.__neg__ = PUBLIC["m"]["neg"]  # type: ignore[attr-defined]
Tensor.__radd__ = PUBLIC["m"]["add"]  # type: ignore[attr-defined]
Tensor.__rmul__ = PUBLIC["m"]["mul"]  # type: ignore[attr-defined]


def _matmul(a: Any, b: Any) -> Any:
    return PUBLIC["f"]["mm"](a, b)


Tensor.__matmul__ = _matmul  # type: ignore[attr-defined]
