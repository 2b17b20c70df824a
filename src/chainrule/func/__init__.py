"""Function transforms, as in `torch.func`: grad, vjp, jvp, vmap and what is made of them."""

from __future__ import annotations

from chainrule.func.forward import jvp
from chainrule.func.reverse import grad, grad_and_value, vjp
from chainrule.func.vmap import vmap

__all__ = ["grad", "grad_and_value", "jvp", "vjp", "vmap"]
