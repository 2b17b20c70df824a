"""What type checkers know of Tensor is what Tensor has."""

from __future__ import annotations

from tools import stubs


def test_the_stub_says_what_the_package_says() -> None:
    assert stubs.STUB.read_text() == stubs.written(), "run `python tools/stubs.py`"
