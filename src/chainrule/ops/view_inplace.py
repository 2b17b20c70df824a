"""In-place forms of views: the tensor itself gets the other shape. The elements stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.autograd.cuts import cut_of
from chainrule.autograd.eager import check_writable, wants_grad
from chainrule.autograd.node import Node, tick
from chainrule.autograd.versions import store_of, touch
from chainrule.core.ambient import here
from chainrule.core.public import composite
from chainrule.core.tensor import Port, Tensor, View, extra_of
from chainrule.ops.strided import as_strided
from chainrule.ops.views import squeeze, swapaxes, swapdims, t, transpose, unsqueeze

__all__ = ["detach_"]


def _turn(t: Tensor, name: str, view: Callable[..., Tensor], args: Any, named: Any) -> Tensor:
    recording = here().grad and wants_grad(t)
    check_writable(t, recording, name)
    out = view(t, *args, **named)
    if out is t:
        return t
    t.raw = out.raw
    touch(t, name)
    if out.extra is not None and out.extra.tangent is not None:
        extra_of(t).tangent = out.extra.tangent
    if t.viewed is not None and out.viewed is not None:
        v, last = t.viewed, out.viewed  # a record of its own: views of `t` as it was go on from the old one
        t.viewed = View(v.base, last.parent, last.step, v.kind, v.version, last.turned)
        if recording:
            t.edge, t.viewed.version = out.edge, t.store.version  # type: ignore[union-attr]
        return t
    extra_of(t).turned = t.store.version  # type: ignore[union-attr]
    if recording:
        t.edge = out.edge
    return t


def _declare(name: str, view: Callable[..., Tensor]) -> None:
    def inplace(self: Tensor, *args: Any, **named: Any) -> Tensor:
        return _turn(self, name + "_", view, args, named)

    inplace.__doc__ = f"`{name}`, of this tensor itself."
    composite("fm" if name == "as_strided" else "m", name=name + "_", quick=True)(inplace)


_VIEWS: dict[str, Callable[..., Tensor]] = {
    "as_strided": as_strided, "squeeze": squeeze, "swapaxes": swapaxes, "swapdims": swapdims, "t": t.public,
    "transpose": transpose.public, "unsqueeze": unsqueeze.public,
}  # fmt: skip
for _name, _view in _VIEWS.items():
    _declare(_name, _view)


@composite("fm", name="detach_", quick=True)
def detach_(input: Tensor) -> Tensor:
    """Cut this tensor itself from the graph: it becomes a leaf."""
    if input.viewed is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    if isinstance(input.edge, (Node, Port)):
        store_of(input)  # so that those who saved this tensor look again
        extra_of(input).detached = tick()
    input.cut, input.edge = cut_of(input, "detach"), None
    if input.extra is not None:
        input.extra.tangent = None
    return input
