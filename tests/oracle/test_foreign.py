"""Tensors exchanged with PyTorch through DLPack, in both directions, over the same memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import chainrule
from chainrule.backends.cpu import foreign

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex32", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_memory_is_shared_both_ways(dtype: str) -> None:
    for lender, taker in ((chainrule, torch), (torch, chainrule)):
        lent = lender.arange(12).reshape(3, 4).to(getattr(lender, dtype)).t()[1:]
        taken = taker.from_dlpack(lent)
        assert str(taken.dtype) == str(lent.dtype) and tuple(taken.shape) == (3, 3) and taken.stride() == lent.stride()
        assert taken.tolist() == lent.tolist()
        taken[0, 0] = 1
        lent[1, 1] = 0
        assert taken.tolist() == lent.tolist()


def test_lent_memory_lives_until_it_is_given_back() -> None:
    lent = chainrule.ones(4, dtype=chainrule.bfloat16)
    taken = torch.from_dlpack(lent)
    before = len(foreign._lent)
    del lent
    gc.collect()
    assert taken.tolist() == [1.0] * 4
    del taken
    capsule = chainrule.ones(2, dtype=chainrule.bfloat16).__dlpack__()
    assert len(foreign._lent) == before
    del capsule
    assert len(foreign._lent) == before - 1


def test_memory_at_an_address() -> None:
    a = np.arange(6, dtype=np.float32)
    for lib in (chainrule, torch):
        t = lib._from_blob(a.ctypes.data, [2, 3], [1, 2])
        assert t.tolist() == [[0, 2, 4], [1, 3, 5]]
        t[0, 0] = 7
        assert a[0] == 7
        a[0] = 0
        with pytest.raises(TypeError, match="argument 'data' \\(position 1\\) must be int, not str"):
            lib._from_blob("a", [2])


def test_taken_memory_is_given_back() -> None:
    for shape in ((4,), (0,)):
        lent = chainrule.ones(shape, dtype=chainrule.bfloat16)
        before = len(foreign._lent)
        taken = chainrule.from_dlpack(lent.__dlpack__())
        assert len(foreign._lent) == before + bool(shape[0]) and taken.tolist() == [1.0] * shape[0]
        view = taken.reshape(-1)[:2]
        del taken
        gc.collect()
        assert view.tolist() == [1.0] * min(2, shape[0])
        del view
        gc.collect()
        assert len(foreign._lent) == before
