"""Laws of views, joins and storage facts that need no PyTorch: NumPy is the judge."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainrule as torch

X = np.arange(24.0).reshape(2, 3, 4)

VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "view": (lambda t: t.view(6, 4), lambda a: a.reshape(6, 4)),
    "view, one size left open": (lambda t: t.view(-1, 2), lambda a: a.reshape(-1, 2)),
    "flatten": (lambda t: t.flatten(1), lambda a: a.reshape(2, 12)),
    "unflatten": (lambda t: t.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    "transpose": (lambda t: t.transpose(0, -1), lambda a: a.swapaxes(0, 2)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "movedim": (lambda t: t.movedim((0, 1), (-1, 0)), lambda a: np.moveaxis(a, (0, 1), (-1, 0))),
    "mT": (lambda t: t.mT, lambda a: a.swapaxes(1, 2)),
    "unsqueeze": (lambda t: t.unsqueeze(-2), lambda a: a[:, :, None]),
    "squeeze": (lambda t: t.unsqueeze(1).squeeze(1), lambda a: a),
    "expand": (lambda t: t.unsqueeze(0).expand(5, -1, -1, -1), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    "select": (lambda t: t.select(1, -1), lambda a: a[:, -1]),
    "narrow": (lambda t: t.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    "diagonal": (lambda t: t.diagonal(1, 1, 2), lambda a: np.diagonal(a, 1, 1, 2)),
    "unfold": (lambda t: t.unfold(2, 2, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 2)),
    "as_strided": (lambda t: t.as_strided((2, 2), (12, 1), 4), lambda a: a[:, 1, :2]),
    "split": (lambda t: t.split(3, 2)[0], lambda a: a[:, :, :3]),
    "chunk": (lambda t: t.chunk(2, -1)[1], lambda a: a[:, :, 2:]),
    "tensor_split": (lambda t: t.tensor_split((1,), 1)[1], lambda a: a[:, 1:]),
    "unbind": (lambda t: t.unbind(1)[2], lambda a: a[:, 2]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_version_and_gradient(name: str) -> None:
    view, expected = VIEWS[name]
    base = torch.tensor(X.tolist(), dtype=torch.float64, requires_grad=True)
    t = base * 1
    v = view(t)
    assert v._is_view() and v._base is t
    assert v.untyped_storage() == t.untyped_storage()
    assert np.array_equal(v.numpy(force=True), expected(X))
    (g,) = torch.autograd.grad((v * 2).sum(), base, retain_graph=True)
    counted = np.zeros_like(X)
    np.add.at(counted.reshape(-1), expected(np.arange(24).reshape(2, 3, 4)).reshape(-1), 2.0)
    assert np.array_equal(g.numpy(), counted)
    with torch.no_grad():
        t[0, 0, 0] = 7.0
    assert v._version == t._version == 1


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("expand", "unfold", "split", "chunk", "unbind")])
def test_an_in_place_change_of_a_view_reaches_the_base(name: str) -> None:
    view, expected = VIEWS[name]
    leaf = torch.tensor(X.tolist(), dtype=torch.float64, requires_grad=True)
    t = leaf * 1
    view(t).mul_(3)
    (g,) = torch.autograd.grad(t.sum(), leaf)
    assert np.array_equal(g.numpy(), t.detach().numpy() / np.where(X == 0, 1, X) + (X == 0) * g.numpy())
    inside = np.isin(np.arange(24).reshape(2, 3, 4), expected(np.arange(24).reshape(2, 3, 4)))
    assert np.array_equal(g.numpy(), np.where(inside, 3.0, 1.0))


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("as_strided",)])
def test_vmap_of_a_view_is_a_view_of_the_batch(name: str) -> None:
    view, _ = VIEWS[name]
    batch = torch.tensor(np.stack([X, X + 100]).tolist(), dtype=torch.float64)
    mapped = torch.vmap(view)(batch)
    assert np.array_equal(mapped.numpy(), np.stack([view(x).numpy() for x in batch]))
    assert mapped.untyped_storage() == batch.untyped_storage()


def test_detach_shares_the_version_and_data_does_not() -> None:
    x = torch.ones(3, requires_grad=True) * 1
    alias, data = x.detach(), x.data
    assert not alias.requires_grad and not alias._is_view() and alias.data_ptr() == x.data_ptr()
    alias.add_(1)
    data.add_(1)
    assert (x._version, data._version) == (1, 1)
    assert x.tolist() == [3.0, 3.0, 3.0]


def test_no_tensor_steps_backwards() -> None:
    flipped = torch.arange(6).view(2, 3).flip(0, 1)
    assert flipped.stride() == (3, 1) and flipped.tolist() == [[5, 4, 3], [2, 1, 0]]


def test_bytes_as_another_dtype() -> None:
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == np.array([1.0, -2.0], np.float32).view(np.int32).tolist()
    assert x.view(torch.float64).shape == (1,)
    with pytest.raises(RuntimeError, match="must be divisible by 2"):
        torch.ones(3).view(torch.float64)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack_give_back_the_parts(dim: int) -> None:
    parts = [torch.rand(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    weights = torch.rand(2, 3, dtype=torch.float64)
    for join in (torch.cat, torch.stack):
        joined = join(parts, dim)
        pieces = joined.chunk(3, dim) if join is torch.cat else joined.unbind(dim)
        gradients = torch.autograd.grad(sum((p * weights * i).sum() for i, p in enumerate(pieces)), parts)
        for i, g in enumerate(gradients):
            assert np.allclose(g.numpy(), i * weights.numpy())


def test_storage_facts() -> None:
    x = torch.arange(12.0).view(3, 4)
    part = x[1:, 2:]
    assert (part.stride(), part.storage_offset(), part.is_contiguous()) == ((4, 1), 6, False)
    assert part.data_ptr() - x.data_ptr() == 24 and part.untyped_storage().nbytes() == 48
    assert part.contiguous().is_contiguous() and x.contiguous() is x
    image = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert image.stride() == (60, 1, 15, 3) and image.is_contiguous(memory_format=torch.channels_last)


def test_resize_keeps_what_fits() -> None:
    x = torch.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(8)[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "a view that no steps make": (lambda x: x.t().view(6), RuntimeError, "Use .reshape"),
    "a wrong shape": (lambda x: x.view(5), RuntimeError, "is invalid for input of size 6"),
    "a dim too far": (lambda x: x.transpose(0, 2), IndexError, "Dimension out of range"),
    "a name for a dim": (lambda x: x.unsqueeze("N"), TypeError, "must be int"),
    "a dim twice": (lambda x: x.permute(0, 0), RuntimeError, "duplicate dims"),
    "an index too far": (lambda x: x.select(0, 2), IndexError, "out of range"),
    "sizes that do not stretch": (lambda x: x.expand(2, 4), RuntimeError, "must match the existing size"),
    "writing to what is stretched": (lambda x: x[:1].expand(2, 3).add_(1), RuntimeError, "single memory location"),
    "beyond the memory": (lambda x: x.as_strided((7,), (1,)), RuntimeError, "out of bounds for storage"),
    "parts of other sizes": (lambda x: x.split([1, 3]), RuntimeError, "to sum exactly to 2"),
    "a list of none": (lambda x: torch.cat([]), ValueError, "non-empty list of Tensors"),
    "shapes that do not join": (lambda x: torch.cat([x, x.t()]), RuntimeError, "Sizes of tensors must match"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    program, kind, phrase = REFUSED[name]
    with pytest.raises(kind, match=phrase):
        program(torch.arange(6.0).view(2, 3))


def test_gradients_of_as_strided_scatter_are_slopes_at_any_offset() -> None:
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    src = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    for stride, offset in (((1, 2), 1), ((3, 1), 1), ((3, 1), 0)):
        assert torch.autograd.gradcheck(lambda a, b: torch.as_strided_scatter(a, b, (2, 2), stride, offset), (x, src))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64", "bfloat16"])
def test_an_unpickled_tensor_is_as_good_as_a_new_one(dtype: str) -> None:
    """pickle makes dtypes that equal NumPy's and are none of them: then nothing would take the fast path again."""
    t = torch.ones(3).to(getattr(torch, dtype))
    again = pickle.loads(pickle.dumps(t))
    assert again.raw.dtype is t.raw.dtype
    assert torch.equal(again, t)
    if dtype != "bfloat16":
        assert np.array_equal(again.numpy(), t.numpy())


@pytest.mark.parametrize("part", ["real", "imag", "conj", "sgn", "abs"])
def test_parts_of_a_batch_of_numbers(part: str) -> None:
    z = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex128)
    got = torch.vmap(lambda x: getattr(torch, part)(x))(z)
    assert torch.equal(got, getattr(torch, part)(z))
