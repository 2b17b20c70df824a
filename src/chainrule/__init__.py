"""Chainrule: PyTorch's automatic differentiation, written again in Python. `import chainrule as torch`."""

from __future__ import annotations

import importlib as _importlib
import math as _math
import warnings as _warnings
from types import ModuleType as _ModuleType
from typing import Any as _Any

import numpy as _numpy

from chainrule import ops as _declared
from chainrule.autograd import api as _api
from chainrule.autograd import bind as _bind
from chainrule.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from chainrule.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)  # fmt: skip
from chainrule.core import dtype as _dtypes
from chainrule.core.device import device, get_default_device, set_default_device
from chainrule.core.dtype import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    chalf,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)  # fmt: skip
from chainrule.core.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)  # fmt: skip
from chainrule.core.printing import set_printoptions
from chainrule.core.public import publish as _publish
from chainrule.core.shape import Size
from chainrule.core.shape import common_shape as broadcast_shapes
from chainrule.core.tensor import Tensor
from chainrule.ops.typed_storage import legacy_class as _legacy_class

__version__ = "0.1.0"

# The policy of docs/decisions/0001: infinities and NaNs are values, as in PyTorch, not warnings.
_numpy.seterr(all="ignore")
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"chainrule\.")

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
bool, float, int = _dtypes.bool_, _dtypes.float32, _dtypes.int32
globals().update({each.name: each for each in _dtypes.FLOAT8} | _dtypes.NAMES)
bit = _dtypes.NAMES["uint1"]

_declared.declare_all()
_publish("f", globals())

# Sub-modules load on first use: a program that needs no `nn` does not pay for it.
_SUBMODULES = frozenset((
    "_C", "__config__", "_functorch", "_ops", "_prims", "_prims_common", "_refs", "_tensor_str", "_utils",
    "_vmap_internals", "accelerator", "amp", "autograd", "cpu", "cuda", "fft", "func", "linalg", "masked", "mps", "nn",
    "optim", "overrides", "profiler", "quasirandom", "random", "return_types", "sparse", "special", "storage",
    "testing", "utils", "version",
))  # fmt: skip
# What programs ask for first, of what PyTorch has beyond tensors, gradients, modules and optimizers.
_ABSENT = frozenset((
    "compile", "distributed", "distributions", "export", "fx", "hub", "jit", "load", "multiprocessing", "nested",
    "onnx", "quantization", "save",
))  # fmt: skip


__all__ = sorted(  # noqa: PLE0605
    name for name, value in globals().items()
    if not name.startswith("_") and name != "annotations" and not isinstance(value, _ModuleType)
)  # fmt: skip


def _batched(fn: _Any, cotangents: list[_Any]) -> _Any:
    """The first batched gradient loads the transforms, which put their vmap in this place."""
    _importlib.import_module(f"{__name__}.func")
    return _api.BATCHED[0](fn, cotangents)


_api.BATCHED.append(_batched)


def __getattr__(name: str) -> _Any:
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "Storage":  # the class of storages in the default dtype
        return _legacy_class(_dtypes.get_default_dtype())
    if name in ("GradScaler", "autocast"):
        return getattr(_importlib.import_module(f"{__name__}.amp"), name)
    if name == "vmap":
        return _importlib.import_module(f"{__name__}.func").vmap
    hint = f": PyTorch's `torch.{name}` is not written again" if name in _ABSENT else ""
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}{hint}")
