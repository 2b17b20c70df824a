"""Pooling over the last axes: maxima, means, norms; windows of fixed size, or as many as asked for.

Kernels take any leading axes, so a batch of examples is one more of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.backends import cpu
from chainrule.backends.meta import empty as hollow
from chainrule.core.ambient import LISTENING
from chainrule.core.dtype import OF_NUMPY
from chainrule.core.family import general, spread
from chainrule.core.layout import contiguous_format
from chainrule.core.notices import alert_nondeterministic
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import Drawn, apart, integers, real, samples
from chainrule.core.shape import normalize_dim, suggested_format
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.along import SAME_OUT, laid_as
from chainrule.ops.domains import only_floats, unimplemented

__all__ = ["max_pool_gather", "max_pool_scatter"]

Ints = tuple[int, ...]


def _as_one(fn: Any) -> Any:
    """The batching rule of an op that takes any leading axes."""
    return lambda values, batched, size, params: fn()(values[0], **params)


def _both(fn: Any) -> Any:
    """The same for two inputs; one that has no batch is the same for every example."""
    return lambda values, batched, size, params: fn()(*[spread(v, b, size) for v, b in zip(values, batched)], **params)


# ----------------------------------------------------------------------------------------------------- maxima


def _at_size(raw: Any, size: Ints, dtype: Any = None) -> Any:
    return hollow(raw.shape[: raw.ndim - len(size)] + tuple(size), raw.dtype if dtype is None else dtype)


def _with_indices(raw: Any, size: Ints) -> Any:
    return _at_size(raw, size), _at_size(raw, size, np.int64)


@general(
    spelled="", node="MaxPoolWithIndicesBackward", vmap=_both(lambda: max_pool_scatter),  # type: ignore[has-type]
    samples=samples(real, [((2, 3), Drawn(integers(6), 2, 3))], space=[(6,)]),
    meta=lambda raws, params: _at_size(raws[0], params["space"]),
)  # fmt: skip
def max_pool_scatter(xp: Any, grad: Array, indices: Array, space: Ints) -> Array:
    """Values added up where `indices` say, flat within each plane of extents `space`."""
    return xp.pool.max_pool_scatter(grad, indices, space)


@general(
    spelled="", vmap=_both(lambda: max_pool_gather), meta=lambda raws, params: hollow(raws[1].shape, raws[0].dtype),  # type: ignore[has-type]
    samples=samples(real, [((2, 6), Drawn(integers(6), 2, 3))], rank=[1]),
)  # fmt: skip
def max_pool_gather(xp: Any, input: Array, indices: Array, rank: int) -> Array:
    """The values at `indices`: the transpose of `max_pool_scatter`."""
    return xp.pool.max_pool_gather(input, indices, rank)


max_pool_scatter.vjp(grad=lambda g, indices, space: max_pool_gather(g, indices, len(space)))
max_pool_gather.vjp(
    input=lambda g, indices, input_shape, rank: max_pool_scatter(g, indices, tuple(input_shape[-rank:]))
)


def _max_pool_op(rank: int) -> Any:
    name = f"max_pool{rank}d_with_indices"

    def forward(
        xp: Any, input: Array, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> Array:
        if input.dtype.kind in "bc":
            raise NotImplementedError(f"\"max_pool{rank}d\" not implemented for '{OF_NUMPY[input.dtype].title}'")
        found = xp.pool.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode)
        return tuple([laid_as(r, input) for r in found])

    forward.__doc__ = "The largest value of each window, and where in its plane it lies."
    given = samples(
        apart, [((2, *(4,) * rank),)], kernel_size=[(2,) * rank], stride=[(1,) * rank, (2,) * rank],
        padding=[(0,) * rank, (1,) * rank], dilation=[(1,) * rank], ceil_mode=[False],
    )  # fmt: skip
    op = general(
        forward, name=name, node=f"MaxPool{rank}DWithIndices", spelled="", outs=("out", "indices"), samples=given,
        straight=True,
        vmap=_as_one(lambda: _MAX[rank]), meta=lambda raws, params: _with_indices(raws[0], _pooled(raws[0], **params)),
    )  # fmt: skip
    return op.vjp(input=lambda g, indices, input_shape: max_pool_scatter(g, indices, tuple(input_shape[-rank:])))


def _pooled(
    raw: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints | None = None, ceil_mode: bool = False,
    **rest: Any,
) -> Ints:  # fmt: skip
    space = raw.shape[raw.ndim - len(kernel_size) :]
    given = (kernel_size, stride, padding, dilation or (1,) * len(kernel_size), ceil_mode)
    return cpu.pool.pool_output_space(space, *given)  # type: ignore[no-any-return]


_MAX = {rank: _max_pool_op(rank) for rank in (2, 3)}
_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


def _sizes(value: Any, rank: int, name: str, what: str) -> Ints:
    one = value.__class__ is int or (hasattr(value, "__index__") and not getattr(value, "shape", ()))  # NumPy's, too
    found = (value,) if one else tuple(value)
    if len(found) == 1:
        found = found * rank
    if len(found) != rank:
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {_WORDS[rank]}")
    return tuple(n.__index__() for n in found)


def _windows(name: str, rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1) -> tuple[Ints, ...]:
    """(kernel, stride, padding, dilation), one entry per axis each."""
    kernel = _sizes(kernel_size, rank, name, "kernel_size")
    given = kernel if stride is None or (isinstance(stride, (tuple, list)) and not stride) else stride
    if stride == 0:
        raise RuntimeError("stride should not be zero")
    sizes = (_sizes(v, rank, name, w) for v, w in ((given, "stride"), (padding, "padding"), (dilation, "dilation")))
    return (kernel, *sizes)


def _check_rank(name: str, input: Any, rank: int, sizes: tuple[Ints, ...]) -> None:
    fits = input.ndim in (rank + 1, rank + 2)
    if rank > 1:
        if not fits:
            raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")
        cpu.pool.check_windows(*sizes)
    if fits and 0 not in input.shape[-rank - 1 :]:
        return
    if rank == 3:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(input.shape)} and non-batch dimension {input.shape[-rank - 1 :].index(0)} has length zero!"
        )
    start = f"{name}: " if rank == 1 else ""
    raise RuntimeError(
        f"{start}Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
        f"but got:{list(input.shape)}"
    )


def _max_pool(rank: int, input: Any, args: tuple[Any, ...], ceil_mode: bool) -> Any:
    name = f"max_pool{rank}d"
    sizes = _windows(name, rank, *args)
    _check_rank(name, input, rank, sizes)
    if rank > 1:
        return _MAX[rank].public(input, *sizes, bool(ceil_mode))
    if not input.dtype.is_floating_point:
        raise unimplemented("max_pool1d_impl", input.dtype)
    wide = tuple((first, *size) for first, size in zip((1, 1, 0, 1), sizes))
    out, indices = _MAX[2].public(input.unsqueeze(-2), *wide, bool(ceil_mode))
    return out.squeeze(-2), indices.squeeze(-2)


def _unrecorded(out: Any) -> Any:
    """In C order where nothing is recorded: PyTorch has a kernel of its own then; else it pools images of one row."""
    return out if out.requires_grad or LISTENING else out.contiguous()


def _max_pool_functions(rank: int) -> None:
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        out, indices = _max_pool(rank, input, (kernel_size, stride, padding, dilation), ceil_mode)
        return (out, indices) if return_indices else _unrecorded(out) if rank == 1 else out

    def plain(
        input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        out = _max_pool(rank, input, (kernel_size, stride, padding, dilation), ceil_mode)[0]
        return _unrecorded(out) if rank == 1 else out

    def both(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return tuple(_max_pool(rank, input, (kernel_size, stride, padding, dilation), ceil_mode))

    plain.__doc__ = pool.__doc__ = "The largest value of each window."
    both.__doc__ = "The largest value of each window, and where in its plane it lies."
    composite(spelled="n", name=f"max_pool{rank}d")(pool)
    composite(spelled="f", name=f"max_pool{rank}d")(plain)
    composite(spelled="n", name=f"max_pool{rank}d_with_indices")(both)
    if rank == 1:
        composite(spelled="f", name="max_pool1d_with_indices")(both)


for _rank in (1, 2, 3):
    _max_pool_functions(_rank)


def _unpool_samples(rng: np.random.Generator, ones: Ints) -> Any:
    places = rng.permuted(np.tile(np.arange(6), (2, *ones, 1)), axis=-1)
    yield (rng.normal(size=(2, *ones, 3)), places[..., :3]), {"output_size": (*ones, 6)}


def _max_unpool_op(rank: int) -> Any:
    def forward(xp: Any, input: Array, indices: Array, output_size: Ints) -> Array:
        return xp.pool.max_unpool(input, indices, output_size)

    forward.__doc__ = "The values put back where `indices` say, zeros elsewhere."
    op = general(
        forward, name=f"max_unpool{rank}d", node=f"MaxUnpool{rank}D", spelled="", straight=True,
        vmap=_both(lambda: _UNPOOL[rank]),
        meta=lambda raws, params: _at_size(raws[0], params["output_size"]),
        samples=lambda rng: _unpool_samples(rng, (1,) * (rank - 1)),
    )  # fmt: skip
    return op.vjp(input=lambda g, indices: max_pool_gather(g, indices, rank))


_UNPOOL = {rank: _max_unpool_op(rank) for rank in (2, 3)}


def _unpooled_size(input: Any, kernel: Ints, stride: Ints, padding: Ints, output_size: Any) -> Ints:
    rank = len(kernel)
    usual = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-rank:], stride, kernel, padding))
    if output_size is None:
        return usual
    wanted = tuple(output_size)
    if len(wanted) == rank + 2:
        wanted = wanted[2:]
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, "
            f"but it has a length of '{len(wanted)}'"
        )
    for d, (n, s, m) in enumerate(zip(usual, stride, wanted)):
        if not n - s < m < n + s:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {n - s} and {n + s})')
    return wanted


def _max_unpool(
    rank: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Any:
    name = f"max_unpool{rank}d"
    kernel, stride, padding, _ = _windows(name, rank, kernel_size, stride, padding)
    size = _unpooled_size(input, kernel, stride, padding, output_size)
    if indices.dtype.name != "torch.int64" and str(indices.dtype) != "torch.int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.title}")
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    alert_nondeterministic(f"max_unpooling{max(rank, 2)}d_forward_out")  # two values may want one place
    if rank > 1:
        return _UNPOOL[rank].public(input, indices, size)
    return _UNPOOL[2].public(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)


def _max_unpool_function(rank: int) -> None:
    def unpool(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        return _max_unpool(rank, input, indices, kernel_size, stride, padding, output_size)

    unpool.__doc__ = "Values put back where `max_pool` found them, zeros elsewhere."
    composite(spelled="n", name=f"max_unpool{rank}d")(unpool)


for _rank in (1, 2, 3):
    _max_unpool_function(_rank)


# --------------------------------------------------------------------------------------------------- averages


def _avg_pool_op(rank: int) -> tuple[Any, Any]:
    def forward(
        xp: Any,
        input: Array,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        sizes = (kernel_size, stride, padding)
        found = xp.pool.avg_pool(input, *sizes, ceil_mode, count_include_pad, divisor_override)
        return laid_as(found, input) if rank == 2 else found

    def adjoint(
        xp: Any,
        grad: Array,
        space: Ints,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        return xp.pool.avg_pool_adjoint(grad, space, kernel_size, stride, padding, count_include_pad, divisor_override)

    forward.__doc__ = "The mean of each window."
    adjoint.__doc__ = f"The adjoint of `avg_pool{rank}d`."
    given = samples(
        real, [((2, *(4,) * rank),)], kernel_size=[(2,) * rank], stride=[(1,) * rank, (2,) * rank],
        padding=[(0,) * rank, (1,) * rank], ceil_mode=[False], count_include_pad=[True, False],
        divisor_override=[None],
    )  # fmt: skip
    name, node = f"avg_pool{rank}d", f"AvgPool{rank}D"
    kernel, kernel_back = "avg_pool2d", "avg_pool2d_backward"
    if rank == 3:
        kernel, kernel_back = "avg_pool3d_out_frame", "avg_pool3d_backward_out_frame"
    pool = general(
        forward, name=name, node=node, spelled="", linear=True, samples=given, vmap=_as_one(lambda: _AVG[rank][0]),
        straight=True, exact=SAME_OUT, check=only_floats(kernel, "int64"),
        meta=lambda raws, params: _at_size(raws[0], _pooled(raws[0], **params)),
    )  # fmt: skip
    spread = samples(
        real, [((2, *(2,) * rank),)], space=[(4,) * rank], kernel_size=[(2,) * rank], stride=[(2,) * rank],
        padding=[(0,) * rank], ceil_mode=[False], count_include_pad=[True, False], divisor_override=[None, 3],
    )  # fmt: skip
    back = general(
        adjoint, name=f"{name}_backward", node=f"{node}Backward", spelled="", linear=True, samples=spread,
        check=only_floats(kernel_back, "int64"), vmap=_as_one(lambda: _AVG[rank][1]),
        meta=lambda raws, params: _at_size(raws[0], params["space"]),
    )  # fmt: skip
    pool.vjp(
        input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: back(
            g, tuple(input_shape[-rank:]), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    )
    back.vjp(
        grad=lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: pool(
            g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    )
    return pool, back


_AVG = {rank: _avg_pool_op(rank) for rank in (2, 3)}


def _avg_pool(
    rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil: bool, include: bool,
    divisor: int | None, out: Any = None,
) -> Any:  # fmt: skip
    name = f"avg_pool{rank}d"
    sizes = _windows(name, rank, kernel_size, stride, padding)[:3]
    if rank == 1:
        if input.ndim not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' "
                "(while checking arguments for avg_pool1d)"
            )
        wide = tuple((first, *size) for first, size in zip((1, 1, 0), sizes))
        return _AVG[2][0].public(input.unsqueeze(-2), *wide, bool(ceil), bool(include), None).squeeze(-2)
    _check_rank(name, input, rank, (*sizes, (1,) * rank))
    return _AVG[rank][0].public(input, *sizes, bool(ceil), bool(include), divisor, out=out)


@composite(spelled="fn")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of a sequence."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)  # type: ignore[no-any-return]


@composite(spelled="n")
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of an image."""
    normalize_dim(-3, input.ndim, wrap_scalar=False)
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out)  # type: ignore[no-any-return]


