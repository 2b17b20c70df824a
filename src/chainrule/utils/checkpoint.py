"""Memory for time: a checkpointed function keeps only its inputs, and is run again when backward needs what
it computed.

    y = checkpoint(fn, x, use_reentrant=False)

Without re-entrance (recommended) every value that the function's nodes would keep is replaced by a
`_Holder`. The first one that
backward asks for runs the function again, which fills all holders; the second run stops as soon as they are
full. With re-entrance
the function is one node, whose backward runs it again and calls backward on it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, ref

import chainrule as torch
from chainrule.autograd.function import Function
from chainrule.autograd.grad_mode import enable_grad, no_grad
from chainrule.autograd.graph import saved_tensors_hooks
from chainrule.autograd.tasks import current
from chainrule.core.ambient import here, swapped
from chainrule.core.notices import warn
from chainrule.core.sites import describe, here_in_user_code
from chainrule.core.tensor import FOREIGN, Tensor
from chainrule.core.tree import tree_flatten
from chainrule.utils.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "_CachedTorchDispatchMode", "_CachingTorchDispatchMode",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

_PASS_IT = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. use_reentrant=False "
    "is recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True."
)
_TIP = (
    "Tip: the lines above say where each tensor was saved; pass `debug=True` to "
    "`torch.utils.checkpoint.checkpoint(...)` or use `with "
    "torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to see all of them."
)
_DEBUG = (
    "You are seeing this error because you passed `debug=True` to checkpoint and tensors to be saved during "
    "the original forward and differ between those saved during recomputation. This can happen if different "
    "operators were ran in the original forward and in the recomputation."
)


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function was not like the first."""


class _Stop(Exception):
    """All values are there: the second run need not go on."""


# ------------------------------------------------------------------------------------------------------- settings


class _Settings(threading.local):
    debug: bool | None = None
    early_stop: bool | None = None
    group: GraphExecGroup | None = None


_settings = _Settings()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside the block, debugging is on or off whatever `checkpoint(debug=...)` says; None leaves it to
    that."""
    before, _settings.debug = _settings.debug, enabled
    try:
        yield
    finally:
        _settings.debug = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the block, checkpoints are made whose second run stops early, or does not."""
    before, _settings.early_stop = _settings.early_stop, enable
    try:
        yield
    finally:
        _settings.early_stop = before


class GraphExecGroup:
    """Backward passes inside the block count as one: each checkpoint runs again at most once. They must not
    overlap."""

    def __enter__(self) -> GraphExecGroup:
        if _settings.group is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_settings.group}")
        _settings.group = self
        return self

    def __exit__(self, *exc: object) -> None:
        _settings.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _settings.group


class DefaultDeviceType:
    """The device whose generator is kept beside the CPU's; here there is only the CPU."""

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        """Choose the device type."""
        if device != "cpu":
            raise NotImplementedError(f"DefaultDeviceType.set_device_type({device!r})")

    @staticmethod
    def get_device_type() -> str:
        """The device type."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Generator states of the devices, besides the CPU, that the arguments live on."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Restore what `get_device_states` gave."""
    if devices or states:
        raise NotImplementedError("set_device_states: there are no devices besides the CPU")


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _as_then(state: Tensor | None, autocast: Any) -> Iterator[None]:
    """Run a block under an autocast, from a generator state, and leave the generator as it was."""
    if state is None:
        with swapped(autocast=autocast):
            yield
        return
    before = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        with swapped(autocast=autocast):
            yield
    finally:
        torch.set_rng_state(before)


# ------------------------------------------------------------------------------------------------ without re-entrance


class _Handle:
    """A key for one value of one second run."""

    __slots__ = ("__weakref__",)


class _Holder:
    """What a node keeps in place of a tensor."""

    __slots__ = ("__weakref__", "handles")

    def __init__(self) -> None:
        self.handles: WeakKeyDictionary[Any, _Handle | None] = WeakKeyDictionary()


class _Once:
    """A pass that is none: a saved value was looked at outside backward."""

    __slots__ = ("__weakref__",)


class _Rerun:
    """The values of one second run."""

    __slots__ = ("count", "done", "sites", "values")

    def __init__(self) -> None:
        self.count = 0
        self.done = False
        self.sites: list[Any] = []
        self.values: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()


