"""Automatic differentiation: the graph, the engine, how ops get onto it; and PyTorch's `torch.autograd`."""

from __future__ import annotations

from chainrule.autograd import dispatch as _dispatch
from chainrule.autograd import forward_ad, function, functional, grad_mode, graph, profiler
from chainrule.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from chainrule.autograd.api import backward, grad
from chainrule.autograd.function import Function, NestedIOFunction
from chainrule.autograd.grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)  # fmt: skip
from chainrule.autograd.gradcheck import gradcheck, gradgradcheck
from chainrule.autograd.saved import SavedTensor
from chainrule.autograd.variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "forward_ad",
    "function", "functional",
    "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "profiler",
    "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip
