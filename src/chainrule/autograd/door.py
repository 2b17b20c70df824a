"""The one door of every op call that is unusual; plain calls are answered before it (autograd.bind).

Checks the arguments, lets subclasses and modes have their word, then asks the innermost interpreter, or computes
eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

import numpy as np

from chainrule.autograd import forward
from chainrule.autograd.eager import eager, eager_inplace, on_sparse
from chainrule.autograd.pending import is_pending, meant
from chainrule.backends import cpu
from chainrule.backends.cpu import memory
from chainrule.backends.pending import resolved
from chainrule.backends.sparse import is_sparse
from chainrule.core.ambient import here
from chainrule.core.blame import ABSENT, Param, blame, kind_of, params_of, without
from chainrule.core.dtype import c_name, can_cast
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import call, dtype_of
from chainrule.core.function_protocol import overridden
from chainrule.core.notices import warn_once
from chainrule.core.op import Castable, Op
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import FOREIGN, PLAIN, WRAPPERS, Tensor, fresh

__all__ = [
    "ANSWERERS", "NUMBERS", "Inplace", "apply", "check_partial_overlap", "door", "failed", "operator_door",
    "set_answerer", "settled", "with_aliases", "with_early",
]  # fmt: skip

NUMBERS = (int, float, complex, np.number, np.bool_)  # bool is an int


def door(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], out: Any = None) -> Any:
    """One call of a public op function."""
    check_inputs(op, inputs, params)
    if op.numbers:
        inputs = tuple([_plain_number(t) if isinstance(t, np.generic) else t for t in inputs])
    state = here()
    foreign = any(t.__class__ not in PLAIN and t is not None and t.__class__ not in FOREIGN for t in inputs)
    if foreign or state.modes or state.autocast is not None:
        done, result = overridden(op, inputs, params, out)
        if done:
            return result
    if out is not None:
        targets_of(op, out)
        if op.pulls and recorded_into(inputs, out):
            raise fault_of(op, inputs, params) or not_into(op.name)
    if out is not None and op.fills and params["dtype"] is None and isinstance(out, Tensor):
        if op.fills is True or op.fills(inputs, params, out):
            params = {**params, "dtype": out.dtype}
    params = checked(op, inputs, params)
    try:
        result = apply(op, inputs, params)
    except Exception as error:
        fault = None if "(): argument '" in str(error) else fault_of(op, inputs, params)
        if fault is None:
            raise
        raise fault from None
    return result if out is None else write_out(op, result, out, inputs, params)


def checked(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> dict[str, Any]:
    """Static parameters made plain: a 0-d tensor and a NumPy scalar are numbers, or they would take part in promotion.

    A flag that is no bool is refused, or it would pass.
    """
    declared, flags = declared_params(getattr(op, "base", op))
    for name in flags:
        value = params.get(name)
        if value is not True and value is not False:
            fault = fault_of(op, inputs, params)
            if fault is not None:
                raise fault
    for name, value in params.items():
        if value.__class__ is bool and name in declared and not declared[name].takes(value):
            fault = fault_of(op, inputs, params)
            if fault is not None:
                raise fault
        elif isinstance(value, np.generic):
            params = {**params, name: value.item()}
        elif value.__class__ in PLAIN and (name in declared or (name == "dim" and value.ndim == 0)):
            if name not in declared:
                params = {**params, name: value.item()}
                continue
            if not declared[name].takes(value):
                fault = fault_of(op, inputs, params)
                if fault is not None:
                    raise fault
                continue
            params = {**params, name: value.item()}
    return params


def _plain_number(x: np.generic) -> Any:
    """A NumPy scalar as a Python number: PyTorch reads np.bool_ as a float."""
    return float(x) if isinstance(x, np.bool_) else x.item()


@cache
def declared_params(op: Op) -> tuple[dict[str, Param], tuple[str, ...]]:
    """The static parameters of an op whose declaration says what they take; those among them that are flags."""
    found = params_of(op.forward, 0 if op.variadic else 1)
    declared = {p.name: p for p in found if p.words is not None and p.name not in op.inputs}
    return declared, tuple([n for n, p in declared.items() if p.words == ("bool",)])


def fault_of(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> TypeError | None:
    """The error for the first argument of a wrong type; None if all are right."""
    base = getattr(op, "base", op)
    given = params if op.variadic else {**dict(zip(op.inputs, inputs)), **params}
    left_out = without(op.name, [n for n in op.params if given.get(n) is ABSENT])
    if left_out is not None:
        return left_out
    written = {n: given[n] for n in op.params if n in given and given[n] is not base.defaults.get(n, given)}
    return blame(op.name, params_of(base.forward, 0 if op.variadic else 1), written)


def failed(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The fast path failed: what the careful one says, and nothing of what happened before."""
    try:
        return door(op, inputs, params)
    except Exception as error:
        error.__suppress_context__ = True
        raise