@composite(spelled="n")
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of a volume."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out)  # type: ignore[no-any-return]


def _powered(input: Any, norm_type: float, pool: Any) -> Any:
    """The norm of each window, out of the mean of powers: `pool` gives (means, how many)."""
    means, count = pool(input.pow(norm_type))
    return ((means.sign() * names.relu(means.abs())) * count).pow(1.0 / norm_type)


def _lp_pool(rank: int) -> None:
    def pool(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        kernel = _sizes(kernel_size, rank, f"lp_pool{rank}d", "kernel_size")
        count = 1
        for k in kernel:
            count *= k
        return _powered(
            input, norm_type, lambda x: (_avg_pool(rank, x, kernel_size, stride, 0, ceil_mode, True, None), count)
        )

    pool.__doc__ = "The p-norm of each window."
    composite(spelled="n", name=f"lp_pool{rank}d")(pool)


for _rank in (1, 2, 3):
    _lp_pool(_rank)


# --------------------------------------------------------------------------------------------------- adaptive


def _adaptive_ops(rank: int) -> tuple[Any, Any, Any]:
    def mean(xp: Any, input: Array, output_size: Ints) -> Array:
        found = xp.pool.adaptive_avg_pool(input, output_size)
        return laid_as(found, input) if rank == 2 else found

    def spread(xp: Any, grad: Array, space: Ints) -> Array:
        return xp.pool.adaptive_avg_pool_adjoint(grad, space)

    def largest(xp: Any, input: Array, output_size: Ints) -> Array:
        found = xp.pool.adaptive_max_pool(input, output_size)
        return tuple([laid_as(r, input) for r in found]) if rank == 2 else found

    mean.__doc__ = "The mean of each of `output_size` shares."
    spread.__doc__ = f"The adjoint of `_adaptive_avg_pool{rank}d`."
    largest.__doc__ = "The largest value of each of `output_size` shares, and where in its plane it lies."
    name, node = f"_adaptive_avg_pool{rank}d", f"AdaptiveAvgPool{rank}D"
    given = [((2, *(5,) * rank),)]
    kernels = ("adaptive_avg_pool2d", "adaptive_avg_pool2d_backward", "adaptive_max_pool2d")
    if rank == 3:
        kernels = ("adaptive_avg_pool3d_cpu", "adaptive_avg_pool3d_backward_cpu", "adaptive_max_pool3d_cpu")
    avg = general(
        mean, name=name, node=node, spelled="", linear=True, straight=True, vmap=_as_one(lambda: _ADAPTIVE[rank][0]),
        check=only_floats(kernels[0]),
        samples=samples(real, given, output_size=[(2,) * rank, (3,) * rank]),
        meta=lambda raws, params: _at_size(raws[0], params["output_size"]),
    )  # fmt: skip
    back = general(
        spread, name=f"{name}_backward", node=f"{node}Backward", spelled="", linear=True,
        check=only_floats(kernels[1]), vmap=_as_one(lambda: _ADAPTIVE[rank][1]),
        meta=lambda raws, params: _at_size(raws[0], params["space"]),
        samples=samples(real, [((2, *(2,) * rank),)], space=[(5,) * rank]),
    )  # fmt: skip
    top = general(
        largest, name=f"_adaptive_max_pool{rank}d", node=f"AdaptiveMaxPool{rank}D", spelled="",
        outs=("out", "indices"), straight=True, vmap=_as_one(lambda: _ADAPTIVE[rank][2]), check=only_floats(kernels[2]),
        samples=samples(apart, given, output_size=[(2,) * rank]),
        meta=lambda raws, params: _with_indices(raws[0], params["output_size"]),
    )  # fmt: skip
    avg.vjp(input=lambda g, input_shape: back(g, tuple(input_shape[-rank:])))
    back.vjp(grad=lambda g, grad_shape: avg(g, tuple(grad_shape[-rank:])))
    top.vjp(input=lambda g, indices, input_shape: max_pool_scatter(g, indices, tuple(input_shape[-rank:])))
    return avg, back, top


_ADAPTIVE = {rank: _adaptive_ops(rank) for rank in (2, 3)}


def _output_size(name: str, rank: int, input: Any, output_size: Any, is_mean: bool = False) -> Ints:
    """The extents asked for; None keeps an axis as it is. `is_mean`: a single mean is taken of any tensor."""
    if rank > 1 and isinstance(output_size, (tuple, list)) and input.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if is_mean and output_size in (1, (1,) * rank, [1] * rank):
        return (1,) * rank
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(input.shape)}")
    if not isinstance(output_size, (tuple, list)):
        output_size = (output_size,) * rank
    found = tuple(output_size)
    if len(found) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    return tuple(n if s is None else s.__index__() for s, n in zip(found, input.shape[-rank:]))


