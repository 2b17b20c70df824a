"""PyTorch's own database of ops, read for samples: every call is made on PyTorch and, translated, on Chainrule.

`translate` carries a value across: tensors over copies of the same memory layout, dtypes, functions by their public
names, and the small functions of the database itself, with Chainrule in PyTorch's place.
"""

from __future__ import annotations

import functools
import random
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import chainrule
from chainrule.core.tensor import fresh

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's database of ops needs it")

from torch.testing import _utils  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

CHECKED = """
    add mul sub div.no_rounding_mode matmul sum mean __getitem__ nn.functional.linear view reshape transpose permute
    cat stack nn.functional.relu exp log pow sqrt softmax log_softmax nn.functional.cross_entropy
    nn.functional.mse_loss sigmoid tanh unsqueeze squeeze neg nn.functional.conv2d nn.functional.layer_norm
    nn.functional.batch_norm nn.functional.dropout nn.functional.embedding nn.functional.gelu abs
    max.reduction_with_dim max.reduction_no_dim where clamp bmm mm einsum clone contiguous expand flatten
    masked_fill gather index_select split chunk T t to float double min.reduction_with_dim min.reduction_no_dim
    maximum minimum var std norm linalg.vector_norm linalg.norm sin cos rsqrt reciprocal square prod cumsum
    logsumexp sort topk nn.functional.scaled_dot_product_attention nn.functional.max_pool2d nn.functional.avg_pool2d
    nn.functional.adaptive_avg_pool2d nn.functional.conv1d nn.functional.nll_loss
    nn.functional.binary_cross_entropy_with_logits nn.functional.binary_cross_entropy nn.functional.l1_loss
    nn.functional.smooth_l1_loss nn.functional.kl_div nn.functional.silu nn.functional.leaky_relu nn.functional.elu
    nn.functional.softplus nn.functional.pad.constant nn.functional.interpolate.bilinear
    nn.functional.interpolate.nearest nn.functional.normalize nn.functional.group_norm nn.functional.rms_norm
    nn.functional.conv_transpose2d nn.functional.cosine_similarity select narrow unbind expand_as view_as repeat
    repeat_interleave tril triu diagonal diag trace dot mv outer addmm baddbmm addcmul addcdiv lerp scatter
    scatter_add index_add index_put masked_select take_along_dim roll flip tile unfold amax amin aminmax var_mean
    median cumprod cummax cummin erf log1p expm1 log2 log10 exp2 atan2 tan asin acos atan sinh cosh asinh acosh
    atanh floor ceil round.decimals_0 trunc sign sgn frac
""".split()

__all__ = ["DTYPES", "form_differences", "gradient_differences", "name_of", "op_db", "ops_named", "refusal_differences"]

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8",
    "bool",
)  # fmt: skip


def ops_named(*names: str) -> list[Any]:
    """The entries of the database with these ids: `add`, `div.no_rounding_mode`."""
    wanted = set(names)
    return [op for op in op_db if name_of(op) in wanted]


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


# ----------------------------------------------------------------------------------------------------- translation

_ROOMS = ("", "nn.functional", "linalg", "special", "fft", "Tensor", "nn.init", "signal.windows")


