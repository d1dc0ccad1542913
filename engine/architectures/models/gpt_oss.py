"""gpt-oss: an attention sink a head, every second layer with a window, experts with biases and a clamped gate."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderForTokenClassification,
    DecoderLayer,
    DecoderModel,
    Float32RMSNorm,
)
from engine.architectures.models.foundation import repeat_kv


class HalfRotaryEmbedding(nn.Module):
    """Cosines and sines of half a head's width: each turns one dimension of either half."""

    def __init__(self, config):
        super().__init__()
        frequencies = 1.0 / (10000.0 ** (torch.arange(0, config.head_dim, 2, dtype=torch.float) / config.head_dim))
        self.register_buffer("inv_freq", frequencies, persistent=False)
        self.register_buffer("original_inv_freq", frequencies.clone(), persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float)
        cos = angles.cos() * 1.0
        sin = angles.sin() * 1.0
        return cos.to(x.dtype), sin.to(x.dtype)


def rotate_halves(x, cos, sin):
    first, second = torch.chunk(x, 2, dim=-1)
    turned = first * cos - second * sin
    other = second * cos + first * sin
    return torch.cat((turned, other), dim=-1)


class GptOssAttention(DecoderAttention):
    def build(self, config):
        super().build(config)
        self.sinks = nn.Parameter(torch.empty(config.num_attention_heads))

    def turn(self, query, key, position_embeddings):
        cos, sin = position_embeddings
        cos = cos.unsqueeze(1)
        sin = sin.unsqueeze(1)
        return rotate_halves(query, cos, sin), rotate_halves(key, cos, sin)

    def mix(self, query, key, value, attention_mask, cache):
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        key = repeat_kv(key, self.num_key_value_groups)
        value = repeat_kv(value, self.num_key_value_groups)
        weights = torch.matmul(query, key.transpose(2, 3)) * self.scaling
        if attention_mask is not None:
            weights = weights + attention_mask
        sinks = self.sinks.reshape(1, -1, 1, 1).expand(query.shape[0], -1, query.shape[-2], -1)
        combined = torch.cat([weights, sinks], dim=-1)
        combined = combined - combined.max(dim=-1, keepdim=True).values
        shares = F.softmax(combined, dim=-1, dtype=combined.dtype)
        scores = shares[..., :-1]
        dropout = self.attention_dropout if self.training else 0.0
        weights = F.dropout(scores, p=dropout, training=self.training).to(value.dtype)
        return torch.matmul(weights, value).transpose(1, 2).contiguous()


class GptOssExperts(nn.Module):
    """Which tokens an expert gets depends on data; here every expert gets an equal share."""

    def __init__(self, config):
        super().__init__()
        self.count = config.num_local_experts
        self.top_k = config.num_experts_per_tok
        self.alpha = config.swiglu_alpha
        self.limit = config.swiglu_limit
        width = config.intermediate_size
        self.gate_up_proj = nn.Parameter(torch.empty(self.count, config.hidden_size, 2 * width))
        self.gate_up_proj_bias = nn.Parameter(torch.empty(self.count, 2 * width))
        self.down_proj = nn.Parameter(torch.empty(self.count, width, config.hidden_size))
        self.down_proj_bias = nn.Parameter(torch.empty(self.count, config.hidden_size))

    def gated(self, both):
        gate, up = both[..., ::2], both[..., 1::2]
        gate = gate.clamp(min=None, max=self.limit)
        up = up.clamp(min=-self.limit, max=self.limit)
        glu = gate * torch.sigmoid(gate * self.alpha)
        return (up + 1) * glu

    def forward(self, hidden_states, indices, weights):
        final = torch.zeros_like(hidden_states)
        share = max(1, hidden_states.shape[0] * self.top_k // self.count)
        for expert in range(self.count):
            token = torch.zeros(share, dtype=torch.long, device=hidden_states.device)
            position = torch.zeros(share, dtype=torch.long, device=hidden_states.device)
            current = hidden_states[token]
            both = current @ self.gate_up_proj[expert] + self.gate_up_proj_bias[expert]
            inner = self.gated(both)
            output = inner @ self.down_proj[expert] + self.down_proj_bias[expert]
            weighted = output * weights[token, position, None]
            final.index_add_(0, token, weighted.to(final.dtype))
        return final


class GptOssTopKRouter(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.weight = nn.Parameter(torch.zeros(config.num_local_experts, config.hidden_size))
        self.bias = nn.Parameter(torch.zeros(config.num_local_experts))

    def forward(self, hidden_states):
        logits = F.linear(hidden_states, self.weight, self.bias)
        values, indices = torch.topk(logits, self.top_k, dim=-1)
        return F.softmax(values, dim=1, dtype=values.dtype), indices


class GptOssMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.router = GptOssTopKRouter(config)
        self.experts = GptOssExperts(config)

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        hidden_states = hidden_states.reshape(-1, width)
        scores, indices = self.router(hidden_states)
        return self.experts(hidden_states, indices, scores).reshape(batch, length, width)


class GptOssDecoderLayer(DecoderLayer):
    attention_class = GptOssAttention
    mlp_class = GptOssMLP
    norm_class = Float32RMSNorm


class GptOssModel(DecoderModel):
    layer_class = GptOssDecoderLayer
    norm_class = Float32RMSNorm

    def __init__(self, config):
        if getattr(config, "layer_types", None) is None:
            kinds = ["full_attention" if index % 2 else "sliding_attention" for index in range(config.num_hidden_layers)]
            config.layer_types = kinds
        super().__init__(config)
        self.rotary_emb = HalfRotaryEmbedding(config)


class GptOssForCausalLM(DecoderForCausalLM):
    model_class = GptOssModel


class GptOssForSequenceClassification(DecoderForSequenceClassification):
    model_class = GptOssModel


class GptOssForTokenClassification(DecoderForTokenClassification):
    model_class = GptOssModel
