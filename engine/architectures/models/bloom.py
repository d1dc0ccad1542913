"""BLOOM: a norm over the embeddings, linear position biases (ALiBi) added inside of the product of queries and keys."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder_heads import (
    CausalLMHead,
    QuestionAnsweringHead,
    SequenceClassificationHead,
    TokenClassificationHead,
)
from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, causal_mask


def position_biases(batch, heads, length, attention_mask, hidden_states):
    """(batch * heads, 1, keys) in the dtype of the hidden states."""
    device = hidden_states.device
    slopes = torch.ones(heads, device=device, dtype=torch.float32)
    if attention_mask is None:
        biases = slopes[:, None, None] * torch.arange(length, device=device)
        return biases.repeat(batch, 1, 1).to(hidden_states.dtype)
    counted = ((attention_mask.cumsum(dim=-1) - 1) * attention_mask)[:, None, :]
    biases = slopes[..., None] * counted
    return biases.reshape(batch * heads, 1, length).to(hidden_states.dtype)


class GeluFunction(torch.autograd.Function):
    """Only the input is kept; the tangent is computed again in the backward pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0]
        tangent = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
        slope = 0.5 * x * ((1 - tangent * tangent) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tangent)
        return slope * gradient


class BloomGelu(nn.Module):
    def forward(self, x):
        return GeluFunction.apply(x)


def drop_and_add(x, residual, rate, training):
    dropped = F.dropout(x, p=rate, training=training)
    return residual + dropped


class BloomAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.num_heads = config.n_head
        self.head_dim = config.hidden_size // config.n_head
        self.hidden_dropout = config.hidden_dropout
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.attention_dropout = nn.Dropout(config.attention_dropout)

    def forward(self, hidden_states, residual, alibi, attention_mask, cache=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        fused = self.query_key_value(hidden_states)
        parts = fused.view(batch, length, self.num_heads, 3, self.head_dim)
        query = parts[..., 0, :].transpose(1, 2)
        key = parts[..., 1, :].transpose(1, 2)
        value = parts[..., 2, :].transpose(1, 2)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        query = query.reshape(batch * self.num_heads, -1, self.head_dim)
        key = key.reshape(batch * self.num_heads, -1, self.head_dim).transpose(-1, -2)
        value = value.reshape(batch * self.num_heads, -1, self.head_dim)
        scores = alibi.baddbmm(batch1=query, batch2=key, beta=1.0, alpha=self.head_dim**-0.5)
        weights = scores.view(batch, self.num_heads, length, -1)
        if attention_mask is not None:
            weights = weights + attention_mask
        shares = F.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
        shares = self.attention_dropout(shares)
        flat = shares.view(batch * self.num_heads, length, -1)
        context = torch.bmm(flat, value)
        context = context.view(batch, self.num_heads, length, self.head_dim).permute(0, 2, 1, 3)
        context = context.reshape(batch, length, -1)
        output = self.dense(context)
        output = drop_and_add(output, residual, self.hidden_dropout, self.training)
        return output, shares


class BloomMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(config.hidden_size, 4 * config.hidden_size)
        self.gelu_impl = BloomGelu()
        self.dense_4h_to_h = nn.Linear(4 * config.hidden_size, config.hidden_size)
        self.hidden_dropout = config.hidden_dropout

    def forward(self, hidden_states, residual):
        hidden_states = self.gelu_impl(self.dense_h_to_4h(hidden_states))
        output = self.dense_4h_to_h(hidden_states)
        return drop_and_add(output, residual, self.hidden_dropout, self.training)


class BloomBlock(nn.Module):
    """Gives the attention shares back too: the caller's name keeps those of the last layer alive."""

    def __init__(self, config, layer_idx):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.self_attention = BloomAttention(config, layer_idx)
        self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.mlp = BloomMLP(config)
        self.normed_residual = config.apply_residual_connection_post_layernorm

    def forward(self, hidden_states, alibi, attention_mask, cache=None):
        normed = self.input_layernorm(hidden_states)
        residual = normed if self.normed_residual else hidden_states
        attended, shares = self.self_attention(normed, residual, alibi, attention_mask, cache)
        normed = self.post_attention_layernorm(attended)
        residual = normed if self.normed_residual else attended
        return self.mlp(normed, residual), shares


class BloomPreTrainedModel(PreTrainedModel):
    base_model_prefix = "transformer"


class BloomModel(BloomPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_heads = config.n_head
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.word_embeddings_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.h = nn.ModuleList([BloomBlock(config, i) for i in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.word_embeddings

    def forward(
        self,
        input_ids=None,
        past_key_values=None,
        attention_mask=None,
        inputs_embeds=None,
        use_cache=None,
        output_hidden_states=None,
        **kwargs,
    ):
        cache = self.new_cache(past_key_values, use_cache)
        if inputs_embeds is None:
            inputs_embeds = self.word_embeddings(input_ids)
        batch, length = inputs_embeds.shape[0], inputs_embeds.shape[1]
        past = cache.get_seq_length() if cache is not None else 0
        hidden_states = self.word_embeddings_layernorm(inputs_embeds)
        alibi = position_biases(batch, self.num_heads, past + length, attention_mask, hidden_states)
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for block in self.h:
            if wanted:
                kept = kept + (hidden_states,)
            outputs = self.layer_call(block, hidden_states, alibi=alibi, attention_mask=mask, cache=cache)
            hidden_states = outputs[0]
        hidden_states = self.ln_f(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class BloomForCausalLM(CausalLMHead):
    model_class = BloomModel


class BloomForSequenceClassification(SequenceClassificationHead):
    model_class = BloomModel


class BloomForTokenClassification(TokenClassificationHead):
    model_class = BloomModel


class BloomForQuestionAnswering(QuestionAnsweringHead):
    model_class = BloomModel
