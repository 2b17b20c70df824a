"""PyTorch's `torch.amp.autocast_mode`: the block in which functions choose their float dtype themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from chainrule import (
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from chainrule.core.device import device as Device
from chainrule.core.dtype import bfloat16, float16
from chainrule.core.dtype import dtype as DType
from chainrule.core.notices import warn
from chainrule.ops.autocast import SWITCHES, cast_all

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_AVAILABLE = frozenset(("cpu", "cuda", "hpu", "mps", "mtia", "xla", "xpu"))


def is_autocast_available(device_type: str) -> bool:
    """Does PyTorch know autocast for this device?"""
    return Device(device_type).type in _AVAILABLE


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Any:
    """The function, called inside the block."""

    @wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    inside.__script_unsupported = "@autocast() decorator is not supported in script mode"  # type: ignore[attr-defined]
    return inside


class autocast:
    """A block, or a decorator, in which products of matrices compute in 16-bit floats and losses in 32-bit ones."""

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.custom_backend_name = "privateuseone"
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if self.device == "cuda" and enabled:
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        if self.device == "cpu" and enabled and self.fast_dtype not in (bfloat16, float16):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype, self.prev_cache_enabled = get_autocast_dtype(self.device), is_autocast_cache_enabled()
        autocast_increment_nesting()
        try:
            self._switch(self.fast_dtype, self._enabled, self._cache_enabled)
        except BaseException:  # Ctrl-C, just then
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        depth = SWITCHES.nesting - 1
        try:
            self._put_back(depth)
        except BaseException:  # Ctrl-C, just then
            self._put_back(depth)
            raise

    def _put_back(self, depth: int) -> None:
        self._switch(self.prev_fastdtype, self.prev, self.prev_cache_enabled)
        SWITCHES.nesting = depth
        if depth == 0:
            clear_autocast_cache()

    def _switch(self, dtype: DType, enabled: bool, caching: bool) -> None:
        set_autocast_dtype(self.device, dtype)
        set_autocast_enabled(self.device, enabled)
        set_autocast_cache_enabled(caching)

    def __call__(self, func: Any) -> Any:
        return autocast_decorator(self, func)


def _converted(value: Any, dtype: DType) -> Any:
    """What `cast_inputs` makes of an argument: strings and arrays stay, dicts are looked into too."""
    if isinstance(value, dict):
        return {_converted(k, dtype): _converted(v, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_converted(v, dtype) for v in value)
    return cast_all(value, dtype)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """For the forward of a `Function`: remember autocast for the backward, or cast the inputs and turn it off."""
    _check_name(device_type)
    if fwd is None:
        return lambda given: custom_fwd(given, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx, enabled = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_converted(args, cast_inputs), **_converted(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """For the backward of a `Function` whose forward has `custom_fwd`: autocast as it was there."""
    _check_name(device_type)
    if bwd is None:
        return lambda given: custom_bwd(given, device_type=device_type)

    @wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _check_name(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
