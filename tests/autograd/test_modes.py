"""Modes: recording, inference, anomaly, forward."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import chainrule as ch
from chainrule import overrides
from chainrule.autograd import forward_ad as ad
from chainrule.core import ambient
from chainrule.func.interpreters import Level, Vmap
from chainrule.utils import _python_dispatch

on = ch.is_grad_enabled


def leaf(*values: float) -> Any:
    return ch.tensor(list(values), requires_grad=True)


def test_modes_nest_and_restore_what_they_changed() -> None:
    with ch.no_grad():
        with ch.enable_grad():
            assert on()
        assert not on()
    assert on()


def _anomaly() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ch.autograd.detect_anomaly()


MODES: dict[str, Any] = {
    "no_grad": ch.no_grad,
    "inference_mode": ch.inference_mode,
    "set_grad_enabled": lambda: ch.set_grad_enabled(False),
    "anomaly": _anomaly,
    "autocast": lambda: ch.autocast("cpu", dtype=ch.bfloat16),
    "dual_level": ad.dual_level,
    "no saved hooks": lambda: ch.autograd.graph.disable_saved_tensors_hooks("no"),
    "saved hooks": lambda: ch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "mutation": ch.autograd.graph.allow_mutation_on_saved_tensors,
    "functions": overrides.BaseTorchFunctionMode,
    "no functions": overrides.DisableTorchFunction,
    "dispatch": _python_dispatch.TorchDispatchMode,
    "record": lambda: ambient.swapped(grad=False),
    "vmap": lambda: Vmap(2).entered(),
    "grad": lambda: Level().entered(),
}


@pytest.mark.parametrize("make", MODES.values(), ids=MODES)
def test_an_interrupt_leaves_no_mode_on(make: Any) -> None:
    """Ctrl-C is heard where a Python function begins and where a call returns; at the door of `__exit__` itself
    nothing can be done about it."""
    before = ambient.here(), len(ambient.LISTENING), len(ambient.QUIET)
    for at in range(1000):
        events = 0

        def strike(frame: Any, event: str, arg: Any) -> None:
            nonlocal events
            at_the_door = frame.f_code.co_name == "__exit__" and event == "call"
            if event not in ("call", "c_return") or at_the_door or frame.f_code.co_filename == __file__:
                return
            events += 1
            if events > at:
                sys.setprofile(None)
                raise KeyboardInterrupt

        made = make()
        try:
            sys.setprofile(strike)
            with made:
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if made.__class__ is ch.set_grad_enabled and ambient.here() is not before[0]:
            ch.set_grad_enabled(True)  # struck before the block began: it holds until then, as a function does
        assert (ambient.here(), len(ambient.LISTENING), len(ambient.QUIET)) == before, at
        assert "__getattribute__" not in vars(ch.Tensor)
        if events <= at:
            return
    raise AssertionError("never struck")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("through_a_view", [False, True])
def test_an_interrupt_leaves_no_values_without_their_history(through_a_view: bool) -> None:
    """Wherever Ctrl-C strikes in an in-place op: the gradient is that of the values, or it is refused."""
    refused = 0
    for at in range(2000):
        x = leaf(1.0, 2.0)
        y = x * 1
        target, events = y[:] if through_a_view else y, 0

        def strike(frame: Any, event: str, arg: Any) -> None:
            nonlocal events
            if event not in ("call", "c_return") or frame.f_code.co_filename == __file__:
                return
            events += 1
            if events > at:
                sys.setprofile(None)
                raise KeyboardInterrupt

        try:
            sys.setprofile(strike)
            target.mul_(2)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if events <= at:
            assert refused > 10
            return
        slope = 2.0 if y.tolist() == [2.0, 4.0] else 1.0
        assert (y._version > 0) or slope == 1.0
        try:
            assert ch.autograd.grad(y.sum(), x)[0].tolist() == [slope, slope], at
        except RuntimeError as error:
            assert "an in-place op was interrupted" in str(error)
            refused += 1
    raise AssertionError("never struck")


def test_a_switch_is_a_function_a_block_and_a_decorator() -> None:
    ch.set_grad_enabled(False)
    assert not on()
    ch.set_grad_enabled(True)
    with ch.set_grad_enabled(False):
        assert not on()

    @ch.set_grad_enabled(False)
    def off() -> bool:
        return on()

    assert on()
    assert not off()


def test_a_generator_is_in_the_mode_only_while_it_runs() -> None:
    @ch.no_grad()
    def inside() -> Iterator[bool]:
        yield on()
        yield on()

    for was_on in inside():
        assert not was_on
        assert on()


def test_the_marks_of_a_thread_end_with_it() -> None:
    def work() -> None:
        ch.set_grad_enabled(False)
        ch.autograd.set_detect_anomaly(True)

    before = len(ambient.QUIET), len(ambient.LISTENING)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (len(ambient.QUIET), len(ambient.LISTENING)) == before


def test_decorating_a_class_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @ch.no_grad()
        class Made:
            def __init__(self) -> None:
                self.on = on()

    assert not Made().on


def test_inference_tensors() -> None:
    w = leaf(1.0)
    with ch.inference_mode():
        made = ch.ones(1)
        made.add_(1)
    assert made.is_inference()
    for refused in (lambda: made.add_(1), lambda: made * w, lambda: made.requires_grad_(), lambda: made._version):
        with pytest.raises(RuntimeError):
            refused()
    assert (made.clone() * w).requires_grad


def test_anomaly_mode_names_the_nan_and_the_forward_line() -> None:
    x = leaf(0.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with ch.autograd.detect_anomaly():
            y = (x * 0).sqrt() * 0
            with pytest.raises(RuntimeError, match=r"'SqrtBackward0' returned nan values in its 0th output"):
                y.sum().backward()
    assert any("test_modes.py" in str(w.message) for w in seen)


def test_dual_numbers() -> None:
    with ad.dual_level():
        x = ad.make_dual(ch.tensor([1.0, 2.0]), ch.tensor([3.0, 4.0]))
        value, tangent = ad.unpack_dual((x * x).sum())
        assert (value.item(), tangent.item()) == (5.0, 22.0)
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            ad.enter_dual_level()
    assert ad.unpack_dual(x).tangent is None


def test_forward_over_reverse() -> None:
    x = leaf(1.0, 2.0)
    with ad.dual_level():
        d = ad.make_dual(x, ch.ones(2))
        (g,) = ch.autograd.grad(d.exp().sum(), d, create_graph=True)
        assert ad.unpack_dual(g).tangent.tolist() == pytest.approx(x.exp().tolist())


def test_dual_levels_inside_a_transform() -> None:
    def push(t: Any) -> Any:
        with ad.dual_level():
            return ad.unpack_dual(ad.make_dual(ch.tensor([1.0, 2.0]), t).exp()).tangent

    rows = ch.vmap(push)(ch.eye(2))
    assert rows.diagonal().tolist() == pytest.approx(ch.tensor([1.0, 2.0]).exp().tolist())


def test_variable_is_what_a_tensor_was_once_called() -> None:
    t = ch.ones(2)
    assert isinstance(t, ch.autograd.Variable)
    v = ch.autograd.Variable(t, requires_grad=True)
    assert v.requires_grad
    assert not t.requires_grad


def test_profiled_blocks() -> None:
    with ch.autograd.profiler.profile() as p:
        for _ in range(2):
            with ch.autograd.profiler.record_function("step"):
                pass
    (event,) = p.key_averages()
    assert (event.key, event.count) == ("step", 2)
    assert "step" in p.key_averages().table()


def test_levels_of_two_threads_do_not_meet() -> None:
    with ad.dual_level():
        d = ad.make_dual(ch.ones(2), ch.ones(2))
        thread = threading.Thread(target=lambda: ad.dual_level().__call__(lambda: None)())
        thread.start()
        thread.join()
        assert ad.unpack_dual(d).tangent is not None


def test_a_subclass_met_once_leaves_later_passes_on_the_fast_path() -> None:
    class Mine(ch.Tensor):  # type: ignore[name-defined,misc]
        pass

    (ch.ones(2).as_subclass(Mine) * 2).sum()
    records, x = [], leaf(1.0, 2.0)
    y = (x * x).sum()
    y.register_hook(lambda g: records.append(ambient.here()))
    ch.autograd.grad(y, x, create_graph=True)
    assert records == [ambient.DEFAULT]
