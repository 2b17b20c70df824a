"""Values kept for backward: checked against change, packed by user hooks, freed after use.

A node of an op keeps bare values, and its generated pull checks their versions. Where a user wants a say
(saved-tensor hooks, `_raw_saved_*`) or the node is a custom Function's, each tensor is kept as a `SavedTensor`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from chainrule.autograd.explain import freed, inference_text, stale_text
from chainrule.autograd.node import Freed, Node, accumulator
from chainrule.autograd.tangents import set_tangent
from chainrule.autograd.versions import InferenceStore, version_of, watch
from chainrule.autograd.views import refresh
from chainrule.core.ambient import LISTENING, here, put, swapped
from chainrule.core.tensor import LEAF, Port, Store, Tensor, fresh
from chainrule.errors import FreedError, InferenceError, StaleError

__all__ = [
    "Packed", "SavedTensor", "keep", "kept_input", "kept_output", "opened", "recover", "refuse_inference", "rewrap",
    "shown", "stale", "verify",
]  # fmt: skip

_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
    "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)
_PACK_WROTE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
    "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
    "issue if you need to perform in-place operations on the input to a pack hook."
)
_HOOKED_LATE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling backward."
)
_new = object.__new__


class SavedTensor:
    """One value kept for backward: a tensor, the array of one of the node's own outputs, or what a pack hook
    made of it.

    The node's outputs are kept as arrays: a tensor would hold the node that holds it.
    """

    __slots__ = ("derived", "edge", "held", "index", "owner", "store", "unpack_hook", "version")

    held: Any  # a Tensor; an array if `index` is not None; what the pack hook returned
    index: int | None  # which output of the node, -1 for one without gradient; None for an input
    owner: ref[Node] | None  # the op's node that keeps it, where a user may hold it longer
    unpack_hook: Any
    edge: Any  # of an input that was packed: where its gradient goes
    store: Store | None
    version: int
    derived: bool  # an op's node saved an input that had a history: it may not be cut off since

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what the pack hook returned, as it is."""
        if self._was_freed():
            return None
        if self.index is not None and self.unpack_hook is None:
            return fresh(self.held)
        return self.held

    def _was_freed(self) -> bool:
        node = None if self.owner is None else self.owner()
        return node is not None and node.saved.__class__ is Freed

    def unpack(self, node: Node | None = None) -> Any:
        """The value as a tensor that takes part in the graph."""
        if self.unpack_hook is not None:
            return self._unpacked(node)
        if self.held is None:
            return None
        version = self.store.version if self.store is not None else self._late_version()
        if version != self.version:
            store = self.store if self.store is not None else self.held.store
            stale(node, self.held, store, self.version, None if self.index is None else node)
        if self.index is not None:
            return rewrap(node, self.held, None if self.index < 0 else self.index, self.store)
        if self.derived and self.held.edge is None:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is "
                "not supported, please use out-of-place `.detach()` instead"
            )
        return self.held

    def _late_version(self) -> int:
        """An input that had no store when it was saved may have got one since."""
        return version_of(self.held) if self.index is None else 0

    def _unpacked(self, node: Node | None) -> Tensor:
        before = here()
        try:
            t = self.unpack_hook(self.held)
        finally:
            put(before)
        if not isinstance(t, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}"
            )
        edge = self.edge
        if self.index is not None and self.index >= 0 and node is not None:
            edge = Port(node, self.index) if node.outputs > 1 else node
        return t if edge is None and t.edge is None else t if t.edge is edge else rewrapped(t, edge)

    def register_hooks(self, pack_hook: Any, unpack_hook: Any = None) -> None:
        """Replace what is kept by `pack_hook(tensor)`; `unpack_hook` must make the tensor of it again."""
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are "
                "supported: (self, pack_hook: Callable, unpack_hook: Callable)"
            )
        if self._was_freed():
            raise FreedError(_HOOKED_LATE)
        if self.unpack_hook is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        if self.held is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        self._pack(pack_hook, unpack_hook, fresh(self.held) if self.index is not None else self.held.detach())

    def _pack(self, pack_hook: Any, unpack_hook: Any, given: Tensor) -> None:
        before = version_of(given)
        with swapped(grad=False, hooks=()):
            held = pack_hook(given)
        if version_of(given) != before:
            raise RuntimeError(_PACK_WROTE)
        if self.index is None:
            edge = self.held.edge
            self.edge = accumulator(self.held) if edge is LEAF else edge
        elif held is given:
            held = rewrapped(given, None)  # the output itself would keep its node alive
        self.held, self.unpack_hook, self.store = held, unpack_hook, None


