"""Mixtral, Qwen 2 and 3 MoE, OLMoE: a router and experts whose weights are stacked.

Which tokens an expert gets depends on data; here every expert gets an equal share.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderLayer,
    DecoderModel,
    RMSNorm,
)
from engine.architectures.models.foundation import activation


class Experts(nn.Module):
    def __init__(self, config, count, width):
        super().__init__()
        self.count = count
        self.top_k = config.num_experts_per_tok
        self.gate_up_proj = nn.Parameter(torch.empty(count, 2 * width, config.hidden_size))
        self.down_proj = nn.Parameter(torch.empty(count, config.hidden_size, width))
        self.act_fn = activation(config.hidden_act)

    def forward(self, hidden_states, top_k_index, top_k_weights):
        final = torch.zeros_like(hidden_states)
        share = max(1, hidden_states.shape[0] * self.top_k // self.count)
        device = hidden_states.device
        for expert in range(self.count):
            token = torch.zeros(share, dtype=torch.long, device=device)
            position = torch.zeros(share, dtype=torch.long, device=device)
            current = hidden_states[token]
            gate, up = F.linear(current, self.gate_up_proj[expert]).chunk(2, dim=-1)
            hidden = self.act_fn(gate) * up
            hidden = F.linear(hidden, self.down_proj[expert])
            hidden = hidden * top_k_weights[token, position, None]
            final.index_add_(0, token, hidden.to(final.dtype))
        return final


class Router(nn.Module):
    def __init__(self, config, count, normalise):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.normalise = normalise
        self.weight = nn.Parameter(torch.empty(count, config.hidden_size))

    def forward(self, hidden_states):
        logits = F.linear(hidden_states, self.weight)
        probabilities = F.softmax(logits.float(), dim=-1)
        values, indices = torch.topk(probabilities, self.top_k, dim=-1)
        if self.normalise:
            values = values / values.sum(dim=-1, keepdim=True)
        return logits, values, indices


class MixtralSparseMoeBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = Router(config, config.num_local_experts, True)
        self.experts = Experts(config, config.num_local_experts, config.intermediate_size)

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        hidden_states = hidden_states.view(-1, width)
        _, weights, indices = self.gate(hidden_states)
        return self.experts(hidden_states, indices, weights).reshape(batch, length, width)


class MixtralAttention(DecoderAttention):
    qkv_bias = False
    output_bias = False


class MixtralDecoderLayer(DecoderLayer):
    attention_class = MixtralAttention
    mlp_class = MixtralSparseMoeBlock


class MixtralModel(DecoderModel):
    layer_class = MixtralDecoderLayer


class MixtralForCausalLM(DecoderForCausalLM):
    model_class = MixtralModel


class MixtralForSequenceClassification(DecoderForSequenceClassification):
    model_class = MixtralModel


class GatedMLP(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)
        self.act_fn = activation(config.hidden_act)

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class QwenSparseMoeBlock(nn.Module):
    shared = False

    def __init__(self, config):
        super().__init__()
        self.gate = Router(config, config.num_experts, config.norm_topk_prob)
        self.experts = Experts(config, config.num_experts, config.moe_intermediate_size)
        if self.shared:
            self.shared_expert = GatedMLP(config, config.shared_expert_intermediate_size)
            self.shared_expert_gate = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        hidden_states = hidden_states.view(-1, width)
        shared = None
        if self.shared:
            shared = self.shared_expert(hidden_states)
        _, weights, indices = self.gate(hidden_states)
        output = self.experts(hidden_states, indices, weights.to(hidden_states.dtype))
        if shared is not None:
            output = output + F.sigmoid(self.shared_expert_gate(hidden_states)) * shared
        return output.reshape(batch, length, width)


class Qwen2MoeSparseMoeBlock(QwenSparseMoeBlock):
    shared = True


class Qwen2MoeAttention(DecoderAttention):
    qkv_bias = True
    output_bias = False


class Qwen2MoeDecoderLayer(DecoderLayer):
    attention_class = Qwen2MoeAttention
    mlp_class = Qwen2MoeSparseMoeBlock


class Qwen2MoeModel(DecoderModel):
    layer_class = Qwen2MoeDecoderLayer


class Qwen2MoeForCausalLM(DecoderForCausalLM):
    model_class = Qwen2MoeModel


class Qwen3MoeAttention(DecoderAttention):
    head_norm = RMSNorm


class Qwen3MoeDecoderLayer(DecoderLayer):
    attention_class = Qwen3MoeAttention
    mlp_class = QwenSparseMoeBlock


class Qwen3MoeModel(DecoderModel):
    layer_class = Qwen3MoeDecoderLayer


class Qwen3MoeForCausalLM(DecoderForCausalLM):
    model_class = Qwen3MoeModel
