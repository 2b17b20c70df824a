"""torch.profiler: the mark of a named block. What collects them is `autograd.profiler.profile`."""

from __future__ import annotations

from chainrule.autograd.profiler import record_function

__all__ = ["record_function"]
