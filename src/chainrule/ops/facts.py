"""What can be asked of a tensor: its facts, its gradient, its history. Properties and small methods, no arithmetic."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from chainrule.autograd import api
from chainrule.autograd.cuts import cut_here
from chainrule.autograd.grad_mode import no_grad
from chainrule.autograd.handles import HookTable, RemovableHandle, add_hook
from chainrule.autograd.node import ANY_DTYPE, LEAF_HOOKS, Node, Sink, accumulator, hooks_of, hooks_of_leaf, node_of
from chainrule.autograd.versions import InferenceStore
from chainrule.autograd.views import refresh
from chainrule.core.ambient import LISTENING, here
from chainrule.core.dtype import FLOAT, c_name
from chainrule.core.dtype import dtype as DType
from chainrule.core.function_protocol import KEEPS_CLASS, override
from chainrule.core.notices import warn
from chainrule.core.public import attribute, getter, method, quiet_method
from chainrule.core.shape import normalize_dim
from chainrule.core.tensor import LEAF, PLAIN, Extra, Port, Tensor, View, extra_of

__all__ = ["forget_grad"]


def _edge(t: Tensor) -> Any:
    if t.viewed is not None:
        refresh(t, asked=True)
    return t.edge


def _requires_grad(t: Tensor) -> bool:
    """Will operations on this tensor be recorded? A view without history of its own says what its base says."""
    edge, v = t.edge, t.viewed
    if v is None or (edge is not None and edge.__class__ is not Sink):
        return edge is not None
    return v.base.edge is not None and t.dtype.category >= FLOAT


def _set_requires_grad(t: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not t.is_leaf:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables."
            + ("" if value else " If you want to use a computed variable in a subgraph that doesn't require "
            "differentiation use var_no_grad = var.detach().")
        )  # fmt: skip
    if value and not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if value and isinstance(t.store, InferenceStore) and not here().inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if not value and t.edge is LEAF:
        t.cut = cut_here("requires_grad")
    t.edge = LEAF if value else None
    if value:
        extra_of(t)
        t.cut = None


def _del_requires_grad(t: Tensor) -> None:
    raise RuntimeError("requires_grad must be a bool")


attribute("requires_grad", _requires_grad, _set_requires_grad, _del_requires_grad)


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Start (or stop) recording operations on this leaf."""
    if requires_grad and self.dtype.category < FLOAT:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if requires_grad and not self.is_leaf:
        return self
    self.requires_grad = requires_grad
    return self


@getter
def is_leaf(self: Tensor) -> bool:
    """Was it made by the user, not by a recorded operation?"""
    edge = _edge(self)
    return edge is None or edge is LEAF or edge.__class__ is Sink


@getter
def grad_fn(self: Tensor) -> Node | None:
    """The node that recorded this tensor's making; None for leaves."""
    edge = _edge(self)
    return None if edge is None or edge is LEAF or edge.__class__ is Sink else node_of(edge)


@getter
def output_nr(self: Tensor) -> int:
    """Which output of its node this tensor is."""
    edge = _edge(self)
    return edge.index if edge.__class__ is Port else 0


def forget_grad(t: Any, set_to_none: bool) -> None:
    """Forget a gradient if there is one, or fill it with zeros in place."""
    if t.extra is None or t.extra.grad is None:
        return
    if set_to_none:
        t.grad = None
        return
    if t.grad.grad_fn is not None:
        t.grad.detach_()
    else:
        t.grad.requires_grad_(False)
    with no_grad():
        t.grad.zero_()


def _grad(t: Tensor) -> Tensor | None:
    """The accumulated gradient of a leaf (or of a tensor whose `retain_grad` was called)."""
    extra = t.extra
    if (
        (extra is None or not extra.retained)
        and t.edge is not None
        and t.edge is not LEAF
        and t.edge.__class__ is not Sink
    ):
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
            UserWarning,
        )
    return extra.grad if extra is not None else None


def _set_grad(t: Tensor, g: Tensor | None) -> None:
    if g is None:
        if t.extra is not None:
            t.extra.grad = None
        return
    if not isinstance(g, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}")
    if g is t:
        raise RuntimeError("can't assign Variable as its own grad")
    extra = extra_of(t)
    want = extra.grad_dtype or t.dtype
    if extra.grad_dtype is not ANY_DTYPE and g.dtype is not want:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{c_name(g.dtype)}' to a tensor with grad_dtype "
            f"'{want.title}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )
    if tuple(g.shape) != tuple(t.shape):
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size '{list(t.shape)}'. Please "
            "ensure that the gradient and the tensor are the same size"
        )
    extra.grad = g


def _del_grad(t: Tensor) -> None:
    _set_grad(t, None)


