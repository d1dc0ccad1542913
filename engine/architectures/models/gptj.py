"""GPT-J: attention and feed-forward side by side on one norm; pairs of neighbouring dimensions are rotated."""

import torch
import torch.nn as nn

from engine.architectures.models.decoder_heads import CausalLMHead, QuestionAnsweringHead, SequenceClassificationHead
from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, attend, causal_mask


class GPTJRotaryEmbedding(nn.Module):
    """A table of sines and cosines, one row a position."""

    def __init__(self, config):
        super().__init__()
        width = config.rotary_dim if config.rotary_dim else config.n_embd
        table = torch.zeros(config.n_positions, width // 2 * 2)
        self.register_buffer("embed_positions", table, persistent=False)

    def forward(self, x, position_ids):
        both = self.embed_positions[position_ids].to(x.dtype)
        return torch.split(both, both.shape[-1] // 2, dim=-1)


def rotate_pairs(x):
    even = x[:, :, :, ::2]
    odd = x[:, :, :, 1::2]
    return torch.stack((-odd, even), dim=-1).flatten(-2)


def rotate(x, sin, cos):
    sin = torch.repeat_interleave(sin[:, :, None, :], 2, 3)
    cos = torch.repeat_interleave(cos[:, :, None, :], 2, 3)
    return (x * cos) + (rotate_pairs(x) * sin)


class GPTJAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = config.n_embd // config.n_head
        self.rotary_dim = config.rotary_dim
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.v_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.q_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.out_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def turn(self, x, sin, cos):
        if self.rotary_dim is None:
            return rotate(x, sin, cos)
        rotated = rotate(x[:, :, :, : self.rotary_dim], sin, cos)
        return torch.cat([rotated, x[:, :, :, self.rotary_dim :]], dim=-1)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape)
        key = self.k_proj(hidden_states).view(shape)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        sin, cos = position_embeddings
        key = self.turn(key, sin, cos).transpose(1, 2)
        query = self.turn(query, sin, cos).transpose(1, 2)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        if self.config._attn_implementation == "eager":
            query = query.to(torch.float32)
            key = key.to(torch.float32)
        dropout = self.config.attn_pdrop if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, softmax="cast")
        output = output.reshape(output.shape[0], output.shape[1], -1)
        return self.resid_dropout(self.out_proj(output))


class GPTJMLP(nn.Module):
    def __init__(self, intermediate_size, config):
        super().__init__()
        self.fc_in = nn.Linear(config.n_embd, intermediate_size)
        self.fc_out = nn.Linear(intermediate_size, config.n_embd)
        self.act = activation(config.activation_function)
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, hidden_states):
        hidden_states = self.fc_in(hidden_states)
        hidden_states = self.act(hidden_states)
        hidden_states = self.fc_out(hidden_states)
        return self.dropout(hidden_states)


class GPTJBlock(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = GPTJAttention(config, layer_idx)
        self.mlp = GPTJMLP(config.n_inner if config.n_inner is not None else 4 * config.n_embd, config)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.ln_1(hidden_states)
        attended = self.attn(hidden_states, attention_mask, cache, position_embeddings)
        fed_forward = self.mlp(hidden_states)
        return attended + fed_forward + residual


class GPTJPreTrainedModel(PreTrainedModel):
    base_model_prefix = "transformer"


class GPTJModel(GPTJPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList([GPTJBlock(config, i) for i in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.rotary_emb = GPTJRotaryEmbedding(config)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.wte

    def forward(
        self,
        input_ids=None,
        past_key_values=None,
        attention_mask=None,
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
        hidden_states = self.drop(inputs_embeds)
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for block in self.h:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(
                block, hidden_states, attention_mask=mask, cache=cache, position_embeddings=position_embeddings
            )
        hidden_states = self.ln_f(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class GPTJForCausalLM(CausalLMHead):
    model_class = GPTJModel
    head_bias = True


class GPTJForSequenceClassification(SequenceClassificationHead):
    model_class = GPTJModel


class GPTJForQuestionAnswering(QuestionAnsweringHead):
    model_class = GPTJModel
