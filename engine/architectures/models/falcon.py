"""Falcon: attention and feed-forward side by side, one or few key heads."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import DecoderModel, DecoderPreTrainedModel, rotate
from engine.architectures.models.foundation import ModelOutput, attend, causal_lm_loss, causal_mask, keep_last


class FalconAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.num_heads = config.num_attention_heads
        self.head_dim = config.hidden_size // self.num_heads
        self.grouped = config.new_decoder_architecture
        self.multi_query = config.multi_query
        self.num_kv_heads = config.num_kv_heads if config.num_kv_heads is not None else self.num_heads
        if self.grouped:
            width = (self.num_kv_heads * 2 + self.num_heads) * self.head_dim
        elif self.multi_query:
            width = config.hidden_size + 2 * self.head_dim
        else:
            width = 3 * config.hidden_size
        self.query_key_value = nn.Linear(config.hidden_size, width, bias=config.bias)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, bias=config.bias)

    def split(self, fused):
        batch, length = fused.shape[0], fused.shape[1]
        if self.grouped:
            qkv = fused.view(batch, length, -1, self.num_heads // self.num_kv_heads + 2, self.head_dim)
            query = qkv[:, :, :, :-2]
            key = torch.broadcast_to(qkv[:, :, :, [-2]], query.shape)
            value = torch.broadcast_to(qkv[:, :, :, [-1]], query.shape)
            return query.flatten(2, 3), key.flatten(2, 3), value.flatten(2, 3)
        if not self.multi_query:
            qkv = fused.view(batch, length, self.num_heads, 3, self.head_dim)
            return qkv[..., 0, :], qkv[..., 1, :], qkv[..., 2, :]
        qkv = fused.view(batch, length, self.num_heads + 2, self.head_dim)
        return qkv[..., :-2, :], qkv[..., [-2], :], qkv[..., [-1], :]

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        query, key, value = self.split(self.query_key_value(hidden_states))
        batch, length = query.shape[0], query.shape[1]
        query = query.transpose(1, 2).reshape(batch, self.num_heads, length, self.head_dim)
        key = key.transpose(1, 2).reshape(batch, key.shape[2], length, self.head_dim)
        value = value.transpose(1, 2).reshape(batch, value.shape[2], length, self.head_dim)
        cos, sin = position_embeddings
        query, key = rotate(query, key, cos, sin)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        if self.config._attn_implementation == "eager":
            key = key.expand(query.shape[0], query.shape[1], key.shape[2], key.shape[3])
            value = value.expand(query.shape[0], query.shape[1], value.shape[2], value.shape[3])
            output = attend(self.config, query, key, value, attention_mask, 0.0, self.head_dim**-0.5)
        else:
            flag = attention_mask is None and length > 1
            output = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, is_causal=flag)
            output = output.permute(0, 2, 1, 3)
        return self.dense(output.reshape(batch, length, self.num_heads * self.head_dim))


class FalconMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.ffn_hidden_size if config.ffn_hidden_size is not None else 4 * config.hidden_size
        self.dense_h_to_4h = nn.Linear(config.hidden_size, width, bias=config.bias)
        self.act = nn.GELU()
        self.dense_4h_to_h = nn.Linear(width, config.hidden_size, bias=config.bias)

    def forward(self, x):
        x = self.act(self.dense_h_to_4h(x))
        return self.dense_4h_to_h(x)


class FalconDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.two_norms = config.new_decoder_architecture and config.num_ln_in_parallel_attn != 1
        self.self_attention = FalconAttention(config, layer_idx)
        self.mlp = FalconMLP(config)
        eps = config.layer_norm_epsilon
        if not config.parallel_attn:
            self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=eps)
            self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=eps)
        elif self.two_norms:
            self.ln_attn = nn.LayerNorm(config.hidden_size, eps=eps)
            self.ln_mlp = nn.LayerNorm(config.hidden_size, eps=eps)
        else:
            self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        if self.two_norms:
            normed = self.ln_attn(hidden_states)
            fed = self.ln_mlp(hidden_states)
        else:
            normed = self.input_layernorm(hidden_states)
            fed = normed
        attended = self.self_attention(normed, attention_mask, cache, position_embeddings)
        if not self.config.parallel_attn:
            attended = F.dropout(attended, p=self.config.attention_dropout, training=self.training)
            residual = residual + attended
            fed = self.post_attention_layernorm(residual)
        output = self.mlp(fed)
        if self.config.parallel_attn:
            output = output + attended
        output = F.dropout(output, p=self.config.hidden_dropout, training=self.training)
        return residual + output


class FalconPreTrainedModel(DecoderPreTrainedModel):
    base_model_prefix = "transformer"


class FalconModel(DecoderModel):
    base_model_prefix = "transformer"
    layer_class = FalconDecoderLayer

    def embeddings(self, config):
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)

    def build(self, config):
        self.ln_f = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)

    def get_input_embeddings(self):
        return self.word_embeddings

    def masks(self, inputs_embeds, attention_mask, past):
        # Falcon makes its mask even where the kernel's causal flag would do
        return {None: causal_mask(self.config, inputs_embeds, attention_mask, past, always=True)}

    def finish(self, hidden_states):
        return self.ln_f(hidden_states)


class FalconForCausalLM(FalconPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.transformer = FalconModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie_weights()

    def forward(self, input_ids=None, attention_mask=None, labels=None, logits_to_keep=0, num_items_in_batch=None, **kwargs):
        outputs = self.transformer(input_ids, attention_mask, **kwargs)
        logits = self.lm_head(keep_last(outputs.last_hidden_state, logits_to_keep))
        loss = None
        if labels is not None:
            loss = causal_lm_loss(logits, labels, self.config.vocab_size, num_items_in_batch)
        return ModelOutput(loss=loss, logits=logits, past_key_values=outputs.past_key_values)
