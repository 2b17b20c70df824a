"""Attention: queries look at keys, and gather values in proportion.

Where PyTorch's CPU path takes one fused kernel, there is one op here; elsewhere the same is made of its parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.backends.meta import empty as hollow
from chainrule.core.dtype import bool_
from chainrule.core.family import call, fused, scan, spread
from chainrule.core.notices import warn
from chainrule.core.op import Array
from chainrule.core.public import composite
from chainrule.core.samples import real, samples
from chainrule.core.tensor import Tensor
from chainrule.ops import names
from chainrule.ops.activation import softmax
from chainrule.ops.domains import unimplemented

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

_pull_softmax = softmax.op.pulls["input"].fn


def _no_nan(p: Any, scores: Any) -> Any:
    """Where every score is -inf nothing is looked at: weights of zero, not NaN."""
    blind = ~(scores > -np.inf).any(-1, keepdims=True) & ~np.isnan(scores).any(-1, keepdims=True)
    return np.where(blind, p.dtype.type(0), p) if blind.any() else p


@scan(name="_safe_softmax", node="SafeSoftmax", spelled="", samples=samples(real, [((3, 4),)], dim=[-1]))
def safe_softmax(xp: Any, input: Array, dim: int) -> Array:
    """Softmax along the last axis that gives zeros where all is -inf."""
    return _no_nan(xp.activations.softmax(input, dim % input.ndim), input)


safe_softmax.vjp(input=_pull_softmax)


# -------------------------------------------------------------------------------------------------- the one op


def _masked(scores: Any, attn_mask: Any, is_causal: bool) -> Any:
    """The scores of what may be looked at; -inf elsewhere."""
    if is_causal:
        rows, columns = tuple(scores.shape)[-2:]
        seen = np.tri(rows, columns, dtype=bool)
        scores = call("where", _like(seen, scores), scores, -math.inf)
    if attn_mask is None:
        return scores
    if attn_mask.dtype in (bool_, np.dtype(bool)):
        return call("where", attn_mask, scores, -math.inf)
    return scores + attn_mask


def _like(raw: Any, other: Any) -> Any:
    return names.from_numpy(raw) if isinstance(other, Tensor) else raw


def _turned(x: Any) -> Any:
    return call("transpose", x, -2, -1) if isinstance(x, Tensor) else x.swapaxes(-2, -1)


def _meta(raws: Any, params: dict[str, Any]) -> Any:
    query, key, value, _ = raws
    rows = query.shape[:-1]
    return hollow((*rows, value.shape[-1]), query.dtype), hollow((*rows, key.shape[-2]), query.dtype)


def _joined_mask(mask: Any, batch: bool, size: int, lead: tuple[int, ...]) -> Any:
    """A mask that still fits when the batch has joined the first axis."""
    if mask is None or (not batch and (mask.ndim <= len(lead) or mask.shape[0] == 1)):
        return mask
    mask = spread(mask, batch, size)
    mask = mask.reshape((size, *(1,) * (len(lead) + 2 - mask.ndim), *mask.shape[1:]))
    return mask.expand((size, lead[0], *mask.shape[2:])).flatten(0, 1)


def _vmap_attention(values: Any, batched: Any, size: int, params: dict[str, Any]) -> Any:
    """The batch joins the batch axis."""
    q, k, v = (spread(t, b, size) for t, b in zip(values[:3], batched[:3]))
    mask = _joined_mask(values[3], batched[3], size, tuple(q.shape[1:-1]))
    outs = flash(*(t.flatten(0, 1) for t in (q, k, v)), mask, **params)
    return tuple(t.unflatten(0, tuple(q.shape[:2])) for t in outs)


@fused(
    name="_scaled_dot_product_flash_attention_for_cpu", node="ScaledDotProductFlashAttentionForCpu",
    outs=("out", "weights"), spelled="", vmap=_vmap_attention, meta=_meta,
    samples=samples(real, [((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4), None)], is_causal=[False, True], scale=[0.5]),
)  # fmt: skip
def flash(
    xp: Any, query: Array, key: Array, value: Array, attn_mask: Array | None, is_causal: bool, scale: float
) -> Any:
    """softmax(query key^T scale + mask) value, and the weights in between."""
    scores = np.matmul(query * query.dtype.type(scale), key.swapaxes(-2, -1))
    scores = _masked(scores, attn_mask, is_causal)
    weights = xp.activations.softmax(scores, -1)
    if attn_mask is not None:
        weights = _no_nan(weights, scores)
    return np.matmul(weights, value), weights


def _weights(query: Any, key: Any, attn_mask: Any, weights: Any, is_causal: bool, scale: float) -> Any:
    """As kept, or computed again if the backward is to be differentiated."""
    if not isinstance(query, Tensor):
        return weights
    return safe_softmax(_masked((query * scale) @ _turned(key), attn_mask, is_causal), -1)


def _score_slope(
    g: Any, query: Any, key: Any, value: Any, attn_mask: Any, weights: Any, is_causal: bool, scale: float
) -> Any:
    weights = _weights(query, key, attn_mask, weights, is_causal, scale)
    return _pull_softmax(g @ _turned(value), weights, -1) * scale


def _pull_query(
    g: Any, query: Any, key: Any, value: Any, attn_mask: Any, weights: Any, is_causal: bool, scale: float
) -> Any:
    return _score_slope(g, query, key, value, attn_mask, weights, is_causal, scale) @ key


def _pull_key(
    g: Any, query: Any, key: Any, value: Any, attn_mask: Any, weights: Any, is_causal: bool, scale: float
) -> Any:
    return _turned(_score_slope(g, query, key, value, attn_mask, weights, is_causal, scale)) @ query


def _pull_value(g: Any, query: Any, key: Any, attn_mask: Any, weights: Any, is_causal: bool, scale: float) -> Any:
    return _turned(_weights(query, key, attn_mask, weights, is_causal, scale)) @ g


flash.vjp(query=_pull_query, key=_pull_key, value=_pull_value)


# --------------------------------------------------------------------------------------------------- public


def _short(dtype: Any) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int", "float16": "c10::Half"}.get(
        str(dtype).removeprefix("torch."), str(dtype).removeprefix("torch.")
    )


def _check(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool) -> None:
    if not (query.dtype is key.dtype is value.dtype):
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{_short(query.dtype)} key.dtype: {_short(key.dtype)} and value.dtype: {_short(value.dtype)} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if attn_mask is None:
        return
    if attn_mask.dtype is not bool_ and attn_mask.dtype is not query.dtype and str(attn_mask.dtype) != "torch.float32":
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{_short(attn_mask.dtype)} and  query.dtype: {_short(query.dtype)} instead."
        )
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def _fits_one_op(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float) -> bool:
    if dropout_p > 0.0 or query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        return False
    if not (query.shape[:2] == key.shape[:2] == value.shape[:2] and query.shape[3] == key.shape[3] == value.shape[3]):
        return False
    if key.shape[2] != value.shape[2] or 0 in query.shape or 0 in key.shape or not query.dtype.is_floating_point:
        return False
    return attn_mask is None or (not attn_mask.requires_grad and _mask_fits(attn_mask, query, key))


def _mask_fits(attn_mask: Any, query: Any, key: Any) -> bool:
    full = (*query.shape[:2], query.shape[2], key.shape[2])
    return attn_mask.ndim in (2, 4) and all(a in (1, b) for a, b in zip(reversed(attn_mask.shape), reversed(full)))


@composite(spelled="n")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T scale + mask) value, with dropout of the weights if asked."""
    _check(query, key, value, attn_mask, is_causal)
    if query.dtype.is_complex:
        raise unimplemented("softmax_lastdim_kernel_impl", query.dtype)
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if enable_gqa and query.ndim >= 3:
        key, value = (_repeated_heads(t, query) for t in (key, value))
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if _fits_one_op(query, key, value, attn_mask, dropout_p):
        return flash.public(query, key, value, attn_mask, bool(is_causal), scale)[0]  # type: ignore[no-any-return]
    return _from_parts(query, key, value, attn_mask, dropout_p, is_causal, scale)  # type: ignore[no-any-return]


