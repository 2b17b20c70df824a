"""Functions with a backward of the user's own.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            (out,) = ctx.saved_tensors
            return g * out

    y = Exp.apply(x)

`ctx` is the node that `apply` records: `y.grad_fn`, of class `ExpBackward`. A class may also write
`forward(*args)`
without `ctx` and a `setup_context(ctx, inputs, output)` beside it, which the transforms of `func` need.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrule.autograd import forward as forward_mode
from chainrule.autograd import forward_ad
from chainrule.autograd.anomaly_mode import remember
from chainrule.autograd.explain import freed
from chainrule.autograd.node import ANY_DTYPE, AccumulateGrad, Freed, Node, accumulator, tick
from chainrule.autograd.refusing import Error, refusing
from chainrule.autograd.saved import SavedTensor, kept_input, kept_output
from chainrule.autograd.tangents import check_size
from chainrule.autograd.versions import store_of, touch, version_of
from chainrule.autograd.views import ViewKind, forbid, link, rebase, refresh
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import SparseArray
from chainrule.core.ambient import Ambient, here, put, without_grad
from chainrule.core.dtype import FLOAT
from chainrule.core.family import call, cast, sum_to
from chainrule.core.notices import warn
from chainrule.core.op import REGISTRY
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import LEAF, PLAIN, Cut, Port, Tensor, fresh
from chainrule.errors import GraphError

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "applied",
    "once_differentiable", "set_function_transform",
]  # fmt: skip

_new = object.__new__
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
    "function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class FunctionCtx:
    """What `forward` may tell about its inputs and outputs."""

    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    _materialize = True
    _materialize_non_diff_grads = True
    _is_pure_view = False  # set by `forward`: the output looks at the input through view ops, which may be replayed

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which reads them as `ctx.saved_tensors`. Call it once, with inputs
        and outputs."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which reads them as `ctx.saved_tensors`."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor) and tensor is not None:
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` changed in place; each must be returned."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Shared memory is seen without being told."""
        warn(
            "function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs carry no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` sees zeros (the default) or None for outputs that got no gradient."""
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - expected (bool)")
        self._materialize = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom Function; `_forward_cls` is the user's class."""

    __slots__ = ()

    _forward_cls: Any
    outputs: int
    needs_input_grad: tuple[bool, ...]
    takes_tensor: tuple[bool, ...]  # which arguments of `apply` are tensors
    facts: tuple[Any, ...]  # (shape, dtype) of each tensor argument
    made: list[tuple[Any, Any] | None]  # (shape, dtype) of each output; None for one that is no tensor
    takes_none = True
    settled = False  # has `forward` returned?

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self.saved.__class__ is Freed:
            freed(self, self.saved)
        if self.saved.__class__ is _Taken:
            raise RuntimeError(
                f"{self.name()}: saved_tensors can only be accessed once, because the Function sets "
                "clear_saved_tensors_on_access"
            )
        found = tuple([kept.unpack(self) for kept in self.saved])
        if getattr(self._forward_cls, "clear_saved_tensors_on_access", False) and self.settled:
            self.saved = _Taken()
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self.saved.__class__ is Freed:
            freed(self, self.saved)
        kept: tuple[SavedTensor, ...] = self.saved
        return kept

    def output_facts(self) -> list[Any]:
        found: list[Any] = self.__dict__.get("made", [])
        return found

    def maybe_clear_saved_tensors(self) -> None:
        """Release what was kept, now."""
        self.saved = Freed(*here_in_user_code())

    # ---------------------------------------------------------------------------------------------- backward

    def apply(self, *args: Any) -> Any:
        """Call the user's `backward`."""
        user = self._user_backward()
        if getattr(self._forward_cls, "boxed_grads_call", False):
            return user(self, list(args))
        return user(self, *args)

    def _user_backward(self) -> Callable[..., Any]:
        cls = self._forward_cls
        if cls.vjp is Function.vjp or cls.backward is Function.backward:
            found: Callable[..., Any] = cls.backward if cls.vjp is Function.vjp else cls.vjp
            return found
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
            "implement one of them."
        )

    def apply_jvp(self, *args: Any) -> Any:
        """Call the user's `jvp`."""
        return self._forward_cls.jvp(self, *args)

    def pull(self, g: Any) -> tuple[Any, ...]:
        parts = list(g) if self.outputs > 1 else [g]
        if any([isinstance(p, Tensor) for p in parts]):
            return self._pulled(parts)
        before = without_grad()
        try:
            for i, p in enumerate(parts):
                parts[i] = None if p is None else fresh(np.asarray(p) if p.__class__ is not SparseArray else p)
            p = None
            return tuple([None if r is None else resolved(r.raw) for r in self._pulled(parts)])
        finally:
            put(before)

    def pull_graph(self, g: Any) -> tuple[Any, ...]:
        return self._pulled(list(g) if self.outputs > 1 else [g])

    def _pulled(self, gs: list[Any]) -> tuple[Any, ...]:
        if self._materialize:
            self._fill(gs)
        before = here()
        try:
            boxed = getattr(self._forward_cls, "boxed_grads_call", False)
            results = self._user_backward()(self, gs) if boxed else self._user_backward()(self, *_emptied(gs))
        finally:
            put(before)
        return self._checked(results)

    def _fill(self, gs: list[Any]) -> None:
        """Zeros where no gradient arrived."""
        if None not in [g if g is None else 0 for g in gs]:
            return
        for i, (g, meta) in enumerate(zip(gs, self.made)):
            if g is None and meta is not None and (self._materialize_non_diff_grads or i not in self.silent):
                gs[i] = call("zeros", meta[0], dtype=meta[1])

    def _checked(self, results: Any) -> tuple[Any, ...]:
        """The user's gradients, one per tensor argument, in their shapes and dtypes."""
        given = results if isinstance(results, tuple) else (results,)
        expected = len(self.takes_tensor)
        if len(given) > expected and all(g is None for g in given[expected:]):
            given = given[:expected]
        if len(given) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(given)})"
            )
        return tuple([self._fitted(i, g, f) for i, (g, f) in enumerate(self._of_tensors(given))])

    def _of_tensors(self, given: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
        facts = iter(self.facts)
        for at, (g, is_tensor) in enumerate(zip(given, self.takes_tensor)):
            if is_tensor:
                yield g, next(facts)
            elif g is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {at + 1}, "
                    "but the corresponding forward input was not a Variable"
                )

    def _fitted(self, index: int, g: Any, fact: tuple[Any, Any]) -> Any:
        if g is None:
            return None
        if not isinstance(g, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        if index < len(self.edges) and self.edges[index] is None:
            return g  # for hooks alone
        shape, dtype = fact[0], _leaf_dtype(self.edges[index], fact[1]) if self.edges else fact[1]
        if g.raw.shape != shape:
            g = _summed(g, shape, self.name(), index)
        if dtype is not ANY_DTYPE and g.dtype is not dtype:
            if g.dtype.is_complex and not dtype.is_complex:
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {index} - expected type "
                    f"{dtype.title} but got {g.dtype.title}"
                )
            g = cast(g, dtype)
        return g

    @property
    def silent(self) -> set[int]:
        """Positions of the outputs that carry no gradient."""
        found: set[int] = self.__dict__.get("_silent", set())
        return found