def _bare(held: Any, index: int | None, store: Store | None, version: int) -> SavedTensor:
    saved: SavedTensor = _new(SavedTensor)
    saved.held, saved.index, saved.store, saved.version = held, index, store, version
    saved.unpack_hook = saved.edge = saved.owner = None
    saved.derived = False
    return saved


def kept_input(t: Tensor | None) -> SavedTensor:
    """A tensor kept as it is, or packed by the hooks in force."""
    if t is None:
        return _bare(None, None, None, 0)
    refuse_inference((t,))
    store = t.store
    saved = _bare(t, None, store, 0 if store is None else store.version)
    return _packed_by_default(saved, t) if LISTENING else saved


def kept_output(node: Node, raw: Any, index: int, store: Store | None) -> SavedTensor:
    """An output of `node` kept as its array, or packed by the hooks in force."""
    saved = _bare(raw, index, store, store.version if store is not None else 0)
    if not LISTENING or _default_hooks() is None:
        return saved
    return _packed_by_default(saved, rewrap(node, raw, None if index < 0 else index, store))


def _packed_by_default(saved: SavedTensor, given: Tensor) -> SavedTensor:
    """The tensor itself goes to the hook, the same object at every save: hooks know tensors by identity."""
    hooks = _default_hooks()
    if hooks is not None:
        pack, unpack = hooks
        saved._pack(pack, unpack, given)
    return saved


def _default_hooks() -> Any:
    """The innermost (pack, unpack) in force; None if there is none or they are disabled here."""
    hooks = here().hooks
    return hooks[-1] if hooks and not isinstance(hooks[-1], str) else None


def refuse_inference(values: Iterable[Any]) -> None:
    """Raise if a tensor made in inference mode is among what would be kept."""
    for value in values:
        if isinstance(value, Tensor) and isinstance(value.store, InferenceStore):
            raise InferenceError(inference_text(value, _INFERENCE))


class Packed:
    """The saved values of an op's node with every tensor in a `SavedTensor`; outputs as a tuple of them."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries


def keep(node: Node, outs_at: int | None) -> None:
    """Second thoughts about what a node saved: versions, inference tensors, user hooks. The careful path
    calls it."""
    saved = node.saved
    refuse_inference(saved)
    checks = watch(saved)
    node.checks = checks if any(checks) else None
    if _default_hooks() is not None:
        open_up(node, outs_at)


def open_up(node: Node, outs_at: int | None) -> None:
    """Put each saved tensor of an op's node into a `SavedTensor`."""
    if node.saved.__class__ is Packed:
        return
    entries = list(node.saved)
    for at, value in enumerate(entries):
        if at == outs_at:
            entries[at] = _outputs_opened(node, value, entries[at + 1])
            if _default_hooks() is not None:
                entries[at + 1 : at + 3] = [Store(), 0]  # what a hook packed cannot be watched
        elif isinstance(value, Tensor):
            entries[at] = _opened(node, value, at)
        elif value.__class__ is tuple and value and isinstance(value[0], Tensor):
            entries[at] = tuple(map(_input_of_op, value))
    node.saved = Packed(entries)


def _input_of_op(t: Tensor) -> SavedTensor:
    saved = kept_input(t)
    saved.derived = t.edge is not None and t.edge is not LEAF
    return saved


