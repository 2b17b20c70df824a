"""Graphs beside live PyTorch's: the nodes one walks along, the order in which hooks see gradients, memory exchanged."""

from __future__ import annotations

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


# --------------------------------------------------------------------------------------------- order of what hooks see


def order(t: Any, fn: Callable[..., Any], names: str) -> str:
    log = []
    leaves = [t.ones(2, 2, requires_grad=True) for _ in names]
    for name, leaf in zip(names, leaves):
        leaf.register_hook(lambda g, name=name: log.append(f"{name}"))
        leaf.register_post_accumulate_grad_hook(lambda leaf, name=name: log.append(f"{name}+"))
    fn(*leaves).sum().backward()
    return " ".join(log)


@program
def leaves_get_their_gradients_in_order(t: Any) -> Any:
    linear = part(t, "nn.functional").linear
    return [
        order(t, lambda a, b: a * b, "ab"), order(t, t.addmm, "abc"), order(t, lambda a, b, c: c + a * b, "abc"),
        order(t, lambda a, b: t.cat([a, b]), "ab"), order(t, lambda a, b, c, d: (a * b).exp() * (c * d).sin(), "abcd"),
        order(t, lambda a, b, c, d: (a * b).exp() * (a + d).sin() * c, "abcd"), order(t, linear, "xw"),
        order(t, lambda x, w, b: linear(x, w, b[0]), "xwb"), order(t, lambda a, b, c: t.where(a > 0, b, c) * a, "abc"),
        order(t, lambda a, b: (a @ b).relu() @ a, "ab"), order(t, lambda a, b, c, d: ((a * b) * c) * d * a * b, "abcd"),
        order(t, lambda a, b, c, d: t.cat([a * 1, b, c * 1, d]), "abcd"),
    ]  # fmt: skip


@program
def a_leaf_that_an_old_graph_holds_does_not_wait_for_the_end(t: Any) -> Any:
    log = []
    a, b = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    for name, leaf in (("a", a), ("b", b)):
        leaf.register_post_accumulate_grad_hook(lambda leaf, name=name: log.append(name))
    old = (a * b).sum()
    y = a * 1
    y.register_hook(lambda g: log.append("y"))
    new = (y * b).sum()
    new.backward()
    old.backward()
    return log


@program
def steps_of_linear(t: Any) -> Any:
    linear = part(t, "nn.functional").linear
    story = []
    for shape in ((4, 2), (2, 4, 2)):
        for biased in (False, True):
            x = t.ones(shape, requires_grad=True)
            w = t.ones(3, 2, requires_grad=True)
            b = t.ones(3, requires_grad=True) if biased else None
            story += [graph(linear(x, w, b).grad_fn), graph(linear(x.detach(), w, b).grad_fn)]
            for y in (linear(x, w, b), linear(x * 1, w * 1, b)):
                story += watched_backward(y)
    return story


def watched_backward(y: Any) -> list[Any]:
    log: list[Any] = []

    def watch(node: Any) -> None:
        node.register_hook(
            lambda gi, go: log.append(
                (node.name(), [g is None or tuple(g.shape) for g in gi], [tuple(g.shape) for g in go])
            )
        )
        for below, _ in node.next_functions:
            if below is not None:
                watch(below)

    watch(y.grad_fn)
    y.sum().backward()
    return log


@program
def steps_of_linear_do_not_change_its_gradients(t: Any) -> Any:
    linear = part(t, "nn.functional").linear
    story = []
    for shape in ((4, 2), (2, 4, 2)):
        x = (t.arange(8.0).reshape(4, 2).expand(shape) * 0.1).clone().requires_grad_()
        w = (t.arange(6.0).reshape(3, 2) * 0.3 - 1).requires_grad_()
        b = t.ones(3, requires_grad=True)
        y = linear(x, w, b)
        graph(y.grad_fn)
        gs = t.autograd.grad((y**3).sum(), [x, w, b], create_graph=True)
        story += [gs, t.autograd.grad(sum(g.sum() for g in gs), [x, w, b])]
    return story


# ------------------------------------------------------------------------------------------------- hooks of modules


@program
def hooks_of_modules(t: Any) -> Any:
    nn = part(t, "nn")
    story: list[Any] = []
    m = nn.Linear(2, 3)
    with t.no_grad():
        m.weight.fill_(0.5)
        m.bias.fill_(0.1)
    m.register_full_backward_hook(lambda _, gi, go: story.append((list(gi), list(go))))
    m.register_full_backward_pre_hook(lambda _, go: story.append(list(go)))
    x = t.ones(4, 2, requires_grad=True)
    story.append(graph(m(x).grad_fn))
    m(x).sum().backward()
    m(t.ones(4, 2)).sum().backward()
    (g,) = t.autograd.grad((m(x) ** 2).sum(), [x], create_graph=True)
    t.autograd.grad(g.sum(), [m.weight])
    s = nn.Sigmoid()
    s.register_full_backward_hook(lambda *a: None)
    story.append(caught(lambda: s(x).add_(1)))
    s.register_full_backward_hook(lambda _, gi, go: (gi[0], gi[0]))
    story.append(caught(lambda: s(x).sum().backward()))
    return story


@program
def hooks_of_modules_with_other_arguments(t: Any) -> Any:
    class Two(part(t, "nn").Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, k: int, b: Any) -> Any:
            return a * b, k, b + 1

    story: list[Any] = []
    m = Two()
    m.register_full_backward_hook(lambda _, gi, go: story.append((list(gi), list(go))))
    a, b = t.ones(2, requires_grad=True), t.ones(2)
    r = m(a, 3, b)
    (r[0] * r[2]).sum().backward()
    return [*story, r[0].requires_grad, r[2].requires_grad, r[1]]


# ------------------------------------------------------------------------------------------------- memory exchanged


@program
def set_gives_a_tensor_other_memory(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    out = x.clone()
    edge = t.autograd.graph.get_gradient_edge(x)
    story = [caught(lambda: x.set_(t.ones(2)))[:50]]
    with t.no_grad():
        x.set_(t.ones(3))
    story += [caught(lambda: t.autograd.grad(out.sum(), x, retain_graph=True)), t.autograd.grad(out.sum(), edge)]
    y = x * 2
    y.set_(t.ones(2))
    story += [y.grad_fn.name(), caught(lambda: y.sum().backward())]
    d = t.zeros(2)
    d.set_(x)
    return [*story, d.requires_grad, d.grad_fn.name(), x._version, d._version]


@program
def data_of_another_dtype_is_another_leaf(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    out = x.clone()
    x.data = t.ones(2)
    story = [t.autograd.grad(out.sum(), x, retain_graph=True)]
    x.data = t.ones(2, dtype=t.float64)
    return [*story, caught(lambda: t.autograd.grad(out.sum(), x))]


@program
def data_of_another_shape_gets_no_gradient_of_the_old(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    out = x.clone()
    x.data = t.ones(3)
    try:
        out.sum().backward()
    except RuntimeError:
        return [x.grad]
    return "nothing raised"


@program
def resizing(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        story = [
            caught(lambda: x.resize_(3)),
            caught(lambda: (x * 1).resize_(3)),
            caught(lambda: x.detach().resize_(1)),
        ]
    a = t.ones(2)
    return story + [a.resize_(2)._version, a.resize_(3)._version, a.resize_as_(t.ones(2, 2))._version]


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore")
def test_both_tell_the_same_story(run: Callable[[Any], Any]) -> None:
    assert told(chainrule, run(chainrule)) == told(torch, run(torch))