def _adaptive_avg_pool(rank: int, input: Any, output_size: Any) -> Any:
    size = _output_size(f"adaptive_avg_pool{rank}d", rank, input, output_size, rank > 1)
    if rank == 1:
        return _ADAPTIVE[2][0].public(input.unsqueeze(-2), (1, *size)).squeeze(-2)
    if all(n == 1 for n in size) and (rank == 2 or 0 not in input.shape[-rank:]):
        return _last_as_input(input.mean(tuple(range(-rank, 0))[::-1], True), input)
    return _ADAPTIVE[rank][0].public(input, size)


def _last_as_input(means: Any, input: Any) -> Any:
    """Means that keep one element of each channel, with the channels last if those of the input are."""
    if suggested_format(tuple(input.shape), tuple(input.stride())) is contiguous_format:
        return means
    n, c, *ones = means.shape
    return means.as_strided_((n, c, *ones), (c, 1, *[c for _ in ones]))


def _adaptive_max_pool(rank: int, input: Any, output_size: Any) -> Any:
    size = _output_size(f"adaptive_max_pool{rank}d", rank, input, output_size)
    if min(size) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {[*input.shape[:-rank], *size]}"
        )
    if rank > 1:
        return _ADAPTIVE[rank][2].public(input, size)
    out, indices = _ADAPTIVE[2][2].public(input.unsqueeze(-2), (1, *size))
    return out.squeeze(-2), indices.squeeze(-2)


def _adaptive_functions(rank: int) -> None:
    def average(input: Tensor, output_size: Any) -> Any:
        return _adaptive_avg_pool(rank, input, output_size)

    def largest(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = tuple(_adaptive_max_pool(rank, input, output_size))
        return found if return_indices else found[0]

    def both(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return tuple(_adaptive_max_pool(rank, input, output_size))

    average.__doc__ = "The mean of each of `output_size` shares."
    largest.__doc__ = "The largest value of each of `output_size` shares."
    both.__doc__ = "The largest value of each of `output_size` shares, and where in its plane it lies."
    composite(spelled="fn" if rank == 1 else "n", name=f"adaptive_avg_pool{rank}d")(average)
    composite(spelled="n", name=f"adaptive_max_pool{rank}d")(largest)
    composite(spelled="n", name=f"adaptive_max_pool{rank}d_with_indices")(both)
    if rank == 1:
        composite(spelled="f", name="adaptive_max_pool1d")(both)


for _rank in (1, 2, 3):
    _adaptive_functions(_rank)
