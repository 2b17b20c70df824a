"""Random numbers: PyTorch's, for the same seed.

Draws are ops of the family Random, so that transforms see them: `draw` makes numbers from nothing, `bernoulli`,
`normal_of` and their kin from tensors, and the in-place forms (`uniform_`, ...) overwrite a tensor in the order of its
memory. Their rules give zeros: a number drawn does not depend on what was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.autograd.door import Inplace, apply, door
from chainrule.autograd.versions import touch
from chainrule.backends.cpu import random as kernels
from chainrule.backends.meta import empty as meta_empty
from chainrule.backends.meta import is_meta
from chainrule.config import settings
from chainrule.core import dtype as dtypes
from chainrule.core.ambient import LISTENING, here
from chainrule.core.device import as_device
from chainrule.core.device import device as Device
from chainrule.core.dtype import dtype as DType
from chainrule.core.family import Random, call, shape_of, spread, sum_to
from chainrule.core.op import REGISTRY, Array, Number
from chainrule.core.public import composite, spell
from chainrule.core.shape import broadcast_shapes, is_contiguous, memory_order
from chainrule.core.tensor import CPU, META, PLAIN, Tensor
from chainrule.ops.create import check_options, creation, dtype_from, made, place, read_size, write_to
from chainrule.ops.fill import check_target, quiet
from chainrule.ops.likeness import like_array

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

random = Random().decorate


# ------------------------------------------------------------------------------------------------------ generators


class Generator:
    """A stream of random numbers of its own: `Generator().manual_seed(0)`."""

    __slots__ = ("__weakref__", "device", "engine")

    device: Device

    def __init__(self, device: Any = "cpu") -> None:
        where = as_device(device)
        if where.type != "cpu":
            raise RuntimeError(f"Device type {where.type.upper()} is not supported for torch.Generator() api.")
        self.device, self.engine = CPU, kernels.Engine()

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed."""
        self.engine.seed(seed)
        return self

    def seed(self) -> int:
        """Start a stream that nobody can foresee; returns its seed."""
        self.engine.seed(kernels.fresh_seed())
        return self.engine.initial_seed

    def initial_seed(self) -> int:
        """The seed the stream began with."""
        return self.engine.initial_seed

    def get_state(self) -> Tensor:
        """Where in the stream it is, as bytes."""
        return made(self.engine.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go to a place in a stream that `get_state` gave."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError(f"expected a torch.ByteTensor, but got torch.{new_state.dtype.title}Tensor")
        self.engine.set_state(np.ascontiguousarray(new_state.raw))
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place."""
        twin = Generator()
        twin.engine = self.engine.clone()
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (), self.engine.get_state()

    def __setstate__(self, state: Any) -> None:
        self.engine.set_state(state)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default stream that belongs to a seed."""
    if isinstance(seed, (float, Tensor)):
        seed = int(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default stream at a place that nobody can foresee; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default stream."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default stream is, as bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default stream to a place that `get_rng_state` gave."""
    default_generator.set_state(new_state)


for _fn in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state):
    spell(_fn.__name__, _fn, "f")
spell("Generator", Generator, "f")
spell("default_generator", default_generator, "f")  # type: ignore[arg-type]


def engine_of(generator: Any, name: str) -> Any:
    """The engine behind an argument `generator=...`."""
    if generator is None:
        return default_generator.engine
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.engine


# ----------------------------------------------------------------------------------------------- draws from nothing

_KERNELS: dict[str, Callable[..., Any]] = {
    "uniform": kernels.uniform, "normal": kernels.normal, "integers": kernels.integers, "bernoulli": kernels.bernoulli,
    "exponential": kernels.exponential, "log_normal": kernels.log_normal, "cauchy": kernels.cauchy,
    "geometric": kernels.geometric, "dropout_noise": kernels.dropout_noise,
}  # fmt: skip


def _draw_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """A draw per example: one draw of the whole batch."""
    params = {k: v for k, v in params.items() if k != "randomness"}
    if params["kind"] == "permutation":
        return call("stack", [apply(draw.op, (), params) for _ in range(size)], dim=0)
    return apply(draw.op, (), {**params, "size": (size, *params["size"])})


@random(spelled="", vmap=_draw_batched)
def draw(xp: Any, *, kind: str, size: tuple[int, ...], dtype: DType, device: Any, args: Any, generator: Any) -> Array:
    """Numbers of one kind in a shape."""
    return _numbers(kind, size, dtype, device, args, generator)


def _numbers(kind: str, size: tuple[int, ...], dtype: DType, device: Device, args: Any, generator: Any) -> Any:
    if device is META:
        return meta_empty(size, dtype.numpy)
    engine = engine_of(generator, kind)
    if kind == "permutation":
        return kernels.permutation(engine, size[0], dtype.numpy)
    return _KERNELS[kind](engine, size, dtype.numpy, *[a.item() if isinstance(a, np.generic) else a for a in args])


def drawn(kind: str, size: tuple[int, ...], dtype: DType, device: Device, args: Any, generator: Any) -> Tensor:
    """The same, as a tensor; interpreters are asked where there are any."""
    if LISTENING:
        return apply(  # type: ignore[no-any-return]
            draw.op,
            (),
            {"kind": kind, "size": size, "dtype": dtype, "device": device, "args": args, "generator": generator},
        )
    return made(_numbers(kind, size, dtype, device, args, generator))


_NO_OUT = (
    "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as "
    "a workaround"
)


def _refuse_out() -> None:
    if any([level.kind == "vmap" for level in here().stack]):
        raise RuntimeError(_NO_OUT)


def _finish(
    name: str, kind: str, size: Any, args: Any, generator: Any, out: Any, dtype: Any, layout: Any, device: Any,
    requires_grad: bool, pin_memory: bool, default: Any = None,
) -> Tensor:  # fmt: skip
    """The common end of rand, randn, randint and randperm."""
    if layout is not None or pin_memory:
        check_options(name, layout, pin_memory)
    if out is not None:
        _refuse_out()
    if dtype is None:
        want = out.dtype if out is not None else default or settings.default_dtype
    else:
        want = dtype_from(dtype, name)
    t = drawn(kind, size, want, settings.default_device if device is None else place(device), args, generator)
    if out is not None:
        return write_to(out, t.raw, name, None if dtype is None else want)
    return t.requires_grad_() if requires_grad else t


def _size(args: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
    return read_size(args if size is None else (size,), name)


@creation()
def rand(
    *args: Any, size: Any = None, generator: Any = None, names: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1)."""
    _refuse_names(names)
    return _finish(
        "rand", "uniform", _size(args, size, "rand"), (), generator, out, dtype, layout, device, requires_grad,
        pin_memory,
    )  # fmt: skip


@creation()
def randn(
    *args: Any, size: Any = None, generator: Any = None, names: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers of mean 0 and variance 1."""
    _refuse_names(names)
    return _finish(
        "randn", "normal", _size(args, size, "randn"), (), generator, out, dtype, layout, device, requires_grad,
        pin_memory,
    )  # fmt: skip


def _refuse_names(names: Any) -> None:
    if names is not None:
        raise NotImplementedError(f"names={names!r}: tensors here have no named dimensions")


@creation()
def randint(
    *args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from `low` (0) up to, not including, `high`."""
    first, last, shape = _integer_bounds(args, low, high, size)
    return _finish(
        "randint", "integers", read_size((shape,), "randint"), (first, last), generator, out, dtype, layout, device,
        requires_grad, pin_memory, dtypes.int64,
    )  # fmt: skip


def _integer_bounds(args: tuple[Any, ...], low: Any, high: Any, size: Any) -> tuple[int, int, Any]:
    given = list(args)
    if size is None and given:
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if high is None or size is None or given or not isinstance(size, (tuple, list, Tensor)):
        raise TypeError(
            "randint() received an invalid combination of arguments: expected (int high, tuple of ints size) or "
            "(int low, int high, tuple of ints size)"
        )
    for name, value in (("high", high), ("low", low)):
        if not hasattr(type(value), "__index__") and value is not None:
            raise TypeError(f"randint(): argument '{name}' (position 1) must be int, not {type(value).__name__}")
    return int(low or 0), int(high), size


@creation()
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from 0 to n - 1 in random order."""
    return _finish(
        "randperm", "permutation", (int(n),), (), generator, out, dtype, layout, device, requires_grad, pin_memory,
        dtypes.int64,
    )  # fmt: skip


def _draw_like_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    """A draw per example, in the order in which the batch lies in memory; or the same for all."""
    (x,), same = values, params.pop("randomness") == "same"
    if same:
        x = call("select", x, dim=0, index=0)
    one = apply(draw_like.op, (spread(x, same or batched[0], size),), params)
    return spread(one, not same, size)


@random(spelled="", vmap=_draw_like_batched)
def draw_like(
    xp: Any, input: Array, *, kind: str, args: Any, dtype: DType | None = None, device: Any = None,
    memory_format: Any = None, generator: Any = None,
) -> Array:  # fmt: skip
    """Numbers of one kind in the shape and memory order of another array."""
    made = like_array(input, None, dtype, device, memory_format)
    if not is_meta(made):
        _fill_in_order(made, kind, args, generator)
    return made


def _drawn_like(name: str, kind: str, input: Tensor, args: Any, options: dict[str, Any], generator: Any) -> Tensor:
    """Numbers in the shape, dtype and memory order of another tensor."""
    requires_grad = options.pop("requires_grad", False)
    if input.__class__ in PLAIN and not LISTENING:
        t = call("empty_like", input, **options)
        if not is_meta(t.raw):
            _fill_in_order(t.raw, kind, args, generator)
    elif here().stack:
        dtype, device = options.get("dtype"), options.get("device")
        t = draw_like.public(
            input, kind=kind, args=args, generator=generator, memory_format=options.get("memory_format"),
            dtype=dtype and dtype_from(dtype, name), device=device and place(device),
        )  # fmt: skip
        t.cut = None
    else:
        dtype, device = options.get("dtype"), options.get("device")
        want = input.dtype if dtype is None else dtype_from(dtype, name)
        t = drawn(kind, tuple(input.shape), want, input.device if device is None else place(device), args, generator)
    return t.requires_grad_() if requires_grad else t  # type: ignore[no-any-return]


@creation()
def rand_like(input: Tensor, *, generator: Any = None, **options: Any) -> Tensor:
    """Uniform numbers in the shape of another tensor."""
    return _drawn_like("rand_like", "uniform", input, (), options, generator)


@creation()
def randn_like(input: Tensor, *, generator: Any = None, **options: Any) -> Tensor:
    """Normal numbers in the shape of another tensor."""
    return _drawn_like("randn_like", "normal", input, (), options, generator)


@creation()
def randint_like(
    input: Tensor, *args: Any, low: Any = None, high: Any = None, generator: Any = None, **options: Any,
) -> Tensor:  # fmt: skip
    """Integers from `low` (0) up to `high`, in the shape of another tensor."""
    first, last, _ = _integer_bounds(args, low, high, ())
    return _drawn_like("randint_like", "integers", input, (first, last), options, generator)


# -------------------------------------------------------------------------------------------------------- in place


def _fill_in_order(target: Any, kind: str, args: Any, generator: Any) -> None:
    """Overwrite an array with numbers, in the order of its memory."""
    engine, kernel = engine_of(generator, kind), _KERNELS[kind]
    if target.flags.c_contiguous:
        target[...] = kernel(engine, target.shape, target.dtype, *args)
        return
    check_target(target)
    steps = tuple(s // target.itemsize for s in target.strides)
    order = memory_order(target.shape, steps)[::-1]
    view = target.transpose(order)
    more = {"contiguous": is_contiguous(target.shape, steps)} if kind == "normal" else {}
    view[...] = kernel(engine, view.shape, target.dtype, *args, **more)


_SAME_BATCHED = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)


def _in_place_batched(name: str) -> Any:
    def rule(values: Any, batched: Any, size: int, params: Any) -> Any:
        params = dict(params)
        mode = params.pop("randomness")
        form, target = REGISTRY[name].inplace, values[0]
        if mode == "same" and any(batched[1:]):
            raise RuntimeError(_SAME_BATCHED)
        if not batched[0] and any(batched[1:]):
            raise RuntimeError(
                f"vmap: inplace {name}_(self, *extra_args) is not possible because there exists a Tensor `other` "
                "in extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
                "`self` not being vmapped over in a vmap. Please try to use out-of-place operators "
                "instead of inplace arithmetic."
            )
        if not batched[0]:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
        if mode == "same":
            one = target.new_empty(shape_of(target)[1:])
            target.copy_(apply(form, (one, *values[1:]), params))
            return target
        return apply(form, (target, *values[1:]), params)

    return rule


def _in_place(name: str, kind: str, node: str, doc: str, *names: str) -> Inplace:
    """Declare the op behind an in-place draw."""

    def write(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        if not is_meta(inputs[0].raw):
            _fill_in_order(inputs[0].raw, kind, params["args"], params["generator"])

    def forward(xp: Any, input: Array, *, args: Any, generator: Any) -> Array:
        result = xp.empty_like(input)
        _fill_in_order(result, kind, args, generator)
        return result

    forward.__doc__ = doc
    op_fn = random(forward, name=name, spelled="", node={"T": node}, write=write, vmap=_in_place_batched(name))
    op_fn.vjp(input=lambda g: call("zeros_like", g))
    form = Inplace(op_fn.op)
    op_fn.op.inplace = form
    return form


def _overwritten(form: Inplace, self: Tensor, kind: str, args: Any, generator: Any) -> Tensor:
    if not LISTENING and quiet(self) and self.raw.__class__ is np.ndarray:
        _fill_in_order(self.raw, kind, args, generator)
        touch(self, form.name)
        return self
    return door(form, (self,), {"args": args, "generator": generator})  # type: ignore[no-any-return]


def _method(name: str, kind: str, node: str, doc: str, **defaults: Any) -> None:
    """Declare an in-place draw as a method: its parameters and their defaults in order."""
    form = _in_place(name, kind, node, doc)
    names = tuple(defaults)

    def fn(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        if len(args) > len(names):
            raise TypeError(f"{name}_() takes at most {len(names)} positional arguments ({len(args)} given)")
        given = {**defaults, **dict(zip(names, args))}
        for key, value in named.items():
            if key not in defaults or key in names[: len(args)]:
                raise TypeError(f"{name}_() got an unexpected keyword argument '{key}'")
            given[key] = value
        return _overwritten(form, self, kind, tuple(_plain(v, name, key) for key, v in given.items()), generator)

    fn.__name__ = fn.__qualname__ = name + "_"
    fn.__doc__ = doc
    fn.op, fn.public = form, fn  # type: ignore[attr-defined]
    form.fn = fn
    spell(name + "_", fn, "m")


def _plain(value: Any, name: str, key: str) -> Any:
    if isinstance(value, (Tensor, np.generic)):
        return value.item()
    if value is REQUIRED:
        raise TypeError(f'{name}_() missing 1 required positional arguments: "{key}"')
    return value


REQUIRED = object()
_method(
    "uniform",
    "uniform",
    "UniformBackward0",
    "Overwrite with uniform numbers in [from, to).",
    **{"from": 0.0, "to": 1.0},
)
_method("normal", "normal", "NormalBackward0", "Overwrite with normal numbers.", mean=0.0, std=1.0)
_method(
    "log_normal",
    "log_normal",
    "LogNormalBackward0",
    "Overwrite with exponentials of normal numbers.",
    mean=1.0,
    std=2.0,
)
_method("cauchy", "cauchy", "CauchyBackward0", "Overwrite with Cauchy numbers.", median=0.0, sigma=1.0)
_method("exponential", "exponential", "ExponentialBackward0", "Overwrite with exponential numbers.", lambd=1.0)
_method("geometric", "geometric", "GeometricBackward0", "Overwrite with counts of trials up to a success.", p=REQUIRED)

RANDOM_ = _in_place("random", "integers", "RandomBackward0", "Overwrite with integers.")


def random_(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
    """Overwrite with integers: of the dtype's whole range, below `to`, or from `from` up to `to`."""
    low, high = named.pop("from", None), named.pop("to", None)
    if named or len(args) > 2:
        raise TypeError("random_() received an invalid combination of arguments")
    if len(args) == 1 and low is None and "to" not in named:
        low, high = (None, args[0]) if high is None else (args[0], high)
    elif len(args) == 2:
        low, high = args
    bounds = () if low is None and high is None else (int(low or 0), None if high is None else int(high))
    return _overwritten(RANDOM_, self, "integers", bounds, generator)


RANDOM_.fn = random_
random_.op, random_.public = RANDOM_, random_  # type: ignore[attr-defined]
spell("random_", random_, "m")


# ------------------------------------------------------------------------------------------------ draws from tensors


def _each_batched(name: str) -> Any:
    """Draws whose parameters are tensors: a batch of parameters is just more of them."""

    def rule(values: Any, batched: Any, size: int, params: Any) -> Any:
        params = dict(params)
        if params.pop("randomness", None) == "same":
            raise RuntimeError(_SAME_BATCHED)
        wide = [
            v
            if b or not isinstance(v, Tensor)
            else call("expand", call("unsqueeze", v, dim=0), size=(size, *shape_of(v)))
            for v, b in zip(values, batched)
        ]
        return REGISTRY[name].call(tuple(wide), params)

    return rule


@random(spelled="", name="bernoulli_of", node="Bernoulli", vmap=_each_batched("bernoulli_of"))
def bernoulli_of(xp: Any, input: Array, *, generator: Any = None) -> Array:
    """1 with the probability at each place, else 0."""
    if is_meta(input):
        return xp.empty_like(input)
    return kernels.bernoulli_each(engine_of(generator, "bernoulli"), input)


bernoulli_of.vjp(input=lambda g: call("zeros_like", g))


@composite("fm")
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """1 with the probability at each place (or with probability `p` everywhere), else 0."""
    if p is None:
        drawn_ = bernoulli_of.public(input, generator=generator)
        return drawn_ if out is None else write_to(out, drawn_.raw, "bernoulli")
    t = drawn("bernoulli", tuple(input.shape), input.dtype, input.device, (p,), generator)
    return t if out is None else write_to(out, t.raw, "bernoulli")


def _write_bernoulli(xp: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    target, p = inputs[0].raw, inputs[1]
    check_target(target)
    if isinstance(p, Tensor):
        order = memory_order(target.shape, tuple([s // target.itemsize for s in target.strides]))[::-1]
        wide = np.ascontiguousarray(np.broadcast_to(p.raw, target.shape).transpose(order))
        drawn = kernels.bernoulli_each(engine_of(params["generator"], "bernoulli_"), wide, target.dtype)
        target.transpose(order)[...] = drawn
    elif not is_meta(target):
        _fill_in_order(target, "bernoulli", (p,), params["generator"])


@random(
    spelled="", name="bernoulli", node={"TN": "BernoulliBackward2", "TT": "BernoulliBackward1"}, write=_write_bernoulli,
    vmap=_in_place_batched("bernoulli"),
)  # fmt: skip
def bernoulli_into(xp: Any, input: Array, p: Array | Number, *, generator: Any = None) -> Array:
    """1 with probability p, else 0, in the shape of the input."""
    result = xp.empty_like(input)
    _write_bernoulli(xp, (made(result), made(p) if isinstance(p, np.ndarray) else p), {"generator": generator})
    return result


bernoulli_into.vjp(input=lambda g: call("zeros_like", g), p=lambda g, p_shape: sum_to(call("zeros_like", g), p_shape))
BERNOULLI_ = Inplace(bernoulli_into.op)
bernoulli_into.op.inplace = BERNOULLI_


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Overwrite with 1 with probability p (a number, or a tensor with one for each place), else 0."""
    if not isinstance(p, Tensor) and not LISTENING and quiet(self) and not is_meta(self.raw):
        _fill_in_order(self.raw, "bernoulli", (p,), generator)
        touch(self, "bernoulli_")
        return self
    return door(BERNOULLI_, (self, p), {"generator": generator})  # type: ignore[no-any-return]


BERNOULLI_.fn = bernoulli_
bernoulli_.op, bernoulli_.public = BERNOULLI_, bernoulli_  # type: ignore[attr-defined]
spell("bernoulli_", bernoulli_, "m")


@random(
    spelled="", name="normal_of", node={"TT": "NormalBackward3", "TN": "NormalBackward1", "NT": "NormalBackward2"},
    vmap=_each_batched("normal_of"),
)  # fmt: skip
def normal_of(xp: Any, mean: Array | Number, std: Array | Number, *, generator: Any = None) -> Array:
    """Normal numbers with a mean and a deviation for each place."""
    if is_meta(mean) or is_meta(std):
        return meta_empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), (mean if is_meta(mean) else std).dtype)
    broadcast_shapes(np.shape(mean), np.shape(std))
    return kernels.normal_each(engine_of(generator, "normal"), mean, std)


normal_of.vjp(
    mean=lambda g, mean_shape: sum_to(call("zeros_like", g), mean_shape),
    std=lambda g, std_shape: sum_to(call("zeros_like", g), std_shape),
)


@composite("f")
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers: a mean and a deviation for each place, or one of each and a size."""
    if size is not None:
        mean, std = (t.item() if isinstance(t, Tensor) and t.ndim == 0 else t for t in (mean, std))
        if isinstance(mean, Tensor) or isinstance(std, Tensor):
            raise TypeError("normal(): with argument 'size', 'mean' and 'std' must be float, not Tensor")
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if out is not None:
            _refuse_out()
        more = {} if out is None else {"out": out}
        return normal_of.public(mean, std, generator=generator, **more)  # type: ignore[no-any-return]
    if size is None:
        raise TypeError(
            "normal() received an invalid combination of arguments: expected (Tensor mean, Tensor std), (Tensor mean, "
            "float std), (float mean, Tensor std) or (float mean, float std, tuple of ints size)"
        )
    return _finish(
        "normal", "normal", read_size((size,), "normal"), (mean, std), generator, out, dtype, layout, device,
        requires_grad, pin_memory,
    )  # fmt: skip


@random(spelled="f", vmap=_each_batched("poisson"))
def poisson(xp: Any, input: Array, generator: Any = None) -> Array:
    """Poisson numbers with a rate for each place."""
    return xp.empty_like(input) if is_meta(input) else kernels.poisson(engine_of(generator, "poisson"), input)


poisson.vjp(input=lambda g: call("zeros_like", g))


@random(spelled="f", node="NotImplemented", vmap=_each_batched("binomial"))
def binomial(xp: Any, count: Array, prob: Array, generator: Any = None) -> Array:
    """Numbers of successes in `count` trials, with a probability for each place."""
    return xp.empty_like(count) if is_meta(count) else kernels.binomial(engine_of(generator, "binomial"), count, prob)


@random(spelled="f", name="_standard_gamma", vmap=_each_batched("_standard_gamma"))
def standard_gamma(xp: Any, input: Array, generator: Any = None) -> Array:
    """Gamma numbers of scale 1 with a shape for each place."""
    return xp.empty_like(input) if is_meta(input) else kernels.gamma(engine_of(generator, "gamma"), input)


@random(spelled="f", name="_sample_dirichlet", vmap=_each_batched("_sample_dirichlet"))
def sample_dirichlet(xp: Any, input: Array, generator: Any = None) -> Array:
    """Points of the simplex along the last axis with a concentration for each place."""
    return xp.empty_like(input) if is_meta(input) else kernels.dirichlet(engine_of(generator, "dirichlet"), input)


def _no_slope(name: str) -> Callable[[Any], Any]:
    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented")

    return rule


standard_gamma.vjp(input=_no_slope("_standard_gamma"))
sample_dirichlet.vjp(input=_no_slope("_sample_dirichlet"))


def _multinomial_batched(values: Any, batched: Any, size: int, params: Any) -> Any:
    params = dict(params)
    if params.pop("randomness", None) == "same" and batched[0]:
        raise RuntimeError(_SAME_BATCHED)
    (x,) = values
    wide = x if batched[0] else call("expand", call("unsqueeze", x, dim=0), size=(size, *shape_of(x)))
    shape = shape_of(wide)
    flat = call("reshape", wide, shape=(-1, shape[-1])) if len(shape) > 2 else wide
    found = multinomial.op.call((flat,), params)
    return found if len(shape) <= 2 else call("reshape", found, shape=(*shape[:-1], params["num_samples"]))


@random(spelled="fm", vmap=_multinomial_batched)
def multinomial(xp: Any, input: Array, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Array:
    """Indices drawn in proportion to the weights along the last axis."""
    if is_meta(input):
        return meta_empty((*input.shape[:-1], num_samples), np.int64)
    return kernels.multinomial(engine_of(generator, "multinomial"), input, num_samples, replacement)
