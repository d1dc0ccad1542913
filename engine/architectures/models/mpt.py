"""MPT: no biases at all, linear position biases (ALiBi) added to the scores, eager attention only."""

import math

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


def position_biases(heads, length, device):
    """(heads, 1, length), for the longest sequence that the model takes."""
    distances = torch.arange(1 - length, 1, dtype=torch.int32, device=device).view(1, 1, 1, length)
    slopes = torch.ones(1, heads, 1, 1, device=device)
    return (distances * slopes).squeeze(0)


class MptAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        options = config.attn_config
        self.layer_idx = layer_idx
        self.n_heads = config.n_heads
        self.head_dim = config.d_model // config.n_heads
        self.softmax_scale = options.softmax_scale if options.softmax_scale is not None else 1 / math.sqrt(self.head_dim)
        self.attn_dropout_p = options.attn_pdrop
        self.clip_qkv = options.clip_qkv
        self.Wqkv = nn.Linear(config.d_model, 3 * config.d_model, bias=False)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=False)

    def forward(self, hidden_states, position_bias, attention_mask, cache=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        mixed = self.Wqkv(hidden_states)
        if self.clip_qkv:
            mixed = mixed.clamp(min=-self.clip_qkv, max=self.clip_qkv)
        query, key, value = mixed.chunk(3, dim=2)
        query = query.reshape(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        key = key.reshape(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        value = value.reshape(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        scores = torch.matmul(query, key.transpose(-1, -2)) * self.softmax_scale
        scores = scores + position_bias[:, :, max(0, position_bias.size(2) - key.shape[-2]) :]
        scores = scores.masked_fill(attention_mask, torch.finfo(query.dtype).min)
        weights = F.softmax(scores.float(), dim=-1).to(value.dtype)
        weights = F.dropout(weights, p=self.attn_dropout_p, training=self.training)
        context = torch.matmul(weights, value)
        context = context.permute(0, 2, 1, 3).contiguous().view(batch, length, -1)
        return self.out_proj(context), weights


class MptMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up_proj = nn.Linear(config.d_model, 4 * config.d_model, bias=False)
        self.act = nn.GELU(approximate="none")
        self.down_proj = nn.Linear(4 * config.d_model, config.d_model, bias=False)
        self.hidden_dropout = config.attn_config.attn_pdrop

    def forward(self, hidden_states, residual):
        hidden_states = self.act(self.up_proj(hidden_states))
        inner = self.down_proj(hidden_states)
        output = F.dropout(inner, p=self.hidden_dropout, training=self.training)
        return output + residual


def norm(config):
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_epsilon, bias=False)


class MptBlock(nn.Module):
    """Gives the attention weights back too: the caller's name keeps those of the last layer alive."""

    def __init__(self, config, layer_idx):
        super().__init__()
        self.norm_1 = norm(config)
        self.attn = MptAttention(config, layer_idx)
        self.norm_2 = norm(config)
        self.ffn = MptMLP(config)
        self.resid_attn_dropout = nn.Dropout(config.attn_config.attn_pdrop)

    def forward(self, hidden_states, position_bias, attention_mask, cache=None):
        normed = self.norm_1(hidden_states)
        attended, weights = self.attn(normed, position_bias, attention_mask, cache)
        hidden_states = self.resid_attn_dropout(attended) + hidden_states
        normed = self.norm_2(hidden_states)
        return self.ffn(normed, hidden_states), weights


class MptPreTrainedModel(PreTrainedModel):
    base_model_prefix = "transformer"


class MptModel(MptPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList([MptBlock(config, i) for i in range(config.n_layers)])
        self.norm_f = norm(config)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.wte

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
            inputs_embeds = self.wte(input_ids)
        hidden_states = inputs_embeds
        past = cache.get_seq_length() if cache is not None else 0
        biases = position_biases(self.config.n_heads, self.config.max_seq_len, hidden_states.device)
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past).to(torch.bool)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for block in self.blocks:
            if wanted:
                kept = kept + (hidden_states,)
            outputs = self.layer_call(block, hidden_states, position_bias=biases, attention_mask=mask, cache=cache)
            hidden_states = outputs[0]
        hidden_states = self.norm_f(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class MptForCausalLM(CausalLMHead):
    model_class = MptModel


class MptForSequenceClassification(SequenceClassificationHead):
    model_class = MptModel


class MptForTokenClassification(TokenClassificationHead):
    model_class = MptModel


class MptForQuestionAnswering(QuestionAnsweringHead):
    model_class = MptModel
