"""Llama 4: every token goes to every expert with weight zero but for its own, beside a shared expert; complex rotary
positions on three layers of four, which also normalise queries and keys."""

import torch
import torch.nn as nn

from engine.architectures.models.decoder import DecoderAttention, DecoderForCausalLM, DecoderLayer, DecoderModel, head_size
from engine.architectures.models.foundation import activation, attend


class Llama4TextRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x):
        full = x.float()
        return (full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class UnitNorm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        full = x.float()
        return (full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)


class ComplexRotaryEmbedding(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim = head_size(config)
        frequencies = 1.0 / (500000.0 ** (torch.arange(0, dim, 2, dtype=torch.float) / dim))
        self.register_buffer("inv_freq", frequencies, persistent=False)
        self.register_buffer("original_inv_freq", frequencies.clone(), persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float)
        return torch.polar(torch.ones_like(angles), angles) * 1.0


def turn_complex(x, turns):
    """(batch, length, heads, head_dim), as pairs of reals."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[:, :, None, :]).flatten(3).type_as(x)


class Llama4TextAttention(DecoderAttention):
    def build(self, config):
        super().build(config)
        self.use_rope = (self.layer_idx + 1) % config.no_rope_layer_interval != 0
        self.qk_norm = UnitNorm(config.rms_norm_eps) if config.use_qk_norm and self.use_rope else None

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape)
        key = self.k_proj(hidden_states).view(shape)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        if self.use_rope:
            query = turn_complex(query, position_embeddings)
            key = turn_complex(key, position_embeddings)
        if self.qk_norm is not None:
            query = self.qk_norm(query)
            key = self.qk_norm(key)
        elif self.config.attn_temperature_tuning and not self.use_rope:
            scales = torch.ones(hidden_states.shape[1], device=hidden_states.device).view(1, -1, 1, 1)
            query = (query * scales).to(query.dtype)
        query = query.transpose(1, 2)
        key = key.transpose(1, 2)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        dropout = self.attention_dropout if self.training else 0.0
        output = attend(
            self.config, query, key, value, attention_mask, dropout, self.scaling, groups=self.num_key_value_groups
        )
        return self.o_proj(output.reshape(output.shape[0], output.shape[1], -1))


class Llama4TextMLP(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)
        self.activation_fn = activation(config.hidden_act)

    def forward(self, x):
        return self.down_proj(self.activation_fn(self.gate_proj(x)) * self.up_proj(x))


class Llama4TextExperts(nn.Module):
    def __init__(self, config):
        super().__init__()
        count, width = config.num_local_experts, config.intermediate_size
        self.gate_up_proj = nn.Parameter(torch.empty(count, config.hidden_size, 2 * width))
        self.down_proj = nn.Parameter(torch.empty(count, width, config.hidden_size))
        self.act_fn = activation(config.hidden_act)

    def forward(self, tokens):
        by_expert = tokens.view(self.gate_up_proj.shape[0], -1, tokens.shape[-1])
        gate, up = torch.bmm(by_expert, self.gate_up_proj).chunk(2, dim=-1)
        return torch.bmm(up * self.act_fn(gate), self.down_proj).view(-1, tokens.shape[-1])


class Llama4TextMoe(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.experts = Llama4TextExperts(config)
        self.router = nn.Linear(config.hidden_size, config.num_local_experts, bias=False)
        self.shared_expert = Llama4TextMLP(config, config.intermediate_size)

    def forward(self, hidden_states):
        tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
        logits = self.router(tokens)
        best, chosen = torch.topk(logits, self.top_k, dim=1)
        scores = torch.full_like(logits, float("-inf")).scatter_(1, chosen, best)
        scores = torch.sigmoid(scores.float()).to(scores.dtype)
        count = scores.shape[1]
        routed = tokens.repeat(count, 1) * scores.transpose(0, 1).reshape(-1, 1)
        routed = self.experts(routed)
        output = self.shared_expert(tokens)
        output.add_(routed.reshape(count, -1, tokens.shape[-1]).sum(dim=0))
        return output.view(hidden_states.shape)


class Llama4TextDecoderLayer(DecoderLayer):
    attention_class = Llama4TextAttention
    norm_class = Llama4TextRMSNorm

    def __init__(self, config, layer_idx):
        nn.Module.__init__(self)
        self.self_attn = self.attention_class(config, layer_idx)
        if (layer_idx + 1) % config.interleave_moe_layer_step == 0:
            self.mlp = Llama4TextMoe(config)
        else:
            self.mlp = Llama4TextMLP(config, config.intermediate_size_mlp)
        self.input_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)


class Llama4TextModel(DecoderModel):
    layer_class = Llama4TextDecoderLayer
    norm_class = Llama4TextRMSNorm

    def __init__(self, config):
        super().__init__(config)
        self.rotary_emb = ComplexRotaryEmbedding(config)


class Llama4ForCausalLM(DecoderForCausalLM):
    model_class = Llama4TextModel
