"""Modules as functions: `functional_call`, `stack_module_state`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.core.family import call
from chainrule.core.tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers in place of its own."""
    given = _merged(parameter_and_buffer_dicts)
    arguments = args if isinstance(args, tuple) else () if args is None else (args,)
    own = _named(module) if tie_weights or strict else {}
    swaps = _with_ties(own, given) if tie_weights else dict(given)
    if strict:
        _check_strict(type(module).__name__, own, swaps)
    before = _swapped(module, swaps)
    try:
        return module(*arguments, **(kwargs or {}))
    finally:
        after = _swapped(module, before)
        given.update({name: after[name] for name in given})  # the call may have replaced a buffer


def _merged(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if isinstance(given, Sequence) and all(isinstance(d, dict) for d in given):
        merged: dict[str, Any] = {}
        for d in given:
            twice = [name for name in d if name in merged]
            if twice:
                raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
            merged |= d
        return merged
    raise ValueError(
        f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
    )


def _named(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_strict(title: str, own: dict[str, Any], given: dict[str, Any]) -> None:
    words = []
    for what, names in (("Unexpected", set(given) - set(own)), ("Missing", set(own) - set(given))):
        if names:
            words.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if words:
        raise RuntimeError(f"Error(s) in reparametrizing for {title}:\n\t" + "\n\t".join(words))


def _with_ties(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Tied parameters (one tensor under several names) are all replaced when one is."""
    names: dict[int, list[str]] = {}
    for name, t in own.items():
        names.setdefault(id(t), []).append(name)
    swaps = dict(given)
    for tied in names.values():
        values = {id(given[n]): given[n] for n in tied if n in given}
        if len(values) > 1:
            several = sorted(n for n in tied if n in given)
            raise ValueError(
                f"functional_call got multiple values for keys {several}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values.values():
            swaps.update((n, value) for n in tied)
    return swaps


_ABSENT = object()


def _swapped(module: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Put tensors in the places that the names say; what was there before. All of them, or none."""
    before: dict[str, Any] = {}
    try:
        for name, value in values.items():
            path, _, leaf = name.rpartition(".")
            before[name] = _swap(_owner(module, path), leaf, value)
    except BaseException:
        _swapped(module, before)
        raise
    return before


def _owner(module: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        inner = getattr(module, part, None)
        if not hasattr(inner, "_parameters"):
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = inner
    return module


def _swap(owner: Any, name: str, value: Any) -> Any:
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    if value is not _ABSENT:
        _check_tensor(value, "")
    for table in (owner._parameters, owner._buffers):
        if name in table:
            before = table[name]
            if value is _ABSENT:
                del table[name]
            else:
                table[name] = value
            return before
    before = getattr(owner, name, _ABSENT)
    if before is not _ABSENT:
        _check_tensor(before, f"attribute `{name}`: ")
    if value is not _ABSENT:
        setattr(owner, name, value)
    elif before is not _ABSENT:
        delattr(owner, name)
    return before


def _check_tensor(value: Any, where: str) -> None:
    if not isinstance(value, Tensor) and value is not None:
        raise TypeError(f"{where}{value} is not an instance of torch.Tensor")


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several models of one kind, each stacked along a new first axis."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {name: _stacked(tuple(p[name] for p in params)) for name in params[0]},
        {name: _stacked(tuple(b[name] for b in buffers)) for name in buffers[0]},
    )


def _stacked(tensors: tuple[Any, ...]) -> Any:
    wants = tensors[0].requires_grad
    if any(t.requires_grad != wants for t in tensors):
        raise RuntimeError("Expected tensors to have the same .requires_grad")
    if not tensors[0].is_leaf:
        return call("stack", list(tensors), dim=0)
    return call("stack", [t.detach() for t in tensors], dim=0).requires_grad_(wants)
