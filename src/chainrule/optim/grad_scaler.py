"""Loss scaling: small gradients of 16-bit floats survive if the loss is large, and are divided again before the step.

A scaler multiplies the loss, divides the gradients, leaves out a step whose gradients are not finite, and learns from
that how large the scale may be.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from chainrule.autograd.grad_mode import no_grad
from chainrule.core.device import device as Device
from chainrule.core.dtype import float16, float32, int32
from chainrule.core.family import call
from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor
from chainrule.ops.loss_scaling import unscale, update_scale

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """Where an optimizer stands between two updates."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _scalar(value: float, dtype: Any, device: Any) -> Any:
    return call("full", (), value, dtype=dtype, device=device)


class GradScaler:
    """Scales losses and unscales gradients, with a scale that adapts to overflows."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled:
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: Any = defaultdict(_refresh_per_optimizer_state)

    # ------------------------------------------------------------------------------------------------- the loss

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = _scalar(self._init_scale, float32, dev)
        self._growth_tracker = _scalar(self._init_growth_tracker, int32, dev)

    def scale(self, outputs: Any) -> Any:
        """The loss, or each of several, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = [self.scale(each) for each in outputs]
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else iter(scaled)

    # -------------------------------------------------------------------------------------------- the gradients

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {funcname} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {funcname} but _growth_tracker is None.  {fix}")
        return self._scale, self._growth_tracker

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Device, Tensor]:
        grads: list[Any] = []
        with no_grad():
            for param in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                if not allow_fp16 and param.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if param.grad.is_sparse:
                    if param.grad.dtype is float16:  # summed first: only the sums may have overflowed
                        param.grad = param.grad.coalesce()
                    grads.append(param.grad._values())
                else:
                    grads.append(param.grad)
            found: dict[Device, Tensor] = {}
            for g in grads:
                flag = found.setdefault(g.device, found_inf.to(g.device, copy=True))
                unscale([g], flag, inv_scale.to(g.device))
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale now, to clip them, say; `step` does it otherwise."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = _scalar(0.0, float32, self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(...)`, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_its_own(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            overflowed = any(v.item() for v in state["found_inf_per_device"].values())
            result = None if overflowed else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_its_own(self, optimizer: Any, state: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that divides by the scale itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        flags = list(state["found_inf_per_device"].values())
        scale = self._check_scale_growth_tracker("step")[0]
        optimizer.grad_scale = (getattr(optimizer, "grad_scale", None) or 1.0) * scale
        if state["stage"] is OptState.UNSCALED:
            optimizer.grad_scale = None
        optimizer.found_inf = sum(flags[1:], flags[0]) if flags else _scalar(0.0, float32, scale.device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer: Any) -> Any:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found = _scalar(1.0, float32, scale.device), _scalar(0.0, float32, scale.device)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, found, True)
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer: Any) -> Any:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ------------------------------------------------------------------------------------------------ the scale

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what the steps since the last update met; or set it."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            _check_scale(new_scale)
            scale.fill_(new_scale) if isinstance(new_scale, float) else scale.copy_(new_scale)
        else:
            flags = [f for s in self._per_optimizer_states.values() for f in s["found_inf_per_device"].values()]
            if not flags:
                raise AssertionError("No inf checks were recorded prior to update.")
            found = sum((f.to(device=scale.device) for f in flags[1:]), flags[0].to(device=scale.device))
            update_scale(scale, tracker, found, self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def get_scale(self) -> float:
        """The scale now; 1 of a disabled scaler."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale.item())

    def get_growth_factor(self) -> float:
        """By how much the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Let the scale grow by another factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By how much the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Let the scale shrink by another factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without an overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Let the scale grow after another number of steps."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return int(self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Does it scale at all?"""
        return self._enabled

    # ----------------------------------------------------------------------------------------------------- kept

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs; nothing of a disabled scaler."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker(),
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another scaler was."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _check_scale(new_scale: Any) -> None:
    fits = isinstance(new_scale, float) or (
        isinstance(new_scale, Tensor)
        and new_scale.dtype is float32
        and new_scale.numel() == 1
        and not new_scale.requires_grad
    )
    if not fits:
        raise AssertionError(
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
            "requires_grad=False."
        )