def _room(root: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        root = getattr(root, part)
    return root


@functools.cache
def _public_paths() -> dict[int, str]:
    """Where PyTorch's functions are public, by identity."""
    found: dict[int, str] = {}
    for path in _ROOMS:
        room = _room(torch, path)
        for name in dir(room):
            if name.startswith("__") and not (path == "Tensor" and name.endswith("__")):
                continue
            value = getattr(room, name, None)
            if callable(value):
                found.setdefault(id(value), f"{path}.{name}" if path else name)
    return found


def _seeded(op: Any, *args: Any, **kwargs: Any) -> Any:
    with chainrule.random.fork_rng():
        chainrule.manual_seed(42)
        return op(*args, **kwargs)


class Translator:
    """Carries values to Chainrule; one tensor becomes one tensor, however often it is met."""

    def __init__(self, grad: bool = False) -> None:
        self.known: dict[Any, Any] = {id(_utils.wrapper_set_seed): _seeded}
        self.keep: list[Any] = []  # ids stay taken while their objects live
        self.grad = grad

    def __call__(self, x: Any) -> Any:
        if id(x) not in self.known:
            self.known[id(x)] = self._new(x)
            self.keep.append(x)
        return self.known[id(x)]

    def _new(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return self._tensor(x)
        if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
            return getattr(chainrule, str(x).rpartition(".")[2])
        if isinstance(x, torch.device):
            return chainrule.device(str(x))
        if isinstance(x, (tuple, list)):
            items = [self(i) for i in x]
            return items if isinstance(x, list) else type(x)(items) if type(x) is tuple else tuple(items)
        if isinstance(x, dict):
            return {k: self(v) for k, v in x.items()}
        if isinstance(x, slice):
            return slice(self(x.start), self(x.stop), self(x.step))
        if x is torch:
            return chainrule
        if isinstance(x, types.ModuleType) and x.__name__.startswith("torch."):
            return _room(chainrule, x.__name__[6:])
        if isinstance(x, functools.partial):
            return functools.partial(self(x.func), *self(list(x.args)), **self(x.keywords))
        if callable(x):
            return self._function(x)
        return x

    def _tensor(self, t: Any) -> Any:
        if t._is_zerotensor() or t.is_conj() or t.is_neg():
            t = t.detach().clone().resolve_conj().resolve_neg().requires_grad_(t.requires_grad)
            self.keep.append(t)
        key = ("memory", t.untyped_storage()._cdata)
        if key not in self.known:
            self.known[key] = memory_of(t)
        return tensor_of(t, self.known[key])

    def _function(self, fn: Any) -> Any:
        path = _public_paths().get(id(fn))
        if path is not None:
            return _room(chainrule, path)
        if not isinstance(fn, types.FunctionType) or not (fn.__module__ or "").startswith("torch."):
            return fn
        names = _names(fn.__code__)
        scope = {n: self(fn.__globals__[n]) for n in names if n in fn.__globals__}
        scope["__builtins__"] = fn.__globals__["__builtins__"]
        cells = tuple(types.CellType(self(c.cell_contents)) for c in fn.__closure__ or ())
        made = types.FunctionType(fn.__code__, scope, fn.__name__, self(fn.__defaults__), cells)
        made.__kwdefaults__ = self(fn.__kwdefaults__)
        return made


def _names(code: Any) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)


def translate(x: Any) -> Any:
    return Translator()(x)


def array_of(t: Any) -> Any:
    """The elements of PyTorch's tensor as an array; bfloat16 through its bits."""
    t = t.detach().clone(memory_format=torch.contiguous_format)  # a tensor that NumPy has seen cannot be resized
    if t.dtype is torch.bfloat16:
        return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return t.numpy()


def memory_of(t: Any) -> Any:
    """A copy of the bytes under PyTorch's tensor."""
    storage = t.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),)).clone().numpy()


def tensor_of(t: Any, held: Any) -> Any:
    """A tensor of Chainrule with PyTorch's elements, laid out in the same way over a copy of the memory."""
    dtype = np.dtype(ml_dtypes.bfloat16 if t.dtype is torch.bfloat16 else str(t.dtype).rpartition(".")[2])
    strides = tuple(s * dtype.itemsize for s in t.stride())
    raw = np.ndarray(tuple(t.shape), dtype, held, t.storage_offset() * dtype.itemsize if t.numel() else 0, strides)
    made = fresh(raw)
    return made.requires_grad_() if t.requires_grad else made


# ------------------------------------------------------------------------------------------------------ comparison

TOLERANCE = {
    "float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5, "float16": 3e-3, "bfloat16": 2e-2,
}  # fmt: skip


def leaves_of(x: Any, kind: type) -> Iterator[Any]:
    """The tensors in a nest of lists, tuples and dicts, in order."""
    if isinstance(x, kind):
        yield x
    elif isinstance(x, (tuple, list)):
        for i in x:
            yield from leaves_of(i, kind)
    elif isinstance(x, dict):
        for i in x.values():
            yield from leaves_of(i, kind)


