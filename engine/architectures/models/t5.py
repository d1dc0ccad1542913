"""T5, T5 1.1, mT5, Flan-T5: relative position biases made once a stack, norms without mean or bias."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import (
    DynamicCache,
    EncoderDecoderCache,
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    bidirectional_mask,
    causal_mask,
    shift_right,
)


class T5LayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        if self.weight.dtype == torch.float16 or self.weight.dtype == torch.bfloat16:
            hidden_states = hidden_states.to(self.weight.dtype)
        return self.weight * hidden_states


class T5DenseActDense(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wi = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.wo = nn.Linear(config.d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.act = activation(activation_name(config))

    def forward(self, hidden_states):
        hidden_states = self.wi(hidden_states)
        hidden_states = self.act(hidden_states)
        hidden_states = self.dropout(hidden_states)
        hidden_states = hidden_states.to(self.wo.weight.dtype)
        return self.wo(hidden_states)


class T5DenseGatedActDense(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wi_0 = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.wi_1 = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.wo = nn.Linear(config.d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.act = activation(activation_name(config))

    def forward(self, hidden_states):
        gate = self.act(self.wi_0(hidden_states))
        linear = self.wi_1(hidden_states)
        hidden_states = gate * linear
        hidden_states = self.dropout(hidden_states)
        hidden_states = hidden_states.to(self.wo.weight.dtype)
        return self.wo(hidden_states)


def gated(config):
    return config.feed_forward_proj.startswith("gated")


def activation_name(config):
    name = config.feed_forward_proj.split("-")[-1]
    return "gelu_new" if config.feed_forward_proj == "gated-gelu" else name


class T5LayerFF(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.DenseReluDense = T5DenseGatedActDense(config) if gated(config) else T5DenseActDense(config)
        self.layer_norm = T5LayerNorm(config.d_model, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)

    def forward(self, hidden_states):
        forwarded = self.layer_norm(hidden_states)
        forwarded = self.DenseReluDense(forwarded)
        return hidden_states + self.dropout(forwarded)


class T5Attention(nn.Module):
    def __init__(self, config, has_bias, layer_idx, is_decoder, causal):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.is_decoder = is_decoder
        self.causal = causal
        self.has_bias = has_bias
        self.buckets = config.relative_attention_num_buckets
        self.distance = config.relative_attention_max_distance
        self.key_value_proj_dim = config.d_kv
        self.n_heads = config.num_heads
        inner = config.num_heads * config.d_kv
        self.q = nn.Linear(config.d_model, inner, bias=False)
        self.k = nn.Linear(config.d_model, inner, bias=False)
        self.v = nn.Linear(config.d_model, inner, bias=False)
        self.o = nn.Linear(inner, config.d_model, bias=False)
        if has_bias:
            self.relative_attention_bias = nn.Embedding(self.buckets, self.n_heads)

    def bucket(self, relative):
        buckets = self.buckets
        result = 0
        if not self.is_decoder:
            buckets = buckets // 2
            result = (relative > 0).to(torch.long) * buckets
            relative = torch.abs(relative)
        else:
            relative = -torch.min(relative, torch.zeros_like(relative))
        exact = buckets // 2
        small = relative < exact
        large = exact + (
            torch.log(relative.float() / exact) / math.log(self.distance / exact) * (buckets - exact)
        ).to(torch.long)
        large = torch.min(large, torch.full_like(large, buckets - 1))
        return result + torch.where(small, relative, large)

    def compute_bias(self, query_length, key_length, device, past):
        rows = torch.arange(query_length, dtype=torch.long, device=device)[:, None] + past
        columns = torch.arange(key_length, dtype=torch.long, device=device)[None, :]
        values = self.relative_attention_bias(self.bucket(columns - rows))
        return values.permute([2, 0, 1]).unsqueeze(0)

    def forward(self, hidden_states, mask=None, keys=None, position_bias=None, cache=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        past = cache.get_seq_length(self.layer_idx) if cache is not None else 0
        query = self.q(hidden_states).view(batch, length, -1, self.key_value_proj_dim).transpose(1, 2)
        crossing = keys is not None
        source = keys if crossing else hidden_states
        if crossing and cache is not None and cache.is_updated.get(self.layer_idx):
            key = cache.cross_attention_cache.layers[self.layer_idx].keys
            value = cache.cross_attention_cache.layers[self.layer_idx].values
        else:
            key = self.k(source).view(batch, source.shape[1], -1, self.key_value_proj_dim).transpose(1, 2)
            value = self.v(source).view(batch, source.shape[1], -1, self.key_value_proj_dim).transpose(1, 2)
            if cache is not None:
                if crossing:
                    key, value = cache.cross_attention_cache.update(key, value, self.layer_idx)
                    cache.is_updated[self.layer_idx] = True
                else:
                    key, value = cache.self_attention_cache.update(key, value, self.layer_idx)
        if position_bias is None:
            if self.has_bias:
                position_bias = self.compute_bias(length, key.shape[2], query.device, past)
            else:
                position_bias = torch.zeros((1, self.n_heads, length, key.shape[2]), device=query.device, dtype=query.dtype)
        dropout = self.config.dropout_rate if self.training else 0.0
        output = attend(
            self.config, query, key, value, mask, dropout, 1.0, causal=self.causal, position_bias=position_bias
        )
        return self.o(output.reshape(batch, length, -1)), position_bias


class T5LayerSelfAttention(nn.Module):
    def __init__(self, config, has_bias, layer_idx, is_decoder):
        super().__init__()
        self.SelfAttention = T5Attention(config, has_bias, layer_idx, is_decoder, is_decoder)
        self.layer_norm = T5LayerNorm(config.d_model, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)

    def forward(self, hidden_states, mask, position_bias, cache):
        normed = self.layer_norm(hidden_states)
        output, position_bias = self.SelfAttention(normed, mask, None, position_bias, cache)
        return hidden_states + self.dropout(output), position_bias


class T5LayerCrossAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.EncDecAttention = T5Attention(config, False, layer_idx, True, False)
        self.layer_norm = T5LayerNorm(config.d_model, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)

    def forward(self, hidden_states, keys, mask, position_bias, cache):
        normed = self.layer_norm(hidden_states)
        output, position_bias = self.EncDecAttention(normed, mask, keys, position_bias, cache)
        return hidden_states + self.dropout(output), position_bias


def clamped(hidden_states):
    if hidden_states.dtype == torch.float16:
        highest = torch.finfo(hidden_states.dtype).max
        limit = torch.where(torch.isinf(hidden_states).any(), highest - 1000, highest)
        hidden_states = torch.clamp(hidden_states, min=-limit, max=limit)
    return hidden_states


class T5Block(nn.Module):
    def __init__(self, config, has_bias, layer_idx, is_decoder):
        super().__init__()
        self.is_decoder = is_decoder
        layers = [T5LayerSelfAttention(config, has_bias, layer_idx, is_decoder)]
        if is_decoder:
            layers.append(T5LayerCrossAttention(config, layer_idx))
        layers.append(T5LayerFF(config))
        self.layer = nn.ModuleList(layers)

    def forward(
        self,
        hidden_states,
        attention_mask=None,
        position_bias=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        cross_bias=None,
        cache=None,
    ):
        hidden_states, position_bias = self.layer[0](hidden_states, attention_mask, position_bias, cache)
        hidden_states = clamped(hidden_states)
        if self.is_decoder and encoder_hidden_states is not None:
            hidden_states, cross_bias = self.layer[1](
                hidden_states, encoder_hidden_states, encoder_attention_mask, cross_bias, cache
            )
            hidden_states = clamped(hidden_states)
        hidden_states = clamped(self.layer[-1](hidden_states))
        return hidden_states, position_bias, cross_bias


class T5PreTrainedModel(PreTrainedModel):
    pass


class T5Stack(T5PreTrainedModel):
    def __init__(self, config, shared, is_decoder):
        super().__init__(config)
        self.embed_tokens = shared
        self.is_decoder = is_decoder
        count = config.num_layers
        if is_decoder and config.num_decoder_layers is not None:
            count = config.num_decoder_layers
        self.block = nn.ModuleList([T5Block(config, index == 0, index, is_decoder) for index in range(count)])
        self.final_layer_norm = T5LayerNorm(config.d_model, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        inputs_embeds=None,
        past_key_values=None,
        use_cache=None,
        output_hidden_states=None,
        **kwargs,
    ):
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        cache = None
        cross_mask = None
        if self.is_decoder:
            cache = past_key_values
            if use_cache is None:
                use_cache = self.config.use_cache
            if self.gradient_checkpointing and self.training:
                use_cache = False
            if use_cache and cache is None:
                cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            past = cache.get_seq_length() if cache is not None else 0
            mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
            if encoder_hidden_states is not None:
                cross_mask = bidirectional_mask(self.config, inputs_embeds, encoder_attention_mask, encoder_hidden_states)
        else:
            mask = bidirectional_mask(self.config, inputs_embeds, attention_mask)
        position_bias = None
        cross_bias = None
        hidden_states = self.dropout(inputs_embeds)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for block in self.block:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states, position_bias, cross_bias = self.layer_call(
                block, hidden_states, mask, position_bias, encoder_hidden_states, cross_mask, cross_bias, cache=cache
            )
        hidden_states = self.final_layer_norm(hidden_states)
        hidden_states = self.dropout(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class T5Model(T5PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config, self.shared, False)
        self.decoder = T5Stack(config, self.shared, True)

    def get_input_embeddings(self):
        return self.shared

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        decoder_input_ids=None,
        decoder_attention_mask=None,
        encoder_outputs=None,
        past_key_values=None,
        use_cache=None,
        **kwargs,
    ):
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        encoded = encoder_outputs[0]
        outputs = self.decoder(
            decoder_input_ids, decoder_attention_mask, encoded, attention_mask, past_key_values=past_key_values, use_cache=use_cache
        )
        return ModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            encoder_last_hidden_state=encoded,
        )


class T5ForConditionalGeneration(T5PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model_dim = config.d_model
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config, self.shared, False)
        self.decoder = T5Stack(config, self.shared, True)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.tie_weights()

    def get_input_embeddings(self):
        return self.shared

    def get_encoder(self):
        return self.encoder

    def get_decoder(self):
        return self.decoder

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        decoder_input_ids=None,
        decoder_attention_mask=None,
        encoder_outputs=None,
        past_key_values=None,
        labels=None,
        use_cache=None,
        **kwargs,
    ):
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        encoded = encoder_outputs[0]
        if labels is not None and decoder_input_ids is None:
            decoder_input_ids = shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)
        outputs = self.decoder(
            decoder_input_ids, decoder_attention_mask, encoded, attention_mask, past_key_values=past_key_values, use_cache=use_cache
        )
        output = outputs.last_hidden_state
        if scales_outputs(self.config):
            output = output * (self.model_dim**-0.5)
        logits = self.lm_head(output)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100)
        return ModelOutput(
            loss=loss, logits=logits, past_key_values=outputs.past_key_values, encoder_last_hidden_state=encoded
        )


def scales_outputs(config):
    scales = getattr(config, "scale_decoder_outputs", None)
    return config.tie_word_embeddings if scales is None else scales


class T5EncoderModel(T5PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config, self.shared, False)

    def get_input_embeddings(self):
        return self.shared

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None, **kwargs):
        return self.encoder(input_ids, attention_mask, inputs_embeds=inputs_embeds)


class MT5Model(T5Model):
    pass


class MT5ForConditionalGeneration(T5ForConditionalGeneration):
    pass


class MT5EncoderModel(T5EncoderModel):
    pass
