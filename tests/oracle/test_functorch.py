"""What the package functorch has beside `torch.func`, beside live PyTorch: the same results, warnings and refusals."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402


def _inside(t: Any, f: Any) -> list[Any]:
    """What the interpreters say of themselves, and of their tensors, in a vmap in a grad."""
    said = []

    def look(x: Any) -> Any:
        stack = [each.key().name for each in f.get_interpreter_stack()]
        said.append((stack, f.peek_interpreter_stack().level(), f.maybe_current_level(), f.dlevel(x)))
        said.append((f.is_batchedtensor(x), f.is_gradtrackingtensor(x), f.is_functorch_wrapped_tensor(x)))
        said.append((f.maybe_get_level(x), f.get_unwrapped(x).ndim))
        return (x * x).sum()

    x = t.arange(6.0).reshape(2, 3)
    t.func.grad(lambda x: look(x))(x)
    t.func.vmap(look)(x)
    return [said, f.dlevel(x), f.peek_interpreter_stack(), f.maybe_get_level(x), f.is_batchedtensor(x)]


def _by_hand(t: Any, f: Any) -> list[Any]:
    """A vmap and a jvp that are opened and closed by hand."""
    x = t.arange(6.0).reshape(2, 3)
    level = f._vmap_increment_nesting(3, "error")
    example = f._add_batch_dim(x, 1, level)
    y = example * 2
    inner = f._jvp_increment_nesting()
    f._jvp_decrement_nesting()
    out = f._remove_batch_dim(y, level, 3, 1)
    flat, place = f._unwrap_batched(y, level)
    f._vmap_decrement_nesting()
    return [level, inner, example.shape, out.tolist(), flat.shape[place], f.get_dynamic_layer_stack_depth()]


def _reshaped(t: Any, f: Any) -> list[Any]:
    x = t.arange(24.0).reshape(2, 3, 4)
    into = [f.reshape_dim_into(a, b, x).tolist() for a, b in ((0, 0), (0, 1), (2, 0), (-1, -1))]
    return into + [f.reshape_dim_outof(a, n, x).shape for a, n in ((1, 3), (-1, 2))]


def _looped(t: Any, f: Any) -> Any:
    """An op without a batch rule, where those are not allowed."""
    f._set_vmap_fallback_enabled(False)
    try:
        return t.vmap(lambda x: x * 2)(t.ones(2)).tolist(), f._is_vmap_fallback_enabled()
    finally:
        f._set_vmap_fallback_enabled(True)


def test_an_op_without_a_batch_rule_is_announced_or_refused() -> None:
    loops = chainrule._C._functorch
    x = chainrule.ones(2, 3, 4)
    chainrule._C._debug_only_display_vmap_fallback_warnings(True)
    try:
        with pytest.warns(UserWarning, match="There is a performance drop because we have not yet implemented"):
            chainrule.vmap(lambda x: chainrule.nn.functional.pdist(x))(x)
        loops._set_vmap_fallback_enabled(False)
        with pytest.raises(RuntimeError, match="hit the vmap fallback which is currently disabled"):
            chainrule.vmap(lambda x: chainrule.nn.functional.pdist(x))(x)
    finally:
        loops._set_vmap_fallback_enabled(True)
        chainrule._C._debug_only_display_vmap_fallback_warnings(False)


def _cubed(t: Any) -> Any:
    """An operator with rules of its own: for examples, for gradients, for a mode, and to compute."""
    f, keys = t._C._functorch, t._C.DispatchKey

    class Cubed(importlib.import_module(f"{t.__name__}._ops").HigherOrderOperator):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__("cubed")

        def __call__(self, *args: Any) -> Any:
            return super().__call__(*args)

    op, single = Cubed(), importlib.import_module(f"{t.__name__}._functorch.utils")

    @op.py_impl(f.TransformType.Vmap)
    def examples(interpreter: Any, fn: Any, x: Any) -> Any:
        value, axis = f.get_unwrapped(x), f.maybe_get_bdim(x)
        with interpreter.lower():
            found = op(fn, value.movedim(axis, 0))
        return f._add_batch_dim(found, 0, interpreter.level())

    @op.py_impl(f.TransformType.Grad)
    def gradients(interpreter: Any, fn: Any, x: Any) -> Any:
        level = interpreter.level()

        class Cube(t.autograd.function._SingleLevelFunction):  # type: ignore[name-defined,misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                below = f._unwrap_for_grad(x, level)
                with t.enable_grad(), interpreter.lower():
                    found = op(fn, below)
                return f._wrap_for_grad(found, level)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 3 * ctx.saved_tensors[0] ** 2

        with single.enable_single_level_autograd_function():
            return Cube.apply(x)

    @op.py_impl(keys.AutogradCPU)
    def computed(fn: Any, x: Any) -> Any:
        return fn(x) ** 3

    return op


def _operators(t: Any, f: Any) -> Any:
    op = _cubed(t)
    x = t.tensor([1.0, 2.0, 3.0])
    plain = lambda y: y  # noqa: E731
    once = t.func.grad(lambda y: op(plain, y).sum())
    values = [op(plain, x), t.vmap(lambda y: op(plain, y))(x), once(x), t.vmap(t.func.grad(lambda y: op(plain, y)))(x)]
    values += [t.func.grad(lambda y: once(y).sum())(x), t.vmap(lambda y: op(plain, y), 1)(x.expand(2, 3))]
    with t.no_grad():
        values.append(once(x.clone().requires_grad_()))
    refused = []
    for call in (lambda: t.func.jvp(lambda y: op(plain, y), (x,), (x,)), op.py_impl(keys_of(t))(lambda: None), None):
        try:
            refused.append(call() if call else importlib.import_module(f"{t.__name__}._ops").HigherOrderOperator("op"))
        except Exception as error:
            refused.append(type(error).__name__)
    return [v.tolist() for v in values], refused, op.name(), str(op), op.namespace


def keys_of(t: Any) -> Any:
    return t._C.DispatchKey.CompositeExplicitAutograd


class _Plain:
    """`functorch` as each package offers it."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def __getattr__(self, name: str) -> Any:
        if self.t is chainrule:
            return getattr(chainrule.func, name)
        root = "functorch.experimental" if name in ("chunk_vmap", "replace_all_batch_norm_modules_") else "functorch"
        return getattr(importlib.import_module(root), name)


