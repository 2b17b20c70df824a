"""The names of the package functorch, as `torch.func` replaced them: they work, and say what to use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrule._functorch import make_functional as _functional
from chainrule.core.notices import warn
from chainrule.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def _deprecated(fn: Callable[..., Any], instead: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{fn.__name__}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
            f"PyTorch >= 2.3. Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the "
            "`torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
        )
        return fn(*args, **kwargs)

    return warned


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = (
    _deprecated(fn, f"torch.func.{fn.__name__}")
    for fn in (functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp)
)
vmap = _deprecated(vmap, "torch.vmap")
make_functional = _deprecated(_functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(_functional.combine_state_for_ensemble, "torch.func.stack_module_state")
