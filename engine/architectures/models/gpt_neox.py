"""GPT-NeoX and Pythia: parallel residual, a quarter of each head rotated, fused query-key-value projection."""

import torch.nn as nn

from engine.architectures.models.decoder import (
    DecoderModel,
    DecoderPreTrainedModel,
    rotary_width,
    rotate_part,
)
from engine.architectures.models.decoder_heads import (
    CausalLMHead,
    QuestionAnsweringHead,
    SequenceClassificationHead,
    TokenClassificationHead,
)
from engine.architectures.models.foundation import activation, attend


class GPTNeoXAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_size = config.hidden_size // config.num_attention_heads
        self.rotary_ndims = rotary_width(config, self.head_size)
        self.scaling = self.head_size**-0.5
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=config.attention_bias)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=config.attention_bias)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        qkv = self.query_key_value(hidden_states).view(batch, length, -1, 3 * self.head_size).transpose(1, 2)
        query, key, value = qkv.chunk(3, dim=-1)
        cos, sin = position_embeddings
        query, key = rotate_part(query, key, cos, sin)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, softmax="float32")
        return self.dense(output.reshape(batch, length, -1))


class GPTNeoXMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(config.hidden_size, config.intermediate_size)
        self.dense_4h_to_h = nn.Linear(config.intermediate_size, config.hidden_size)
        self.act = activation(config.hidden_act)

    def forward(self, hidden_states):
        hidden_states = self.dense_h_to_4h(hidden_states)
        hidden_states = self.act(hidden_states)
        return self.dense_4h_to_h(hidden_states)


class GPTNeoXLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.use_parallel_residual = config.use_parallel_residual
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.post_attention_dropout = nn.Dropout(config.hidden_dropout)
        self.post_mlp_dropout = nn.Dropout(config.hidden_dropout)
        self.attention = GPTNeoXAttention(config, layer_idx)
        self.mlp = GPTNeoXMLP(config)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        attended = self.attention(self.input_layernorm(hidden_states), attention_mask, cache, position_embeddings)
        attended = self.post_attention_dropout(attended)
        if self.use_parallel_residual:
            fed_forward = self.mlp(self.post_attention_layernorm(hidden_states))
            fed_forward = self.post_mlp_dropout(fed_forward)
            return fed_forward + attended + hidden_states
        attended = attended + hidden_states
        fed_forward = self.mlp(self.post_attention_layernorm(attended))
        fed_forward = self.post_mlp_dropout(fed_forward)
        return fed_forward + attended


class GPTNeoXPreTrainedModel(DecoderPreTrainedModel):
    base_model_prefix = "gpt_neox"


class GPTNeoXModel(DecoderModel):
    layer_class = GPTNeoXLayer

    def embeddings(self, config):
        self.embed_in = nn.Embedding(config.vocab_size, config.hidden_size)

    def build(self, config):
        self.emb_dropout = nn.Dropout(config.hidden_dropout)
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def get_input_embeddings(self):
        return self.embed_in

    def prepare(self, inputs_embeds):
        return self.emb_dropout(inputs_embeds)

    def finish(self, hidden_states):
        return self.final_layer_norm(hidden_states)


class GPTNeoXForCausalLM(CausalLMHead):
    base_model_prefix = "gpt_neox"
    model_class = GPTNeoXModel

    def head(self, config):
        self.embed_out = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.embed_out


class GPTNeoXForSequenceClassification(SequenceClassificationHead):
    base_model_prefix = "gpt_neox"
    model_class = GPTNeoXModel


class GPTNeoXForTokenClassification(TokenClassificationHead):
    base_model_prefix = "gpt_neox"
    model_class = GPTNeoXModel


class GPTNeoXForQuestionAnswering(QuestionAnsweringHead):
    base_model_prefix = "gpt_neox"
    model_class = GPTNeoXModel