def _tied(t: Any) -> Any:
    class Tied(t.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.one = t.nn.Linear(2, 2)
            self.other = self.one
            self.norm = t.nn.BatchNorm1d(2)

        def forward(self, x: Any) -> Any:
            return self.norm(self.other(self.one(x)))

    return Tied()


def _functional(t: Any, f: Any) -> Any:
    fn, params, buffers = f.make_functional_with_buffers(_tied(t))
    names = fn.param_names, fn.buffer_names, fn.all_names_map
    empty = [str(p.device) for p in fn.stateless_model.parameters()]
    out = fn(params, buffers, t.arange(4.0).reshape(2, 2))
    left = [str(p.device) for p in fn.stateless_model.parameters()]
    return names, empty, out.shape, out.requires_grad, repr(fn), left


def _one_layer(t: Any, f: Any) -> Any:
    fn, params = f.make_functional(t.nn.Linear(2, 1), disable_autograd_tracking=True)
    given = (t.ones(1, 2), t.zeros(1))
    return [p.requires_grad for p in params], fn(given, t.ones(3, 2)).tolist(), fn.param_names


def _ensemble(t: Any, f: Any) -> Any:
    models = [t.nn.Linear(2, 1) for _ in range(3)]
    fn, params, buffers = f.combine_state_for_ensemble(models)
    x = t.ones(4, 2)
    same = t.allclose(t.vmap(fn, (0, 0, None))(params, buffers, x), t.stack([m(x) for m in models]))
    return same, [(p.shape, p.requires_grad, p.is_leaf) for p in params]


def _refused(t: Any, f: Any, models: Any) -> Any:
    return f.combine_state_for_ensemble(models)


def _normless(t: Any, f: Any) -> Any:
    model = f.replace_all_batch_norm_modules_(_tied(t))
    return repr(model), model.norm.running_mean, model.norm.num_batches_tracked


STORIES: dict[str, Callable[[Any, Any], Any]] = {
    "with buffers": _functional, "one layer": _one_layer, "ensemble": _ensemble, "without statistics": _normless,
    "buffers refused": lambda t, f: f.make_functional(t.nn.BatchNorm1d(2)),
    "no models": lambda t, f: _refused(t, f, []),
    "kinds": lambda t, f: _refused(t, f, [t.nn.Linear(1, 1), t.nn.ReLU()]),
    "modes": lambda t, f: _refused(t, f, [t.nn.Linear(1, 1), t.nn.Linear(1, 1).eval()]),
    "chunks": lambda t, f: f.chunk_vmap(lambda x: x.sum() * 2, 1, chunks=3)(t.arange(8.0).reshape(2, 4)).tolist(),
    "no chunks": lambda t, f: f.chunk_vmap(lambda x: x, chunks=0)(t.ones(2)),
    "chunks of nothing": lambda t, f: f.chunk_vmap(lambda x: x, in_dims=None)(t.ones(2)),
}  # fmt: skip


def _told(t: Any, story: Callable[[Any, Any], Any]) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = story(t, _Plain(t))
        except Exception as error:
            result = type(error).__name__, re.sub(r" at 0x\w+", "", str(error))
    return result, [(w.category, str(w.message)) for w in seen if w.category is FutureWarning]


@pytest.mark.parametrize("name", STORIES)
def test_modules_as_functions(name: str) -> None:
    assert _told(chainrule, STORIES[name]) == _told(torch, STORIES[name])


def _at(t: Any, module: str) -> Any:
    return importlib.import_module(f"{t.__name__}._functorch.{module}")


def _restored(t: Any) -> Any:
    restore = _at(t, "vmap").restore_vmap
    x, y = t.arange(6.0).reshape(2, 3), t.arange(8.0).reshape(4, 2)
    out, dims = restore(lambda x, y: {"a": x.sum() * 2, "b": y, "c": 3}, (0, 1), 2, "error")(x, y)
    return {k: v if isinstance(v, int) else v.tolist() for k, v in out.items()}, dims


def _initial(t: Any) -> Any:
    made = _at(t, "make_functional")
    weights, fn, names = made.functional_init(t.nn.Linear, (3,))(2, 1)
    out = t.vmap(fn, (0, None))(weights, (t.ones(4, 2),))
    more = made.functional_init_with_buffers(t.nn.BatchNorm1d, [2])(4)
    return names, [w.shape for w in weights], out.shape, [b.shape for b in more[1]], more[3:]


@pytest.mark.parametrize("story", [_restored, _initial])
def test_its_private_doors(story: Callable[[Any], Any]) -> None:
    assert story(chainrule) == story(torch)


@pytest.mark.parametrize("argnums", [0, -1, (0,), (1, 0), (), (0, 0), (0, -3), 1.5, (0, "a"), 5, (0, 5)], ids=str)
def test_argnums(argnums: Any) -> None:
    def sliced(t: Any) -> Any:
        try:
            return [_at(t, "eager_transforms")._slice_argnums((1, [2], 3), argnums, whole) for whole in (True, False)]
        except RuntimeError as error:
            return str(error)

    assert sliced(chainrule) == sliced(torch)


@pytest.mark.parametrize("story", [_inside, _by_hand, _reshaped, _looped, _operators])
def test_the_interpreters_say_the_same(story: Callable[[Any, Any], Any]) -> None:
    assert story(chainrule, chainrule._C._functorch) == story(torch, torch._C._functorch)
