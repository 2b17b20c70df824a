"""Functions with a backward of their own."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import chainrule as ch
from chainrule.autograd import Function
from chainrule.autograd.function import once_differentiable


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (out,) = ctx.saved_tensors
        return g * out


class Scale(Function):
    @staticmethod
    def forward(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None

    @staticmethod
    def jvp(ctx: Any, t: Any, _: Any) -> Any:
        return t * ctx.factor


def leaf(*values: float) -> Any:
    return ch.tensor(list(values), requires_grad=True)


def test_context_is_the_node() -> None:
    x = leaf(0.0, 1.0)
    y = Exp.apply(x)
    assert y.grad_fn.name() == "ExpBackward"
    assert isinstance(y.grad_fn, ch.autograd.graph.Node)
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_saved_values_are_released_and_say_so() -> None:
    y = Exp.apply(leaf(1.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"backward through the graph a second time"):
        y.backward()


def test_what_is_saved_can_be_differentiated_again() -> None:
    x = leaf(1.0)
    (g,) = ch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (gg,) = ch.autograd.grad(g.sum(), x)
    assert gg.item() == pytest.approx(2.718281828, rel=1e-6)


def test_setup_context_sees_defaults_and_keywords() -> None:
    for args, kwargs, want in (((), {}, 2.0), ((3.0,), {}, 3.0), ((), {"factor": 4.0}, 4.0)):
        x = leaf(1.0)
        Scale.apply(x, *args, **kwargs).sum().backward()
        assert x.grad.item() == want


def test_jvp_pushes_tangents() -> None:
    ad = ch.autograd.forward_ad
    with ad.dual_level():
        out = Scale.apply(ad.make_dual(ch.ones(2), ch.tensor([1.0, 2.0])), 5.0)
        assert ad.unpack_dual(out).tangent.tolist() == [5.0, 10.0]


def test_an_input_returned_is_another_tensor_that_cannot_be_changed_in_place() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.mul_(2)
    y.sum().backward()
    assert x.grad.item() == 3


def test_once_differentiable_refuses_the_second_time() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            assert not ch.is_grad_enabled()
            return g * 2

    x, go = leaf(1.0), leaf(1.0)
    (g,) = ch.autograd.grad(Once.apply(x), x, go, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda g: (g, g), "incorrect number of gradients"),
        (lambda g: 3.0, r"expected Variable or None \(got float\)"),
        (lambda g: ch.ones(5), r"got \[5\] but expected shape compatible with \[2\]"),
    ],
)
def test_gradients_are_checked(result: Any, words: str) -> None:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return result(g)

    with pytest.raises(RuntimeError, match=words) as failure:
        Bad.apply(leaf(1.0, 2.0)).sum().backward()
    assert any("test_function.py" in note for note in failure.value.__notes__), "the forward line is named"


def test_an_error_in_forward_leaves_the_mode_as_it_was() -> None:
    class Breaks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Breaks.apply(leaf(1.0))
    assert ch.is_grad_enabled()


def test_a_graph_of_functions_dies_without_the_collector() -> None:
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None
    finally:
        gc.enable()


def test_marking_an_input_as_dirty_counts_as_a_change() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    for x in (ch.ones(2), ch.ones(2, requires_grad=True) * 1):
        saved = x * ch.ones(2, requires_grad=True)
        assert Doubled.apply(x)._version == 2
        with pytest.raises(RuntimeError, match="is at version 2; expected version 0"):
            saved.sum().backward()
