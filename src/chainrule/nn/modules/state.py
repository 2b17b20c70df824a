"""What a module saves and loads: its parameters, its persistent buffers, and whatever else it calls its state."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from chainrule.autograd.grad_mode import no_grad
from chainrule.autograd.handles import Hook, RemovableHandle
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor
from chainrule.nn.modules.hooks import add
from chainrule.nn.parameter import Parameter

__all__ = ["Stateful"]


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class Stateful:
    """The part of `Module` that knows state dicts."""

    _version: int = 1
    _buffers: dict[str, Tensor | None]
    _load_state_dict_post_hooks: dict[int, Hook]
    _load_state_dict_pre_hooks: dict[int, Hook]
    _modules: Any  # name -> Module
    _non_persistent_buffers_set: set[str]
    _parameters: dict[str, Parameter | None]
    _state_dict_hooks: dict[int, Hook]
    _state_dict_pre_hooks: dict[int, Hook]

    def get_extra_state(self) -> Any:
        """Anything else to put into the state dict. A subclass that has some defines this and `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Stateful.get_extra_state() that should never be called. Please define "
            "get_extra_state() in your module."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Stateful.set_extra_state() that should never be called. Please define "
            "set_extra_state() in your module."
        )

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state was collected."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before the state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, functools.partial(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after the state was loaded."""
        return add(self._load_state_dict_post_hooks, hook)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name; detached unless `keep_vars`."""
        if args:
            warn("Positional args are being deprecated, use kwargs instead.", FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = destination if destination is not None else given.get("destination")
            prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            answer = hook(self, destination, prefix, local)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if answer is None else answer
            elif answer is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own entries, not those of its children."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        own = {k: v for k, v in [*self._parameters.items(), *persistent.items()] if v is not None}
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, value, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra(state_dict, prefix + "_extra_state", strict, missing_keys, unexpected_keys)
        if strict:
            known = {*own, *self._modules, "_extra_state"}
            unexpected_keys += [
                k for k in state_dict
                if k.startswith(prefix) and not self._knows(k[len(prefix) :], known) and k not in unexpected_keys
            ]  # fmt: skip

    def _knows(self, rest: str, known: set[str]) -> bool:
        first, dot, _ = rest.partition(".")
        return first in self._modules if dot else first in known and first not in self._modules

    def _load_extra(self, state_dict: Any, key: str, strict: bool, missing: list[str], unexpected: list[str]) -> None:
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _load_one(self, name: str, value: Any, key: str, given: Any, assign: bool, errors: list[str]) -> None:
        if not isinstance(given, Tensor) and not hasattr(given, "__torch_function__"):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}"
            )
            return
        if value.dim() == 0 and given.dim() == 1 and given.numel() == 1:
            given = given[0]  # scalars were saved as one-element vectors once
        if tuple(given.shape) != tuple(value.shape):
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {value.shape}."
            )
            return
        try:
            self._take(name, value, given) if assign else _copied(value, given)
        except Exception as error:
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {value.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def _take(self, name: str, value: Any, given: Any) -> None:
        """`assign=True`: the given tensor itself becomes the entry."""
        if isinstance(value, Parameter) and not isinstance(given, Parameter):
            given = Parameter(given, requires_grad=value.requires_grad)
        setattr(self, name, given)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from a state dict; `strict`: its keys must be exactly this module's."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        self._load(state, metadata, "", strict, assign, missing, unexpected, errors)
        if strict and unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if strict and missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load(
        self,
        state: Any,
        metadata: Any,
        prefix: str,
        strict: bool,
        assign: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = {k: v for k, v in state.items() if k.startswith(inner)}
                child._load(part, metadata, inner, strict, assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values,"
                    "if incompatible_keys need to be modified,it should be done inplace."
                )


def _copied(value: Any, given: Any) -> None:
    with no_grad():
        value.copy_(given)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{k}"' for k in keys)
