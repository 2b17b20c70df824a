"""The base class of everything that holds parameters: what it knows by name, what it passes through, what it saves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from chainrule.autograd.grad_mode import no_grad
from chainrule.autograd.handles import Hook, RemovableHandle
from chainrule.core import dtype as dtypes
from chainrule.core.device import as_device
from chainrule.core.layout import memory_format as MemoryFormat
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor
from chainrule.nn.modules.hooks import BackwardWatch, add, hook_table
from chainrule.nn.modules.state import Stateful
from chainrule.nn.parameter import Buffer, Parameter
from chainrule.ops import names
from chainrule.ops.facts import forget_grad

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T", bound="Module")


# ------------------------------------------------------------------------------------------------- hooks of all

_global_forward = hook_table()
_global_forward_always = hook_table()
_global_forward_kwargs = hook_table()
_global_forward_pre = hook_table()
_global_backward = hook_table()
_global_backward_pre = hook_table()
_global_is_full: bool | None = None
_global_buffer_registration = hook_table()
_global_module_registration = hook_table()
_global_parameter_registration = hook_table()


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    tables = (_global_forward_kwargs, _global_forward_always)
    return add(_global_forward, hook, *tables, marked=(with_kwargs, always_call))


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return add(_global_forward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return _global_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """As `register_module_full_backward_hook`, with gradients of the last op of each module only."""
    return _global_backward_hook(hook, full=False)


def _global_backward_hook(hook: Hook, full: bool) -> RemovableHandle:
    global _global_is_full
    if _global_is_full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    _global_is_full = full
    return add(_global_backward, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return add(_global_backward_pre, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module registers a buffer."""
    return add(_global_buffer_registration, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when any module registers a submodule."""
    return add(_global_module_registration, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` when any module registers a parameter."""
    return add(_global_parameter_registration, hook)


def _announced(hooks: Mapping[int, Hook], module: Any, name: str, value: Any) -> Any:
    """What the registration hooks make of a value."""
    for hook in list(hooks.values()):
        answer = hook(module, name, value)
        if answer is not None:
            value = answer
    return value


# ------------------------------------------------------------------------------------------------------ helpers


def type_name(value: object) -> str:
    """A type's full name as PyTorch writes it in errors: `torch.FloatTensor`, `int`."""
    if isinstance(value, Tensor) and type(value) is Tensor:
        return value.type()  # type: ignore[no-any-return]
    module = type(value).__module__
    return type(value).__qualname__ if module in ("builtins", "") else f"{module}.{type(value).__qualname__}"


def _indented(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(spaces * " " + line for line in rest)])


