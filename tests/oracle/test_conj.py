"""Conjugates and negatives that share memory, beside live PyTorch: what they answer, compute and write."""

from __future__ import annotations

import copy
import pickle
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


def shown(t: Any, x: Any) -> Any:
    """The elements, and what is pending; positive zeros."""
    flat = t.view_as_real(x.detach().resolve_conj().resolve_neg()) if x.is_complex() else x.detach().resolve_neg()
    return [f"{float(v) + 0.0:.4g}" for v in flat.reshape(-1)], x.is_conj(), x.is_neg()


def numbers(t: Any, **more: Any) -> Any:
    return t.tensor([1 + 2j, 3 - 1j], **more)


@program
def facts(t: Any) -> Any:
    x = numbers(t)
    y = x.conj()
    shares = [y.data_ptr() == x.data_ptr(), y._is_view(), y._base is x, y.imag.data_ptr() == x.imag.data_ptr()]
    views = [
        y,
        y.detach(),
        y[0],
        y[1:],
        y.view(2, 1),
        y.t(),
        y.contiguous(),
        y.expand(2, 2),
        y.real,
        y.imag,
        y.conj(),
        y.data,
    ]
    copies = [y.clone(), y.resolve_conj(), y + 0, y.conj_physical(), t.zeros_like(y), y.flip(0), t.stack([y, y])]
    z = x._neg_view()
    turned = [z, z._neg_view(), z.conj(), z.conj().imag, z.conj().real, z.real, z.imag, -z]
    return [shares, [shown(t, v) for v in [*views, *copies, *turned]], y.resolve_conj() is y, x.resolve_conj() is x]


@program
def refusals(t: Any) -> Any:
    y = numbers(t).conj()
    return [
        caught(y.numpy), caught(y.imag.numpy), caught(lambda: t.view_as_real(y)), caught(lambda: y.view(t.float32)),
        caught(y.__dlpack__), y.numpy(force=True).tolist(),
    ]  # fmt: skip


@program
def text_and_copies(t: Any) -> Any:
    y = numbers(t).conj()
    again = [copy.deepcopy(y), pickle.loads(pickle.dumps(y)), copy.copy(y), t.as_tensor(y)]
    return [repr(y), repr(y.imag), y.tolist(), complex(y[0]), y[1].item(), [shown(t, v)[0] for v in again]]


@program
def writing_through(t: Any) -> Any:
    x = numbers(t)
    y = x.conj()
    story = []
    changes = [
        lambda: y.mul_(2), lambda: y.__setitem__(0, 5 + 1j), lambda: y.copy_(t.tensor([1j, 2])), lambda: y.imag.add_(1),
        lambda: y.fill_(1 + 1j), lambda: t.add(y, 1j, out=y), lambda: y.add_(x), lambda: x.add_(y), lambda: y.exp_(),
        lambda: y.masked_fill_(t.tensor([True, False]), 2j), lambda: y.index_add_(0, t.tensor([1]), y[:1].clone()),
        lambda: y.real.neg_(), lambda: x._neg_view().sub_(1), lambda: y.zero_(),
    ]  # fmt: skip
    for change in changes:
        change()
        story.append((shown(t, x), shown(t, y), x._version))
    return story


@program
def read_where_it_is_written(t: Any) -> Any:
    y = numbers(t).conj()
    z = t.zeros(2, dtype=t.complex64)
    z[0] = y[1]
    z[1:] = y[:1]
    story = [shown(t, z)]
    z.copy_(y)
    z.add_(y)
    z.index_put_((t.tensor([0]),), y[:1])
    story.append(shown(t, z))
    z[t.tensor([0, 1])] = y
    story.append(shown(t, z))
    z.data = y
    return [*story, shown(t, z), bool((y == z).all()), t.equal(y, numbers(t)), t.allclose(y, y.resolve_conj())]


@program
def computing(t: Any) -> Any:
    x = numbers(t)
    y = x.conj()
    m = t.tensor([[1 + 1j, 2], [3j, 4]])
    found = [
        t.vdot(x, y), t.dot(x, y), y.cumsum(0), y.roll(1), y.repeat(2), t.diag(y), y.abs(), y.angle(), y.pow(2), 1 / y,
        2 - y, y @ m, t.linalg.solve(m, y), m.mH @ m, m.conj().sum(0), t.linalg.inv(m.conj()), t.cat([m.conj(), m]),
        m.conj()[t.tensor([1])], t.where(m.real > 0, m.conj(), m), t.outer(y, x), t.einsum("i,i->i", y, x),
        y.to(t.complex128),
    ]  # fmt: skip
    return [[shown(t, v)[0] for v in found], shown(t, m.mH), shown(t, m.H)]


