"""Function transforms, as in `torch.func`: grad, vjp, jvp, vmap and what is made of them."""

from __future__ import annotations

from chainrule.func.forward import jvp
from chainrule.func.functionalize import functionalize
from chainrule.func.interpreters import debug_unwrap
from chainrule.func.jacobian import hessian, jacfwd, jacrev
from chainrule.func.linearize import linearize
from chainrule.func.modules import functional_call, stack_module_state
from chainrule.func.reverse import grad, grad_and_value, vjp
from chainrule.func.vmap import vmap

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
