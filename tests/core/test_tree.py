"""Laws of trees: what is taken out goes back, and a spec knows its places."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import pytest

from chainrule.core import tree as T
from chainrule.core.shape import Size

Pair = namedtuple("Pair", "left right")

TREES = [
    3,
    None,
    (),
    [],
    {},
    (1, 2, 3),
    [1, (2, {"b": 3, "a": None})],
    OrderedDict(b=1, a=[2]),
    defaultdict(list, {"x": [1], "y": 2}),
    deque([1, (2,)], maxlen=4),
    Pair(1, Pair(2, 3)),
    Size([2, 3]),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_laws(tree):
    leaves, spec = T.tree_flatten(tree)
    again = T.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and repr(again) == repr(tree)
    assert spec.num_leaves == len(leaves) and spec == T.tree_structure(again)
    assert leaves == list(T.tree_iter(tree)) == T.tree_leaves(tree) == T.arg_tree_leaves(tree)
    assert T.tree_is_leaf(tree) == spec.is_leaf() == isinstance(spec, T.LeafSpec)
    assert T.tree_map(lambda x: x, tree) == tree and T.tree_map_(str, tree) is tree
    assert spec.flatten_up_to(tree) == leaves
    assert T.broadcast_to_and_flatten(0, spec) == [0] * len(leaves)
    assert T.broadcast_to_and_flatten(tree, spec) == leaves
    for path, leaf in T.tree_leaves_with_path(tree):
        assert T.key_get(tree, path) is leaf
        assert eval("tree" + T.keystr(path)) is leaf
    for twin in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec)):
        assert twin == spec and hash(twin) == hash(spec) and twin.unflatten(leaves) == tree


def test_specs_differ():
    specs = [T.tree_structure(tree) for tree in TREES]
    for a, spec in enumerate(specs):
        for b, other in enumerate(specs):
            assert (spec == other) == (a == b or (spec.is_leaf() and other.is_leaf()))


def test_text():
    assert repr(T.tree_structure((1, [2, {"a": 3}]))) == (
        "TreeSpec(tuple, None, [*,\n  TreeSpec(list, None, [*,\n    TreeSpec(dict, ['a'], [*])])])"
    )
    assert T.treespec_pprint(T.tree_structure((1, [2]))) == "(*, [*])"
    assert repr(T.LeafSpec()) == "*" and T.LeafSpec() is T.tree_structure(0)


def test_several_trees():
    assert T.tree_map(max, (1, [5]), (3, [4])) == (3, [5])
    assert T.tree_map(lambda a, b: (a, b), (1, 2), ((3, 4), 5)) == ((1, (3, 4)), (2, 5))
    assert T.tree_map(max, {"a": 1, "b": 2}, OrderedDict(b=9, a=0)) == {"a": 1, "b": 9}
    assert T.tree_map_with_path(lambda p, x, y: T.keystr(p) + str(x + y), [1, 2], [3, 4]) == ["[0]4", "[1]6"]


MISMATCHES = [
    ((1, 2), (3,), "Node arity mismatch; expected 2, but got 1"),
    ((1, 2), [3, 4], "Node type mismatch"),
    ([1], 3, "Node type mismatch"),
    ({"a": 1}, {"b": 1}, "Node keys mismatch"),
    (Pair(1, 2), (1, 2), "Node type mismatch"),
]


@pytest.mark.parametrize("a, b, phrase", MISMATCHES, ids=str)
def test_mismatches(a, b, phrase):
    with pytest.raises(ValueError, match=phrase):
        T.tree_map(max, a, b)


def test_unflatten_counts_leaves():
    with pytest.raises(ValueError, match="`leaves` has length 2 but the spec refers to a pytree that holds 1"):
        T.tree_unflatten([1, 2], T.tree_structure([0]))
    with pytest.raises(TypeError, match="Expected `treespec`"):
        T.tree_unflatten([1], 3)
    assert T.tree_unflatten((x for x in (1, 2)), T.tree_structure([0, 0])) == [1, 2]


def test_only_and_questions():
    tree = (1, ["a", 2.0])
    assert T.tree_map_only(int, lambda x: -x, tree) == (-1, ["a", 2.0])
    assert T.tree_map_only((int, float), lambda x: -x, tree) == (-1, ["a", -2.0])
    assert T.tree_map_only(int | float, lambda x: -x, tree) == (-1, ["a", -2.0])
    assert T.tree_map_only(lambda x: x == "a", str.upper, tree) == (1, ["A", 2.0])
    seen = []
    assert T.tree_map_only_(str, seen.append, tree) is tree and seen == ["a"]
    assert T.tree_all_only(int, lambda x: x == 1, tree) and not T.tree_any_only(str, str.isupper, tree)
    assert T.tree_all(bool, tree) and not T.tree_any(lambda x: x is None, tree)
    with pytest.raises(TypeError, match="a type, a tuple of types, or a callable"):
        T.tree_map_only(3, abs, tree)


def test_is_leaf_stops_the_descent():
    stop = lambda x: isinstance(x, list)
    assert T.tree_leaves((1, [2, 3]), is_leaf=stop) == [1, [2, 3]]
    assert T.tree_map(len, ([1, 2], []), is_leaf=stop) == (2, 0)


class Box:
    def __init__(self, content):
        self.content = content


@pytest.fixture
def registered():
    T.register_pytree_node(Box, lambda box: ([box.content], None), lambda children, _: Box(*children))
    yield
    T.deregister_pytree_node(Box)


def test_registered_types_are_containers(registered):
    assert T.tree_leaves([Box((1, 2))]) == [1, 2]
    assert T.tree_map(abs, Box(-1)).content == 1
    with pytest.raises(ValueError, match="already registered as pytree node"):
        T.register_pytree_node(Box, None, None)
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        T.tree_leaves_with_path(Box(1))


def test_deregistered_types_are_leaves_again():
    assert T.tree_is_leaf(Box(1))


@dataclass
class Point:
    x: object
    y: object = None
    label: str = field(default="here")


def test_dataclass():
    T.register_dataclass(Point, drop_field_names=["label"])
    try:
        assert T.tree_map(lambda x: x + 1, Point(1, 2)) == Point(2, 3)
        assert T.tree_leaves(Point(1)) == [1]
        assert [T.keystr(path) for path, _ in T.tree_leaves_with_path([Point(1, 2)])] == ["[0].x", "[0].y"]
    finally:
        T.deregister_pytree_node(Point)
    with pytest.raises(ValueError, match="field_names does not include all dataclass fields"):
        T.register_dataclass(Point, field_names=["x"])
    with pytest.raises(ValueError, match="field_names must be specified"):
        T.register_dataclass(Box)


@dataclass(frozen=True)
class Norm:
    name: str


def test_constants_belong_to_the_spec():
    T.register_constant(Norm)
    try:
        leaves, spec = T.tree_flatten((1, Norm("l2")))
        assert leaves == [1] and spec.unflatten([2]) == (2, Norm("l2"))
        assert spec != T.tree_structure((1, Norm("l1")))
    finally:
        T.deregister_pytree_node(Norm)
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        T.register_constant(Box)
