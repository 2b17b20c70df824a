"""What `linearize` records is run again as it ran: also where the function changes tensors in place."""

from __future__ import annotations

from typing import Any

import chainrule as ch
from chainrule.func import jvp, linearize


def changes_what_it_made(x: Any) -> Any:
    y = ch.zeros(3)
    y.add_(x * x)
    y[0] = x[1] * 2
    y[1:].mul_(x[1:])
    return y


def changes_through_views(x: Any) -> Any:
    y = x.clone()
    y.mul_(x)
    z = y.view(3, 1)
    z.add_(1)
    y.sin_()
    return z.sum(1) * y


def test_every_replay_gives_the_same() -> None:
    x, v = ch.tensor([0.5, 1.0, 2.0]), ch.tensor([1.0, 2.0, 3.0])
    for fn in (changes_what_it_made, changes_through_views):
        value, push = linearize(fn, x)
        before = value.tolist()
        _, want = jvp(fn, (x,), (v,))
        for _ in range(3):
            assert ch.allclose(push(v), want)
            assert ch.allclose(push(2 * v), 2 * want)
        assert value.tolist() == before and x.tolist() == [0.5, 1.0, 2.0]
