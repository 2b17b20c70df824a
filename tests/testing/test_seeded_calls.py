"""Random functions under test draw the same numbers in every call, and leave the generator as it was."""

from __future__ import annotations

import chainrule as torch
from chainrule.testing._utils import freeze_rng_state, wrapper_set_seed


def test_every_call_draws_the_same_and_nobody_else_notices() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first, second = wrapper_set_seed(torch.rand, 3), wrapper_set_seed(torch.rand, 3)
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_frozen_generator_goes_on_where_it_was() -> None:
    torch.manual_seed(7)
    with freeze_rng_state():
        torch.rand(5)
    drawn = torch.rand(2)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(2))
