"""The ops, by subject. Each is declared once: forward, rules, samples.

`declare_all` loads every subject; `methods` comes last, for it gives Tensor what the others declared. A new subject is
a new module and its name below.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["SUBJECTS", "declare_all"]

SUBJECTS = """
    activation added_products arithmetic assertions attention autocast blend class_loss compare complex contract conv
    convert copying create cross_entropy distance dropout einsum embedding exchange exponential facts fill flags foreach
    foreign fourier from_data gradient gumbel hashing histogram index inner_products join lazy_clone legacy likeness
    linalg_factor linalg_functions linalg_ldl linalg_lowrank linalg_norms linalg_solve linalg_spectra linear logic loss
    loss_scaling masked norm_layers pad parts polynomials pool positions printing_methods python_protocol ranges reduce
    resize rounding sample scan shape_ops sign sobol sort sparse special_functions statistics storage strided subclasses
    subscript tensor_products trigonometric view_copies view_inplace views windows
""".split()


def declare_all() -> None:
    """Load all declarations, then equip Tensor."""
    for subject in (*SUBJECTS, "methods"):
        import_module(f"{__name__}.{subject}")


def __getattr__(name: str) -> Any:
    """PyTorch's `torch.ops.aten`: the ops by the names of its dispatcher."""
    if name in ("aten", "chainrule"):
        return import_module("chainrule.autograd.overloads").Namespace(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
