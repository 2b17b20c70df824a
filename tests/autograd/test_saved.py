"""Saved values: hooks on them, looking at them, changing them."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule as ch
from chainrule.autograd import graph
from chainrule.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)  # fmt: skip


def leaf(*values: float) -> Any:
    return ch.tensor(list(values), requires_grad=True)


def test_hooks_pack_and_unpack() -> None:
    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: t.item(), lambda v: ch.tensor([v * 10])):
        y = x * x
    y.sum().backward()
    assert x.grad.item() == 60.0


def test_a_pack_hook_is_given_the_tensor_itself_at_every_save() -> None:
    x, given = leaf(3.0), []
    with graph.saved_tensors_hooks(lambda t: given.append(t) or t, lambda t: t):
        h = x * x
        _ = h * h
    assert [id(t) for t in given] == [id(x), id(x), id(h), id(h)]


def test_a_pack_hook_may_not_write() -> None:
    hooks = graph.saved_tensors_hooks(lambda t: t.mul_(2), id)
    with pytest.raises(RuntimeError, match="modifying its input in place"), hooks:
        leaf(1.0).exp().exp()


def test_saved_values_can_be_asked_for_until_they_are_freed() -> None:
    x = leaf(3.0)
    y = x * x
    assert y.grad_fn._saved_self is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_self


def test_save_on_cpu_changes_nothing() -> None:
    x = leaf(3.0)
    with graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    assert x.grad.item() == 6.0


def test_saved_values_may_change_where_that_is_allowed() -> None:
    x = leaf(3.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        h = x * 1
        y = (h * h).sum()
        h.zero_()
        assert len(context.cloned) == 1
        y.backward()
    assert x.grad.item() == 6.0


def test_the_version_is_kept_where_asked() -> None:
    x = leaf(3.0) * 1
    y = x * x
    with ch.no_grad(), ch.autograd._unsafe_preserve_version_counter(x):
        x.add_(0)
    y.sum().backward()


def sines(x: Any) -> Any:
    return x.sin().exp().sin()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_changes_no_gradient_and_no_draw(reentrant: bool) -> None:
    def fn(v: Any) -> Any:
        return sines(v) * ch.rand(1)

    results = []
    for run in (fn, lambda v: checkpoint(fn, v, use_reentrant=reentrant)):
        ch.manual_seed(3)
        x = leaf(0.3, 0.4)
        run(x).sum().backward()
        results.append((x.grad.tolist(), ch.rand(1).item()))
    assert results[0] == results[1]


def test_checkpoints_nest() -> None:
    runs = []

    def inner(v: Any) -> Any:
        runs.append(1)
        return sines(v)

    def outer(v: Any) -> Any:
        return checkpoint(inner, v.cos(), use_reentrant=False).sin()

    x, plain = leaf(0.3), leaf(0.3)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    sines(plain.cos()).sin().sum().backward()
    assert x.grad.tolist() == plain.grad.tolist()
    assert len(runs) == 3


@pytest.mark.parametrize(("early", "count"), [(True, 1), (False, 2)])
def test_the_second_run_stops_when_all_is_there(early: bool, count: int) -> None:
    last: list[int] = []

    def fn(v: Any) -> Any:
        out = v.sin()
        last.append(1)
        return out.clone()

    with set_checkpoint_early_stop(early):
        y = checkpoint(fn, leaf(0.3), use_reentrant=False)
    y.sum().backward()
    assert len(last) == count


def test_a_second_run_that_differs_is_named_with_both_lines() -> None:
    turns = [lambda v: v.sin().exp(), lambda v: v.sin() * ch.ones(2)]
    y = checkpoint(lambda v: turns.pop(0)(v), leaf(0.3), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"(?s)different metadata.*saved at .*test_saved.*recomputed at"):
        y.sum().backward()


def test_a_group_of_passes_runs_once_more_together() -> None:
    runs = []

    def fn(v: Any) -> Any:
        runs.append(1)
        y = v.sin()
        return y, y.cos()

    x = leaf(0.3)
    y, z = checkpoint(fn, x, use_reentrant=False)
    with GraphExecGroup():
        (g,) = ch.autograd.grad(z, y, ch.ones(1))
        ch.autograd.grad(y, x, g)
    assert len(runs) == 2


def test_a_sequence_in_segments() -> None:
    x, plain = leaf(0.3), leaf(0.3)
    steps = [ch.sin, ch.exp, ch.cos, ch.sin]
    checkpoint_sequential(steps, 2, x, use_reentrant=False).sum().backward()
    plain.sin().exp().cos().sin().sum().backward()
    assert x.grad.tolist() == plain.grad.tolist()


def test_reentrant_checkpoints_refuse_grad() -> None:
    x = leaf(0.3)
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        ch.autograd.grad(checkpoint(sines, x, use_reentrant=True).sum(), x)


def test_what_only_a_view_without_history_asked_for_may_change() -> None:
    for mode in (ch.no_grad, ch.inference_mode):
        x = ch.tensor([1.0, 2.0], requires_grad=True)
        with mode():
            cut = x.view(-1)
        y = x * 2
        out = y * cut
        y.zero_()
        out.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]
