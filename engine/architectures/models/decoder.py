"""The decoder that Llama and its relatives share: rotary positions, RMS norms, gated feed-forward, grouped keys and values.

A family says what it does otherwise: in class attributes, or in methods of its own file.
"""

import torch
import torch.nn as nn

from engine.architectures.models.decoder_heads import (
    CausalLMHead,
    QuestionAnsweringHead,
    SequenceClassificationHead,
    TokenClassificationHead,
)
from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, attend, causal_mask


class RMSNorm(nn.Module):
    """Computed in float32, cast back before the weight."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class Float32RMSNorm(RMSNorm):
    """The weight is applied before casting back."""

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return (self.weight * hidden_states).to(input_dtype)


class OffsetRMSNorm(nn.Module):
    """Gemma's: the weight is stored minus one and applied in float32."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(hidden_size))

    def normalise(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self.normalise(x.float())
        output = output * (1.0 + self.weight.float())
        return output.type_as(x)


def rotary_width(config, head_dim):
    """How many of a head's dimensions are rotated."""
    return int(head_dim * getattr(config, "partial_rotary_factor", 1.0))


class RotaryEmbedding(nn.Module):
    """Cosines and sines in the dtype of the hidden states."""

    def __init__(self, config, head_dim=None):
        super().__init__()
        if head_dim is None:
            head_dim = head_size(config)
        dim = rotary_width(config, head_dim)
        inv_freq = 1.0 / (10000.0 ** (torch.arange(0, dim, 2, dtype=torch.float) / dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.register_buffer("original_inv_freq", inv_freq.clone(), persistent=False)

    def forward(self, x, position_ids):
        freqs = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos = emb.cos() * 1.0
        sin = emb.sin() * 1.0
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def rotate(q, k, cos, sin):
    cos = cos.unsqueeze(1)
    sin = sin.unsqueeze(1)
    q_embed = (q * cos) + (rotate_half(q) * sin)
    k_embed = (k * cos) + (rotate_half(k) * sin)
    return q_embed, k_embed


def rotate_part(q, k, cos, sin):
    """Only the first dimensions of a head are rotated; the rest is concatenated back."""
    width = cos.shape[-1]
    q_rot, k_rot = rotate(q[..., :width], k[..., :width], cos, sin)
    return torch.cat((q_rot, q[..., width:]), dim=-1), torch.cat((k_rot, k[..., width:]), dim=-1)


def head_size(config):
    head_dim = getattr(config, "head_dim", None)
    return head_dim if head_dim is not None else config.hidden_size // config.num_attention_heads


def layer_window(config, layer_idx):
    """The sliding window of one layer, None where it attends to everything."""
    window = getattr(config, "sliding_window", None)
    if window is None or not getattr(config, "use_sliding_window", True):
        return None
    layer_types = getattr(config, "layer_types", None)
    if layer_types is not None:
        return window if layer_types[layer_idx] == "sliding_attention" else None
    pattern = getattr(config, "sliding_window_pattern", None)
    if pattern is not None:
        return window if (layer_idx + 1) % pattern else None
    return window


class DecoderAttention(nn.Module):
    qkv_bias = None
    output_bias = None
    head_norm = None
    """A norm class over each head's dimensions, applied to queries and keys; None for none."""
    partial_rotary = False

    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = head_size(config)
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        scalar = getattr(config, "query_pre_attn_scalar", None)
        self.scaling = (self.head_dim if scalar is None else scalar) ** -0.5
        self.attention_dropout = config.attention_dropout
        self.softcap = getattr(config, "attn_logit_softcapping", None)
        self.build(config)

    def build(self, config):
        qkv_bias = self.qkv_bias if self.qkv_bias is not None else config.attention_bias
        output_bias = self.output_bias if self.output_bias is not None else config.attention_bias
        width = config.num_attention_heads * self.head_dim
        key_width = config.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden_size, width, bias=qkv_bias)
        self.k_proj = nn.Linear(config.hidden_size, key_width, bias=qkv_bias)
        self.v_proj = nn.Linear(config.hidden_size, key_width, bias=qkv_bias)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=output_bias)
        if self.head_norm is not None:
            self.q_norm = self.head_norm(self.head_dim, config.rms_norm_eps)
            self.k_norm = self.head_norm(self.head_dim, config.rms_norm_eps)

    def project(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape)
        key = self.k_proj(hidden_states).view(shape)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        if self.head_norm is not None:
            query = self.q_norm(query)
            key = self.k_norm(key)
        return query.transpose(1, 2), key.transpose(1, 2), value

    def turn(self, query, key, position_embeddings):
        cos, sin = position_embeddings
        if self.partial_rotary:
            return rotate_part(query, key, cos, sin)
        return rotate(query, key, cos, sin)

    def mix(self, query, key, value, attention_mask, cache):
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        dropout = self.attention_dropout if self.training else 0.0
        return attend(
            self.config,
            query,
            key,
            value,
            attention_mask,
            dropout,
            self.scaling,
            groups=self.num_key_value_groups,
            softmax="float32",
            softcap=self.softcap,
        )

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        query, key, value = self.project(hidden_states)
        query, key = self.turn(query, key, position_embeddings)
        output = self.mix(query, key, value, attention_mask, cache)
        return self.o_proj(output.reshape(output.shape[0], output.shape[1], -1))


class DecoderMLP(nn.Module):
    bias = None

    def __init__(self, config):
        super().__init__()
        name = getattr(config, "hidden_activation", None)
        self.act_fn = activation(name if name is not None else config.hidden_act)
        self.build(config)

    def build(self, config):
        bias = self.bias if self.bias is not None else getattr(config, "mlp_bias", False)
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=bias)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=bias)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=bias)

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    attention_class = DecoderAttention
    mlp_class = DecoderMLP
    norm_class = RMSNorm

    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = self.attention_class(config, layer_idx)
        self.mlp = self.mlp_class(config)
        self.input_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class SandwichLayer(nn.Module):
    """Norms before and after both halves, as in Gemma 2 and 3."""

    attention_class = DecoderAttention
    mlp_class = DecoderMLP
    norm_class = OffsetRMSNorm

    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = self.attention_class(config, layer_idx)
        self.mlp = self.mlp_class(config)
        self.input_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)
        self.pre_feedforward_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)
        self.post_feedforward_layernorm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden_states, attention_mask=None, cache=None, position_embeddings=None):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, attention_mask, cache, position_embeddings)
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.pre_feedforward_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        return residual + hidden_states


