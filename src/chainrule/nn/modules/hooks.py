"""Hooks of modules: where they are kept, and the identity that lets a backward hook see all gradients at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from chainrule.autograd.function import Function
from chainrule.autograd.handles import Hook, RemovableHandle
from chainrule.core.ambient import here
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor

__all__ = ["BackwardHookFunction", "BackwardWatch", "add", "hook_table"]


def hook_table() -> OrderedDict[int, Hook]:
    """A place for hooks, run in order."""
    return OrderedDict()


def add(table: Any, hook: Hook, *marks: Any, prepend: bool = False, marked: tuple[bool, ...] = ()) -> RemovableHandle:
    """Put a hook into a table, in front of the others if asked, with its marks beside it."""
    handle = RemovableHandle(table, extra_dict=list(marks))
    table[handle.id] = hook
    for mark, is_set in zip(marks, marked):
        if is_set:
            mark[handle.id] = True
    if prepend:
        for t in (table, *marks):
            if handle.id in t:
                t.move_to_end(handle.id, last=False)
    return handle


class BackwardHookFunction(Function):
    """The tensors as they are, through one node: its cotangents arrive together."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*args: Any) -> Any:
        return args

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.mark_non_differentiable(*[a for a in inputs if not a.requires_grad])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return grad_outputs

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        return tuple(t if t is None else t.view_as(t) for t in grad_inputs)


_NOT_REACHED = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardWatch:
    """One call of a module, watched: collects the gradients of its outputs and of its inputs, and runs the hooks.

    `before` may replace the gradients of the outputs, `after` those of the inputs.
    """

    def __init__(self, module: Any, after: list[Hook], before: list[Hook]) -> None:
        self.module, self.after, self.before = module, after, before
        self.outputs: tuple[Any, ...] | None = None
        self.n_inputs = self.n_outputs = 0
        self.at_inputs: list[int] | None = None
        self.at_outputs: list[int] = []

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, passed through a node whose hook runs after the module's backward."""
        self.n_inputs = len(args)
        node, args, at = _watched(args)
        if node is not None:
            self.at_inputs = at
            node.register_hook(self._inputs_done)
        return args

    def results(self, result: Any) -> Any:
        """The outputs, passed through a node whose hook runs before the module's backward."""
        whole = result if isinstance(result, tuple) else (result,)
        node, outs, at = _watched(whole)
        if node is None:
            return result
        self.n_outputs, self.at_outputs = len(whole), at
        node.register_hook(self._outputs_done)
        return outs if isinstance(result, tuple) else outs[0]

    def _outputs_done(self, _: Any, gs: tuple[Any, ...]) -> Any:
        whole = _spread(gs, self.at_outputs, self.n_outputs)
        for hook in self.before:
            answer = hook(self.module, whole)
            if answer is not None:
                whole = _checked(answer, len(whole), "Backward pre hook", "grad_output")
        self.outputs = whole
        if self.at_inputs is None:  # no input wants a gradient: the module's backward ends here
            self._run_without_inputs()
        return tuple(whole[i] for i in self.at_outputs)

    def _run_without_inputs(self) -> None:
        warn(_NOT_REACHED)
        for hook in self.after:
            answer = hook(self.module, (None,) * self.n_inputs, self.outputs)
            if answer is not None and not (isinstance(answer, tuple) and all(a is None for a in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or "
                    "None for all gradients."
                )
        self.outputs = None

    def _inputs_done(self, gs: tuple[Any, ...], _: Any) -> Any:
        if self.outputs is None:  # the gradient came past the outputs, as in a second backward
            return None
        assert self.at_inputs is not None
        whole = _spread(gs, self.at_inputs, self.n_inputs)
        for hook in self.after:
            answer = hook(self.module, whole, self.outputs)
            if answer is not None:
                whole = _checked(answer, len(whole), "Backward hook", "grad_input")
        self.outputs = None
        return tuple(whole[i] for i in self.at_inputs)


def _watched(args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], list[int]]:
    """The node that the tensors among `args` were passed through (None if no gradient flows), the new args, where."""
    at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    if not here().grad or not any(args[i].requires_grad for i in at):
        return None, args, at
    through = BackwardHookFunction.apply(*[args[i] for i in at])
    node = next((t.grad_fn for t in through if t.grad_fn is not None), None)
    changed = list(args)
    for i, t in zip(at, through):
        changed[i] = t
    return node, _like(args, changed), at


def _like(args: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    return type(args)(*values) if hasattr(args, "_fields") else tuple(values)


def _spread(gs: tuple[Any, ...], at: list[int], size: int) -> tuple[Any, ...]:
    whole: list[Any] = [None] * size
    for i, g in zip(at, gs):
        whole[i] = g
    return tuple(whole)


def _checked(answer: Any, size: int, kind: str, name: str) -> tuple[Any, ...]:
    found = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
    if len(found) != size:
        raise RuntimeError(f"{kind} returned an invalid number of {name}, got {len(found)}, but expected {size}")
    return found
