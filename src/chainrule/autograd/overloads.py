"""The ops by the names of PyTorch's dispatcher: `torch.ops.aten.mul.Tensor`.

A packet is an op; an overload of it is a form of its arguments, with a name of its own. `__torch_dispatch__` is told of
overloads, and may call them: with the arguments it was given, or with others. Names that PyTorch has not are in the
namespace `chainrule`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from chainrule.autograd.door import Inplace, door
from chainrule.core.op import REGISTRY, Op
from chainrule.core.public import PUBLIC
from chainrule.core.tensor import Tensor

__all__ = ["Namespace", "OpOverload", "OpOverloadPacket", "made_overload", "overload_of", "written"]

_OWN = {  # what PyTorch calls the ops that have a name of ours
    "bernoulli_of": "bernoulli", "conj": "_conj", "fold_windows": "unfold_backward",
    "log_softmax": "_log_softmax", "logsigmoid": "log_sigmoid_forward", "max_all": "max", "median_all": "median",
    "min_all": "min", "mm_turned": "mm", "nanmedian_all": "nanmedian",
    "normal_of": "normal", "paired_mm": "bmm", "prelu_kernel": "_prelu_kernel", "reshape_alias": "_reshape_alias",
    "rpow": "pow", "softmax": "_softmax", "squeeze_dim": "squeeze", "squeeze_dims": "squeeze", "to_copy": "_to_copy",
    "to_dtype": "_to_copy", "unique": "_unique2", "unsafe_view": "_unsafe_view", "view_dtype": "view",
    "_adaptive_max_pool2d": "adaptive_max_pool2d", "_adaptive_max_pool3d": "adaptive_max_pool3d",
    "_batch_norm": "native_batch_norm", "_cdist": "_cdist_forward", "_pdist": "_pdist_forward",
}  # fmt: skip
_OURS = frozenset(  # names that PyTorch has not: steps of backwards, and several of its steps in one
    """convolution_weight corner cut differentiable_once draw draw_like embedding_again embedding_sum
    histogramdd_from_bin_tensors index_put_at index_sum kept linear_batch linear_batch_plain linear_rows
    linear_rows_plain masked_rest max_pool_gather max_pool_scatter moved new_filled picked place place_diagonal placed
    recurrence running_product scatter_fold sparse_coo sparse_mm sparse_sum sparse_to_dense sparse_values
    sparse_values_at strided_place strided_take swapped_rows unless_shared _pad_circular_backward""".split()
)
_ONE = {  # the one overload by which an op is known here, where that is not `default`
    **dict.fromkeys("add sub mul ldexp frexp index slice split unsafe_split".split(), "Tensor"),
    **dict.fromkeys("max min median nanmedian squeeze_dim".split(), "dim"), "scatter": "src", "scatter_reduce": "two",
    **dict.fromkeys("select transpose unbind".split(), "int"),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), "correction"), "rpow": "Scalar",
    "squeeze_dims": "dims", "view_dtype": "dtype",
}  # fmt: skip
_BY_NUMBER = frozenset(  # with a tensor and with a number they have two
    "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bucketize copysign eq fill fmod ge gt "
    "le lerp lt masked_fill ne remainder rsub searchsorted".split()
)
_BY_PARAM = {  # the overload that a parameter asks for, if it is given
    "all": ("dim", "dim"), "any": ("dim", "dim"), "argsort": ("stable", "stable"), "bernoulli": ("p", "p"),
    "count_nonzero": ("dim", "dim_IntList"), "div": ("rounding_mode", "Tensor_mode"), "mean": ("dim", "dim"),
    "prod": ("dim", "dim_int"), "round": ("decimals", "decimals"), "sort": ("stable", "stable"),
    "sum": ("dim", "dim_IntList"),
}  # fmt: skip
_AXES = frozenset("amax amin flip logsumexp mean nansum std std_mean sum var var_mean".split())  # `dim` is a list


def _local_scalar_dense(x: Any) -> Any:
    if not x.numel():
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return x.view(-1)[0].item()  # of several elements the first


_FUNCTIONS: dict[str, Callable[..., Any]] = {  # what to call where the arguments are not those of an op
    "index": lambda x, indices: _indexed(x, indices),
    "_local_scalar_dense": _local_scalar_dense,
    "_log_softmax": lambda x, dim, half=False, **more: REGISTRY["log_softmax"].fn.public(x, dim=dim, **more),
    "_softmax": lambda x, dim, half=False, **more: REGISTRY["softmax"].fn.public(x, dim=dim, **more),
}


def _indexed(x: Tensor, indices: Any) -> Tensor:
    """Elements by a list of indices, one for each of the first axes; None takes an axis whole."""
    if not indices:
        raise IndexError("at least one index must be provided")
    return x[tuple([slice(None) if i is None else i for i in indices])]


_NEW = {None: "new_empty", 0: "new_zeros", 1: "new_ones"}
_NAMED = frozenset(("device", "dtype", "generator", "layout", "memory_format"))  # never by position
_DEFAULTS = {name: {"dim": None, "correction": 1, "keepdim": False} for name in ("std", "std_mean", "var", "var_mean")}
_CREATED = {"empty": "memory_format"}


class OpOverload:
    """One way to call an op."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self._packet, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__, self.__module__ = self.__name__, f"torch._ops.{packet.namespace}"

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The op, whatever its arguments."""
        return self._packet

    @property
    def namespace(self) -> str:
        """Whose name this is: "aten", or "chainrule" for what PyTorch has not."""
        return self._packet.namespace

    def name(self) -> str:
        """As PyTorch's dispatcher writes it: `aten::mul.Tensor`."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._packet.namespace}::{self._packet.__name__}{suffix}"

    @property
    def is_view(self) -> bool:
        """Does the result share memory with an argument?"""
        return any(isinstance(op, Op) and (op.family.is_view or op.family.shares) for op in self._packet.ops)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._packet.call(self._overloadname, args, kwargs)

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return made_overload, (self._packet.namespace, self._packet.__name__, self._overloadname)


