"""Random programs over tensors, run under PyTorch and under Chainrule, step by step the same or a difference to report.

A program is a list of steps, pieces of Python that use `torch` and variables v0, v1, ... `tests.oracle.writer` writes
them. `difference` compares two runs; `shrunk` deletes steps while the difference stays.
"""

from __future__ import annotations

import copy
import itertools
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from chainrule.errors import StaleError


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
    scope = started(lib)
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


PRELUDE = compile((Path(__file__).parent / "prelude.py").read_text(), "<prelude>", "exec")
_compiled: dict[str, Any] = {}


def started(lib: Any) -> dict[str, Any]:
    """What a program finds when it begins."""
    scope: dict[str, Any] = {"torch": lib, "math": math, "copy": copy, "__name__": "program"}
    exec(PRELUDE, scope)
    lib.manual_seed(0)
    return scope


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
    seen = {name: look(lib, scope[name], births.get(name)) for name in variables(scope)}
    return seen | {"log": look(lib, scope["log"])} if scope.get("log") else seen


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
    grad = value.grad if facts["is_leaf"] is True or facts["retains"] is True else None
    facts["grad"] = None if grad is None else array(grad)
    return facts


_FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: tuple(t.shape),
    "dtype": lambda t: str(t.dtype),
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf and t.grad_fn is None,  # a view whose history is forbidden raises at grad_fn
    "grad_fn": lambda t: t.grad_fn.name().rstrip("0123456789").replace("Unsafe", "") if t.grad_fn is not None else None,
    "version": lambda t: t._version,
    "stride": lambda t: tuple(s for s, n in zip(t.stride(), t.shape) if n > 1) if t.numel() else None,
    "is_view": lambda t: t._is_view(),
    "retains": lambda t: t.retains_grad,
    "inference": lambda t: t.is_inference(),
}


def array(t: Any) -> Any:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj().resolve_neg().clone()  # a tensor shared with NumPy cannot be resized
        return np.array((t.float() if t.dtype is torch.bfloat16 else t).numpy())
    raw = np.array(t.detach().resolve_conj().resolve_neg().raw)
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
    reference = run(torch, steps, every)
    found = first_difference(steps, reference, mine)
    if found is not None and found.what in ("value", "grad", "number", "structure") and shaky(steps, reference, every):
        return None
    if found is not None and found.what == "silent" and "modified by an inplace operation" in found.detail:
        return first_difference(steps, run(torch, steps, every, cloning=True), mine, lenient=True)
    return found


def shaky(steps: list[Step], reference: list[Seen], every: bool) -> bool:
    """Does PyTorch itself say something else when its inputs move by rounding errors of the dtypes in play, each by
    another?"""
    zeros = "0" * {1e-7: 10, 2e-4: 3, 6e-2: 0}[tolerance(steps, reference)]
    for errors in ("3592748", "81493", "629"):
        digits = itertools.cycle(errors)
        moved = [Step(s.kind, LAST_DIGIT.sub(lambda _: zeros + next(digits), s.text)) for s in steps]
        if first_difference(steps, reference, run(torch, moved, every)) is not None:
            return True
    return False


LAST_DIGIT = re.compile(r"(?<=\d\.\d{3})(?=\D)")


@dataclass
class Leeway:
    """What two runs may differ in."""

    computed: set[str]  # variables that hold gradients: which nodes a backward pass records is the rule's own affair
    derived: set[str]  # those, and what was made of them: how it lies in memory is too
    lenient: bool  # PyTorch kept copies of what it saved, so nothing of it went stale; ours may have
    tol: float
    hooked: bool = False  # a hook of the program changes what passes
    constant: Callable[[str], bool] = bool  # see `is_constant`
    second: bool = False  # a second derivative was taken: what passes inner values on the way is the rules' own affair


