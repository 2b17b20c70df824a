"""Dropout and its kin: elements, or whole channels, are left out at random, and the rest is scaled to keep the mean.

The noise is drawn as PyTorch draws it, so that a seed gives the same mask. `alpha` forms keep mean and variance of
inputs that went through SELU.
"""

from __future__ import annotations

import math
from typing import Any

from chainrule.core.ambient import LISTENING
from chainrule.core.notices import warn
from chainrule.core.public import composite
from chainrule.core.tensor import PLAIN, Tensor
from chainrule.ops.create import made
from chainrule.ops.domains import unimplemented
from chainrule.ops.random import _drawn_like, drawn

__all__: list[str] = []

_ALPHA = 1.7580993408473766  # scale times alpha of SELU


def _check(p: float, train: bool = True) -> None:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, kind: str, features: bool) -> Tensor:
    """What each element, or each channel, is multiplied by."""
    if input.dtype.is_complex:
        raise unimplemented("bernoulli_scalar_cpu_", input.dtype)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.title}")
    if features:
        if input.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
        return drawn(kind, shape, input.dtype, input.device, (p,), None)
    if input.__class__ in PLAIN and not LISTENING and not input.raw.flags.c_contiguous:
        return _drawn_like("dropout", kind, made(input.raw), (p,), {}, None)
    return drawn(kind, tuple(input.shape), input.dtype, input.device, (p,), None)


def _dropped(input: Tensor, p: float, train: bool, features: bool, inplace: bool) -> Tensor:
    _check(p)
    if p == 0 or not train or 0 in input.shape:
        return input
    if p == 1:
        noise = input.new_zeros(())
    else:
        noise = _noise(input, p, "dropout_noise", features)
    return input.mul_(noise) if inplace else input * noise


def _alpha_dropped(input: Tensor, p: float, train: bool, features: bool, inplace: bool) -> Tensor:
    _check(p)
    if p == 0 or not train or 0 in input.shape:
        return input
    if p == 1:
        return input.mul_(input.new_zeros(())) if inplace else input * input.new_zeros(())
    noise = _noise(input, 1 - p, "bernoulli", features)
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (noise + -1) * (_ALPHA * a) + _ALPHA * a * p
    noise = noise * a
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


# ------------------------------------------------------------------------------------------------ torch.dropout, ...


def _declare(name: str, rule: Any, features: bool, doc: str) -> None:
    def fn(input: Tensor, p: float, train: bool) -> Tensor:
        return rule(input, p, train, features, False)  # type: ignore[no-any-return]

    def fn_(input: Tensor, p: float, train: bool) -> Tensor:
        return rule(input, p, train, features, True)  # type: ignore[no-any-return]

    fn.__doc__, fn_.__doc__ = doc, f"In-place form of `{name}`."
    composite("f", name)(fn)
    composite("f", name + "_")(fn_)


_declare("dropout", _dropped, False, "Elements left out with probability p, the rest scaled by 1 / (1 - p).")
_declare("feature_dropout", _dropped, True, "Whole channels left out with probability p.")
_declare("alpha_dropout", _alpha_dropped, False, "Elements replaced with probability p, mean and variance kept.")
_declare(
    "feature_alpha_dropout", _alpha_dropped, True, "Whole channels replaced with probability p, mean and variance kept."
)


@composite("f")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of what was kept."""
    _check(p)
    if train is False or 0 in input.shape:
        return input.clone(), input.new_ones(input.shape).bool()
    if p == 1:
        zeros = input.new_zeros(input.shape)
        return input * zeros, zeros.bool()
    kept = _noise(input, 1 - p, "bernoulli", False)
    return input * kept * (1.0 / (1 - p)), kept.bool()


# ------------------------------------------------------------------------------------------- nn.functional.dropout, ...


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@composite("n", "dropout")
def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements left out with probability p, the rest scaled by 1 / (1 - p)."""
    _check_p(p)
    return _dropped(input, p, training, False, inplace)


@composite("n", "alpha_dropout")
def _alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Elements replaced with probability p so that mean and variance stay: dropout for SELU."""
    _check_p(p)
    return _alpha_dropped(input, p, training, False, inplace)


@composite("n", "feature_alpha_dropout")
def _feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Whole channels replaced with probability p so that mean and variance stay."""
    _check_p(p)
    return _alpha_dropped(input, p, training, True, inplace)


@composite("n")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of [N, C, L] or [C, L] left out with probability p."""
    _check_p(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _by_channels(input, p, training, inplace, 2)


@composite("n")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of [N, C, H, W] left out with probability p."""
    _check_p(p)
    if input.ndim not in (3, 4):
        warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
        )
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
        )
    return _dropped(input, p, training, True, inplace)


@composite("n")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of [N, C, D, H, W] or [C, D, H, W] left out with probability p."""
    _check_p(p)
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
        )
    return _by_channels(input, p, training, inplace, 4)


def _by_channels(input: Tensor, p: float, training: bool, inplace: bool, unbatched: int) -> Tensor:
    if input.ndim != unbatched:
        return _dropped(input, p, training, True, inplace)
    whole = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    whole = _dropped(whole, p, training, True, inplace)
    return whole.squeeze_(0) if inplace else whole.squeeze(0)
