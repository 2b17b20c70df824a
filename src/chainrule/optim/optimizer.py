"""The base of all optimizers: groups of parameters with their settings, state per parameter, hooks, saving and loading.

An optimizer is a *formula*: a function of a parameter, its gradient and its state that changes the parameter and the
state in place. It is written once, with operators and op functions only, and runs on bare arrays where nobody looks on
(a tenth of the cost), or on tensors where somebody does: a transform, a trace, `differentiable=True`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from chainrule.autograd.grad_mode import enable_grad
from chainrule.autograd.handles import RemovableHandle, add_hook
from chainrule.autograd.versions import touch
from chainrule.core.ambient import here, swapped
from chainrule.core.dtype import float32
from chainrule.core.tensor import PLAIN, Tensor, fresh
from chainrule.ops import names
from chainrule.ops.facts import forget_grad

__all__ = [
    "Formula", "Optimizer", "counted", "counter", "non_negative", "number", "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook", "required", "unsupported",
]  # fmt: skip

Hook = Callable[..., Any]
Closure = Callable[[], Any]


class _Required:
    """Stands for a setting that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_before_any_step: OrderedDict[int, Hook] = OrderedDict()
_after_any_step: OrderedDict[int, Hook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return add_hook(_before_any_step, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return add_hook(_after_any_step, hook)


def number(value: Any) -> Any:
    """A setting as a Python number: it may be a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def non_negative(**settings: Any) -> None:
    """Refuse negative settings, by their names in the message."""
    for name, value in settings.items():
        if not 0.0 <= number(value):
            raise ValueError(f"Invalid {name.replace('_', ' ') if name != 'weight_decay' else name} value: {value}")


def unsupported(optimizer: str, **flags: Any) -> None:
    """Refuse flags that would change what is computed and that nothing here implements."""
    for name, value in flags.items():
        if value:
            raise NotImplementedError(f"{optimizer}: {name}={value!r}")


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks or _before_any_step or _after_any_step
        ):
            return step(self, *args, **kwargs)
        for hook in [*_before_any_step.values(), *self._optimizer_step_pre_hooks.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_after_any_step.values()]:
            hook(self, args, kwargs)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Groups of parameters, and what is remembered about each parameter. Subclasses define `step`."""

    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("step")
        if own is not None and not getattr(own, "hooked", False):
            cls.step = _hooked(own)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        self.state, self.param_groups = defaultdict(dict), []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())

    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_tables()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for at, group in enumerate(self.param_groups):
            text += f"\nParameter Group {at}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # ------------------------------------------------------------------------------------------------- hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new arguments."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is collected."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after the state was collected; it may return another."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; it may return another."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state was loaded."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------------------------------------------- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own; what is not given comes from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        _split_names(param_group, params)
        for param in param_group["params"]:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_new(param_group)
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_type_text(param)}")
        if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_new(self, group: dict[str, Any]) -> None:
        params = group["params"]
        if len({id(p) for p in params}) != len(params):
            raise ValueError(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if not known.isdisjoint(id(p) for p in params):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                extra = p.extra
                if extra is None or extra.grad is None:
                    continue
                if set_to_none and p.__class__ in PLAIN:
                    extra.grad = None
                else:
                    forget_grad(p, set_to_none)

    def step(self, closure: Any = None) -> Any:
        """Change all parameters once; `closure` computes the loss anew and returns it."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """State and groups, parameters replaced by numbers."""
        for before in self._optimizer_state_dict_pre_hooks.values():
            before(self)
        index: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                index.setdefault(id(p), len(index))
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append({**packed, "params": [index[id(p)] for p in group["params"]]})
        state = {(index[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for after in self._optimizer_state_dict_post_hooks.values():
            changed = after(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; tensors are copied, and cast to their parameter's dtype."""
        state_dict = state_dict.copy()
        for before in self._optimizer_load_state_dict_pre_hooks.values():
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = {i: p for g, s in zip(groups, saved) for i, p in zip(s["params"], g["params"])}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            state[params.get(key, key)] = _taken(params[key], value) if key in params else value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)


_HOOK_TABLES = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