def first_difference(
    steps: list[Step], theirs: list[Seen], mine: list[Seen], lenient: bool = False
) -> Difference | None:
    computed = gradients(steps)
    leeway = Leeway(computed, made_of(computed, steps), lenient, tolerance(steps, theirs))
    leeway.constant = cache(partial(is_constant, steps=steps))
    leeway.hooked = any(s.kind == "hook" for s in steps)
    for at, (a, b) in enumerate(zip(theirs, mine)):
        leeway.second = leeway.second or "create_graph" in steps[at].text
        if lenient and b.error is not None and issubclass(b.error[0], StaleError):
            continue
        found = compare_errors(a.error, b.error)
        if found is None and a.error is not None and a.error[0] is not NameError and HALF_DONE.search(steps[at].text):
            return None  # how far a pass, or a write, came before it raised is nobody's promise
        found = found or compare_facts(a.facts, b.facts, leeway)
        if found is not None and (found[0], kind_of(found[1], steps[: at + 1])) in ACCEPTED:
            return None
        if found is not None and (
            internal(found, steps[at], leeway) or without_history(found, steps[: at + 1], leeway)
        ):
            return None
        if found is not None:
            return Difference(at, *found)
    return None


HALF_DONE = re.compile(r"backward|out=|(remainder|fmod|div|divide)_\(|index_(fill|add|copy|put|reduce)_|scatter_")


def internal(found: tuple[str, str], step: Step, leeway: Leeway) -> bool:
    """Is the difference one between the rules of the two, that a program should not count on?"""
    what, detail = found
    back = "grad(" in step.text or "backward(" in step.text
    if back and what == "silent" and re.search(r"(with|on) a bool tensor is not supported", detail):
        return True  # PyTorch's rule negates, or subtracts, an input that is a mask
    if back and what == "silent" and "doesn't match the broadcast shape" in detail:
        return True  # its rule for `clamp` writes a mask of one bound into one that is smaller
    if what == "message" and detail.startswith("Trying to backward") and "modified by an inplace" in detail:
        return True  # both are the case: PyTorch's rule meets a tensor first that ours does not keep
    if back and what == "message" and "modified by an inplace" in detail and "is not implemented" in detail:
        return True  # both are the case too
    if what in ("message", "type", "silent") and _MANY in detail:
        return bool(set(re.findall(r"\b[vg]\d+\b", step.text)) & leeway.derived)  # its transform returns a view
    if what == "silent":  # its rule keeps a tensor that ours does not need
        return any(
            text in detail
            for text in (
                "second time",
                "yet support saved tensor hooks",  # those with which the reference was run again
            )
        )
    return what == "message" and "is_grads_batched" in step.text


_MANY = "of a function that returns multiple views"


def without_history(found: tuple[str, str], steps: list[Step], leeway: Leeway) -> bool:
    """Does ours refuse a step because of a variable that only in PyTorch has a history, one that leads to zeros?"""
    what, detail = found
    if what != "raises" or not re.search(r"does(n't| not) require grad", detail):
        return False
    names = set(re.findall(r"\b[vg]\d+\b", steps[-1].text)) & leeway.derived
    return any(map(leeway.constant, names))


def is_constant(name: str, steps: list[Step]) -> bool:
    """Has a variable a history in PyTorch that gives nothing but zeros? A constant derivative has none in ours."""
    try:
        return leads_to_zeros(*born(name, steps))
    except RuntimeError:  # something went stale: copies do not, but transforms take none
        pass
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        t, leaves = born(name, steps)
    try:
        return leads_to_zeros(t, leaves)
    except RuntimeError:  # it was freed before, or is no tensor to be asked
        return False


def born(name: str, steps: list[Step]) -> tuple[Any, list[Any]]:
    """A variable as PyTorch has just made it, for a later pass may free its history; and the leaves there are."""
    scope = started(torch)
    for step in steps:
        attempt(scope, step.text)
        if name in scope:
            break
    tensors = [t for t in map(scope.get, variables(scope)) if isinstance(t, torch.Tensor)]
    return scope.get(name), [t for t in tensors if is_wanted(t)]


