"""gradcheck must pass what is right and catch what is wrong; functional must agree with grad."""

from __future__ import annotations

from typing import Any

import pytest

import chainrule as ch
from chainrule.autograd import Function, functional, gradcheck, gradgradcheck
from chainrule.autograd.gradcheck import GradcheckError


def real(*values: float) -> Any:
    return ch.tensor(list(values), dtype=ch.float64, requires_grad=True)


def complexes() -> Any:
    return ch.tensor([1 + 2j, 0.5 - 1j], dtype=ch.complex128, requires_grad=True)


def with_rule(rule: Any) -> Any:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(g)

    return Doubled.apply


OPTIONS = [
    {}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True},
    {"check_forward_ad": True, "check_batched_forward_grad": True},
    {"check_forward_ad": True, "fast_mode": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("x", [real(0.3, 0.7), complexes()], ids=["real", "complex"])
def test_right_gradients_pass(x: Any, options: Any) -> None:
    assert gradcheck(lambda v: (v * v).sin(), x, **options)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda g: g * 3, "Jacobian mismatch for output 0 with respect to input 0"),
        (lambda g: -g * 2, "Jacobian mismatch"),
        (lambda g: None, "Jacobian mismatch"),
        (lambda g: g * 2 * (1 + 1e-3 * ch.rand(1, dtype=ch.float64)), "Backward is not reentrant"),
        (lambda g: g * 2 + 1, "Jacobian mismatch|backward not multiplied by grad_output"),
    ],
    ids=["scaled", "sign", "dropped", "random", "shifted"],
)
def test_wrong_gradients_are_caught(rule: Any, words: str, fast: bool) -> None:
    x = real(0.3, 0.7)
    with pytest.raises(GradcheckError, match=words):
        gradcheck(with_rule(rule), x, fast_mode=fast)
    assert not gradcheck(with_rule(rule), x, fast_mode=fast, raise_exception=False)


def test_second_order() -> None:
    x = real(0.3, 0.7)
    assert gradgradcheck(ch.sin, x)
    assert gradgradcheck(ch.sin, x, check_fwd_over_rev=True, gen_non_contig_grad_outputs=True)
    assert not gradgradcheck(lambda v: v.exp().detach() * v, x, raise_exception=False)


def test_inputs_must_want_gradients() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(ch.sin, ch.ones(2, dtype=ch.float64))


def cubes(x: Any, y: Any) -> Any:
    return (x**3 * y).sum()


def test_products_are_the_matrices_times_vectors() -> None:
    x, y, v, w = real(1.0, 2.0), real(3.0, 4.0), real(0.5, -1.0), real(2.0, 0.1)
    blocks = functional.hessian(cubes, (x, y))
    want = [sum((b @ u for b, u in zip(row, (v, w))), ch.zeros(2, dtype=ch.float64)).tolist() for row in blocks]
    for product in (functional.hvp, functional.vhp):
        _, found = product(cubes, (x, y), (v, w))
        assert [f.tolist() for f in found] == [pytest.approx(row) for row in want]


@pytest.mark.parametrize("options", [{"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}], ids=str)
def test_all_rows_at_once(options: Any) -> None:
    x = real(0.3, 0.7)

    def fn(v: Any) -> Any:
        return v.sin() * v.sum()

    assert functional.jacobian(fn, x, **options).tolist() == [
        pytest.approx(row) for row in functional.jacobian(fn, x).tolist()
    ]


def test_strict_finds_what_does_not_depend() -> None:
    x = real(0.3, 0.7)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        functional.vjp(lambda a, b: a.sum(), (x, x.detach()), strict=True)
    with pytest.raises(RuntimeError, match="independent of the input. This is not allowed in strict mode"):
        functional.hvp(lambda a: (a * 2).sum(), x, x, strict=True)


def test_create_graph_keeps_the_history() -> None:
    x = real(0.3, 0.7)
    j = functional.jacobian(lambda v: v**3, x, create_graph=True)
    (g,) = ch.autograd.grad(j.sum(), x)
    assert g.tolist() == pytest.approx((6 * x).tolist())
