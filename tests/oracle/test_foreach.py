"""`torch._foreach_*` beside live PyTorch: every function, every form of its arguments."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

from tests.oracle.story import caught, told  # noqa: E402

NAMES = sorted(n for n in dir(torch) if n.startswith("_foreach_"))
_BINARY = frozenset("add sub mul div clamp_min clamp_max maximum minimum pow".split())


def pair(t: Any) -> list[Any]:
    return [t.ones(2) * 0.3, t.ones(3) * 0.4]


def arguments(t: Any, base: str) -> list[tuple[Any, ...]]:
    """Argument lists for one function, right ones and wrong ones."""
    both = [t.ones(2), t.ones(3) * 0.1]
    if base in _BINARY:
        more: list[Any] = [2, 0.2, [0.2, 3], both, [1], [], both[:1]]
        return [(pair(t), m) for m in [*more, *([t.tensor(2.0), t.ones(2)] if base in ("add", "mul", "div") else [])]]
    if base == "lerp":
        return [(pair(t), both, w) for w in (0.5, [0.1, 0.2], both, [1])]
    if base in ("addcdiv", "addcmul"):
        return [
            (pair(t), both, both),
            *[(pair(t), both, both, w) for w in (0.5, [0.1, 0.2], t.tensor([0.1, 0.5]), [1])],
        ]
    if base == "copy":
        return [(pair(t), both), (pair(t), both[:1])]
    if base == "mm":
        return [([t.ones(2, 2)], [t.eye(2)])]
    return [(pair(t),), ([],), (t.ones(2),), ([t.ones(2), 3],)]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_for_every_tensor(name: str) -> None:
    def story(t: Any) -> Any:
        results = []
        for args in arguments(t, name.removeprefix("_foreach_").rstrip("_")):
            text = caught(lambda: getattr(t, name)(*args))[:60]
            results.append(text if text != "nothing" else (args[0], told(t, getattr(t, name)(*args))))
        return told(t, results)

    assert story(chainrule) == story(torch)


def test_gradients_and_kinds_of_results() -> None:
    def story(t: Any) -> Any:
        xs = [t.ones(2, requires_grad=True), t.ones(3, requires_grad=True)]
        ys = t._foreach_mul(t._foreach_exp(xs), [2, 3])
        same = t._foreach_add_(ys, 1) is ys
        kinds = [type(ys).__name__, type(t._foreach_add(xs, xs, alpha=2)).__name__, same]
        found = [
            t._foreach_norm(pair(t), 1, dtype=t.float64),
            t._foreach_pow(2.0, pair(t)),
            t._foreach_powsum(pair(t), 3),
        ]
        return told(t, [kinds, found, t.autograd.grad(sum(y.sum() for y in ys), xs)])

    assert story(chainrule) == story(torch)
