"""Sobol' sequences beside live PyTorch: the same points, scrambled or not, in all dimensions."""

from __future__ import annotations

import pytest

import chainrule

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("dimension", "count"), [(1, 70), (2, 70), (50, 70), (1111, 9), (21201, 3)])
@pytest.mark.parametrize("scramble", [False, True])
def test_same_points(dimension, count, scramble):
    def run(t):
        engine = t.quasirandom.SobolEngine(dimension, scramble, seed=7)
        points = [engine.draw(count).tolist(), engine.fast_forward(5).draw(2, dtype=t.float64).tolist()]
        points += [engine.reset().fast_forward(3).draw().tolist(), engine.quasi.tolist(), engine.num_generated]
        return [*points, engine.reset().draw_base2(2).tolist(), repr(engine)]

    assert run(chainrule) == run(torch)


REFUSED = """
S(0); S(30000); S(2).draw(0); S(2).draw(3, dtype=torch.half); S(2).draw_base2(2).shape; S(2).draw(3, torch.empty(0))
(e := S(2), e.draw(3), e.draw_base2(3)); torch._sobol_engine_draw(q, 3, s.float(), 2, 0, dtype=None)
torch._sobol_engine_draw(q.int(), 3, s, 2, 0, dtype=None); torch._sobol_engine_initialize_state_(s.int(), 2)
torch._sobol_engine_scramble_(s, torch.zeros(2, 30, 30), 2); torch._sobol_engine_ff_(q.float(), 1, s, 2, 0)
(torch._sobol_engine_initialize_state_(s, 2), torch._sobol_engine_draw(q, 3, s, 2, 4, dtype=torch.float))
"""


@pytest.mark.parametrize("text", [part.strip() for part in REFUSED.replace("\n", ";").split(";") if part.strip()])
def test_same_text(text):
    def run(t):
        long = {"dtype": t.long}
        names = {"torch": t, "S": t.quasirandom.SobolEngine, "q": t.zeros(2, **long), "s": t.zeros(2, 30, **long)}
        try:
            return repr(eval(text, names)).replace("chainrule", "torch")
        except Exception as error:
            return type(error).__name__, str(error)

    assert run(chainrule) == run(torch)
