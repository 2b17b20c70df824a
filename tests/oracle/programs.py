"""Random programs over tensors, run under PyTorch and under Chainrule, step by step the same or a difference to report.

A program is a list of steps, pieces of Python that use `torch` and variables v0, v1, ... It is written while PyTorch runs
it, so that most steps are legal; steps that raise are kept now and then, for the error is part of the behaviour.
`difference` compares two runs; `shrunk` deletes steps while the difference stays.
"""

# ruff: noqa: E501  (a table of steps reads better with one step per entry, however long)

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from chainrule.errors import StaleError

SHAPES = [(), (3,), (4,), (2, 3), (3, 4), (3, 3), (2, 3, 4), (1, 3), (3, 1), (2, 1, 3), (1,)]
RARE_SHAPES = [(0,), (2, 0), (1, 1), (2, 2, 2, 2)]
HUGE = 1e5


@dataclass(frozen=True)
class Step:
    kind: str  # the template that made it
    text: str


@dataclass
class Seen:
    """What one run shows after a step: the exception, or the facts of every variable."""

    error: tuple[type, str] | None
    facts: dict[str, Any]


# ------------------------------------------------------------------------------------------------------------- running


def run(lib: Any, steps: list[Step], every: bool, cloning: bool = False) -> list[Seen]:
    """Run a program; look at all variables after every step, or only after the last.

    `cloning` (PyTorch only): what is saved for backward is a copy, so that no change can spoil it.
    """
    if cloning:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            return run(lib, steps, every)
    scope: dict[str, Any] = {"torch": lib, "math": __import__("math")}
    seen: list[Seen] = []
    births: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at, step in enumerate(steps):
            error = attempt(scope, step.text)
            note_births(lib, scope, births)
            look = every or at == len(steps) - 1
            seen.append(Seen(error, look_around(lib, scope, births) if look else {}))
    return seen


_compiled: dict[str, Any] = {}


def attempt(scope: dict[str, Any], text: str) -> tuple[type, str] | None:
    code = _compiled.get(text)
    if code is None:
        code = compile(text, "<program>", "exec")
        if len(_compiled) < 100_000:
            _compiled[text] = code
    try:
        exec(code, scope)
    except Exception as error:
        return type(error), str(error)
    return None


def note_births(lib: Any, scope: dict[str, Any], births: dict[str, int]) -> None:
    """The version each variable is born with: a gradient's tells how the engine added, which is its own affair."""
    for name in variables(scope):
        if name not in births and isinstance(scope[name], lib.Tensor):
            births[name] = version(scope[name])


def version(t: Any) -> int:
    try:
        return t._version
    except RuntimeError:
        return 0


def variables(scope: dict[str, Any]) -> list[str]:
    return [name for name in scope if name[0] in "vg" and name[1:].isdigit()]


def look_around(lib: Any, scope: dict[str, Any], births: dict[str, int]) -> dict[str, Any]:
    return {name: look(lib, scope[name], births.get(name)) for name in variables(scope)}


def look(lib: Any, value: Any, birth: int | None = None) -> Any:
    """The facts of a variable; reading one may raise, and that is a fact too."""
    if isinstance(value, (tuple, list)):
        return [look(lib, v) for v in value]
    if not isinstance(value, lib.Tensor):
        return value if isinstance(value, (int, float, bool, complex, str)) else type(value).__name__
    facts: dict[str, Any] = {}
    for name, read in _FACTS.items():
        try:
            facts[name] = read(value)
        except Exception as error:
            facts[name] = type(error).__name__ + ": " + first_sentence(str(error))
    if facts["version"].__class__ is int:
        facts["version"] = None if birth is None else facts["version"] - birth
    facts["value"] = array(value)
    grad = value.grad if facts["is_leaf"] is True else None
    facts["grad"] = None if grad is None else array(grad)
    return facts


_FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: tuple(t.shape),
    "dtype": lambda t: str(t.dtype),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf and t.grad_fn is None,  # a view whose history is forbidden raises at grad_fn
    "grad_fn": lambda t: t.grad_fn.name().rstrip("0123456789").replace("Unsafe", "") if t.grad_fn is not None else None,
    "version": lambda t: t._version,
}


def array(t: Any) -> Any:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj().resolve_neg()
        return np.array((t.float() if t.dtype is torch.bfloat16 else t).numpy(force=True))
    raw = np.array(t.raw)
    return raw.astype(np.float32) if raw.dtype.kind == "V" or raw.dtype.name == "bfloat16" else raw


def first_sentence(text: str) -> str:
    """What people search for: the text up to its first full stop or line end, digits and shapes left out."""
    return re.sub(r"\d+", "#", re.split(r"\. |\n|: |\[|\(| output type", text.strip())[0].rstrip("."))


# ----------------------------------------------------------------------------------------------------------- comparing


@dataclass
class Difference:
    step: int
    what: str  # one word: error, type, message, missing, value, grad, shape, ...
    detail: str

    def key(self, steps: list[Step]) -> tuple[str, str]:
        return self.what, steps[self.step].kind