class _Taken:
    """Saved tensors that were handed out and let go."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


def _emptied(gs: list[Any]) -> Iterator[Any]:
    """Give the gradients away: the callee alone holds them."""
    gs.reverse()
    while gs:
        yield gs.pop()


def _leaf_dtype(edge: Any, dtype: Any) -> Any:
    """The dtype of a gradient that goes along `edge`: a leaf may ask for another than its own."""
    if not isinstance(edge, AccumulateGrad) or edge.variable.extra is None:
        return dtype
    asked = edge.variable.extra.grad_dtype
    return dtype if asked is None else asked


def _summed(g: Tensor, shape: tuple[int, ...], name: str, index: int) -> Any:
    have = tuple(g.shape)
    lead = len(have) - len(shape)
    if lead < 0 or any(n != 1 and n != h for n, h in zip(shape, have[lead:])):
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {index} - got {list(have)} but expected "
            f"shape compatible with {list(shape)}"
        )
    return sum_to(g, tuple(shape))


# ------------------------------------------------------------------------------------------------------ Function


class FunctionMeta(type):
    """Makes, beside each Function, the class of its node."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        body = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        node = type(name + "Backward", (BackwardCFunction,), body)
        cls._backward_cls = node
        cls._generated_cls = type(name + "GeneratedBackward", (node,), {"__module__": "torch.autograd.function"})
        cls._separate = _overrides(cls, "setup_context")
        cls._signature: inspect.Signature | None = None


