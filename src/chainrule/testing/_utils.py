"""Random functions under test: the same draws for every call, and the generator as it was afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from chainrule.ops.random import get_rng_state, manual_seed, set_rng_state

__all__ = ["freeze_rng_state", "wrapper_set_seed"]


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Put the state of the default generator back at the end."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`op(*args, **kwargs)` with seed 42, and nobody else's draws changed."""
    with freeze_rng_state():
        manual_seed(42)
        return op(*args, **kwargs)
