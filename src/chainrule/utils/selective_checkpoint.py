"""Checkpoints that keep some results: a policy says of each op whether its result is kept or computed again."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Self

from chainrule.autograd.overloads import OpOverload, OpOverloadPacket, made_overload
from chainrule.autograd.versions import version_of
from chainrule.core.tensor import Tensor
from chainrule.core.tree import tree_map
from chainrule.utils._python_dispatch import TorchDispatchMode

__all__ = ["SAC_IGNORED_OPS", "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

SAC_IGNORED_OPS = {made_overload("aten", "detach", "default")}  # nothing is computed there
_OTHERWISE = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class CheckpointPolicy(Enum):
    """What is done with the result of an op. MUST and PREFER differ for compilers alone; only what a device computed is
    offloaded to main memory, anything else is computed again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVE = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_AGAIN = object()  # in place of a result that is not kept


class SelectiveCheckpointContext:
    """What a policy is told besides the op and its arguments."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _VersionWrapper:
    """A kept value, and how often its memory had changed by then."""

    def __init__(self, val: Any) -> None:
        self.val = val
        self.version = version_of(val) if isinstance(val, Tensor) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        """The value, unless it changed and may not have."""
        if self.version is not None and not allow_cache_entry_mutation and version_of(self.val) != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def _kept(result: Any) -> Any:
    return tree_map(lambda t: _VersionWrapper(t.detach() if isinstance(t, Tensor) else t), result)


Storage = dict[Any, list[Any]]  # op -> what is kept of each of its calls: _AGAIN, a tree, None once it was used


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: computes, asks the policy, keeps."""

    def __init__(self, policy_fn: Callable[..., Any], storage: Storage) -> None:
        self.policy_fn, self.storage = policy_fn, storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        told = SelectiveCheckpointContext(is_recompute=False, op_output=out)
        policy = self.policy_fn(told, func, *args, **kwargs)
        keep = policy if isinstance(policy, bool) else policy in _SAVE
        self.storage.setdefault(func, []).append(_kept(out) if keep else _AGAIN)
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: hands out what was kept, once, and computes the rest."""

    def __init__(self, storage: Storage, allow_cache_entry_mutation: bool) -> None:
        self.storage, self.allow_cache_entry_mutation = storage, allow_cache_entry_mutation
        self.func_counter: dict[Any, int] = {}

    def __enter__(self) -> Self:
        self.func_counter = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        calls = self.storage.get(func)
        if calls is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_OTHERWISE}")
        at = self.func_counter.get(func, 0)
        self.func_counter[func] = at + 1
        if at >= len(calls):
            raise RuntimeError(f"{func} invocation index {at} not found in storage. {_OTHERWISE}")
        if calls[at] is _AGAIN:
            return func(*args, **(kwargs or {}))
        if calls[at] is None:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        kept, calls[at] = calls[at], None
        return tree_map(lambda entry: entry.get_val(self.allow_cache_entry_mutation), kept)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The two contexts of a checkpoint that keeps what a policy, or a list of ops, says.

    checkpoint(f, x, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, [aten.mm.default]))
    """
    if isinstance(policy_fn_or_list, list):
        _check_ops(policy_fn_or_list)
        policy: Callable[..., Any] = lambda ctx, op, *args, **kwargs: op in policy_fn_or_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: Storage = {}
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(storage, allow_cache_entry_mutation)


def _check_ops(ops: list[Any]) -> None:
    for op in ops:
        if isinstance(op, OpOverload):
            continue
        text = f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
        if isinstance(op, OpOverloadPacket):
            text += (
                " Please update the OpOverloadPacket to a specific OpOverload."
                "For example, if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
            )
        raise ValueError(text)
