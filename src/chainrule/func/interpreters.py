"""Transforms as interpreters: each answers an op call in terms of the levels below it, so they nest in any order.

`Level` is reverse and forward mode: its tensors (`Wrapped`) wrap a tensor of the level below and carry edges and
tangents of their own, recorded by the same `attach` that eager mode uses. `Vmap` gives every tensor that wants one a
batch axis in front; its tensors (`Batched`) hide that axis. `Trace` writes down what passes and lets it through.

While an interpreter answers, the ambient record is the one of the level below: for a `Level` the record at its entry,
with `no_grad` where that was entered since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.autograd import api
from chainrule.autograd.application import applied
from chainrule.autograd.door import Inplace, apply, settled
from chainrule.autograd.eager import attach, eager_inplace
from chainrule.autograd.function import set_function_transform
from chainrule.config import settings
from chainrule.core.ambient import Ambient, here, put, under
from chainrule.core.family import call
from chainrule.core.notices import warn
from chainrule.core.op import REGISTRY
from chainrule.core.tensor import FOREIGN, LEAF, Extra, Tensor
from chainrule.func.functions import batched_function
from chainrule.func.leveled import Batched, Wrapped, blank
from chainrule.func.quick import PLANS, quick

__all__ = ["Level", "Trace", "Vmap", "debug_unwrap", "lowered_aux"]


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open "
    "an issue with your use case."
)


class _Life(under):
    """The block that runs a transformed function; when it ends, so does the life of its level's tensors."""

    __slots__ = ("_level",)

    def __init__(self, level: _Entered) -> None:
        self._level = level
        under.__init__(self, level._inside)

    def __enter__(self) -> Any:
        self._before = put(self._record)
        return self._level

    def __exit__(self, *exc: object) -> None:
        try:
            self._level.alive = False
            self._level.__dict__.pop("_inside", None)  # it leads back to the level
        finally:
            under.__exit__(self, *exc)


class _Entered:
    """What is alive while the function it transforms runs."""

    _inside: Ambient
    alive: bool

    def entered(self) -> _Life:
        """The block that runs the transformed function."""
        return _Life(self)


