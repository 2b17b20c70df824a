"""Batch norm without running statistics, which vmap over models cannot update in place."""

from __future__ import annotations

from chainrule.nn.modules.batchnorm import _BatchNorm
from chainrule.nn.modules.module import Module

__all__ = ["batch_norm_without_running_stats", "replace_all_batch_norm_modules_"]


def batch_norm_without_running_stats(module: Module) -> None:
    """Make a batch norm forget its running statistics; other modules stay as they are."""
    if isinstance(module, _BatchNorm) and module.track_running_stats:
        module.running_mean = module.running_var = module.num_batches_tracked = None
        module.track_running_stats = False


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """The same for every batch norm in a module, in place."""
    for module in root.modules():
        batch_norm_without_running_stats(module)
    return root
