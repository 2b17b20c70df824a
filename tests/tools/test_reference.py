"""The reference says what the declarations say."""

from __future__ import annotations

from tools import reference


def test_pages_say_what_the_package_says() -> None:
    assert not reference.stale(), "run `python tools/reference.py`"


def test_every_public_function_says_what_it_does() -> None:
    silent = [entry.names[0] for entry in reference.entries() if len(entry.said()) < 5]
    assert not silent
