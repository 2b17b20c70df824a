"""Instance normalisation: each channel of each example brought to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from chainrule.core.notices import warn
from chainrule.core.tensor import Tensor
from chainrule.nn import functional as F
from chainrule.nn.modules.batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    _unbatched: int  # axes of an input without a batch axis

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._unbatched
        if input.ndim not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.ndim}D input)")

    def forward(self, input: Any) -> Tensor:
        self._check_input_dim(input)
        axis = input.dim() - self._unbatched
        if input.size(axis) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features ({self.num_features}), "
                    f"but got: {input.size(axis)}."
                )
            warn(
                f"input's size at dim={axis} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
            )
        if input.dim() == self._unbatched:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(  # type: ignore[no-any-return]
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip


class InstanceNorm1d(_InstanceNorm):
    """Over sequences."""

    _unbatched = 2


class InstanceNorm2d(_InstanceNorm):
    """Over images."""

    _unbatched = 3


class InstanceNorm3d(_InstanceNorm):
    """Over volumes."""

    _unbatched = 4
