"""Hooks of modules: where they are kept, and the identity op that lets a backward hook see all gradients at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from chainrule.autograd.handles import Hook, RemovableHandle
from chainrule.autograd.node import hooks_of, node_of
from chainrule.core.family import general
from chainrule.core.op import Array
from chainrule.core.samples import real, samples
from chainrule.core.tensor import LEAF, Tensor

__all__ = ["BackwardWatch", "add", "hook_table"]


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


@general(
    outs="many", linear=True, spelled="", name="backward_hook_function", node="BackwardHookFunction",
    samples=samples(real, [((3,), (2, 2))]),
)  # fmt: skip
def _through(xp: Any, *tensors: Array) -> tuple[Array, ...]:
    """The tensors as they are, through one node: its cotangents arrive together."""
    return tuple(t[...] for t in tensors)


_through.vjp(tensors=lambda g: g)


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
        node, args, at = _watched(args)
        if node is None:
            return args
        self.n_inputs, self.at_inputs = len(args), at
        hooks_of(node).before[id(self)] = self._inputs_arrived
        return args

    def results(self, result: Any) -> Any:
        """The outputs, passed through a node whose hook runs before the module's backward."""
        whole = result if isinstance(result, tuple) else (result,)
        node, outs, at = _watched(whole)
        if node is None:
            return result
        self.n_outputs, self.at_outputs = len(whole), at
        hooks_of(node).after[id(self)] = self._outputs_done
        hooks_of(node).before[id(self)] = self._outputs_arrived
        return outs if isinstance(result, tuple) else outs[0]

    def _outputs_arrived(self, gs: tuple[Any, ...]) -> Any:
        whole = _spread(gs, self.at_outputs, self.n_outputs)
        for hook in self.before:
            answer = hook(self.module, whole)
            if answer is not None:
                whole = _checked(answer, len(whole), "Backward pre hook", "grad_output")
        self.outputs = whole
        return tuple(whole[i] for i in self.at_outputs)

    def _outputs_done(self, gs: Any, given: Any) -> None:
        if self.at_inputs is None:  # no input wants a gradient: the module's backward ends here
            for hook in self.after:
                answer = hook(self.module, (), self.outputs)
                if answer is not None and not (isinstance(answer, tuple) and all(a is None for a in answer)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or "
                        "None for all gradients."
                    )
            self.outputs = None

    def _inputs_arrived(self, gs: tuple[Any, ...]) -> Any:
        assert self.at_inputs is not None
        if self.outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens because the "
                "gradient in your nn.Module flows to the Module's input without passing through the Module's output. "
                "Make sure that the output depends on the input and that the loss is computed based on the output."
            )
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
    if not any(args[i].requires_grad for i in at):
        return None, args, at
    through = _through.public([args[i] for i in at])
    edge = through[0].edge
    if edge is None or edge is LEAF:
        return None, args, at
    changed = list(args)
    for i, t in zip(at, through):
        changed[i] = t
    return node_of(edge), _like(args, changed), at


def _like(args: tuple[Any, ...], values: list[Any]) -> tuple[Any, ...]:
    return type(args)(*values) if hasattr(args, "_fields") else tuple(values)


def _spread(gs: tuple[Any, ...], at: list[int], size: int) -> tuple[Any, ...]:
    whole: list[Any] = [None] * size
    for i, g in zip(at, gs):
        whole[i] = g
    return tuple(whole)


def _checked(answer: Any, size: int, kind: str, name: str) -> tuple[Any, ...]:
    found = answer if isinstance(answer, tuple) else (answer,)
    if len(found) != size:
        raise RuntimeError(f"{kind} returned an invalid number of {name}, got {len(found)}, but expected {size}")
    return found
