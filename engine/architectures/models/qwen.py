"""The first Qwen (its own modelling code on the Hub): fused query-key-value projection, rotation and norms in float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, attend, causal_mask, keep_last


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return normed.type_as(x) * self.weight


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotate(x, cos, sin):
    wide = x.float()
    return ((wide * cos) + (rotate_half(wide) * sin)).type_as(x)


class QWenAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.num_heads = config.num_attention_heads
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.c_attn = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.c_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=not config.no_bias)
        self.attn_dropout = nn.Dropout(config.attn_dropout_prob)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.num_heads, self.head_dim)

    def forward(self, hidden_states, cos, sin, cache=None, attention_mask=None):
        query, key, value = self.c_attn(hidden_states).split(self.config.hidden_size, dim=2)
        query = rotate(self.heads(query), cos, sin).transpose(1, 2)
        key = rotate(self.heads(key), cos, sin).transpose(1, 2)
        value = self.heads(value).transpose(1, 2)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        output = attend(self.config, query, key, value, attention_mask, 0.0, self.head_dim**-0.5, softmax="cast")
        return self.c_proj(output.reshape(output.shape[0], output.shape[1], -1))


class QWenMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.intermediate_size // 2
        self.w1 = nn.Linear(config.hidden_size, width, bias=not config.no_bias)
        self.w2 = nn.Linear(config.hidden_size, width, bias=not config.no_bias)
        self.c_proj = nn.Linear(width, config.hidden_size, bias=not config.no_bias)

    def forward(self, hidden_states):
        a1 = self.w1(hidden_states)
        a2 = self.w2(hidden_states)
        return self.c_proj(a1 * F.silu(a2))


class QWenBlock(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.ln_1 = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.attn = QWenAttention(config, layer_idx)
        self.ln_2 = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.mlp = QWenMLP(config)

    def forward(self, hidden_states, cos, sin, cache=None, attention_mask=None):
        attended = self.attn(self.ln_1(hidden_states), cos, sin, cache, attention_mask)
        hidden_states = attended + hidden_states
        fed_forward = self.mlp(self.ln_2(hidden_states))
        return hidden_states + fed_forward


class QWenPreTrainedModel(PreTrainedModel):
    base_model_prefix = "transformer"


class QWenModel(QWenPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        self.drop = nn.Dropout(config.emb_dropout_prob)
        self.h = nn.ModuleList([QWenBlock(config, index) for index in range(config.num_hidden_layers)])
        self.ln_f = RMSNorm(config.hidden_size, config.layer_norm_epsilon)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.wte

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, inputs_embeds=None, use_cache=None, **kwargs):
        cache = self.new_cache(past_key_values, use_cache)
        if inputs_embeds is None:
            inputs_embeds = self.wte(input_ids)
        past = cache.get_seq_length() if cache is not None else 0
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        dim = self.config.hidden_size // self.config.num_attention_heads
        device = inputs_embeds.device
        frequencies = 1.0 / (10000.0 ** (torch.arange(0, dim, 2, device=device).float() / dim))
        angles = torch.outer(torch.arange(past, past + inputs_embeds.shape[1], device=device).float(), frequencies)
        angles = torch.cat((angles, angles), dim=-1)[None, :, None, :]
        cos = angles.cos()
        sin = angles.sin()
        hidden_states = self.drop(inputs_embeds)
        for block in self.h:
            hidden_states = self.layer_call(block, hidden_states, cos, sin, cache=cache, attention_mask=mask)
        return ModelOutput(last_hidden_state=self.ln_f(hidden_states), past_key_values=cache)


class QWenLMHeadModel(QWenPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.transformer = QWenModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids=None, attention_mask=None, labels=None, logits_to_keep=0, **kwargs):
        outputs = self.transformer(input_ids, attention_mask, **kwargs)
        logits = self.lm_head(keep_last(outputs.last_hidden_state, logits_to_keep))
        loss = None
        if labels is not None:
            shifted = logits[..., :-1, :].contiguous()
            targets = labels[..., 1:].contiguous()
            loss = F.cross_entropy(shifted.view(-1, shifted.size(-1)), targets.view(-1))
        return ModelOutput(loss=loss, logits=logits, past_key_values=outputs.past_key_values)
