"""Which operators CUDA would run where the rehearsal has no CUDA: dropout and attention, as torch chooses them there.

Without a CUDA device the fake tensors are the CPU's, and torch takes the CPU's kernels for them: other outputs are
saved for backward. These two make nearly all of the difference in a training step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten
FLASH_FROM = 80
"""Compute capability, times ten, from which torch has FlashAttention and bfloat16 kernels."""
WIDEST_FLASH = 256


@contextlib.contextmanager
def kernels_of_cuda(capability: int) -> Iterator[None]:
    """Replace dropout and scaled dot product attention of tensors without data by what CUDA runs at a compute
    capability (times ten)."""
    attention, dropout = F.scaled_dot_product_attention, F.dropout
    chosen = _Attention(capability)

    def attend(query: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return (chosen if isinstance(query, FakeTensor) else attention)(query, *args, **kwargs)

    def drop(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        if not isinstance(input, FakeTensor) or inplace:
            return dropout(input, p, training, inplace)
        return _dropout(input, p, training)

    F.scaled_dot_product_attention, F.dropout = attend, drop
    try:
        yield
    finally:
        F.scaled_dot_product_attention, F.dropout = attention, dropout


class _Attention:
    """Scaled dot product attention at a compute capability."""

    def __init__(self, capability: int) -> None:
        self._capability = capability

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        kernel = self._kernel(query, key, value, attn_mask, enable_gqa)
        width = query.shape[-1]
        scale = width**-0.5 if scale is None else scale
        if kernel == "flash":
            pad = -width % 8
            if pad:
                query, key, value = (F.pad(each, (0, pad)) for each in (query, key, value))
            out: torch.Tensor = aten._scaled_dot_product_flash_attention(
                query, key, value, dropout_p, is_causal, False, scale=scale
            )[0]
            return out[..., :width] if pad else out
        if kernel == "efficient":
            learns = torch.is_grad_enabled() and any(each.requires_grad for each in (query, key, value))
            mask = None if attn_mask is None else _bias(attn_mask, query, key)
            attended: torch.Tensor = aten._scaled_dot_product_efficient_attention(
                query, key, value, mask, learns, dropout_p, is_causal, scale=scale
            )[0]
            return attended
        return _attention_by_products(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    def _kernel(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, shared: bool
    ) -> str:
        # aten/src/ATen/native/transformers/cuda/sdp_utils.cpp: the first that takes these inputs.
        half = query.dtype in (torch.float16, torch.bfloat16)
        modern = self._capability >= FLASH_FROM
        if query.dim() != 4:
            return "math"
        width = query.shape[-1]
        if modern and half and mask is None and width == key.shape[-1] == value.shape[-1] <= WIDEST_FLASH:
            return "flash"
        taken = query.dtype in (torch.float32, torch.float16) or (query.dtype == torch.bfloat16 and modern)
        step = 8 if half else 4
        even = width % step == 0 and value.shape[-1] % step == 0
        if taken and even and not shared and query.shape[1] == key.shape[1]:
            return "efficient"
        return "math"


def _dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    if not train or p == 0.0:
        return torch.dropout(input, p, train)
    dropped: torch.Tensor = torch.native_dropout(input, p, train)[0]
    return dropped


def _bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """The mask as the memory-efficient kernel takes it: additive, its rows padded to 16."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    width = mask.shape[-1]
    if width % 16:
        mask = F.pad(mask, (0, -width % 16))[..., :width]
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


def _attention_by_products(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float,
    shared: bool,
) -> torch.Tensor:
    if shared:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    if is_causal:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    root = scale**0.5
    scores = torch.matmul(query * root, key.transpose(-2, -1) * root)
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
        scores = scores.add_(mask)
    weights = torch.softmax(scores, dim=-1)
    if dropout > 0.0:
        weights = _dropout(weights, dropout, True)
    return torch.matmul(weights, value)