def differences(got: Any, want: Any, slack: float = 1.0, strides: bool = True) -> Iterator[str]:
    """In what two results differ: structure, types, shapes, dtypes, strides (unless they are gradients), values."""
    if isinstance(want, torch.Tensor):
        if not isinstance(got, chainrule.Tensor):
            yield f"a {type(got).__name__}, not a Tensor"
        else:
            yield from _tensor_differences(got, want, slack, strides)
    elif isinstance(want, (tuple, list)):
        if (
            not isinstance(got, (tuple, list))
            or len(got) != len(want)
            or isinstance(got, list) != isinstance(want, list)
        ):
            yield f"{type(got).__name__} {_count(got)}, not {type(want).__name__} {_count(want)}"
            return
        for at, (g, w) in enumerate(zip(got, want)):
            yield from (f"[{at}] {d}" for d in differences(g, w, slack, strides))
    elif isinstance(want, torch.dtype):
        if str(got) != str(want):
            yield f"{got}, not {want}"
    elif type(got) is not type(want) or not (got == want or (got != got and want != want)):
        yield f"{got!r}, not {want!r}"


def _count(x: Any) -> Any:
    return len(x) if hasattr(x, "__len__") else ""


def _tensor_differences(got: Any, want: Any, slack: float, strides: bool) -> Iterator[str]:
    if tuple(got.shape) != tuple(want.shape):
        yield f"shape {tuple(got.shape)}, not {tuple(want.shape)}"
        return
    if str(got.dtype) != str(want.dtype):
        yield f"{got.dtype}, not {want.dtype}"
        return
    if got.requires_grad != want.requires_grad:
        yield f"requires_grad {got.requires_grad}"
    if strides and _walk(got) != _walk(want):
        yield f"strides {got.stride()}, not {want.stride()} for {tuple(want.shape)}"
    if want.numel() and want._is_zerotensor():
        want = want.clone()
    g, w = np.asarray(got.detach().raw), array_of(want)
    name = str(want.dtype).rpartition(".")[2]
    if name not in TOLERANCE:
        ok = np.asarray(g == w)
    else:
        if name in ("float16", "bfloat16"):
            g, w = g.astype(np.float32), w.astype(np.float32)
        tol = slack * TOLERANCE[name]
        scale = float(np.max(np.abs(w), initial=1.0, where=np.isfinite(w)))
        ok = np.isclose(g, w, rtol=tol, atol=tol * scale, equal_nan=True)
        if name in ("float16", "bfloat16") and not strides:
            ok |= ~np.isfinite(w) | (w == 0)  # PyTorch's gradients are rounded at each step, and leave the range
        if w.dtype.kind == "c":
            ok |= np.isclose(g.real, w.real, rtol=tol, atol=tol * scale, equal_nan=True) & np.isclose(
                g.imag, w.imag, rtol=tol, atol=tol * scale, equal_nan=True
            )
            ok |= ~np.isfinite(w) & ~np.isfinite(g)
    if not ok.all():
        at = tuple(int(i) for i in np.argwhere(~ok)[0])
        yield f"{name} {(~ok).sum()} of {ok.size} values; at {at} {g[at]}, not {w[at]}"


def _walk(t: Any) -> list[int]:
    """The strides that matter: of axes longer than one, where there are elements."""
    return [s for n, s in zip(t.shape, t.stride()) if n > 1] if t.numel() else []


class Outcome:
    """What a call gave: a value, or an exception."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.value, self.error = None, None
        try:
            self.value = call()
        except Exception as error:
            self.error = error

    def against(self, want: Outcome, slack: float = 1.0, strides: bool = True) -> Iterator[str]:
        if self.error is None and want.error is None:
            yield from differences(self.value, want.value, slack, strides)
        elif want.error is None:
            yield f"raises {_text(self.error)}"
        elif self.error is None:
            yield f"does not raise {_text(want.error)}"
        elif not isinstance(self.error, kind_of(want.error)):
            yield f"raises {_text(self.error)}, not {_text(want.error)}"


def _text(error: Any) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150] if str(error).strip() else ''}"


def kind_of(error: Any) -> type:
    """PyTorch's exception class as one that Chainrule can raise."""
    if isinstance(error, type):
        cls = error
    else:
        cls = type(error)
    return next(c for c in cls.__mro__ if c.__module__ == "builtins")


# ----------------------------------------------------------------------------------------------------------- forms

