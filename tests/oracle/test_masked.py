"""torch.masked beside live PyTorch: values, dtypes, gradients, empty slices, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import chainrule
import chainrule.masked
from tests.oracle.comparing import array

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
FLOATS = rng.standard_normal((3, 4, 2))
MASKS = {
    "none": None,
    "full": rng.random((3, 4, 2)) > 0.4,
    "row": np.array([[True], [False], [True], [False]]),
    "nothing": np.zeros((3, 4, 2), bool),
}
AXES: list[dict[str, Any]] = [{}, {"dim": 0}, {"dim": -1, "keepdim": True}, {"dim": (0, 2)}, {"dim": ()}]
AXIS: list[dict[str, Any]] = [{}, {"dim": 1}, {"dim": 0, "keepdim": True}]
NORMS: list[dict[str, Any]] = [{"ord": p, "dim": 1} for p in (1, 2.0, float("inf"), float("-inf"))]
SPREADS = [*AXES, {"dim": 0, "unbiased": False}, {"dim": 1, "correction": 0.5}]
ALONG: list[dict[str, Any]] = [{"dim": 0}, {"dim": -1}]
CALLS: dict[str, list[dict[str, Any]]] = {
    **dict.fromkeys(("sum", "prod", "amax", "amin", "mean", "logsumexp"), AXES),
    **dict.fromkeys(("argmax", "argmin"), AXIS),
    "median": [{"dim": 1}, {"dim": 0, "keepdim": True}, {}],
    "norm": [*AXES, *NORMS],
    **dict.fromkeys(("var", "std"), SPREADS),
    **dict.fromkeys(("cumsum", "cumprod", "softmax", "log_softmax", "softmin"), ALONG),
    "normalize": [{"ord": p, "dim": d} for p in (2.0, 1) for d in (0, -1)],
}
TABLE = [(name, case, mask) for name, cases in CALLS.items() for case, mask in itertools.product(cases, MASKS)]


def told(lib: Any, name: str, values: Any, case: dict[str, Any], mask: Any) -> Any:
    """The dtype, the values and, of floats, the gradient; or the refusal."""
    x = lib.from_numpy(values.copy())
    x = x.requires_grad_() if values.dtype.kind == "f" and not name.startswith("arg") else x
    try:
        y = getattr(lib.masked, name)(x, **case, mask=None if mask is None else lib.from_numpy(mask))
        if x.requires_grad:
            (y * lib.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape)).sum().backward()
    except (RuntimeError, ValueError, NotImplementedError, TypeError, AssertionError):
        return "refused"
    return str(y.dtype).removeprefix("torch."), array(y), array(x.grad) if x.requires_grad else None


@pytest.mark.parametrize(("name", "case", "mask"), TABLE, ids=str)
@pytest.mark.parametrize("kind", [np.float64, np.int32])
@pytest.mark.filterwarnings("ignore")
def test_as_pytorch(name: str, case: dict[str, Any], mask: str, kind: Any) -> None:
    values = (FLOATS * 3).astype(kind)
    ours, theirs = (told(lib, name, values, case, MASKS[mask]) for lib in (chainrule, torch))
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-9)
    if theirs[2] is not None:
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-6, atol=1e-9)


def test_logaddexp_takes_a_mask_per_operand() -> None:
    masks = {"input_mask": np.array([True, False, True, False]), "other_mask": np.array([True, True, False, False])}
    got, want = (
        lib.masked.logaddexp(
            *(lib.from_numpy(FLOATS[i, :, 0].copy()) for i in (0, 1)),
            **{k: lib.from_numpy(m) for k, m in masks.items()},
        )
        for lib in (chainrule, torch)
    )
    np.testing.assert_allclose(array(got), array(want))
