"""Phi 1 and 2: attention and feed-forward side by side, partial rotation, biases everywhere."""

import torch.nn as nn

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderForTokenClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
)
from engine.architectures.models.foundation import activation


class PhiAttention(DecoderAttention):
    partial_rotary = True

    def build(self, config):
        width = config.num_attention_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden_size, width)
        self.k_proj = nn.Linear(config.hidden_size, config.num_key_value_heads * self.head_dim)
        self.v_proj = nn.Linear(config.hidden_size, config.num_key_value_heads * self.head_dim)
        self.dense = nn.Linear(config.num_attention_heads * self.head_dim, config.hidden_size, bias=True)
        if config.qk_layernorm:
            self.q_layernorm = nn.LayerNorm(self.head_dim, eps=config.layer_norm_eps)
            self.k_layernorm = nn.LayerNorm(self.head_dim, eps=config.layer_norm_eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        query, key, value = self.project(hidden_states)
        if self.config.qk_layernorm:
            query = self.q_layernorm(query)
            key = self.k_layernorm(key)
        query, key = self.turn(query, key, position_embeddings)
        output = self.mix(query, key, value, attention_mask, cache)
        return self.dense(output.reshape(output.shape[0], output.shape[1], -1))


class PhiMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation_fn = activation(config.hidden_act)
        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)
        self.fc2 = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states):
        return self.fc2(self.activation_fn(self.fc1(hidden_states)))


class PhiDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = PhiAttention(config, layer_idx)
        self.mlp = PhiMLP(config)
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        attended = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        attended = self.resid_dropout(attended)
        fed_forward = self.resid_dropout(self.mlp(hidden_states))
        return attended + fed_forward + residual


class PhiPreTrainedModel(DecoderPreTrainedModel):
    pass


class PhiModel(DecoderModel):
    layer_class = PhiDecoderLayer


    def build(self, config):
        self.embed_dropout = nn.Dropout(config.embd_pdrop)
        self.final_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def finish(self, hidden_states):
        return self.final_layernorm(hidden_states)

    def prepare(self, inputs_embeds):
        return self.embed_dropout(inputs_embeds)


class PhiForCausalLM(DecoderForCausalLM):
    model_class = PhiModel
    head_bias = True


class PhiForSequenceClassification(DecoderForSequenceClassification):
    model_class = PhiModel


class PhiForTokenClassification(DecoderForTokenClassification):
    model_class = PhiModel