def leads_to_zeros(t: Any, leaves: list[Any]) -> bool:
    if not isinstance(t, torch.Tensor) or not t.requires_grad or t.is_leaf:
        return False
    weights = torch.arange(1.0, 1 + t.numel()).cos().reshape(t.shape).to(t.dtype)
    found = torch.autograd.grad(t, leaves, weights, allow_unused=True)
    return not any(g is not None and bool(g.any()) for g in found)


def is_wanted(t: Any) -> bool:
    try:
        return bool(t.is_leaf and t.requires_grad)
    except RuntimeError:
        return False


def kind_of(detail: str, steps: list[Step]) -> str:
    """The kind of step that made the variable in which two runs differ; of the last step, if it is about none."""
    name = detail.partition(":")[0]
    made = [s.kind for s in steps if re.match(rf"(\s*|.*\n\s*|.*, ){name}\b[^=]* = ", s.text)]
    return made[-1] if made and re.fullmatch(r"[vg]\d+", name) else steps[-1].kind


def tolerance(steps: list[Step], seen: list[Seen]) -> float:
    """What the coarsest dtype of a program allows: one that its text names, or that a value has."""
    dtypes = {v["dtype"] for one in seen for v in one.facts.values() if isinstance(v, dict)}
    text = "\n".join([*(s.text for s in steps), *dtypes])
    if any(word in text for word in ("float16", "half()", "bfloat16")):
        return 6e-2
    return (
        2e-4 if any(word in text for word in ("float32", ".float()", "complex64", "torch.rand", "torch.full")) else 1e-7
    )


# (what, kind of step) that stays: the program is followed no further.
ACCEPTED = {
    *(
        ("stride", kind)
        for kind in ("binary", "mixed", "several", "compare", "power", "blocks", "packed", "checkpointed", "call")
    ),  # NumPy's order where operands lie differently in memory
    *(
        (what, "into_out") for what in ("message", "shape", "stride")
    ),  # which of two refusals comes first, and after how much of the work; how a target that is resized lies
    # arguments drawn at random may be wrong in several ways, and an odd layout may take PyTorch another path
    ("message", "call"),
    ("is_view", "several"),  # `to` gives the tensor itself, and a gradient may be a view or not
    ("is_view", "matmul"),  # which of several products it is, and how they are folded
}
SAME_NODE = [
    {"torch::autograd::Identity", "ViewBackward"},  # of the primal of a dual number
    {"SelectBackward", "AsStridedBackward"},  # of a real part, changed in place: the last step of a history made anew
]
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
    if theirs[0] is TypeError and ours[0] is TypeError and "argument" in theirs[1] and "argument" in ours[1]:
        return None  # which arguments a signature takes, each says in its own way
    if "derivative for aten::" in theirs[1] and theirs[1].replace("_ is", " is") == ours[1]:
        return None  # of an op that has no derivative, in place or not
    if first_sentence(theirs[1]).lower() not in re.sub(r"\d+", "#", ours[1]).lower():
        return "message", f"{ours[1][:300]}\n  not: {theirs[1][:300]}"
    return None


def made_of(names: set[str], steps: list[Step]) -> set[str]:
    """These variables, and those made of them."""
    found = set(names)
    for line in (line for s in steps for line in s.text.split("\n")):
        left, _, right = line.partition(" = ")
        if right and found & set(re.findall(r"\b[vg]\d+\b", right)):
            found |= set(re.findall(r"^\s*([vg]\d+)\b(?!\[)", left)) | set(
                re.findall(r"\b[vg]\d+\b", left) if ", " in left else ()
            )
    return found


def gradients(steps: list[Step]) -> set[str]:
    """The variables that hold gradients: which nodes a backward pass records is the rule's own affair."""
    kinds = ("take_grad", "use_grad", "finale", "passes", "transformed", "nested", "dual")
    text = "\n".join(line.partition(" = ")[0] for s in steps if s.kind in kinds for line in s.text.split("\n"))
    return set(re.findall(r"\b[vg]\d+\b", text))


