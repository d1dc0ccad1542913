"""StarCoder 2: layer norms, biases, a plain feed-forward."""

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


class Starcoder2Attention(DecoderAttention):
    def build(self, config):
        self.qkv_bias = config.use_bias
        self.output_bias = config.use_bias
        super().build(config)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        output = super().forward(hidden_states, attention_mask, cache, position_embeddings)
        return nn.functional.dropout(output, p=self.config.residual_dropout, training=self.training)


class Starcoder2MLP(DecoderMLP):
    def build(self, config):
        self.c_fc = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.use_bias)
        self.c_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=config.use_bias)
        self.rate = config.residual_dropout

    def forward(self, x):
        x = self.c_proj(self.act_fn(self.c_fc(x)))
        return nn.functional.dropout(x, p=self.rate, training=self.training)


class Starcoder2DecoderLayer(DecoderLayer):
    attention_class = Starcoder2Attention
    mlp_class = Starcoder2MLP


    def __init__(self, config, layer_idx):
        nn.Module.__init__(self)
        self.self_attn = Starcoder2Attention(config, layer_idx)
        self.mlp = Starcoder2MLP(config)
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.norm_epsilon)
        self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.norm_epsilon)


class Starcoder2PreTrainedModel(DecoderPreTrainedModel):
    pass


class Starcoder2Model(DecoderModel):
    layer_class = Starcoder2DecoderLayer


    def build(self, config):
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_epsilon)


class Starcoder2ForCausalLM(DecoderForCausalLM):
    model_class = Starcoder2Model


class Starcoder2ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Starcoder2Model
