"""DeepSeek V2 and V3: keys and values from one narrow latent, routed and shared experts after the first dense layers."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import (
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderModel,
    RMSNorm,
    RotaryEmbedding,
)
from engine.architectures.models.foundation import attend
from engine.architectures.models.mixtral import Experts, GatedMLP


def rotate_pairs(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, odd * cos + even * sin], dim=-1)


class DeepseekV3Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        heads = config.num_attention_heads
        self.nope = config.qk_nope_head_dim
        self.rope = config.qk_rope_head_dim
        self.value_dim = config.v_head_dim
        self.head_dim = self.nope + self.rope
        self.rank = config.kv_lora_rank
        self.scaling = self.head_dim**-0.5
        if config.q_lora_rank is None:
            self.q_proj = nn.Linear(config.hidden_size, heads * self.head_dim, bias=False)
        else:
            self.q_a_proj = nn.Linear(config.hidden_size, config.q_lora_rank, bias=config.attention_bias)
            self.q_a_layernorm = RMSNorm(config.q_lora_rank)
            self.q_b_proj = nn.Linear(config.q_lora_rank, heads * self.head_dim, bias=False)
        self.kv_a_proj_with_mqa = nn.Linear(config.hidden_size, self.rank + self.rope, bias=config.attention_bias)
        self.kv_a_layernorm = RMSNorm(self.rank)
        self.kv_b_proj = nn.Linear(self.rank, heads * (self.nope + self.value_dim), bias=False)
        self.o_proj = nn.Linear(heads * self.value_dim, config.hidden_size, bias=config.attention_bias)

    def queries(self, hidden_states):
        if self.config.q_lora_rank is None:
            return self.q_proj(hidden_states)
        return self.q_b_proj(self.q_a_layernorm(self.q_a_proj(hidden_states)))

    def turn(self, query, key, position_embeddings):
        cos, sin = position_embeddings
        cos = cos[..., : cos.shape[-1] // 2].unsqueeze(1)
        sin = sin[..., : sin.shape[-1] // 2].unsqueeze(1)
        return rotate_pairs(query, cos, sin), rotate_pairs(key, cos, sin)

    def expand(self, latent, rotated):
        """Keys and values of every head from the latent and the one rotated key."""
        batch, _, length, _ = latent.shape
        both = self.kv_b_proj(latent).view(batch, length, -1, self.nope + self.value_dim).transpose(1, 2)
        plain, value = torch.split(both, [self.nope, self.value_dim], dim=-1)
        rotated = rotated.expand(-1, plain.shape[1], -1, -1)
        key = both.new_empty(batch, plain.shape[1], length, self.head_dim)
        key[..., : self.nope].copy_(plain)
        key[..., self.nope :].copy_(rotated)
        return key, value

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        query = self.queries(hidden_states).view(batch, length, -1, self.head_dim).transpose(1, 2)
        plain, turned = torch.split(query, [self.nope, self.rope], dim=-1)
        compressed = self.kv_a_proj_with_mqa(hidden_states)
        latent, rotated = torch.split(compressed, [self.rank, self.rope], dim=-1)
        latent = self.kv_a_layernorm(latent).view(batch, 1, length, self.rank)
        rotated = rotated.view(batch, 1, length, self.rope)
        turned, rotated = self.turn(turned, rotated, position_embeddings)
        if cache is not None:
            latent, rotated = cache.update(latent, rotated, self.layer_idx)
        query = torch.cat((plain, turned), dim=-1)
        key, value = self.expand(latent, rotated)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, softmax="float32")
        return self.o_proj(output.reshape(batch, length, -1))


class DeepseekV3TopkRouter(nn.Module):
    """Chooses groups of experts first, then experts within them; in float32."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.zeros(config.n_routed_experts, config.hidden_size))
        self.register_buffer("e_score_correction_bias", torch.zeros(config.n_routed_experts))

    def forward(self, hidden_states):
        config = self.config
        logits = F.linear(hidden_states.type(torch.float32), self.weight.type(torch.float32))
        scores = logits.sigmoid()
        choice = scores + self.e_score_correction_bias
        size = config.n_routed_experts // config.n_group
        groups = choice.view(-1, config.n_group, size).topk(2, dim=-1)[0].sum(dim=-1)
        chosen = torch.topk(groups, k=config.topk_group, dim=-1, sorted=False)[1]
        mask = torch.zeros_like(groups)
        mask.scatter_(1, chosen, 1)
        mask = mask.unsqueeze(-1).expand(-1, config.n_group, size).reshape(-1, config.n_routed_experts)
        choice = choice.masked_fill(~mask.bool(), float("-inf"))
        indices = torch.topk(choice, k=config.num_experts_per_tok, dim=-1, sorted=False)[1]
        weights = scores.gather(1, indices)
        if config.norm_topk_prob:
            weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-20)
        return weights * config.routed_scaling_factor, indices


