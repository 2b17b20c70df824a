"""`functional_call` beside live PyTorch: which tensors a name reaches, what is refused, and that all is put back."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402

CASES = {
    "a parameter and a buffer": ({"l.weight": 2.0, "buffer": 3.0}, {}),
    "a plain attribute": ({"plain": 5.0}, {}),
    "an attribute that is not there": ({"extra": 5.0}, {}),
    "no tensor": ({"l.weight": "text"}, {}),
    "an attribute that is no tensor": ({"buffer": 3.0, "number": 5.0}, {}),
    "no bias": ({"l.bias": None}, {}),
    "no such module": ({"m.weight": 2.0}, {}),
    "no name": ({"": 2.0}, {}),
    "strict": ({"l.weight": 2.0, "tied": 2.0, "extra": 1.0}, {"strict": True, "tie_weights": False}),
    "strict, tied": ({"l.weight": 2.0, "extra": 1.0}, {"strict": True}),
    "tied twice": ({"l.bias": 2.0, "tied": 3.0}, {}),
    "two dicts": (({"l.weight": 2.0}, {"buffer": 3.0}), {}),
}


def _model(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = t.nn.Linear(1, 1)
            t.nn.init.ones_(self.l.weight)
            t.nn.init.ones_(self.l.bias)
            self.tied = self.l.bias
            self.register_buffer("buffer", t.zeros(1))
            self.plain, self.number = t.ones(1), 7

        def forward(self, x: Any) -> Any:
            self.buffer = self.buffer + 1
            return self.l(x) * self.plain + self.tied + self.buffer + getattr(self, "extra", 0)

    return Model()


def _story(t: Any, given: Any, options: dict[str, Any]) -> Any:
    model = _model(t)

    def made(d: dict[str, Any]) -> dict[str, Any]:
        return {n: t.full((1, 1) if "weight" in n else (1,), v) if isinstance(v, float) else v for n, v in d.items()}

    values = tuple(map(made, given)) if isinstance(given, tuple) else made(given)
    before = {n: (id(p), p.tolist()) for n, p in model.state_dict(keep_vars=True).items()}
    try:
        said: Any = t.func.functional_call(model, values, t.ones(1, 1), **options).tolist()
    except Exception as error:
        said = type(error).__name__, str(error).split("\n  ")[0]
    kept = {n: (id(p), p.tolist()) for n, p in model.state_dict(keep_vars=True).items()} == before
    shown = {n: v.tolist() for n, v in values.items() if hasattr(v, "tolist")} if isinstance(values, dict) else None
    return said, kept, shown, model.plain.tolist(), hasattr(model, "extra")


@pytest.mark.parametrize("case", CASES)
def test_functional_call(case: str) -> None:
    given, options = CASES[case]
    assert _story(chainrule, given, options) == _story(torch, given, options)


def test_the_older_path_warns() -> None:
    for t in (torch, chainrule):
        with pytest.warns(FutureWarning, match=r"Please use `torch\.func\.functional_call`"):
            t.nn.utils.stateless.functional_call(_model(t), {}, t.ones(1, 1))
