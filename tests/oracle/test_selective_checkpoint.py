"""Checkpoints that keep some results, beside live PyTorch: what is asked, runs twice, or is refused."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402


def _runs(t: Any, policy: Any, fn: Callable[[Any], Any], times: int = 1, mutable: bool = False, **how: Any) -> Any:
    """The gradient, the ops that ran (twice: first run, then backward), and what the policy was told."""
    checkpoint = importlib.import_module(f"{t.__name__}.utils.checkpoint")
    modes = importlib.import_module(f"{t.__name__}.utils._python_dispatch")
    ran: list[str] = []
    asked: list[Any] = []

    class Count(modes.TorchDispatchMode):  # type: ignore[misc,name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if "detach" not in str(func):
                ran.append(str(func))
            return func(*args, **(kwargs or {}))

    def asking(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append((ctx.is_recompute, str(op), ctx.op_output.shape if hasattr(ctx.op_output, "shape") else None))
        return policy(checkpoint.CheckpointPolicy, str(op))

    chosen = [eval(name, {"aten": t.ops.aten}) for name in policy] if isinstance(policy, list) else asking
    contexts = functools.partial(checkpoint.create_selective_checkpoint_contexts, chosen, mutable)
    x = t.tensor([0.5, 1.0, 2.0], requires_grad=True)
    try:
        with Count():
            out = checkpoint.checkpoint(fn, x, use_reentrant=False, context_fn=contexts, **how)
        loss = out.sum()
        for _ in range(times):
            with Count():
                t.autograd.backward(loss, t.tensor(1.0), retain_graph=times > 1)
    except Exception as error:
        return type(error).__name__, str(error).split(".")[0], asked
    forward = [name for name in ran if name in ("aten.sin.default", "aten.exp.default", "aten.var_mean.correction")]
    return [round(v, 4) for v in x.grad.tolist()], forward, asked


def _differently(*steps: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that is another one each time it runs."""
    left = list(steps)
    return lambda x: left.pop(0)(x)


def _pair(t: Any) -> Callable[[Any], Any]:
    def fn(x: Any) -> Any:
        a, b = t.var_mean(x)
        return (a * b).exp()

    return fn


def sines(P: Any, op: str) -> Any:
    return P.MUST_SAVE if "sin" in op else P.PREFER_RECOMPUTE


STORIES: dict[str, Callable[[Any], Any]] = {
    "sines are kept": lambda t: _runs(t, sines, lambda x: x.sin().cos().exp()),
    "all again": lambda t: _runs(t, lambda P, op: P.MUST_RECOMPUTE, lambda x: x.sin().exp().sin().exp()),
    "all again, twice": lambda t: _runs(t, lambda P, op: P.MUST_RECOMPUTE, lambda x: x.sin().exp().sin().exp(), 2),
    "all kept": lambda t: _runs(t, lambda P, op: P.PREFER_SAVE, lambda x: x.sin().view(3).exp().sin().exp()),
    "offloaded": lambda t: _runs(t, lambda P, op: P.MUST_CPU_OFFLOAD, lambda x: x.sin().exp()),
    "yes and no": lambda t: _runs(t, lambda P, op: "exp" in op, lambda x: x.sin().exp().sin().exp()),
    "a list": lambda t: _runs(t, ["aten.exp.default"], lambda x: x.sin().exp().sin().exp()),
    "two results": lambda t: _runs(t, lambda P, op: "var_mean" in op, _pair(t)),
    "kept and changed": lambda t: _runs(t, sines, lambda x: x.sin().mul_(2).cos().exp()),
    "twice": lambda t: _runs(t, sines, lambda x: x.sin().cos().exp(), 2),
    "another op": lambda t: _runs(
        t, sines, _differently(lambda x: x.sin(), lambda x: x.sin().exp()), early_stop=False
    ),
    "an op more": lambda t: _runs(
        t, sines, _differently(lambda x: x.sin().cos(), lambda x: x.sin().sin().cos()), early_stop=False
    ),
    "a packet": lambda t: _runs(t, ["aten.exp"], lambda x: x.exp()),
    "no op": lambda t: _runs(t, ["2"], lambda x: x.exp()),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_the_same_is_kept(name: str) -> None:
    assert STORIES[name](chainrule) == STORIES[name](torch)


def test_changes_may_be_allowed() -> None:
    """PyTorch hands out the changed value as if it were the old one; so does this."""
    found = [_runs(t, sines, lambda x: x.sin().mul_(2).cos().exp(), mutable=True) for t in (chainrule, torch)]
    assert found[0] == found[1]


def test_the_policy_must_be_one() -> None:
    for t in (chainrule, torch):
        with pytest.raises(TypeError, match="policy_fn_or_list must be either a function or a list of ops"):
            importlib.import_module(f"{t.__name__}.utils.checkpoint").create_selective_checkpoint_contexts(3)