class Level(_Entered):
    """Reverse and forward mode as an interpreter."""

    kind = "grad"

    def __init__(self, grad: bool = True, dual: bool = False) -> None:
        self.before = here()
        self.below_stack = self.before.stack
        self.depth = len(self.below_stack) + 1
        self.alive, self.dual = True, dual
        changes: dict[str, Any] = {"stack": (*self.below_stack, self), "inference": False}
        if grad:
            self._refuse_hooks()
            changes |= {"grad": True, "hooks": (_NO_HOOKS,)}
        if dual:
            changes |= {"dual": 0, "forward_grad": True}
        self._inside = self.before.but(**changes)

    def _refuse_hooks(self) -> None:
        hooks = self.before.hooks
        if hooks and not isinstance(hooks[-1], str):
            raise RuntimeError(_NO_HOOKS)

    def below(self) -> Ambient:
        """The record of the level below: that at entry, but `no_grad` inside the function means every level."""
        return self.before if here().allowed or not self.before.allowed else self.before.but(grad=False)

    def wrap(self, raw: Tensor) -> Wrapped:
        """A tensor of this level over one below."""
        t: Wrapped = blank(Wrapped, self, raw)
        return t

    def leaf(self, raw: Tensor) -> Wrapped:
        """As `wrap`, and it wants a gradient."""
        t = self.wrap(raw)
        if raw.dtype.is_floating_point or raw.dtype.is_complex:
            t.edge, t.extra = LEAF, Extra()
        return t

    def copied(self, t: Wrapped) -> Wrapped:
        """A tensor of this level over a copy of the one below."""
        before = put(self.below())
        try:
            return self.wrap(t.raw.clone())
        finally:
            put(before)

    born = wrap  # a tensor made inside the function belongs to its level

    def owns(self, t: Any) -> bool:
        """Is `t` a tensor of this level?"""
        return t.__class__ is Wrapped and t.level is self

    def lift(self, t: Any) -> Any:
        """An input as a tensor of this level."""
        if not isinstance(t, Tensor) or (t.__class__ is Wrapped and t.level is self):
            return t
        return self.wrap(t)

    def lower(self, t: Any) -> Any:
        """A result as a tensor of the level below."""
        return t.raw if t.__class__ is Wrapped and t.level is self else t

    def process(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Answer one op call."""
        plan = PLANS[op]
        if plan is not None:
            result = quick(self, op, plan, inputs, params)
            if result is not None:
                return result
        if any([t.__class__ in FOREIGN and not t.level.alive for t in inputs]):
            inputs = tuple([settled(t) for t in inputs])
        lower = tuple([t.raw if t.__class__ is Wrapped and t.level is self else t for t in inputs])
        if op.__class__ is Inplace:
            return self._inplace(op, inputs, lower, params)
        before = put(self.below())
        try:
            result = apply(op, lower, params)
        finally:
            put(before)
        return attach(op, tuple([self.lift(t) for t in inputs]), params, result, self)

    def _inplace(self, op: Inplace, inputs: tuple[Any, ...], lower: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not self.owns(inputs[0]):
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                f"operation (aten::{op.name}) that would mutate a captured Tensor. This is not supported; please "
                "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs."
            )

        def write() -> None:
            before = put(self.below())
            try:
                apply(op, lower, params)
            finally:
                put(before)

        return eager_inplace(op.base, tuple([self.lift(t) for t in inputs]), params, self, write)

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Answer the call of a custom Function: its forward belongs to the level below, its backward to this one."""
        lifted = tuple([self.lift(settled(a)) for a in args])
        return applied(cls, lifted, {}, here(), self)

    def forward_of(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """The Function one level below, its results as tensors of this level; a changed input stays itself."""
        lower = tuple([self.lower(a) for a in args])
        before = put(self.below())
        try:
            result = cls.apply(*lower)
        finally:
            put(before)
        own = {id(low): a for low, a in zip(lower, args) if isinstance(a, Tensor)}
        parts = result if isinstance(result, tuple) else (result,)
        outs = tuple([own.get(id(r)) or self.wrap(r) if isinstance(r, Tensor) else r for r in parts])
        return outs if isinstance(result, tuple) else outs[0]


class Vmap(_Entered):
    """A batch axis in front of every tensor that has one; what has none is shared by all examples."""

    kind = "vmap"

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness
        record = here()
        self.below_stack = record.stack
        self.depth = len(self.below_stack) + 1
        self.alive = True
        self._inside, self._outside = record.but(stack=(*record.stack, self)), record

    def leave(self) -> Any:
        """Go to the level below: the same modes, a shorter stack. Returns the record to put back."""
        record = here()
        if record is not self._inside:  # the modes changed since
            self._inside, self._outside = record, record.but(stack=self.below_stack)
        return put(self._outside)

    def below_call(self, fn: Callable[[], Any]) -> Any:
        """Call `fn` on the level below."""
        before = self.leave()
        try:
            return fn()
        finally:
            put(before)

    def wrap(self, raw: Any) -> Any:
        """A result with the batch in front, as one example."""
        return blank(Batched, self, raw) if isinstance(raw, Tensor) else raw

    def born(self, t: Tensor) -> Tensor:
        """A tensor made inside the function: the same for every example."""
        return t

    def owns(self, t: Any) -> bool:
        """Is `t` a batch of this level?"""
        return t.__class__ is Batched and t.level is self

    def lower(self, t: Any) -> Any:
        """What lies under a batch of this level."""
        return t.raw if t.__class__ is Batched and t.level is self else t

    def process(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Answer one op call."""
        if any([t.__class__ in FOREIGN and not t.level.alive for t in inputs]):
            inputs = tuple([settled(t) for t in inputs])
        batched = tuple([t.__class__ is Batched and t.level is self for t in inputs])
        if op.family.name == "random":
            return self._draw(op, inputs, batched, params)
        values = tuple([t.raw if b else t for t, b in zip(inputs, batched)])
        if op.family.name == "contraction" and op.__class__ is not Inplace and op.check is not None:
            op.check(inputs, params)  # ranks are those of one example
        before = self.leave()
        try:
            if True not in batched:
                return apply(op, inputs, params)
            if op.__class__ is Inplace:
                return self._inplace(op, inputs, values, batched, params)
            result = self.batch(op, values, batched, params)
        finally:
            put(before)
        return blank(Batched, self, result) if isinstance(result, Tensor) else self._wrapped(result)

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Answer the call of a custom Function."""
        return batched_function(self, cls, tuple([settled(a) for a in args]))

    def batch(self, op: Any, values: tuple[Any, ...], batched: tuple[bool, ...], params: dict[str, Any]) -> Any:
        """The op's own batch rule, its family's, or the loop."""
        result = None
        if op.batch is not None:
            result = op.batch(values, batched, self.size, params)
        if result is None:
            result = op.family.vmap(op, values, batched, self.size, params)
        return self.loop(op, values, batched, params) if result is None else result

    def loop(self, op: Any, values: tuple[Any, ...], batched: tuple[bool, ...], params: dict[str, Any]) -> Any:
        """Example by example: always right, never fast."""
        self._check_loop(op)
        results = []
        for i in range(self.size):
            row = tuple(call("select", v, dim=0, index=i) if b else v for v, b in zip(values, batched))
            results.append(apply(op, row, params))
        if isinstance(results[0], Tensor):
            return call("stack", results, dim=0)
        columns = [call("stack", list(column), dim=0) for column in zip(*results)]
        kind = type(results[0])
        return kind(*columns) if hasattr(kind, "_fields") else kind(columns)

    def _check_loop(self, op: Any) -> None:
        if not settings.vmap_loops:
            raise RuntimeError(f"aten::{op.name} hit the vmap fallback which is currently disabled")
        if settings.vmap_loop_warns:
            warn(
                "There is a performance drop because we have not yet implemented the batching rule for "
                f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
            )
        if self.size == 0:
            raise RuntimeError(
                f"Batching rule not implemented for aten::{op.name}. "
                "The fallback path does not support vmap over dims of size 0."
            )

    def _wrapped(self, result: Any) -> Any:
        if isinstance(result, Tensor):
            return self.wrap(result)
        kind = type(result)
        parts = [self.wrap(r) for r in result]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)

    def _inplace(
        self,
        op: Inplace,
        inputs: tuple[Any, ...],
        values: tuple[Any, ...],
        batched: tuple[bool, ...],
        params: dict[str, Any],
    ) -> Any:
        if not batched[0]:
            raise RuntimeError(self._cannot_hold(op))
        if op.family.diagonal and op.batch is None:
            op.family.vmap(op, values, batched, self.size, params)
        else:
            values[0].copy_(self.batch(op.base, values, batched, params))
        return inputs[0]

    def _cannot_hold(self, op: Inplace) -> str:
        """A target that all examples share cannot take a result that each has for itself."""
        who, where = f"aten::{op.name}", f"at level {self.depth}"
        if op.base.vmap_title:
            who, where = op.base.vmap_title, "in a vmap"
        return (
            f"vmap: {who}(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
            f"`self` not being vmapped over {where}. Please try to use out-of-place operators instead of {who}. If "
            "said operator is being called inside the PyTorch framework, please file a bug report instead."
        )

    def _draw(self, op: Any, inputs: tuple[Any, ...], batched: tuple[bool, ...], params: dict[str, Any]) -> Any:
        """A random op: refused, one draw per example, or one for all."""
        if self.randomness == "never":
            raise RuntimeError(
                "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
                "operations outside of vmap as a workaround"
            )
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        values = tuple(t.raw if b else t for t, b in zip(inputs, batched))
        before = self.leave()
        try:
            if self.randomness == "same" and True not in batched:
                return apply(op, inputs, params)
            if op.batch is None:
                raise RuntimeError(f"vmap: {op.name} has no batch rule for random draws")
            result = op.batch(values, batched, self.size, {**params, "randomness": self.randomness})
        finally:
            put(before)
        return inputs[0] if op.__class__ is Inplace else self._wrapped(result)


class Equation:
    """One line of a trace."""

    __slots__ = ("inputs", "op", "outs", "params", "quiet")

    def __init__(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], outs: tuple[Any, ...]) -> None:
        self.op, self.inputs, self.params, self.outs = op, inputs, params, outs
        self.quiet = not here().allowed  # was it done in `no_grad`?


class Trace(_Entered):
    """Writes down every op that passes; the answers come from below. `replay` runs the record on other inputs.

    What the record did not make and changes in place is copied before it does: every replay begins with such a copy.
    """

    kind = "trace"

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self._sources: dict[int, Tensor | None] = {}  # what the record made -> for a view, what it looks at
        self._copies: dict[int, Tensor] = {}  # what it did not make and changes -> as it was before
        self._below = here().stack
        self.alive = True

    def entered(self) -> _Life:
        """The block that is recorded."""
        record = here()
        self._inside = record.but(stack=(*record.stack, self))
        return _Life(self)

    def process(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Answer one op call and write it down."""
        with under(here().but(stack=self._below)):
            if op.__class__ is Inplace:
                self._spare(inputs[0])
            result = apply(op, inputs, params)
            if op.family.name == "random":  # what was drawn stays drawn
                if op.__class__ is not Inplace:
                    return result
                op, inputs, params = REGISTRY["copy"].inplace, (inputs[0], result.clone()), {}
        outs = (result,) if isinstance(result, Tensor) else tuple(result)
        self.equations.append(Equation(op, inputs, params, outs))
        looks = op.family.is_view or op.family.shares
        for t in outs:
            self._sources.setdefault(id(t), inputs[0] if looks else None)
        return result

    def _spare(self, target: Tensor) -> None:
        """The target is about to be changed: keep what it looks at as it is, unless the record made that."""
        held: Tensor | None = target
        while held is not None and id(held) in self._sources:
            target, held = held, self._sources[id(held)]
        if held is not None and id(held) not in self._copies:
            with under(here().but(grad=False)):
                self._copies[id(held)] = held.clone()

    def born(self, t: Tensor) -> Tensor:
        """A tensor made inside the function: a constant of the record."""
        return t

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """A custom Function: a constant of the record, whose derivative the levels above trace."""
        with under(here().but(stack=self._below)):
            return cls.apply(*args)

    def replay(
        self, inputs: tuple[Tensor, ...], values: tuple[Tensor, ...], outs: tuple[Tensor, ...], cut: bool = False
    ) -> tuple[Any, ...]:
        """The recorded program on `values` in place of `inputs`; the values of `outs`.

        `cut`: no gradient flows to what the record found besides its inputs; a transform around it sees all of it.
        """
        known: dict[int, Any] = {at: t.clone() for at, t in self._copies.items()}
        known |= {id(t): v for t, v in zip(inputs, values)}
        for eq in self.equations:
            if cut and not here().stack:
                others = [t for t in eq.inputs if isinstance(t, Tensor) and id(t) not in known]
                known.update((id(t), t.detach().requires_grad_(t.requires_grad)) for t in others)
            args = tuple(known.get(id(t), t) for t in eq.inputs)
            result = self._quietly(eq, args) if eq.quiet else apply(eq.op, args, eq.params)
            parts = (result,) if isinstance(result, Tensor) else tuple(result)
            known.update((id(t), v) for t, v in zip(eq.outs, parts))
        return tuple(known.get(id(t), t) for t in outs)

    def _quietly(self, eq: Equation, args: tuple[Any, ...]) -> Any:
        with under(here().but(grad=False)):
            return apply(eq.op, args, eq.params)

    def __str__(self) -> str:
        names: dict[int, str] = {}

        def name(t: Any) -> str:
            return names.setdefault(id(t), f"v{len(names)}") if isinstance(t, Tensor) else repr(t)

        lines = []
        for eq in self.equations:
            args = ", ".join([*map(name, eq.inputs), *(f"{k}={v!r}" for k, v in eq.params.items())])
            lines.append(f"{', '.join(map(name, eq.outs))} = {eq.op.name}({args})")
        return "\n".join(lines)


def lowered_aux(level: Level, t: Any) -> Any:
    """A leaf of an auxiliary output, which must be a tensor, as one of the level below."""
    if not isinstance(t, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
    return level.lower(t)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor inside a transform's wrapper (all the way down, or one level), for a look while debugging."""
    if tensor.__class__ not in FOREIGN:
        return tensor
    return debug_unwrap(tensor.raw) if recurse else tensor.raw


api._NOT_BARE.update((Wrapped, Batched))
set_function_transform(lambda cls, args: here().stack[-1].function(cls, args))
