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

from chainrule.autograd import forward_ad
from chainrule.autograd.application import applied
from chainrule.autograd.explain import freed
from chainrule.autograd.node import ANY_DTYPE, AccumulateGrad, Freed, Node, accumulator
from chainrule.autograd.refusing import Error, refusing
from chainrule.autograd.saved import SavedTensor
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import SparseArray
from chainrule.core.ambient import Ambient, here, put, without_grad
from chainrule.core.family import call, cast, sum_to
from chainrule.core.notices import warn
from chainrule.core.sites import here_in_user_code
from chainrule.core.tensor import Port, Tensor, fresh

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
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
