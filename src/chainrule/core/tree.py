"""Trees of containers: take the leaves out, do something with them, put them back.

A container type is known by a `Node`: how to take its children out and how to build it again. Exactly the
registered types are containers (a subclass of list is a leaf), and so is every namedtuple. All else is a
leaf, None too.
A `TreeSpec` is what is left of a tree without its leaves.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from types import UnionType
from typing import Any

from chainrule.core.shape import Size, make_size

__all__ = [
    "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "Node", "PyTree", "SequenceKey",
    "TreeSpec", "arg_tree_leaves", "broadcast_to_and_flatten", "deregister_pytree_node",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr",
    "register_constant", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only",
    "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
    "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_pprint",
]  # fmt: skip

PyTree = Any
IsLeaf = Callable[[PyTree], bool] | None
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]


# --- keys -----------------------------------------------------------------------------------------


class KeyEntry:
    """One step from a container to a child."""

    __slots__ = ("_value",)
    _field = "value"

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._value == other._value

    def __hash__(self) -> int:
        return hash((type(self), self._value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._field}={self._value!r})"

    def get(self, parent: Any) -> Any:
        """The child that this step leads to."""
        return parent[self._value]


KeyPath = tuple[KeyEntry, ...]


class SequenceKey(KeyEntry):
    """The child at a position."""

    __slots__ = ()
    _field = "idx"

    def __init__(self, idx: int) -> None:
        super().__init__(idx)

    @property
    def idx(self) -> int:
        return self._value  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class MappingKey(KeyEntry):
    """The child under a key."""

    __slots__ = ()
    _field = "key"

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)

    @property
    def key(self) -> Any:
        return self._value

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(KeyEntry):
    """The child in an attribute."""

    __slots__ = ()
    _field = "name"

    def __init__(self, name: str) -> None:
        super().__init__(name)

    @property
    def name(self) -> str:
        return self._value  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        return getattr(parent, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as one writes it in Python: `['weights'][0].mean`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What lies at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- containers -----------------------------------------------------------------------------------


class Node:
    """How one container type is taken apart and built. `keys` lists the entries of a container's children."""

    __slots__ = ("flatten", "keys", "serialization", "type", "unflatten")

    def __init__(
        self,
        type: Any,
        flatten: Flatten,
        unflatten: Unflatten,
        keys: Callable[[Any], Iterable[KeyEntry]] | None = None,
        serialization: tuple[Any, ...] = (),
    ) -> None:
        self.type, self.flatten, self.unflatten, self.keys = type, flatten, unflatten, keys
        self.serialization = serialization


class _Nodes(dict[type, Node | None]):
    """Type to Node, or to None for a leaf; a type met for the first time is classified then, and once."""

    def __missing__(self, cls: type) -> Node | None:
        self[cls] = found = _NAMEDTUPLE if is_namedtuple_class(cls) else None
        return found


def is_namedtuple(obj: object) -> bool:
    """Whether `obj` is a namedtuple or a namedtuple type."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Whether `cls` was made by `namedtuple` or derives from such a type."""
    fields = getattr(cls, "_fields", None) if isinstance(cls, type) and issubclass(cls, tuple) else None
    return isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)


def is_namedtuple_instance(obj: object) -> bool:
    """Whether `obj` is a namedtuple."""
    return is_namedtuple_class(type(obj))


def _positions(container: Any) -> Iterable[KeyEntry]:
    return map(SequenceKey, range(len(container)))


def _mapping_keys(container: Any) -> Iterable[KeyEntry]:
    return map(MappingKey, container)


def _field_keys(container: Any) -> Iterable[KeyEntry]:
    return map(GetAttrKey, container._fields)


def _sequence(cls: Any, build: Callable[[Iterable[Any]], Any]) -> Node:
    return Node(cls, lambda x: (x, None), lambda values, _: build(values), _positions)


def _mapping(cls: Any) -> Node:
    return Node(cls, lambda x: (x.values(), list(x)), lambda values, keys: cls(zip(keys, values)), _mapping_keys)


_NAMEDTUPLE = Node(namedtuple, lambda x: (x, type(x)), lambda values, cls: cls(*values), _field_keys)
_BUILT_IN = (
    _sequence(tuple, tuple),
    _sequence(list, list),
    _sequence(Size, make_size),
    _mapping(dict),
    _mapping(OrderedDict),
    Node(
        defaultdict,
        lambda x: (x.values(), [x.default_factory, list(x)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values)),
        _mapping_keys,
    ),
    Node(deque, lambda x: (x, x.maxlen), lambda values, maxlen: deque(values, maxlen), _positions),
)
_NODES = _Nodes({node.type: node for node in _BUILT_IN})
_OF_SPEC: dict[Any, Node] = {node.type: node for node in (*_BUILT_IN, _NAMEDTUPLE)}
_MAPPINGS = frozenset((dict, OrderedDict, defaultdict))


