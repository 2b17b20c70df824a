"""The engine as its users meet it: errors that teach, deep graphs, passes inside passes, many threads, no
garbage."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import pytest

import chainrule as ch
from chainrule.autograd import Function, node
from chainrule.core.tensor import Extra


def leaf(*values: float) -> Any:
    return ch.tensor(list(values), requires_grad=True)


def test_a_long_chain_is_walked_and_freed_without_recursion() -> None:
    x = ch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_views_of_views_cost_what_one_costs() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y
    for _ in range(20_000):
        v = v.view(2)
    w = v
    for _ in range(2_000):
        w = w.split(1)[0].expand(2)
    v.mul_(3)
    assert v.grad_fn.name() == "AsStridedBackward0"
    (y.sum() + v.sum()).backward()
    assert x.grad.tolist() == [6, 6]


def test_thousands_of_passes_inside_each_other() -> None:
    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.depth = x.item()
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth > 0:
                with ch.enable_grad():
                    inner = ch.tensor(ctx.depth - 1, requires_grad=True)
                    Nested.apply(inner).backward()
            return g

    x = ch.tensor(2000.0, requires_grad=True)
    Nested.apply(x).backward()
    assert x.grad.item() == 1.0


def test_many_threads_may_pull_through_one_graph() -> None:
    x = leaf(1.0)
    y = (x * 2).exp().sum()
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    (once,) = ch.autograd.grad(y, x)
    assert x.grad.item() == pytest.approx(8 * once.item())


def test_no_thread_loses_the_gradient_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads meet a leaf for the first time, and the first is slow."""
    make, delays = Extra.__init__, iter((0.05, 0.0))

    def slowly(self: Extra) -> None:
        time.sleep(next(delays, 0.0))
        make(self)

    x = leaf(1.0)
    assert x.extra is None
    monkeypatch.setattr(Extra, "__init__", slowly)
    threads = [threading.Thread(target=lambda: (x * 2).sum().backward()) for _ in range(2)]
    for t in threads:
        t.start()
        time.sleep(0.01)
    for t in threads:
        t.join()
    assert x.grad.item() == 4.0


def test_graphs_die_without_the_collector() -> None:
    gc.disable()
    try:
        y = (leaf(1.0) * 2).exp()
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None
    finally:
        gc.enable()


class _Doubled(ch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        assert ctx.needs_input_grad == (True,)
        return g * 2 * ctx.saved_tensors[0] / ctx.saved_tensors[0]


def _watched_together(x: Any) -> Any:
    y = x * 2
    seen: list[Any] = []
    ch.autograd.graph.register_multi_grad_hook((x, y), seen.append)
    (y * x).sum().backward(retain_graph=True)
    (x * 1).sum().backward()  # only one of them is reached; then both again, at a new node of the leaf
    (y + x).sum().backward()
    assert [[g is None for g in gs] for gs in seen] == [[False, False], [False, True], [False, False]]
    return y


LEAVING_NOTHING: dict[str, Any] = {
    "grad": lambda x: ch.func.grad(lambda a: (a.sin() * a).sum())(x),
    "jvp": lambda x: ch.func.jvp(ch.sin, (x,), (x,)),
    "vjp": lambda x: ch.func.vjp(ch.sin, x),
    "vmap": lambda x: ch.vmap(ch.func.grad(ch.sin))(x),
    "hessian": lambda x: ch.func.hessian(lambda a: (a**3).sum())(x),
    "linearize": lambda x: ch.func.linearize(ch.sin, x),
    "function": lambda x: ch.vmap(_Doubled.apply)(x).sum().backward(),
    "together": _watched_together,
}


@pytest.mark.parametrize("run", LEAVING_NOTHING.values(), ids=LEAVING_NOTHING)
def test_nothing_is_left_for_the_collector(run: Any) -> None:
    run(leaf(1.0, 2.0))
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            x = leaf(1.0, 2.0)
            run(x)
            held = weakref.ref(x)
            del x
            assert held() is None
        assert gc.collect() < 10
    finally:
        gc.enable()


def test_the_mode_outlives_an_interrupt() -> None:
    x = leaf(1.0)
    y = x * 2

    def interrupt(g: Any) -> None:
        raise KeyboardInterrupt

    y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    assert ch.is_grad_enabled()
    (x * 3).sum().backward()
    assert x.grad.item() == 3.0


def test_a_second_backward_names_what_was_shared_and_who_freed_it() -> None:
    y = leaf(1.0).exp()
    y.sum().backward()
    story = r"(?s)second time.*shared: .*ExpBackward0.*test_engine.*freed: .*test_engine"
    with pytest.raises(RuntimeError, match=story):
        y.sum().backward()


def test_a_changed_value_names_who_saved_and_who_changed_it() -> None:
    y = leaf(1.0).exp()
    z = y * y
    y.add_(1)
    story = r"(?s)output 0 of Add, is at version 1.*saved: .*MulBackward0.*changed: .*add_.*fix:"
    with pytest.raises(RuntimeError, match=story):
        z.sum().backward()


def test_a_cut_path_names_the_cut() -> None:
    with ch.no_grad():
        y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match=r"(?s)does not require grad.*cut: *by no_grad.*test_engine"):
        (y * 3).sum().backward()


