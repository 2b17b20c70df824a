"""Loss scaling beside live PyTorch: the same scales, the same skipped steps, the same refusals."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import chainrule

torch = pytest.importorskip("torch")


def train(t, factors, between):
    t.manual_seed(0)
    w = t.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    v = t.tensor([0.25], requires_grad=True)
    opt = t.optim.SGD([w, v], lr=0.1, momentum=0.9)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen = []
    for factor in factors:
        opt.zero_grad()
        loss = (w * factor).sum() ** 2 + v.sum()
        scaler.scale(loss).backward()
        if between:
            scaler.unscale_(opt)
            t.nn.utils.clip_grad_norm_([w, v], 1.0)
        scaler.step(opt)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), w.tolist(), v.tolist()))
        scaler = pickle.loads(pickle.dumps(scaler)) if len(seen) % 3 == 0 else scaler
    other = t.amp.GradScaler("cpu", init_scale=7.0)
    other.load_state_dict(copy.deepcopy(scaler.state_dict()))
    return seen, scaler.state_dict(), other.state_dict()


@pytest.mark.parametrize("between", [False, True])
def test_steps_and_scales(between):
    factors = [1.0, 0.5, float("inf"), 2.0, 1.0, float("nan"), 0.25, 0.5, 1.5]
    (mine, *mine_states), (told, *told_states) = train(chainrule, factors, between), train(torch, factors, between)
    assert mine_states == told_states
    for a, b in zip(mine, told, strict=True):
        assert a[:2] == b[:2]
        values = [np.concatenate([np.ravel(p) for p in row[2:]]) for row in (a, b)]
        np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


REFUSED = [
    "s.unscale_(o); s.unscale_(o)", "s.step(o); s.step(o)", "s.step(o); s.unscale_(o)", "s.step(o, closure=lambda: 1)",
    "s.update()", "t.amp.GradScaler('cpu').update()", "t.amp.GradScaler('cpu').step(o)", "s.scale(3)",
    "t.amp.GradScaler('cpu', growth_factor=1.0)", "t.amp.GradScaler('cpu', backoff_factor=1.0)",
    "s.load_state_dict({})",
    "s.step(o); pickle.dumps(s)", "s.step(t.optim.SGD([t.ones(1, requires_grad=True)], lr=1.0))",
    "s.update(2.0); print(s.get_scale())", "s.scale([x, (x, x)])", "t.amp.GradScaler('cpu', enabled=False).scale(3)",
    "t.GradScaler().is_enabled()", "t.cpu.amp.GradScaler().is_enabled()", "s.get_growth_interval()",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    def run(t):
        x = t.ones(2, requires_grad=True)
        o, s = t.optim.SGD([x], lr=0.1), t.amp.GradScaler("cpu")
        s.scale(x.sum()).backward()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                exec(text, {"t": t, "o": o, "s": s, "x": x, "pickle": pickle})
                error = None
            except Exception as e:
                error = type(e).__name__, str(e)
        return error, [str(w.message) for w in said], x.tolist(), s.get_scale()

    assert run(chainrule) == run(torch)


def test_unscaling_and_scales_alone():
    def run(t):
        found, grads = t.zeros(1), [t.full((2, 2), 8.0), t.tensor([1.0, 2.0]).half()]
        t._amp_foreach_non_finite_check_and_unscale_(grads, found, t.tensor([0.25]))
        seen = [found.tolist(), *(g.tolist() for g in grads), *(str(g.dtype)[-7:] for g in grads)]
        t._amp_foreach_non_finite_check_and_unscale_([t.tensor([float("nan")])], found, t.tensor([0.25]))
        scale, tracker = t.tensor([4.0]), t.zeros(1, dtype=t.int32)
        for flag in (0.0, 0.0, 1.0, 0.0):
            t._amp_update_scale_(scale, tracker, t.tensor([flag]), 2.0, 0.5, 2)
            seen.append((scale.item(), tracker.item()))
        return seen, found.tolist()

    assert run(chainrule) == run(torch)