def operator_door(op: Any, inputs: tuple[Any, ...], params: dict[str, Any], out: Any = None) -> Any:
    """One call through an operator: `x * y` declines a `y` it does not know, so that Python asks `y` next.

    Arrays are declined too: NumPy then computes `tensor * array` by its own promotion, and refuses `array * tensor`.
    """
    a, b = inputs
    if op.of_arrays and isinstance(b, np.ndarray):
        b = call("from_numpy", b)
    elif not _operand(a) or not _operand(b):
        return NotImplemented
    if op.name in _DUNDERS and not isinstance(a, Tensor):
        return _unbound(op, a, b)
    return door(op, (a, b), params)


_DUNDERS = {
    "add": "add", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "mul": "mul", "rpow": "rpow",
    "rsub": "rsub",
}  # fmt: skip


def _unbound(op: Any, a: Any, b: Any) -> Any:
    """`Tensor.__add__(2, x)`: the class is asked, not a tensor."""
    if op.name == "rpow":
        return call("pow", b, a)
    if op.name == "rsub":
        return NotImplemented
    raise TypeError(
        f"descriptor '__{_DUNDERS[op.name]}__' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type(a).__name__}' object"
    )


def _operand(x: Any) -> bool:
    return isinstance(x, (Tensor, *NUMBERS)) or hasattr(type(x), "__torch_function__")


