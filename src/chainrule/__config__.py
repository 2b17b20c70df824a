"""PyTorch's `torch.__config__`: what computes here, as text."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from chainrule.ops.flags import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The Python, the NumPy and the linear algebra library underneath."""
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return (
        "Chainrule runs on:\n"
        f"  - Python {sys.version.split()[0]}\n"
        f"  - NumPy {np.__version__}\n"
        f"  - BLAS: {blas.get('name', 'unknown')} {blas.get('version', '')}\n"
    )


def parallel_info() -> str:
    """How many threads were asked for."""
    return f"Threads of NumPy's libraries: {get_num_threads()}\nOperations side by side: {get_num_interop_threads()}\n"


def _cxx_flags() -> str:
    """The flags of a C++ compiler: none took part."""
    return ""
