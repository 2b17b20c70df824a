"""What an op is. One declaration; every interpreter reads what it needs from here.

    @elementwise(samples=...)
    def mul(xp, input: Array, other: Array | Number):
        '''Product of two tensors, element by element.'''
        return input * other

    mul.vjp(input=lambda g, other: g * other, other=lambda g, input: g * input)

The function below the decorator is the *forward*: a formula over arrays, with PyTorch's own signature after `xp`, the
backend's array namespace. Parameters annotated `Array` are the tensor *inputs* (`Array | None` may be absent,
`Array | Number` may be a Python number, `*tensors: Array` is a list of tensors); all others are *static*.

`vjp` gives, per input, a *rule*: a function linear in its first argument `g`, the cotangent of the output, whose other
parameters name what must be kept until backward: an input, a static parameter, `out` (or an output's name),
`<input>_shape` or `<input>_dtype`. A rule that only raises, since there is no derivative, returns `NoReturn`. Rules are
formulas over operators and op functions: given arrays they compute arrays, given tensors they compute differentiable
tensors.

A rule of a holomorphic op is the plain transpose, without conjugates, and has no complex constants: for complex dtypes
the engine conjugates what the rule keeps, which turns the transpose into the adjoint that PyTorch's convention asks
for. Ops that are not holomorphic (abs, real, angle, ...) say so and write the adjoint themselves.

`of_numbers` says what PyTorch does with a number given in a tensor's place. "wrapped": it makes a tensor of it, so that
the node has an empty edge for it. "exact": next to 16-bit floats it takes it in 32 bits, where other ops round it
first. "alone": numbers without a tensor beside them make a tensor too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from chainrule.core import dtype as dtypes

__all__ = ["REGISTRY", "Array", "Castable", "Number", "Op", "OpFunction", "Rule", "refuses", "rule"]

Array = Any  # an ndarray to a forward; whatever world the rule runs in, to a rule
Number = Any  # a Python bool, int, float or complex

REGISTRY: dict[str, Op] = {}


class Castable(str):
    """The message of an op whose result may be cast into `out=`, for a cast that would lose a category."""

    __slots__ = ()


class OpFunction(Protocol):
    """What a declaration returns: callable on tensors, and on bare arrays inside rules."""

    op: Op
    public: Callable[..., Any]
    vjp: Callable[..., OpFunction]
    __name__: str

    def __call__(self, *args: Any, **params: Any) -> Any: ...


class Rule:
    """A function linear in its first argument, and the names of what it must keep."""

    __slots__ = ("fn", "keeps")

    def __init__(self, fn: Callable[..., Any], keeps: tuple[str, ...]) -> None:
        self.fn, self.keeps = fn, keeps

    @property
    def refuses(self) -> bool:
        """Does the rule raise and do nothing else? Its annotation says so."""
        return refuses(self.fn)


def refuses(fn: Callable[..., Any]) -> bool:
    """Is the function one that raises and does nothing else, `-> NoReturn`?"""
    return getattr(fn, "__annotations__", {}).get("return") == "NoReturn"


def rule(fn: Callable[..., Any]) -> Rule:
    """Read a rule's needs off its own signature: `lambda g, out: ...` keeps `out`."""
    code = fn.__code__
    return Rule(fn, code.co_varnames[1 : code.co_argcount])


REQUIRED = object()


