"""PyTorch's `torch.utils.deterministic`: one switch, an attribute that programs set.

    torch.utils.deterministic.fill_uninitialized_memory = False

A module's attributes cannot be watched, so an object stands in the module's place.
"""

from __future__ import annotations

import sys
from types import ModuleType

from chainrule.config import settings
from chainrule.ops.flags import set_fill_uninitialized_memory


class _Switch(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Is new memory filled with NaN or the largest integer, while deterministic algorithms are asked for?"""
        return settings.fill_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_fill_uninitialized_memory(mode)


sys.modules[__name__] = _Switch(__name__, __doc__)