def _metadata(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


_CHECKS: dict[str, Callable[[Tensor], Any] | None] = {"default": _metadata, "none": None}


class _Frame:
    """One call of a checkpointed function."""

    def __init__(self, early_stop: bool, describe_tensor: Callable[[Tensor], Any] | None, debug: bool) -> None:
        self.early_stop, self.describe_tensor, self.debug = early_stop, describe_tensor, debug
        self.again: Callable[..., Any] = lambda: None  # runs the function once more, given its tensors
        self.holders: list[ref[_Holder]] = []
        self.descriptions: list[Any] = []
        self.sites: list[Any] = []
        self.reruns: WeakKeyDictionary[Any, _Rerun] = WeakKeyDictionary()
        self.saver: Any = None  # the node that keeps the inputs
        self.forward_done = self.ignore_mismatch = False

    def pack(self, t: Tensor) -> _Holder:
        """In the first run: keep nothing but a place."""
        holder = _Holder()
        self.holders.append(ref(holder))
        self.sites.append(here_in_user_code())
        if self.describe_tensor is not None:
            with no_grad():
                self.descriptions.append(self.describe_tensor(t))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        """In backward: run again if that has not been done in this pass, and take the value."""
        key = _settings.group or current() or _Once()
        rerun = self.reruns.get(key)
        if rerun is None or not rerun.done:
            self._run_again(key)
            rerun = self.reruns[key]
        handle = holder.handles.get(key)
        if handle is None:
            extra = ""
            if key is _settings.group:
                extra = "Performing two backward calls that overlap (i.e. require the same saved activation in order "
                extra += "to compute gradients) is not allowed while under the "
                extra += "torch.utils.checkpoint.GraphExecGroup context. "
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                f"once. {extra}If you are calling ctx.saved_tensors in backward, make sure to do so only "
                "once."
            )
        holder.handles[key] = None
        return rerun.values[handle]

    def _run_again(self, key: Any) -> None:
        tensors = self.saver.restored()
        self.reruns[key] = rerun = _Rerun()
        try:
            with _Recording(ref(self), key), enable_grad():
                self.again(*tensors)
        except _Stop:
            pass
        rerun.done = True
        self._check_alike(key, rerun)

    def _check_alike(self, key: Any, rerun: _Rerun) -> None:
        if self.ignore_mismatch:
            return
        if len(self.holders) != rerun.count:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {rerun.count}.\n" + self._advice(rerun)
            )
        if self.describe_tensor is None:
            return
        lines = []
        for at, weak in enumerate(self.holders):
            holder = weak()
            handle = holder.handles.get(key) if holder is not None else None
            if handle is None:
                continue
            was, now = self.descriptions[at], self.describe_tensor(rerun.values[handle])
            if was != now:
                lines.append(
                    f"tensor at position {at}:\nsaved metadata: {was}\nrecomputed metadata: {now}\n"
                    f"saved at {describe(*self.sites[at])}\nrecomputed at {describe(*rerun.sites[at])}\n"
                )
        if lines:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(lines)}\n" + self._advice(rerun)
            )

    def _advice(self, rerun: _Rerun) -> str:
        if not self.debug:
            return _TIP
        first = "\n".join(f"  {describe(*site)}" for site in self.sites)
        second = "\n".join(f"  {describe(*site)}" for site in rerun.sites)
        return f"Saved during the original forward:\n{first}\nSaved during recomputation:\n{second}\n{_DEBUG}"


class _Recording(saved_tensors_hooks):
    """The second run: what its nodes keep goes into the holders of the first."""

    def __init__(self, frame_ref: ref[_Frame], key: Any) -> None:
        def pack(t: Any) -> Tensor:
            frame = frame_ref()
            assert frame is not None
            rerun = frame.reruns[key]
            at = rerun.count
            rerun.count += 1
            rerun.sites.append(here_in_user_code())
            kept: Tensor = t.detach() if t.requires_grad else t
            if at >= len(frame.holders):
                if not frame.forward_done:
                    # a gradient was taken inside the function, before the first run was over
                    frame.ignore_mismatch = True
                    return kept
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    "forward pass.\n" + frame._advice(rerun)
                )
            holder = frame.holders[at]()
            if holder is not None:
                if holder.handles.get(key) is None:
                    holder.handles[key] = _Handle()
                handle = holder.handles[key]
                assert handle is not None
                rerun.values[handle] = kept
            if frame.early_stop and frame.forward_done and rerun.count == len(frame.holders):
                raise _Stop
            return kept

        super().__init__(pack, lambda kept: kept)


