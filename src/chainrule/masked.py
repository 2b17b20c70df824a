"""torch.masked: folds, scans and normalisations of what a mask lets through. Declared in `ops.masked`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish
from chainrule.ops.masked import _input_mask, _output_mask, _reduction_identity  # noqa: F401  (PyTorch's tests ask them)

__all__ = [*_publish("k", globals())]  # noqa: PLE0604
