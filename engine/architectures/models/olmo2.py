"""OLMo 2: norms after each half, and over all queries and keys before they are split."""

import torch.nn as nn

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
    Float32RMSNorm,
)


class Olmo2DecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = Olmo2Attention(config, layer_idx)
        self.mlp = Olmo2MLP(config)
        self.post_attention_layernorm = Float32RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_feedforward_layernorm = Float32RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        return residual + hidden_states


class Olmo2Attention(DecoderAttention):
    def build(self, config):
        super().build(config)
        self.q_norm = Float32RMSNorm(config.num_attention_heads * self.head_dim, config.rms_norm_eps)
        self.k_norm = Float32RMSNorm(config.num_key_value_heads * self.head_dim, config.rms_norm_eps)

    def project(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_norm(self.q_proj(hidden_states)).view(shape).transpose(1, 2)
        key = self.k_norm(self.k_proj(hidden_states)).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        return query, key, value


class Olmo2MLP(DecoderMLP):
    pass


class Olmo2PreTrainedModel(DecoderPreTrainedModel):
    pass


class Olmo2Model(DecoderModel):
    layer_class = Olmo2DecoderLayer
    norm_class = Float32RMSNorm


class Olmo2ForCausalLM(DecoderForCausalLM):
    model_class = Olmo2Model


class Olmo2ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Olmo2Model
