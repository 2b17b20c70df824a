"""What programs take from `torch._C`, and who is asked about a backward pass, beside live PyTorch."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import chainrule  # noqa: E402


def _said(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def _passes(t: Any) -> Any:
    """A pass as it looks from inside."""
    said: list[Any] = []
    x = t.ones(2, requires_grad=True)
    y = x.exp()

    def order(g: Any) -> None:
        found = _said(t._C._current_graph_task_execution_order)
        said.append([n.name() for n in found] if isinstance(found, list) else found)

    def look(g: Any) -> None:
        said.append([t._C._will_engine_execute_node(n) for n in (y.grad_fn, z.grad_fn)])
        said.append((t._C._current_autograd_node().name(), t._C._autograd._get_current_graph_task_keep_graph()))
        numbers.append(t._C._current_graph_task_id())

    numbers: list[int] = []
    z = y.sin()
    z.register_hook(look)
    for several in (False, True):
        with t.autograd.set_multithreading_enabled(several):
            total = z.sum()
            total.register_hook(order)
            total.backward(retain_graph=True)
            t.autograd.grad(total, y, retain_graph=True)
    outside = [_said(t._C._current_graph_task_execution_order), t._C._current_autograd_node()]
    outside += [t._C._current_graph_task_id(), _said(lambda: t._C._will_engine_execute_node(y.grad_fn))]
    outside += [t._C._autograd._get_current_graph_task_keep_graph()]
    outside += [_said(lambda: t._C._will_engine_execute_node(x))[0]]
    return said, [b - a for a, b in zip(numbers, numbers[1:])], outside


def _odd_nodes(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    functions = t._C._functions
    refused = functions.DelayedError("not here", 1)(x)
    pair = functions.DelayedError("not here", 2)(x, t.ones(1))
    nothing = functions.UndefinedGrad()(x)
    names = [type(each.grad_fn).__name__ for each in (refused, *pair, nothing)]
    nothing.sum().backward()
    leaf = (x * 2).grad_fn.next_functions[0][0]
    return names, _said(refused.sum().backward), x.grad, isinstance(leaf, functions.AccumulateGrad)


def _versions(t: Any) -> Any:
    x = t.ones(2)
    private = t._C._autograd
    private._unsafe_set_version_counter((x,), (7,))
    wrong = [_said(lambda: private._unsafe_set_version_counter((x,), v)) for v in ((-1,), (1, 2))]
    return x._version, wrong


def _hooks(t: Any) -> Any:
    private, a = t._C._autograd, t.ones(2, requires_grad=True)
    seen: list[Any] = []
    with t.autograd.graph.saved_tensors_hooks(lambda x: seen.append("pack") or x, lambda x: seen.append("open") or x):
        kept = private._make_saved_tensor(a, is_output=False)
        opened = kept.unpack()
        inside = private._saved_tensors_hooks_is_enabled()
    with t.autograd.graph.disable_saved_tensors_hooks("no"):
        off = private._saved_tensors_hooks_is_enabled(), private._saved_tensors_hooks_get_disabled_error_message()
    return seen, opened.tolist(), isinstance(kept, private.SavedTensor), inside, off


def _modes(t: Any) -> Any:
    found = [t._C.is_grad_enabled(), t._C._is_fwd_grad_enabled()]
    for on in (False, True):
        t._C._set_grad_enabled(on)
        t._C._set_fwd_grad_enabled(on)
        found += [t.is_grad_enabled(), t._C.is_grad_enabled(), t._C._is_fwd_grad_enabled()]
    return found


def _weak(t: Any) -> Any:
    weak = importlib.import_module(f"{t.__name__}.utils.weak")
    a, b = t.ones(2), t.ones(2)
    table = weak.WeakTensorKeyDictionary({a: 1})
    table[b] = 2
    known = [a in table, t.ones(2) in table, 3 in table, len(table), sorted(table.values()), table.get(t.ones(2))]
    ref, single = weak.TensorWeakRef(a), t._C._WeakTensorRef(a)
    before = ref() is a, single.expired()
    del a
    gc.collect()
    del table[b]
    return known, before, ref(), single.expired(), len(table), len(table | {b: 1}), table.copy() == table


def _short_names(t: Any) -> Any:
    found = importlib.import_module(f"{t.__name__}.utils._dtype_abbrs").dtype_abbrs
    return {str(each).split(".")[-1]: short for each, short in found.items()}


def _asked(t: Any) -> Any:
    """What a subclass and a mode are told of backward passes."""
    seen: list[Any] = []

    def note(func: Any, args: Any, kwargs: Any) -> None:
        if func in (t.autograd.backward, t.autograd.grad, t.Tensor.backward):
            sizes = [len(a) if isinstance(a, tuple) else type(a).__name__ for a in args]
            seen.append((func.__name__, sizes, {k: type(v).__name__ for k, v in kwargs.items()}))

    class Mine(t.Tensor):  # type: ignore[name-defined,misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note(func, args, kwargs or {})
            return super().__torch_function__(func, types, args, kwargs or {})

    class Asked(importlib.import_module(f"{t.__name__}.overrides").TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note(func, args, kwargs or {})
            return func(*args, **(kwargs or {}))

    x = t.ones(3).as_subclass(Mine).requires_grad_()
    y = t.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    t.autograd.backward([(x * 2).sum(), (y * 2).sum()], [t.tensor(1.0), None], retain_graph=True, inputs=[x])
    t.autograd.grad((x * 2).sum(), x, allow_unused=True)
    t.autograd.backward(y * 2, t.ones(3).as_subclass(Mine))
    with Asked():
        (y * 2).sum().backward()
        t.autograd.backward((y * 2).sum())
        t.autograd.grad((y * 2).sum(), [y])
    return seen, x.grad.tolist(), y.grad.tolist()


def _attributes(t: Any) -> Any:
    """What is asked of a class and of a mode when attributes are read, written and deleted, and what comes of it."""
    overrides = importlib.import_module(f"{t.__name__}.overrides")
    seen: list[Any] = []

    def note(who: str, func: Any, types: Any, args: Any) -> None:
        name = (overrides.resolve_name(func) or "").removeprefix("torch.").removeprefix("Tensor.")
        read = func.__name__ == "__get__" and overrides.is_tensor_method_or_property(func)
        seen.append((who, name, [k.__name__ for k in types], len(args), read))

    class Mine(t.Tensor):  # type: ignore[name-defined,misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note("class", func, types, args)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Own(Mine):
        @property
        def shape(self) -> str:
            return "own"

    class Answers(t.Tensor):  # type: ignore[name-defined,misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "the answer" if func == t.Tensor.shape.__get__ else len(args)

    class Asked(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note("mode", func, types, args)
            return func(*args, **(kwargs or {}))

    def used(x: Any) -> Any:
        kinds = [type(v).__name__ for v in (x.T, x.mT, x.H, x.data, x.real, x.detach(), x[0])]
        x.requires_grad = True
        facts = [tuple(x.shape), str(x.dtype).split(".")[-1], x.device.type, x.ndim, x.requires_grad, x.is_leaf, x.grad]
        x.grad = t.ones(2, 2)
        kinds.append(type(x.grad).__name__)
        del x.grad
        x.data = t.zeros(2, 2)
        kinds.append(type((x * 2)._base).__name__)
        return facts, kinds, x.size(), x.stride(), x.numel(), x.is_contiguous(), x.grad_fn, x._version, x[0, 0].item()

    found = [used(t.ones(2, 2).as_subclass(Mine)), (own := t.ones(2, 2).as_subclass(Own)).shape, own.dtype is t.float32]
    answers = t.ones(2, 2).as_subclass(Answers)
    found += [answers.shape, answers.T, answers.size(), [len(seen)]]
    with t._C.DisableTorchFunctionSubclass():
        found += [tuple(answers.shape), type(t.ones(2, 2).as_subclass(Mine).T).__name__]
    x = t.ones(2, 2)
    with Asked():
        found += [tuple(x.shape), x.requires_grad, x.is_leaf, x.grad, type(x.T).__name__]
        x.requires_grad = True
        x.grad = None
        with t._C.DisableTorchFunctionSubclass():
            found.append(str(own.layout))
        with t._C.DisableTorchFunction():
            found.append(str(x.layout))
    return found, seen, "__getattribute__" in vars(t.Tensor)


def _rules_ask_nobody(t: Any) -> Any:
    """What a pass that records its own graph computes with a subclass's tensors is no call; what hooks do is."""
    seen: list[str] = []

    class Mine(t.Tensor):  # type: ignore[name-defined,misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.tensor([1.0, 2.0]).as_subclass(Mine).requires_grad_()
    y = (x.square() * x).sum()
    y.register_hook(lambda g: g * x.detach().sum())
    asked = len(seen)
    (first,) = t.autograd.grad(y, [x], create_graph=True)
    (second,) = t.autograd.grad(first.sum(), [x])
    return seen[asked:], [type(g).__name__ for g in (first, second)], first.tolist(), second.tolist()


