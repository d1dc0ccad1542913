"""Phi 3: fused query-key-value and gate-up projections."""

import torch.nn as nn

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForQuestionAnswering,
    DecoderForSequenceClassification,
    DecoderForTokenClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
)


class Phi3Attention(DecoderAttention):
    partial_rotary = True

    def build(self, config):
        width = (config.num_attention_heads + 2 * config.num_key_value_heads) * self.head_dim
        self.o_proj = nn.Linear(config.num_attention_heads * self.head_dim, config.hidden_size, bias=False)
        self.qkv_proj = nn.Linear(config.hidden_size, width, bias=False)

    def project(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        qkv = self.qkv_proj(hidden_states)
        queries = self.config.num_attention_heads * self.head_dim
        keys = queries + self.config.num_key_value_heads * self.head_dim
        query = qkv[..., :queries].view(shape).transpose(1, 2)
        key = qkv[..., queries:keys].view(shape).transpose(1, 2)
        value = qkv[..., keys:].view(shape).transpose(1, 2)
        return query, key, value


class Phi3MLP(DecoderMLP):
    def build(self, config):
        self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(up * self.act_fn(gate))


class Phi3DecoderLayer(DecoderLayer):
    attention_class = Phi3Attention
    mlp_class = Phi3MLP


    def __init__(self, config, layer_idx):
        super().__init__(config, layer_idx)
        self.resid_attn_dropout = nn.Dropout(config.resid_pdrop)
        self.resid_mlp_dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        hidden_states = residual + self.resid_attn_dropout(hidden_states)
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + self.resid_mlp_dropout(hidden_states)


class Phi3PreTrainedModel(DecoderPreTrainedModel):
    pass


class Phi3Model(DecoderModel):
    layer_class = Phi3DecoderLayer


class Phi3ForCausalLM(DecoderForCausalLM):
    model_class = Phi3Model


class Phi3ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Phi3Model


class Phi3ForTokenClassification(DecoderForTokenClassification):
    model_class = Phi3Model


class Phi3ForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = Phi3Model
