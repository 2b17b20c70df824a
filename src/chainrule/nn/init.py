"""First values of weights, written in place, drawn from the same stream of random numbers as PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chainrule.autograd.grad_mode import no_grad
from chainrule.core.notices import warn
from chainrule.ops import names

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
    "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
    "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a nonlinearity shrinks the spread of what goes through it: the factor that makes up for it."""
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + _slope(param) ** 2))
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def _slope(param: Any) -> float:
    if param is None:
        return 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return param


def _uniform(tensor: Any, low: float, high: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.uniform_(low, high, generator=generator)


def _normal(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform between a and b."""
    return _uniform(tensor, a, b, generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal with this mean and standard deviation."""
    return _normal(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal, cut off at a and b (which are values, not numbers of standard deviations)."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
        )

    inside = _normal_below((b - mean) / std) - _normal_below((a - mean) / std)
    with no_grad():
        if inside > 0.3:
            return _redrawn(tensor, mean, std, a, b, generator)
        return _rejected(tensor, mean, std, a, b, generator)


def _normal_below(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Draw normal numbers; draw all again, to replace those outside, until none is outside."""
    low, high = (names.tensor(bound, dtype=tensor.dtype).item() for bound in (a, b))
    drawn = tensor.normal_(mean, std, generator=generator)
    while (outside := (drawn < low) | (drawn > high)).any():
        again = names.empty_like(drawn).normal_(mean, std, generator=generator)
        drawn = names.where(outside, again, drawn)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def _rejected(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Draw uniform numbers between a and b, each accepted as often as the normal density there says."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chance = names.empty_like(tensor)

    def refused(candidates: Any) -> Any:
        density = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chance.uniform_(generator=generator).log_().gt(density)

    drawn = tensor.uniform_(a, b, generator=generator)
    candidates = names.empty_like(tensor).copy_(tensor)
    pending = refused(candidates)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        drawn = names.where(pending, candidates, drawn)
        pending = names.where(pending, refused(candidates), pending)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def constant_(tensor: Any, val: float) -> Any:
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """The identity matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(names.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """A convolution kernel that passes channels through unchanged, as far as there are channels."""
    rank = tensor.ndimension()
    if rank not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    each = sizes[0] // groups
    middle = tuple(n // 2 for n in sizes[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(each, sizes[1])):
                tensor[(group * each + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform, with a variance of 2 gain^2 / (fan in + fan out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return _uniform(tensor, -a, a, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal, with a variance of 2 gain^2 / (fan in + fan out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return _normal(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _nothing_to_fill(tensor: Any) -> bool:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return True
    return False


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform, with a variance of gain^2 / fan."""
    if _nothing_to_fill(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal, with a variance of gain^2 / fan."""
    if _nothing_to_fill(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return _normal(tensor, 0.0, std, generator)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A matrix with orthonormal rows or columns, times `gain`; further axes count as columns."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = names.empty((rows, columns), dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
    with no_grad():
        if rows < columns:
            flat = flat.t()
        q, r = names.linalg_qr(flat)
        q = q * names.diag(r, 0).sign()
        if rows < columns:
            q = q.t()
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """A normal matrix with this share of each column set to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            chosen = names.randperm(rows)[:zeros]
            tensor[chosen, column] = 0
    return tensor


def _deprecated(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The name without the underscore, kept from PyTorch's early days."""
    new = fn.__name__
    old = new[:-1]

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return fn(*args, **kwargs)

    deprecated.__name__ = old
    return deprecated


uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))  # type: ignore[arg-type]
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