class OpOverloadPacket:
    """An op by its name, whatever its arguments."""

    def __init__(self, namespace: str, name: str, ops: tuple[Any, ...]) -> None:
        self.namespace, self.__name__, self.ops = namespace, name, ops
        self.__qualname__, self.__module__ = name, f"torch._ops.{namespace}"

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return made_overload(self.namespace, self.__name__, overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call("", args, kwargs)

    def call(self, overload: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op whose overload this is, or the first that takes such arguments, or the public function."""
        for op in sorted(self.ops, key=lambda op: _usual(op) != overload):
            found = _read(op, args, kwargs)
            if found is not None:
                inputs, params, out = found
                return door(op, inputs, params) if out is None else door(op, inputs, params, out)
        name = self.__name__
        fn = _FUNCTIONS.get(name) or PUBLIC["f"].get(name) or PUBLIC["m"].get(name)
        if fn is None:
            raise TypeError(f"{self}: no overload takes these arguments")
        return fn(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class Namespace:
    """Packets by name: `torch.ops.aten`."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = None if name.startswith("__") else _packet(self.name, name)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return found

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


# --------------------------------------------------------------------------------------------------------- by names


@cache
def _ops() -> dict[str, tuple[Op, ...]]:
    """The ops by the names that PyTorch's dispatcher has for them; the one of that very name first."""
    found: dict[str, tuple[Op, ...]] = {}
    for op in sorted(REGISTRY.values(), key=lambda op: _aten_name(op) != op.name):
        if _aten_name(op) in _FUNCTIONS or op.name == "rpow":
            continue
        found[_aten_name(op)] = (*found.get(_aten_name(op), ()), op)
    return found


def _usual(op: Any) -> str:
    """The overload by which an op is known, where its arguments do not say more."""
    base: Op = op.base if op.__class__ is Inplace else op
    return _ONE.get(base.name, "default")


def _aten_name(op: Op) -> str:
    if op.name in _OWN:
        return _OWN[op.name]
    if op.name.startswith("_upsample_") and not ("exact" in op.name or "_aa" in op.name):
        return op.name[1:]
    return f"special_{op.name}" if op.spelled == "s" else op.name


def _is_known(op: Op) -> bool:
    """Has PyTorch an op of this name?"""
    return op.name not in _OURS


@cache
def _packet(namespace: str, name: str) -> OpOverloadPacket | None:
    ops = _ops()
    if name in ops and _is_known(ops[name][0]) is (namespace == "aten"):
        return OpOverloadPacket(namespace, name, ops[name])
    if name.endswith("_") and not name.endswith("__"):
        bases = [op for op in ops.get(name[:-1], ()) if op.inplace is not None or "i" in op.spelled]
        if bases:
            return OpOverloadPacket(namespace, name, tuple(_inplace(op) for op in bases))
    if namespace == "aten" and (name in _FUNCTIONS or name in PUBLIC["f"] or name in PUBLIC["m"]):
        return OpOverloadPacket(namespace, name, ())
    return None


def _inplace(op: Op) -> Any:
    return op.inplace if op.inplace is not None else PUBLIC["m"][op.name + "_"].op  # type: ignore[attr-defined]


@cache
def made_overload(namespace: str, name: str, overload: str) -> OpOverload:
    """The one object for an overload."""
    packet = _packet(namespace, name)
    if packet is None:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
    return OpOverload(packet, overload)


def overload_of(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> OpOverload:
    """The overload that a call of an op is a call of."""
    base: Op = op.base if op.__class__ is Inplace else op
    name = _aten_name(base) + ("_" if op.__class__ is Inplace else "")
    if base.name == "new_filled":
        return made_overload("aten", _NEW.get(params["fill"], "new_full"), "default")
    return made_overload("aten" if _is_known(base) else "chainrule", name, _form(base, inputs, params))


def _form(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> str:
    name = op.name
    if name == "pow":
        kinds = ["Tensor" if isinstance(t, Tensor) else "Scalar" for t in inputs]
        return "_".join(kinds) if kinds[0] == "Tensor" else "Scalar"
    if name == "where":
        kinds = [word for word, t in zip(("Self", "Other"), inputs[1:]) if not isinstance(t, Tensor)]
        return "self" if not kinds else "Scalar" + (kinds[0] if len(kinds) == 1 else "")
    if name in _BY_NUMBER:
        return "Tensor" if isinstance(inputs[-1], Tensor) else "Scalar"
    if name.startswith("clamp"):
        return "Tensor" if any(isinstance(t, Tensor) for t in inputs[1:]) else "default"
    if name in _BY_PARAM:
        value = params.get(_BY_PARAM[name][0])
        if value is not None and value is not False and value != ():
            return _BY_PARAM[name][1]
    return "Tensor" if name == "div" else _ONE.get(name, _CREATED.get(name, "default"))


# ------------------------------------------------------------------------------------------------------- arguments


def written(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as PyTorch's dispatcher hands them on: by position where they may, without defaults."""
    base: Op = op.base if op.__class__ is Inplace else op
    special = _SPECIAL.get(base.name)
    if special is not None:
        return special(inputs, params)
    given = {**params, base.inputs[0]: list(inputs)} if base.variadic else {**params, **dict(zip(base.inputs, inputs))}
    defaults = _defaults(base)
    names = [n for n in base.params if not (n in defaults and _same(given[n], defaults[n]))]
    placed, keywords = _placed(base)
    last = max((placed.index(n) + 1 for n in names if n in placed), default=0)
    if base.name in _AXES and given.get("dim").__class__ is int:
        given["dim"] = [given["dim"]]
    args = tuple(_plain(given[n]) for n in placed[:last])
    return args, {n: _plain(given[n]) for n in keywords if n in names}


def _defaults(op: Op) -> dict[str, Any]:
    """What may be left out: also where the declaration asks for it, because the public function has said it."""
    return {**op.defaults, **_DEFAULTS.get(op.name, {}), **({"reduction": "mean"} if "reduction" in op.params else {})}


def _placed(op: Op) -> tuple[list[str], list[str]]:
    """The parameters that PyTorch's dispatcher takes by position, and those by name: what must be given has a place."""
    cut = op.keyword_from
    asked = [n for n in op.params[cut:] if n not in _defaults(op) and n not in _NAMED]
    return [*op.params[:cut], *asked], [n for n in op.params[cut:] if n not in asked]


def _index_written(inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, picked = inputs
    dims = params["dims"]
    found: list[Any] = [None] * (max(dims) + 1)
    for dim, index in zip(dims, picked.unbind(0) if len(dims) > 1 else (picked,)):
        found[dim] = index
    return (x, found), {}


def _new_written(inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    more = () if params["fill"] in _NEW else (params["fill"],)
    return (*inputs, list(params["size"]), *more), _given(params, "dtype", "device")


def _softmax_written(inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (*inputs, params["dim"], False), _given(params, "dtype")


def _given(params: dict[str, Any], *names: str) -> dict[str, Any]:
    return {n: params[n] for n in names if params.get(n) is not None}


_SPECIAL: dict[str, Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "index": _index_written,
    "log_softmax": _softmax_written,
    "new_filled": _new_written,
    "rpow": lambda inputs, params: (inputs[::-1], {}),
    "softmax": _softmax_written,
}


def _same(value: Any, default: Any) -> bool:
    return value is default or (not isinstance(value, Tensor) and type(value) is type(default) and value == default)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _read(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Any] | None:
    """The inputs and parameters that arguments stand for, and `out`; None if the op does not take them."""
    base: Op = op.base if op.__class__ is Inplace else op
    named = dict(kwargs)
    out = named.pop("out", None)
    if "self" in named:
        named[base.inputs[0]] = named.pop("self")
    placed, _ = _placed(base)
    given = {**_defaults(base), **dict(zip(placed, args)), **named}
    if len(args) > len(placed) or set(given) != set(base.params):
        return None
    inputs = tuple(given[base.inputs[0]]) if base.variadic else tuple(given[n] for n in base.inputs)
    params = {n: v for n, v in given.items() if n not in base.inputs}
    return inputs, {n: tuple(v) if isinstance(v, list) else v for n, v in params.items()}, out


def created(title: str) -> Callable[..., Any]:
    """The overload of a function that makes a tensor of nothing."""
    return made_overload("aten", title, _CREATED.get(title, "default"))