def _overrides(cls: Any, name: str) -> bool:
    base = globals().get("Function")
    return base is not None and getattr(cls, name) is not getattr(base, name)


class Function(metaclass=FunctionMeta):
    """Base of functions with a backward of their own; call them with `apply`."""

    _backward_cls: Any
    _generated_cls: Any  # of the nodes that transforms record
    _separate: bool
    generate_vmap_rule = False
    boxed_grads_call = False
    clear_saved_tensors_on_access = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so "
            "you should invoke them on the class itself. Instantiating an autograd function will raise an "
            "error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: `forward(ctx, *args)`, or `forward(*args)` with `setup_context` beside it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep on `ctx` what backward needs, where `forward` has no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per argument of `forward`, None for those without."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use "
            "it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """One tangent per output, given one per argument."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The function with a batch axis: (output, out_dims)."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        if kwargs or cls._separate:
            args, kwargs = _bound(cls, args, kwargs)
        state = here()
        if state.stack and (cls._separate or not _as_below(state)):
            return _transformed(cls, args, kwargs)
        return applied(cls, args, kwargs, state)


def _as_below(state: Ambient) -> bool:
    """Inside a transform, may a Function without `setup_context` run as outside? Where nothing records, as in a batched
    backward, and in a level of `forward_ad`, there is no context to hand through the transform."""
    return (not state.grad and state.dual < 0) or forward_ad.is_opened(state.stack[-1])


_transform: list[Callable[..., Any]] = []


def set_function_transform(process: Callable[..., Any]) -> None:
    """Called once by the module of transforms: `process(cls, args)` runs a Function while an interpreter
    listens."""
    _transform[:] = [process]


def _transformed(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not cls._separate:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), "
            "it must override the setup_context staticmethod. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if kwargs:
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only "
            f"Tensors to autograd.Function. Got: {kwargs}"
        )
    return _transform[0](cls, args)


