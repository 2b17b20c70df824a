"""Custom Functions inside vmap: the user's `vmap`, or, with `generate_vmap_rule`, the Function over a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chainrule.autograd.function import Function
from chainrule.core.family import call, shape_of, sum_to
from chainrule.core.tensor import Tensor
from chainrule.core.tree import broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["VmapInfo", "batched_function"]


class VmapInfo(NamedTuple):
    """What a `vmap` staticmethod is told about the vmap around it."""

    batch_size: int
    randomness: str


def batched_function(level: Any, cls: Any, args: tuple[Any, ...]) -> Any:
    """One call of a Function inside the vmap `level`."""
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if not cls.generate_vmap_rule and not own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    flat, spec = tree_flatten(args)
    batched = [level.owns(a) for a in flat]
    values = [level.lower(a) for a in flat]
    from_below = level.below_call
    if True not in batched:
        return from_below(lambda: cls.apply(*args))
    if not own:
        return _over_batch(level, cls, spec, values, batched)
    given = [a.__dict__.get("given", (v, 0)) if b else (v, None) for a, v, b in zip(flat, values, batched)]
    values, dims = [v for v, _ in given], tree_unflatten([d for _, d in given], spec)
    info = VmapInfo(level.size, level.randomness)
    found = from_below(lambda: cls.vmap(info, tuple(dims), *tree_unflatten(values, spec)))
    return _placed(level, cls, found)


def _placed(level: Any, cls: Any, found: Any) -> Any:
    """The results of a user's rule as tensors of the level, the batch moved to the front."""
    if not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to have two returns, an output and out_dims with pytree "
            f"structure compatible with the output. Got {found!r}"
        )
    out, out_dims = found
    flat, spec = tree_flatten(out)
    dims = broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"The vmap staticmethod of {cls.__name__} returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {spec}. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )

    def front(t: Any, d: Any) -> Any:
        if d is None or not isinstance(t, Tensor):
            return t
        return level.wrap(t if d == 0 else call("movedim", t, source=d, destination=0))

    return tree_unflatten(level.below_call(lambda: [front(t, d) for t, d in zip(flat, dims)]), spec)


# ---------------------------------------------------------------------------------------------- generate_vmap_rule