def _added(table: OrderedDict[int, Hook], hook: Hook, prepend: bool) -> RemovableHandle:
    handle = add_hook(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _split_names(group: dict[str, Any], params: list[Any]) -> None:
    """Parameters given as (name, parameter): the names become a setting of their own."""
    named = [isinstance(p, tuple) for p in params]
    if any(named) and not all(named):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if named and all(named):
        group["param_names"] = [p[0] for p in params]
        params = [p[1] for p in params]
    group["params"] = params


def _type_text(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ in ("builtins", "") else f"{kind.__module__}.{kind.__qualname__}"


def _taken(param: Any, value: Any, key: Hashable = None) -> Any:
    """A saved value made the parameter's own: tensors cast, containers walked through."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        dtype = param.dtype if param.dtype.is_floating_point else None
        return value.to(device=param.device, dtype=dtype)
    if isinstance(value, dict):
        return {k: _taken(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_taken(param, v) for v in value)  # type: ignore[call-arg]
    return value


# ---------------------------------------------------------------------------------------------------- formulas


class Formula(Optimizer):
    """An optimizer that changes each parameter by a formula of its own.

    `takes_sparse` says what becomes of a sparse gradient: "no", it is refused; "whole", the formula runs on tensors,
    and its operators know what to do; "rows", the formula runs on the elements that the gradient writes down, and on
    those of the parameter and the state in the same places: the others do not change, and cost nothing.
    """

    takes_sparse = "no"

    def begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter that is met for the first time."""
        return {}

    @staticmethod
    def change(p: Any, g: Any, s: dict[str, Any], group: dict[str, Any]) -> None:
        """The formula: change `p` and the state `s` in place, given the gradient `g`. Arrays or tensors."""
        raise NotImplementedError

    def step(self, closure: Closure | None = None) -> Any:
        """Change all parameters once; `closure` computes the loss anew and returns it."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with swapped(grad=bool(self.defaults.get("differentiable", False)) and here().grad):
            for group in self.param_groups:
                for p in group["params"]:
                    self._change_one(p, group)
        return loss

    def _change_one(self, p: Any, group: dict[str, Any]) -> None:
        extra = p.extra
        g = extra.grad if extra is not None and p.__class__ in PLAIN else p.grad
        if g is None:
            return
        plain = _nobody_looks(p, g, group)
        sparse = not plain and g.is_sparse
        if sparse:
            _check_sparse(self, p, group)
        state = self.state[p]
        if not state:
            state.update(self.begin(p, group))
        if plain:
            _on_arrays(self, p, g, state, group)
        elif sparse and self.takes_sparse == "rows":
            _on_rows(self, p, g, state, group)
        else:
            self._on_tensors(p, g, state, group)

    def _on_tensors(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not p.is_complex():
            self.change(p, -g if group.get("maximize") else g, state, group)
            return
        flat = {k: names.view_as_real(v) if _is_complex(v) else v for k, v in state.items()}
        given = dict(flat)
        g = names.view_as_real(g)
        self.change(names.view_as_real(p), -g if group.get("maximize") else g, flat, group)
        for key, value in flat.items():
            if value is not given.get(key):
                state[key] = names.view_as_complex(value) if isinstance(value, Tensor) and value.ndim else value


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_complex


def _nobody_looks(p: Any, g: Any, group: dict[str, Any]) -> bool:
    """Is this a plain update of plain arrays?"""
    if p.__class__ not in PLAIN or g.__class__ is not Tensor or group.get("differentiable"):
        return False
    state, raw = here(), p.raw
    plain = raw.__class__ is g.raw.__class__ is np.ndarray and raw.dtype.kind == "f"
    return plain and not state.stack and not state.modes


def _on_arrays(optimizer: Formula, p: Tensor, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Run the formula on arrays, then note the change where tensors would have."""
    given = {k: v.raw if v.__class__ is Tensor else v for k, v in state.items()}
    s = dict(given)
    optimizer.change(p.raw, -g.raw if group.get("maximize") else g.raw, s, group)
    touch(p, type(optimizer).__name__ + ".step")
    for key, value in s.items():
        if value is not given.get(key):
            state[key] = fresh(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value
        elif value.__class__ is np.ndarray and state[key].store is not None:
            touch(state[key], type(optimizer).__name__ + ".step")


def _check_sparse(optimizer: Formula, p: Tensor, group: dict[str, Any]) -> None:
    """Refuse a sparse gradient, before anything is changed, where the formula could not take it."""
    name, how = type(optimizer).__name__, optimizer.takes_sparse
    if how == "no" and "Adam" in name:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
    if how == "no":
        raise RuntimeError(f"{name} does not support sparse gradients")
    if how != "rows":
        return
    if group.get("weight_decay"):
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    if p.raw.__class__ is not np.ndarray or p.raw.dtype.kind != "f" or group.get("differentiable") or here().stack:
        raise NotImplementedError(f"{name}: a sparse gradient of what is no plain real parameter")


def _on_rows(optimizer: Formula, p: Tensor, g: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Run the formula where a sparse gradient has elements: each once, since it need not be linear."""
    name = type(optimizer).__name__
    found = g.raw.coalesce()
    where = tuple(found.indices)
    held = {k: v.raw for k, v in state.items() if isinstance(v, Tensor)}
    alike = [k for k, raw in held.items() if raw.shape == p.raw.shape]
    s = {k: held[k][where] if k in alike else held.get(k, v) for k, v in state.items()}
    rows = p.raw[where]
    optimizer.change(rows, -found.values if group.get("maximize") else found.values, s, group)
    p.raw[where] = rows
    for key in alike:
        held[key][where] = s[key]
    for t in (p, *(state[key] for key in alike)):
        touch(t, name + ".step")
    state.update({k: v for k, v in s.items() if k not in held})


def counter() -> Tensor:
    """A number of steps, as it is saved."""
    t: Tensor = names.tensor(0.0, dtype=float32)
    return t


def counted(s: dict[str, Any]) -> Any:
    """One more step; how many it is now, as a Python number."""
    s["step"] += 1
    return s["step"].item()