def _bound(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position; defaults filled in for `setup_context`, which sees them all."""
    signature = cls._signature = cls._signature or inspect.signature(cls.forward)
    ctx = () if cls._separate else (None,)
    unknown = [k for k in kwargs if k not in signature.parameters]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        raise TypeError(f"{cls.__name__}.forward() got an unexpected keyword argument {unknown[0]!r}")
    try:
        found = signature.bind(*ctx, *args, **kwargs)
    except TypeError as error:
        text = str(error).removeprefix("got ")
        raise TypeError(f"{cls.__name__}.forward() {'' if text.startswith('missing') else 'got '}{text}") from None
    if cls._separate:
        found.apply_defaults()
    return found.args[len(ctx) :], found.kwargs


def applied(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: Ambient, level: Any = None) -> Any:
    """Run a Function and record it; `level` is the transform whose tensors the arguments are, None for
    ordinary ones."""
    ctx, records = _context(cls, args, state, level)
    if level is not None:
        ctx.__dict__["level"] = level
    dual = state.forward_grad and forward_mode.active(args)
    before = put(state.but(grad=False, forward_grad=False)) if dual else without_grad()
    try:
        if cls._separate:
            result = cls.forward(*args, **kwargs) if level is None else level.forward_of(cls, args)
            cls.setup_context(ctx, args, result)
            _refuse_saved_inputs(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
        several = isinstance(result, tuple)
        outs = _settled(ctx, args, result if several else (result,), records, state.grad)
    finally:
        try:
            put(before)
        except BaseException:  # Ctrl-C, just then
            put(before)
            raise
    if ctx.to_save is not None:
        _save(ctx, outs, records)
    if dual:
        _push(ctx, args, outs)
    if ctx.saved_for_forward is not None:
        ctx.saved_for_forward = None
    if ctx.dirty_tensors or ctx.non_differentiable:
        ctx.dirty_tensors = ctx.non_differentiable = ()  # which may be views whose base leads back here
    ctx.settled = True
    return tuple(outs) if several else outs[0]


_AS_IS = (
    "An input that has been returned as-is as output is being saved for {}. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) "
    "or setup ctx inside the forward function itself."
)


def _refuse_saved_inputs(ctx: Any, args: tuple[Any, ...], result: Any) -> None:
    """An input that is also an output is not the same tensor afterwards: what is saved could be neither."""
    if ctx.to_save is None and ctx.saved_for_forward is None:
        return
    inputs = {id(a) for a in args if isinstance(a, Tensor)} - {id(t) for t in ctx.dirty_tensors}
    both = inputs & {id(t) for t in (result if isinstance(result, tuple) else (result,))}
    for saved, mode in ((ctx.to_save, "backward"), (ctx.saved_for_forward, "forward")):
        if both and any(id(t) in both for t in saved or ()):
            raise RuntimeError(_AS_IS.format(mode))


def _context(cls: Any, args: tuple[Any, ...], state: Ambient, level: Any) -> tuple[Any, bool]:
    """The node, and whether it will be part of a graph."""
    needs, takes, facts, edges = [], [], [], []
    for a in args:
        if not isinstance(a, Tensor):
            needs.append(False)
            takes.append(False)
            continue
        if a.viewed is not None:
            refresh(a)
        edge = a.edge
        needs.append(edge is not None)
        takes.append(True)
        facts.append((a.raw.shape, a.dtype))
        edges.append(accumulator(a) if edge is LEAF else edge)
    records = state.grad and True in needs
    ctx = _new(cls._backward_cls if level is None else cls._generated_cls)
    ctx.needs_input_grad, ctx.takes_tensor, ctx.facts = tuple(needs), tuple(takes), tuple(facts)
    ctx.edges, ctx.saved, ctx.checks, ctx.hooks = tuple(edges) if records else (), (), None, None
    ctx.code, ctx.lasti = here_in_user_code()
    ctx.key, ctx.outputs = tick(), 1
    if state.anomaly is not None and records:
        remember(ctx)
    return ctx, records


def _settled(ctx: Any, args: tuple[Any, ...], given: tuple[Any, ...], records: bool, grad: bool) -> list[Any]:
    """The outputs with their history."""
    if records and len(given) == 1 and not ctx.dirty_tensors and not ctx.non_differentiable:
        (t,) = given
        fresh_one = t.__class__ is Tensor and t.viewed is None and id(t) not in map(id, args)
        if fresh_one and t.dtype.category >= FLOAT:
            ctx.made = [(t.raw.shape, t.dtype)]
            t.edge, t.cut = ctx, None
            return [t]
    if ctx._is_pure_view and (len(ctx.facts), len(given)) != (1, 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you need "
            "to support more."
        )
    ctx.outputs = len(given)
    made: list[Any] = []
    ctx.made = made
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    dirty = _marked(ctx.dirty_tensors, given, inputs)
    silent = {id(t) for t in ctx.non_differentiable}
    if silent and not all(isinstance(t, Tensor) for t in ctx.non_differentiable):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got something else")
    seen: dict[int, Any] = {}
    outs, carriers = list(given), []
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            made.append(None)
            continue
        made.append((t.raw.shape, t.dtype))
        carries = records and id(t) not in silent and (t.dtype.is_floating_point or t.dtype.is_complex)
        if not carries:
            ctx.__dict__.setdefault("_silent", set()).add(i)
        if records and id(t) in silent:
            t.cut = Cut("mark_non_differentiable", ctx.code, ctx.lasti)
        outs[i] = seen[id(t)] if id(t) in seen else _with_history(ctx, i, t, id(t) in inputs, id(t) in dirty, carries)
        seen[id(t)] = outs[i]
        if outs[i].viewed is not None and id(t) not in dirty and grad:
            outs[i].viewed.kind = ViewKind.DEFAULT if ctx._is_pure_view else ViewKind.FUNCTION
        if carries:
            carriers.append(outs[i])
    if len(carriers) > 1:
        for t in carriers:
            if t.viewed is not None and id(t) not in dirty:
                t.viewed.kind = ViewKind.MANY
    return outs


def _marked(dirty: tuple[Any, ...], given: tuple[Any, ...], inputs: set[int]) -> set[int]:
    if not dirty:
        return set()
    returned = {id(t) for t in given}
    for t in dirty:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument is of type {type(t).__name__}")
        if id(t) not in returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The "
                "inputs that are modified inplace must all be outputs of the Function."
            )
        if id(t) not in inputs and t.viewed is not None:
            raise RuntimeError(
                "mark_dirty received a tensor that was not an input. A view that was made inside the forward "
                "cannot be marked as dirty; return it, or clone it."
            )
        if id(t) not in inputs:
            warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there "
                "is no need to pass it to mark_dirty().",
            )
        touch(t, "mark_dirty")
    return {id(t) for t in dirty}


def _with_history(ctx: Any, index: int, t: Tensor, is_input: bool, is_dirty: bool, carries: bool) -> Tensor:
    """One output, seen as made by `ctx`."""
    if not carries:
        return _without_history(t, is_input, is_dirty)
    edge = Port(ctx, index) if ctx.outputs > 1 else ctx
    if is_dirty and is_input:
        _rewritten(ctx, t, edge)
        return t
    if is_input:
        t = _alias(t)
    t.edge, t.cut = edge, None
    if t.viewed is not None:
        t.viewed.version = store_of(t).version
    return t


def _without_history(t: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    if is_input and t.edge is not None:
        found: Tensor = t.detach()
        return found
    if is_input and not is_dirty:
        return _alias(t)
    if t.edge is not None and t.viewed is None:
        t.edge = None
    return t


def _rewritten(ctx: Any, t: Tensor, edge: Any) -> None:
    """An input that was changed in place: its history is now this node."""
    if t.edge is LEAF:
        raise GraphError("a leaf Variable that requires grad has been used in an in-place operation.")
    if t.viewed is None:
        if t.extra is not None:
            t.extra.grad = None  # what was retained was that of another value
        rebase(t, ctx, edge)
        return
    forbid(t)
    if t.viewed.base.edge is LEAF:
        raise GraphError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if ctx.outputs > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function "
            "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
            "should either make sure the input is not a view (using .clone() for example) or make your "
            "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
            "inplace that returns a single Tensor and a second one that does the other operations)."
        )
    rebase(t, ctx)


def _alias(t: Tensor) -> Tensor:
    """An input returned as it is becomes a view of itself: one tensor cannot have two histories."""
    if t.__class__ not in PLAIN:  # whatever the subclass makes of a view of itself
        return t.view_as(t)
    same = REGISTRY["view"]
    out = t.rewrapped()
    link(out, t, (same, {same.params[1]: tuple(t.shape)}, tuple(t.shape)), ViewKind.NO_GRAD)
    return out


def _save(ctx: Any, outs: list[Any], records: bool) -> None:
    """Keep what `save_for_backward` named; outputs as arrays, since a tensor would hold its own node."""
    to_save, ctx.to_save = ctx.to_save, None  # a pack hook may raise: nothing must hold an output then
    for at, t in enumerate(to_save):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {at} is of type {type(t).__name__}"
            )
    if not records:
        return
    dirty = {id(t) for t in ctx.dirty_tensors}
    places = {id(t): i for i, t in enumerate(outs) if isinstance(t, Tensor) and (id(t) in dirty or _made_by(ctx, t))}
    ctx.saved = tuple([_kept(ctx, t, places.get(id(t))) for t in to_save])


def _kept(ctx: Any, t: Any, place: int | None) -> SavedTensor:
    return kept_input(t) if place is None else kept_output(ctx, t.raw, place, store_of(t))


def _made_by(ctx: Any, t: Tensor) -> bool:
    edge = t.edge
    return (edge.node if edge.__class__ is Port else edge) is ctx


# -------------------------------------------------------------------------------------------------- forward mode


def _push(ctx: Any, args: tuple[Any, ...], outs: list[Any]) -> None:
    """The tangents of the outputs, by the user's `jvp`."""
    level = next(a.extra.tangent[0] for a in args if forward_mode.tangent_of(a) is not None)
    ctx.saved_for_forward = ctx.saved_for_forward or ()
    given = [forward_mode.tangent_of(a) for a in args]
    versions = {id(t): version_of(t) for t in given if t is not None}
    before = put(here().but(forward_grad=False))
    try:
        results = ctx.apply_jvp(*(_tangent(ctx, a) for a in args))
    finally:
        put(before)
    tangents = results if isinstance(results, tuple) else (results,)
    if len(tangents) != len(outs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} "
            f"but got {len(tangents)})"
        )
    dirty = {id(t) for t in ctx.dirty_tensors}
    changed = {id(t) for t in given if t is not None and version_of(t) != versions[id(t)]}
    for i, (out, t) in enumerate(zip(outs, tangents)):
        _set_one(ctx, args, i, out, t, level, changed if id(out) in dirty else None)