def _resized(t: Any) -> Any:
    """Inference mode knows no history that could be lost."""
    a = t.ones(1, 2, 3, requires_grad=True)
    with t.inference_mode():
        b = t.ones(1, 2, 3, requires_grad=True)
        found = [x.resize_(1, 2).shape for x in (a, b)] + [x.resize_as_(t.ones(3)).shape for x in (a, b)]
    return found, _said(lambda: a.resize_(2)), a.requires_grad, b.requires_grad


def _counted(t: Any) -> list[int]:
    """How many hold a tensor: Python, nodes that saved it, its accumulator, views, gradients."""
    a, x, w = t.randn(2, requires_grad=True), t.randn(2), t.randn(2, requires_grad=True)
    b = a * a
    found = [a._use_count()]
    c, v, y = a * 2, x.view(-1), x * w
    found += [a._use_count(), x._use_count(), y._use_count(), w._use_count()]
    z = y.exp()
    node = y.grad_fn
    found += [z._use_count(), y._use_count(), w._use_count()]
    del b, c, v, y, z
    found += [a._use_count(), w._use_count()]
    del node
    (w * 2).sum().backward()
    return [*found, w._use_count(), w.grad._use_count()]


def _wrapping(t: Any) -> Any:
    """A class that answers ops: nobody makes objects of it behind its back, and gradcheck moves what it wraps."""
    tree = importlib.import_module(f"{t.__name__}.utils._pytree")

    class Wraps(t.Tensor):  # type: ignore[name-defined,misc]
        @staticmethod
        def __new__(cls: Any, elem: Any, requires_grad: bool = False) -> Any:
            made = t.Tensor._make_wrapper_subclass(
                cls, elem.shape, strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
            )
            made.elem = elem.detach() if requires_grad else elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            args, kwargs = tree.tree_map(lambda x: x.elem if isinstance(x, cls) else x, (args, kwargs or {}))
            return tree.tree_map(lambda x: cls(x) if isinstance(x, t.Tensor) else x, func(*args, **kwargs))

    class Child(Wraps):
        pass

    class Both(Wraps):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    off = t._C._disabled_torch_function_impl
    x = Wraps(t.ones(2, 2, dtype=t.float64), True)
    wide = t.autograd.functional.jacobian(lambda x: x.exp(), x, strategy="forward-mode", vectorize=True)
    y = x * x
    before = x._version
    x.data.copy_(t.zeros(2, 2))
    y.sum().backward()
    return (
        [kind.__dict__.get("__torch_function__") is off for kind in (Wraps, Child, Both)],
        t.autograd.gradcheck(lambda x: t.autograd.functional.vjp(t.exp, x, t.ones_like(x), create_graph=True)[1], x),
        [type(wide).__name__, wide.shape, x._version - before, x.elem.tolist(), x.grad.elem.tolist()],
    )


