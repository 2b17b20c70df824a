"""Hooks: when they run, what they see, what they may return, how they go."""

from __future__ import annotations

import pickle
import sys
import threading
from collections import OrderedDict
from typing import Any

import pytest

import chainrule as ch
from chainrule.utils.hooks import RemovableHandle


def leaf(*values: float) -> Any:
    return ch.tensor(list(values), requires_grad=True)


def test_order() -> None:
    log: list[str] = []
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_hook(lambda *a: log.append("node"))
    y.grad_fn.register_prehook(lambda *a: log.append("before"))
    y.register_hook(lambda g: log.append("tensor"))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y.sum().backward()
    assert log == ["tensor", "before", "node", "leaf", "accumulated"]


def test_hooks_see_no_recording_unless_a_graph_is_made() -> None:
    seen: list[bool] = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: seen.append(ch.is_grad_enabled()))
    y.sum().backward(retain_graph=True)
    ch.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [False, True]


def test_a_handle_takes_its_hook_away_once_and_may_be_a_context() -> None:
    calls: list[int] = []
    x = leaf(1.0)
    with x.register_hook(lambda g: calls.append(1)) as handle:
        (x * 1).sum().backward()
    handle.remove()
    (x * 1).sum().backward()
    assert calls == [1]


def test_a_hook_cannot_fill_a_gap() -> None:
    y = leaf(1.0) * 2  # PyTorch has an edge for the number
    y.grad_fn.register_hook(lambda gs, _: (gs[0], gs[0]))
    first, second = leaf(1.0, 2.0).unbind(0)
    second.grad_fn.register_prehook(lambda gs: (gs[0], gs[0]))
    for loss in (y.sum(), first.sum()):
        with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
            loss.backward()


@pytest.mark.parametrize("of", ["leaf", "node"])
def test_hooks_of_several_threads_all_stay(of: str) -> None:
    calls: list[None] = []
    every = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            x = leaf(1.0) if of == "leaf" else leaf(1.0) * 2
            start = threading.Barrier(4)

            def register(x: Any = x, start: Any = start) -> None:
                start.wait()
                for _ in range(25):
                    x.register_hook(lambda g: calls.append(None))

            threads = [threading.Thread(target=register) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            x.backward()
    finally:
        sys.setswitchinterval(every)
    assert len(calls) == 20 * 100


def test_a_hook_may_remove_itself() -> None:
    calls: list[int] = []
    x = leaf(1.0)

    def once(g: Any) -> None:
        calls.append(1)
        handle.remove()

    handle = x.register_hook(once)
    for _ in range(2):
        (x * 1).sum().backward()
    assert calls == [1]


def test_handles_survive_pickling() -> None:
    table: OrderedDict[int, Any] = OrderedDict()
    handle = RemovableHandle(table)
    copy = pickle.loads(pickle.dumps(handle))
    assert copy.id == handle.id
    copy.remove()


def test_hooks_stay_with_the_history_they_were_registered_on() -> None:
    log: list[str] = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: log.append(f"old {g.item()}"))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: log.append(f"new {g.item()}"))
    y.sum().backward()
    assert log == ["new 1.0", "old 3.0"]
    assert y.grad.item() == 1.0


def test_a_post_accumulate_hook_may_step_and_clear() -> None:
    x = leaf(1.0)

    def step(p: Any) -> None:
        p.sub_(0.5 * p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.item() == 0.0
    assert x.grad is None
    x.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(RuntimeError, match="should return None"):
        (x * 2).sum().backward()


def test_multi_grad_hook_waits_for_those_that_will_come() -> None:
    got: list[Any] = []
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    handle = ch.autograd.graph.register_multi_grad_hook((a, b, c), lambda gs: got.append([g is not None for g in gs]))
    (a * b).sum().backward()
    handle.remove()
    (a * b * c).sum().backward()
    assert got == [[True, True, False]]


def test_undefined_gradients_reach_hooks_as_none() -> None:
    seen: list[Any] = []
    x = leaf(1.0, 2.0)
    first, second = x.unbind()
    first.register_hook(seen.append)
    second.backward()
    assert seen == [None]
    assert x.grad.tolist() == [0.0, 1.0]


def test_callbacks_run_at_the_end_of_the_pass() -> None:
    log: list[str] = []
    x = leaf(1.0)
    y = x * 2
    queue = ch.autograd.Variable._execution_engine.queue_callback

    def hook(g: Any) -> None:
        queue(lambda: log.append("end"))
        log.append("hook")

    y.register_hook(hook)
    x.register_hook(lambda g: log.append("leaf"))
    y.sum().backward()
    assert log == ["hook", "leaf", "end"]
    with pytest.raises(RuntimeError, match="during backward pass"):
        queue(lambda: None)


def test_hooks_of_a_leaf_leave_it_reachable_from_older_graphs() -> None:
    x = ch.tensor(2.0, requires_grad=True)
    handle = x.register_hook(lambda g: None)
    old = x**2
    (x**3).backward()
    handle.remove()
    (g,) = ch.autograd.grad(old, x)
    assert g.item() == 4.0


def test_a_pass_inside_a_pass_shares_a_leaf_with_hooks() -> None:
    x = ch.tensor(2.0, requires_grad=True)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))

    def inside(g: Any) -> None:
        with ch.autograd.enable_grad():
            (x * 1000).backward()

    left, right = x * 3, x * 5
    right.register_hook(inside)
    (left + right).backward()
    assert x.grad is not None and x.grad.item() == 1008.0
    assert seen == [1000.0, 8.0]
