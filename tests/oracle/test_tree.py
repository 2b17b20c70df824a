"""Trees against PyTorch's: the same leaves, the same text of the spec, the same refusals."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule.core import tree as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.utils._pytree")

Pair = namedtuple("Pair", "left right")
quick = settings(max_examples=300, deadline=None)
leaf = st.none() | st.integers(-3, 3) | st.text(max_size=1)


def containers(children):
    lists = st.lists(children, max_size=3)
    dicts = st.dictionaries(st.sampled_from("abc"), children, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(lambda x: deque(x, 5)),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda d: defaultdict(list, d)),
        st.tuples(children, children).map(lambda x: Pair(*x)),
    )


trees = st.recursive(leaf, containers, max_leaves=8)


def is_list(x):
    return isinstance(x, list)


def outcome(call, *args):
    try:
        return repr(call(*args))
    except (ValueError, TypeError) as error:
        return type(error).__name__, str(error)


@quick
@given(trees, st.sampled_from([None, is_list]))
def test_flatten_and_paths(tree, is_leaf):
    def facts(m):
        leaves, spec = m.tree_flatten(tree, is_leaf)
        paths = m.tree_leaves_with_path(tree, is_leaf)
        counts = spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf()
        listed = list(m.tree_iter(tree, is_leaf)), m.tree_is_leaf(tree, is_leaf)
        return repr((leaves, spec, counts, paths, [m.keystr(p) for p, _ in paths], listed))

    assert facts(ours) == facts(theirs)


@quick
@given(trees, st.integers(0, 3))
def test_unflatten(tree, more):
    def again(m):
        leaves, spec = m.tree_flatten(tree)
        return m.tree_unflatten([*leaves, *range(more)], spec)

    assert outcome(again, ours) == outcome(again, theirs)


def differ_in_text_only(mine, told):
    """A mismatch: both refuse with ValueError, and with one phrase."""
    return mine[0] == told[0] == "ValueError" and mine[1].split(";")[0] == told[1].split(";")[0]


@quick
@given(trees, trees)
def test_map_over_two_trees(a, b):
    def mapped(m):
        return m.tree_map(lambda x, y: (x, y), a, b)

    mine, told = outcome(mapped, ours), outcome(mapped, theirs)
    assert mine == told or differ_in_text_only(mine, told)


@quick
@given(trees, trees)
def test_specs_compare(a, b):
    def facts(m):
        x, y = m.tree_structure(a), m.tree_structure(b)
        return x == y, x == m.tree_structure(a), hash(x) == hash(m.tree_structure(a))

    assert facts(ours) == facts(theirs)


@quick
@given(trees, trees)
def test_broadcast_prefix(prefix, full):
    mine = ours.broadcast_to_and_flatten(prefix, ours.tree_structure(full))
    assert mine == theirs._broadcast_to_and_flatten(prefix, theirs.tree_structure(full))


@quick
@given(trees, st.sampled_from([int, (int, str), int | str, is_list, callable]))
def test_only(tree, chosen):
    def facts(m):
        return m.tree_map_only(chosen, lambda x: (x,), tree), m.tree_any(is_list, tree)

    assert outcome(facts, ours) == outcome(facts, theirs)
    assert ours.treespec_pprint(ours.tree_structure(tree)) == theirs.treespec_pprint(theirs.tree_structure(tree))