class DeepseekV2TopkRouter(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.zeros(config.n_routed_experts, config.hidden_size))

    def forward(self, hidden_states):
        config = self.config
        logits = F.linear(hidden_states.type(torch.float32), self.weight.type(torch.float32))
        scores = logits.softmax(dim=-1, dtype=torch.float32)
        if config.topk_method == "group_limited_greedy":
            size = config.n_routed_experts // config.n_group
            groups = scores.view(-1, config.n_group, size).max(dim=-1).values
            chosen = torch.topk(groups, k=config.topk_group, dim=-1, sorted=False)[1]
            mask = torch.zeros_like(groups)
            mask.scatter_(1, chosen, 1)
            mask = mask.unsqueeze(-1).expand(-1, config.n_group, size).reshape(-1, config.n_routed_experts)
            scores = scores.masked_fill(~mask.bool(), 0.0)
        weights, indices = torch.topk(scores, k=config.num_experts_per_tok, dim=-1, sorted=False)
        return weights * config.routed_scaling_factor, indices


class DeepseekV3MoE(nn.Module):
    router_class = DeepseekV3TopkRouter

    def __init__(self, config):
        super().__init__()
        self.experts = Experts(config, config.n_routed_experts, config.moe_intermediate_size)
        self.gate = self.router_class(config)
        self.shared_experts = GatedMLP(config, config.moe_intermediate_size * config.n_shared_experts)

    def forward(self, hidden_states):
        residual = hidden_states
        flat = hidden_states.view(-1, hidden_states.shape[-1])
        weights, indices = self.gate(flat)
        hidden_states = self.experts(flat, indices, weights).view(*residual.shape)
        return hidden_states + self.shared_experts(residual)


class DeepseekV2Moe(DeepseekV3MoE):
    router_class = DeepseekV2TopkRouter


class DeepseekV3DecoderLayer(nn.Module):
    experts_class = DeepseekV3MoE

    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = DeepseekV3Attention(config, layer_idx)
        if layer_idx >= config.first_k_dense_replace:
            self.mlp = self.experts_class(config)
        else:
            self.mlp = GatedMLP(config, config.intermediate_size)
        self.input_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class DeepseekV3Model(DecoderModel):
    layer_class = DeepseekV3DecoderLayer

    def __init__(self, config):
        super().__init__(config)
        self.rotary_emb = RotaryEmbedding(config, config.qk_rope_head_dim)


class DeepseekV3ForCausalLM(DecoderForCausalLM):
    model_class = DeepseekV3Model


class DeepseekV3ForSequenceClassification(DecoderForSequenceClassification):
    model_class = DeepseekV3Model


class DeepseekV2DecoderLayer(DeepseekV3DecoderLayer):
    experts_class = DeepseekV2Moe


class DeepseekV2Model(DeepseekV3Model):
    layer_class = DeepseekV2DecoderLayer


class DeepseekV2ForCausalLM(DecoderForCausalLM):
    model_class = DeepseekV2Model


class DeepseekV2ForSequenceClassification(DecoderForSequenceClassification):
    model_class = DeepseekV2Model