def _check_name(module: Any, name: object, kind: str, known: Mapping[str, Any]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
    if hasattr(module, name) and name not in known:
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(
            f'{kind} name can\'t contain ".", got: {name}' if kind != "buffer" else 'buffer name can\'t contain "."'
        )
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""' + (f", got: {name}" if kind == "module" else ""))


def _not_initialised(what: str) -> NoReturn:
    raise AttributeError(f"cannot assign {what} before Module.__init__() call")


def _forward_missing(self: Any, *args: Any, **kwargs: Any) -> Any:
    """What the module computes. Every subclass defines its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_TABLES = ("_parameters", "_buffers", "_modules")


class Module(Stateful):
    """A part of a model: parameters, buffers and other modules by name, and a `forward` that uses them."""

    dump_patches: bool = False
    training: bool
    call_super_init: bool = False
    _version: int = 1

    _is_full_backward_hook: bool | None
    _non_persistent_buffers_set: set[str]
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if self.call_super_init is False and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        state: dict[str, Any] = {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_non_persistent_buffers_set": set(),
        }
        state["_backward_pre_hooks"], state["_backward_hooks"] = hook_table(), hook_table()
        state["_is_full_backward_hook"] = None
        for name in (
            "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
        ):  # fmt: skip
            state[name] = hook_table()
        state["_modules"] = {}
        self.__dict__.update(state)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_missing

    # ------------------------------------------------------------------------------------------- registration

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is part of the state, but not a parameter; saved if `persistent`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _announced(_global_buffer_registration, self, name, tensor)
        mark = self._non_persistent_buffers_set
        if persistent:
            mark.discard(name)
        else:
            mark.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None: a name that may hold one."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, name, "parameter", self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _announced(_global_parameter_registration, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        _check_name(self, name, "module", self._modules)
        self._modules[name] = _announced(_global_module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    # ---------------------------------------------------------------------------------------- looking things up

    def get_submodule(self, target: str) -> Module:
        """The submodule under a dotted name; the module itself under the empty one."""
        found: Module = self
        for step in target.split(".") if target else []:
            if not hasattr(found, step):
                raise AttributeError(f"{found._get_name()} has no attribute `{step}`")
            found = getattr(found, step)
            if not isinstance(found, Module):
                raise AttributeError(f"`{step}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a submodule in the place of the one under a dotted name; with `strict` there must be one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f'"module" is not an nn.Module, found {type(module)}')
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter under a dotted name."""
        found = self._found(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer under a dotted name."""
        found: Tensor = self._found(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _found(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    # ---------------------------------------------------------------------------------- changing all tensors

    def _apply(self: T, fn: Callable[[Any], Any], recurse: bool = True) -> T:
        """Replace every parameter, gradient and buffer by what `fn` makes of it; parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                _apply_to_parameter(param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Call `fn` on every submodule, then on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self: T, device: Any = None) -> T:
        """Move all parameters and buffers to the GPU."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self: T) -> T:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self: T, dst_type: Any) -> T:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: T) -> T:
        """Cast all floating point parameters and buffers to float."""
        return self._cast(dtypes.float32)

    def double(self: T) -> T:
        """Cast all floating point parameters and buffers to double."""
        return self._cast(dtypes.float64)

    def half(self: T) -> T:
        """Cast all floating point parameters and buffers to half."""
        return self._cast(dtypes.float16)

    def bfloat16(self: T) -> T:
        """Cast all floating point parameters and buffers to bfloat16."""
        return self._cast(dtypes.bfloat16)

    def _cast(self: T, dtype: Any) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to a device without copying the values."""
        return self._apply(lambda t: names.empty_like(t, device=device), recurse=recurse)

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Move and cast all parameters and buffers: `to(device)`, `to(dtype)`, `to(tensor)`."""
        device, dtype, non_blocking, form = _parsed_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Any) -> Any:
            cast = dtype if t.is_floating_point() or t.is_complex() else None
            if form is not None and t.dim() in (4, 5):
                return t.to(device, cast, non_blocking, memory_format=form)
            return t.to(device, cast, non_blocking)

        return self._apply(convert)

    # -------------------------------------------------------------------------------------------------- hooks

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; what it returns replaces `grad_output`."""
        return add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """As `register_full_backward_hook`, with the gradients of the module's last op only."""
        self._choose_hooks(full=False)
        return add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the backward; the answer replaces `grad_input`."""
        self._choose_hooks(full=True)
        return add(self._backward_hooks, hook, prepend=prepend)

    def _choose_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns replaces the arguments."""
        marks = (self._forward_pre_hooks_with_kwargs,)
        return add(self._forward_pre_hooks, hook, *marks, prepend=prepend, marked=(with_kwargs,))

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; what it returns replaces the output."""
        marks = (self._forward_hooks_with_kwargs, self._forward_hooks_always_called)
        return add(self._forward_hooks, hook, *marks, prepend=prepend, marked=(with_kwargs, always_call))

    # --------------------------------------------------------------------------------------------------- call

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        state = self.__dict__
        if not (
            state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
            or state["_backward_pre_hooks"] or _global_forward or _global_forward_pre or _global_backward
            or _global_backward_pre
        ):  # fmt: skip
            return self.forward(*args, **kwargs)  # type: ignore[no-any-return]
        return self._call_hooked(args, kwargs)  # type: ignore[no-any-return]

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            return self._with_hooks(args, kwargs, called)
        except Exception:
            self._always_called(args, kwargs, called)
            raise

    def _with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
        after, legacy = self._backward_hooks_in_force()
        before = [*_global_backward_pre.values(), *self._backward_pre_hooks.values()]
        args, kwargs = self._before_forward(args, kwargs)
        watch = BackwardWatch(self, after, before) if after or before else None
        if watch is not None:
            args = watch.inputs(args)
        result = self.forward(*args, **kwargs)
        result = self._after_forward(args, kwargs, result, called)
        if watch is not None:
            result = watch.results(result)
        if legacy:
            _hook_last_op(self, legacy, result)
        return result

    def _backward_hooks_in_force(self) -> tuple[list[Hook], list[Hook]]:
        """(full hooks, hooks of the old kind)."""
        everyone, own = list(_global_backward.values()), list(self._backward_hooks.values())
        full = (everyone if _global_is_full else []) + (own if self._is_full_backward_hook else [])
        old = ([] if _global_is_full else everyone) + ([] if self._is_full_backward_hook else own)
        return full, old

    def _before_forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for id_, hook in [*_global_forward_pre.items(), *self._forward_pre_hooks.items()]:
            if id_ in self._forward_pre_hooks_with_kwargs:
                answer = hook(self, args, kwargs)
                if answer is not None:
                    if not (isinstance(answer, tuple) and len(answer) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}."
                        )
                    args, kwargs = answer
            else:
                answer = hook(self, args)
                if answer is not None:
                    args = answer if isinstance(answer, tuple) else (answer,)
        return args, kwargs

    def _after_forward(self, args: Any, kwargs: Any, result: Any, called: set[int]) -> Any:
        for id_, hook in [*_global_forward.items(), *self._forward_hooks.items()]:
            if id_ in self._forward_hooks_always_called or id_ in _global_forward_always:
                called.add(id_)
            answer = self._ask(id_, hook, args, kwargs, result)
            if answer is not None:
                result = answer
        return result

    def _ask(self, id_: int, hook: Hook, args: Any, kwargs: Any, result: Any) -> Any:
        if id_ in self._forward_hooks_with_kwargs or id_ in _global_forward_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _always_called(self, args: Any, kwargs: Any, called: set[int]) -> None:
        """After a failure: the hooks that wanted to be called all the same."""
        for id_, hook in [*_global_forward.items(), *self._forward_hooks.items()]:
            always = id_ in _global_forward_always or id_ in self._forward_hooks_always_called
            if always and id_ not in called:
                try:
                    self._ask(id_, hook, args, kwargs, None)
                except Exception as error:
                    warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}"
                    )

    # --------------------------------------------------------------------------------------------- attributes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for table in _TABLES:
            if table in state and name in state[table]:
                return state[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        params = state.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                _not_initialised("parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        else:
            self._set_other(name, value, state)

    def _set_other(self, name: str, value: Any, state: dict[str, Any]) -> None:
        modules, buffers = state.get("_modules"), state.get("_buffers")
        if isinstance(value, Module):
            if modules is None:
                _not_initialised("module")
            self._forget(name, "_modules")
            modules[name] = _announced(_global_module_registration, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = _announced(_global_module_registration, self, name, value)
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._set_buffer(name, value, buffers)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any, buffers: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                "expected)"
            )
        if buffers is None:
            _not_initialised("buffer")
        if isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)  # type: ignore[attr-defined]
        else:
            buffers[name] = _announced(_global_buffer_registration, self, name, value)

    def _forget(self, name: str, kept: str) -> None:
        """Drop a name from everywhere but the table `kept`."""
        state = self.__dict__
        for table in _TABLES:
            if table != kept:
                state.get(table, {}).pop(name, None)
        state.pop(name, None)
        if kept != "_buffers":
            state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for table in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        found = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in found if not name[0].isdigit())

    # ------------------------------------------------------------------------------------------------ walking

    def _named_members(
        self, members: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (path + "." if path else "") + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside this one, with their names."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Module]:
        """This module and all inside it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, with dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    # -------------------------------------------------------------------------------------------------- modes

    def train(self: T, mode: bool = True) -> T:
        """Training or not: dropout and batch norm behave differently."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Start (or stop) recording operations on the parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for p in self.parameters():
            forget_grad(p, set_to_none)

    def share_memory(self: T) -> T:
        """Put the tensors into memory that processes share."""
        raise NotImplementedError("share_memory: tensors are not shared between processes")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module's forward in place."""
        raise NotImplementedError("Module.compile")

    # --------------------------------------------------------------------------------------------------- text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [f"({name}): {_indented(repr(module), 2)}" for name, module in self._modules.items()]
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        lines = [*extra, *children]
        inner = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inner})"

    def _replicate_for_data_parallel(self) -> Any:
        raise NotImplementedError("data parallel replication of modules")


