"""Multi-head attention with learned projections."""

from __future__ import annotations

from typing import Any

from chainrule.core.tensor import Tensor
from chainrule.nn import functional as F
from chainrule.nn import init
from chainrule.nn.modules.linear import NonDynamicallyQuantizableLinear
from chainrule.nn.modules.module import Module
from chainrule.nn.parameter import Parameter
from chainrule.ops import names

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Queries look at keys in several subspaces, and gather the values found there."""

    __constants__ = ["batch_first"]

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._make_projections(made)
        self._param("in_proj_bias", (3 * embed_dim,) if bias else None, made)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            self._param(name, (1, 1, embed_dim) if add_bias_kv else None, made)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _param(self, name: str, shape: tuple[int, ...] | None, made: dict[str, Any]) -> None:
        self.register_parameter(name, None if shape is None else Parameter(names.empty(shape, **made)))

    def _make_projections(self, made: dict[str, Any]) -> None:
        """One matrix for queries, keys and values if they are of one size, else one each."""
        e, one = self.embed_dim, self._qkv_same_embed_dim
        self._param("q_proj_weight", None if one else (e, e), made)
        self._param("k_proj_weight", None if one else (e, self.kdim), made)
        self._param("v_proj_weight", None if one else (e, self.vdim), made)
        self._param("in_proj_weight", (3 * e, e) if one else None, made)

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batched = query.dim() == 3
        swap = self.batch_first and batched
        if swap:
            query, key, value = _swapped(query, key, value)
        same = self._qkv_same_embed_dim
        given = {} if same else {
            "use_separate_proj_weight": True, "q_proj_weight": self.q_proj_weight,
            "k_proj_weight": self.k_proj_weight, "v_proj_weight": self.v_proj_weight,
        }  # fmt: skip
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal, **given,
        )  # fmt: skip
        return (out.transpose(1, 0), weights) if swap else (out, weights)


def _swapped(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """Batch and length exchanged; equal tensors stay the same tensor, so that they are projected once."""
    if key is value and query is key:
        query = query.transpose(1, 0)
        return query, query, query
    if key is value:
        key = key.transpose(1, 0)
        return query.transpose(1, 0), key, key
    return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
