"""Autocast: inside it, products of matrices compute in 16-bit floats, and what needs more in 32.

Which function does what is one table, PyTorch's for the CPU. What is in neither row takes its arguments as they come.
A function in the table computes with autocast off: what it is made of was decided with it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from chainrule.core.ambient import here, put, swapped
from chainrule.core.device import device as Device
from chainrule.core.dtype import bfloat16, float16, float32, float64
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import AUTOCASTS
from chainrule.core.notices import warn
from chainrule.core.public import spell
from chainrule.core.tensor import LEAF, Tensor

__all__ = ["SWITCHES", "cast_all"]

_FAST = frozenset(
    """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d linear
    linear_batch linear_batch_plain linear_rows linear_rows_plain matmul mm prelu scaled_dot_product_attention vecdot
    """.split()
)
_EXACT = frozenset(
    """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist
    cholesky cholesky_ex cholesky_inverse cholesky_solve cond cosine_embedding_loss cross_entropy ctc_loss eig eigh
    eigvals eigvalsh geqrf grid_sample grid_sampler hinge_embedding_loss householder_product huber_loss inv inv_ex
    inverse kl_div l1_loss lstsq lu_solve margin_ranking_loss matrix_rank max_pool3d max_unpool2d max_unpool3d
    mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss orgqr ormqr pinverse poisson_nll_loss polar
    prod qr quantile smooth_l1_loss soft_margin_loss solve stft svd svdvals tensorinv tensorsolve trace
    triangular_solve triplet_margin_loss view_as_complex
    """.split()
)
_WIDEST = frozenset("cat concat concatenate index_copy stack".split())


class _Switches(threading.local):
    """What a thread chose; whether autocast is on for the CPU is in its ambient record."""

    def __init__(self) -> None:
        self.dtypes: dict[str, DType] = {"cpu": bfloat16}
        self.others: dict[str, bool] = {}  # devices that are not here, and whether autocast was turned on for them
        self.nesting = 0  # how many autocasts are open
        self.caching = True


SWITCHES = _Switches()
_cache: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}  # 16-bit copies of parameters, until the outermost ends


def cast_all(value: Any, dtype: DType, fast: bool = False) -> Any:
    """The value, or what is inside it, with its floats in another dtype; doubles stay. `fast`: autocast's own dtype."""
    if isinstance(value, Tensor):
        fits = value.dtype is dtype or not value.dtype.is_floating_point or value.dtype is float64
        return value if fits or value.device.type != "cpu" else _cast(value, dtype, fast)
    if value.__class__ in (list, tuple):
        return value.__class__([cast_all(v, dtype, fast) for v in value])
    return value


def _cast(t: Tensor, dtype: DType, fast: bool) -> Any:
    if not (fast and SWITCHES.caching and t.dtype is float32 and t.edge is LEAF and t.viewed is None):
        return t.to(dtype)
    held = _cache.get(id(t))
    if held is None or held[0]() is not t:
        held = _cache[id(t)] = weakref.ref(t), t.to(dtype)
    return held[1]


def _answer(func: Any, args: Any, kwargs: dict[str, Any], fast: DType) -> tuple[bool, Any]:
    name = getattr(func, "__name__", "")
    if name in _FAST:
        want = fast
    elif name in _EXACT:
        want = float32
    elif name in _WIDEST:
        want = float32 if _some_wide((*args, *kwargs.values())) else fast
    else:
        return False, None
    if kwargs.get("out") is not None:
        return False, None
    with swapped(autocast=None):
        args = cast_all(tuple(args), want, want is fast)
        return True, func(*args, **{k: cast_all(v, want, want is fast) for k, v in kwargs.items()})


def _some_wide(values: Any) -> bool:
    for value in values:
        if isinstance(value, Tensor) and value.dtype is float32:
            return True
        if value.__class__ in (list, tuple) and _some_wide(value):
            return True
    return False


AUTOCASTS.append(_answer)

# ------------------------------------------------------------------------------------------------------ switches

_KNOWN = ("cpu", "cuda", "hpu", "ipu", "mps", "mtia", "xla", "xpu")


