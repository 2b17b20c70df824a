"""What `linearize` records is run again as it ran: also where the function changes tensors in place."""

from __future__ import annotations

from typing import Any

import chainrule as ch
from chainrule.func import grad, jvp, linearize, vmap


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


def quiet(x: Any) -> Any:
    with ch.no_grad():
        y = x.sin()
    return y * x


def curved(x: Any) -> Any:
    return (x * x.sin()).cumsum(0)


def test_inside_transforms_it_is_the_jvp() -> None:
    """PyTorch gives zeros, or refuses."""
    x, v = ch.tensor([0.5, 1.0, 2.0]), ch.tensor([1.0, 2.0, 3.0])
    for fn in (curved, quiet, changes_through_views):
        pushed = lambda x, fn=fn: linearize(fn, x)[1](v + 0 * x)  # noqa: E731
        wanted = lambda x, fn=fn: jvp(fn, (x,), (v + 0 * x,))[1]  # noqa: E731
        for around in (
            lambda f: grad(lambda x: f(x).sum())(x),
            lambda f: grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(x),
            lambda f: vmap(f)(ch.stack([x, 2 * x])),
            lambda f: jvp(f, (x,), (v,))[1],
            lambda f: linearize(f, x)[1](v),
        ):
            assert ch.allclose(around(pushed), around(wanted)), fn.__name__


def test_what_was_drawn_stays_drawn() -> None:
    def noisy(x: Any) -> Any:
        y = ch.empty(3).uniform_() * x
        return ch.nn.functional.dropout(y * ch.rand_like(x) + ch.randn(3) * x)

    x, v = ch.tensor([0.5, 1.0, 2.0]), ch.tensor([1.0, 2.0, 3.0])
    ch.manual_seed(0)
    _, want = jvp(noisy, (x,), (v,))
    ch.manual_seed(0)
    _, push = linearize(noisy, x)
    assert ch.allclose(push(v), want) and ch.allclose(push(v), want)
