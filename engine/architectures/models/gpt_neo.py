"""GPT-Neo: GPT-2's shape, every second layer with a local window, attention scores in float32."""

import torch
import torch.nn as nn

from engine.architectures.models.decoder_heads import (
    CausalLMHead,
    QuestionAnsweringHead,
    SequenceClassificationHead,
    TokenClassificationHead,
)
from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, causal_mask


def layer_kinds(config):
    """"global" or "local", one a layer; `attention_types` pairs a pattern with how often it is repeated."""
    kinds = []
    for pattern, times in config.attention_types:
        for _ in range(times):
            kinds.extend(pattern)
    return kinds


class GPTNeoSelfAttention(nn.Module):
    def __init__(self, config, kind, layer_id):
        super().__init__()
        count = config.max_position_embeddings
        allowed = torch.tril(torch.ones((count, count), dtype=torch.bool)).view(1, 1, count, count)
        if kind == "local":
            allowed = torch.bitwise_xor(allowed, torch.tril(allowed, -config.window_size))
        self.register_buffer("bias", allowed, persistent=False)
        self.layer_id = layer_id
        self.attn_dropout = nn.Dropout(config.attention_dropout)
        self.resid_dropout = nn.Dropout(config.resid_dropout)
        self.head_dim = config.hidden_size // config.num_heads
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], -1, self.head_dim).permute(0, 2, 1, 3)

    def mix(self, query, key, value, attention_mask):
        query = query.to(torch.float32)
        key = key.to(torch.float32)
        weights = torch.matmul(query, key.transpose(-1, -2))
        queries, keys = query.size(-2), key.size(-2)
        allowed = self.bias[:, :, keys - queries : keys, :keys]
        lowest = torch.tensor(torch.finfo(weights.dtype).min, dtype=weights.dtype, device=weights.device)
        weights = torch.where(allowed, weights, lowest)
        if attention_mask is not None:
            weights = weights + attention_mask
        weights = nn.functional.softmax(weights, dim=-1)
        weights = weights.to(value.dtype)
        weights = self.attn_dropout(weights)
        return torch.matmul(weights, value), weights

    def forward(self, hidden_states, attention_mask=None, cache=None):
        query = self.q_proj(hidden_states)
        key = self.k_proj(hidden_states)
        value = self.v_proj(hidden_states)
        query = self.heads(query)
        key = self.heads(key)
        value = self.heads(value)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_id)
        output, weights = self.mix(query, key, value, attention_mask)
        output = output.permute(0, 2, 1, 3).contiguous()
        output = output.view(output.shape[0], output.shape[1], -1)
        output = self.out_proj(output)
        return self.resid_dropout(output), weights


class GPTNeoAttention(nn.Module):
    def __init__(self, config, layer_id):
        super().__init__()
        self.attention = GPTNeoSelfAttention(config, layer_kinds(config)[layer_id], layer_id)

    def forward(self, hidden_states, attention_mask=None, cache=None):
        return self.attention(hidden_states, attention_mask, cache)


class GPTNeoMLP(nn.Module):
    def __init__(self, intermediate_size, config):
        super().__init__()
        self.c_fc = nn.Linear(config.hidden_size, intermediate_size)
        self.c_proj = nn.Linear(intermediate_size, config.hidden_size)
        self.act = activation(config.activation_function)
        self.dropout = nn.Dropout(config.resid_dropout)

    def forward(self, hidden_states):
        hidden_states = self.c_fc(hidden_states)
        hidden_states = self.act(hidden_states)
        hidden_states = self.c_proj(hidden_states)
        return self.dropout(hidden_states)


class GPTNeoBlock(nn.Module):
    """Gives the attention weights back too: the caller's name keeps those of the last layer alive."""

    def __init__(self, config, layer_id):
        super().__init__()
        inner = config.intermediate_size if config.intermediate_size is not None else 4 * config.hidden_size
        self.ln_1 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.attn = GPTNeoAttention(config, layer_id)
        self.ln_2 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.mlp = GPTNeoMLP(inner, config)

    def forward(self, hidden_states, attention_mask=None, cache=None):
        residual = hidden_states
        hidden_states = self.ln_1(hidden_states)
        attended, weights = self.attn(hidden_states, attention_mask, cache)
        hidden_states = attended + residual
        residual = hidden_states
        hidden_states = self.ln_2(hidden_states)
        fed_forward = self.mlp(hidden_states)
        return residual + fed_forward, weights


class GPTNeoPreTrainedModel(PreTrainedModel):
    base_model_prefix = "transformer"


class GPTNeoModel(GPTNeoPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        self.wpe = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.drop = nn.Dropout(config.embed_dropout)
        self.h = nn.ModuleList([GPTNeoBlock(config, i) for i in range(config.num_layers)])
        self.ln_f = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_epsilon)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.wte

    def forward(
        self,
        input_ids=None,
        past_key_values=None,
        attention_mask=None,
        token_type_ids=None,
        position_ids=None,
        inputs_embeds=None,
        use_cache=None,
        output_hidden_states=None,
        **kwargs,
    ):
        cache = self.new_cache(past_key_values, use_cache)
        if inputs_embeds is None:
            inputs_embeds = self.wte(input_ids)
        past = cache.get_seq_length() if cache is not None else 0
        if position_ids is None:
            position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device) + past
            position_ids = position_ids.unsqueeze(0)
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        position_embeds = self.wpe(position_ids)
        hidden_states = inputs_embeds + position_embeds
        if token_type_ids is not None:
            hidden_states = hidden_states + self.wte(token_type_ids)
        hidden_states = self.drop(hidden_states)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for block in self.h:
            if wanted:
                kept = kept + (hidden_states,)
            outputs = self.layer_call(block, hidden_states, attention_mask=mask, cache=cache)
            hidden_states = outputs[0]
        hidden_states = self.ln_f(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class GPTNeoForCausalLM(CausalLMHead):
    model_class = GPTNeoModel


class GPTNeoForSequenceClassification(SequenceClassificationHead):
    model_class = GPTNeoModel


class GPTNeoForTokenClassification(TokenClassificationHead):
    model_class = GPTNeoModel


class GPTNeoForQuestionAnswering(QuestionAnsweringHead):
    model_class = GPTNeoModel
