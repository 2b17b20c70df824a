"""Which argument was it? When a call failed, its arguments are held against the declaration, and one of a type that
no reading of the parameter takes is named in PyTorch's words. Calls that succeed never come here.

Parameters are read off annotations: `dim: int | None`, `size: Shape`. What is written as `Any` is judged by its name,
if that means one thing everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import Size
from chainrule.core.tensor import Tensor

__all__ = [
    "ABSENT", "Param", "blame", "blame_call", "check_flags", "faulty", "flags_of", "kind_of", "missing", "params_of",
    "without",
]  # fmt: skip


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) or hasattr(type(x), "__torch_function__")


def _is_int(x: Any) -> bool:
    if isinstance(x, Tensor):
        return x.ndim == 0 and x.dtype.category == 1
    return hasattr(type(x), "__index__") and not isinstance(x, (bool, np.bool_, np.ndarray))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.bool_)) or (isinstance(x, Tensor) and _stands(x))


def _stands(t: Tensor) -> bool:
    """May a tensor stand for a number? Not if its gradient would be lost."""
    return t.ndim == 0 and t.edge is None


def _is_float(x: Any) -> bool:
    if isinstance(x, Tensor):
        return _stands(x) and not x.dtype.is_complex
    return isinstance(x, (int, float, np.floating, np.integer)) or hasattr(type(x), "__index__")


def _is_ints(x: Any) -> bool:
    if isinstance(x, Size):
        return True
    return isinstance(x, (tuple, list)) and all(map(_is_int, x))


# The word in PyTorch's message -> what counts as one.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "Number": _is_number,
    "Tensor": _is_tensor,
    "bool": lambda x: isinstance(x, (bool, np.bool_)),
    "float": _is_float,
    "int": _is_int,
    "None": lambda x: x is None,
    "str": lambda x: isinstance(x, str),
    "torch.dtype": lambda x: isinstance(x, DType) or x in (float, int, bool, complex),
    "tuple of Tensors": lambda x: isinstance(x, (tuple, list)) and all(map(_is_tensor, x)),
    "tuple of ints": _is_ints,
}
_WORDS = {
    "Array": ("Tensor",), "Tensor": ("Tensor",), "DType": ("torch.dtype",), "DType | None": ("torch.dtype",),
    "Ints": ("tuple of ints",), "None": ("None",), "Number": ("Number",), "Shape": ("tuple of ints",),
    "bool": ("bool",), "float": ("float",), "int": ("int",), "str": ("str",), "tuple[int, ...]": ("tuple of ints",),
}  # fmt: skip
# Functions of which PyTorch has several signatures: it then names none of the arguments, but lists what came.
_OVERLOADED = frozenset(
    (
        "add addbmm addcdiv addcmul addmm addmv addr all any arange argsort baddbmm bartlett_window bernoulli "
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor blackman_window bmm bucketize "
        "clamp clamp_max clamp_min clip cond conv1d conv2d conv3d copy copysign count_nonzero ctc_loss "
        "cumulative_trapezoid div divide dsplit eq eye fill float_power floor_divide fmod ge gradient greater "
        "greater_equal gt hamming_window hann_window histogram hsplit index_fill isin kaiser_window le lerp less "
        "less_equal linspace logspace lt masked_fill matrix_norm matrix_rank max mean median min mm moveaxis movedim "
        "multiply nanmedian nanquantile narrow ne norm normal not_equal nuclear_norm pinv pow prod quantile rand "
        "rand_like randint randint_like randn randn_like random randperm remainder repeat_interleave result_type "
        "round rsub scatter searchsorted set sort squeeze squeeze_copy std std_mean sub subtract sum tensor_split to "
        "trapezoid trapz true_divide type var var_mean view view_copy vsplit where xlog1py xlogy zeta"
    ).split()
)
# Of those, by the number of arguments given: where one signature alone takes so many, which then names its argument.
_ALONE = {
    1: frozenset(
        "arange argsort bartlett_window bernoulli blackman_window count_nonzero cumulative_trapezoid eye gradient "
        "hamming_window hann_window histogram kaiser_window matrix_norm max mean median min nanmedian normal "
        "nuclear_norm prod rand rand_like randn randn_like randperm repeat_interleave round sort squeeze squeeze_copy "
        "sum trapezoid trapz where".split()
    ),
    2: frozenset("add bmm copy div median mm nanmedian norm randint sub type".split()),
    3: frozenset("addbmm addcdiv addcmul addmm addmv addr baddbmm median nanmedian norm prod sum".split()),
}


class Param:
    """One parameter: its name, its place among those that may be given by position, the words of what it takes."""

    __slots__ = ("default", "name", "place", "words")

    def __init__(self, name: str, place: int | None, words: tuple[str, ...] | None, default: Any) -> None:
        self.name, self.place, self.words, self.default = name, place, words, default

    def takes(self, value: Any) -> bool:
        """May the value be given for it?"""
        return self.words is None or value is self.default or any([_KINDS[word](value) for word in self.words])


# What these names mean wherever they are parameters.
_TENSORS = (
    "A B anchor batch1 batch2 grid index input input1 input2 input3 log_probs mask mat mat1 mat2 negative positive "
    "query target targets tau tensor tensor1 tensor2 theta vec vec1 vec2 x1 x2 y"
)
_SIZES = "dilation kernel_size normalized_shape output_padding size stride"
_FLAGS = "inplace keepdim pin_memory requires_grad training unbiased"
_NAMED = {
    **dict.fromkeys(_TENSORS.split(), ("Tensor",)),
    **dict.fromkeys(_FLAGS.split(), ("bool",)),
    **dict.fromkeys(("attn_mask", "bias", "pos_weight", "weight"), ("Tensor", "None")),
    **dict.fromkeys(_SIZES.split(), ("tuple of ints", "int")),
    "padding": ("tuple of ints", "int", "str"),
    "pad": ("tuple of ints",),
    "q": ("Number", "Tensor"),
    "dim": ("int", "tuple of ints", "None"),
    "dtype": ("torch.dtype", "None"),
}


def _read(name: str, note: Any) -> tuple[str, ...] | None:
    """The words of an annotation; None if neither it nor the name says."""
    if str(note) == "Any":
        return _NAMED.get(name)
    found: list[str] = []
    for part in str(note).split(" | "):
        if part not in _WORDS:
            return None
        found += _WORDS[part]
    return tuple(found)


@cache
def params_of(fn: Any, skip: int = 0) -> tuple[Param, ...]:
    """The parameters of a function, the first `skip` left out (a forward's array namespace)."""
    found = []
    for at, p in enumerate(list(inspect.signature(fn).parameters.values())[skip:]):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        place = at + 1 if p.kind is not p.KEYWORD_ONLY else None
        found.append(Param(p.name, place, _read(p.name, p.annotation), p.default))
    return tuple(found)


def faulty(params: Iterable[Param], given: Mapping[str, Any]) -> Param | None:
    """The first parameter whose value no reading of it takes."""
    for p in params:
        if p.name in given and not p.takes(given[p.name]):
            return p
    return None


def blame(title: str, params: Iterable[Param], given: Mapping[str, Any], named: Any = ()) -> TypeError | None:
    """The error for the first argument of a wrong type, or None. `named`: which were given by name."""
    params = tuple(params)
    p = faulty(params, given)
    if p is None:
        return None
    value = given[p.name]
    assert p.words is not None
    place = "" if p.place is None or p.name in named else f" (position {p.place})"
    text = f"{title}(): argument '{p.name}'{place} must be {p.words[0]}, not {kind_of(value)}{_hint(p, value)}"
    base = title.rstrip("_")
    if base not in _OVERLOADED or base in _ALONE.get(len(given), ()):
        return TypeError(text)
    got = ", ".join([f"{n}={kind_of(v)}" if n in named else kind_of(v) for n, v in given.items()])
    wanted = ", ".join([_written(q) for q in params])
    return TypeError(
        f"{title}() received an invalid combination of arguments - got ({got}), but expected ({wanted})\n  {text}"
    )


def kind_of(value: Any) -> str:
    """A type as PyTorch's messages spell it."""
    kind = type(value)
    if kind in (tuple, list) and value:
        inside = ", ".join(sorted({kind_of(v) for v in value}))
        return f"tuple of ({inside})" if kind is tuple else f"list of [{inside}]"
    if kind is DType:
        return "torch.dtype"
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _written(p: Param) -> str:
    word = p.words[0] if p.words else "object"
    return f"{word} {p.name}" if p.default is inspect.Parameter.empty else f"{word} {p.name} = {p.default}"


def _hint(p: Param, value: Any) -> str:
    """What would be taken, where the word alone does not say it."""
    if isinstance(value, Tensor):
        return f"\n  given:   a tensor of shape {list(value.shape)} and dtype {value.dtype}"
    if isinstance(value, (tuple, list)) and "tuple of ints" in (p.words or ()):
        wrong = next((x for x in value if not _is_int(x)), None)
        return f"\n  given:   {value!r:.60}, which holds a {type(wrong).__name__}"
    return f"\n  given:   {value!r:.60}" if isinstance(value, (str, int, float, complex)) else ""


def blame_call(title: str, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TypeError | None:
    """The error for the first argument of a wrong type in a call that failed; None if it failed for another reason."""
    try:
        given = inspect.signature(fn).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return None
    if "tensors" in given:
        return _no_tensor(given["tensors"])
    return blame(title, params_of(fn), given, kwargs)


def missing(title: str, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TypeError | None:
    """The error for required arguments that a call left out, or None. PyTorch has the plural the wrong way round."""
    signature = inspect.signature(fn)
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return None
    required = [p.name for p in signature.parameters.values() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    absent = [name for name in required if name not in given]
    return None if title in _OVERLOADED else without(title, absent)


class _Absent:
    """What a required argument is that may come under another name, and has not come."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<required>"


ABSENT = _Absent()


def without(title: str, names: list[str]) -> TypeError | None:
    """The error for a call without these arguments; None if there are none."""
    if not names:
        return None
    absent = [f'"{name}"' for name in names]
    plural = "s" if len(absent) == 1 else ""
    return TypeError(f"{title}() missing {len(absent)} required positional argument{plural}: {', '.join(absent)}")


def _no_tensor(listed: Any) -> TypeError | None:
    """The error for a list, or several arguments, of tensors in which one is none."""
    if len(listed) == 1 and isinstance(listed[0], (tuple, list)):
        listed = listed[0]
    at = next((at for at, t in enumerate(listed) if not _is_tensor(t)), None)
    if at is None:
        return None
    return TypeError(f"expected Tensor as element {at} in argument 0, but got {kind_of(listed[at])}")


_TRUTHY = frozenset(("full", "get_infos", "return_indices"))  # PyTorch asks these in Python, where 1 is true


def flags_of(fn: Any) -> dict[str, int]:
    """The parameters of a function that are declared as bools, and their places."""
    code = inspect.unwrap(fn).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {n: at for at, n in enumerate(names) if fn.__annotations__.get(n) == "bool" and n not in _TRUTHY}


def check_flags(title: str, fn: Any, flags: dict[str, int], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse a flag that is no bool, before it passes for one."""
    for name, at in flags.items():
        value = args[at] if at < len(args) else kwargs.get(name, True)
        if value is True or value is False or (value is None and name in ("requires_grad", "pin_memory")):
            continue
        if value is not params_of(fn)[at].default:
            fault = blame_call(title, fn, args, kwargs)
            if fault is not None:
                raise fault
