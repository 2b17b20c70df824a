"""Activation functions that take several steps, with as few arrays between as the steps allow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.backends.cpu import special
from chainrule.backends.cpu._array import Array
from chainrule.backends.cpu.constants import zeros_beside

__all__ = ["gelu", "gelu_tanh", "log_softmax", "relu", "softmax", "softplus"]

_ROOT_HALF = math.sqrt(0.5)
_ROOT_2_OVER_PI = math.sqrt(2 / math.pi)


def relu(x: Array) -> Array:
    """Zero where negative; a zero keeps its sign, as the second of two equal numbers is the one that is taken."""
    out: Array = np.maximum(zeros_beside(x), x, out=...)
    return out


def softplus(x: Array, beta: float, threshold: float) -> Array:
    """log(1 + exp(beta x)) / beta, but x itself where beta x is above the threshold."""
    z = x * beta
    out = np.logaddexp(z, x.dtype.type(0), out=...)
    out /= beta
    return np.where(z > threshold, x, out)


def gelu(x: Array) -> Array:
    """x times the area under the normal curve up to x."""
    out = np.asarray(special.erf(np.multiply(x, _ROOT_HALF, out=...)))
    out += 1
    out *= x
    out *= 0.5
    return out


def gelu_tanh(x: Array) -> Array:
    """The same with a tanh in place of erf."""
    inner = np.multiply(x, x, out=...)
    inner *= 0.044715 * _ROOT_2_OVER_PI
    inner += _ROOT_2_OVER_PI
    inner *= x
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= 0.5
    return inner


def _shifted(x: Any, axis: int) -> Any:
    """x minus its maximum along the axis, so that no exponential overflows; -inf alone gives NaN, as in PyTorch."""
    if x.ndim == 0:
        return np.subtract(x, x, out=...)
    if x.size == 0:
        return np.array(x)
    return np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), order="C")


def softmax(x: Array, axis: int) -> Array:
    """Exponentials that sum to 1 along the axis."""
    e: Array = _shifted(x, axis)
    np.exp(e, out=e)
    if e.ndim:
        e /= np.add.reduce(e, axis=axis, keepdims=True)
    return e


def log_softmax(x: Array, axis: int) -> Array:
    """The logarithm of `softmax`."""
    z: Array = _shifted(x, axis)
    if z.ndim:
        z -= np.log(np.add.reduce(np.exp(z), axis=axis, keepdims=True))
    return z
