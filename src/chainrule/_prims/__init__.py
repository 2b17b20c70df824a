"""torch._prims: what PyTorch's references are written in. Here references are the ops themselves: see `_refs`."""

from chainrule import _prims_common as utils
from chainrule._prims import context

__all__ = ["context", "utils"]