def _of_the_class(t: Any) -> Any:
    """What a class's operators say of a number where a tensor should be."""
    x, found = t.arange(1, 4), []
    for name in ("radd", "rmul", "rand", "ror", "rxor", "add", "mul", "rdiv", "rpow", "rsub", "rmod", "rfloordiv"):
        got = _said(lambda: getattr(t.Tensor, f"__{name}__")(2, x))  # noqa: B023  # called at once
        found.append(got.tolist() if isinstance(got, t.Tensor) else got[0] if isinstance(got, tuple) else got)
    return found


def _named(t: Any) -> Any:
    """The classes of several results."""
    kinds, x = importlib.import_module(f"{t.__name__}.return_types"), t.eye(3)
    made = {"min": t.min(x, 0), "topk": t.topk(x, 1), "linalg_eigh": t.linalg.eigh(x), "qr": t.qr(x)}
    return [isinstance(value, getattr(kinds, name)) for name, value in made.items()], t.return_types is kinds


STORIES = [
    _passes, _odd_nodes, _versions, _hooks, _modes, _weak, _short_names, _asked, _attributes, _rules_ask_nobody,
    _resized, _counted, _wrapping, _of_the_class, _named,
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_same_is_said(story: Callable[[Any], Any]) -> None:
    assert story(chainrule) == story(torch)


def test_a_node_of_several_outputs_to_which_nothing_came() -> None:
    """All its cotangents are undefined: the pull that is recorded gets zeros, as the bare one does."""
    x = chainrule.ones(2, 2, requires_grad=True)
    nothing = chainrule._C._functions.UndefinedGrad()
    parts = [nothing(p) for p in x.unbind()]
    (g,) = chainrule.autograd.grad(sum(p.sum() for p in parts), x, create_graph=True, allow_unused=True)
    assert g is None or not g.any()


@pytest.mark.parametrize("name", ["svdvals", "eigvalsh", "eigvals", "det"])
def test_an_undefined_cotangent_is_not_pulled(name: str) -> None:
    def said(t: Any) -> Any:
        x = t.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        values, got = getattr(t.linalg, name)(x), []
        values.grad_fn.register_hook(lambda gs, came: got.append((gs, came)))
        nothing = t._C._functions.UndefinedGrad()(values)
        return t.autograd.grad(nothing.abs().sum(), x, allow_unused=True), got

    assert said(chainrule) == said(torch)
