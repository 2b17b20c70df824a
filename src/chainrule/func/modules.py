"""Modules as functions: `functional_call`, `stack_module_state`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.core.family import call

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
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    if strict:
        _check_strict(type(module).__name__, own, given)
    swaps = _with_ties(own, given) if tie_weights else {n: t for n, t in given.items() if n in own}
    undo = [_swap(module, name, value) for name, value in swaps.items()]
    try:
        return module(*arguments, **(kwargs or {}))
    finally:
        for (_, leaf, table, before), (name, value) in zip(reversed(undo), reversed(list(swaps.items()))):
            after = table[leaf]
            if after is not value and name in given and isinstance(parameter_and_buffer_dicts, dict):
                parameter_and_buffer_dicts[name] = after  # the call replaced a buffer
            table[leaf] = before


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


def _check_strict(title: str, own: dict[str, Any], given: dict[str, Any]) -> None:
    unexpected, missing = sorted(set(given) - set(own)), sorted(set(own) - set(given))
    words = []
    if unexpected:
        words.append(f"Unexpected key(s): {', '.join(unexpected)}.")
    if missing:
        words.append(f"Missing key(s): {', '.join(missing)}.")
    if words:
        raise RuntimeError(f"Error(s) in reparametrizing for {title}:\n\t" + "\n\t".join(words))


def _with_ties(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Tied parameters (one tensor under several names) are all replaced when one is."""
    names: dict[int, list[str]] = {}
    for name, t in own.items():
        names.setdefault(id(t), []).append(name)
    swaps: dict[str, Any] = {}
    for tied in names.values():
        values = {id(given[n]): given[n] for n in tied if n in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {[n for n in tied if n in given]}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values.values():
            swaps.update((n, value) for n in tied)
    return swaps


def _swap(module: Any, name: str, value: Any) -> tuple[Any, str, dict[str, Any], Any]:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path) if path else module
    table = owner._parameters if leaf in owner._parameters else owner._buffers
    before = table[leaf]
    table[leaf] = value
    return owner, leaf, table, before


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