def _apply_to_parameter(param: Any, fn: Callable[[Any], Any]) -> None:
    with no_grad():
        changed = fn(param)
    if changed is not param:
        param.data = changed
    grad = param.extra.grad if param.extra is not None else None
    if grad is not None:
        with no_grad():
            moved = fn(grad)
        if moved is not grad:
            param.grad = moved.requires_grad_(grad.requires_grad)


def _hook_last_op(module: Any, hooks: list[Hook], result: Any) -> None:
    """The old kind of backward hook: it sees the gradients of the last op, whatever that is."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(functools.partial(hook, module))


def _parsed_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of a call of `to`."""
    given: dict[str, Any] = dict(kwargs)
    rest = list(args)
    first = rest[0] if rest else given.pop("tensor", given.pop("other", None))
    if isinstance(first, Tensor):
        given.update(device=first.device, dtype=first.dtype)
        rest = rest[1:]
    elif isinstance(first, dtypes.dtype):
        given["dtype"], rest = first, rest[1:]
    elif rest:
        given["device"], rest = first, rest[1:]
        if rest and (rest[0] is None or isinstance(rest[0], dtypes.dtype)):
            given["dtype"], rest = rest[0], rest[1:]
    for name, value in zip(("non_blocking", "copy"), rest):
        given[name] = value
    unknown = set(given) - {"device", "dtype", "non_blocking", "copy", "memory_format"}
    if unknown or len(rest) > 2:
        raise TypeError(f"to() received an invalid combination of arguments: unexpected {sorted(unknown) or rest}")
    device = given.get("device")
    form = given.get("memory_format")
    if form is not None and not isinstance(form, MemoryFormat):
        raise TypeError(f"to(): argument 'memory_format' must be torch.memory_format, not {type(form).__name__}")
    return (
        None if device is None else as_device(device),
        given.get("dtype"),
        bool(given.get("non_blocking", False)),
        form,
    )
