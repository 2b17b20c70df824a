"""The graph: nodes that know how to pull a cotangent back, and the edges between them.

A `Node` is one recorded application. `edges` says where the cotangent of each input goes: a node, a `Port` (one
output of a node that has several), or None. `saved` is what the rules kept; backward replaces it
by a `Freed` when the graph is released. `key` falls as nodes are made, so that a heap of keys yields the youngest node
first: since a node is always younger than the nodes it points at, that order is topological, and nothing has to be
counted beforehand.
"""

from __future__ import annotations

import gc
from functools import partial
from itertools import count
from sys import getrefcount
from threading import Lock, RLock
from types import CodeType
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from chainrule.autograd.grad_layout import empty_for, fits
from chainrule.autograd.handles import Hook, HookTable, RemovableHandle, add_hook
from chainrule.autograd.versions import touch
from chainrule.backends.pending import Pending
from chainrule.backends.sparse import SparseArray
from chainrule.core.ambient import here, put, without_grad
from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import Size
from chainrule.core.tensor import LEAF, Cut, Extra, Port, Tensor, extra_of, fresh

__all__ = [
    "ANY_DTYPE", "AccumulateGrad", "Freed", "Hooks", "InputMetadata", "LEAF_HOOKS", "NOWHERE", "Node", "Sink",
    "accumulator", "edge_of", "hooks_of", "hooks_of_leaf", "leave_accumulator", "node_of",
    "poison_accumulator", "sink", "tick",
]  # fmt: skip

tick = count(0, -1).__next__
_new = object.__new__


class Hooks:
    """The hooks of one node, by when they run: on an output's cotangent, before the pull, after it."""

    __slots__ = ("after", "before", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookTable] = {}  # output index -> hooks of that tensor
        self.retain: dict[int, Any] = {}  # output index -> weak reference to the tensor whose .grad is kept
        self.before: HookTable = HookTable()
        self.after: HookTable = HookTable()


class Freed:
    """What stands in for the saved values of a graph that was released, and where that happened."""

    __slots__ = ("code", "lasti", "root")

    def __init__(self, code: CodeType | None, lasti: int, root: int = 1) -> None:
        self.code, self.lasti, self.root = code, lasti, root  # root: the key of the node that the pass began with


