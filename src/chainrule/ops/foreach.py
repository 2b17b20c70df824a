"""One op on every tensor of a list: PyTorch's `torch._foreach_*`, each its op and a row of further arguments.

A further argument is one value for all tensors, or a list with one for each. In-place forms give the list they got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.core.family import call
from chainrule.core.public import PUBLIC, composite
from chainrule.core.tensor import Tensor

__all__: list[str] = []

_ALONE = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip

# Name -> (op, its further arguments under each name that PyTorch gives them, keywords that hold for all tensors).
_OTHER = ("other", "scalar", "scalars")
_WITH: dict[str, tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    "add": ("add", (_OTHER,), ("alpha",)),
    "sub": ("sub", (_OTHER,), ("alpha",)),
    "mul": ("mul", (_OTHER,), ()),
    "div": ("div", (_OTHER,), ()),
    "clamp_max": ("clamp_max", (_OTHER,), ()),
    "clamp_min": ("clamp_min", (_OTHER,), ()),
    "maximum": ("clamp_min", (_OTHER,), ()),
    "minimum": ("clamp_max", (_OTHER,), ()),
    "pow": ("pow", (("exponent",),), ()),
    "lerp": ("lerp", (("tensors1",), ("weight", "weights")), ()),
    "addcdiv": ("addcdiv", (("tensor1",), ("tensor2",), ("value", "scalars")), ()),
    "addcmul": ("addcmul", (("tensor1",), ("tensor2",), ("value", "scalars")), ()),
}


def _tensors(title: str, given: Any, position: int = 1) -> list[Tensor]:
    """A list of tensors, or PyTorch's refusal."""
    if not isinstance(given, (tuple, list)):
        what = "self" if position == 1 else "other"
        raise TypeError(
            f"{title}(): argument '{what}' (position {position}) must be tuple of Tensors, not {type(given).__name__}"
        )
    for at, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {at} in argument 0, but got {type(t).__name__}")
    if not given:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(given)


def _column(value: Any, size: int, packed: bool = False) -> list[Any]:
    """An argument, once per tensor; `packed`: numbers may come as a tensor of them."""
    if isinstance(value, Tensor) and packed:
        value = value.tolist()
    elif isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.ndim} dimensions and {value.shape.numel()} elements."
        )
    if not isinstance(value, (tuple, list)):
        return [value] * size
    if len(value) != size:
        if any(isinstance(v, Tensor) for v in value):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {size} and {len(value)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(value)


def _placed(title: str, slots: tuple[tuple[str, ...], ...], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The further arguments in order, by position or by one of their names; the last of several may be left out."""
    found = list(args)
    for names in slots[len(args) :]:
        given = [named.pop(n) for n in names if n in named]
        if given:
            found.append(given[0])
        elif len(found) < 2:
            raise TypeError(f'{title}() missing 1 required positional arguments: "{" or ".join(names)}"')
    if named or len(found) > len(slots):
        what = next(iter(named), None)
        raise TypeError(
            f"{title}() got an unexpected keyword argument '{what}'" if what else f"{title}() takes fewer arguments"
        )
    return found


def _alone(name: str, act: Callable[..., Any], title: str) -> Callable[..., Any]:
    def each(self: Any) -> Any:
        results = [act(t) for t in _tensors(title, self)]
        return self if title.endswith("_") else tuple(results)

    return _described(each, title, name)


def _with(name: str, act: Callable[..., Any], title: str) -> Callable[..., Any]:
    _, slots, keywords = _WITH[name]

    def each(self: Any, *args: Any, **named: Any) -> Any:
        for_all = {k: named.pop(k) for k in keywords if k in named}
        if name == "pow" and not isinstance(self, (tuple, list)) and args:
            return tuple(call("pow", self, e) for e in _tensors(title, args[0], 2))
        tensors = _tensors(title, self)
        given = _placed(title, slots, args, named)
        columns = [_column(v, len(tensors), at == 2) for at, v in enumerate(given)]
        numbers = columns.pop() if len(columns) == 3 else None
        by_name = [for_all] * len(tensors) if numbers is None else [{"value": v} for v in numbers]
        results = [act(t, *row, **k) for t, row, k in zip(tensors, zip(*columns), by_name)]
        return self if title.endswith("_") else tuple(results)

    return _described(each, title, name)


def _described(each: Any, title: str, name: str) -> Callable[..., Any]:
    each.__name__ = each.__qualname__ = title
    each.__doc__ = f"`{name}` of every tensor of a list{', in place' if title.endswith('_') else ''}."
    described: Callable[..., Any] = composite(spelled="f", name=title)(each)
    return described


def _element(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The op of one tensor, and its in-place form; looked up when called, as methods may be declared later."""
    return (
        lambda *args, **named: PUBLIC["f"][name](*args, **named),
        lambda t, *args, **named: PUBLIC["m"][name + "_"](t, *args, **named),
    )


def _declare(names: Any, make: Callable[..., Any], op_of: Callable[[str], str]) -> None:
    for name in names:
        for act, title in zip(_element(op_of(name)), (f"_foreach_{name}", f"_foreach_{name}_")):
            make(name, act, title)


_declare(_ALONE, _alone, lambda name: name)
_declare(_WITH, _with, lambda name: _WITH[name][0])


# --------------------------------------------------------------------------------------------- of their own shape


@composite("f", "_foreach_zero_")
def _foreach_zero_(self: Any) -> Any:
    """Zeros into every tensor of a list."""
    for t in _tensors("_foreach_zero_", self):
        t.zero_()
    return self


@composite("f", "_foreach_copy_")
def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The tensors of one list written over those of another."""
    tensors = _tensors("_foreach_copy_", self)
    for t, s in zip(tensors, _column(_tensors("_foreach_copy_", src, 2), len(tensors))):
        t.copy_(s, non_blocking=non_blocking)
    return self


@composite("f")
def _foreach_clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy of every tensor of a list."""
    how = {} if memory_format is None else {"memory_format": memory_format}
    return tuple(t.clone(**how) for t in _tensors("_foreach_clone", self))


@composite("f")
def _foreach_mm(self: Any, mat2: Any) -> Any:
    """Matrix products, pair by pair."""
    tensors = _tensors("_foreach_mm", self)
    return tuple(call("mm", a, b) for a, b in zip(tensors, _column(_tensors("_foreach_mm", mat2, 2), len(tensors))))


@composite("f")
def _foreach_max(self: Any) -> Any:
    """The largest element of every tensor of a list."""
    tensors = _tensors("_foreach_max", self)
    if any(t.shape.numel() == 0 for t in tensors):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return tuple(PUBLIC["f"]["max"](t) for t in tensors)


@composite("f")
def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    """The vector norm of every tensor of a list."""
    norm = PUBLIC["l"]["vector_norm"]
    return tuple(norm(t, ord, dtype=dtype) for t in _tensors("_foreach_norm", self))


@composite("f")
def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    """The sum of a power of the sizes of all elements, of every tensor of a list."""
    return tuple((abs(t) ** ord).sum(dtype=dtype) for t in _tensors("_foreach_powsum", self))