class _Ctx:
    """The user's `ctx` inside the batch: saves what lies under its tensors at the ctx one level below."""

    def __init__(self, below: Any, level: Any) -> None:
        self.__dict__.update(_below=below, _level=level)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`."""
        self._keep("_batched_backward", tensors)
        self._below.save_for_backward(*(self._level.lower(t) for t in tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self._keep("_batched_forward", tensors)
        self._below.save_for_forward(*(self._level.lower(t) for t in tensors))

    def _keep(self, name: str, tensors: Any) -> None:
        self._below.__dict__[name] = tuple([self._level.owns(t) for t in tensors])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept, as examples again."""
        below, level = self._below, self._level
        name = "_batched_forward" if below.saved_for_forward is not None else "_batched_backward"
        return tuple([level.wrap(t) if b else t for t, b in zip(below.saved_tensors, below.__dict__[name])])

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Which of the user's inputs want a gradient."""
        return tuple(self._below.needs_input_grad[1:])  # the first is `_Over`'s own

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs were changed in place."""
        self._below.mark_dirty(*(self._level.lower(t) for t in tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs carry no gradient."""
        self._below.mark_non_differentiable(*(self._level.lower(t) for t in tensors))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._below, name)
        return _carried(self._level, value, name in self._below.__dict__.get("_batches", ()))

    def __setattr__(self, name: str, value: Any) -> None:
        if self._level.owns(value):
            self._below.__dict__.setdefault("_batches", set()).add(name)
        setattr(self._below, name, self._level.lower(value))


def _carried(level: Any, value: Any, batch: bool) -> Any:
    return level.wrap(value) if batch else value


class _Examples:
    """The vmap inside: it runs the user's staticmethods on examples, for one call over whole batches."""

    def __init__(self, level: Any, cls: Any, spec: Any, values: list[Any], batched: list[bool]) -> None:
        self.make, self.size, self.randomness = type(level), level.size, level.randomness
        self.cls, self.spec, self.values, self.batched = cls, spec, values, batched
        self.out_spec: Any = None
        self.out_batched: list[bool] = []

    def _run(self, work: Callable[[Any], Any]) -> Any:
        inner = self.make(self.size, self.randomness)
        with inner.entered():
            return work(inner)

    def _wrapped(self, inner: Any, given: Any, marks: Any) -> list[Any]:
        return [inner.wrap(t) if b and isinstance(t, Tensor) else t for t, b in zip(given, marks)]

    def _spread(self, inner: Any, t: Any) -> Any:
        """The batch of an example; of what no example has a part in, one for each."""
        if inner.owns(t) or not isinstance(t, Tensor):
            return inner.lower(t)
        return call("expand", call("unsqueeze", t, dim=0), size=(self.size, *shape_of(t)))

    def forward(self, given: Any) -> tuple[Any, ...]:
        """The results as batches; notes their structure."""

        def work(inner: Any) -> Any:
            out = self.cls.forward(*tree_unflatten(self._wrapped(inner, given, self.batched), self.spec))
            outs, self.out_spec = tree_flatten(out)
            self.out_batched = [inner.owns(t) for t in outs]
            return tuple([inner.lower(t) for t in outs])

        found: tuple[Any, ...] = self._run(work)
        return found

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Let the user keep things in a context that knows which are batches."""

        def work(inner: Any) -> None:
            out = tree_unflatten(self._wrapped(inner, output, self.out_batched), self.out_spec)
            given = tuple(tree_unflatten(self._wrapped(inner, inputs, self.batched), self.spec))
            self.cls.setup_context(_Ctx(ctx, inner), given, out)

        self._run(work)

    def backward(self, ctx: Any, gs: Any) -> tuple[Any, ...]:
        """Cotangents of the inputs, in the inputs' shapes."""

        def work(inner: Any) -> Any:
            found = _listed(self.cls.backward(_Ctx(ctx, inner), *self._wrapped(inner, gs, self.out_batched)))
            triples = zip(found, self.values, self.batched)
            return tuple([None if g is None else _to_input(self._spread(inner, g), v, b) for g, v, b in triples])

        found: tuple[Any, ...] = self._run(work)
        return found

    def jvp(self, ctx: Any, ts: Any) -> tuple[Any, ...]:
        """Tangents of the results."""

        def work(inner: Any) -> Any:
            found = _listed(self.cls.jvp(_Ctx(ctx, inner), *self._wrapped(inner, ts, self.batched)))
            pairs = zip(found, self.out_batched)
            return tuple([None if t is None else self._spread(inner, t) if m else t for t, m in pairs])

        found: tuple[Any, ...] = self._run(work)
        return found


def _listed(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


class _Over(Function):
    """A Function over whole batches, whose forward, backward and jvp run the user's inside a vmap."""

    @staticmethod
    def forward(examples: _Examples, *given: Any) -> Any:
        return examples.forward(given)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx._examples, *given = inputs
        ctx._examples.setup_context(ctx, given, output)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        return (None, *ctx._examples.backward(ctx, gs))

    @staticmethod
    def jvp(ctx: Any, _: Any, *ts: Any) -> Any:
        return ctx._examples.jvp(ctx, ts)


def _over(cls: Any) -> Any:
    """The Function over whole batches of a user's: one, whose nodes bear its name."""
    found = cls.__dict__.get("_over_batches")
    if found is None:
        found = cls._over_batches = type(f"Vmapped{cls.__name__}", (_Over,), {})
    return found


def _over_batch(level: Any, cls: Any, spec: Any, values: list[Any], batched: list[bool]) -> Any:
    """One call of a Function over whole batches."""
    examples = _Examples(level, cls, spec, values, batched)
    outs = level.below_call(lambda: _over(cls).apply(examples, *values))
    wrapped = [level.wrap(t) if b else t for t, b in zip(outs, examples.out_batched)]
    return tree_unflatten(wrapped, examples.out_spec)


def _to_input(g: Any, value: Any, batch: bool) -> Any:
    """A batch of cotangents of an input, brought to the input's shape: summed where the input has no batch."""
    want = shape_of(value)
    if not batch:
        return sum_to(g, want)
    have = shape_of(g)
    if have == want:
        return g
    lead = len(have) - len(want)
    if lead > 0:  # the user's backward left broadcasting to be undone, example by example
        g = call("sum", g, dim=tuple(range(1, 1 + lead)))
        have = shape_of(g)
    return sum_to(g, want) if len(have) == len(want) else call("expand_as", g, value)