class InputMetadata:
    """What is known of one output of the forward, which is one input of the node's backward."""

    __slots__ = ("dtype", "is_cpp_nested_tensor", "is_nested_tensor", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape, self.dtype = Size(shape), dtype
        self.is_nested_tensor = self.is_cpp_nested_tensor = False


_BY_HAND = frozenset(("CopyBackwards", "NotImplemented"))  # PyTorch wrote these nodes by hand, and shows where


class Node:
    """One recorded application of an op."""

    __slots__ = ("__dict__", "__weakref__", "checks", "code", "edges", "hooks", "key", "lasti", "saved")

    edges: tuple[Any, ...]
    saved: Any  # a tuple; Freed; or autograd.saved.Packed when saved-tensor hooks were active
    checks: Any  # versions of the saved tensors at the time, None when all were 0
    code: CodeType | None
    lasti: int
    key: float  # whole, but for nodes that are put between others later
    hooks: Hooks | None

    # inputs that were Python numbers, below 0 if they came first: PyTorch lists an empty edge for each
    absent = 0
    frees = True  # does backward release what it saved? Not if that is shapes and numbers only, as in PyTorch
    takes_none = False  # is there something to do even if no cotangent arrives?
    outputs = 1  # how many differentiable outputs; more than one makes the engine collect a list

    def pull(self, g: Any) -> tuple[Any, ...]:
        """Cotangents of the inputs, on bare arrays."""
        raise NotImplementedError

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        """Cotangents of the inputs, on tensors, so that they can be differentiated again."""
        raise NotImplementedError

    def name(self) -> str:
        """The node's name, as PyTorch spells it."""
        title = type(self).__name__
        return f"torch::autograd::{title}" if title in _BY_HAND else title

    def __call__(self, *gs: Any) -> Any:
        """Pull given cotangents through this node alone."""
        if len(gs) != self.outputs:
            raise TypeError(f"{self.name()} expected {self.outputs} arguments, got {len(gs)} arguments instead")
        found = tuple(self.pull_graph(gs[0] if self.outputs == 1 else list(gs)))
        return found[0] if len(found) == 1 else found

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the cotangents go: (node, which of its outputs) for each input."""
        kept = (None if e.__class__ is Sink else e for e in self.edges)
        real = tuple((node_of(e), e.index if e.__class__ is Port else 0) for e in kept)
        return ((None, 0),) * -self.absent + real + ((None, 0),) * self.absent

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for whatever the user wants to remember about this node."""
        store: dict[str, Any] = self.__dict__.setdefault("_metadata", {})
        return store

    @property
    def requires_grad(self) -> bool:
        return True

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the pull; what it returns replaces `grad_inputs`."""
        return add_hook(hooks_of(self).after, fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the pull; what it returns replaces `grad_outputs`."""
        return add_hook(hooks_of(self).before, fn)

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """Shape and dtype of each output of the forward.

        A node that noted them would take longer to make, and more memory. So where what it saved does not tell, nor
        what made its inputs, the tensor that it made is looked for; only if that is gone nobody knows.
        """
        metas = self.output_facts() or self.facts_elsewhere()
        if metas is None:
            raise RuntimeError(
                f"{self.name()} does not keep the shape of its output, and the tensor is gone; give the gradient "
                "explicitly"
            )
        return tuple(InputMetadata(*m) for m in metas if m is not None)

    def output_facts(self) -> list[tuple[Any, DType] | None] | None:
        """(shape, dtype) of each output, or None where nobody remembers."""
        return self.noted_metas()

    def facts_elsewhere(self) -> list[tuple[Any, DType] | None] | None:
        """The same, from the one output, if it is still there: a search of all objects, milliseconds."""
        made = [t for t in gc.get_referrers(self) if isinstance(t, Tensor) and t.edge is self]
        return [(made[0].shape, made[0].dtype)] if made else None

    def noted_metas(self) -> list[tuple[Any, DType] | None] | None:
        """The same, where it was noted: several outputs, the gradients of which may be missing."""
        found: list[tuple[Any, DType] | None] | None = self.__dict__.get("metas")
        return found

    def _sequence_nr(self) -> int:
        found: int = self.__dict__.get("_sequence", -self.key)
        return found

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        """Rename the node's place; the order of execution is that of recording all the same."""
        self.__dict__["_sequence"] = sequence_nr

    def __repr__(self) -> str:
        kind = type(self)
        where = f"{kind.__module__}." if kind.__module__ == "torch.autograd.function" else ""  # users' own functions
        return f"<{where}{kind.__name__} object at {hex(id(self))}>"


LEAF_HOOKS: list[None] = []  # not empty once a hook was put on a leaf: then it is seen when leaves get their gradients


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the leaf's `.grad`."""

    __slots__ = ("variable",)

    variable: Tensor

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the gradient was added."""
        LEAF_HOOKS[:] = [None]
        return Node.register_hook(self, fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the gradient is added; what it returns replaces it."""
        LEAF_HOOKS[:] = [None]
        return Node.register_prehook(self, fn)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def output_facts(self) -> list[tuple[Any, DType] | None]:
        return [(self.variable.shape, self.variable.dtype)]

    def pull(self, g: Any) -> tuple[Any, ...]:
        leaf = self.variable
        if leaf.edge is not LEAF:
            return _unaccumulated(leaf)
        extra: Any = leaf.extra
        if g.__class__ in SCALARS:
            g = np.array(g)  # a 0-d cotangent, as NumPy hands it out
        with _lock:
            if (
                extra.grad is None and g.__class__ is np.ndarray and g.base is None and getrefcount(g) <= _ALONE
                and g.dtype is leaf.raw.dtype and extra.grad_dtype is None and g.flags.c_contiguous
                and leaf.raw.flags.c_contiguous
            ):  # the common case of `accumulate`: the array becomes the gradient  # fmt: skip
                t = extra.grad = _new(Tensor)
                t.raw, t.cut = g, _BY_BACKWARD
                t.edge = t.store = t.viewed = t.extra = None
            else:
                accumulate(leaf, g)
        if self.hooks is not None:
            self.report_bare()
        return ()

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        if self.variable.edge is not LEAF:
            return _unaccumulated(self.variable)
        accumulate_graph(self.variable, g)
        if self.hooks is not None:
            self.report()
        return ()

    def report(self) -> None:
        """Run the post-accumulate hooks."""
        extra = self.variable.extra
        for hook in list((extra.post_hooks or {}).values()) if extra is not None else ():
            if hook(self.variable) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")

    def report_bare(self) -> None:
        """The same, in a pass that does not record."""
        before = without_grad()
        try:
            self.report()
        finally:
            put(before)


def _unaccumulated(leaf: Tensor) -> tuple[Any, ...]:
    """A leaf no more: it stopped wanting a gradient since the graph was made, or was written over with history."""
    if leaf.edge is not None and leaf.viewed is None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    return ()


_hooking = Lock()  # two threads may put the first hook somewhere at once


def hooks_of(node: Node) -> Hooks:
    """The node's hooks, made now if it had none."""
    with _hooking:
        if node.hooks is None:
            node.hooks = Hooks()
        return node.hooks


def hooks_of_leaf(extra: Extra, kind: str) -> HookTable:
    """A leaf's "hooks" or "post_hooks", made now if it had none."""
    with _hooking:
        if getattr(extra, kind) is None:
            setattr(extra, kind, HookTable())
        found: HookTable = getattr(extra, kind)
        return found


class Sink(Node):
    """Where gradients of a view go that has no history though its base wants a gradient: nowhere."""

    __slots__ = ()

    def pull(self, g: Any) -> tuple[Any, ...]:
        return ()

    pull_graph = pull


NOWHERE: WeakSet[Node] = WeakSet()  # ops that only such views went into: a pass for chosen leaves must leave them out


def sink() -> Sink:
    """A node that drops what arrives."""
    node = _new(Sink)
    node.edges = node.saved = ()
    node.checks = node.hooks = node.code = None
    node.lasti, node.key = 0, tick()
    return node


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The node of a leaf: one at a time, alive as long as a graph (or somebody) holds it."""
    extra = leaf.extra
    if extra is None:
        extra = extra_of(leaf)
    elif extra.accumulator is not None and (held := extra.accumulator()) is not None:
        return held  # type: ignore[no-any-return]
    node = AccumulateGrad()
    node.variable = leaf
    node.edges = node.saved = ()
    node.checks = node.code = None
    node.lasti, node.key = 0, tick()
    node.hooks = Hooks() if extra.hooks or extra.post_hooks else None
    extra.accumulator = ref(node)
    return node


def leave_accumulator(leaf: Tensor, forget: bool) -> None:
    """The leaf is about to look at other memory: what its accumulator adds must fit then. `forget`: graphs recorded so
    far are no longer about the leaf."""
    extra = leaf.extra
    held = extra.accumulator() if extra is not None and extra.accumulator is not None else None
    if extra is None or held is None:
        return
    if forget:
        extra.accumulator = None
    me, shape = ref(held), tuple(leaf.raw.shape)  # the node holds what is made here: the way back is a weak one
    for name in ("pull", "pull_graph"):
        held.__dict__[name] = partial(_if_fitting, getattr(AccumulateGrad, name), me, shape)


def poison_accumulator(leaf: Tensor) -> None:
    """The leaf becomes another tensor: what graphs recorded so far add to it would go astray."""
    extra = leaf.extra
    held = extra.accumulator() if extra is not None and extra.accumulator is not None else None
    if extra is not None and held is not None:
        extra.accumulator = None
        held.__dict__["pull"] = held.__dict__["pull_graph"] = _poisoned


def _poisoned(g: Any) -> Any:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to "
        "run backward on a tensor that was swapped. Swap before the forward, or after the backward."
    )


def _if_fitting(pull: Any, me: Any, shape: tuple[int, ...], g: Any) -> Any:
    have = tuple(me().variable.shape)
    if have != shape:
        raise RuntimeError(
            f"invalid gradient at AccumulateGrad - got {list(shape)} but expected shape compatible with {list(have)}: "
            "the data of the tensor was replaced since the graph was recorded"
        )
    return pull(me(), g)


def edge_of(t: Tensor) -> Any:
    """Where a gradient of `t` goes, leaves resolved to their accumulators. Views must be fresh."""
    edge = t.edge
    return accumulator(t) if edge is LEAF else edge


def node_of(edge: Any) -> Any:
    """The node an edge leads to."""
    return edge.node if edge.__class__ is Port else edge


SCALARS = frozenset((np.float32, np.float64))  # what NumPy hands out for 0-d results
ANY_DTYPE = False  # in place of a leaf's grad_dtype: its gradient keeps the dtype it arrives in
_BY_BACKWARD = Cut("grad", None, 0)  # why a gradient has no history
_lock = RLock()  # two backward passes may reach one leaf from two threads
# References to a cotangent that only the engine holds, seen from `owned` and from `AccumulateGrad.pull` (a test holds
# these numbers).
_UNSHARED, _ALONE = 5, 3


def owned(g: Any, leaf: Tensor) -> Any:
    """`g` as an array that nobody else holds, in the leaf's dtype."""
    extra = leaf.extra
    want = leaf.raw.dtype if not isinstance(leaf.raw, Pending) else leaf.dtype.numpy
    if extra is not None and extra.grad_dtype is not None:
        want = g.dtype if extra.grad_dtype is ANY_DTYPE else extra.grad_dtype.numpy
    free = g.__class__ is np.ndarray and g.base is None and g.dtype is want and getrefcount(g) <= _UNSHARED
    if free and g.flags.writeable and fits(g, leaf.raw):
        return g
    if g.__class__ is SparseArray:
        unshared = getrefcount(g) <= _UNSHARED
        return _owned_sparse(g, want, unshared)
    if leaf.raw.__class__ is SparseArray:
        return np.array(g, want.type)
    copy = empty_for(leaf.raw, g.shape, want)
    copy[...] = g
    return copy


def _owned_sparse(g: SparseArray, want: Any, unshared: bool) -> SparseArray:
    """As `owned`: arrays that nobody else holds go into a record of the leaf's own, no longer coalesced."""
    if not unshared or g.dtype != want or not (g.values.flags.c_contiguous and g.indices.flags.c_contiguous):
        return g.copy().astype(want)
    return SparseArray(g.indices, g.values, g.shape)


def accumulate(leaf: Tensor, g: Any) -> None:
    """Add a bare cotangent to the leaf's gradient, in place where there is one."""
    extra = leaf.extra
    assert extra is not None
    with _lock:
        held = extra.grad
        if held is None:
            t = extra.grad = fresh(owned(g, leaf))
            t.cut = _BY_BACKWARD
        elif held.__class__ is Tensor and held.raw.flags.writeable:
            try:
                held.raw += g
            except ValueError:  # somebody gave the gradient another shape
                raise RuntimeError(
                    f"output with shape {list(held.raw.shape)} doesn't match the broadcast shape {list(np.shape(g))}"
                ) from None
            touch(held, "accumulation of a gradient")
        else:
            extra.grad = _joined(held, g)


def _joined(held: Tensor, g: Any) -> Any:
    """The sum of a gradient that is not plain memory of its own and what arrives: of two sparse ones in place."""
    if held.__class__ is Tensor and held.raw.__class__ is g.__class__ is SparseArray:
        held.raw += g
        touch(held, "accumulation of a gradient")
        return held
    arrived: Any = fresh(g if g.__class__ is SparseArray else np.asarray(g))
    return arrived + held if held.raw.__class__ is SparseArray else held + arrived


_BARE = frozenset((np.ndarray, SparseArray))


def accumulate_graph(leaf: Tensor, g: Any) -> None:
    """Add a cotangent that is a tensor to the leaf's gradient: out of place if that is recorded."""
    if g.__class__ is Tensor and g.raw.__class__ in _BARE and not here().grad:
        accumulate(leaf, g.raw)  # without its tangent, as PyTorch
        return
    extra = leaf.extra
    assert extra is not None
    with _lock:
        if extra.grad is not None:
            extra.grad = extra.grad + g
        else:
            extra.grad = g.clone() if g.raw.__class__ is SparseArray else _new_grad(leaf, g)


def _new_grad(leaf: Tensor, g: Any) -> Tensor:
    """A differentiable cotangent, copied to where a gradient of the leaf lies."""
    empty = g.new_empty(g.shape)
    if leaf.raw.__class__ is empty.raw.__class__ is np.ndarray:
        empty.raw = empty_for(leaf.raw, g.raw.shape, g.raw.dtype)
    return empty.copy_(g)  # type: ignore[no-any-return]