def apply(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Ask the innermost interpreter, then whoever answers ops; eager when nobody listens."""
    state = here()
    if state.stack:
        return state.stack[-1].process(op, inputs, params)
    if FOREIGN and any(t.__class__ in FOREIGN for t in inputs):
        inputs = tuple(map(_bottom, map(settled, inputs)))
    if state.dispatch or (WRAPPERS and any([t.__class__ in WRAPPERS for t in inputs])):
        return ANSWERERS[0](op, inputs, params)
    return op.eager(inputs, params) if op.__class__ is Inplace else eager(op, inputs, params)


ANSWERERS: list[Callable[..., Any]] = []  # of ops, of functions that make tensors, of `item`; see autograd.dispatch


def set_answerer(*answerers: Callable[..., Any]) -> None:
    """Called once by the module that asks modes and subclasses."""
    ANSWERERS[:] = answerers


_ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
    "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
)


def settled(t: Any) -> Any:
    """What lies under a tensor that escaped from transforms that are over: its value. A batch has none."""
    while t.__class__ in FOREIGN and not t.level.alive:
        if t.level.kind == "vmap":
            raise RuntimeError(_ESCAPED)
        t = t.raw
    return t


def _bottom(t: Any) -> Any:
    while t.__class__ in FOREIGN:
        t = t.raw
    return t


def check_inputs(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Every tensor input must be one."""
    if op.variadic:
        _check_list(op, inputs)
        return
    for name, value in zip(op.inputs, inputs):
        if isinstance(value, Tensor) or (value is None and name in op.optional):
            continue
        if name in op.numbers and isinstance(value, NUMBERS):
            continue
        if hasattr(type(value), "__torch_function__"):
            continue
        _refuse(op, name, inputs, params)
    if op.numbers and "alone" not in op.of_numbers and not any(x is not None and not _is_number(x) for x in inputs):
        got = ", ".join([kind_of(x) for x in inputs if x is not None])
        raise TypeError(
            f"{op.name}() received an invalid combination of arguments - got ({got}), but one must be a Tensor"
        )


def _is_number(x: Any) -> bool:
    return isinstance(x, NUMBERS)


def _check_list(op: Any, inputs: tuple[Any, ...]) -> None:
    for at, value in enumerate(inputs):
        if not isinstance(value, Tensor) and not hasattr(type(value), "__torch_function__"):
            raise TypeError(f"expected Tensor as element {at} in argument 0, but got {type(value).__name__}")


def _refuse(op: Any, name: str, inputs: tuple[Any, ...], params: dict[str, Any]) -> NoReturn:
    fault = fault_of(op, inputs, params)
    if fault is not None:
        raise fault
    value = inputs[op.inputs.index(name)]
    position = op.params.index(name) + 1
    raise TypeError(f"{op.name}(): argument '{name}' (position {position}) must be Tensor, not {kind_of(value)}")


_ALIASES = {"axis": "dim", "axes": "dims", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def with_aliases(op: Op, given: dict[str, Any], aliased: dict[str, Any]) -> Any:
    """NumPy's names for PyTorch's parameters: `axis` for `dim`, `keepdims` for `keepdim`."""
    for name, value in aliased.items():
        known = _ALIASES.get(name)
        if known not in given or (given[known] is not ABSENT and given[known] is not op.defaults.get(known, ABSENT)):
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{name}'")
        given[known] = value
    return op.fn.public(**given)


def with_early(op: Op, form: Any, args: tuple[Any, ...], params: dict[str, Any], *out: Any) -> Any:
    """A deprecated form of the call: `add(x, 2, y)` means `add(x, y, alpha=2)`."""
    number = args[1].item() if _is_bare_number(args[1]) else args[1]
    if len(args) != len(op.inputs) + 1 or not isinstance(number, NUMBERS):
        raise TypeError(f"{form.name}() takes {len(op.inputs)} positional arguments but {len(args)} were given")
    first, *rest = [f"Tensor {n}" for n in op.inputs]
    self, end = ([first], ["Tensor out = None"]) if form is op else ([], [])
    old = ", ".join([*self, f"Number {op.early}", *rest, *["*"][: len(end)], *end])
    new = ", ".join([*self, *rest, "*", f"Number {op.early} = {op.defaults[op.early]}", *end])
    warn_once(
        f"This overload of {form.name} is deprecated:\n\t{form.name}({old})\n"
        f"Consider using one of the following signatures instead:\n\t{form.name}({new})"
    )
    return door(form, (args[0], *args[2:]), {**params, op.early: number}, *out)


def _is_bare_number(x: Any) -> bool:
    """Is it a tensor that may stand for a number?"""
    return isinstance(x, Tensor) and x.ndim == 0 and not x.requires_grad


# -------------------------------------------------------------------------------------------------------- out=


_NOTHING: Mapping[str, Any] = {}


def write_out(op: Op, result: Any, out: Any, inputs: tuple[Any, ...], params: Mapping[str, Any] = _NOTHING) -> Any:
    """Put a result into the tensor(s) given as `out`."""
    if op.outs is not None:
        targets = targets_of(op, out)
        if len(targets) != len(result):
            raise TypeError(f"{op.name}(): argument 'out' must be a tuple of {len(result)} Tensors, not {len(targets)}")
        names = getattr(result, "_fields", ("result",) * len(targets))
        for name, value, target in zip(names, result, targets):
            _check_out(op, name, value, target, inputs, params)
        for value, target in zip(result, targets):
            _write_one(op, value, target, inputs)
        return type(result)(*targets) if hasattr(result, "_fields") else targets
    (target,) = targets_of(op, out)
    _check_out(op, "result", result, target, inputs, params)
    return _write_one(op, result, target, inputs)


def targets_of(op: Op, out: Any) -> tuple[Any, ...]:
    """The tensors given as `out`: one, or a tuple of as many as there are results."""
    several = op.outs is not None
    if several and not (isinstance(out, (tuple, list)) and all([isinstance(t, Tensor) for t in out])):
        raise TypeError(f"{op.name}(): argument 'out' must be tuple of Tensors, not {kind_of(out)}")
    targets = tuple(out) if several else (out,)
    if not isinstance(targets[0], Tensor):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {kind_of(out)}")
    return targets


def recorded_into(inputs: tuple[Any, ...], out: Any) -> bool:
    """Is a gradient wanted of what is read, or of what is written? PyTorch asks that before it looks at values."""
    targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    return here().grad and any([isinstance(t, Tensor) and t.edge is not None for t in (*inputs, *targets)])


def not_into(name: str) -> RuntimeError:
    """The error for an `out=` that a gradient would have to come through."""
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, "
        "but one of the arguments requires grad."
    )


def _check_out(op: Op, name: str, result: Any, out: Any, inputs: tuple[Any, ...], params: Mapping[str, Any]) -> None:
    """Refuse, before anything is written, an `out=` that one result, of a name, may not go to."""
    if op.pulls and recorded_into(inputs, out):
        raise not_into(op.name)
    if forward.active((*inputs, out)):
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= function"
        )
    if any([t.__class__ in FOREIGN and t.level.kind == "vmap" for t in (*inputs, out)]):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{op.name}.out; "
            "the fallback path doesn't work on out= or view ops."
        )
    op.family.check_out(op, result, out, inputs)
    exact = op.exact
    if callable(exact):
        exact = exact(inputs=inputs, params=params, name=name, result=result, out=out)
    fits = can_cast(result.dtype, out.dtype)
    if exact is not None and out.dtype is not result.dtype and _is_strict(op, result, inputs):
        names = {"out_type": c_name(out.dtype), "result_type": c_name(result.dtype), "name": name}
        if not (fits and isinstance(exact, Castable)):
            raise RuntimeError(exact.format(out=out.dtype.title, result=result.dtype.title, **names))
    if not fits:
        raise RuntimeError(
            f"result type {result.dtype.title} can't be cast to the desired output type {out.dtype.title}"
        )


