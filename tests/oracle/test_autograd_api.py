"""The autograd API beside live PyTorch: one program, run on both, must tell the same story.

See tests/oracle/story.py for what a program is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import chainrule

torch = pytest.importorskip("torch")

from tests.oracle.story import caught, graph, part, told  # noqa: E402

PROGRAMS: list[Callable[[Any], Any]] = []


def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(fn)
    return fn


# ------------------------------------------------------------------------------------------------------ Function


def double(t: Any, **more: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    body = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: g * 2), **more}
    return type("Double", (t.autograd.Function,), body)


@program
def function_node(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = double(t).apply(x)
    return [
        y, y.grad_fn.name(), type(y.grad_fn).__name__, graph(y.grad_fn), y.grad_fn.needs_input_grad,
        y.grad_fn.saved_tensors[0] is x, y.grad_fn.metadata, y.is_leaf, y.output_nr,
    ]  # fmt: skip


@program
def function_gradients_are_checked(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    bad = [
        lambda ctx, g: (g, g), lambda ctx, g: (g, None), lambda ctx, g: (), lambda ctx, g: 3.0, lambda ctx,
        g: t.ones(3),
        lambda ctx, g: g.double(), lambda ctx, g: None, lambda ctx, g: t.ones(()), lambda ctx,
        g: t.ones(4, 2),
    ]  # fmt: skip
    story = []
    for rule in bad:
        x.grad = None
        story.append(caught(lambda: double(t, backward=staticmethod(rule)).apply(x).sum().backward()))
        story.append(None if x.grad is None else told(t, x.grad))
    return story


@program
def function_refusals(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)

    def run(forward: Any, a: Any = x) -> str:
        return caught(lambda: double(t, forward=staticmethod(forward)).apply(a))

    def dirty(ctx: Any, a: Any) -> Any:
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    def lost(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a * 1

    def saves_number(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(3)
        return a * 1

    return [
        run(dirty), run(dirty, x * 1), run(dirty, x.view(2)), run(dirty, (x * 1).view(2)), run(lost, x * 1),
        run(saves_number),
        caught(lambda: double(t).apply(x, 3)), caught(lambda: t.autograd.Function.apply(x)),
        caught(lambda: double(t, vjp=staticmethod(lambda ctx, g: g)).apply(x).sum().backward()),
    ]  # fmt: skip


@program
def function_without_backward(t: Any) -> Any:
    class Forward(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x = t.ones(2, requires_grad=True)
    return [caught(lambda: Forward.apply(x).sum().backward()), Forward.apply(t.ones(2)).requires_grad]


@program
def function_of_several(t: Any) -> Any:
    seen: list[Any] = []

    class Split(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any) -> Any:
            whole = (x * 0).to(t.int64)
            ctx.mark_non_differentiable(whole)
            return x * k, "text", x + k, whole

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            seen.append([None if g is None else told(t, g) for g in gs])
            return gs[0] + gs[2], None

    x = t.tensor([1.0, 2.0], requires_grad=True)
    a, text, b, whole = Split.apply(x, 3)
    b.sum().backward()
    return [a, text, b, whole, a.output_nr, b.output_nr, whole.requires_grad, seen, x.grad]


@program
def function_materializes_or_not(t: Any) -> Any:
    story = []
    for choice in (True, False):

        class Two(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(choice)  # noqa: B023
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                story.append([None if g is None else told(t, g) for g in (a, b)])
                return b

        x = t.ones(2, requires_grad=True)
        Two.apply(x)[1].sum().backward()
        story.append(x.grad)
    return story


@program
def function_twice_differentiable(t: Any) -> Any:
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = t.tensor([1.0, 2.0], requires_grad=True)
    (g,) = t.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (gg,) = t.autograd.grad(g.sum(), x)
    return [g, gg]


@program
def function_once_differentiable(t: Any) -> Any:
    once = t.autograd.function.once_differentiable
    f = double(t, backward=staticmethod(once(lambda ctx, g: g * 2)))
    x = t.ones(2, requires_grad=True)
    go = t.ones(2, requires_grad=True)
    (g,) = t.autograd.grad(f.apply(x), x, go, create_graph=True)
    return [g, graph(g.grad_fn), caught(lambda: g.sum().backward())]


@program
def function_returns_its_input(t: Any) -> Any:
    same = double(t, forward=staticmethod(lambda ctx, x: x))
    x = t.ones(2, requires_grad=True)
    y = same.apply(x)
    y.sum().backward()
    plain = t.ones(2)
    z = same.apply(plain)
    return [y is x, y.requires_grad, x.grad, z is plain, caught(lambda: y.mul_(2))]


@program
def function_in_place(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    f = double(t, forward=staticmethod(forward))
    leaf = t.ones(4, requires_grad=True)
    base = leaf * 1
    y = f.apply(base)
    view_base = leaf * 1
    f.apply(view_base[:2])
    (y.sum() + view_base.sum()).backward()
    return [y is base, y.grad_fn.name(), view_base.grad_fn.name(), leaf.grad]


@program
def saved_values_that_changed(t: Any) -> Any:
    def square(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    f = double(t, forward=staticmethod(square), backward=staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]))
    leaf = t.ones(2, requires_grad=True)
    h = leaf * 1
    y = f.apply(h)
    h.add_(1)
    z = (leaf * 1).exp()
    w = z * 2
    z.add_(1)
    return [caught(lambda: y.sum().backward()), caught(lambda: w.sum().backward())]


# ------------------------------------------------------------------------------------------------ backward and grad


@program
def refusals_of_backward_and_grad(t: Any) -> Any:
    a = t.ones(3, requires_grad=True)
    out = lambda: (a * 2).sum()  # noqa: E731
    grad, backward = t.autograd.grad, t.autograd.backward
    calls = [
        lambda: grad(out(), []), lambda: grad(out(), {}), lambda: grad(out(), 3), lambda: grad(out(), [3]),
        lambda: grad(out(), t.ones(2)), lambda: grad(out(), t.ones(2, requires_grad=True)),
        lambda: grad(t.ones(()), a),
        lambda: grad([a.sum(), t.ones(())], a), lambda: (a * 1).backward(), lambda: (a * 1j).sum().backward(),
        lambda: out().backward(t.ones(2)), lambda: out().backward(t.ones((), dtype=t.complex64)),
        lambda: out().backward(3),
        lambda: backward(out(), inputs=[]), lambda: backward(out(), inputs=t.ones(2)), lambda: backward(3),
        lambda: backward([out(), a.sum()], [t.ones(())]), lambda: backward([]), lambda: grad([], a),
        lambda: grad(out(), a, allow_unused=False, materialize_grads=True), lambda: a.register_hook(3)(a),
        lambda: t.ones(2).register_hook(lambda g: g), lambda: t.ones(2).retain_grad(),
        lambda: (a * 1).register_post_accumulate_grad_hook(lambda p: None),
        lambda: setattr(a * 1, "requires_grad", False),
        lambda: setattr(a, "grad", t.ones(2)), lambda: setattr(a, "grad", t.ones(3, dtype=t.float64)),
        lambda: setattr(a, "grad", a),
        lambda: t.ones(2, dtype=t.int64).requires_grad_(),
        lambda: grad(out(), a, t.ones(2), is_grads_batched=True),
    ]  # fmt: skip
    return [caught(c) for c in calls]


@program
def a_freed_graph(t: Any) -> Any:
    a = t.ones(3, requires_grad=True)
    y = (a * a).exp().sum()
    y.backward()
    z = (a + 1).sum()
    z.backward()
    return [caught(y.backward), caught(z.backward), a.grad]


@program
def unused_and_materialized(t: Any) -> Any:
    a, b = (t.ones(2, requires_grad=True) for _ in range(2))
    y = (a * 2).sum()
    return [
        t.autograd.grad(y, (a, b), allow_unused=True, retain_graph=True),
        t.autograd.grad(y, (a, b), materialize_grads=True, retain_graph=True),
        t.autograd.grad(y, {"a": a, "b": b}, allow_unused=True, retain_graph=True),
        caught(lambda: t.autograd.grad(y, (a, b))),
    ]  # fmt: skip


@program
def batched_gradients(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    (g,) = t.autograd.grad(x.mean(), x, t.ones(2), is_grads_batched=True)
    return [t.autograd.grad(x**2, x, t.eye(2), is_grads_batched=True), g.sin_()]


@program
def accumulation(t: Any) -> Any:
    a = t.tensor([1.0, 2.0], requires_grad=True)
    (a * 3).sum().backward()
    first = a.grad
    (a * 4).sum().backward()
    inner = a * 1
    t.autograd.backward((inner * 5).sum(), inputs=[inner])
    return [a.grad is first, a.grad, inner.grad, a.grad._version]


@program
def edges(t: Any) -> Any:
    edge_of = t.autograd.graph.get_gradient_edge
    x = t.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    e = edge_of(h)
    (gh,) = t.autograd.grad(h.sum(), e, retain_graph=True)
    (gx,) = t.autograd.grad(e, x, grad_outputs=gh, retain_graph=True)
    scalar = edge_of(h.sum())
    (gs,) = t.autograd.grad(scalar, x)
    return [type(e).__name__, e.output_nr, e.node.name(), gh, gx, gs, caught(lambda: edge_of(t.ones(2)))]


# --------------------------------------------------------------------------------------------------------- hooks


@program
def order_of_hooks(t: Any) -> Any:
    log: list[str] = []
    x = t.ones(2, requires_grad=True)
    y = x * 2
    note = lambda name: lambda *a: log.append(name)  # noqa: E731
    y.grad_fn.register_hook(note("y node"))
    y.grad_fn.register_prehook(note("y before"))
    y.register_hook(note("y tensor"))
    y.retain_grad()
    y.register_hook(note("y tensor 2"))
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_hook(note("x node"))
    leaf.register_prehook(note("x before"))
    x.register_hook(note("x tensor"))
    x.register_post_accumulate_grad_hook(note("x accumulated"))
    y.sum().backward(retain_graph=True)
    log.append("grad")
    t.autograd.grad(y.sum(), x, retain_graph=True)
    log.append("inputs")
    y.sum().backward(inputs=[y])
    return log


@program
def hooks_change_gradients(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda gs: (gs[0] + 1,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, None))
    y.sum().backward(retain_graph=True)
    story = [told(t, y.grad), told(t, x.grad)]
    handle.remove()
    handle.remove()
    x.grad = y.grad = None
    y.sum().backward()
    return [*story, y.grad, x.grad]


@program
def what_hooks_may_not_return(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)

    def tensor_hook(result: Any) -> str:
        y = x * 2
        y.register_hook(lambda g: result)
        return caught(lambda: y.sum().backward())

    def node_hook(result: Any, before: bool) -> str:
        y = x * 2
        (y.grad_fn.register_prehook if before else y.grad_fn.register_hook)(lambda *a: result)
        return caught(lambda: y.sum().backward())

    one = t.ones(2)
    return [
        tensor_hook(3), tensor_hook(t.ones(3)), tensor_hook(one.double()), node_hook(3, True),
        node_hook((one, one), True),
        node_hook((t.ones(3),), True), node_hook((one,), False), node_hook((t.ones(3), None), False),
        node_hook(3, False),
    ]  # fmt: skip


@program
def hooks_across_in_place(t: Any) -> Any:
    log: list[str] = []
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append("before"))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: log.append("after"))
    y.sum().backward()
    return [log, y.grad, x.grad]


@program
def multi_grad_hooks(t: Any) -> Any:
    log: list[Any] = []
    a, b, c = (t.ones(2, requires_grad=True) for _ in range(3))
    register = t.autograd.graph.register_multi_grad_hook
    register((a, b, c), lambda gs: log.append([g is not None for g in gs]))
    register((a, b), lambda g: log.append("any"), mode="any")
    (a * b).sum().backward()
    (a + c).sum().backward(inputs=[c])
    return [sorted(map(str, log)), caught(lambda: register((a,), print, mode="some"))]


@program
def hooks_on_saved_tensors(t: Any) -> Any:
    log: list[Any] = []

    def pack(v: Any) -> Any:
        log.append(("pack", v.requires_grad, v.is_leaf, None if v.grad_fn is None else v.grad_fn.name()))
        return v.detach() * 1

    def unpack(v: Any) -> Any:
        log.append("unpack")
        return v * 2

    x = t.tensor([1.0, 2.0], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.exp()
    z.sum().backward()
    hooks = t.autograd.graph
    with hooks.disable_saved_tensors_hooks("not here"):
        refused = caught(lambda: hooks.saved_tensors_hooks(pack, unpack).__enter__())
    return [log, x.grad, refused]


@program
def saved_attributes(t: Any) -> Any:
    a = t.tensor([1.0, 2.0], requires_grad=True)
    y, z, s = a * a, a.exp(), a.sum(0)
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda v: v * 10, lambda v: v / 5)
    story = [
        y.grad_fn._saved_self, y.grad_fn._saved_other is a, z.grad_fn._saved_result, type(raw).__name__,
        caught(lambda: raw.register_hooks(lambda v: v, lambda v: v)),
        caught(lambda: raw.register_hooks(1, 2)),
        hasattr(y.grad_fn, "_saved_nonsense"), tuple(s.grad_fn._saved_self_sym_sizes),
    ]  # fmt: skip
    y.sum().backward()
    return [*story, a.grad, caught(lambda: y.grad_fn._saved_self), caught(lambda: t.autograd.SavedTensor())]


# --------------------------------------------------------------------------------------------------------- modes


@program
def grad_modes(t: Any) -> Any:
    on = t.is_grad_enabled
    story = [on()]
    with t.no_grad():
        story.append(on())
        with t.enable_grad():
            story.append(on())
        story.append(on())
    t.set_grad_enabled(False)
    story.append(on())
    t.set_grad_enabled(True)

    @t.no_grad()
    def count() -> Any:
        for _ in range(2):
            yield on()

    for inside in count():
        story += [inside, on()]

    @t.set_grad_enabled(False)
    def off() -> bool:
        return on()

    return [*story, off(), on(), repr(t.set_grad_enabled(True)), t.is_inference_mode_enabled()]


@program
def inference(t: Any) -> Any:
    w = t.ones(2, requires_grad=True)
    normal = t.ones(2)
    with t.inference_mode():
        made, of_w, view = t.ones(2), w * 2, normal[:1]
        made.add_(1)
        story = [made.is_inference(), of_w.is_inference(), view.is_inference(), of_w.requires_grad, t.is_grad_enabled()]
    return [
        *story, caught(lambda: made.add_(1)), caught(lambda: made * w), caught(made.requires_grad_),
        caught(lambda: made._version),
        (made.clone() * w).requires_grad, caught(lambda: view.mul_(w)), t.is_inference(made),
    ]  # fmt: skip


@program
def anomaly(t: Any) -> Any:
    x = t.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with t.autograd.detect_anomaly():
            y = (x * 0).sqrt() * 0
            text = caught(lambda: y.sum().backward())
    return [text, [re.split(r"\. |\n", str(w.message))[0] for w in seen], t.is_anomaly_enabled()]


# ---------------------------------------------------------------------------------------------- products and checks


@program
def products(t: Any) -> Any:
    f = t.autograd.functional
    x, y = t.tensor([1.0, 2.0], dtype=t.float64), t.tensor([3.0, 4.0], dtype=t.float64)
    fn = lambda a, b: (a * b, (a**2).sum())  # noqa: E731
    scalar = lambda a, b: (a**3 * b).sum()  # noqa: E731
    return [
        f.vjp(fn, (x, y), (x, t.ones((), dtype=t.float64))), f.jvp(fn, (x, y), (y, x)),
        f.jacobian(fn, (x, y)),
        f.jacobian(fn, (x, y), vectorize=True),
        f.jacobian(fn, (x, y), vectorize=True, strategy="forward-mode"),
        f.hessian(scalar, (x, y)),
        f.hessian(scalar, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode"),
        f.hvp(scalar, (x, y), (y, x)), f.vhp(scalar, (x, y), (y, x)),
        caught(lambda: f.vjp(fn, (x, 2))), caught(lambda: f.jvp(fn, (x, y), (x,))),
        caught(lambda: f.hvp(fn, (x, y), (x, y))),
        caught(lambda: f.jacobian(lambda a: a.detach(), x, strict=True)),
        caught(lambda: f.vhp(scalar, (x, y))),
    ]  # fmt: skip


@program
def checks(t: Any) -> Any:
    x = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
    z = t.tensor([1 + 1j, 2 - 1j], dtype=t.complex128, requires_grad=True)
    wrong = double(t, backward=staticmethod(lambda ctx, g: g * 3))
    check = t.autograd.gradcheck
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            check(t.sin, x), check(t.sin, x, fast_mode=True), check(t.sin, z),
            check(t.abs, z, check_forward_ad=True),
            check(lambda v: v * z, x, check_batched_grad=True), t.autograd.gradgradcheck(t.sin, x),
            t.autograd.gradgradcheck(t.sin, x, check_fwd_over_rev=True, check_undefined_grad=False),
            check(wrong.apply, x, raise_exception=False),
            caught(lambda: check(wrong.apply, x)).split(",")[0],
            caught(lambda: check(t.sin, x.detach())).split(",")[0],
            caught(lambda: check(lambda v: v.detach() * 2, x)).split(",")[0],
        ]  # fmt: skip


@program
def forward_mode(t: Any) -> Any:
    ad = t.autograd.forward_ad
    x, v = t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])
    story = [caught(lambda: ad.make_dual(x, v)), ad.unpack_dual(x).tangent]
    with ad.dual_level():
        d = ad.make_dual(x, v)
        out = ad.unpack_dual((d * d).sum())
        story += [
            out.primal, out.tangent, ad.unpack_dual(d).tangent is v, caught(ad.enter_dual_level),
            caught(lambda: ad.make_dual(d, v)),
            caught(lambda: ad.make_dual(x, t.ones(3))), caught(lambda: ad.make_dual(x.long(), v)),
            ad.unpack_dual(d.detach()).tangent,
        ]  # fmt: skip
    return [*story, ad.unpack_dual(d).tangent]


@program
def checkpoints(t: Any) -> Any:
    checkpoint = part(t, "utils.checkpoint").checkpoint
    story: list[Any] = []

    def fn(x: Any) -> Any:
        story.append("run")
        return x.sin().exp()

    for kw in ({"use_reentrant": False}, {"use_reentrant": True}, {"use_reentrant": False, "early_stop": False}):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        checkpoint(fn, x, **kw).sum().backward()
        story.append(told(t, x.grad))
    x = t.tensor([1.0, 2.0], requires_grad=True)
    story.append(caught(lambda: t.autograd.grad(checkpoint(fn, x, use_reentrant=True).sum(), x)))
    turns = [lambda v: v.sin().exp().sin(), lambda v: v.sin()]
    story.append(caught(lambda: checkpoint(lambda v: turns.pop(0)(v), x, use_reentrant=False).sum().backward()))
    return story


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore")
def test_both_tell_the_same_story(run: Callable[[Any], Any]) -> None:
    assert told(chainrule, run(chainrule)) == told(torch, run(torch))
