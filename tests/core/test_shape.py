"""Shapes and strides against NumPy's arrays, and the refusals people search for."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.core import layout as L
from chainrule.core import shape as S

sizes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
quick = settings(max_examples=200, deadline=None)


def steps(array):
    return tuple(step // array.itemsize for step in array.strides)


@quick
@given(sizes, sizes)
def test_broadcast_as_numpy(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            S.broadcast_shapes(a, b)
        with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension"):
            S.common_shape(a, b)
    else:
        assert S.broadcast_shapes(a, b) == S.common_shape(a, b) == expected
        assert S.is_expandable_to(a, expected) and S.is_expandable_to(b, expected)
        ours, strides = S.expand_shape(a, S.contiguous_strides(a), expected)
        assert ours == expected
        x = np.arange(S.numel(a)).reshape(a)
        seen = np.lib.stride_tricks.as_strided(x, ours, [s * x.itemsize for s in strides])
        assert np.array_equal(seen, np.broadcast_to(x, expected))


@quick
@given(sizes, st.data())
def test_summing_undoes_a_broadcast(size, data):
    target = tuple(data.draw(st.sampled_from([1, n])) for n in size)[data.draw(st.integers(0, len(size))) :]
    axes = S.sum_to_size_axes(size, target)
    assert S.numel(S.reduced_shape(size, axes, keepdim=True)) == S.numel(target)
    assert np.ones(size).sum(axes, keepdims=True).reshape(target).shape == target


@quick
@given(sizes.filter(lambda size: 0 not in size), st.data())
def test_a_view_sees_the_same_elements(size, data):
    x = np.arange(2 * S.numel(size)).reshape((*size, 2))[..., 0].transpose(data.draw(st.permutations(range(len(size)))))
    factors = data.draw(st.sampled_from(splits(x.size)))
    found = S.compute_view_strides(x.shape, steps(x), factors)
    if found is not None:
        view = np.lib.stride_tricks.as_strided(x, factors, [s * x.itemsize for s in found])
        assert np.array_equal(view, x.reshape(factors))
    else:
        assert not np.shares_memory(x, x.reshape(factors))


def splits(count):
    pairs = [(a, count // a) for a in range(1, count + 1) if count % a == 0]
    return [(count,), *pairs, *((a, 1, b) for a, b in pairs)]


@quick
@given(sizes.filter(lambda size: 0 not in size), st.data())
def test_contiguity(size, data):
    x = np.empty(size)
    strides = S.contiguous_strides(size)
    assert S.is_contiguous(size, strides) and S.is_non_overlapping_and_dense(size, strides)
    assert strides == steps(x) and S.storage_extent(size, strides) == x.size
    moved = x.transpose(data.draw(st.permutations(range(x.ndim))))
    assert S.is_contiguous(moved.shape, steps(moved)) == moved.flags.c_contiguous
    assert S.dense_strides(moved.shape, steps(moved)) == steps(moved)


@pytest.mark.parametrize(
    "memory_format, rank", [(L.channels_last, 4), (L.channels_last_3d, 5)], ids=["channels_last", "3d"]
)
def test_channels_last(memory_format, rank):
    size = (2, 3, 4, 5, 6)[:rank]
    strides = S.strides_for(size, memory_format)
    stored = np.empty((size[0], *size[2:], size[1]))
    assert strides == S.channels_last_strides(size) == steps(np.moveaxis(stored, -1, 1))
    assert S.is_contiguous(size, strides, memory_format) and not S.is_contiguous(size, strides)
    with pytest.raises(RuntimeError, match=f"required rank {rank} tensor to use {memory_format.name} format"):
        S.strides_for((2, 3), memory_format)


def test_dims_wrap():
    for ndim in range(4):
        for dim in range(-max(ndim, 1), max(ndim, 1)):
            assert S.normalize_dim(dim, ndim) == dim % max(ndim, 1)
    assert S.normalize_dims(None, 3) == (0, 1, 2) and S.normalize_dims((), 3) == ()
    assert S.normalize_dims((-1, 0), 3) == (2, 0) and S.normalize_dims(-1, 3) == (2,)
    assert S.squeezed_shape((1, 2, 1), (0, 1)) == (2, 1) and S.squeezed_shape((1, 2, 1)) == (2,)


REFUSALS = [
    (lambda: S.broadcast_shapes((3,), (4,)), RuntimeError,
     r"size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 0"),
    (lambda: S.normalize_dim(5, 2), IndexError, r"Dimension out of range .*\[-2, 1\], but got 5"),
    (lambda: S.normalize_dim(1, 0), IndexError, r"\[-1, 0\], but got 1"),
    (lambda: S.normalize_dim(0, 0, wrap_scalar=False), IndexError, "tensor has no dimensions"),
    (lambda: S.normalize_dims((0, -2), 2), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: S.normalize_permutation((0, 0), 2), RuntimeError, "duplicate dims are not allowed"),
    (lambda: S.normalize_permutation((0,), 2), RuntimeError, r"input.dim\(\) = 2 is not equal to len"),
    (lambda: S.infer_size((2, -1), 3), RuntimeError, r"shape '\[2, -1\]' is invalid for input of size 3"),
    (lambda: S.infer_size((-1, -1), 3), RuntimeError, "only one dimension can be inferred"),
    (lambda: S.infer_size((-2, 3), 6), RuntimeError, "invalid shape dimension -2 at index 0"),
    (lambda: S.infer_size((-1, 0), 0), RuntimeError, "cannot reshape tensor of 0 elements"),
    (lambda: S.expand_shape((2, 3), (3, 1), (3,)), RuntimeError, r"number of sizes provided \(1\)"),
    (lambda: S.expand_shape((3,), (1,), (4,)), RuntimeError, r"must match the existing size \(3\)"),
    (lambda: S.expand_shape((3,), (1,), (-1, 3)), RuntimeError, "leading, non-existing dimension 0"),
    (lambda: S.sum_to_size_axes((2, 3), (4,)), RuntimeError, r"size \{\[4\]\} is not expandable to size"),
    (lambda: S.common_shape((-1,)), ValueError, "negative length"),
    (lambda: S.common_shape("ab"), RuntimeError, "Input shapes should be of type ints"),
    (lambda: S.strides_for((2,), L.preserve_format), RuntimeError, "unsupported memory format Preserve"),
    (lambda: S.slice_indices(slice(None, None, 0), 3), ValueError, "slice step cannot be zero"),
    (lambda: S.slice_indices(slice(None, None, -1), 3), ValueError, "step must be greater than zero"),
    (lambda: S.select_index(5, 2, 1), IndexError, "index 5 is out of bounds for dimension 1 with size 2"),
    (lambda: S.narrow_start(1, 2, 2), RuntimeError, r"start \(1\) \+ length \(2\) exceeds dimension size"),
    (lambda: S.narrow_start(0, -1, 2), RuntimeError, "length must be non-negative"),
    (lambda: S.narrow_start(3, 0, 2), IndexError, "start out of range"),
    (lambda: S.Size([2.5]), TypeError, r"torch\.Size\(\) takes an iterable of 'int' \(item 0 is 'float'\)"),
    (lambda: S.Size([2]) + [3], TypeError, "can only concatenate tuple"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, phrase", REFUSALS, ids=[phrase for _, _, phrase in REFUSALS])
def test_refusals(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()


bounds = st.none() | st.integers(-7, 7)


@quick
@given(st.integers(0, 5), bounds, bounds, st.integers(1, 4))
def test_slices_as_python(size, start, stop, step):
    found = S.slice_indices(slice(start, stop, step), size)
    assert list(range(*found)) == list(range(size))[start:stop:step]
    assert S.slice_length(*found) == len(range(*found))


def test_size_stays_a_size():
    size = S.Size((2, 3))
    for made in (size + (4,), (4,) + size, size * 2, 2 * size, size[1:], copy.copy(size), S.Size(size)):
        assert type(made) is S.Size
    assert type(pickle.loads(pickle.dumps(size))) is S.Size
    assert size == (2, 3) and hash(size) == hash((2, 3)) and size[1] == 3 and size.numel() == 6
    assert repr(size) == "torch.Size([2, 3])" and repr(S.Size()) == "torch.Size([])"


def test_infer_size_fills_the_hole():
    for shape in itertools.product((1, 2, 3), repeat=3):
        for at in range(3):
            holed = (*shape[:at], -1, *shape[at + 1 :])
            assert S.infer_size(holed, S.numel(shape)) == shape
