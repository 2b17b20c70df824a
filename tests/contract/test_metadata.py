"""What a node tells of the shape and dtype of what it made, without having noted it."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as ch
from chainrule.autograd.graph import GradientEdge
from chainrule.core.op import REGISTRY
from chainrule.testing.contract import run, tensors
from tests.contract.table import few_cases, sampled


@pytest.mark.parametrize("name", [name for name in sampled() if REGISTRY[name].pulls])
def test_a_node_knows_what_it_made(name: str) -> None:
    for case in few_cases(name):
        for leaves in ([i for i in case.smooth if case.inputs[i].dtype.kind == "f"], case.smooth[:1], case.smooth[-1:]):
            for t in run(case, tensors(case.inputs, leaves)):
                if t.grad_fn is not None:
                    meta = t.grad_fn._input_metadata[t.output_nr]
                    assert (tuple(meta.shape), meta.dtype) == (tuple(t.shape), t.dtype), case.label


def test_what_made_the_inputs_tells_where_the_tensor_is_gone() -> None:
    x = ch.ones(2, 3, requires_grad=True)
    kept = (-(x.double().exp() + 1)).grad_fn._input_metadata[0]
    assert (tuple(kept.shape), kept.dtype) == ((2, 3), ch.float64)
    lost = x.view(6).grad_fn
    with pytest.raises(RuntimeError, match="the tensor is gone"):
        _ = lost._input_metadata


def test_a_place_of_one_element_needs_no_gradient() -> None:
    x = ch.ones(1, 1, requires_grad=True)
    y = x.view(1)
    (g,) = ch.autograd.grad(GradientEdge(y.grad_fn, 0), x)
    assert np.array_equal(g.numpy(), [[1.0]])