def _write_one(op: Op, result: Any, out: Any, inputs: tuple[Any, ...]) -> Any:
    inputs = tuple(map(_bottom, inputs))
    picks = op.family.name == "indexing"
    if (picks or op.family.diagonal) and isinstance(out.raw, np.ndarray):  # others look at it once it has its new shape
        memory.refuse_overlap(out.raw)
    if out.shape != result.shape:
        out._resize_output(result.shape, result)
        if op.family.diagonal and out.raw.__class__ is result.raw.__class__ is np.ndarray:
            out.raw = memory.strided(out.raw, out.raw.shape, memory.element_strides(result.raw))
    if picks or op.variadic:
        _refuse_sharing(out.raw, inputs[1:] if op.write is not None else inputs)
    elif op.family.diagonal:
        check_partial_overlap(out.raw, inputs)
    out.copy_(result)
    if out.store is not None:
        out.store.op = f"{op.name} with out="
    return out


def _refuse_sharing(target: Any, inputs: tuple[Any, ...]) -> None:
    """Elements are picked one by one while others are written: out= may not lie where an input lies."""
    if target.__class__ is np.ndarray and any(memory.overlaps(target, t.raw) for t in inputs if isinstance(t, Tensor)):
        raise RuntimeError(_SHARED)


def _is_strict(op: Op, result: Any, inputs: tuple[Any, ...]) -> bool:
    """The real result of a complex elementwise op (`abs`) is cast into whatever can hold it."""
    return not op.family.diagonal or result.dtype.is_complex or not inputs[0].dtype.is_complex


# ------------------------------------------------------------------------------------------------- in-place ops