def _device(device_type: Any, name: str) -> str:
    if not isinstance(device_type, str):
        kind = type(device_type).__name__
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {kind}")
    found: str = Device(device_type).type
    if found not in _KNOWN:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return found


def is_autocast_enabled(device_type: Any = "cuda") -> bool:
    """Is autocast on for a device?"""
    found = _device(device_type, "is_autocast_enabled")
    return here().autocast is not None if found == "cpu" else SWITCHES.others.get(found, False)


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Turn autocast on or off for a device: for "cuda", if none is named."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if not isinstance(enabled, bool):
        kind = type(enabled).__name__
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not {kind}")
    found = _device(device_type, "set_autocast_enabled")
    if found == "cpu":
        put(here().but(autocast=SWITCHES.dtypes["cpu"] if enabled else None))
    else:
        SWITCHES.others[found] = enabled


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that autocast computes in on a device."""
    found: str = Device(device_type).type
    if found not in _KNOWN:
        raise RuntimeError("unsupported scalarType")
    return SWITCHES.dtypes.get(found, bfloat16 if found in ("hpu", "xla") else float16)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Let autocast compute in another dtype on a device."""
    found = _device(device_type, "set_autocast_dtype")
    SWITCHES.dtypes[found] = dtype
    if found == "cpu" and here().autocast is not None:
        put(here().but(autocast=dtype))


def is_autocast_cache_enabled() -> bool:
    """Are 16-bit copies of parameters kept while autocast is open?"""
    return SWITCHES.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep 16-bit copies of parameters while autocast is open, or make new ones each time."""
    SWITCHES.caching = enabled


def clear_autocast_cache() -> None:
    """Forget the 16-bit copies of parameters."""
    _cache.clear()


def autocast_increment_nesting() -> int:
    """One more autocast is open; how many are."""
    SWITCHES.nesting += 1
    return SWITCHES.nesting


def autocast_decrement_nesting() -> int:
    """One autocast fewer is open; how many are."""
    SWITCHES.nesting -= 1
    return SWITCHES.nesting


for _switch in (
    is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype, is_autocast_cache_enabled,
    set_autocast_cache_enabled, clear_autocast_cache, autocast_increment_nesting, autocast_decrement_nesting,
):  # fmt: skip
    spell(_switch.__name__, _switch, "f")


def _older(device_type: str, short: str) -> None:
    """The switches of one device by name, which PyTorch asks to leave."""

    def told(name: str, given: str) -> None:
        old = f"{name.replace('_autocast', f'_autocast_{short}')}({given.rpartition(', ')[2] if 'set' in name else ''})"
        warn(f"torch.{old} is deprecated. Please use torch.{name}({given}) instead.", DeprecationWarning)

    def is_enabled() -> bool:
        """`is_autocast_enabled` of one device, by its older name."""
        told("is_autocast_enabled", f"'{device_type}'")
        return is_autocast_enabled(device_type)

    def set_enabled(enabled: bool) -> None:
        """`set_autocast_enabled` of one device, by its older name."""
        told("set_autocast_enabled", f"'{device_type}', enabled")
        set_autocast_enabled(device_type, enabled)

    def get_dtype() -> DType:
        """`get_autocast_dtype` of one device, by its older name."""
        told("get_autocast_dtype", f"'{device_type}'")
        return get_autocast_dtype(device_type)

    def set_dtype(dtype: DType) -> None:
        """`set_autocast_dtype` of one device, by its older name."""
        told("set_autocast_dtype", f"'{device_type}', dtype")
        set_autocast_dtype(device_type, dtype)

    if device_type != "cuda":
        spell(f"is_autocast_{short}_enabled", is_enabled, "f")
        spell(f"set_autocast_{short}_enabled", set_enabled, "f")
    spell(f"get_autocast_{short}_dtype", get_dtype, "f")
    spell(f"set_autocast_{short}_dtype", set_dtype, "f")


for _type, _short in (("cpu", "cpu"), ("cuda", "gpu"), ("ipu", "ipu"), ("xla", "xla")):
    _older(_type, _short)