def _opened(node: Node, t: Tensor, at: int) -> SavedTensor:
    saved = _input_of_op(t)
    if saved.unpack_hook is None and node.checks is not None:
        saved.version = node.checks[at]
    elif saved.unpack_hook is None:
        saved.version = 0
    return saved


def _outputs_opened(node: Node, raws: tuple[Any, ...], store: Store) -> tuple[SavedTensor, ...]:
    places: tuple[int, ...] = node.op.differentiable  # type: ignore[attr-defined]
    return tuple(kept_output(node, r, places.index(i) if i in places else -1, store) for i, r in enumerate(raws))


def recover(node: Node) -> tuple[Any, ...]:
    """The saved values of a node whose `saved` is not a plain tuple: unpacked, or an error if they were
    freed."""
    saved = node.saved
    if saved.__class__ is Freed:
        freed(node, saved)
    return tuple(_recovered(v, node) for v in saved.entries)


def _recovered(value: Any, node: Node) -> Any:
    if value.__class__ is SavedTensor:
        return value.unpack(node)
    if value.__class__ is tuple and value and value[0].__class__ is SavedTensor:
        if value[0].index is None:
            return tuple(v.unpack(node) for v in value)
        return tuple(v.held if v.unpack_hook is None else v.unpack(node).raw for v in value)
    return value


def opened(node: Node, outs_at: int | None) -> list[Any]:
    """The saved values of an op's node, tensors as `SavedTensor`s that stay."""
    if node.saved.__class__ is Freed:
        freed(node, node.saved)
    with swapped(hooks=()):
        open_up(node, outs_at)
    entries: list[Any] = node.saved.entries
    return entries


def shown(node: Node, at: int, outs_at: int | None, index: int | None) -> Any:
    """What a node keeps in one place, for a user who asks for the record; of a freed one, a record without value."""
    found: Any = _bare(None, None, None, 0)
    if node.saved.__class__ is not Freed:
        entry = opened(node, outs_at)[at]
        found = entry if index is None else entry[index]
    for saved in found if isinstance(found, tuple) else (found,):
        if isinstance(saved, SavedTensor):
            saved.owner = ref(node)
    return found


def rewrapped(t: Tensor, edge: Any) -> Tensor:
    """The same memory, with another place for its gradient."""
    alias = t.rewrapped()
    alias.edge, alias.store = edge, t.store
    return alias


def verify(node: Node) -> None:
    """Raise if a saved tensor changed since it was saved."""
    saved, checks = node.saved, node.checks
    if saved.__class__ is not tuple:
        return
    for at, value in enumerate(saved):
        if isinstance(value, Tensor) and value.store is not None:
            expected = checks[at] if checks is not None else 0
            if value.store.version != expected:
                refresh(value, asked=True)  # of a view that may not be read any more, that is the first thing to say
                stale(node, value, value.store, expected)
            if value.extra is not None and value.extra.detached is not None and node.key > value.extra.detached:
                raise RuntimeError(
                    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(): use "
                    ".detach() instead."
                )


def stale(node: Node | None, value: Any, store: Any, expected: int, maker: Any = None) -> NoReturn:
    """A saved value was changed in place: name who saved it, who changed it, and a way out. `maker`: whose
    output it is."""
    raise StaleError(stale_text(node, value, store, expected, maker))


def rewrap(node: Any, raw: Any, index: int | None, store: Store | None = None) -> Tensor:
    """An output of `node` as a tensor again; `index` None for one that carries no gradient."""
    level = node.__dict__.get("level") if not isinstance(raw, np.ndarray) else None
    if level is None:
        t = raw.detach() if isinstance(raw, Tensor) else fresh(raw)  # a tensor: what a subclass answered
    else:
        t = level.wrap(raw)
    t.store = store
    if index is not None:
        t.edge = Port(node, index) if node.outputs > 1 else node
        kept = node.__dict__.get("tangents")
        if kept is not None and index in kept and (kept[index][0] > 0 or here().dual >= 0):
            set_tangent(t, kept[index][1], kept[index][0])
    return t
