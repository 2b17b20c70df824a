"""Products with a function's Jacobian and Hessian, and the whole matrices: `torch.autograd.functional`.

Every function takes `func` and its `inputs`, a tensor or a tuple of tensors, and answers in the same
structure.
`create_graph` makes the result differentiable; `strict` raises where a result would be zero only because it
does not depend on
an input at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.autograd import api, forward_ad
from chainrule.autograd.grad_mode import enable_grad
from chainrule.core.ambient import here, swapped
from chainrule.core.family import call
from chainrule.core.tensor import LEAF, Tensor, extra_of

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Func = Callable[..., Any]
Tensors = tuple[Any, ...]

_OTHER_MODE = 'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
_STRATEGY = (
    'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
    'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
)
_INPUT = "the input to the user-provided function is"
_NOT_STRICT = "This is not allowed in strict mode"


# ---------------------------------------------------------------------------------------- structure of arguments


def _as_tuple(given: Any, what: str, fn_name: str) -> tuple[bool, Tensors]:
    """Was it a tuple, and the tuple."""
    if isinstance(given, Tensor):
        return False, (given,)
    if not isinstance(given, tuple):
        raise TypeError(
            f"The {what} given to {fn_name} must be either a Tensor or a tuple of Tensors but the given "
            f"{what} has type {type(given)}."
        )
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given to {fn_name} must be either a Tensor or a tuple of Tensors but the value "
                f"at index {i} has type {type(t)}."
            )
    return True, given


def _unpacked(found: Tensors, was_tuple: bool) -> Any:
    return found if was_tuple else found[0]


def _matrix_unpacked(rows: tuple[Tensors, ...], rows_tuple: bool, columns_tuple: bool) -> Any:
    """rows[i][j], without the levels that were not tuples."""
    return _unpacked(tuple(_unpacked(r, columns_tuple) for r in rows), rows_tuple)


def _prepared(inputs: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """Inputs to differentiate with respect to: aliases in the caller's graph, or leaves of their own."""
    return tuple(_alias(t, create_graph, need_graph) for t in inputs)


def _alias(t: Any, create_graph: bool, need_graph: bool) -> Any:
    if create_graph and t.requires_grad:
        return t.view_as(t)
    return t.detach().requires_grad_(need_graph)


def _leaf(t: Any) -> Any:
    """A dual number as a leaf: its tangent stays."""
    t.edge = LEAF
    extra_of(t)
    return t


def _finished(found: Any, create_graph: bool) -> Any:
    """Results as the caller wants them: with history, or cut from it."""
    if isinstance(found, tuple):
        return tuple(_finished(t, create_graph) for t in found)
    return found if create_graph else found.detach()


def _vector(v: Any, like: Tensors, like_is_tuple: bool, fn_name: str) -> Tensors:
    """The given vector, checked against what it is multiplied with."""
    _, vs = _as_tuple(v, "v", fn_name)
    vs = _prepared(vs, True, False)
    if len(vs) != len(like):
        if like_is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(vs, like)):
        if one.size() != other.size():
            entry = f"Entry {i} in " if like_is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.size()} but got {one.size()}.")
    return vs


def _ones_for(like: Tensors, message: str) -> Tensors:
    """The vector that may be left out: there is one element, so it is 1."""
    if len(like) != 1 or like[0].numel() != 1:
        raise RuntimeError(f"The vector v can only be None if {message} a single Tensor with a single element.")
    return (call("ones_like", like[0]),)


# ----------------------------------------------------------------------------------------------------- gradients


