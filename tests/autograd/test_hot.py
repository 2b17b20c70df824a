"""Machine code in place of NumPy's calls changes nothing that can be seen, and comes by itself."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

pytest.importorskip("llvmlite")

PROGRAM = """
    import chainrule as torch
    from chainrule.autograd import hot
    from chainrule.config import settings

    def run():
        torch.manual_seed(0)
        w, b = torch.randn(5, 12, requires_grad=True), torch.randn(12, requires_grad=True)
        scale = torch.tensor(1.5, requires_grad=True)
        parts = (torch.randn(7, 5) @ w + b).chunk(3, 1)
        mixed = parts[0].sigmoid() * parts[1] - parts[2].tanh() / (2 * parts[0] + 3) + scale * scale
        loss = (mixed ** 2).mean() * scale
        found = torch.autograd.grad(loss, [w, b, scale], create_graph=True)
        second = torch.autograd.grad(sum(g.sum() for g in found), [w, b, scale], retain_graph=True)
        loss.backward()
        return [loss, *found, *second, w.grad, b.grad, scale.grad], type(mixed.grad_fn), loss.grad_fn
"""


def python(text: str) -> str:
    done = subprocess.run([sys.executable, "-c", dedent(PROGRAM) + dedent(text)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_results_are_the_same_bits() -> None:
    text = """
    cold, kind, node = run()
    hot.promote()
    warm, kind_now, _ = run()
    print(hot.is_hot(), all(torch.equal(a, b) for a, b in zip(cold, warm)), kind is kind_now)
    """
    assert python(text) == "True True True"


def test_a_graph_recorded_before_is_pulled_after() -> None:
    text = """
    x = torch.randn(4, 3, requires_grad=True)
    y = (x.sigmoid() * x).sum()
    y.backward(retain_graph=True)
    cold = x.grad
    x.grad = None
    hot.promote()
    y.backward()
    print(torch.equal(x.grad, cold))
    """
    assert python(text) == "True"


def test_it_comes_with_the_nodes_and_not_before() -> None:
    text = """
    import sys
    settings.machine_code_after = 500
    x, seen = torch.tensor(1.0, requires_grad=True), []
    for step in range(20):
        y = x
        for _ in range(50):
            y = y * x
        y.backward()
        seen.append(hot.is_hot())
    print(seen.index(True), "llvmlite" in sys.modules, x.grad.item())
    """
    at, loaded, total = python(text).split()
    assert 9 <= int(at) <= 11 and loaded == "True" and float(total) == 20 * 51


def test_without_a_compiler_nothing_changes() -> None:
    text = """
    import sys
    sys.modules["llvmlite"] = None
    cold = run()[0]
    hot.promote()
    print(hot.is_hot(), all(torch.equal(a, b) for a, b in zip(cold, run()[0])))
    """
    assert python(text) == "False True"


def test_it_can_be_declined() -> None:
    text = """
    settings.machine_code_after = None
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(60_000):
        y = y * x
    y.backward()
    print(hot.is_hot())
    """
    assert python(text) == "False"
