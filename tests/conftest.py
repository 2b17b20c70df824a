"""Drawn examples are the same in every run: a failure is then the change's, never the day's.

`--hypothesis-profile=full` draws many more; `--hypothesis-profile=explore` draws new ones each time. `--hot` lets
machine code do the arithmetic from the first call on, as in a program that has run for a while.
"""

import pytest
from hypothesis import settings

from chainrule.autograd import hot

settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=1000)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--hot", action="store_true", help="arithmetic by machine code from the start")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hot"):
        hot.promote()
        assert hot.is_hot()