def _gradients(
    outputs: Tensors, inputs: Tensors, vs: Tensors | None = None, create_graph: bool = False, keep: bool = False
) -> Tensors:
    """Gradients of those outputs that have history; None for inputs that nothing reaches."""
    pairs = [(o, v) for o, v in zip(outputs, vs or (None,) * len(outputs)) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, cotangents = zip(*pairs)
    found: Tensors = api.grad(outs, inputs, cotangents, keep or create_graph, create_graph, allow_unused=True)
    return found


def _filled(
    found: Tensors, refs: Tensors, strict: bool, create_graph: bool, text: Callable[[int], str], later: str = ""
) -> Tensors:
    """Zeros where no gradient came, unless that is an error."""
    results = []
    for i, (g, ref) in enumerate(zip(found, refs)):
        if g is None and strict:
            raise RuntimeError(text(i))
        if strict and later and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The {later} of the user-provided function is independent of input {i}. {_NOT_STRICT} when "
                "create_graph=True."
            )
        results.append(call("zeros_like", ref) if g is None else g)
    return tuple(results)


def _check_outputs(outputs: Tensors, strict: bool) -> None:
    for i, t in enumerate(outputs):
        if strict and not t.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode."
            )


def _check_first(grads: Tensors, strict: bool, text: Callable[[int], str]) -> None:
    """In strict mode a first gradient must exist and depend on the inputs."""
    for i, g in enumerate(grads):
        if strict and g is None:
            raise RuntimeError(f"The output of the user-provided function is independent of input {i}. {_NOT_STRICT}.")
        if strict and not g.requires_grad:
            raise RuntimeError(text(i))


def _output_unused(i: int) -> str:
    return f"The output of the user-provided function is independent of input {i}. {_NOT_STRICT}."


def _jacobian_constant(i: int) -> str:
    return (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to "
        f"input {i} is independent of the input. {_NOT_STRICT}. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
        "function for example)."
    )


# ------------------------------------------------------------------------------------------------------ products


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`func(inputs)`, and `v` times its Jacobian."""
    with enable_grad():
        is_tuple, xs = _as_tuple(inputs, "inputs", "vjp")
        xs = _prepared(xs, create_graph, True)
        outs_tuple, outs = _as_tuple(func(*xs), "outputs of the user-provided function", "vjp")
        _check_outputs(outs, strict)
        vs = _vector(v, outs, outs_tuple, "vjp") if v is not None else None
        if vs is None:
            _ones_for(outs, "the user-provided function returns")
    with swapped(grad=create_graph or here().grad):
        found = _filled(_gradients(outs, xs, vs, create_graph), xs, strict, create_graph, _output_unused, "jacobian")
    return (
        _unpacked(_finished(outs, create_graph), outs_tuple),
        _unpacked(_finished(found, create_graph), is_tuple),
    )


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`func(inputs)`, and its Jacobian times `v`, by two pulls: a pull is linear in its cotangent, and is
    pulled through."""
    with enable_grad():
        is_tuple, xs = _as_tuple(inputs, "inputs", "jvp")
        xs = _prepared(xs, create_graph, True)
        vs = _ones_for(xs, _INPUT) if v is None else _vector(v, xs, is_tuple, "jvp")
        outs_tuple, outs = _as_tuple(func(*xs), "outputs of the user-provided function", "jvp")
        _check_outputs(outs, strict)
        dummies = tuple(call("zeros_like", o).requires_grad_() for o in outs)
        pulled = _gradients(outs, xs, dummies, create_graph=True)
        _check_first(pulled, strict, lambda i: (
            f"The gradient with respect to input {i} is independent of the inputs of the user-provided "
            f"function. {_NOT_STRICT}."
        ))  # fmt: skip
    with swapped(grad=create_graph or here().grad):
        pushed = _gradients(pulled, dummies, vs, create_graph)
        found = _filled(pushed, outs, strict, create_graph, lambda i: (
            f"The gradient with respect to the input is independent of entry {i} in the grad_outputs when "
            f"using the double backward trick to compute forward mode gradients. {_NOT_STRICT}."
        ), "jacobian")  # fmt: skip
    return (
        _unpacked(_finished(outs, create_graph), outs_tuple),
        _unpacked(_finished(found, create_graph), outs_tuple),
    )