class ScaledEmbedding(nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, embed_scale=1.0):
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.register_buffer("embed_scale", torch.tensor(embed_scale), persistent=False)

    def forward(self, input_ids):
        return super().forward(input_ids) * self.embed_scale.to(self.weight.dtype)


class DecoderPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class DecoderModel(DecoderPreTrainedModel):
    layer_class = DecoderLayer
    norm_class = RMSNorm
    scaled_embedding = False

    def __init__(self, config):
        super().__init__(config)
        self.embeddings(config)
        self.layers = nn.ModuleList([self.layer_class(config, i) for i in range(config.num_hidden_layers)])
        self.build(config)
        self.rotary_emb = RotaryEmbedding(config)
        self.gradient_checkpointing = False

    def embeddings(self, config):
        if self.scaled_embedding:
            self.embed_tokens = ScaledEmbedding(
                config.vocab_size, config.hidden_size, config.pad_token_id, embed_scale=config.hidden_size**0.5
            )
        else:
            self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)

    def build(self, config):
        self.norm = self.norm_class(config.hidden_size, eps=config.rms_norm_eps)

    def finish(self, hidden_states):
        return self.norm(hidden_states)

    def get_input_embeddings(self):
        return self.embed_tokens

    def prepare(self, inputs_embeds):
        """What happens between the embeddings and the first layer."""
        return inputs_embeds

    def masks(self, inputs_embeds, attention_mask, past):
        """The mask of each layer; layers with the same window share one."""
        made = {}
        for index in range(len(self.layers)):
            window = layer_window(self.config, index)
            if window not in made:
                made[window] = causal_mask(self.config, inputs_embeds, attention_mask, past, window)
        return made

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        inputs_embeds=None,
        use_cache=None,
        output_hidden_states=None,
        **kwargs,
    ):
        cache = self.new_cache(past_key_values, use_cache)
        if inputs_embeds is None:
            inputs_embeds = self.get_input_embeddings()(input_ids)
        past = cache.get_seq_length() if cache is not None else 0
        if position_ids is None:
            position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device) + past
            position_ids = position_ids.unsqueeze(0)
        masks = self.masks(inputs_embeds, attention_mask, past)
        inputs_embeds = self.prepare(inputs_embeds)
        hidden_states = inputs_embeds
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for index, layer in enumerate(self.layers):
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(
                layer,
                hidden_states,
                attention_mask=masks[layer_window(self.config, index)],
                cache=cache,
                position_embeddings=position_embeddings,
            )
        hidden_states = self.finish(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class DecoderForCausalLM(CausalLMHead):
    base_model_prefix = "model"
    model_class = DecoderModel


class DecoderForSequenceClassification(SequenceClassificationHead):
    base_model_prefix = "model"
    model_class = DecoderModel


class DecoderForTokenClassification(TokenClassificationHead):
    base_model_prefix = "model"
    head_name = "score"
    model_class = DecoderModel


class DecoderForQuestionAnswering(QuestionAnsweringHead):
    model_class = DecoderModel
