"""What programs ask about devices that are not here, and the switches they set."""

from __future__ import annotations

import chainrule as torch


def test_there_are_no_other_devices() -> None:
    assert not torch.backends.cuda.is_built()
    assert not torch.backends.mps.is_available() and not torch.backends.mps.is_built()
    assert not torch.backends.cudnn.is_available() and torch.backends.cudnn.version() is None


def test_switches_are_kept() -> None:
    cudnn = torch.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert not cudnn.enabled and cudnn.deterministic
    assert cudnn.enabled and not cudnn.deterministic