class Op:
    """One operation, declared once."""

    __slots__ = (
        "batch",  # override of the family's vmap rule, or None
        "branches",  # real values among complex ones lie on a branch cut of its rules, as a negative base does
        "check",  # (inputs, params) -> None: raises for what the op refuses; called where dtypes are unusual, or None
        "defaults",  # name -> default of every parameter that has one
        "differentiable",  # positions of the outputs that carry gradients
        "doc",
        "early",  # the number that a deprecated form of the call takes second: `add(x, 2, y)`; or ""
        "exact",  # the message when out= has not the result's very dtype, or what gives it (door._check_out); or None
        "family",
        "fills",  # computes in the dtype of `out=` if no dtype is asked for: sums of small integers, say; or whether so
        "fixed",  # inputs that may not want a gradient: PyTorch refuses to lose it
        "fn",  # the function a declaration returns
        "forward",
        "gaps",  # the rule takes None for an output that no cotangent reached (else zeros)
        "holomorphic",
        "in_place_slope",  # of the in-place form, where that differs: "zero", as of comparisons, or "refused"
        "inplace",  # the op that writes its result into the first input, or None
        "inputs",  # names of the tensor inputs, in order
        "integers",  # "ib": the fast path takes int64 ("i") and bool ("b") as they are; see autograd.bind
        "keyword_from",  # how many parameters may be given by position
        "linear",  # linear in each differentiable input: the op of a tangent is the tangent of the op
        "meta",  # override of shape and dtype inference, or None
        "name",
        "node_name",
        "node_names",  # which inputs are tensors, "TN" -> the node's name, where it is not `node_name`
        "nodes",  # node classes made so far, by variant
        "numbers",  # names of the inputs that may be Python numbers
        "of_arrays",  # its operator takes NumPy arrays for tensors; others leave them to NumPy
        "of_numbers",  # what PyTorch does with a number given to it, any of "wrapped", "exact", "alone": see above
        "optional",  # names of the inputs that may be None
        "ordered",  # the axes of its result are put in the order of those of its operands; else as its forward does
        "outs",  # names of the outputs if there are several, "many" if their number varies, else None
        "overload",  # the parameter whose presence makes it PyTorch's second overload: its nodes end in 1
        "paired",  # parameters that go with `dim` alone: PyTorch's overload without it does not take them
        "params",  # all parameter names in order
        "parse",  # reads unusual arguments of a view (a dtype, one list, names) and calls the op with plain ones
        "promote",  # how input dtypes meet: see core.family.Elementwise
        "pulls",  # input name -> Rule
        "push",  # override of the derived forward-mode rule, or None
        "real_slopes",  # computes complex numbers, but records no gradients of them
        "samples",
        "sparse",  # override of what it does with sparse arrays, (op, inputs, params, into) -> array: autograd.eager
        "spelled",  # where the function is public: see core.public
        "spread",  # the parameter that users may write as several arguments: `x.view(2, 3)`, or None
        "steps",  # the same in the ops that PyTorch does it in, for who answers op by op; see autograd.dispatch
        "straight",  # straight, or straight between kinks: its slope has zero derivatives; see autograd.straight
        "turns",  # a view whose axes lie in another order in memory than those of its input
        "unfold",  # gives a node the steps that PyTorch's graph has where this op is one; see autograd.unfold
        "unpromoted",  # inputs that keep their dtype where the others meet: conditions, masks
        "variadic",  # the one input is a list of tensors
        "vmap_title",  # what the refusal of PyTorch's vmap calls the in-place form, where not by its overload; or ""
        "write",  # override of how the in-place form writes, or None
    )

    def __init__(self, forward: Callable[..., Any], family: Any, **facts: Any) -> None:
        self.name: str = facts.pop("name", forward.__name__.rstrip("_"))
        self.doc, self.forward, self.family = forward.__doc__ or "", forward, family
        self._read_signature(forward)
        self.pulls: dict[str, Rule] = {}
        self.outs: tuple[str, ...] | str | None = facts.pop("outs", None)
        self.differentiable: tuple[int, ...] = facts.pop("differentiable", (0,))
        self.linear: bool = facts.pop("linear", False)
        self.holomorphic: bool = facts.pop("holomorphic", True)
        self.real_slopes: bool = facts.pop("real_slopes", False)
        self.promote: Any = facts.pop("promote", "same")
        self.samples: Callable[[np.random.Generator], Iterable[Any]] | None = facts.pop("samples", None)
        self._name_nodes(facts.pop("node", self.name.title().replace("_", "")))
        self.batch, self.push = facts.pop("vmap", None), facts.pop("jvp", None)
        self.vmap_title: str = facts.pop("vmap_title", "")
        self.ordered: bool = facts.pop("ordered", family.diagonal and self.outs is None)
        self.overload: str | None = facts.pop("overload", None)
        self.gaps: bool = facts.pop("gaps", False)
        self.paired: tuple[str, ...] = facts.pop("paired", ())
        self.spread, self.parse = facts.pop("spread", None), facts.pop("parse", None)
        self.meta, self.write = facts.pop("meta", None), facts.pop("write", None)
        self.sparse: Callable[..., Any] | None = facts.pop("sparse", None)
        self.exact: str | Callable[..., str | None] | None = facts.pop("exact", None)
        self.fills: bool | Callable[..., bool] = facts.pop("fills", False)
        self.fixed: tuple[str, ...] = facts.pop("fixed", ())
        self.in_place_slope: str = facts.pop("in_place_slope", "")
        self.early: str = facts.pop("early", "")
        self.turns: bool = facts.pop("turns", False)
        self.unfold: Callable[[Any], None] | None = facts.pop("unfold", None)
        self.straight: bool = facts.pop("straight", False)
        self.steps: Callable[..., Any] | None = facts.pop("steps", None)
        self.branches: bool = facts.pop("branches", False)
        self.of_arrays: bool = facts.pop("of_arrays", False)
        self.of_numbers: frozenset[str] = frozenset(facts.pop("of_numbers", ()))
        self.check, self.unpromoted = facts.pop("check", None), frozenset(facts.pop("unpromoted", ()))
        plain = "ib" if self.promote in ("same", "compare") and self.check is None and family.diagonal else ""
        self.integers: str = facts.pop("integers", plain)
        self.spelled: str = facts.pop("spelled", "fmi" if family.diagonal else "fm")
        if facts:
            raise TypeError(f"{self.name}: unknown facts in its declaration: {sorted(facts)}")
        self.inplace: Any = None  # an autograd.door.Inplace
        self.nodes: dict[Any, type] = {}
        self.fn: Any = None
        if self.name in REGISTRY:
            raise TypeError(f"{self.name} is declared twice")
        REGISTRY[self.name] = self

    def _read_signature(self, forward: Callable[..., Any]) -> None:
        code, notes = forward.__code__, forward.__annotations__
        positional = code.co_varnames[1 : code.co_argcount]
        keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.variadic = bool(code.co_flags & 4)
        if self.variadic:
            listed = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
            positional, keyword = (listed, *positional, *keyword), ()
        self.params = (*positional, *keyword)
        self.keyword_from = len(positional)
        kinds = {name: str(notes.get(name, "")) for name in self.params}
        self.inputs = tuple(n for n in self.params if kinds[n].startswith("Array"))
        self.numbers = frozenset(n for n in self.inputs if "Number" in kinds[n])
        self.optional = frozenset(n for n in self.inputs if "None" in kinds[n])
        defaults = forward.__defaults__ or ()
        self.defaults = dict(zip(positional[len(positional) - len(defaults) :], defaults))
        self.defaults.update(forward.__kwdefaults__ or {})

    def _name_nodes(self, node: str | dict[str, str]) -> None:
        """One name, or a name per kinds of inputs, the first for all others; PyTorch numbers its overloads."""
        self.node_names = dict(node) if isinstance(node, dict) else {}
        first = next(iter(node.values())) if isinstance(node, dict) else f"{node}Backward0"
        self.node_name: str = first

    def vjp(self, **pulls: Callable[..., Any]) -> Any:
        """Give, per input, the map from output cotangent to input cotangent."""
        for name, fn in pulls.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name}.vjp: {name!r} is not one of its inputs {self.inputs}")
            self.pulls[name] = rule(fn)
        return self.fn

    @property
    def refuses_floats(self) -> bool:
        """Is it an op of integers? Then floats must meet its check."""
        return dtypes.FLOAT in getattr(self.check, "refuses", ())

    def run(self, xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The forward, given the inputs in order and the static parameters by name."""
        if self.variadic:
            return self.forward(xp, *inputs, **params)
        values = iter(inputs)
        named = {n: (next(values) if n in self.inputs else params[n]) for n in self.params}
        cut = self.keyword_from
        names = self.params
        return self.forward(xp, *(named[n] for n in names[:cut]), **{n: named[n] for n in names[cut:]})

    def call(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The op on tensors, through the door: whatever listens takes part."""
        if self.variadic:
            return self.fn.public(inputs, **params)
        return self.fn.public(**dict(zip(self.inputs, inputs)), **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"