def register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Any]] | None = None,
) -> None:
    """Make `cls` a container: `flatten_fn(x) -> (children, context)`, `unflatten_fn(children, context) -> x`.

    The three arguments about dumping describe how a spec is written to text. They are kept in the Node, for
    whoever writes one; nothing in this module does.
    """
    if cls in _OF_SPEC:
        raise ValueError(f"{cls} is already registered as pytree node.")
    keys = None if flatten_with_keys_fn is None else partial(_keys_of, flatten_with_keys_fn)
    dumping = (serialized_type_name, to_dumpable_context, from_dumpable_context)
    _NODES[cls] = _OF_SPEC[cls] = Node(cls, flatten_fn, unflatten_fn, keys, dumping)


def _keys_of(flatten_with_keys: Callable[[Any], Any], container: Any) -> list[KeyEntry]:
    return [key for key, _ in flatten_with_keys(container)[0]]


def deregister_pytree_node(cls: type) -> None:
    """Make `cls` a leaf again."""
    del _OF_SPEC[cls], _NODES[cls]


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a class a container of the named attributes, by default of the fields of a dataclass.

    A field that is None belongs to the spec. Dropped fields are in no leaf, and have their defaults when the
    object is built again.
    """
    kept = _data_fields(cls, field_names, drop_field_names or [])

    def flatten(x: Any) -> tuple[list[Any], list[list[str]]]:
        present = [name for name in kept if getattr(x, name) is not None]
        absent = [name for name in kept if name not in present]
        return [getattr(x, name) for name in present], [present, absent]

    def flatten_with_keys(x: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(x)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values)), **dict.fromkeys(absent))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def _data_fields(cls: type, given: list[str] | None, dropped: list[str]) -> list[str]:
    fields = getattr(cls, "__dataclass_fields__", None)
    if fields is None and given is None:
        raise ValueError(f"field_names must be specified: {cls} is not a dataclass.")
    if fields is None:
        return [name for name in given or () if name not in dropped]
    expected = [name for name, field in fields.items() if field.init and name not in dropped]
    if given is not None and set(given) != set(expected):
        missing, unexpected = set(expected) - set(given), set(given) - set(expected)
        raise ValueError(
            "field_names does not include all dataclass fields. "
            f"Missing fields in `field_names`: {missing}. Unexpected fields in `field_names`: {unexpected}."
        )
    return expected if given is None else given


def register_constant(cls: type) -> None:
    """Make `cls` a container without leaves, whose objects belong to the spec; they need `==` and `hash`."""
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (None, getattr(object, method)):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    register_pytree_node(cls, lambda x: ([], x), lambda _, x: x, flatten_with_keys_fn=lambda x: ([], x))


# --- specs ----------------------------------------------------------------------------------------


class TreeSpec:
    """A tree without its leaves: the container's type, its context, and the specs of its children."""

    __slots__ = ("_children", "context", "num_leaves", "num_nodes", "type")

    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self.context = type, context
        self._children = children = tuple(children_specs)
        self.num_nodes = 1 + sum([child.num_nodes for child in children])
        self.num_leaves = sum([child.num_leaves for child in children])

    @property
    def num_children(self) -> int:
        return len(self._children)

    @property
    def children_specs(self) -> list[TreeSpec]:
        return list(self._children)

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The spec of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return False

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a "
                f"pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        values = [next(leaves) if child is _LEAF else child._build(leaves) for child in self._children]
        return _OF_SPEC[self.type].unflatten(values, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What `tree` has in the places of this spec's leaves: leaves or whole subtrees."""
        found: list[PyTree] = []
        self._collect(tree, found)
        return found

    def _collect(self, tree: PyTree, found: list[PyTree]) -> None:
        for child, value in zip(self._children, self._matching_children(tree)):
            child._collect(value, found)

    def _matching_children(self, tree: PyTree) -> list[PyTree]:
        node = _NODES[type(tree)]
        kind = type(tree) if node is None else node.type
        if kind is not self.type and not (kind in _MAPPINGS and self.type in _MAPPINGS):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        assert node is not None
        children, context = node.flatten(tree)
        values = list(children)
        if len(values) != len(self._children):
            raise ValueError(f"Node arity mismatch; expected {len(self._children)}, but got {len(values)}.")
        if self.type in _MAPPINGS:
            return self._by_my_keys(tree)
        if context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch; expected {self.context!r}, but got {context!r}.")
        return values

    def _by_my_keys(self, tree: Any) -> list[PyTree]:
        keys = self.context[1] if self.type is defaultdict else self.context
        if any(key not in tree for key in keys):
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
        return [tree[key] for key in keys]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = self.type, self.context, self._children
        return mine == (other.type, other.context, other._children)

    def __hash__(self) -> int:
        # The context is left out: it may be a list.
        return hash((self.type, self._children))

    def __repr__(self) -> str:
        return self._text("")

    def _text(self, indent: str) -> str:
        children = f",\n{indent}  ".join(child._text(indent + "  ") for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{children}])"


class LeafSpec(TreeSpec):
    """The spec of one leaf. There is one."""

    __slots__ = ()

    def __new__(cls) -> LeafSpec:
        return _LEAF

    def __init__(self) -> None:
        """Nothing to do: `_leaf` has made it."""

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return LeafSpec, ()

    def is_leaf(self) -> bool:
        return True

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        return next(leaves)

    def _collect(self, tree: PyTree, found: list[PyTree]) -> None:
        found.append(tree)

    def _text(self, indent: str) -> str:
        return "*"


