"""What normalisation layers remember of what they saw."""

from __future__ import annotations

import numpy as np

import chainrule as torch
import chainrule.nn.functional as F


def test_instance_norm_moves_running_statistics_by_the_average_over_examples() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 5))
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    F.instance_norm(torch.tensor(x), mean, var, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var(2, ddof=1).mean(0))


def test_instance_norm_with_running_statistics_leaves_them() -> None:
    mean, var = torch.full((3,), 2.0), torch.full((3,), 4.0)
    x = torch.full((2, 3, 5), 4.0)
    out = F.instance_norm(x, mean, var, use_input_stats=False)
    np.testing.assert_allclose(out.numpy(), 1.0, rtol=1e-5)
    assert mean.tolist() == [2.0] * 3 and var.tolist() == [4.0] * 3
