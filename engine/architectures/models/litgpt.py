"""LitGPT's decoder as its trainers run it (litgpt/model.py, litgpt/lora.py).

One projection makes queries, keys and values, so that the values keep the whole of it alive; keys and values of
grouped attention are repeated; adapters of a part of it go through a convolution and are padded with zeros. The head
works on pieces of the sequence, and Fabric hands its output on in float32 (fabric/plugins/precision/utils.py).
"""

import torch
from torch import nn
from torch.nn import functional as F

PIECE = 128


class Settings:
    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


class PackedProduct(torch.autograd.Function):
    """bitsandbytes before 0.44 keeps the input for the backward pass; Fabric packs weights from float16, in which they
    come back to be cast (fabric/plugins/precision/bitsandbytes.py)."""

    @staticmethod
    def forward(ctx, x, packed, outside, inside):
        ctx.kept, ctx.shape = x, (outside, inside)
        wide = torch.empty(outside, inside, dtype=torch.float16, device=x.device).to(x.dtype)
        return F.linear(x, wide)

    @staticmethod
    def backward(ctx, gradient):
        wide = torch.empty(*ctx.shape, dtype=torch.float16, device=gradient.device).to(gradient.dtype)
        return torch.matmul(gradient, wide), None, None, None


class PackedLinear(nn.Module):
    """Four bits a weight; a scale for every 64 weights, which under double quantisation has a byte."""

    def __init__(self, inside, outside, bias, double):
        super().__init__()
        self.inside, self.outside = inside, outside
        count = inside * outside
        self.weight = nn.Parameter(torch.empty((count + 1) // 2, 1, dtype=torch.uint8), requires_grad=False)
        self.weight.logical_numel = count
        blocks = (count + 63) // 64
        self.register_buffer("scales", torch.empty(blocks, dtype=torch.uint8 if double else torch.float32))
        if double:
            self.register_buffer("scales_of_scales", torch.empty((blocks + 255) // 256, dtype=torch.float32))
        self.bias = nn.Parameter(torch.zeros(outside)) if bias else None

    def forward(self, x):
        result = PackedProduct.apply(x, self.weight, self.outside, self.inside)
        return result if self.bias is None else result + self.bias


def linear(settings, inside, outside, bias):
    if settings.quantized:
        return PackedLinear(inside, outside, bias, settings.double)
    return nn.Linear(inside, outside, bias=bias)


class AdaptedLinear(nn.Module):
    def __init__(self, settings, inside, outside, bias, adapted):
        super().__init__()
        self.linear = linear(settings, inside, outside, bias)
        self.rank = settings.rank if adapted else 0
        if self.rank:
            self.scaling = settings.alpha / settings.rank
            self.dropout = nn.Dropout(settings.dropout) if settings.dropout else nn.Identity()
            self.lora_A = nn.Parameter(torch.empty(settings.rank, inside))
            self.lora_B = nn.Parameter(torch.zeros(outside, settings.rank))

    def forward(self, x):
        base = self.linear(x)
        if not self.rank:
            return base
        change = (self.dropout(x) @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling
        return base + change


class AdaptedProjections(nn.Module):
    """Queries, keys and values at once, with adapters of some of them."""

    def __init__(self, settings):
        super().__init__()
        query, other = settings.n_head * settings.head_size, settings.n_query_groups * settings.head_size
        self.outside = query + 2 * other
        self.linear = linear(settings, settings.n_embd, self.outside, settings.projection_bias)
        self.sizes = [
            size
            for size, wanted in zip((query, other, other), settings.adapted_projections)
            if wanted and settings.rank
        ]
        self.whole = len(self.sizes) == 3
        self.alike = settings.n_head == settings.n_query_groups
        if self.sizes:
            self.scaling = settings.alpha / settings.rank
            self.dropout = nn.Dropout(settings.dropout) if settings.dropout else nn.Identity()
            self.lora_A = nn.Parameter(torch.empty(settings.rank * len(self.sizes), settings.n_embd))
            self.lora_B = nn.Parameter(torch.zeros(sum(self.sizes), settings.rank))
            self.register_buffer("places", torch.zeros(sum(self.sizes), dtype=torch.long))

    def spread(self, inner):
        weight = self.lora_B.unsqueeze(-1)
        if self.alike:
            return F.conv1d(inner, weight, groups=len(self.sizes))
        parts = zip(inner.chunk(len(self.sizes), dim=1), weight.split(self.sizes))
        return torch.cat([F.conv1d(part, own) for part, own in parts], dim=1)

    def forward(self, x):
        base = self.linear(x)
        if not self.sizes:
            return base
        inner = F.linear(self.dropout(x), self.lora_A)
        change = self.spread(inner.transpose(-2, -1)).transpose(-2, -1)
        if not self.whole:
            padded = change.new_zeros(*change.shape[:-1], self.outside)
            change = padded.index_copy_(-1, self.places.clone(), change)
        return base + change * self.scaling


class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6, offset=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps
        self.offset = offset

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        mean = torch.mean(x * x, dim=-1, keepdim=True)
        normed = x * torch.rsqrt(mean + self.eps)
        weight = 1 + self.weight if self.offset else self.weight
        return (normed * weight.float()).to(dtype)


def norm(settings, size=None):
    size = size or settings.n_embd
    return nn.LayerNorm(size, eps=1e-5) if settings.norm == "layer" else RMSNorm(size, offset=settings.norm == "offset")


def rotate(x, cos, sin):
    half = x.size(-1) // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return ((x * cos) + (turned * sin)).to(dtype=x.dtype)


class Attention(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.qkv = AdaptedProjections(settings)
        width = settings.n_head * settings.head_size
        self.proj = AdaptedLinear(settings, width, settings.n_embd, settings.bias, settings.adapted_output)
        if settings.norm_qk:
            self.norm_q, self.norm_k = norm(settings, settings.head_size), norm(settings, settings.head_size)

    def forward(self, x, cos, sin):
        s = self.settings
        batch, length, _ = x.size()
        query, other = s.n_head * s.head_size, s.n_query_groups * s.head_size
        q, k, v = self.qkv(x).split((query, other, other), dim=-1)
        q = q.view(batch, length, s.n_head, s.head_size).transpose(1, 2)
        k = k.view(batch, length, s.n_query_groups, s.head_size).transpose(1, 2)
        v = v.view(batch, length, s.n_query_groups, s.head_size).transpose(1, 2)
        if s.norm_qk:
            q, k = self.norm_q(q), self.norm_k(k)
        turned = s.rotated
        q = torch.cat((rotate(q[..., :turned], cos, sin), q[..., turned:]), dim=-1)
        k = torch.cat((rotate(k[..., :turned], cos, sin), k[..., turned:]), dim=-1)
        if s.n_query_groups != s.n_head:
            times = s.n_head // s.n_query_groups
            k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
        if s.attention_cap:
            y = self.capped(q, k, v)
        else:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, length, query))

    def capped(self, q, k, v):
        scores = q @ k.mT * (self.settings.head_size**-0.5)
        scores = torch.tanh(scores / self.settings.attention_cap) * self.settings.attention_cap
        mask = torch.ones(q.size(2), q.size(2), dtype=q.dtype, device=q.device).triu(diagonal=1)
        scores = F.softmax(scores + mask, dim=-1, dtype=torch.float).to(dtype=q.dtype)
        return scores @ v


class PlainMLP(nn.Module):
    def __init__(self, settings):
        super().__init__()
        adapted = settings.adapted_mlp
        self.fc = AdaptedLinear(settings, settings.n_embd, settings.intermediate_size, settings.bias, adapted)
        self.proj = AdaptedLinear(settings, settings.intermediate_size, settings.n_embd, settings.bias, adapted)

    def forward(self, x):
        return self.proj(F.gelu(self.fc(x)))


class GatedMLP(nn.Module):
    def __init__(self, settings):
        super().__init__()
        adapted = settings.adapted_mlp
        self.gelu = settings.gelu
        self.fc_1 = AdaptedLinear(settings, settings.n_embd, settings.intermediate_size, settings.bias, adapted)
        self.fc_2 = AdaptedLinear(settings, settings.n_embd, settings.intermediate_size, settings.bias, adapted)
        self.proj = AdaptedLinear(settings, settings.intermediate_size, settings.n_embd, settings.bias, adapted)

    def forward(self, x):
        first, second = self.fc_1(x), self.fc_2(x)
        return self.proj((F.gelu(first) if self.gelu else F.silu(first)) * second)


class Block(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.norm_1 = norm(settings)
        self.attn = Attention(settings)
        self.norm_2 = None if settings.shared_norm else norm(settings)
        self.mlp = GatedMLP(settings) if settings.gated else PlainMLP(settings)
        self.after_attention = norm(settings) if settings.post_norms else nn.Identity()
        self.after_mlp = norm(settings) if settings.post_norms else nn.Identity()

    def forward(self, x, cos, sin):
        normed = self.norm_1(x)
        attended = self.after_attention(self.attn(normed, cos, sin))
        if self.settings.parallel_residual:
            if self.norm_2 is not None:
                normed = self.norm_2(x)
            x = attended + x
        else:
            x = attended + x
            normed = self.norm_2(x)
        return self.after_mlp(self.mlp(normed)) + x


class GPT(nn.Module):
    def __init__(self, **values):
        super().__init__()
        settings = self.settings = Settings(**values)
        self.lm_head = AdaptedLinear(
            settings, settings.n_embd, settings.vocab_size, settings.head_bias, settings.adapted_head
        )
        self.wte = nn.Embedding(settings.vocab_size, settings.n_embd)
        self.h = nn.ModuleList([Block(settings) for _ in range(settings.n_layer)])
        self.ln_f = norm(settings)
        if settings.rank:
            for name, parameter in self.named_parameters():
                parameter.requires_grad = "lora_" in name

    def forward(self, ids, pieces=True):
        s = self.settings
        cos = torch.zeros(1, 1, ids.size(1), s.rotated, device=ids.device)
        sin = torch.zeros(1, 1, ids.size(1), s.rotated, device=ids.device)
        x = self.wte(ids)
        if s.scaled_embeddings:
            x = x * s.n_embd**0.5
        for block in self.h:
            x = block(x, cos, sin)
        x = self.ln_f(x)
        if not pieces:
            return self.capped(self.lm_head(x)).float()
        logits = [self.capped(self.lm_head(part)) for part in x.split(PIECE, dim=1)]
        return [part.float() for part in logits]

    def capped(self, logits):
        cap = self.settings.head_cap
        return logits if not cap else torch.tanh(logits / cap) * cap
