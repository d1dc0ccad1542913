"""StableLM 2 and 3B: layer norms, a quarter of each head rotated."""

import torch.nn as nn

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
)


class StableLmAttention(DecoderAttention):
    partial_rotary = True
    output_bias = False

    def build(self, config):
        self.qkv_bias = config.use_qkv_bias
        super().build(config)


class StableLmMLP(DecoderMLP):
    pass


class StableLmDecoderLayer(DecoderLayer):
    attention_class = StableLmAttention
    mlp_class = StableLmMLP


    def __init__(self, config, layer_idx):
        nn.Module.__init__(self)
        self.self_attn = StableLmAttention(config, layer_idx)
        self.mlp = StableLmMLP(config)
        self.parallel = config.use_parallel_residual
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.post_attention_layernorm = None
        if not self.parallel:
            self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        attended = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        if self.parallel:
            return residual + attended + self.dropout(self.mlp(hidden_states))
        residual = residual + attended
        fed_forward = self.mlp(self.post_attention_layernorm(residual))
        return residual + self.dropout(fed_forward)


class StableLmPreTrainedModel(DecoderPreTrainedModel):
    pass


class StableLmModel(DecoderModel):
    layer_class = StableLmDecoderLayer


    def build(self, config):
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


class StableLmForCausalLM(DecoderForCausalLM):
    model_class = StableLmModel


class StableLmForSequenceClassification(DecoderForSequenceClassification):
    model_class = StableLmModel
