"""Function transforms, as in `torch.func`: grad, vjp, jvp, vmap and what is made of them."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

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

_FUNCTORCH = {  # what only the package functorch had: behind a door of its own, which needs `nn`
    "chunk_vmap": "apis", "combine_state_for_ensemble": "deprecated", "make_functional": "deprecated",
    "make_functional_with_buffers": "deprecated", "replace_all_batch_norm_modules_": "batch_norm_replacement",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _FUNCTORCH:
        return getattr(_import_module(f"chainrule._functorch.{_FUNCTORCH[name]}"), name)
    raise AttributeError(f"module 'chainrule.func' has no attribute {name!r}")
