"""The named tuples of functions with several results, to ask `isinstance` with: `torch.return_types.max`."""

from __future__ import annotations

from typing import Any

from chainrule.core.op import REGISTRY
from chainrule.core.types import return_class

_OPS = (
    "aminmax", "cummax", "cummin", "frexp", "geqrf", "kthvalue", "linalg_cholesky_ex", "linalg_eig", "linalg_eigh",
    "linalg_inv_ex", "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu", "linalg_lu_factor_ex", "linalg_qr",
    "linalg_slogdet", "linalg_solve_ex", "linalg_svd", "lu_unpack", "max", "median", "min", "mode", "nanmedian", "sort",
    "topk",
)  # fmt: skip
_COMPOSITES = {
    "histogram": ("hist", "bin_edges"), "histogramdd": ("hist", "bin_edges"),
    "linalg_ldl_factor": ("LD", "pivots"), "linalg_lu_factor": ("LU", "pivots"),
    "qr": ("Q", "R"), "slogdet": ("sign", "logabsdet"), "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}  # fmt: skip
_classes: dict[str, Any] = {name: return_class(name, tuple(REGISTRY[name].outs or ())) for name in _OPS}
_classes |= {name: return_class(name, outs) for name, outs in _COMPOSITES.items()}
globals().update(_classes)
all_return_types = [_classes[name] for name in sorted(_classes)]

__all__ = ["all_return_types", *sorted(_classes)]  # noqa: PLE0604