def compare_facts(theirs: Any, ours: Any, leeway: Leeway) -> tuple[str, str] | None:
    for name in theirs:
        if name == "log" and leeway.second:
            continue
        if name not in ours:
            if leeway.lenient:
                continue
            return "absent", name
        found = compare_one(theirs[name], ours[name], name, leeway)
        if found is not None:
            return found[0], f"{name}: {found[1]}"
    return None


def compare_one(theirs: Any, ours: Any, name: str, leeway: Leeway) -> tuple[str, str] | None:
    computed = name in leeway.computed
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return "structure", f"{ours} not {theirs}"
        pairs = (compare_one(a, b, name, leeway) for a, b in zip(theirs, ours))
        return next((p for p in pairs if p is not None), None)
    if computed and theirs == 0 and isinstance(ours, dict) and not np.any(ours["value"]):
        return None  # a sum of no gradients, or of zeros
    if computed and theirs == "NoneType" and isinstance(ours, list):
        return next((p for p in (compare_one(theirs, b, name, leeway) for b in ours) if p is not None), None)
    if computed and theirs == "NoneType" and isinstance(ours, dict) and not np.any(ours["value"]):
        return None  # no gradient, or zeros
    if not isinstance(theirs, dict):
        near = {"rtol": leeway.tol, "atol": leeway.tol, "equal_nan": True}
        same = theirs == ours or (theirs.__class__ is float and np.isclose(theirs, ours, **near))
        return None if same else ("number", f"{ours!r} not {theirs!r}")
    if computed and ours == "NoneType":
        return None if not np.any(theirs["value"]) else ("structure", "no gradient, not " + str(theirs["value"]))
    if not isinstance(ours, dict):
        return "structure", f"{ours} not a tensor"
    return compare_tensors(theirs, ours, name, leeway)


OF_GRADIENTS = ("requires_grad", "grad_fn", "is_leaf")  # the rule's own affair, but that it can be differentiated
OF_MEMORY = ("is_view", "stride", "version", "grad_fn")


def compare_tensors(theirs: Any, ours: Any, name: str, leeway: Leeway) -> tuple[str, str] | None:
    computed = name in leeway.computed
    for key, value in theirs.items():
        if key in ("value", "grad"):
            if leeway.second and ((key == "grad" and theirs["retains"]) or (computed and leeway.hooked)):
                continue
            nothing = key == "grad" and ours[key] is None and value is not None and not np.any(value)
            if nothing and any(map(leeway.constant, leeway.derived)):
                continue  # what a constant passes on is nothing
            if not close(value, ours[key], computed or key == "grad", leeway.tol):
                return key, f"{ours[key]!r}\n  not {value!r}"
        elif value != ours[key] and not (
            key == "grad_fn" and ({value, ours[key]} <= COPIES or {value, ours[key]} in SAME_NODE)
        ):
            if key in OF_GRADIENTS and name in leeway.derived and theirs["requires_grad"] and not ours["requires_grad"]:
                if leeway.constant(name):
                    continue
            if not (computed and key in OF_GRADIENTS and (key != "requires_grad" or ours[key])) and not (
                name in leeway.derived and key in OF_MEMORY
            ):
                return key, f"{ours[key]!r} not {value!r}"
    return None


ROUNDING = {"float32": 2e-4, "complex64": 2e-4, "float16": 6e-2}


def close(a: Any, b: Any, computed: bool, tol: float) -> bool:
    """Equal up to rounding. `computed`: where one gradient is nan, the other's formula may have had a finite way."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    tol = max(tol, ROUNDING.get(a.dtype.name, 0.0))
    if computed:
        known = ~(np.isnan(a) | np.isnan(b))
        a, b = a[known], b[known]
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


def shown(steps: list[Step]) -> str:
    return "\n".join(s.text for s in steps)