def _scalar(func: Func, xs: Tensors, fn_name: str, strict: bool) -> tuple[Tensors, Tensors]:
    """The one number that `func` gives, and its gradient with history."""
    outs_tuple, outs = _as_tuple(func(*xs), "outputs of the user-provided function", fn_name)
    _check_outputs(outs, strict)
    if outs_tuple or not isinstance(outs[0], Tensor):
        raise RuntimeError(f"The function given to {fn_name} should return a single Tensor")
    if outs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {fn_name} should contain a single element")
    slopes = _gradients(outs, xs, None, create_graph=True)
    _check_first(slopes, strict, _jacobian_constant)
    return outs, slopes


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`func(inputs)`, a single number, and `v` times its Hessian."""
    with enable_grad():
        is_tuple, xs = _as_tuple(inputs, "inputs", "vhp")
        xs = _prepared(xs, create_graph, True)
        vs = _ones_for(xs, _INPUT) if v is None else _vector(v, xs, is_tuple, "vhp")
        outs, slopes = _scalar(func, xs, "vhp", strict)
    with swapped(grad=create_graph or here().grad):
        found = _filled(_gradients(slopes, xs, vs, create_graph), xs, strict, create_graph, lambda i: (
            f"The jacobian of the user-provided function is independent of input {i}. {_NOT_STRICT}."
        ), "hessian")  # fmt: skip
    return _finished(outs[0], create_graph), _unpacked(_finished(found, create_graph), is_tuple)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """`func(inputs)`, a single number, and its Hessian times `v`: three pulls; `vhp` needs two and gives the
    same."""
    with enable_grad():
        is_tuple, xs = _as_tuple(inputs, "inputs", "hvp")
        xs = _prepared(xs, create_graph, True)
        vs = _ones_for(xs, _INPUT) if v is None else _vector(v, xs, is_tuple, "hvp")
        outs, slopes = _scalar(func, xs, "hvp", strict)
        dummies = tuple(call("zeros_like", x).requires_grad_() for x in xs)
        pulled = _gradients(slopes, xs, dummies, create_graph=True)
        _check_first(pulled, strict, lambda i: (
            f"The hessian of the user-provided function with respect to input {i} is independent of the "
            f"input. {_NOT_STRICT}. You should ensure that your function is thrice differentiable and that "
            "the hessian depends on the inputs."
        ))  # fmt: skip
    with swapped(grad=create_graph or here().grad):
        pushed = _gradients(pulled, dummies, vs, create_graph)
        found = _filled(pushed, xs, strict, create_graph, lambda i: (
            f"The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. "
            f"{_NOT_STRICT} as it prevents from using the double backward trick to replace forward mode AD."
        ), "hessian")  # fmt: skip
    return _finished(outs[0], create_graph), _unpacked(_finished(found, create_graph), is_tuple)


# ------------------------------------------------------------------------------------------------ whole matrices


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: Any) -> Tensors:
    """For each tensor its part of the unit vectors of all tensors together: (total, number of its
    elements)."""
    parts, start, total = [], 0, sum(tensor_numels)
    for t, n in zip(tensors, tensor_numels):
        part = t.new_zeros((total, n))
        part[start : start + n].fill_diagonal_(1)
        parts.append(part)
        start += n
    return tuple(parts)


def _units(tensors: Tensors) -> list[Any]:
    """The unit vectors in the tensors' shapes: (total, *shape)."""
    parts = _construct_standard_basis_for(tensors, [t.numel() for t in tensors])
    return [p.view(len(p), *t.shape) for p, t in zip(parts, tensors)]


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The matrix of all derivatives: result[i][j] has the shape of output i followed by that of input j."""
    assert strategy in ("forward-mode", "reverse-mode"), _STRATEGY
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
                f"supported together (yet). {_OTHER_MODE}"
            )
        return _pushed_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        is_tuple, xs = _as_tuple(inputs, "inputs", "jacobian")
        xs = _prepared(xs, create_graph, True)
        outs_tuple, outs = _as_tuple(func(*xs), "outputs of the user-provided function", "jacobian")
        _check_outputs(outs, strict)
        if vectorize:
            rows = _rows_at_once(outs, xs, create_graph, strict)
        else:
            rows = tuple(_rows(i, out, xs, create_graph, strict) for i, out in enumerate(outs))
        return _matrix_unpacked(_finished(rows, create_graph), outs_tuple, is_tuple)


def _rows(i: int, out: Any, xs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """Row after row: one pull per element of the output."""
    found: list[list[Any]] = [[] for _ in xs]
    flat = out.reshape(-1)
    for j in range(out.numel()):
        row = _gradients((flat[j],), xs, None, create_graph, keep=True)
        for at, (g, x) in enumerate(zip(row, xs)):
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. {_NOT_STRICT} "
                    "when create_graph=True."
                )
            if g is None and strict:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {at}. {_NOT_STRICT}."
                )
            found[at].append(call("zeros_like", x) if g is None else g)
    return tuple(call("stack", gs, dim=0).view((*out.shape, *x.shape)) for gs, x in zip(found, xs))


def _rows_at_once(outs: Tensors, xs: Tensors, create_graph: bool, strict: bool) -> tuple[Tensors, ...]:
    """All rows by one pull, with a batch of unit vectors as cotangents."""
    if strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
            "together. Please either set `strict=False` or `vectorize=False`."
        )
    live = [o for o in outs if o.requires_grad]
    total = sum(o.numel() for o in outs)
    found: Tensors = (None,) * len(xs)
    if live:
        units = tuple(u for u, o in zip(_units(outs), outs) if o.requires_grad)
        found = api.grad(
            live, xs, units, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )
    wide = [x.new_zeros((total, *x.shape)) if g is None else g for g, x in zip(found, xs)]
    rows, start = [], 0
    for o in outs:
        n = o.numel()
        rows.append(tuple(w[start : start + n].view((*o.shape, *x.shape)) for w, x in zip(wide, xs)))
        start += n
    return tuple(rows)


def _pushed_jacobian(func: Func, inputs: Any, strict: bool, vectorize: bool) -> Any:
    """All columns by one push, with a batch of unit vectors as tangents."""
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    is_tuple, xs = _as_tuple(inputs, "inputs", "jacobian")
    shapes: list[Any] = []
    was_tuple = [False]

    def column(*tangents: Any) -> Tensors:
        with forward_ad.dual_level():
            duals = tuple(forward_ad.make_dual(x, t.view_as(x)) for x, t in zip(xs, tangents))
            was_tuple[0], outs = _as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
            primals, pushed = zip(*(forward_ad.unpack_dual(o) for o in outs))
        shapes[:] = primals
        return tuple(call("zeros_like", p) if t is None else t for p, t in zip(primals, pushed))

    wide = api.BATCHED[0](column, _units(xs))
    rows = tuple(_columns(w, out, xs) for w, out in zip(wide, shapes))
    return _matrix_unpacked(rows, was_tuple[0], is_tuple)


def _columns(wide: Any, out: Any, xs: Tensors) -> Tensors:
    """(all inputs' elements, *output) as one (*output, *input) per input."""
    found, start = [], 0
    for x in xs:
        n = x.numel()
        found.append(wide[start : start + n].movedim(0, -1).reshape((*out.shape, *x.shape)))
        start += n
    return tuple(found)


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a single number: result[i][j] has the shape of input i followed by that of
    input j."""
    is_tuple, xs = _as_tuple(inputs, "inputs", "hessian")
    assert outer_jacobian_strategy in ("forward-mode", "reverse-mode"), (
        'Expected strategy to be either "forward-mode" or "reverse-mode".'
    )
    forward = outer_jacobian_strategy == "forward-mode"

    def number(*args: Any) -> Any:
        outs_tuple, outs = _as_tuple(func(*args), "outputs of the user-provided function", "hessian")
        _check_outputs(outs, strict)
        if outs_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if outs[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return outs[0].reshape(())

    def slope(*args: Any) -> Any:
        args = _prepared(tuple(map(_leaf, args)), True, True) if forward else args
        rows = jacobian(number, args, create_graph=True)
        _check_first(rows, strict, _jacobian_constant)
        return rows

    found = jacobian(
        slope, xs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return _matrix_unpacked(found, is_tuple, is_tuple)
