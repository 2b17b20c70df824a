"""torch.linalg: factorisations, solutions, inverses, spectra, norms. Declared in `ops.linalg_*`."""

from __future__ import annotations

from chainrule.core.public import publish as _publish
from chainrule.errors import LinAlgError

__all__ = ["LinAlgError", *_publish("l", globals())]  # noqa: PLE0604