def difference(steps: list[Step], other: Any, every: bool) -> Difference | None:
    """The first step where the two libraries part."""
    mine = run(other, steps, every)
    found = first_difference(steps, run(torch, steps, every), mine)
    if found is not None and found.what == "silent" and "modified by an inplace operation" in found.detail:
        return first_difference(steps, run(torch, steps, every, cloning=True), mine, lenient=True)
    return found


def first_difference(
    steps: list[Step], theirs: list[Seen], mine: list[Seen], lenient: bool = False
) -> Difference | None:
    """`lenient`: PyTorch kept copies of what it saved, so nothing of it went stale; ours may have."""
    names = gradients(steps)
    rough = any(word in s.text for s in steps for word in ("float32", ".float()"))
    for at, (a, b) in enumerate(zip(theirs, mine)):
        if lenient and b.error is not None and issubclass(b.error[0], StaleError):
            continue
        found = compare_errors(a.error, b.error)
        if found is None and a.error is not None and a.error[0] is not NameError and "backward" in steps[at].text:
            return None  # how far a pass came before it raised is nobody's promise
        found = found or compare_facts(a.facts, b.facts, names, lenient, rough)
        if found is not None:
            return Difference(at, *found)
    return None


COPIES = {"ViewBackward", "CloneBackward", "TransposeBackward"}  # how a product of many axes is laid out


def compare_errors(theirs: Any, ours: Any) -> tuple[str, str] | None:
    if (theirs is None and ours is None) or (theirs is not None and theirs[0] is NameError and ours is not None):
        return None
    if theirs is None:
        missing = issubclass(ours[0], (AttributeError, NotImplementedError)) or "unexpected keyword" in ours[1]
        return "missing" if missing else "raises", f"{ours[0].__name__}: {ours[1][:300]}"
    if ours is None and "does not support automatic differentiation" in theirs[1]:
        return None
    if ours is None:
        return "silent", f"PyTorch raises {theirs[0].__name__}: {theirs[1][:300]}"
    if not issubclass(ours[0], theirs[0]):
        return "type", f"{ours[0].__name__}: {ours[1][:200]}\n  not {theirs[0].__name__}: {theirs[1][:300]}"
    if issubclass(ours[0], StaleError) and "is a view and its base or another view" in theirs[1]:
        return None  # both are the case, and we look at the value first
    if first_sentence(theirs[1]).lower() not in re.sub(r"\d+", "#", ours[1]).lower():
        return "message", f"{ours[1][:300]}\n  not: {theirs[1][:300]}"
    return None


def gradients(steps: list[Step]) -> set[str]:
    """The variables that hold gradients: which nodes a backward pass records is the rule's own affair."""
    text = "\n".join(s.text.partition(" = ")[0] for s in steps if s.kind in ("take_grad", "use_grad", "finale"))
    return set(re.findall(r"\b[vg]\d+\b", text))


def compare_facts(
    theirs: Any, ours: Any, computed: set[str], lenient: bool = False, rough: bool = False
) -> tuple[str, str] | None:
    for name in theirs:
        if name not in ours:
            if lenient:
                continue
            return "absent", name
        found = compare_one(theirs[name], ours[name], name in computed, rough)
        if found is not None:
            return found[0], f"{name}: {found[1]}"
    return None


def compare_one(theirs: Any, ours: Any, computed: bool, rough: bool = False) -> tuple[str, str] | None:
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return "structure", f"{ours} not {theirs}"
        pairs = (compare_one(a, b, computed, rough) for a, b in zip(theirs, ours))
        return next((p for p in pairs if p is not None), None)
    if computed and theirs == "NoneType" and isinstance(ours, dict) and not np.any(ours["value"]):
        return None  # no gradient, or zeros
    if not isinstance(theirs, dict):
        same = theirs == ours or (theirs.__class__ is float and np.isclose(theirs, ours, equal_nan=True))
        return None if same else ("number", f"{ours!r} not {theirs!r}")
    if computed and ours == "NoneType":
        return None if not np.any(theirs["value"]) else ("structure", "no gradient, not " + str(theirs["value"]))
    if not isinstance(ours, dict):
        return "structure", f"{ours} not a tensor"
    for key, value in theirs.items():
        if key in ("value", "grad"):
            if not close(value, ours[key], computed or key == "grad", rough):
                return key, f"{ours[key]!r}\n  not {value!r}"
        elif value != ours[key] and not (key == "grad_fn" and {value, ours[key]} <= COPIES):
            if computed and key in ("grad_fn", "is_leaf", "requires_grad"):
                continue
            return key, f"{ours[key]!r} not {value!r}"
    return None


