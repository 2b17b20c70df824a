"""PyTorch's public names of the graph: `torch.autograd.graph`. The nodes themselves live in
`autograd.node`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from chainrule.autograd.api import gradient_edge
from chainrule.autograd.grad_mode import Mode
from chainrule.autograd.handles import RemovableHandle
from chainrule.autograd.node import AccumulateGrad, Node, edge_of, node_of
from chainrule.autograd.tasks import current, will_execute
from chainrule.autograd.versions import BEFORE_WRITE, InferenceStore, store_of
from chainrule.core.ambient import THREAD, here, leave, put, swapped
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import Port, Tensor

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: the node, and which of its outputs."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place where the gradient of `tensor` arrives, without keeping the tensor."""
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, index = (edge.node, edge.index) if edge.__class__ is Port else (edge, 0)
    if node.output_facts() is None:  # asked of the tensor now: the node itself did not keep it
        node.__dict__["metas"] = [(tuple(tensor.shape), tensor.dtype)]
    return GradientEdge(node, index)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that a tensor's memory was changed by something autograd could not see."""
    try:
        found = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        found = (tensor,)  # type: ignore[assignment]
    if not all(isinstance(t, Tensor) for t in found):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in found:
        store = store_of(t)
        if isinstance(store, InferenceStore):
            continue
        store.version += 1
        store.op = "increment_version"
        store.code, store.lasti = here_in_user_code()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """There is one stream: whatever is asked, nothing can mismatch."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got type {type(enabled).__name__})")


# ------------------------------------------------------------------------------------------ hooks on saved tensors


class saved_tensors_hooks:
    """Inside the block, what backward will need is kept as `pack_hook(tensor)` and made again by
    `unpack_hook`."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        hooks = here().hooks
        if hooks and isinstance(hooks[-1], str):
            raise RuntimeError(hooks[-1])
        put(here().but(hooks=(*hooks, (self.pack_hook, self.unpack_hook))))

    def __exit__(self, *exc: object) -> None:
        inside = THREAD.record
        try:
            leave(inside, "hooks")
        except BaseException:  # Ctrl-C, just then
            leave(inside, "hooks")
            raise


class save_on_cpu(saved_tensors_hooks):
    """Keep what backward will need in main memory; here that is a copy, since there is no other. As in PyTorch
    without a device, `pin_memory` changes nothing then."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Any) -> Any:
            return t.device, t.cpu()

        def unpack(packed: Any) -> Any:
            device, kept = packed
            return kept.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(Mode):
    """Inside the block, entering `saved_tensors_hooks` raises with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def clone(self) -> disable_saved_tensors_hooks:
        return disable_saved_tensors_hooks(self.error_message)

    def changes(self) -> dict[str, Any]:
        return {"hooks": (self.error_message,)}

    def __enter__(self) -> None:
        hooks = here().hooks
        if hooks and not isinstance(hooks[-1], str):
            raise RuntimeError(self.error_message)
        super().__enter__()


# ----------------------------------------------------------------------------------------------- multi-grad hooks


class _MultiHandle(RemovableHandle):
    """Takes all of a multi-grad hook's parts away."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once per backward pass: with the list of all gradients when the last is there, or ("any")
    with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    hooks = _Together(tensors, fn) if mode == "all" else _First(fn)
    return _MultiHandle(tuple(t.register_hook(hooks.at(i)) for i, t in enumerate(tensors)))


class _Together:
    """Collects the gradients of several tensors during one pass."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None]) -> None:
        self.fn, self.lock = fn, threading.Lock()
        assert all(t.requires_grad for t in tensors), "Expected gradient function to be set"
        nodes = [get_gradient_edge(t).node for t in tensors]
        # whose hooks lead here; the node of a leaf is another one once the last graph with it is gone
        self.places = [ref(n.variable if isinstance(n, AccumulateGrad) else n) for n in nodes]

    def at(self, index: int) -> Callable[[Tensor], None]:
        """The hook of the tensor in this place."""
        return lambda g: self.arrived(index, g)

    def arrived(self, index: int, g: Tensor) -> None:
        """Note one gradient; call the user's function with the last."""
        task = current()
        assert task is not None, "expected this hook to be called inside a backward call"
        with self.lock:
            state = task.note(self, lambda: [sum(map(_is_visited, self.places)), [None] * len(self.places)])
            state[0] -= 1
            state[1][index] = g
        if state[0] == 0:
            self.fn(state[1])


def _is_visited(place: ref[Any]) -> bool:
    """Will the current pass come to this node, or to the node of this leaf?"""
    found = place()
    node = node_of(edge_of(found)) if isinstance(found, Tensor) else found
    return node is not None and will_execute(node)


class _First:
    """Passes on the first gradient of a pass."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn, self.lock = fn, threading.Lock()

    def at(self, index: int) -> Callable[[Tensor], None]:
        """The hook of any of the tensors."""
        return self.arrived

    def arrived(self, g: Tensor) -> None:
        """Call the user's function if it was not called in this pass."""
        task = current()
        assert task is not None, "expected this hook to be called inside a backward call"
        with self.lock:
            state = task.note(self, lambda: [False])
            first, state[0] = not state[0], True
        if first:
            self.fn(g)


# ------------------------------------------------------------------------------------- mutation of saved tensors


class _Handle:
    """Stands for one saved tensor; keeps its memory's store, so that the store's identity stays its own."""

    __slots__ = ("__weakref__", "store")

    def __init__(self, store: Any) -> None:
        self.store = store


class _AllowMutationOnSavedContext:
    """Saved tensors as they are, and the copies of those that were changed since."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int, int], _Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
        self.active = False

    def clear(self) -> None:
        """Forget everything."""
        for table in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            table.clear()

    def pack(self, t: Tensor) -> _Handle:
        """A handle for a tensor of one version; the same for the same."""
        store = store_of(t)
        tid = (id(t), id(store), store.version)
        self.sid_to_tid.setdefault(tid[1:], set()).add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle(store)
            self.original[handle] = t
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """The tensor as it was when it was saved."""
        assert self.active and (handle in self.cloned or handle in self.original), (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph "
            "was originally recorded."
        )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def about_to_write(self, t: Tensor) -> None:
        """Copy what was saved of this memory's present version."""
        store = store_of(t)
        for tid in self.sid_to_tid.pop((id(store), store.version), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                with swapped(grad=True, hooks=()):
                    self.cloned[handle] = self.original.pop(handle).clone()


_mutable: list[_AllowMutationOnSavedContext] = []


class allow_mutation_on_saved_tensors:
    """Inside the block, a saved tensor may be changed in place: backward uses a copy from before."""

    def __enter__(self) -> _AllowMutationOnSavedContext:
        if _mutable:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        context = _AllowMutationOnSavedContext()
        self._hooks = saved_tensors_hooks(context.pack, context.unpack)
        try:
            _mutable.append(context)
            BEFORE_WRITE.append(context.about_to_write)
            context.active = True
            self._hooks.__enter__()
        except BaseException:
            self._forget()
            raise
        return context

    def __exit__(self, *exc: object) -> None:
        try:
            self._hooks.__exit__(*exc)
            self._forget()
        except BaseException:  # Ctrl-C, just then
            self._forget()
            raise

    def _forget(self) -> None:
        for context in _mutable:
            context.active = False
            context.clear()
            BEFORE_WRITE[:] = [tell for tell in BEFORE_WRITE if tell != context.about_to_write]
        _mutable.clear()