def _repeated_heads(t: Any, query: Any) -> Any:
    heads, wanted = t.shape[-3], query.shape[-3]
    if heads == wanted:
        return t
    if heads == 0 or wanted % heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    return t.repeat_interleave(wanted // heads, -3)


def _from_parts(
    query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float
) -> Any:
    short = query.dtype if query.dtype.itemsize == 2 else None
    if short is not None:  # all of it in 32 bits, as PyTorch does it
        query, key, value = query.float(), key.float(), value.float()
    root = math.sqrt(abs(scale))
    scores = (query * math.copysign(root, scale)) @ (key.transpose(-2, -1) * root)
    if is_causal:
        attn_mask = names.from_numpy(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    if attn_mask is not None and attn_mask.dtype is bool_:
        attn_mask = names.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    weights = safe_softmax.public(scores, -1)
    out = (names.dropout(weights, dropout_p, True) if dropout_p > 0.0 else weights) @ value
    return out if short is None else out.to(short)


# ---------------------------------------------------------------------------------------------------- many heads


def _check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Is the query batched?"""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    batched, rank = query.ndim == 3, query.ndim
    which = f"For {'batched' if batched else 'unbatched'} ({rank}-D) `query`, expected"
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"{which} `key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != rank - 1:
        raise AssertionError(
            f"{which} `key_padding_mask` to be `None` or {rank - 1}-D but found {key_padding_mask.ndim}-D tensor "
            "instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"{which} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim == 3 and not batched:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return batched  # type: ignore[no-any-return]


def _float_mask(mask: Any, name: str, dtype: Any, other: Any = None) -> Any:
    """A mask to be added to scores; True in a bool mask means: do not look."""
    if mask is None:
        return None
    if mask.dtype is not bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype is not other.dtype:
        warn(f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both instead.")
    if mask.dtype is bool_:
        return names.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)
    return mask


def _projected(q: Any, k: Any, v: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and values through one packed matrix; what is equal goes through at once."""
    e = q.shape[-1]
    if k is v and q is k:
        return _apart(names.linear(q, weight, bias), 3, e)
    if k is v:
        w_q, w_kv = weight.split([e, 2 * e])
        b_q, b_kv = bias.split([e, 2 * e]) if bias is not None else (None, None)
        return (names.linear(q, w_q, b_q), *_apart(names.linear(k, w_kv, b_kv), 2, e))
    ws, bs = weight.chunk(3), bias.chunk(3) if bias is not None else (None, None, None)
    return tuple(names.linear(t, w, b) for t, w, b in zip((q, k, v), ws, bs))


def _apart(joined: Any, count: int, e: int) -> tuple[Any, ...]:
    parts = joined.unflatten(-1, (count, e)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple(parts[i] for i in range(count))


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


@composite(spelled="n")
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several subspaces at once, projections before and after. (output, weights or None)."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _one_batch(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, size, embed = query.shape
    padding = _float_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _float_mask(attn_mask, "attn_mask", query.dtype)
        is_causal = is_causal and padding is None
    _require(embed == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}")
    head = embed // num_heads
    _require(head * num_heads == embed, f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected_apart(query, key, value, weights, in_proj_bias)
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        _require(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _three_axes(attn_mask, length, key.shape[0], size * num_heads)
    k, v, added = _with_bias(k, v, bias_k, bias_v, static_k, static_v, size)
    q = q.view(length, size * num_heads, head).transpose(0, 1)
    k, v = (_heads(t, fixed, size * num_heads, head, n) for t, fixed, n in ((k, static_k, "k"), (v, static_v, "v")))
    if add_zero_attn:
        zeros = names.zeros((size * num_heads, 1, head), dtype=k.dtype, device=k.device)
        k, v, added = names.cat([k, zeros], 1), names.cat([v, zeros.to(v.dtype)], 1), added + 1
    attn_mask, padding = (_wider(m, added) for m in (attn_mask, padding))
    attn_mask = _merged(attn_mask, padding, size, num_heads, k.shape[1])
    return _attended(
        q, k, v, attn_mask, dropout_p if training else 0.0, is_causal, need_weights, average_attn_weights,
        (size, num_heads, length, batched), out_proj_weight, out_proj_bias,
    )  # fmt: skip


def _one_batch(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)


def _projected_apart(query: Any, key: Any, value: Any, weights: tuple[Any, ...], bias: Any) -> tuple[Any, ...]:
    _require(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for name, w in zip("qkv", weights):
        _require(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    bs = bias.chunk(3) if bias is not None else (None, None, None)
    return tuple(names.linear(t, w, b) for t, w, b in zip((query, key, value), weights, bs))


def _three_axes(mask: Any, rows: int, columns: int, heads: int) -> Any:
    """The mask as (1 or batch * heads, queries, keys)."""
    if mask is None:
        return None
    wanted = (rows, columns) if mask.ndim == 2 else (heads, rows, columns)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _with_bias(
    k: Any, v: Any, bias_k: Any, bias_v: Any, static_k: Any, static_v: Any, size: int
) -> tuple[Any, Any, int]:
    """One more key and value for everybody, if there are such."""
    if bias_k is None or bias_v is None:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")
        return k, v, 0
    _require(static_k is None, "bias cannot be added to static key.")
    _require(static_v is None, "bias cannot be added to static value.")
    return names.cat([k, bias_k.repeat(1, size, 1)]), names.cat([v, bias_v.repeat(1, size, 1)]), 1


def _heads(t: Any, fixed: Any, heads: int, head: int, name: str) -> Any:
    """(batch * heads, keys, head), or what was given in its place."""
    if fixed is None:
        return t.view(t.shape[0], heads, head).transpose(0, 1)
    _require(fixed.shape[0] == heads, f"expecting static_{name}.size(0) of {heads}, but got {fixed.shape[0]}")
    _require(fixed.shape[2] == head, f"expecting static_{name}.size(2) of {head}, but got {fixed.shape[2]}")
    return fixed


def _wider(mask: Any, added: int) -> Any:
    return mask if mask is None or not added else names.constant_pad_nd(mask, (0, added), 0)


def _merged(attn_mask: Any, padding: Any, size: int, num_heads: int, keys: int) -> Any:
    """One mask out of two."""
    if padding is None:
        return attn_mask
    _require(padding.shape[0] == size, f"Expected key_padded_mask.shape[0] to be {size}, but got {padding.shape[0]}")
    _require(padding.shape[1] == keys, f"Expected key_padded_mask.shape[1] to be {keys}, but got {padding.shape[1]}")
    wide = padding.view(size, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(size * num_heads, 1, keys)
    return wide if attn_mask is None else attn_mask + wide


def _attended(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, need_weights: bool, average: bool,
    sizes: tuple[int, int, int, bool], weight: Any, bias: Any,
) -> tuple[Any, Any]:  # fmt: skip
    size, num_heads, length, batched = sizes
    embed, keys = num_heads * q.shape[2], k.shape[1]
    if not need_weights:
        if mask is not None:
            one = mask.shape[0] == 1
            mask = mask.unsqueeze(0) if one else mask.view(size, num_heads, -1, keys)
        q, k, v = (t.view(size, num_heads, -1, t.shape[2]) for t in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
        out = out.permute(2, 0, 1, 3).reshape(size * length, embed)
        out = names.linear(out, weight, bias).view(length, size, -1)
        return (out if batched else out.squeeze(1)), None
    _require(not (is_causal and mask is None), "is_causal is not implemented for need_weights")
    scaled = q * math.sqrt(1.0 / q.shape[2])
    turned = k.transpose(-2, -1)
    looks = names.softmax(names.bmm(scaled, turned) if mask is None else names.baddbmm(mask, scaled, turned), -1)
    if dropout_p > 0.0:
        looks = names.dropout(looks, dropout_p, True)
    out = names.bmm(looks, v).transpose(0, 1).reshape(length * size, embed)
    out = names.linear(out, weight, bias).view(length, size, -1)
    looks = looks.view(size, num_heads, length, keys)
    looks = looks.mean(1) if average else looks
    return (out, looks) if batched else (out.squeeze(1), looks.squeeze(0))
