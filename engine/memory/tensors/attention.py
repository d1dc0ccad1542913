"""Scaled dot product attention: the kernel torch would choose, what it saves and its backward's workspaces.

Kernels by compute capability and dtype (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp): flash from sm80 in half
precision without a mask; memory-efficient with any mask or in float32; math elsewhere. Before sm80 training in half
precision is taken as math: BERT and DistilBERT under fp16 autocast on a T4 (torch 2.11, 8 x 256 tokens) allocate 3185
and 1757 MB, which math meets within 0.3 % and the memory-efficient kernel misses by a fifth.
"""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.casting import convert
from engine.memory.tensors.linear_algebra import lower, matmul
from engine.memory.tensors.pointwise import add, mul
from engine.memory.tensors.rearranging import pad
from engine.memory.tensors.rearranging import repeat_interleave as repeat_heads
from engine.memory.tensors.registry import functional
from engine.memory.tensors.shaping import expand, transpose
from engine.memory.tensors.softmax import softmax_like
from engine.memory.tensors.tensor import Tensor, like, new
from engine.memory.tensors.unary import dropout
from hardware_catalog.kernels import efficient_backward, flash_backward


def choose_kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, enable_gqa: bool) -> str:
    """'flash', 'efficient' or 'math'."""
    state = machine.current
    half = q.dtype is dtypes.float16 or q.dtype is dtypes.bfloat16
    allowed = state.sdpa_backends or ("flash", "efficient", "math")
    if len(q.shape) != 4 or q.storage.device != "cuda":
        return "math"
    d = q.shape[-1]
    if "flash" in allowed and state.compute >= 80 and half and mask is None and d == k.shape[-1] == v.shape[-1] <= 256:
        return "flash"
    supported = (
        q.dtype is dtypes.float32 or q.dtype is dtypes.float16 or (q.dtype is dtypes.bfloat16 and state.compute >= 80)
    )
    step = 8 if half else 4
    learns = state.grad_enabled and (q.requires_grad or k.requires_grad or v.requires_grad)
    if state.compute < 80 and half and learns and "math" in allowed:
        return "math"
    if (
        "efficient" in allowed
        and supported
        and not enable_gqa
        and q.shape[1] == k.shape[1]
        and d % step == 0
        and v.shape[-1] % step == 0
    ):
        return "efficient"
    return "math"


def _sequence_first(shape: tuple[int, ...], dtype: dtypes.DType, device: str) -> Tensor:
    """(B, H, S, D) stored as (B, S, H, D)."""
    b, h, s, d = shape
    return transpose(new((b, s, h, d), dtype, device), 1, 2)


def _flash_backward(node: Node, g: Tensor) -> Any:
    q, k, v = node.saved[:3]
    gq, gk, gv = like(q), like(k), like(v)
    extra = flash_backward(*q.shape, key_heads=k.shape[1], keys=k.shape[2], itemsize=k.dtype.itemsize)
    machine.current.allocator.transient(*extra)
    return _differentiable(node, q, k, v, gq, gk, gv, g)


def _differentiable(node: Node, q: Tensor, k: Tensor, v: Tensor, gq: Tensor, gk: Tensor, gv: Tensor, g: Tensor) -> Any:
    if machine.current.grad_enabled:
        for out in (gq, gk, gv):
            record(out, (g, q, k, v), _attention_double_backward, (q, k, v, g), None)
    return gq, gk, gv


def _attention_double_backward(node: Node, g: Tensor) -> Any:
    q, k, v, outer = node.saved
    return like(outer), like(q), like(k), like(v)


def _flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    out = like(q)
    b, h, s, _ = q.shape
    if machine.current.grad_enabled and (q.requires_grad or k.requires_grad or v.requires_grad):
        statistics = new((b, h, s), dtypes.float32, q.storage.device)
        seed = new((2,), dtypes.uint64, q.storage.device)
        record(out, (q, k, v), _flash_backward, (q, k, v, out.alias(), statistics, seed))
    else:
        new((b, h, s), dtypes.float32, q.storage.device)
    return out


def _efficient_backward(node: Node, g: Tensor) -> Any:
    q, k, v, bias = node.saved[:4]
    device = q.storage.device
    gq, gk, gv = (_sequence_first(x.shape, x.dtype, device) for x in (q, k, v))
    gb = new(bias.shape, bias.dtype, device) if bias is not None and node.edges[3] is not None else None
    machine.current.allocator.transient(*efficient_backward(*q.shape, itemsize=q.dtype.itemsize))
    return (*_differentiable(node, q, k, v, gq, gk, gv, g), gb)


def _efficient(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    device = q.storage.device
    b, h, s, _ = q.shape
    if mask is not None:
        if mask.dtype is dtypes.bool_:
            mask = new(mask.shape, q.dtype, device)
        if mask.shape[-1] % 16:
            width = mask.shape[-1]
            mask = pad(mask, (0, -width % 16))[..., :width]
        mask = expand(mask, (b, h, s, k.shape[2]))
    out = _sequence_first((b, h, s, v.shape[-1]), q.dtype, device)
    if machine.current.grad_enabled and (q.requires_grad or k.requires_grad or v.requires_grad):
        statistics = new((b, h, -(-s // 32) * 32), dtypes.float32, device)
        record(out, (q, k, v, mask), _efficient_backward, (q, k, v, mask, out.alias(), statistics))
    return out


def _math(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, causal: bool, enable_gqa: bool) -> Tensor:
    original = q.dtype
    device = q.storage.device
    if original.itemsize == 2 and device == "cuda":
        q, k, v = (convert(x, dtypes.float32, device) for x in (q, k, v))
        if mask is not None and mask.dtype is not dtypes.bool_:
            mask = convert(mask, dtypes.float32, device)
    if causal:
        mask = new((q.shape[-2], k.shape[-2]), dtypes.bool_, device)
    if mask is not None and mask.dtype is dtypes.bool_:
        mask = new(mask.shape, q.dtype, device)
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        k = repeat_heads(k, q.shape[-3] // k.shape[-3], -3)
        v = repeat_heads(v, q.shape[-3] // v.shape[-3], -3)
    q = mul(q, 1.0)
    scores = matmul(q, mul(transpose(k, -2, -1), 1.0))
    del q, k
    if mask is not None:
        scores = add(scores, mask)
    weights = softmax_like(scores, -1, None, False)
    del scores
    if p > 0:
        weights = dropout(weights, p)
    out = matmul(weights, v)
    return convert(out, original, device)


@functional
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    state = machine.current
    outer = state.autocast
    if outer is not None:
        query, key, value = lower(query), lower(key), lower(value)
        if attn_mask is not None and attn_mask.dtype.kind == 2:
            attn_mask = lower(attn_mask)
    state.autocast = None
    try:
        kernel = choose_kernel(query, key, value, attn_mask, enable_gqa)
        if query.storage.device == "cuda":
            state.sdpa_used.add(kernel)
        if kernel == "flash":
            width = query.shape[-1]
            if width % 8:
                query, key, value = (pad(x, (0, -width % 8)) for x in (query, key, value))
                return _flash(query, key, value)[..., :width]
            return _flash(query, key, value)
        if kernel == "efficient":
            return _efficient(query, key, value, attn_mask)
        return _math(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    finally:
        state.autocast = outer
