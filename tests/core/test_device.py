"""Devices, layouts and memory formats are names; there is one object for each."""

from __future__ import annotations

import copy
import pickle

import pytest

from chainrule.config import settings
from chainrule.core import layout as L
from chainrule.core.device import as_device, device, get_default_device, set_default_device

SPELLINGS = [
    (("cpu",), "device(type='cpu')", "cpu"),
    (("cuda:0",), "device(type='cuda', index=0)", "cuda:0"),
    (("cuda", 1), "device(type='cuda', index=1)", "cuda:1"),
    (("cuda", None), "device(type='cuda')", "cuda"),
    (("meta",), "device(type='meta')", "meta"),
]


@pytest.mark.parametrize("args, text, short", SPELLINGS, ids=str)
def test_one_object_per_device(args, text, short):
    made = device(*args)
    assert repr(made) == text and str(made) == short
    assert device(short) is device(made) is as_device(short) is made
    assert pickle.loads(pickle.dumps(made)) is copy.deepcopy(made) is copy.copy(made) is made
    assert made == device(short) and made != short and device("cpu") != device("cpu:0")
    assert device(device=short) is device(type=short) is made


REFUSALS = [
    (("",), RuntimeError, "Device string must not be empty"),
    (("gpu",), RuntimeError, "Expected one of cpu, cuda, .* at start of device string: gpu"),
    (("cuda:",), RuntimeError, "Invalid device string: 'cuda:'"),
    (("cuda:01",), RuntimeError, "Invalid device string: 'cuda:01'"),
    (("cuda:1", 2), RuntimeError, "must not include an index"),
    (("cuda", -1), RuntimeError, "Device index must not be negative"),
    (("cpu", "x"), TypeError, "must be int, not str"),
    ((None,), TypeError, "invalid combination of arguments"),
    ((True,), TypeError, "invalid combination of arguments"),
    ((0,), RuntimeError, "none is available"),
]


@pytest.mark.parametrize("args, error, phrase", REFUSALS, ids=str)
def test_refusals(args, error, phrase):
    with pytest.raises(error, match=phrase):
        device(*args)


def test_a_bare_index_means_the_accelerator(monkeypatch):
    monkeypatch.setattr(settings, "accelerator", "cuda")
    assert device(2) is device("cuda:2")


def test_blocks_nest_and_restore():
    meta = device("meta")
    with meta as entered:
        assert entered is get_default_device() is meta
        with device("cuda:1"), meta:
            assert get_default_device() is meta
        assert get_default_device() is meta
    assert get_default_device() is device("cpu") and not settings.device_stack


def test_default_device():
    set_default_device("meta")
    assert get_default_device() is device("meta")
    set_default_device(None)
    assert get_default_device() is device("cpu")
    with pytest.raises(RuntimeError, match="Expected one of"):
        set_default_device("gpu")


@pytest.mark.parametrize("name", [name for name in L.__all__ if name not in ("layout", "memory_format")])
def test_layouts_are_one_object_each(name):
    each = getattr(L, name)
    assert repr(each) == str(each) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(each)) is copy.deepcopy(each) is copy.copy(each) is each
    with pytest.raises(TypeError, match="cannot create"):
        type(each)()
    with pytest.raises(AttributeError):
        each.name = "other"