def _tangent(ctx: Any, a: Any) -> Any:
    if not isinstance(a, Tensor):
        return None
    t = forward_mode.tangent_of(a)
    if t is None and ctx._materialize and (a.dtype.is_floating_point or a.dtype.is_complex):
        return call("zeros_like", forward_mode.primal(a))
    return t


def _set_one(ctx: Any, args: Any, index: int, out: Any, t: Any, level: int, changed: set[int] | None) -> None:
    """One output's tangent; `changed`, for an output that was changed in place: which tangents `jvp`
    changed."""
    if not isinstance(out, Tensor):
        if t is not None and isinstance(t, Tensor):
            raise RuntimeError(
                f"function {ctx.name()} returned a forward gradient for output {index}, which is no Tensor. "
                "You should return None at that position instead."
            )
        return
    if t is not None and not isinstance(t, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {index}.")
    silent = any(out is s for s in ctx.non_differentiable) or not (out.dtype.is_floating_point or out.dtype.is_complex)
    if silent and t is not None:
        raise RuntimeError(
            f"function {ctx.name()} returned a forward gradient for output {index} that is marked "
            "non-differentiable (or not of a floating point dtype). You should return None at that position "
            "instead."
        )
    if changed is not None:
        _check_inplace_tangent(args, out, t, changed)
    elif out.viewed is not None and not silent:
        _check_view_tangent(args, out, t)
    if t is not None:
        check_size(out, t)
        forward_mode.set_tangent(out, t, level)


def _check_inplace_tangent(args: tuple[Any, ...], out: Tensor, t: Any, changed: set[int]) -> None:
    held = forward_mode.tangent_of(out)
    if any(a is out for a in args) and (held is not t or id(t) not in changed):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward "
            "is modifying an input inplace, then the jvp function must modify the corresponding gradient "
            "inplace."
        )