def close(a: Any, b: Any, computed: bool, rough: bool) -> bool:
    """Equal up to rounding. `computed`: where one gradient is nan, the other's formula may have had a finite way."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    if computed:
        known = ~(np.isnan(a) | np.isnan(b))
        a, b = a[known], b[known]
    tol = 2e-4 if rough else 1e-7
    scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    with np.errstate(all="ignore"):
        return bool(np.allclose(b, a, rtol=tol, atol=tol * max(float(scale), 1e-3), equal_nan=True))


# ----------------------------------------------------------------------------------------------------------- shrinking


def shrunk(steps: list[Step], other: Any, every: bool) -> tuple[list[Step], Difference]:
    """Fewer steps with a difference of the same kind."""
    found = difference(steps, other, every)
    assert found is not None
    steps = steps[: found.step + 1] if every else steps
    what = found.what
    size = max(len(steps) // 2, 1)
    while True:
        at, changed = 0, False
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            now = difference(fewer, other, every) if fewer else None
            if now is not None and now.what == what and not name_error(fewer):
                steps, found, changed = fewer, now, True
            else:
                at += size
        if size == 1 and not changed:
            return steps, found
        size = max(size // 2, 1)


def name_error(steps: list[Step]) -> bool:
    return any(s.error is not None and s.error[0] is NameError for s in run(torch, steps, False))


# ------------------------------------------------------------------------------------------------------------- writing


class Writer:
    """Writes one program, with PyTorch running along."""

    def __init__(self, seed: int, rare: bool = True) -> None:
        self.rng = random.Random(seed)
        self.rare = rare
        self.scope: dict[str, Any] = {"torch": torch, "math": __import__("math")}
        self.steps: list[Step] = []
        self.count = 0
        self.every = self.rng.random() < 0.7

    def write(self, length: int) -> list[Step]:
        for _ in range(self.rng.randint(1, 3)):
            self.add("create", create(self, leaf=True))
        kinds, weights = list(TEMPLATES), [w for w, _ in TEMPLATES.values()]
        tries = 0
        while len(self.steps) < length and tries < 5 * length:
            tries += 1
            kind = self.rng.choices(kinds, weights)[0]
            try:
                text = TEMPLATES[kind][1](self)
            except RuntimeError:  # it asked a view that may not be asked any more
                continue
            if text:
                self.add(kind, text)
        for text in finale(self):
            self.add("finale", text)
        return self.steps

    def add(self, kind: str, text: str) -> None:
        before = dict(self.scope)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = attempt(self.scope, text)
            if error is not None and (self.rng.random() < 0.6 or "nternal" in error[1] or "INTERNAL" in error[1]):
                self.scope = before
                return
            if error is None and self.wild():
                # The step changed values out of bounds, and perhaps in place: the run so far cannot be taken back.
                self.scope = {"torch": torch, "math": self.scope["math"]}
                for step in self.steps:
                    attempt(self.scope, step.text)
                return
            self.steps.append(Step(kind, text))
            if self.every:
                look_around(torch, self.scope, {})

    def wild(self) -> bool:
        for t in self.tensors().values():
            if t.numel() and t.dtype.is_floating_point and float(t.detach().abs().nan_to_num(0, 0, 0).max()) > HUGE:
                return True
        return False

    # -- what there is to choose from

    def tensors(self) -> dict[str, Any]:
        return {n: v for n, v in self.scope.items() if isinstance(v, torch.Tensor)}

    def pick(self, wanted: Callable[[Any], bool] = lambda t: True) -> str | None:
        names = [n for n, t in self.tensors().items() if holds(wanted, t)]
        if not names:
            return None
        recent = names[-4:]
        return self.rng.choice(recent if self.rng.random() < 0.5 else names)

    def floating(self, wanted: Callable[[Any], bool] = lambda t: True) -> str | None:
        return self.pick(lambda t: t.dtype.is_floating_point and wanted(t))

    def new(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def t(self, name: str) -> Any:
        return self.scope[name]

    def one(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def dim(self, t: Any) -> int:
        if self.chance(0.03) and t.dim():
            return t.dim() + 1
        return self.rng.randint(-t.dim(), t.dim() - 1) if t.dim() else self.one(0, -1)

    def number(self) -> str:
        return self.one("2", "0.5", "-1.5", "3.0", "1", "-1", "0.1", "True" if self.chance(0.1) else "2.5")

    def partner(self, name: str) -> str | None:
        """A variable that broadcasts with `name`."""
        shape = self.t(name).shape
        return self.pick(lambda t: t.dtype is not torch.bool and broadcasts(shape, t.shape))


def holds(wanted: Callable[[Any], bool], t: Any) -> bool:
    """Does `t` qualify? A view that may not be read any more raises when asked about its history."""
    try:
        return bool(wanted(t))
    except RuntimeError:
        return False


def broadcasts(a: Any, b: Any) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))


TEMPLATES: dict[str, tuple[float, Callable[[Writer], str | None]]] = {}


def template(weight: float) -> Callable[[Any], Any]:
    def enter(fn: Any) -> Any:
        TEMPLATES[fn.__name__] = (weight, fn)
        return fn

    return enter


def literal(w: Writer, shape: tuple[int, ...], draw: Callable[[], str]) -> str:
    if not shape:
        return draw()
    return "[" + ", ".join(literal(w, shape[1:], draw) for _ in range(shape[0])) + "]"


@template(6)
def create(w: Writer, leaf: bool = False) -> str:
    shape = w.rng.choice(SHAPES if not w.rare or w.chance(0.93) else RARE_SHAPES)
    kind = (
        "float64"
        if leaf
        else w.rng.choices(["float64", "float32", "int64", "bool", "complex128"], [12, 3, 1, 1, 0.7])[0]
    )
    draw = {
        "int64": lambda: str(w.rng.randint(-3, 3)), "bool": lambda: w.one("True", "False"),
        "complex128": lambda: f"{w.rng.uniform(-2, 2):.3f}{w.rng.uniform(-2, 2):+.3f}j",
    }.get(kind, lambda: f"{w.rng.uniform(-2, 2):.3f}")  # fmt: skip
    wants = kind[0] in "fc" and (leaf or w.chance(0.6))
    more = ", requires_grad=True" if wants else ""
    return f"{w.new()} = torch.tensor({literal(w, shape, draw)}, dtype=torch.{kind}{more})"


UNARY = """abs neg exp sin cos tanh sigmoid relu square sign floor round reciprocal sqrt log log1p expm1 rsqrt erf atan
sinh cosh tan asinh erfc exp2 log2 log10 trunc frac ceil deg2rad softplus-n silu-n gelu-n elu-n leaky_relu-n hardtanh-n
logsigmoid-n relu6-n mish-n selu-n softsign-n tanhshrink-n hardswish-n celu-n""".split()


@template(14)
def unary(w: Writer) -> str | None:
    x = w.pick() if w.chance(0.2) else w.floating()
    name, _, place = w.rng.choice(UNARY).partition("-")
    if x is None:
        return None
    if place == "n":
        return f"{w.new()} = torch.nn.functional.{name}({x})"
    return f"{w.new()} = {w.one(f'torch.{name}({x})', f'{x}.{name}()')}"


@template(16)
def binary(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype is not torch.bool)
    if x is None:
        return None
    y = w.partner(x) if w.chance(0.75) else w.number()
    if w.chance(0.02):
        y = w.pick()
    if y is None:
        return None
    if w.chance(0.25) and y[0] == "v":
        name = w.one(
            "maximum", "minimum", "atan2", "hypot", "mul", "sub", "add", "div", "true_divide", "fmod", "remainder"
        )
        return f"{w.new()} = torch.{name}({x}, {y})"
    op = w.one("+", "-", "*", "/", "*", "+")
    if y[0] != "v" and w.chance(0.3):
        return f"{w.new()} = {y} {op} {x}"
    if w.chance(0.1):
        return f"{w.new()} = torch.{w.one('add', 'sub')}({x}, {y}, alpha={w.one('2', '-1', '3')})"
    return f"{w.new()} = {x} {op} {y}"


@template(3)
def power(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    return f"{w.new()} = {w.one(f'{x} ** 2', f'{x} ** 3', f'{x}.abs() ** 0.5', f'2.0 ** {x}', f'{x}.pow(2)', f'{x}.abs() ** {x}', f'{x} ** 1', f'{x} ** 0')}"


@template(3)
def compare(w: Writer) -> str | None:
    x = w.pick(lambda t: not t.dtype.is_complex)
    y = x and (w.partner(x) if w.chance(0.5) else "0")
    return f"{w.new()} = {x} {w.one('>', '<', '>=', '==', '!=')} {y}" if y else None


@template(9)
def reduce(w: Writer) -> str | None:
    x = w.floating() if w.chance(0.9) else w.pick()
    if x is None:
        return None
    t = w.t(x)
    name = w.one(
        "sum", "mean", "prod", "amax", "amin", "sum", "mean", "logsumexp", "norm", "var", "std", "nansum", "all"
    )
    keep = w.one("", "", ", keepdim=True")
    if name in ("logsumexp",) or w.chance(0.6):
        dim = str(w.dim(t))
        if name in ("sum", "mean", "amax", "logsumexp") and t.dim() >= 2 and w.chance(0.3):
            dim = str(tuple(w.rng.sample(range(t.dim()), 2)))
        if name == "norm":
            return f"{w.new()} = {x}.norm(dim={dim}{keep})"
        return f"{w.new()} = {x}.{name}({w.one('dim=', '')}{dim}{keep})"
    return f"{w.new()} = {x}.{name}()"


@template(4)
def reduce_pair(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    d = w.dim(w.t(x))
    name = w.one("max", "min", "median", "sort", "kthvalue", "cummax", "cummin", "mode", "topk")
    if bool(w.t(x).detach().isnan().any()):
        return None  # a nan has no place in an order
    if w.t(x).detach().unique().numel() < max(w.t(x).numel(), 1):
        return None  # which of two equal elements is found is nobody's promise
    more = {"kthvalue": f"1, dim={d}", "topk": f"1, dim={d}"}.get(name, f"dim={d}")
    if name in ("max", "min", "median") and w.chance(0.4):
        return f"{w.new()} = {x}.{name}()"
    return f"{w.new()}, {w.new()} = {x}.{name}({more})"


@template(4)
def scan(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    if not w.t(x).numel():
        return None
    d = w.dim(w.t(x))
    name = w.one("cumsum", "softmax", "log_softmax", "cumprod", "flip", "logcumsumexp", "diff", "roll")
    arg = {"flip": f"dims=({d},)", "roll": f"1, {d}"}.get(name, f"dim={d}")
    return f"{w.new()} = {x}.{name}({arg})"


@template(5)
def matmul(w: Writer) -> str | None:
    x = w.floating(lambda t: t.dim() >= 1)
    if x is None:
        return None
    t = w.t(x)
    y = w.floating(lambda u: u.dim() >= 1 and u.dtype == t.dtype and u.shape[-2 if u.dim() > 1 else -1] == t.shape[-1])
    if y is None:
        y, u = x, w.t(x)
        if t.dim() < 2:
            return f"{w.new()} = {x} @ {y}"
        return f"{w.new()} = {w.one(f'{x} @ {x}.mT', f'torch.matmul({x}.transpose(-1, -2), {x})')}"
    u = w.t(y)
    forms = [f"{x} @ {y}", f"torch.matmul({x}, {y})"]
    if t.dim() == u.dim() == 2:
        forms += [
            f"{x}.mm({y})",
            f"torch.einsum('ij,jk->ik', {x}, {y}) + 0",
            f"torch.nn.functional.linear({x}, {y}.t())",
        ]
    if t.dim() == u.dim() == 1:
        forms += [f"torch.dot({x}, {y})", f"torch.outer({x}, {y})"]
    if t.dim() == 2 and u.dim() == 1:
        forms += [f"torch.mv({x}, {y})"]
    return f"{w.new()} = {w.rng.choice(forms)}"


def view_text(w: Writer, x: str) -> str | None:
    """One view of `x`, as an expression."""
    t = w.t(x)
    rank, d = t.dim(), w.dim(t)
    forms = [
        "[...]",
        ".view(-1)",
        ".reshape(-1)",
        f".unsqueeze({w.rng.randint(-rank - 1, rank)})",
        ".squeeze()",
        ".flatten()",
        ".view_as(" + x + ")",
        "[None]",
        ".expand_as(" + x + ")",
    ]
    if rank:
        n = t.shape[d] if -rank <= d < rank else 1
        i = w.rng.randint(-n, n - 1) if n else 0
        forms += [
            f".transpose({d}, {w.dim(t)})",
            f".select({d}, {i})",
            f".narrow({d}, 0, {max(n - 1, 0)})",
            f"[{w.rng.randint(-1, 1)}:]",
            "[::2]",
            f".squeeze({d})",
            ".T" if rank == 2 else ".mT" if rank > 2 else "[1:]",
            f"[{w.one(0, -1, 0, 5)}]",
            f".movedim({d}, 0)",
        ]
        forms += [
            f".permute({', '.join(map(str, w.rng.sample(range(rank), rank)))})",
            f".unfold({d}, {min(2, n)}, 1)",
            "[..., 0]",
            "[..., :2]",
        ]
    if rank == 2:
        forms += [".t()", ".diagonal()", ".t()", "[:, 1]", "[1, :]", "[:, None]", "[:2, 1:]"]
    if 1 in t.shape or rank == 0:
        sizes = [2 if s == 1 else s for s in t.shape]
        forms += [
            f".expand({', '.join(map(str, [2, *t.shape]))})",
            *([f".expand({', '.join(map(str, sizes))})"] * 2 if rank else []),
        ]
    if t.numel() in (6, 12, 24):
        forms += [f".view({w.one('2, -1', '-1, 2', '3, -1', '-1, 3')})", f".reshape({w.one('2, -1', '(-1, 2)')})"]
    return x + w.rng.choice(forms)


@template(14)
def view(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype is not torch.bool)
    return x and f"{w.new()} = {view_text(w, x)}"


@template(3)
def many_views(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    t = w.t(x)
    d = w.rng.randint(-t.dim(), t.dim() - 1)
    n = t.shape[d]
    form = w.one("unbind", "split", "chunk", "tensor_split")
    if form == "unbind":
        return f"{', '.join(w.new() for _ in range(n))}, = {x}.unbind({d})"
    parts = -(-n // 2) if form == "split" else 2 if form == "tensor_split" else min(2, n)
    return f"{', '.join(w.new() for _ in range(parts))}, = {x}.{form}(2, dim={d})"


@template(6)
def index(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    t = w.t(x)
    n, last = t.shape[0], t.shape[-1]
    ids = [w.rng.randint(-n, max(n - 1, 0)) for _ in range(w.rng.randint(1, 3))] if n else []
    positive = [i % n for i in ids] if n else []
    forms = [
        f"{x}[torch.tensor({ids})]" if ids else f"{x}[[]]",
        f"{x}[{ids}]",
        f"{x}.index_select(0, torch.tensor({positive}, dtype=torch.int64))",
        f"{x}[{x}.detach() > 0]" if not t.dtype.is_complex else f"{x}[0]",
        f"torch.masked_select({x}, {x} > 0)" if not t.dtype.is_complex else f"{x}[0]",
        f"torch.take({x}, torch.tensor([0]))",
        f"{x}[..., torch.tensor([0, -1])]",
    ]
    if t.dim() == 2:
        k = max(last - 1, 0)
        forms += [
            f"{x}[torch.tensor([0, 1]), torch.tensor([0, {k}])]",
            f"{x}[:, torch.tensor([0])]",
            f"{x}.gather(1, torch.tensor([[0, {k}]]))",
            f"{x}.gather(0, torch.zeros({n}, {last}, dtype=torch.int64))",
            f"{x}[torch.tensor([[0], [1]]), torch.tensor([0, {k}])]",
            f"torch.take_along_dim({x}, torch.tensor([[0]]), dim=1)",
        ]
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(4)
def join(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and t.numel() > 0)
    if x is None:
        return None
    shape = w.t(x).shape
    y = w.pick(lambda t: t.shape == shape)
    form = w.one("cat", "stack", "cat", "hstack", "vstack")
    more = "" if form in ("hstack", "vstack") else f", dim={w.dim(w.t(x))}"
    return f"{w.new()} = torch.{form}([{x}, {y}]{more})"


@template(5)
def several(w: Writer) -> str | None:
    x = w.floating()
    y = x and w.floating(lambda t: broadcasts(t.shape, w.t(x).shape) and t.dtype == w.t(x).dtype)
    if not x or not y:
        return None
    forms = [
        f"torch.where({x} > 0, {x}, {y})", f"torch.where({x} > {y}, {y}, 0.0)", f"{x}.clamp(-0.5, 0.5)",
        f"{x}.clamp(min=0)", f"torch.lerp({x}, {y}, 0.3)", f"torch.addcmul({x}, {x}, {y}, value=2)",
        f"torch.addcdiv({x}, {x}, {y}, value=0.5)", f"{x}.masked_fill({x} > 0, 1.5)", f"torch.nn.functional.mse_loss({x}, {y})",
        f"{x}.tril()" if w.t(x).dim() >= 2 else f"{x}.sum()", f"{x}.repeat(2)" if w.t(x).dim() <= 1 else f"{x}.triu(1)",
        f"{x}.to({y})", f"{x}.float()", f"{x}.double()", f"{x}.to(torch.float32)", f"{x}.type_as({y})",
        f"torch.nn.functional.smooth_l1_loss({x}, {y})", f"{x}.new_zeros(2)", f"torch.zeros_like({x})", f"{x}.clone()",
        f"{x}.contiguous()", f"torch.nn.functional.normalize({x}, dim=-1)", f"torch.nn.functional.layer_norm({x}, {x}.shape[-1:])",
        f"torch.clamp({x}, max={y})", f"torch.full_like({x}, 2.0)", f"torch.ones_like({x}, requires_grad=True)",
        f"{x}.nan_to_num()", f"torch.nn.functional.pad({x}, (1, 1))", f"torch.nn.functional.threshold({x}, 0.1, 2.0)",
        f"torch.logaddexp({x}, {y})", f"torch.nn.functional.l1_loss({x}, {y}, reduction='sum')", f"{x}.sum_to_size({x}.shape)",
        f"torch.heaviside({x}, {y})", f"torch.fmax({x}, {y})", f"torch.xlogy({x}, {y}.abs())",
    ]  # fmt: skip
    return f"{w.new()} = {w.rng.choice(forms)}"


@template(1.2)
def complex_numbers(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dtype.is_complex)
    if x is None:
        r = w.floating(lambda t: t.dtype is torch.float64)
        return (
            r
            and f"{w.new()} = {w.one(f'torch.complex({r}, {r})', f'{r} * 1j', f'torch.polar({r}.abs(), {r})', f'{r} + 2j')}"
        )
    forms = [
        f"{x}.real",
        f"{x}.imag",
        f"{x}.abs()",
        f"{x}.angle()",
        f"torch.view_as_real({x})",
        f"{x}.exp()",
        f"{x} * {x}.conj()",
        f"{x}.mH" if w.t(x).dim() >= 2 else f"{x}.sin()",
        f"{x}.sgn()",
        f"{x}.sqrt()",
        f"({x} * {x}).imag",
    ]
    return f"{w.new()} = {w.rng.choice(forms)}"


def fits_into(u: Any, t: Any) -> bool:
    if u.requires_grad and not (t.dtype.is_floating_point or t.dtype.is_complex):
        return False  # PyTorch lets a view of integers require a gradient then
    if u is not t and u.untyped_storage().data_ptr() == t.untyped_storage().data_ptr():
        return False  # what is read may be what was just written
    return broadcasts(u.shape, t.shape) and u.dim() <= t.dim() and u.dtype is not torch.bool


def inplace_text(w: Writer, x: str) -> str | None:
    t = w.t(x)
    y = w.pick(lambda u: fits_into(u, t)) or "2.0"
    if t.dtype is torch.bool:  # which of several refusals comes first is nobody's promise
        return w.one(f"{x}.zero_()", f"{x}.fill_(True)", f"{x} += {y}", f"{x}.logical_not_()", f"{x} ^= True")
    forms = [
        f"{x}.add_({y})", f"{x}.mul_({y})", f"{x}.sub_({y}, alpha=2)", f"{x}.div_({w.one('2.0', y)})", f"{x} += {y}", f"{x} *= {y}", f"{x} -= 1", f"{x} /= 2",
        f"{x}.zero_()", f"{x}.fill_(1.5)", f"{x}.copy_({y})" if y[0] == "v" else f"{x}.neg_()", f"{x}.neg_()", f"{x}.exp_()", f"{x}.sigmoid_()", f"{x}.tanh_()", f"{x}.relu_()",
        f"{x}.clamp_(-1, 1)", f"{x}.sqrt_()", f"{x}.square_()", f"{x}.pow_(2)", f"{x}.abs_()", f"{x}.masked_fill_({x} > 0, 0.5)" if not t.dtype.is_complex else f"{x}.neg_()", f"{x}.lerp_({x}, 0.5)" if t.dtype.is_floating_point else f"{x}.neg_()", f"{x}.addcmul_({x}, {x})", f"torch.nn.functional.relu({x}, inplace=True)", f"{x}.clamp_(min=0.1)", f"{x}.sin_()", f"{x}.reciprocal_()",
        f"torch.add({x}, 1, out={x})", f"{x}.cos_()",
    ]  # fmt: skip
    if t.dim() and t.numel():
        n = max(t.shape[0], 1)
        forms += [
            f"{x}[0] = {w.one('1.0', f'{x}[-1]', y)}",
            f"{x}[...] = {w.one('0.5', y)}",
            f"{x}[torch.tensor([0])] = 2.0",
            f"{x}[{x} > 0] = -1.0" if not t.dtype.is_complex else f"{x}[0] = 1j",
            f"{x}[1:] += 1",
            f"{x}[{w.rng.randint(0, n - 1)}] *= 2",
            f"{x}[::2] = {w.one('0.0', f'{x}[0]')}",
            f"{x}.index_fill_(0, torch.tensor([0]), 0.0)",
            f"{x}.index_add_(0, torch.tensor([0]), {x}[:1].clone())",
            f"{x}.index_copy_(0, torch.tensor([0]), {x}[-1:].clone())",
            f"{x}.select(0, 0).mul_(3)",
            f"{x}.cumsum_(0)" if t.dtype is not torch.bool else f"{x}.zero_()",
        ]
        if not (t.is_leaf and t.requires_grad):  # a leaf's saved copies keep the old shape in PyTorch
            forms += [f"{x}.transpose_(0, -1)", f"{x}.unsqueeze_(0)", f"{x}.squeeze_()"]
    if t.dim() == 2 and t.numel():
        forms += [
            f"{x}[:, 0] = {w.one('2.0', f'{x}[:, -1]')}",
            f"{x}.t_()",
            f"{x}.t().mul_(2)",
            f"{x}.diagonal().fill_(1.0)",
            f"{x}[:, 1:].add_(1)",
            f"{x}.tril_()",
            f"{x}.fill_diagonal_(0.0)",
            f"{x}.scatter_(1, torch.zeros(2, 1, dtype=torch.int64), 1.5)",
            f"{x}.scatter_add_(1, torch.zeros(2, 1, dtype=torch.int64), {x}.detach().clone()[:2, :1])",
        ]
    return w.rng.choice(forms)


@template(13)
def inplace(w: Writer) -> str | None:
    x = w.pick(lambda t: not (t.is_leaf and t.requires_grad)) if w.chance(0.95) else w.pick()
    if x and w.t(x).is_inference():
        return None  # PyTorch raises after it has written
    return x and well_defined(w, x) and inplace_text(w, x)


def well_defined(w: Writer, x: str) -> bool:
    """Windows that overlap are written twice, with a result that depends on the order."""
    return torch._debug_has_internal_overlap(w.t(x)) != 2


@template(3)
def inplace_on_view_of_view(w: Writer) -> str | None:
    x = w.pick(lambda t: t.dim() >= 1 and not (t.is_leaf and t.requires_grad))
    if x is None or not well_defined(w, x) or w.t(x).is_inference():
        return None
    inner = view_text(w, x)
    if inner is None or "unfold" in inner:  # its windows overlap: what is written twice is undefined
        return None
    return f"{inner}.{w.one('mul_(2)', 'add_(1)', 'zero_()', 'copy_(torch.ones(()))', 'sin_()', 'clamp_(min=0)', 'fill_(2)')}"


@template(3)
def quiet(w: Writer) -> str | None:
    x = w.pick(lambda t: torch._debug_has_internal_overlap(t) != 2 and not t.is_inference())
    change = inplace_text(w, x)
    if change and re.search(r"(squeeze|transpose|\bt)_\(", change):
        return None  # a new shape with an old history
    body = w.rng.choices([change, f"{w.new()} = {view_text(w, x)}", f"{w.new()} = {x} * 2"], [3, 3, 1])[0]
    mode = w.rng.choices(["no_grad()", "enable_grad()", "set_grad_enabled(False)", "inference_mode()"], [6, 1, 1, 0.7])[
        0
    ]
    if w.chance(0.15):
        return f"with torch.no_grad():\n    with torch.enable_grad():\n        {body}"
    return f"with torch.{mode}:\n    {body}"


@template(5)
def cut(w: Writer) -> str | None:
    x = w.pick()
    forms = [
        f"{w.new()} = {x}.detach()",
        f"{w.new()} = {x}.clone()",
        f"{w.new()} = {x}.data",
        f"{w.new()} = {x}.detach().requires_grad_()",
        f"{w.new()} = {x}.detach().clone().requires_grad_()",
        f"{x}.requires_grad_()",
        f"{x}.requires_grad_(False)",
        *([f"{x}.detach_()"] if w.t(x)._is_view() or not w.t(x).requires_grad else []),
        f"{x}.requires_grad = {w.one('True', 'False')}",
        f"{x}.retain_grad()",
        f"{x}.grad = None",
        f"{w.new()} = {x}.item()" if w.t(x).numel() == 1 else f"{w.new()} = {x}.tolist()",
    ]
    return w.rng.choice(forms)


@template(2)
def hook(w: Writer) -> str | None:
    x = w.pick(lambda t: t.requires_grad and not t._is_view())  # PyTorch may crash on a view
    return x and f"{x}.register_hook(lambda g: {w.one('g * 2', 'None', 'g + 1', 'g.clone()', 'g.sin()')})"


@template(5)
def backward(w: Writer) -> str | None:
    x = w.pick(lambda t: t.requires_grad)
    if x is None:
        return None
    flags = w.one("", "", "retain_graph=True", "create_graph=True", "retain_graph=True")
    if w.chance(0.1):
        return f"{x}.backward({flags})"
    if w.chance(0.2):
        return f"{x}.backward(torch.ones_like({x}){', ' + flags if flags else ''})"
    return f"({w.one(f'{x}', f'{x} * {x}', f'{x} * 2')}).sum().backward({flags})"


@template(5)
def take_grad(w: Writer) -> str | None:
    y = w.pick(lambda t: t.requires_grad and (t.dtype.is_floating_point or t.dtype.is_complex))
    x = w.pick(lambda t: t.requires_grad)
    if y is None or x is None:
        return None
    flags = w.one("", ", create_graph=True", ", create_graph=True", ", retain_graph=True")
    unused = w.one("", ", allow_unused=True", ", allow_unused=True", ", materialize_grads=True")
    form = f"({y} * {y}).sum()" if not w.t(y).dtype.is_complex else f"{y}.abs().sum()"
    return f"{w.new()}, = torch.autograd.grad({form}, [{x}]{flags}{unused})"


@template(1)
def use_grad(w: Writer) -> str | None:
    x = w.pick(lambda t: t.is_leaf and t.grad is not None)
    return x and w.one(
        f"{w.new()} = {x}.grad",
        f"{x}.grad.zero_()",
        f"{w.new()} = {x}.grad * 2",
        f"{x}.grad = None",
        f"{x}.data -= 0.1 * {x}.grad",
    )


def finale(w: Writer) -> list[str]:
    """A loss over everything that still wants a gradient; its gradients; their gradients."""
    ends = [
        n
        for n, t in w.tensors().items()
        if holds(lambda t: t.requires_grad and t.dtype is torch.float64 and not t.is_leaf, t)
    ][-4:]
    leaves = [
        n
        for n, t in w.tensors().items()
        if holds(lambda t: t.requires_grad and t.is_leaf and t.dtype is torch.float64, t)
    ]
    ends = [e for e in ends if w.chance(0.15) or pulls_back(w, e, leaves)]
    if not ends or not leaves:
        return []
    loss = " + ".join(f"({e} * {w.one(e, '1.5', e + '.sin()')}).sum()" for e in ends)
    names = ", ".join(leaves)
    found = [f"g{i}" for i in range(len(leaves))]
    steps = [
        f"g100 = {loss}",
        f"{', '.join(found)}, = torch.autograd.grad(g100, [{names}], create_graph=True, allow_unused=True)",
    ]
    again = " + ".join(f"(({g}.atan() * {x}).sum() if {g} is not None else 0)" for g, x in zip(found, leaves))
    steps += [
        f"g101 = {again}",
        f"g102 = torch.autograd.grad(g101, [{names}], allow_unused=True, retain_graph=True) if isinstance(g101, torch.Tensor) else None",
    ]
    return [*steps, "g100.backward()"]


def pulls_back(w: Writer, end: str, leaves: list[str]) -> bool:
    """Does a gradient of this tensor still come through: nothing freed, nothing stale?"""
    try:
        t = w.t(end)
        torch.autograd.grad((t * t).sum(), [w.t(n) for n in leaves], allow_unused=True, retain_graph=True)
    except Exception:
        return False
    return True


def program(seed: int, length: int | None = None) -> tuple[list[Step], bool]:
    w = Writer(seed)
    return w.write(length or w.rng.randint(4, 16)), w.every


def shown(steps: list[Step]) -> str:
    return "\n".join(s.text for s in steps)
