"""What a user may ask of a node that an op recorded: `_saved_self`, `_raw_saved_result`, shapes of its
outputs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from chainrule.autograd.handles import Hook, RemovableHandle
from chainrule.autograd.node import Node, node_of
from chainrule.autograd.saved import SavedTensor, opened, recover, shown, verify
from chainrule.autograd.unfold import unfolded
from chainrule.core.dtype import OF_NUMPY, result_type
from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import broadcast_shapes
from chainrule.core.tensor import Port, Tensor

__all__ = ["OpNode", "saved_properties"]

# PyTorch's name of a saved value -> ours; the rest are called alike.
_OURS = {"self": "input", "result": "out", "self_sym_sizes": "input_shape", "self_sizes": "input_shape"}


class OpNode(Node):
    """A node recorded by an op. Its class says, in `layout`, what it keeps.

    What a user may ask is a property of each class, put there by `saved_properties`: beside a `__getattr__`, Python
    would look up every attribute of every node the slow way, 60 ns where a slot takes 5.
    """

    __slots__ = ()

    op: Any
    layout: Any

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the cotangents go: (node, which of its outputs) for each input."""
        return Node.next_functions.__get__(unfolded(self))  # type: ignore[no-any-return]

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the pull; what it returns replaces `grad_inputs`."""
        return Node.register_hook(unfolded(self), fn)

    def _saved_value(self, at: int, index: int | None) -> Any:
        if index is not None:
            return opened(self, at)[at][index].unpack(self)
        saved = self.saved
        value = (saved if saved.__class__ is tuple else recover(self))[at]
        if isinstance(value, Tensor):
            verify(self)
        return value

    def _raw_saved_value(self, at: int, index: int | None, asked: str) -> Any:
        entry = shown(self, at, self.layout.outs_at(), index)
        if isinstance(entry, SavedTensor) or (entry.__class__ is tuple and entry and isinstance(entry[0], SavedTensor)):
            return entry
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {asked!r}")

    def noted_metas(self) -> list[tuple[Any, DType] | None] | None:
        """Of the parts that a view cut, on the first question: cut again, of an array without memory."""
        found = Node.noted_metas(self)
        outline = getattr(self, "outline", None)
        if found is None and outline is not None:
            given, shape, dtype = outline
            parts = self.op.run(np, (np.broadcast_to(np.zeros((), np.bool_), shape),), given)
            found = self.__dict__["metas"] = [(p.shape, OF_NUMPY[dtype]) for p in parts]
        return found

    def output_facts(self) -> list[tuple[Any, DType] | None] | None:
        """Of several outputs the node keeps note; of one, what it saved may tell."""
        found = Node.output_facts(self)
        if found is not None or self.saved.__class__ is not tuple:
            return found
        outs_at = self.layout.outs_at()
        if outs_at is not None:
            raw = self.saved[outs_at][self.op.differentiable[0]]
            return [(raw.shape, raw.dtype if isinstance(raw, Tensor) else OF_NUMPY[raw.dtype])]
        return self._met_facts() if self.op.family.diagonal and self.layout.fit else None

    def facts_elsewhere(self) -> list[tuple[Any, DType] | None] | None:
        """What was made of inputs of its own shape and dtype has those of what made them, and so on."""
        at: Any = self
        while isinstance(at, OpNode) and at._is_like_inputs():
            edge = next(e for e in at.edges if e is not None)
            at, index = node_of(edge), edge.index if edge.__class__ is Port else 0
            found = at.output_facts()
            if found is not None:
                return [found[index]]
        return Node.facts_elsewhere(self)

    def _is_like_inputs(self) -> bool:
        """Has the output the shape and dtype of each input that wants a gradient?"""
        return self.op.family.diagonal and not self.layout.fit and self.op.promote != "none" and any(self.edges)

    def _met_facts(self) -> list[tuple[Any, DType] | None] | None:
        """An elementwise op that kept the shapes and dtypes of all its operands knows its output's."""
        op, saved = self.op, dict(zip(self.layout.unpacked(), self.saved))
        if op.promote == "none" or op.unpromoted or set(self.layout.ruled) != set(op.inputs):
            return None
        facts = [(saved[f"{n}_shape"], saved[f"{n}_dtype"]) for n in self.layout.ruled]
        facts = [(shape, dtype) for shape, dtype in facts if shape is not None]
        return [(broadcast_shapes(*[s for s, _ in facts]), result_type((d, "dim" if s else "zero") for s, d in facts))]


def saved_properties(op: Any, layout: Any) -> dict[str, property]:
    """`_saved_<name>` and `_raw_saved_<name>` of a node class, under our names and PyTorch's."""
    found: dict[str, property] = {}
    for name, (at, index) in _places(op, layout).items():
        raw = f"_raw_saved_{name}"
        found[f"_saved_{name}"] = property(partial(OpNode._saved_value, at=at, index=index))
        found[raw] = property(partial(OpNode._raw_saved_value, at=at, index=index, asked=raw))
    return found


def _places(op: Any, layout: Any) -> dict[str, tuple[int, int | None]]:
    """Name -> where in `saved` a value is, and which of the outputs if it is one."""
    names = layout.unpacked()
    places: dict[str, tuple[int, int | None]] = {
        name: (at, None) for at, name in enumerate(names) if name not in ("outs", "store", "version")
    }
    if "outs" in names:
        at = names.index("outs")
        for index, name in enumerate(op.outs if isinstance(op.outs, tuple) else ("out",)):
            places |= {name: (at, index), f"result{index}": (at, index)}
    return {theirs: places[ours] for theirs, ours in _OURS.items() if ours in places} | places