@program
def gradients(t: Any) -> Any:
    x = numbers(t, requires_grad=True)
    y = x.conj()
    (y * x * (2 + 1j)).abs().sum().backward()
    story = [y.grad_fn.name(), shown(t, x.grad)]
    (g,) = t.autograd.grad((x * x.conj() * x).abs().sum(), x, create_graph=True)
    story += [shown(t, g), shown(t, t.autograd.grad(g.abs().sum(), x)[0])]
    story.append(shown(t, t.autograd.grad(x.conj().imag.sum(), x)[0])[0])
    story.append(shown(t, t.autograd.grad(x, x, grad_outputs=t.tensor([1 + 1j, 2]).conj())[0])[0])
    x.grad = None
    x.register_hook(lambda g: g.conj())
    (x * x).abs().sum().backward()
    leaf = numbers(t).conj().requires_grad_()
    (leaf * leaf).abs().sum().backward()
    return [*story, shown(t, x.grad)[0], leaf.is_leaf, shown(t, leaf.grad)[0]]


@program
def gradients_of_what_was_written_through(t: Any) -> Any:
    story = []
    for look in (
        t.view_as_real,
        lambda a: a.conj(),
        lambda a: a.conj()[0],
        lambda a: a._neg_view(),
        lambda a: a.conj().imag,
    ):
        x = numbers(t, requires_grad=True)
        a = x * 1
        b, c = look(a), look(a)
        b.mul_(2)
        story += [a.grad_fn.name(), shown(t, t.autograd.grad((a * a).abs().sum() + (c * c).abs().sum(), x)[0])[0]]
    x = numbers(t, requires_grad=True)
    b = (a := x * 1).conj()
    b.mul_(2)
    s = a.conj() * a.conj()
    with t.no_grad():
        a.mul_(2)
    return [*story, graph(b.grad_fn), caught(lambda: s.abs().sum().backward())[:99]]


@program
def a_function_may_return_a_conjugate(t: Any) -> Any:
    class Conj(t.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.conj() * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.conj()

    x = numbers(t, requires_grad=True)
    (Conj.apply(x * 1) * (1 + 2j)).abs().sum().backward()
    return shown(t, x.grad)[0]


@program
def forward_mode(t: Any) -> Any:
    forward = part(t, "autograd.forward_ad")
    story = []
    with forward.dual_level():
        d = forward.make_dual(t.tensor([1 + 2j]), t.tensor([1j]))
        for r in (d.conj() * d, d.conj(), d.conj().imag * 2):
            story.append([shown(t, v) for v in forward.unpack_dual(r)])
        kinds = (lambda v: v, lambda v: v.conj(), lambda v: v._neg_view())
        for one in kinds:
            for other in kinds:
                tangent = other(t.tensor([1j, 2.0]))
                dual = forward.make_dual(one(t.tensor([1 + 2j, 3])), tangent)
                story.append([forward.unpack_dual(dual).tangent is tangent, shown(t, dual[1:])])
    return story


@program
def gradients_are_ordinary_arrays(t: Any) -> Any:
    story = []
    for x in (numbers(t).conj(), t.ones(2, 0)._neg_view(), t.tensor([1j, 2.0])._neg_view().conj()):
        x.requires_grad_()
        for _ in range(2):
            (x * 3).sum().real.backward()
        story.append(
            [x.grad.is_conj(), x.grad.is_neg(), x.grad.numpy().tolist(), t.ones_like(x.detach()).numpy().shape]
        )
    return story


@program
def batches(t: Any) -> Any:
    vmap = part(t, "func").vmap
    return [shown(t, vmap(lambda v: v.conj() * v)(t.tensor([[1 + 1j], [2j]]))), shown(t, vmap(t.conj)(numbers(t)))[0]]


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore")
def test_both_tell_the_same_story(run: Callable[[Any], Any]) -> None:
    assert told(chainrule, run(chainrule)) == told(torch, run(torch))