Call = tuple[Any, list[Any], dict[str, Any]]  # the input, the other arguments, the keywords


def samples_of(op: Any, dtype: str, grad: bool = False, most: int | None = None, reference: bool = False) -> list[Any]:
    """Samples of an op in a dtype, the same in every run; of many, some from the whole range."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  (some samples are drawn by NumPy's global generator)
    random.seed(0)
    make = op.reference_inputs if reference else op.sample_inputs
    found = list(make("cpu", getattr(torch, dtype), requires_grad=grad))
    if most is not None and len(found) > most:
        found = [found[i * len(found) // most] for i in range(most)]
    return found


def brief(x: Any) -> str:
    """A sample in few words."""
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]}{list(x.shape)}"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(brief, x))})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}={brief(v)}" for k, v in x.items()) + "}"
    if hasattr(x, "sample_input"):
        return brief(x.sample_input)
    if hasattr(x, "kwargs") and hasattr(x, "input"):
        return f"{brief(x.input)}, {brief(x.args)}, {brief(x.kwargs)}"
    return repr(x)[:60]


def seeded(call: Callable[[], Any]) -> Outcome:
    torch.manual_seed(3)
    chainrule.manual_seed(3)
    return Outcome(call)


def forms(op: Any, sample: Any) -> Iterator[tuple[str, Outcome, Outcome]]:
    """(form, ours, theirs) of every form of an op that the database knows, on one sample."""
    kinds = {"function": op.op, "method": op.method_variant, "operator": op.operator_variant}
    for kind, fn in kinds.items():
        if fn is None or (kind == "operator" and (sample.kwargs or len(sample.args) > 1)):
            continue
        carry = Translator()
        (x, args, kwargs), mine = carry([sample.input, list(sample.args), dict(sample.kwargs)]), carry(fn)
        want = seeded(lambda: fn(sample.input, *sample.args, **sample.kwargs))
        yield kind, seeded(lambda: mine(x, *args, **kwargs)), want
    kinds = {"in place": op.inplace_variant, "in-place operator": op.inplace_operator_variant}
    for kind, fn in kinds.items():
        if fn is None or (kind == "in-place operator" and (sample.kwargs or len(sample.args) > 1)):
            continue
        yield kind, *_in_place(fn, sample)
    if op.supports_out:
        yield from _into_outs(op, sample)


def _in_place(fn: Any, sample: Any) -> tuple[Outcome, Outcome]:
    """The returned tensor, whether it is the input, and the input afterwards."""
    with torch.no_grad():
        target = sample.input.clone() if isinstance(sample.input, torch.Tensor) else sample.input
    carry = Translator()
    (x, args, kwargs), mine = carry([target, list(sample.args), dict(sample.kwargs)]), carry(fn)

    def run(fn: Any, target: Any, args: Any, kwargs: Any) -> Any:
        result = fn(target, *args, **kwargs)
        return [result, result is target, target]

    want = seeded(lambda: run(fn, target, sample.args, sample.kwargs))
    got = seeded(lambda: run(mine, x, args, kwargs))
    if want.error is not None and got.error is not None:  # a refused change leaves no trace
        left = list(differences(x, target))
        if left:
            got.error, want.error, got.value, want.value = None, None, left, []
    return got, want


def _into_outs(op: Any, sample: Any) -> Iterator[tuple[str, Outcome, Outcome]]:
    with torch.no_grad():
        try:
            plain = op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            return
    targets = list(leaves_of(plain, torch.Tensor))
    for kind, make in OUTS.items():
        if kind == "strided" and op.name in CORRUPTS:
            continue
        made = [make(t) for t in targets]
        if any(t is None for t in made):
            continue
        theirs = made[0] if isinstance(plain, torch.Tensor) else tuple(made)
        carry = Translator()
        (x, args, kwargs, ours), mine = (
            carry([sample.input, list(sample.args), dict(sample.kwargs), theirs]),
            carry(op.op),
        )
        with torch.no_grad(), chainrule.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = seeded(lambda: [op.op(sample.input, *sample.args, **sample.kwargs, out=theirs), theirs])
            got = seeded(lambda: [mine(x, *args, **kwargs, out=ours), ours])
        if kind != "strided" or want.error is None:  # PyTorch refuses some that it could write to
            yield f"out={kind}", got, want


# PyTorch itself writes outside a strided out= and ruins the heap, or leaves it as it was.
CORRUPTS = {"tril", "triu", "nn.functional.gelu"}


def _strided(t: Any) -> Any:
    """Axes in reverse order in memory, every other element."""
    return (
        torch.empty_strided(t.shape[::-1], tuple(2 * s for s in _strides(t.shape[::-1])), dtype=t.dtype)
        .permute(*reversed(range(t.ndim)))
        .fill_(1)
        if t.ndim
        else None
    )


def _strides(shape: Any) -> tuple[int, ...]:
    return torch.empty(shape).stride()


def _other_dtype(t: Any) -> Any:
    return t.new_zeros(t.shape, dtype=torch.int64 if t.dtype.is_floating_point or t.dtype.is_complex else torch.float32)


OUTS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda t: t.new_empty(0),
    "same": torch.ones_like,
    "strided": _strided,
    "other dtype": _other_dtype,
    "wrong shape": lambda t: t.new_zeros((*t.shape, 2)) if t.numel() else None,
}


# ------------------------------------------------------------------------------------------------------- gradients


def gradients(op: Any, sample: Any, second: bool) -> Iterator[tuple[str, Outcome, Outcome]]:
    """First and second gradients of a random weighting of the outputs that need them."""
    carry = Translator()
    theirs = [sample.input, list(sample.args), dict(sample.kwargs), sample.output_process_fn_grad]
    ours, mine = carry(theirs), carry(op.op)
    want = Outcome(lambda: _gradients(torch, op.op, theirs, second))
    got = Outcome(lambda: _gradients(chainrule, mine, ours, second))
    if want.error is None or "derivative for" not in str(want.error):  # PyTorch has no second derivative of some
        yield "gradient", got, want


def _gradients(lib: Any, fn: Any, call: Any, second: bool) -> Any:
    x, args, kwargs, process = call
    torch.manual_seed(3)
    chainrule.manual_seed(3)
    outs = process(fn(x, *args, **kwargs)) if process is not None else fn(x, *args, **kwargs)
    leaves = [t for t in leaves_of(call[:3], lib.Tensor) if t.requires_grad]
    rng = np.random.default_rng(1)
    first = _pulled(lib, list(leaves_of(outs, lib.Tensor)), leaves, rng, second)
    found = [first, _pulled(lib, first, leaves, rng, False)] if second else [first]
    return [[_settled(lib, g, t) for g, t in zip(gs, leaves)] for gs in found]


def _pulled(lib: Any, outs: list[Any], leaves: list[Any], rng: Any, create: bool) -> list[Any]:
    kept = [t for t in outs if t is not None and t.requires_grad]
    if not kept or not leaves:
        return [None] * len(leaves)
    gs = []
    for t in kept:
        g = lib.tensor(rng.normal(size=tuple(t.shape)), dtype=lib.float64)
        if t.is_complex():
            g = lib.complex(g, lib.tensor(rng.normal(size=tuple(t.shape)), dtype=lib.float64))
        gs.append(g.to(t.dtype))
    return list(lib.autograd.grad(kept, leaves, gs, create_graph=create, allow_unused=True))


def _settled(lib: Any, g: Any, t: Any) -> Any:
    """A gradient without a history; none is one of zeros."""
    return lib.zeros_like(t) if g is None else g.detach()


# ---------------------------------------------------------------------------------------------------------- errors


def error_differences(op: Any, error_input: Any) -> Iterator[str]:
    """Does a call that PyTorch refuses raise the same class, with the phrase of the database?"""
    s = error_input.sample_input
    if any(t.ndim > 64 for t in leaves_of([s.input, s.args, s.kwargs], torch.Tensor)):
        return  # more axes than an array of NumPy can have
    carry = Translator()
    (x, args, kwargs), mine = carry([s.input, list(s.args), dict(s.kwargs)]), carry(op.op)
    want = Outcome(lambda: op.op(s.input, *s.args, **s.kwargs))
    if want.error is None:
        return  # an entry for another device
    got = Outcome(lambda: mine(x, *args, **kwargs))
    if got.error is None:
        yield f"does not raise {_text(want.error)}"
    elif not isinstance(got.error, kind_of(error_input.error_type)):
        yield f"raises {_text(got.error)}, not {_text(want.error)}"
    elif not re.search(error_input.error_regex, str(got.error)):
        yield f"says {_text(got.error)}, not {error_input.error_regex}"


# ---------------------------------------------------------------------------------------------------------- audits

# Where elements tie, which of them is named is nobody's promise.
TIES = {"sort", "topk", "median", "nanmedian", "mode", "kthvalue", "argsort", "msort"}
SLACK = {"nn.functional.scaled_dot_product_attention": 8.0}  # in 16 bits PyTorch's is coarser
# Of no elements at all PyTorch does not ask for the dtype.
TAKES_NOTHING = {"matmul", "mm", "nn.functional.linear", "softmax", "log_softmax", "cummax", "cummin"}
# (op, form or "", dtype or ""): what PyTorch does there that nobody should do after it.
WRONG = {
    ("nn.functional.conv2d", "function", "float16"): "with a dilation it reads memory it does not own",
    ("nn.functional.linear", "out=strided", ""): "it gives out= other strides",
}


def form_differences(op: Any, dtype: str, most: int | None = None) -> Iterator[str]:
    """In what the forms of an op differ on its samples in a dtype."""
    for sample in samples_of(op, dtype, most=most):
        for form, got, want in forms(op, sample):
            yield from _kept(op, form, dtype, sample, got.against(want, _slack(op, dtype)))


def gradient_differences(op: Any, dtype: str, most: int | None = None) -> Iterator[str]:
    """In what first and, of 64 bits, second gradients differ."""
    kind = getattr(torch, dtype)
    floating = kind.is_floating_point or kind.is_complex
    if not (floating and op.supports_autograd and kind in op.backward_dtypes):
        return
    if op.name in TIES and dtype in ("float16", "bfloat16"):
        return
    second = op.supports_gradgrad and dtype in ("float64", "complex128")
    for sample in samples_of(op, dtype, True, most):
        for form, got, want in gradients(op, sample, second):
            yield from _kept(op, form, dtype, sample, got.against(want, 10 * _slack(op, dtype), False))


def dtype_differences(op: Any, dtype: str, most: int | None = None) -> Iterator[str]:
    """Samples of a dtype that the database does not list, which only one side takes."""
    if getattr(torch, dtype) in op.dtypes or name_of(op) in TAKES_NOTHING:
        return
    try:
        found = samples_of(op, dtype, most=most)
    except Exception:
        return  # there are no numbers of this kind for it
    for sample in found:
        try:
            carry = Translator()
            (x, args, kwargs), mine = carry([sample.input, list(sample.args), dict(sample.kwargs)]), carry(op.op)
        except Exception:
            continue
        want = seeded(lambda: op.op(sample.input, *sample.args, **sample.kwargs))
        got = seeded(lambda: mine(x, *args, **kwargs))
        if want.error is None and got.error is None:
            continue
        if want.error is not None and isinstance(got.error, kind_of(want.error)):
            continue
        theirs, ours = [_text(it.error) if it.error else "taken" for it in (want, got)]
        yield f"{theirs}, here {ours} | {dtype}: {brief(sample)}"


def refusal_differences(op: Any) -> Iterator[str]:
    """In what the refusals differ that the database lists."""
    if op.error_inputs_func is not None:
        for e in op.error_inputs("cpu"):
            yield from (f"error: {d} | {brief(e)}" for d in error_differences(op, e))


def _slack(op: Any, dtype: str) -> float:
    return SLACK.get(op.name, 1.0) if dtype in ("float16", "bfloat16") else 1.0


def _kept(op: Any, form: str, dtype: str, sample: Any, found: Iterator[str]) -> Iterator[str]:
    name = name_of(op)
    if {(name, form, dtype), (name, form, ""), (name, "", dtype), (name, "", "")} & WRONG.keys():
        return
    for d in found:
        if not (op.name in TIES and " int64 " in f" {d}" and "values; at" in d):
            yield f"{form}: {d} | {dtype}: {brief(sample)}"