def _check_view_tangent(args: tuple[Any, ...], out: Tensor, t: Any) -> None:
    assert out.viewed is not None
    base = out.viewed.base
    inputs = (a for a in args if isinstance(a, Tensor))
    source = next((a for a in inputs if a is base or (a.viewed and a.viewed.base is base)), None)
    given = forward_mode.tangent_of(source)
    if source is None or given is None or t is None:
        return
    what = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
    if t.viewed is None:
        raise RuntimeError(f"{what}.")
    if source.viewed is not None and given.viewed is not None:
        if t.viewed.base is not given.viewed.base:
            raise RuntimeError(f"{what} of the same base as the given tangent.")
    elif t.viewed.base is not given:
        raise RuntimeError(f"{what} of the given input tangent.")


# ------------------------------------------------------------------------------------------- once_differentiable


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot itself be differentiated: doing so raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        before = without_grad()
        try:
            result = fn(ctx, *args, **kwargs)
        finally:
            put(before)
        wants = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        if not here().grad or not wants:
            return result
        outs = result if isinstance(result, tuple) else (result,)
        refused = _refusing(outs)
        return refused if isinstance(result, tuple) else refused[0]

    return wrapper


def _refusing(outs: tuple[Any, ...]) -> tuple[Any, ...]:
    leaves = [None if t is None else t.detach().requires_grad_() for t in outs]
    edges = tuple([None if t is None else accumulator(t) for t in leaves])
    text = "trying to differentiate twice a function that was marked with @once_differentiable"
    node = refusing(Error, edges, RuntimeError(text), len(outs))
    refused = [None if t is None else t.detach() for t in outs]
    for i, t in enumerate(refused):
        if t is not None:
            t.edge = Port(node, i) if len(outs) > 1 else node
    return tuple(refused)


# ---------------------------------------------------------------------------------------- kept for compatibility


class InplaceFunction(Function):
    """A Function with an `inplace` flag; kept for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """PyTorch's Function over nested inputs, whose methods are not static: like there, calling it raises."""


class _SingleLevelFunction(Function):
    """A Function that belongs to the innermost transform alone: its `forward` goes on to the levels below itself. Rules
    of higher-order operators are made of it."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it at the innermost level."""
        state = here()
        level = state.stack[-1] if state.stack else None
        given = args if level is None else tuple([level.lift(a) for a in args])
        return applied(cls, given, kwargs, state, level)


Function._separate = InplaceFunction._separate = NestedIOFunction._separate = _SingleLevelFunction._separate = False
