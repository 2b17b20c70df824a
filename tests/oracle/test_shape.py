"""Shapes, strides and their refusals against live PyTorch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.core import layout, shape

torch = pytest.importorskip("torch")

sizes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
targets = st.lists(st.integers(-2, 6), max_size=5).map(tuple)
quick = settings(max_examples=300, deadline=None)


@st.composite
def strided(draw):
    """A PyTorch tensor with steps of every kind: sliced, permuted, expanded, with sizes 1 and 0."""
    x = torch.empty_strided(*_geometry(draw))
    for dim in range(x.ndim):
        x = x[(slice(None),) * dim + (slice(draw(st.integers(0, 1)), None, draw(st.integers(1, 2))),)]
    if x.ndim:
        x = x.permute(draw(st.permutations(range(x.ndim))))
    if draw(st.booleans()):
        x = x.expand([draw(st.integers(0, 3)) if n == 1 else n for n in x.shape])
    return x


def _geometry(draw):
    drawn = draw(sizes)
    return drawn, shape.contiguous_strides(drawn)


def outcome(call, *args):
    try:
        return call(*args)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@quick
@given(sizes, sizes)
def test_broadcast(a, b):
    theirs = outcome(lambda: tuple((torch.empty(a) + torch.empty(b)).shape))
    assert outcome(shape.broadcast_shapes, a, b) == theirs


@quick
@given(st.lists(sizes, max_size=3))
def test_common_shape(shapes):
    assert outcome(shape.common_shape, *shapes) == outcome(torch.broadcast_shapes, *shapes)


@quick
@given(sizes, st.integers(-6, 6))
def test_normalize_dim(size, dim):
    theirs = outcome(lambda: torch.empty(size).sum(dim, keepdim=True))
    ours = outcome(shape.normalize_dim, dim, len(size))
    if isinstance(ours, int):
        assert tuple(theirs.shape) == shape.reduced_shape(size, (ours,), keepdim=True)
    else:
        assert ours == theirs


@quick
@given(sizes, st.lists(st.integers(-4, 3), max_size=3), st.booleans())
def test_reduced_shape(size, dims, keepdim):
    theirs = outcome(lambda: tuple(torch.empty(size).sum(dims, keepdim=keepdim).shape))

    def ours():
        chosen = shape.normalize_dims(dims or None, len(size))
        return shape.reduced_shape(size, chosen, keepdim)

    assert outcome(ours) == theirs


@quick
@given(sizes, st.lists(st.integers(-4, 3), max_size=4))
def test_permutation(size, dims):
    x = torch.empty(size)
    theirs = outcome(lambda: tuple(x.permute(dims).shape))
    ours = outcome(lambda: tuple(size[d] for d in shape.normalize_permutation(dims, len(size))))
    assert ours == theirs


@quick
@given(sizes, targets)
def test_infer_size(size, target):
    theirs = outcome(lambda: tuple(torch.empty(size).reshape(target).shape))
    assert outcome(shape.infer_size, target, shape.numel(size)) == theirs


@settings(max_examples=800, deadline=None)
@given(strided(), st.data())
def test_view_strides(x, data):
    new = data.draw(st.sampled_from(_factorings(x.numel())))
    ours = shape.compute_view_strides(tuple(x.shape), x.stride(), new)
    try:
        theirs = x.view(new).stride()
    except RuntimeError:
        theirs = None
    assert ours == theirs


def _factorings(count):
    if count == 0:
        return [(0,), (2, 0), (0, 3), (1, 0, 2), (0, 0)]
    pairs = [(a, count // a) for a in range(1, count + 1) if count % a == 0]
    triples = [(a, b, c // b) for a, c in pairs for b in range(1, c + 1) if c % b == 0]
    return [(count,), *pairs, *triples, *((1, *t) for t in triples), *((*p, 1, 1) for p in pairs)]


@settings(max_examples=800, deadline=None)
@given(strided(), targets)
def test_expand(x, target):
    def theirs():
        out = x.expand(target)
        return tuple(out.shape), out.stride()

    ours = outcome(shape.expand_shape, tuple(x.shape), x.stride(), target, lambda: "torch.FloatTensor")
    told = outcome(theirs)
    if -2 in target or -1 in target and x.ndim == 0:  # PyTorch makes a tensor of negative size, or overflows
        assert ours[0] == "RuntimeError"
    else:
        assert ours == told


@quick
@given(sizes, sizes)
def test_sum_to_size(size, target):
    x = torch.arange(shape.numel(size), dtype=torch.float64).reshape(size)
    theirs = outcome(lambda: x.sum_to_size(target))
    axes = outcome(shape.sum_to_size_axes, size, target)
    if isinstance(theirs, tuple):
        assert axes == theirs
    else:
        mine = x.sum(axes, keepdim=True) if axes else x
        assert torch.equal(mine.reshape(target), theirs)


FORMATS = ["contiguous_format", "channels_last", "channels_last_3d", "preserve_format"]


@settings(max_examples=800, deadline=None)
@given(strided(), st.sampled_from(FORMATS))
def test_is_contiguous(x, name):
    ours = shape.is_contiguous(tuple(x.shape), x.stride(), getattr(layout, name))
    assert ours == x.is_contiguous(memory_format=getattr(torch, name))


@settings(max_examples=800, deadline=None)
@given(strided())
def test_dense(x):
    geometry = tuple(x.shape), x.stride()
    assert shape.is_non_overlapping_and_dense(*geometry) == torch.ops.aten.is_non_overlapping_and_dense(x)
    assert shape.dense_strides(*geometry) == torch.empty_like(x).stride()


@quick
@given(st.lists(st.integers(0, 4), max_size=6).map(tuple), st.sampled_from(FORMATS))
def test_strides_for(size, name):
    theirs = outcome(lambda: torch.empty(size, memory_format=getattr(torch, name)).stride())
    assert outcome(shape.strides_for, size, getattr(layout, name)) == theirs


bounds = st.none() | st.integers(-7, 7)


@quick
@given(st.integers(0, 5), bounds, bounds, st.none() | st.integers(-1, 4))
def test_slices(size, start, stop, step):
    def ours():
        found = shape.slice_indices(slice(start, stop, step), size)
        return list(range(*found)), shape.slice_length(*found)

    def theirs():
        out = torch.arange(size)[start:stop:step].tolist()
        return out, len(out)

    assert outcome(ours) == outcome(theirs)


@quick
@given(st.integers(0, 5), st.integers(-7, 7), st.integers(-1, 7))
def test_select_and_narrow(size, at, length):
    x = torch.arange(size)
    assert outcome(shape.select_index, at, size, 0) == outcome(lambda: int(x[at]))

    def ours():
        first = shape.narrow_start(at, length, size)
        return list(range(first, first + length))

    assert outcome(ours) == outcome(lambda: x.narrow(0, at, length).tolist())


@quick
@given(sizes, sizes, st.integers(0, 3), st.slices(4))
def test_size(a, b, times, cut):
    def laws(Size):
        x = Size(a)
        made = [x, x + b, b + x, x * times, times * x, x[cut], x.numel(), x == a, hash(x) == hash(a)]
        return [repr(each) for each in made]

    assert laws(shape.Size) == laws(torch.Size)


@pytest.mark.parametrize("given", [[2.5], ["a"], [1, None], 3, [True], [-1]], ids=repr)
def test_size_refusals(given):
    assert repr(outcome(shape.Size, given)) == repr(outcome(torch.Size, given))
