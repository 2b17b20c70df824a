"""Where a tensor's elements are: a device type and, for types with several devices, an index.

There is one object per (type, index), so devices may be compared with `is`. This module knows names only:
whether a device can be used is for its backend to say.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, NoReturn

from chainrule.config import settings

__all__ = ["DeviceLike", "as_device", "device", "get_default_device", "set_default_device"]

# PyTorch's names, in the order its message lists them.
_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla",
    "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")


class device:
    """`device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`, `device(1)`, `device(other)`; a bare
    index means the accelerator.

    As a context manager it is where creation functions put their tensors inside the block.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None
    _interned: ClassVar[dict[tuple[str, int | None], device]] = {}

    def __new__(cls, type: Any = None, index: int | None = None, *, device: Any = None) -> device:
        given = type if device is None else device
        if index is None:
            return as_device(given)
        return _from_parts(given, index)

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{attribute}' of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        at = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{at})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: object) -> device:
        return self

    def __enter__(self) -> device:
        settings.device_stack.append(settings.default_device)
        settings.default_device = self
        return self

    def __exit__(self, *exception: object) -> None:
        settings.default_device = settings.device_stack.pop()


DeviceLike = device | str | int

_parsed: dict[str, device] = {}


def _intern(type: str, index: int | None) -> device:
    found = device._interned.get((type, index))
    if found is None:
        found = object.__new__(device)
        object.__setattr__(found, "type", type)
        object.__setattr__(found, "index", index)
        found = device._interned.setdefault((type, index), found)
    return found


def as_device(given: DeviceLike) -> device:
    """The device that an argument `device=...` names: a device, a string, or an index of the accelerator."""
    if given.__class__ is device:
        return given
    if isinstance(given, str):
        return _parsed.get(given) or _parsed.setdefault(given, _parse(given))
    if isinstance(given, int) and not isinstance(given, bool):
        return _of_accelerator(given)
    raise TypeError(
        "device() received an invalid combination of arguments: expected (torch.device device) or "
        f"(str type, int index = -1), got ({type(given).__name__})"
    )


def _parse(text: str) -> device:
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = _STRING.fullmatch(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    type, index = match.groups()
    _check_type(type, text)
    return _intern(type, None if index is None else int(index))


def _check_type(type: str, text: str) -> None:
    if type not in _TYPES:
        known = ", ".join(_TYPES)
        raise RuntimeError(f"Expected one of {known} device type at start of device string: {text}")


def _from_parts(type: object, index: object) -> device:
    if not isinstance(type, str):
        raise TypeError(f"device(): argument 'type' (position 1) must be str, not {_kind(type)}")
    if not isinstance(index, int):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {_kind(index)}")
    if ":" in type:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
    _check_index(index)
    _check_type(type, type)
    return _intern(type, index)


def _kind(value: object) -> str:
    return "torch.device" if isinstance(value, device) else value.__class__.__name__


def _check_index(index: int) -> None:
    if index < 0:
        raise RuntimeError("Device index must not be negative")


def _of_accelerator(index: int) -> device:
    _check_index(index)
    if settings.accelerator is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _intern(settings.accelerator, index)


_CPU = settings.default_device = as_device("cpu")


def get_default_device() -> device:
    """Where creation functions put their tensors now."""
    return settings.default_device


def set_default_device(device: DeviceLike | None) -> None:
    """Make `device` the place of new tensors, for the whole process; None means the CPU again."""
    settings.default_device = _CPU if device is None else as_device(device)
