"""The ambient defaults of the process: what a creation function uses when it is not told.

`settings` is one plain object, so that reading a default costs one attribute read. Its values belong to the
modules that define their types: `core.dtype` puts the first dtype in, `core.device` the first device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # names for annotations only: nothing below is imported upward when the program runs
    from chainrule.core.device import device
    from chainrule.core.dtype import dtype

__all__ = ["Settings", "settings"]


class Settings:
    """`default_dtype`: what floating point results have when no tensor decides; see `set_default_dtype`.
    `default_device`: where new tensors are made; `device_stack`: the ones that open `with device(...)` hide.
    `accelerator`: the device type that `device(0)` means, put here by the backend that drives it; else None.
    `deterministic`: see `set_deterministic_debug_mode`; `fill_memory`: is new memory filled then? `fills_memory`: now?
    `machine_code_after`: how many nodes a program records before its arithmetic is compiled; None: never.
    `vmap_loops`: may vmap take an op without a batch rule example by example? `vmap_loop_warns`: and say so?
    """

    __slots__ = (
        "accelerator", "default_device", "default_dtype", "deterministic", "device_stack", "fill_memory",
        "fills_memory", "machine_code_after", "vmap_loop_warns", "vmap_loops",
    )  # fmt: skip

    accelerator: str | None
    default_device: device
    default_dtype: dtype
    device_stack: list[device]
    deterministic: int
    fill_memory: bool
    fills_memory: bool
    machine_code_after: int | None
    vmap_loop_warns: bool
    vmap_loops: bool


settings = Settings()
settings.accelerator = None
settings.device_stack = []
settings.deterministic, settings.fill_memory, settings.fills_memory = 0, True, False
settings.machine_code_after = 50_000  # about 0.1 s of small ops, which is what the compiler takes
settings.vmap_loops, settings.vmap_loop_warns = True, False