def _leaf() -> LeafSpec:
    made = object.__new__(LeafSpec)
    made.type = made.context = None
    made._children, made.num_nodes, made.num_leaves = (), 1, 1
    return made


_LEAF = _leaf()

# Tuples and lists of leaves are most of what is flattened; their specs depend on the length alone.
_FLAT: dict[tuple[type, int], TreeSpec] = {}


def _flat_spec(cls: type, length: int) -> TreeSpec:
    found = _FLAT.get((cls, length))
    if found is None:
        found = TreeSpec(cls, None, (_LEAF,) * length)
        if length < 64:
            _FLAT[cls, length] = found
    return found


# --- taking apart, putting together ---------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and the spec that puts them back."""
    leaves: list[Any] = []
    if is_leaf is None:
        return leaves, _flatten(tree, leaves)
    return leaves, _flatten_until(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any]) -> TreeSpec:
    node = _NODES[type(tree)]
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten(tree)
    specs: list[TreeSpec] = []
    nested = False
    for child in children:
        if _NODES[type(child)] is None:
            leaves.append(child)
            specs.append(_LEAF)
        else:
            nested = True
            specs.append(_flatten(child, leaves))
    if nested or context is not None:
        return TreeSpec(node.type, context, specs)
    return _flat_spec(node.type, len(specs))


def _flatten_until(tree: PyTree, leaves: list[Any], is_leaf: Callable[[PyTree], bool]) -> TreeSpec:
    node = None if is_leaf(tree) else _NODES[type(tree)]
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten(tree)
    return TreeSpec(node.type, context, [_flatten_until(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree that has these leaves and this spec."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one by one."""
    node = None if is_leaf is not None and is_leaf(tree) else _NODES[type(tree)]
    if node is None:
        yield tree
        return
    for child in node.flatten(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of a call's arguments."""
    leaves: list[Any] = []
    for argument in (*args, *kwargs.values()):
        _flatten(argument, leaves)
    return leaves


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The spec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is one leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _NODES[type(tree)] is None


def broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """For each leaf of `treespec` the leaf of `tree` at or above it; None if `tree` is no prefix of it."""
    leaves: list[Any] = []
    return leaves if _broadcast(tree, treespec, is_leaf, leaves) else None


def _broadcast(tree: PyTree, spec: TreeSpec, is_leaf: IsLeaf, leaves: list[Any]) -> bool:
    if tree_is_leaf(tree, is_leaf):
        leaves.extend([tree] * spec.num_leaves)
        return True
    try:
        values = spec._matching_children(tree)
    except ValueError:
        return False
    return all(_broadcast(value, child, is_leaf, leaves) for value, child in zip(values, spec._children))


# --- mapping --------------------------------------------------------------------------------------


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree of `func(leaf, ...)`; each further tree gives what it has in the first one's leaf places."""
    if not rests and is_leaf is None:
        return _map(func, tree)
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


def _map(func: Callable[[Any], Any], tree: PyTree) -> PyTree:
    node = _NODES[type(tree)]
    if node is None:
        return func(tree)
    children, context = node.flatten(tree)
    mapped = [func(child) if _NODES[type(child)] is None else _map(func, child) for child in children]
    return node.unflatten(mapped, context)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` on every leaf for its effect; the tree itself is returned."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]):
        pass
    return tree


Selector = type | tuple[type, ...] | UnionType | Callable[[Any], bool]


def _predicate(types_or_pred: Selector) -> Callable[[Any], bool]:
    if isinstance(types_or_pred, (type, tuple, UnionType)):
        return lambda x: isinstance(x, types_or_pred)
    if callable(types_or_pred):
        return types_or_pred
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def _only(types_or_pred: Selector, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    chosen = _predicate(types_or_pred)
    return lambda x: func(x) if chosen(x) else x


def tree_map_only(
    type_or_types_or_pred: Selector, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` over the leaves of some types (or that satisfy a predicate); the others stay."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Selector, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map_` over the leaves of some types (or that satisfy a predicate)."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Selector, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds for every leaf of some types."""
    return all(map(pred, filter(_predicate(type_or_types), tree_iter(tree, is_leaf))))


def tree_any_only(
    type_or_types: Selector, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds for some leaf of some types."""
    return any(map(pred, filter(_predicate(type_or_types), tree_iter(tree, is_leaf))))


# --- paths ----------------------------------------------------------------------------------------


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves with their paths from the root."""
    return list(_walk((), tree, is_leaf))


def _walk(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _NODES[type(tree)]
    if node is None:
        yield path, tree
        return
    if node.keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(tree)}.")
    for key, child in zip(node.keys(tree), node.flatten(tree)[0]):
        yield from _walk((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` with a function that takes the path first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    return spec.unflatten(list(map(func, paths, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with an asterisk for each leaf."""
    return repr(treespec.unflatten([_Asterisk()] * treespec.num_leaves))