for _name in ("grad", "_grad"):
    attribute(_name, _grad, _set_grad, _del_grad)
    KEEPS_CLASS.add(vars(Tensor)[_name].__get__)


def _grad_dtype(t: Tensor) -> DType | None:
    """The dtype that gradients of this leaf are brought to; None: whatever arrives."""
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    found = t.extra.grad_dtype if t.extra is not None else None
    return None if found is ANY_DTYPE else found or t.dtype


def _set_grad_dtype(t: Tensor, dtype: DType | None) -> None:
    if not t.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if dtype is not None and not isinstance(dtype, DType):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
    extra = extra_of(t)
    if dtype is not None and extra.grad is not None and extra.grad.dtype is not dtype:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype.title}' because there is already a gradient with dtype "
            f"'{c_name(extra.grad.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
            "ensure the new grad_dtype matches the existing gradient's dtype."
        )
    extra.grad_dtype = ANY_DTYPE if dtype is None else dtype


attribute("grad_dtype", _grad_dtype, _set_grad_dtype)


def _set_backward_hooks(t: Tensor, hooks: Any) -> None:
    extra_of(t).hooks = hooks
    LEAF_HOOKS[:] = [None]
    if isinstance(hooks, dict) and hooks and t.edge is LEAF:  # anything may stand here, as in PyTorch
        hooks_of(accumulator(t))


def _refuses(text: str) -> Any:
    def delete(t: Tensor) -> None:
        raise RuntimeError(text)

    return delete


attribute("_grad_fn", lambda t: t.grad_fn, None, _refuses("Deletion of _grad_fn not allowed. Detach tensor instead!"))
attribute(
    "_backward_hooks",
    lambda t: t.extra.hooks if t.extra is not None else None,
    lambda t, hooks: _set_backward_hooks(t, hooks),
    _refuses("Deletion of _backwards_hooks not allowed!"),
)


@quiet_method
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Compute the gradient of this tensor with respect to the leaves; it is added to their `.grad`."""
    if LISTENING or self.__class__ not in PLAIN:
        how = {"gradient": gradient, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        if override(Tensor.backward, [self], (self,), how, here())[0]:
            return
    if gradient is None and inputs is None and not create_graph and api.backward_of_scalar(self, bool(retain_graph)):
        return
    api.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@method
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf in its `.grad`."""
    edge = _edge(self)
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    extra = extra_of(self)
    if edge is LEAF or edge.__class__ is Sink or extra.retained:
        return
    extra.retained = True
    hooks_of(node_of(edge)).retain[edge.index if edge.__class__ is Port else 0] = ref(self)


@getter
def retains_grad(self: Tensor) -> bool:
    """Was `retain_grad` called on this non-leaf?"""
    return self.extra is not None and self.extra.retained


@method
def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(grad)` whenever a gradient of this tensor is computed; what it returns replaces the gradient."""
    edge = _edge(self)
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if edge is not LEAF and edge.__class__ is not Sink:
        tables = hooks_of(node_of(edge)).tensor
        return add_hook(tables.setdefault(edge.index if edge.__class__ is Port else 0, HookTable()), hook)
    extra = extra_of(self)
    table = hooks_of_leaf(extra, "hooks")
    LEAF_HOOKS[:] = [None]
    node = extra.accumulator() if extra.accumulator is not None else None
    if node is not None:
        hooks_of(node)
    return add_hook(table, hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`."""
    if _edge(self) is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.edge is not LEAF:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    extra = extra_of(self)
    table = hooks_of_leaf(extra, "post_hooks")
    LEAF_HOOKS[:] = [None]
    hooks_of(accumulator(self))
    return add_hook(table, hook)


@getter
def _version(self: Tensor) -> int:
    if self.store.__class__ is InferenceStore:
        raise RuntimeError("Inference tensors do not track version counter.")
    return self.store.version if self.store is not None else 0


@quiet_method
def _use_count(self: Tensor) -> int:
    """How many hold this tensor: all of Python as one, then graphs, views and gradients, each place by itself."""
    places = 1
    for holder in gc.get_referrers(self):
        if isinstance(holder, (Node, View, Extra)):
            places += 1
        elif holder.__class__ is tuple and any(isinstance(h, Node) for h in gc.get_referrers(holder)):
            places += sum(t is self for t in holder)  # what a node saved
    return places


@method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one entry of it."""
    return self.shape if dim is None else self.shape[normalize_dim(dim, self.ndim, wrap_scalar=False)]


@method
def ndimension(self: Tensor) -> int:
    """The number of axes."""
    return self.ndim


@method
def dim(self: Tensor) -> int:
    """The number of axes."""
    return self.ndim


@quiet_method
def __hash__(self: Tensor) -> int:
    return id(self)