def test_only_what_leads_to_the_inputs_is_visited() -> None:
    class Never(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise AssertionError("visited")

    x, y = leaf(1.0), leaf(2.0)
    out = (Never.apply(x) + y).sum()
    (g,) = ch.autograd.grad(out, y, retain_graph=True)
    assert g.item() == 1.0
    out.backward(inputs=[y])
    assert y.grad.item() == 1.0


def test_gradients_accumulate_in_place() -> None:
    x = leaf(1.0)
    (x * 2).sum().backward()
    held = x.grad
    (x * 3).sum().backward()
    assert x.grad is held
    assert held.item() == 5.0


def test_grad_dtype_decides_what_a_leaf_gets() -> None:
    for asked, want in ((None, ch.float32), (ch.float16, ch.float16)):
        x = leaf(1.0)
        x.grad_dtype = asked
        (x * 2).sum().backward()
        assert x.grad.dtype is want


def test_a_node_shows_its_class_and_names_where_pytorch_wrote_it_by_hand() -> None:
    x = ch.tensor([3.0], requires_grad=True)
    for out, title in ((ch.zeros(1).copy_(x), "CopyBackwards"), (ch.floor_divide(x, 2.0), "NotImplemented")):
        assert repr(out.grad_fn).startswith(f"<{title} object at ")
        assert out.grad_fn.name() == f"torch::autograd::{title}"


def test_a_node_of_a_users_function_shows_where_functions_live() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    node = Twice.apply(leaf(1.0)).grad_fn
    assert repr(node).startswith("<torch.autograd.function.TwiceBackward object at ") and node.name() == "TwiceBackward"


def test_a_gradient_that_nobody_else_holds_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "accumulate", lambda leaf, g: pytest.fail(f"an array of shape {g.shape} was copied"))
    w, x = ch.ones(3, 3, requires_grad=True), ch.ones(2, 3)
    (x @ w).sum().backward()
    assert w.grad.sum() == 18


def test_gradients_of_two_leaves_never_share_memory() -> None:
    a, b = ch.ones(3, requires_grad=True), ch.ones(3, requires_grad=True)
    (a + b).backward(ch.ones(3))
    a.grad.add_(1)
    assert b.grad.tolist() == [1, 1, 1]


def test_cotangents_of_inputs_without_history_go_nowhere() -> None:
    bare, x = ch.ones(2), leaf(1.0, 2.0)

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b, g * a

    def written(part: Any) -> Any:
        base = ch.zeros(3)
        base[:2].add_(part)
        base[0] = part[1]
        return base

    for made in (
        lambda: ch.cat([bare, x]), lambda: ch.stack([bare, x, bare]), lambda: bare * x, lambda: Product.apply(bare, x),
        lambda: written(x), lambda: ch.where(x > 1, bare, x), lambda: ch.lerp(bare, x, bare),
        lambda: ch.addcmul(bare, x, bare),
        lambda: ch.einsum("i,i->i", bare, x), lambda: bare.index_put((ch.tensor([0]),), x[:1]),
    ):  # fmt: skip
        for create_graph in (False, True):
            out = made()
            out.grad_fn.register_hook(lambda gi, go: tuple(ch.ones(2) if g is None else None for g in gi) and None)
            (g,) = ch.autograd.grad(out.sum(), x, create_graph=create_graph)
            assert g.shape == x.shape
