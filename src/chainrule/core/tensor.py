"""A tensor: a record over an array. No arithmetic here; `ops.methods` spells the operators.

`raw` is the array: an ndarray, or, inside a transform, the tensor one level below. `edge` is where a gradient of this
tensor goes: None (it needs none), LEAF (to its own `.grad`), a node, or a `Port` of a node with several outputs.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.device import device as Device
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.dtype import dtype as DType
from chainrule.core.shape import Size, make_size

if TYPE_CHECKING:
    from chainrule.core.methods import Methods
else:
    Methods = object  # what ops give Tensor is put on it when they are declared: ops.methods

__all__ = [
    "CPU",
    "Cut",
    "Extra",
    "FOREIGN",
    "LEAF",
    "META",
    "PLAIN",
    "Port",
    "Store",
    "TURNED",
    "Tensor",
    "TensorBase",
    "View",
    "WRAPPERS",
    "extra_of",
    "fresh",
]

CPU, META = Device("cpu"), Device("meta")


class Store:
    """What tensors over the same memory share: how often it changed, and where it changed last."""

    __slots__ = ("code", "kept", "lasti", "op", "version")

    lasti: (
        int  # of the instruction that changed it last; TURNED: of none yet, and the axes lie in an order of their own
    )
    kept: Any  # what stands for the memory itself, once somebody asked: ops.storages

    def __init__(self) -> None:
        self.version = 0
        self.code: CodeType | None = None
        self.lasti = 0
        self.op = ""


TURNED = -1


class View:
    """How a tensor was cut out of another: the base, and the last of the view ops that lead from it to here.

    `parent` says the same of the tensor that this step was taken from; None if that was the base. `turned`: the axes
    may lie in memory in another order than they are counted in.
    """

    __slots__ = ("base", "kind", "parent", "step", "turned", "version")

    def __init__(self, base: Tensor, parent: View | None, step: Any, kind: str, version: int, turned: bool) -> None:
        self.base, self.parent, self.step, self.kind, self.version = base, parent, step, kind, version
        self.turned = turned

    @property
    def chain(self) -> tuple[Any, ...]:
        """All the steps, the base's first."""
        steps = []
        at: View | None = self
        while at is not None:
            steps.append(at.step)
            at = at.parent
        return tuple(reversed(steps))

    def rooted(self, step: Any) -> None:
        """Let one step lead here from the base."""
        self.parent, self.step, self.turned = None, step, True


class Port:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Any, index: int) -> None:
        self.node, self.index = node, index


class Leaf:
    """The edge of a leaf that wants a gradient: a mark, one for all."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LEAF"


LEAF = Leaf()


class Cut:
    """Why a tensor has no gradient: the first place on its path where the graph was cut, and the line."""

    __slots__ = ("code", "how", "lasti")

    def __init__(self, how: str, code: CodeType | None, lasti: int) -> None:
        self.how, self.code, self.lasti = how, code, lasti


class Extra:
    """What only few tensors have."""

    __slots__ = (
        "accumulator",
        "detached",
        "grad",
        "grad_dtype",
        "hooks",
        "name",
        "post_hooks",
        "retained",
        "tangent",
        "turned",
    )

    def __init__(self) -> None:
        self.accumulator: Any = None  # weak reference to the leaf's AccumulateGrad node
        self.detached: int | None = None  # the tick of `detach_`: older nodes that saved this tensor must refuse
        self.grad: Tensor | None = None
        self.grad_dtype: Any = None
        self.hooks: OrderedDict[int, Any] | None = None  # hooks of a leaf; those of others live at their node
        self.name: str | None = None
        self.post_hooks: OrderedDict[int, Any] | None = None  # register_post_accumulate_grad_hook
        self.retained = False  # retain_grad() was called on a non-leaf
        self.tangent: Any = None  # forward mode: (level, tangent), and the version since, if an in-place change gave it
        self.turned = 0  # the version at which an in-place view op (`t_`, `squeeze_`) last changed the geometry


_making = Lock()


def extra_of(t: Tensor) -> Extra:
    """What only few tensors have, made now if `t` had nothing of it: one, though two threads may ask at once."""
    found = t.extra
    if found is None:
        with _making:
            found = t.extra = t.extra or Extra()
    return found


class TensorBase(Methods):
    """What `Tensor` comes from: a name that programs ask `isinstance` with."""

    __slots__ = ()

    def __new__(cls, *args: Any, **named: Any) -> Any:
        raise RuntimeError("Cannot directly construct TensorBase; subclass it and then construct that")

    def __init_subclass__(cls, **named: Any) -> None:
        if TensorBase in cls.__bases__ and cls.__module__ != __name__:
            raise RuntimeError("Cannot subclass _TensorBase directly")


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype that can remember how it was computed."""

    __slots__ = ("__dict__", "__weakref__", "cut", "edge", "extra", "raw", "store", "viewed")

    raw: Any
    edge: Any
    store: Store | None  # None: memory that nobody else sees and nobody changed
    viewed: View | None
    extra: Extra | None
    cut: Cut | None  # only where edge is None

    __array_priority__ = 1000

    @property
    def shape(self) -> Size:
        return make_size(self.raw.shape)

    @property
    def dtype(self) -> DType:
        return OF_NUMPY[self.raw.dtype]

    @property
    def device(self) -> Device:
        raw = self.raw  # arrays without elements say where they would have them
        return CPU if raw.__class__ is np.ndarray else getattr(raw, "home", CPU)

    @property
    def ndim(self) -> int:
        return len(self.raw.shape)

    def rewrapped(self) -> Tensor:
        """Another tensor of the same kind over the same array, with no history."""
        return self.detach() if self.__class__ in WRAPPERS else fresh(self.raw)


PLAIN: set[type[Tensor]] = {Tensor}  # classes whose instances the fast path may take as they are
FOREIGN: set[Any] = set()  # classes of the transforms' tensors: they hold a tensor where others hold an array
WRAPPERS: set[Any] = set()  # classes met so far that answer ops themselves: `__torch_dispatch__`
_new = object.__new__


def fresh(raw: Any) -> Tensor:
    """A tensor over an array, with no history."""
    t = _new(Tensor)
    t.raw = raw
    t.edge = t.store = t.viewed = t.extra = t.cut = None
    return t
