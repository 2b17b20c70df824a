"""The laws of an op, as functions over one application of it. They name no op.

    for case in contract.cases(my_op.op):
        contract.check(case)

A `Case` is one row of an op's samples, drawn three times, so that a batch of it can be made. A law raises
`AssertionError` where it does not hold and returns quietly where it has nothing to say. A derivative is
checked by contraction with random directions: for a map J and its transpose, `<g, J t> = <J^T g, t>` holds for
a wrong J by accident only.

Gradients of complex tensors follow PyTorch: for a real L, the gradient is dL/d(real) + 1j dL/d(imag), so that
the change of L along t is the real part of `conj(gradient) * t`. `inner` is that product.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.autograd import api, forward
from chainrule.autograd.node import Freed, node_of
from chainrule.autograd.versions import version_of
from chainrule.backends import meta
from chainrule.backends.pending import resolved
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import swapped
from chainrule.core.op import Op
from chainrule.core.tensor import LEAF, Extra, Tensor, fresh
from chainrule.func import jvp, vjp, vmap
from chainrule.func.interpreters import Trace

__all__ = ["LAWS", "Case", "cases", "check", "complex_case"]

Arrays = tuple[Any, ...]
BATCH = 3
STEP = 1e-6


class Case:
    """One application of an op: `rows` are its inputs, drawn several times; `params` are shared by all.

    `keeping` brings arrays into the set where the op has its slope, if that is not everywhere: see `samples`.
    """

    __slots__ = ("keeping", "label", "op", "params", "rows")

    def __init__(self, op: Op, rows: Sequence[Arrays], params: dict[str, Any], label: str) -> None:
        self.op, self.rows, self.params, self.label = op, tuple(rows), params, label
        self.keeping: Callable[[Any], Any] | None = getattr(op.samples, "keeping", None)

    @property
    def inputs(self) -> Arrays:
        """The inputs of the first draw."""
        return self.rows[0]

    @property
    def arrays(self) -> tuple[int, ...]:
        """Positions of the inputs that are arrays."""
        return tuple(i for i, x in enumerate(self.inputs) if isinstance(x, np.ndarray))

    @property
    def smooth(self) -> tuple[int, ...]:
        """Positions of the inputs that have gradients."""
        op = self.op
        ruled = range(len(self.inputs)) if op.variadic and op.pulls else [
            i for i, n in enumerate(op.inputs) if n in op.pulls and not op.pulls[n].refuses
        ]  # fmt: skip
        return tuple(i for i in ruled if i in self.arrays and self.inputs[i].dtype.kind in "fcV")

    def direction(self, i: int, seed: int) -> Any:
        """A random direction in which input `i` may move."""
        (t,) = directions([self.inputs[i]], seed)
        return t if self.keeping is None else self.keeping(t)

    def over(self, change: Callable[[Any], Any], label: str) -> Case:
        """The case with every input array changed."""
        rows = [tuple(change(x) if isinstance(x, np.ndarray) else x for x in row) for row in self.rows]
        return Case(self.op, rows, self.params, f"{self.label} {label}")

    def __repr__(self) -> str:
        return f"<{self.label}>"


def cases(op: Op, seed: int = 0) -> Iterator[Case]:
    """The rows of an op's samples, each drawn `BATCH` times."""
    if op.samples is None:
        return
    for draws in zip(*(op.samples(np.random.default_rng(seed + i)) for i in range(BATCH))):
        rows = [tuple(_array(x) for x in inputs) for inputs, _ in draws]
        shapes = ", ".join(str(list(x.shape)) if isinstance(x, np.ndarray) else repr(x) for x in rows[0])
        params = draws[0][1]
        named = "".join(f", {k}={v!r}" for k, v in params.items())
        yield Case(op, rows, params, f"{op.name}({shapes}{named})")


def _array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, np.generic) else x


