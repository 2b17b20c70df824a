"""Modules as functions of their parameters, the way functorch had them: `torch.func.functional_call` is simpler."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Self

from chainrule.core.family import call
from chainrule.core.tensor import Tensor
from chainrule.nn.modules.module import Module

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init",
    "functional_init_with_buffers", "make_functional", "make_functional_with_buffers",
]  # fmt: skip

Tensors = tuple[Tensor, ...]


class _State:
    """The tensors of one kind of a module: one of each that is tied, and all the places where it stands."""

    def __init__(self, named: Callable[..., Iterable[tuple[str, Tensor]]]) -> None:
        places: dict[int, list[str]] = {}
        for name, t in named(remove_duplicate=False):
            places.setdefault(id(t), []).append(name)
        given = list(named())
        self.names = tuple([name for name, _ in given])
        self.tensors = tuple([t for _, t in given])
        self.map = {name: places[id(t)] for name, t in given}


def _table(module: Module, name: str) -> tuple[dict[str, Any], str]:
    path, _, leaf = name.rpartition(".")
    owner: Any = module.get_submodule(path) if path else module
    return (owner._parameters if leaf in owner._parameters else owner._buffers), leaf


@contextmanager
def _standing_in(module: Module, places: dict[str, list[str]], tensors: Sequence[Tensor]) -> Iterator[None]:
    """A block in which a module has other tensors in some places."""
    slots = [(*_table(module, name), t) for names, t in zip(places.values(), tensors) for name in names]
    before = [table[leaf] for table, leaf, _ in slots]
    for table, leaf, t in slots:
        table[leaf] = t
    try:
        yield
    finally:
        for (table, leaf, _), t in zip(slots, before):
            table[leaf] = t


def _without_values(model: Module, states: Iterable[_State]) -> Module:
    """A copy of a module whose tensors have shapes alone."""
    memo: dict[int, Any] = {}
    for state in states:
        for t in state.tensors:
            empty = call("empty_like", t, device="meta")
            memo[id(t)] = empty if type(t) is Tensor else type(t)(empty, requires_grad=t.requires_grad)
    return copy.deepcopy(model, memo)


def _taken(tensors: Tensors, untracked: bool) -> Tensors:
    """The values of a state; a model that is changed later does not change them when they are detached."""
    return tuple([t.detach() for t in tensors]) if untracked else tensors


class FunctionalModule(Module):
    """A module as the function `f(params, *args, **kwargs)`."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], names_map: dict[str, list[str]]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.names_map = param_names, names_map

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Self, Tensors]:
        state = _State(model.named_parameters)
        made = cls(_without_values(model, [state]), state.names, state.map)
        return made, _taken(state.tensors, disable_autograd_tracking)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        with _standing_in(self.stateless_model, self.names_map, params):
            return self.stateless_model(*args, **kwargs)


class FunctionalModuleWithBuffers(Module):
    """A module as the function `f(params, buffers, *args, **kwargs)`."""

    def __init__(
        self,
        stateless_model: Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: dict[str, list[str]],
        buffer_names_map: dict[str, list[str]],
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Self, Tensors, Tensors]:
        params, buffers = _State(model.named_parameters), _State(model.named_buffers)
        empty = _without_values(model, [params, buffers])
        made = cls(empty, params.names, buffers.names, params.map, buffers.map)
        return made, _taken(params.tensors, disable_autograd_tracking), buffers.tensors

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        with _standing_in(self.stateless_model, self.all_names_map, (*params, *buffers)):
            return self.stateless_model(*args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """A module without buffers as a function of its parameters, and the parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A module as a function of its parameters and buffers, and those."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def _stacked(states: list[Tensors]) -> Tensors:
    """The tensors of several models, each along a new first axis."""
    return tuple([call("stack", list(column), dim=0).detach() for column in zip(*states)])


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Models of one kind as one function; their parameters and their buffers are stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*[make_functional_with_buffers(m) for m in models])
    return functions[0], _stacked(list(params)), _stacked(list(buffers))


def _models(
    kind: type[Module], shape: Sequence[int], device: Any, args: Any, kwargs: Any
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Models with their own starting values, as many as an ensemble of a shape has."""
    if len(shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    models = [kind(*args, **kwargs).to(device) for _ in range(prod(shape))]
    if shape:
        return combine_state_for_ensemble(models)
    return make_functional_with_buffers(models[0])


def functional_init(
    model_class: type[Module], ensemble_shape: tuple[()] | tuple[int] = (), device: Any = "cpu"
) -> Callable[..., tuple[Tensors, Callable[..., Any], tuple[str, ...]]]:
    """The constructor of a module, made to give (parameters, function, names), for an ensemble at once."""

    def made(*args: Any, **kwargs: Any) -> Any:
        fn, params, buffers = _models(model_class, ensemble_shape, device, args, kwargs)
        if buffers:
            raise RuntimeError("functional_init: the model has buffers; please use functional_init_with_buffers")
        return params, lambda weights, data: fn(weights, (), *data), fn.param_names

    return made


def functional_init_with_buffers(
    model_class: type[Module], ensemble_shape: tuple[()] | tuple[int] = (), device: Any = "cpu"
) -> Callable[..., tuple[Tensors, Tensors, Callable[..., Any], tuple[str, ...], tuple[str, ...]]]:
    """The same for modules with buffers: (parameters, buffers, function, names, names)."""

    def made(*args: Any, **kwargs: Any) -> Any:
        fn, params, buffers = _models(model_class, ensemble_shape, device, args, kwargs)
        return params, buffers, lambda weights, rest, data: fn(weights, rest, *data), fn.param_names, fn.buffer_names

    return made