class Inplace:
    """The in-place form of an op, derived: compute as the op does, write over the first input, rewrite history."""

    __slots__ = ("base", "fn", "inputs", "name", "numbers", "optional", "outs", "params", "variadic")

    of_numbers: frozenset[str] = frozenset()  # the target is a tensor

    def __init__(self, base: Op) -> None:
        self.base, self.name = base, base.name + "_"
        self.inputs, self.params, self.variadic = base.inputs, base.params, False
        self.numbers, self.optional, self.outs = base.numbers, base.optional, None
        self.fn: Any = None

    @property
    def family(self) -> Any:
        return self.base.family

    @property
    def batch(self) -> Any:
        return self.base.batch

    def call(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The in-place op on tensors, through the door."""
        given = {n: v for n, v in self.base.defaults.items() if n not in self.inputs}
        return door(self, inputs, {**given, **params})

    def eager(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute on arrays and write."""
        if any([is_pending(t) for t in inputs]):
            return self._as_meant(inputs, params)
        some_sparse = any([isinstance(t, Tensor) and is_sparse(t.raw) for t in inputs])
        write = _write_sparse if some_sparse and self.base.write is None else Inplace.write
        return eager_inplace(self.base, inputs, params, None, lambda: write(self, inputs, params))

    def _as_meant(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The same where something is pending on inputs, or on the target: what is meant is changed, then stored."""
        target, rest = inputs[0], meant(inputs[1:])
        if not is_pending(target):
            return self.eager((target, *rest), params)

        def write() -> None:
            temporary = fresh(resolved(target.raw))
            self.write((temporary, *rest), params)
            target.raw[...] = temporary.raw

        return eager_inplace(self.base, (target, *rest), params, None, write)

    def write(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        """Overwrite the first input's array with the result; all checks come first."""
        op, target = self.base, inputs[0].raw
        if op.write is not None:
            op.write(cpu, inputs, params)
            return
        check_partial_overlap(target, inputs[1:])
        if op.family.diagonal:
            check_target(op, inputs, params)
        if op.check is not None:
            op.check(inputs, params)
        result = op.family.compute(cpu, op, inputs, params)
        check_fits(op, inputs[0], result)
        memory.refuse_overlap(target)
        target[...] = result

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _write_sparse(form: Inplace, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    """As `Inplace.write`, where an input is sparse, or the target is."""
    op, target = form.base, inputs[0].raw
    if op.family.diagonal:
        check_target(op, inputs, params)
    result = on_sparse(op, inputs, params, target)
    if result is target:
        return
    check_fits(op, inputs[0], result)
    if is_sparse(target) and is_sparse(result):
        target.become(result.astype(target.dtype))
    elif not is_sparse(target):
        target[...] = result.todense() if is_sparse(result) else result
    else:
        raise RuntimeError(f"{form.name}: the result is dense, and the tensor that would take it is sparse")


def check_partial_overlap(target: Any, inputs: tuple[Any, ...]) -> None:
    """Refuse to write over an input, unless it is read where it is written."""
    for t in inputs:
        if isinstance(t, Tensor) and memory.partly_overlap(target, t.raw):
            raise RuntimeError(_SHARED)


_SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


_KEEPS_DTYPE = frozenset(("same", "float", "integer", "native"))  # the result has the dtype the op computes in


def check_target(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Refuse, before anything is computed, what an in-place elementwise op could not write into its target."""
    have = inputs[0].raw.shape
    for t in inputs[1:]:
        if isinstance(t, Tensor) and t.raw.shape != have:
            shape = broadcast_shapes(*(t.raw.shape for t in inputs if isinstance(t, Tensor)))
            if shape != have:
                raise RuntimeError(f"output with shape {list(have)} doesn't match the broadcast shape {list(shape)}")
    if len(inputs) > 1 and (op.promote in _KEEPS_DTYPE or callable(op.promote)):
        _check_cast(op.family.common(op, inputs, params), inputs[0].dtype)


def _check_cast(from_: DType, to: DType) -> None:
    if not can_cast(from_, to):
        raise RuntimeError(f"result type {from_.title} can't be cast to the desired output type {to.title}")


def check_fits(op: Op, target: Tensor, result: Any) -> None:
    """The result of an in-place op must have the target's shape, and a dtype that casts to the target's."""
    if tuple(target.raw.shape) != tuple(result.shape):
        raise RuntimeError(
            f"output with shape {list(target.raw.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    _check_cast(dtype_of(result), target.dtype)