class _SaveInputs(Function):
    """A node that does nothing but keep tensors: with their versions, and through whatever hooks are in
    force outside."""

    @staticmethod
    def forward(*tensors: Any) -> Any:
        return torch.empty((0,))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        rest = [None if isinstance(x, Tensor) else x for x in inputs]

        def restored() -> list[Any]:
            full = list(rest)
            node: Any = ctx_ref()
            for i, t in zip(places, node.saved_tensors):
                full[i] = t
            return full[1:]

        ctx_ref = ref(ctx)
        ctx.restored = restored
        ctx.save_for_backward(*(inputs[i] for i in places))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("nothing leads a gradient here")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """In a backward of a batch of cotangents this runs without one; else it is not called: see `_in_transform`."""
        raise AssertionError("a batch is not kept")


def _in_transform(fn: Any, forward_context: Any, args: Any, kwargs: Any) -> Any:
    """The examples of a vmap, the duals of a jvp: what the graph outside keeps of them is not to be computed again."""
    with saved_tensors_hooks(lambda t: t, lambda t: t), forward_context:  # a grad transform refuses
        return fn(*args, **kwargs)


def _without_reentrance(
    fn: Callable[..., Any],
    preserve: bool,
    context_fn: Any,
    determinism_check: str,
    debug: bool,
    early_stop: bool,
    args: Any,
    kwargs: Any,
) -> Any:
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    debug = debug if _settings.debug is None else _settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    forward_context, again_context = context_fn()
    if any([t.__class__ in FOREIGN for t in tree_flatten((args, kwargs))[0]]):
        return _in_transform(fn, forward_context, args, kwargs)
    state, autocast = torch.get_rng_state() if preserve else None, here().autocast

    def again(*tensors: Any) -> None:
        keywords, *values = tensors
        with _as_then(state, autocast), again_context:
            fn(*values, **keywords)

    early_stop = early_stop if _settings.early_stop is None else _settings.early_stop
    frame = _Frame(early_stop, _CHECKS[determinism_check], debug)
    frame.again = again
    marker = torch.empty((0,)).requires_grad_()
    saver = _SaveInputs.apply(marker, kwargs, *args)
    if saver.grad_fn is None:  # recording is off: nothing will be asked for again
        with forward_context:
            return fn(*args, **kwargs)
    frame.saver = saver.grad_fn
    result, finished = None, False
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = fn(*args, **kwargs)
        finished = True
    if not finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
            "raised during the checkpointed forward. This is not supported because checkpoint cannot return "
            "a value for a failed forward."
        )
    frame.forward_done = True
    return result


# --------------------------------------------------------------------------------------------------- with re-entrance


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors as leaves of a graph of their own."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no gradient can come out."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """A function as one node, whose backward runs it again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state, ctx.autocast = torch.get_rng_state() if preserve_rng_state else None, here().autocast
        ctx.rest = [None if isinstance(x, Tensor) else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        task = current()
        if task is None or task.roles is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.rest)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            inputs[i] = t
        leaves = detach_variable(tuple(inputs))
        with _as_then(ctx.state, ctx.autocast), enable_grad():
            outs = ctx.run_function(*leaves)
        outs = (outs,) if isinstance(outs, Tensor) else outs
        pairs = [(o, g) for o, g in zip(outs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in leaves))


# -------------------------------------------------------------------------------------------------------- public names


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, computed a second time in backward instead of kept.

    `preserve_rng_state` (a keyword, True): the second run draws the same numbers. `context_fn` gives the
    contexts of the two runs.
    `determinism_check`: "default" compares shapes, dtypes and devices of what the two runs keep; "none" does
    not.
    """
    if use_reentrant is None:
        warn(_PASS_IT.format(""), UserWarning)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentrance(function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Functions one after another, cut into segments; all but the last are checkpointed."""
    if use_reentrant is None:
        warn(_PASS_IT.format(".checkpoint_sequential"), UserWarning)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return forward

    size = len(steps) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(last, len(steps))(input)