def complex_case(case: Case) -> Case | None:
    """The case at complex inputs, made of two real draws; None if the op takes none, or records none."""
    if not case.smooth or any(case.inputs[i].dtype.kind == "c" for i in case.smooth):
        return None
    rows = []
    for here, there in zip(case.rows, (*case.rows[1:], case.rows[0])):
        keep = case.keeping or np.asarray
        both = zip(here, there)
        rows.append(tuple(keep(x + 1j * y) if i in case.smooth else x for i, (x, y) in enumerate(both)))
    made = Case(case.op, rows, case.params, f"{case.label} complex")
    try:
        with swapped(grad=True):
            run(made, tensors(made.inputs, made.smooth))
    except (TypeError, RuntimeError, NotImplementedError, ValueError):
        return None
    return made


# ------------------------------------------------------------------------------------------ how laws compute


def tensors(values: Sequence[Any], leaves: Sequence[int] = ()) -> list[Any]:
    """Tensors over copies of the arrays, those at `leaves` wanting gradients; other values as they are."""
    made = [fresh(x.copy()) if isinstance(x, np.ndarray) else x for x in values]
    for i in leaves:
        made[i].edge, made[i].extra = LEAF, Extra()
    return made


def run(case: Case, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    """The op on tensors; always a tuple of outputs."""
    result = case.op.call(tuple(inputs), case.params)
    return (result,) if isinstance(result, Tensor) else tuple(result)


def flowing(case: Case, outs: Sequence[Any]) -> list[Any]:
    """The outputs that carry gradients."""
    op = case.op
    chosen = list(outs) if op.outs == "many" else [outs[i] for i in op.differentiable]
    return [t for t in chosen if t.dtype.is_floating_point or t.dtype.is_complex]


def values(case: Case, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The flowing outputs at these arrays, as arrays."""
    with swapped(grad=False):
        return [elements(t) for t in flowing(case, run(case, tensors(inputs)))]


def directions(like: Sequence[Any], seed: int) -> list[Any]:
    """A random array per array, complex where it is."""
    rng = np.random.default_rng(seed)
    return [_direction(rng, x) if isinstance(x, np.ndarray) else None for x in like]


def _direction(rng: np.random.Generator, x: Any) -> Any:
    t = rng.normal(size=x.shape)
    return np.asarray(t + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else t, dtype=x.dtype)


def pulled(case: Case, inputs: Sequence[Any], gs: Sequence[Any], leaves: Sequence[int]) -> list[Any]:
    """The gradients at `leaves` for cotangents of the flowing outputs: arrays, zeros where none arrives."""
    at = tensors(inputs, leaves)
    outs = flowing(case, run(case, at))
    found = _grad(outs, [at[i] for i in leaves], [fresh(g.copy()) for g in gs])
    return [np.zeros_like(inputs[i]) if g is None else elements(g) for i, g in zip(leaves, found)]


def _grad(outs: Sequence[Any], leaves: Sequence[Any], gs: Sequence[Any], create_graph: bool = False) -> tuple[Any, ...]:
    pairs = [(o, g) for o, g in zip(outs, gs) if o.requires_grad]
    if not pairs:
        return (None,) * len(leaves)
    found: tuple[Any, ...] = api.grad(
        [o for o, _ in pairs], leaves, [g for _, g in pairs], create_graph=create_graph, allow_unused=True
    )
    return found


def pushed(case: Case, inputs: Sequence[Any], ts: dict[int, Any]) -> list[Any]:
    """Forward mode: the tangents of the flowing outputs for tangents `ts` of inputs, as arrays."""
    at = tensors(inputs)
    for i, t in ts.items():
        forward.set_tangent(at[i], fresh(t.copy()), 0)
    with swapped(dual=0):
        outs = flowing(case, run(case, at))
    found = [forward.tangent_of(o) for o in outs]
    return [np.zeros(tuple(o.shape), o.dtype.numpy) if t is None else elements(t) for o, t in zip(outs, found)]


def moved(inputs: Sequence[Any], ts: dict[int, Any], step: float) -> list[Any]:
    """The inputs, a step along the tangents away."""
    return [np.asarray(x + step * ts[i]) if i in ts else x for i, x in enumerate(inputs)]


def differences(f: Callable[[Sequence[Any]], list[Any]], inputs: Sequence[Any], ts: dict[int, Any]) -> list[Any]:
    """Central differences of `f` along the tangents."""
    above, below = f(moved(inputs, ts, STEP)), f(moved(inputs, ts, -STEP))
    return [np.asarray((a - b) / (2 * STEP)) for a, b in zip(above, below)]


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(xs, ys) if x is not None and y is not None))


def size_of(xs: Sequence[Any]) -> float:
    """The norm of a list of arrays."""
    return float(np.sqrt(sum(np.sum(np.abs(np.asarray(x, np.complex128)) ** 2) for x in xs if x is not None)))


def same(got: Sequence[Any], want: Sequence[Any], rtol: float, what: str) -> None:
    """Lists of arrays agree: shapes exactly, values to `rtol` of their size."""
    assert len(got) == len(want), f"{what}: {len(got)} results, not {len(want)}"
    for at, (a, b) in enumerate(zip(got, want)):
        assert a.shape == b.shape, f"{what}: result {at} has shape {a.shape}, not {b.shape}"
        a, b = _wide(a), _wide(b)
        scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        close = np.isclose(a, b, rtol=rtol, atol=rtol * scale + rtol * 1e-2, equal_nan=True)
        assert np.all(close), f"{what}: result {at} is\n{a}\nnot\n{b}"


def elements(t: Any) -> Any:
    """The elements of a tensor as they are meant."""
    return np.array(resolved(t.raw))


def _wide(x: Any) -> Any:
    return np.asarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)


def agree(got: float, want: float, scale: float, rtol: float, what: str) -> None:
    """Two contractions agree, to `rtol` of the norms that went into them."""
    assert abs(got - want) <= rtol * scale + rtol * 1e-2, f"{what}: {got!r}, not {want!r} (scale {scale:.3g})"


# -------------------------------------------------------------------------------------------------- the laws


def stands_still(case: Case) -> None:
    """A second run gives the same bits, in arrays."""
    with swapped(grad=False):
        first, second = run(case, tensors(case.inputs)), run(case, tensors(case.inputs))
    for a, b in zip(first, second):
        assert isinstance(a.raw, np.ndarray), f"an output is a {type(a.raw).__name__}, no array"
        assert a.raw.tobytes() == b.raw.tobytes(), "two runs differ"


def inference_is_the_run(case: Case) -> None:
    """Shapes and dtypes, computed without elements, are those of a run; or the op says that it needs them."""
    hollow = [fresh(meta.like(x)) if isinstance(x, np.ndarray) else x for x in case.inputs]
    with swapped(grad=False):
        ran = run(case, tensors(case.inputs))
        try:
            inferred = run(case, hollow)
        except NotImplementedError:
            return
    for a, b in zip(inferred, ran):
        assert meta.is_meta(a.raw), "the result of an inference has elements"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"inferred {a.shape} {a.dtype}, ran {b.shape} {b.dtype}"


def reverse_is_the_slope(case: Case) -> None:
    """Reverse mode, one input at a time, against central differences."""
    outs = values(case, case.inputs)
    gs = directions(outs, 1)
    for i in case.smooth:
        t = case.direction(i, 2 + i)
        (got,) = pulled(case, case.inputs, gs, [i])
        want = differences(lambda xs: values(case, xs), case.inputs, {i: t})
        assert got.shape == t.shape and got.dtype == t.dtype, f"gradient {i} is {got.shape} {got.dtype}"
        agree(inner([got], [t]), inner(gs, want), size_of(gs) * size_of(want), 1e-5, f"slope of input {i}")


def forward_is_the_slope(case: Case) -> None:
    """Forward mode, along all inputs at once, against central differences."""
    if case.smooth:
        ts = {i: case.direction(i, 2 + i) for i in case.smooth}
        got = pushed(case, case.inputs, ts)
        same(got, differences(lambda xs: values(case, xs), case.inputs, ts), 1e-5, "tangent")


def reverse_transposes_forward(case: Case) -> None:
    """`<g, J t> = <J^T g, t>`, to the last digits, each input alone and all together."""
    gs = directions(values(case, case.inputs), 1)
    for chosen in ([i] for i in case.smooth) if len(case.smooth) < 2 else [*([i] for i in case.smooth), case.smooth]:
        ts = {i: case.direction(i, 2 + i) for i in chosen}
        back, there = pulled(case, case.inputs, gs, chosen), pushed(case, case.inputs, ts)
        scale = size_of(gs) * size_of(there)
        agree(inner(back, list(ts.values())), inner(gs, there), scale, 1e-10, f"transpose at {list(chosen)}")


def reverse_differentiates_again(case: Case) -> None:
    """Reverse over reverse: the gradient of `<J^T g, t>`, in inputs and in g, against central differences."""
    smooth = case.smooth
    if not smooth:
        return
    outs = values(case, case.inputs)
    gs, ts = directions(outs, 1), [case.direction(i, 2 + i) for i in smooth]
    got_x, got_g = _second(case, gs, ts)
    us = {i: case.direction(i, 20 + i) for i in smooth}
    slopes = differences(lambda xs: pulled(case, xs, gs, smooth), case.inputs, us)
    agree(
        inner(got_x, list(us.values())),
        inner(ts, slopes),
        size_of(ts) * size_of(slopes),
        1e-5,
        "second order",
    )
    along = differences(lambda xs: values(case, xs), case.inputs, dict(zip(smooth, ts)))
    same(got_g, along, 1e-5, "gradient in the cotangent")


def _second(case: Case, gs: list[Any], ts: list[Any]) -> tuple[list[Any], list[Any]]:
    at, smooth = tensors(case.inputs, case.smooth), case.smooth
    cotangents = tensors(gs, range(len(gs)))
    outs = flowing(case, run(case, at))
    leaves = [at[i] for i in smooth]
    first = _grad(outs, leaves, cotangents, create_graph=True)
    pairs = [(p, fresh(t.copy())) for p, t in zip(first, ts) if p is not None]
    found = _grad([p for p, _ in pairs], [*leaves, *cotangents], [t for _, t in pairs])
    arrays = [np.zeros_like(x.raw) if g is None else elements(g) for x, g in zip([*leaves, *cotangents], found)]
    return arrays[: len(smooth)], arrays[len(smooth) :]


def forward_differentiates_reverse(case: Case) -> None:
    """Forward over reverse, by transforms and by dual numbers, against central differences of gradients."""
    smooth = case.smooth
    if not smooth:
        return
    gs = directions(values(case, case.inputs), 1)
    us = {i: case.direction(i, 20 + i) for i in smooth}
    want = differences(lambda xs: pulled(case, xs, gs, smooth), case.inputs, us)
    same(_by_transforms(case, gs, us), want, 1e-5, "jvp of vjp")
    same(_by_duals(case, gs, us), want, 1e-5, "dual numbers through backward")


def _of_smooth(case: Case, row: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """The flowing outputs as a function of the smooth inputs alone."""

    def f(*xs: Any) -> tuple[Any, ...]:
        at = list(row)
        for i, x in zip(case.smooth, xs):
            at[i] = x
        return tuple(flowing(case, run(case, at)))

    return f


def _by_transforms(case: Case, gs: list[Any], us: dict[int, Any]) -> list[Any]:
    at, cotangents = tensors(case.inputs), tuple(fresh(g.copy()) for g in gs)
    f = _of_smooth(case, at)

    def gradients(*xs: Any) -> Any:
        return vjp(f, *xs)[1](cotangents)

    _, found = jvp(gradients, tuple(at[i] for i in case.smooth), tuple(fresh(us[i]) for i in case.smooth))
    return [elements(t) for t in found]


def _by_duals(case: Case, gs: list[Any], us: dict[int, Any]) -> list[Any]:
    at = tensors(case.inputs, case.smooth)
    for i, u in us.items():
        forward.set_tangent(at[i], fresh(u.copy()), 0)
    with swapped(dual=0):
        found = _grad(
            flowing(case, run(case, at)),
            [at[i] for i in case.smooth],
            [fresh(g) for g in gs],
            create_graph=True,
        )
    ts = [None if g is None else forward.tangent_of(g) for g in found]
    return [np.zeros_like(case.inputs[i]) if t is None else elements(t) for i, t in zip(case.smooth, ts)]


def vmap_is_a_loop(case: Case) -> None:
    """Over a batch of all arrays, and of every subset of them."""
    for chosen in _subsets(case.arrays):
        rows = [tuple(x if i in chosen else case.inputs[i] for i, x in enumerate(row)) for row in case.rows]
        with swapped(grad=False):
            want = [run(case, tensors(row)) for row in rows]
            got = _mapped(case, lambda xs: run(case, xs), case.inputs, rows, chosen)
        if got is None:
            return
        _compare_batch(got, want, f"vmap over inputs {list(chosen)}")


def _subsets(arrays: tuple[int, ...]) -> list[tuple[int, ...]]:
    if len(arrays) > 4:
        return [arrays, arrays[:1], arrays[1:]]
    chosen = [tuple(i for at, i in enumerate(arrays) if mask >> at & 1) for mask in range(1, 2 ** len(arrays))]
    return chosen[::-1]


def _mapped(case: Case, f: Callable[..., Any], shared: Arrays, rows: Sequence[Arrays], chosen: Sequence[int]) -> Any:
    at = tensors(shared)
    stacked = [fresh(np.stack([row[i] for row in rows])) for i in chosen]

    def one(*xs: Any) -> Any:
        full = list(at)
        for i, x in zip(chosen, xs):
            full[i] = x
        return f(full)

    return _unless_dynamic(lambda: vmap(one)(*stacked))


def _unless_dynamic(fn: Callable[[], Any]) -> Any:
    """A result; None if its shape depends on elements, which examples do not share."""
    try:
        return fn()
    except RuntimeError as error:
        if "dynamic shape" in str(error):
            return None
        raise


def _compare_batch(got: Sequence[Any], want: Sequence[Sequence[Any]], what: str) -> None:
    assert len(got) == len(want[0]), f"{what}: {len(got)} results, not {len(want[0])}"
    for k, column in enumerate(zip(*want)):
        assert got[k].dtype is column[0].dtype, f"{what}: result {k} is {got[k].dtype}, not {column[0].dtype}"
        same([elements(got[k])], [np.stack([t.raw for t in column])], 1e-9, what)


def vmap_of_gradients_is_a_loop(case: Case) -> None:
    """Per-example gradients: vmap over vjp, with all inputs batched and with one shared, against a loop."""
    if not case.smooth:
        return
    gs = directions(values(case, case.inputs), 1)
    for chosen in {case.arrays, case.arrays[:1], case.arrays[1:]} - {()}:
        rows = [tuple(x if i in chosen else case.inputs[i] for i, x in enumerate(row)) for row in case.rows]

        def gradients(xs: Sequence[Any]) -> Any:
            found = vjp(_of_smooth(case, xs), *(xs[i] for i in case.smooth))[1](tuple(fresh(g) for g in gs))
            return found if isinstance(found, tuple) else (found,)

        want = [[fresh(g) for g in pulled(case, row, gs, case.smooth)] for row in rows]
        got = _mapped(case, gradients, case.inputs, rows, chosen)
        if got is not None:
            _compare_batch(got, want, f"vmap({list(chosen)}) of vjp")


def forward_mode_of_vmap_is_a_loop(case: Case) -> None:
    """jvp over vmap, all inputs batched, against a loop of forward mode."""
    chosen = case.smooth
    if not chosen:
        return
    rows = [tuple(x if i in chosen else case.inputs[i] for i, x in enumerate(row)) for row in case.rows]
    ts = [{i: directions([row[i]], 30 + 7 * k + i)[0] for i in chosen} for k, row in enumerate(rows)]
    want = [[fresh(t) for t in pushed(case, row, t)] for row, t in zip(rows, ts)]
    f = vmap(_of_smooth(case, tensors(case.inputs)))
    xs = tuple(fresh(np.stack([row[i] for row in rows])) for i in chosen)
    found = _unless_dynamic(lambda: jvp(f, xs, tuple(fresh(np.stack([t[i] for t in ts])) for i in chosen)))
    if found is not None:
        _compare_batch(found[1], want, "jvp of vmap")


def trace_replays(case: Case) -> None:
    """A recorded call, replayed on other inputs, gives what calling gives."""
    arrays = case.arrays
    at, other = tensors(case.inputs), tensors(case.rows[1])
    trace = Trace()
    with swapped(grad=False):
        with trace.entered():
            outs = run(case, at)
        got = trace.replay(tuple(at[i] for i in arrays), tuple(other[i] for i in arrays), outs)
        want = run(case, other)
    for a, b in zip(got, want):
        assert a.raw.tobytes() == b.raw.tobytes(), "the replay differs"


def inplace_is_out_of_place(case: Case) -> None:
    """The in-place form: same values and gradients, one version more; or a refusal that changes nothing."""
    form, params = case.op.inplace, {**case.op.defaults, **case.params}
    if form is None or not isinstance(case.inputs[0], np.ndarray):
        return
    with swapped(grad=False):
        (want,) = run(case, tensors(case.inputs))
        at = tensors(case.inputs)
        target = at[0]
        if not _can_hold(target, want):
            _refuses(form, at, case, params)
            return
        assert form.call(tuple(at), params) is target, "the in-place form returns another tensor"
    assert version_of(target) == 1, f"the version is {version_of(target)}"
    assert target.raw.tobytes() == want.raw.astype(target.raw.dtype).tobytes(), "the values differ"
    _same_gradients(case, form, want, params)


def _can_hold(target: Any, want: Any) -> bool:
    return tuple(target.shape) == tuple(want.shape) and dtypes.can_cast(want.dtype, target.dtype)


def _refuses(form: Any, at: list[Any], case: Case, params: dict[str, Any]) -> None:
    try:
        form.call(tuple(at), params)
    except (RuntimeError, TypeError):
        assert at[0].raw.tobytes() == case.inputs[0].tobytes() and version_of(at[0]) == 0, (
            "the refusal changed the target"
        )
    else:
        raise AssertionError("the in-place form wrote a result that does not fit")


def _same_gradients(case: Case, form: Any, want: Any, params: dict[str, Any]) -> None:
    if not case.smooth or not flowing(case, [want]) or case.op.in_place_slope:
        return
    gs = directions([want.raw], 1)
    at = tensors(case.inputs, case.smooth)
    changed = [at[0].clone(), *at[1:]]
    result = form.call(tuple(changed), params)
    found = _grad([result], [at[i] for i in case.smooth], [fresh(g) for g in gs])
    got = [np.zeros_like(at[i].raw) if g is None else elements(g) for i, g in zip(case.smooth, found)]
    same(got, pulled(case, case.inputs, gs, case.smooth), 1e-12, "gradient of the in-place form")


def out_is_the_result(case: Case) -> None:
    """`out=` is filled with the result and returned."""
    op = case.op
    if op.family.is_view or op.family.shares or not any(place in op.spelled for place in "fnls") or op.outs == "many":
        return
    if "out" in op.paired and "dim" not in case.params:
        return  # PyTorch's overload without axes has no `out`
    with swapped(grad=False):
        want = run(case, tensors(case.inputs))
        outs = [fresh(np.zeros_like(t.raw)) for t in want]
        given: Any = outs[0] if op.outs is None else tuple(outs)
        got = _public(case, tensors(case.inputs), out=given)
    got = (got,) if isinstance(got, Tensor) else tuple(got)
    for a, o, w in zip(got, outs, want):
        assert a is o, "what was returned is not what was given as out"
        assert o.raw.tobytes() == w.raw.tobytes(), "out holds other values"


def _public(case: Case, inputs: list[Any], **more: Any) -> Any:
    op = case.op
    if op.variadic:
        return op.fn.public(inputs, **case.params, **more)
    return op.fn.public(**dict(zip(op.inputs, inputs)), **case.params, **more)


def layout_is_invisible(case: Case) -> None:
    """Values and gradients do not depend on strides: inputs transposed, spread out, misaligned; views may refuse."""
    base = _observed(case, case.inputs)
    for change in (_transposed, _spread, _offset):
        row = [change(x) if isinstance(x, np.ndarray) else x for x in case.inputs]
        try:
            got = _observed(case, row)
        except RuntimeError:
            if case.op.family.is_view or case.op.family.shares:
                continue
            raise
        same(got, base, 1e-9, f"inputs {change.__name__[1:]}")


def _observed(case: Case, row: Sequence[Any]) -> list[Any]:
    at = [fresh(x) if isinstance(x, np.ndarray) else x for x in row]
    for i in case.smooth:
        at[i].edge, at[i].extra = LEAF, Extra()
    outs = run(case, at)
    flow = flowing(case, outs)
    gs = directions([elements(t) for t in flow], 1)
    found = _grad(flow, [at[i] for i in case.smooth], [fresh(g) for g in gs]) if case.smooth else ()
    grads = [np.zeros_like(at[i].raw) if g is None else elements(g) for i, g in zip(case.smooth, found)]
    return [*(elements(t) for t in outs), *grads]


def _transposed(x: Any) -> Any:
    return np.array(x, order="F")


def _spread(x: Any) -> Any:
    room = np.full(tuple(2 * n for n in x.shape), 0, x.dtype)
    window = room[(slice(None, None, 2),) * x.ndim] if x.ndim else room
    window[...] = x
    return window


def _offset(x: Any) -> Any:
    room = np.zeros(x.size + 1, x.dtype)
    room[1:] = x.reshape(-1)
    return room[1:].reshape(x.shape)


def nothing_is_changed(case: Case) -> None:
    """Neither the forward nor a rule writes into inputs, cotangents or outputs."""
    at = tensors(case.inputs, case.smooth)
    outs = run(case, at)
    flow = flowing(case, outs)
    gs = [fresh(g) for g in directions([elements(t) for t in flow], 1)]
    held = [t for t in (*at, *outs, *gs) if isinstance(t, Tensor)]
    before = [t.raw.tobytes() for t in held]
    if case.smooth:
        for create_graph in (False, True):
            leaves = [at[i] for i in case.smooth]
            _grad_kept(flow, leaves, gs, create_graph)
    assert [t.raw.tobytes() for t in held] == before, "an argument was changed"
    for i in case.arrays:
        assert at[i].raw.tobytes() == case.inputs[i].tobytes(), f"the forward changed input {i}"


def _grad_kept(outs: Sequence[Any], leaves: Sequence[Any], gs: Sequence[Any], create_graph: bool) -> None:
    pairs = [(o, g) for o, g in zip(outs, gs) if o.requires_grad]
    if pairs:
        ends, arrived = zip(*pairs)
        api.grad(ends, leaves, arrived, retain_graph=True, create_graph=create_graph, allow_unused=True)


_NARROW = {dtypes.float32: 2e-4, dtypes.float16: 4e-2, dtypes.bfloat16: 2e-1}


def gradients_keep_dtype(case: Case) -> None:
    """In narrow dtypes gradients have the shape and dtype of the inputs and about the right values."""
    if not case.smooth or any(case.inputs[i].dtype.kind == "c" for i in case.smooth):
        return
    for dtype, rtol in _NARROW.items():
        narrow = [x.astype(dtype.numpy) if i in case.smooth else x for i, x in enumerate(case.inputs)]
        at = tensors(narrow, case.smooth)
        try:
            flow = flowing(case, run(case, at))
        except (RuntimeError, TypeError, NotImplementedError):
            continue
        gs = directions([np.zeros(tuple(t.shape), np.float64) for t in flow], 1)
        found = _grad(
            flow,
            [at[i] for i in case.smooth],
            [fresh(np.asarray(g, t.dtype.numpy)) for g, t in zip(gs, flow)],
        )
        if any(t.dtype.is_complex for t in flow):
            continue
        rounded = [x.astype(np.float64) if i in case.smooth else x for i, x in enumerate(narrow)]
        want = pulled(case, rounded, gs, case.smooth)
        for i, g, w in zip(case.smooth, found, want):
            if g is not None:
                assert g.dtype is dtype and tuple(g.shape) == at[i].raw.shape, (
                    f"{dtype} gradient {i}: {g.dtype} {g.shape}"
                )
                assert size_of([_wide(g.raw) - w]) <= rtol * (size_of([w]) + 1), (
                    f"{dtype} gradient {i}: {g.raw}, not {w}"
                )


def graph_is_released(case: Case) -> None:
    """After backward nothing is kept, and nothing but reference counts is needed to free it."""
    if not case.smooth:
        return
    was = gc.isenabled()
    gc.disable()
    try:
        _release(case)
    finally:
        if was:
            gc.enable()


def _release(case: Case) -> None:
    at = tensors(case.inputs, case.smooth)
    outs = flowing(case, run(case, at))
    nodes = {node_of(o.edge) for o in outs if o.edge is not None}
    gs = [fresh(g) for g in directions([elements(t) for t in outs], 1)]
    _grad(outs, [at[i] for i in case.smooth], gs)
    for node in nodes:
        assert not (node.frees and node.saved) or node.saved.__class__ is Freed, f"{node} keeps {node.saved}"
    alive = [weakref.ref(x) for x in (*nodes, *outs)]
    del nodes, outs, gs
    node = None
    assert not [r for r in alive if r() is not None], "a reference cycle keeps the graph alive"


def empty_and_scalar_inputs_work(case: Case) -> None:
    """An elementwise op takes tensors of every shape: without dimensions, without elements."""
    if not case.op.family.diagonal or len({x.shape for x in case.inputs if isinstance(x, np.ndarray)}) != 1:
        return
    for shape in ((), (0,), (2, 0, 3)):
        small = case.over(functools.partial(np.resize, new_shape=shape), f"at {shape}")
        for out in run(small, tensors(small.inputs)):
            assert tuple(out.shape) == shape, f"{out.shape} from {shape}"
        if small.smooth:
            gs = directions(values(small, small.inputs), 1)
            for i, g in zip(small.smooth, pulled(small, small.inputs, gs, small.smooth)):
                assert g.shape == small.inputs[i].shape, f"gradient {i} of {shape} has {g.shape}"


def holds_for_complex(case: Case) -> None:
    """The laws of first and second order at complex inputs, where the op takes them."""
    made = complex_case(case)
    if made is not None:
        for law in (
            reverse_is_the_slope,
            forward_is_the_slope,
            reverse_transposes_forward,
            reverse_differentiates_again,
        ):
            law(made)


LAWS: tuple[Callable[[Case], None], ...] = (
    stands_still,
    inference_is_the_run,
    reverse_is_the_slope,
    forward_is_the_slope,
    reverse_transposes_forward,
    reverse_differentiates_again,
    forward_differentiates_reverse,
    holds_for_complex,
    vmap_is_a_loop,
    vmap_of_gradients_is_a_loop,
    forward_mode_of_vmap_is_a_loop,
    trace_replays,
    inplace_is_out_of_place,
    out_is_the_result,
    layout_is_invisible,
    nothing_is_changed,
    gradients_keep_dtype,
    graph_is_released,
    empty_and_scalar_inputs_work,
)


def check(case: Case, laws: Sequence[Callable[[Case], None]] = LAWS) -> None:
    """Hold one case to the laws; the error says which law and which case."""
    for law in laws:
        try:
            law(case)
        except Exception as error:
            error.add_note(f"The law {law.__name__!r}, for {case.label}.")
            raise
