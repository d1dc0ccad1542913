"""BART, mBART, Pegasus and Marian: encoder and decoder with post- or pre-norms, learned or fixed positions."""

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
    classification_loss,
    shift_right,
)


class LearnedPositions(nn.Embedding):
    """The first two positions are reserved."""

    def __init__(self, count, width):
        super().__init__(count + 2, width)

    def forward(self, position_ids):
        return super().forward(position_ids + 2)


class FixedPositions(nn.Embedding):
    def __init__(self, count, width):
        super().__init__(count, width)
        self.weight.requires_grad = False


class ScaledWords(nn.Embedding):
    def __init__(self, count, width, padding_idx, scale):
        super().__init__(count, width, padding_idx)
        self.scale = scale

    def forward(self, input_ids):
        return super().forward(input_ids) * self.scale


class BartAttention(nn.Module):
    def __init__(self, config, heads, layer_idx=None, causal=False):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.causal = causal
        self.head_dim = config.d_model // heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.d_model, config.d_model)
        self.v_proj = nn.Linear(config.d_model, config.d_model)
        self.q_proj = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)

    def forward(self, hidden_states, keys=None, cache=None, attention_mask=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        query = self.q_proj(hidden_states).view(batch, length, -1, self.head_dim).transpose(1, 2)
        crossing = keys is not None
        source = keys if crossing else hidden_states
        if crossing and cache is not None and cache.is_updated.get(self.layer_idx):
            key = cache.cross_attention_cache.layers[self.layer_idx].keys
            value = cache.cross_attention_cache.layers[self.layer_idx].values
        else:
            key = self.k_proj(source)
            value = self.v_proj(source)
            key = key.view(batch, source.shape[1], -1, self.head_dim).transpose(1, 2)
            value = value.view(batch, source.shape[1], -1, self.head_dim).transpose(1, 2)
            if cache is not None:
                if crossing:
                    key, value = cache.cross_attention_cache.update(key, value, self.layer_idx)
                    cache.is_updated[self.layer_idx] = True
                else:
                    key, value = cache.self_attention_cache.update(key, value, self.layer_idx)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, causal=self.causal)
        return self.out_proj(output.reshape(batch, length, -1))


class BartLayer(nn.Module):
    """The feed-forward half, and where the norms stand."""

    def __init__(self, config, width):
        super().__init__()
        self.config = config
        self.activation_fn = activation(config.activation_function)
        self.self_attn_layer_norm = nn.LayerNorm(config.d_model)
        self.fc1 = nn.Linear(config.d_model, width)
        self.fc2 = nn.Linear(width, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)

    def drop(self, hidden_states):
        return F.dropout(hidden_states, p=self.config.dropout, training=self.training)

    def feed_forward(self, hidden_states):
        residual = hidden_states
        if self.config.pre_norm:
            hidden_states = self.final_layer_norm(hidden_states)
        hidden_states = self.activation_fn(self.fc1(hidden_states))
        hidden_states = F.dropout(hidden_states, p=self.config.activation_dropout, training=self.training)
        hidden_states = self.drop(self.fc2(hidden_states))
        hidden_states = residual + hidden_states
        if not self.config.pre_norm:
            hidden_states = self.final_layer_norm(hidden_states)
        return hidden_states


class BartEncoderLayer(BartLayer):
    def __init__(self, config, layer_idx):
        super().__init__(config, config.encoder_ffn_dim)
        self.self_attn = BartAttention(config, config.encoder_attention_heads, layer_idx)

    def forward(self, hidden_states, attention_mask=None):
        residual = hidden_states
        if self.config.pre_norm:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.drop(self.self_attn(hidden_states, attention_mask=attention_mask))
        hidden_states = residual + hidden_states
        if not self.config.pre_norm:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        return self.feed_forward(hidden_states)


class BartDecoderLayer(BartLayer):
    def __init__(self, config, layer_idx):
        super().__init__(config, config.decoder_ffn_dim)
        self.self_attn = BartAttention(config, config.decoder_attention_heads, layer_idx, causal=True)
        self.encoder_attn = BartAttention(config, config.decoder_attention_heads, layer_idx)
        self.encoder_attn_layer_norm = nn.LayerNorm(config.d_model)

    def forward(self, hidden_states, attention_mask=None, encoder_hidden_states=None, encoder_attention_mask=None, cache=None):
        residual = hidden_states
        if self.config.pre_norm:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.drop(self.self_attn(hidden_states, cache=cache, attention_mask=attention_mask))
        hidden_states = residual + hidden_states
        if not self.config.pre_norm:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        if encoder_hidden_states is not None:
            residual = hidden_states
            if self.config.pre_norm:
                hidden_states = self.encoder_attn_layer_norm(hidden_states)
            hidden_states = self.drop(
                self.encoder_attn(hidden_states, encoder_hidden_states, cache=cache, attention_mask=encoder_attention_mask)
            )
            hidden_states = residual + hidden_states
            if not self.config.pre_norm:
                hidden_states = self.encoder_attn_layer_norm(hidden_states)
        return self.feed_forward(hidden_states)


class BartPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class BartStack(BartPreTrainedModel):
    """Words, positions, norms around the layers."""

    def __init__(self, config, shared):
        super().__init__(config)
        self.embed_tokens = shared
        positions = FixedPositions if config.fixed_positions else LearnedPositions
        self.embed_positions = positions(config.max_position_embeddings, config.d_model)
        self.layernorm_embedding = nn.LayerNorm(config.d_model) if config.embedding_norm else None
        self.layer_norm = nn.LayerNorm(config.d_model) if config.final_norm else None
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embed_tokens

    def start(self, inputs_embeds, past):
        length = inputs_embeds.shape[1]
        position_ids = torch.arange(past, past + length, device=inputs_embeds.device)
        positions = self.embed_positions(position_ids.unsqueeze(0))
        hidden_states = inputs_embeds + positions
        if self.layernorm_embedding is not None:
            hidden_states = self.layernorm_embedding(hidden_states)
        return F.dropout(hidden_states, p=self.config.dropout, training=self.training)

    def finish(self, hidden_states):
        return hidden_states if self.layer_norm is None else self.layer_norm(hidden_states)


class BartEncoder(BartStack):
    def __init__(self, config, shared):
        super().__init__(config, shared)
        self.layers = nn.ModuleList([BartEncoderLayer(config, index) for index in range(config.encoder_layers)])

    def forward(self, input_ids=None, attention_mask=None, inputs_embeds=None, **kwargs):
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        hidden_states = self.start(inputs_embeds, 0)
        mask = bidirectional_mask(self.config, inputs_embeds, attention_mask)
        for layer in self.layers:
            hidden_states = self.layer_call(layer, hidden_states, mask)
        return ModelOutput(last_hidden_state=self.finish(hidden_states))


class BartDecoder(BartStack):
    def __init__(self, config, shared):
        super().__init__(config, shared)
        self.layers = nn.ModuleList([BartDecoderLayer(config, index) for index in range(config.decoder_layers)])

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        past_key_values=None,
        inputs_embeds=None,
        use_cache=None,
        **kwargs,
    ):
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        cache = past_key_values
        if use_cache is None:
            use_cache = self.config.use_cache
        if self.gradient_checkpointing and self.training:
            use_cache = False
        if use_cache and cache is None:
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        past = cache.get_seq_length() if cache is not None else 0
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        cross_mask = None
        if encoder_hidden_states is not None:
            cross_mask = bidirectional_mask(self.config, inputs_embeds, encoder_attention_mask, encoder_hidden_states)
        hidden_states = self.start(inputs_embeds, past)
        for layer in self.layers:
            hidden_states = self.layer_call(layer, hidden_states, mask, encoder_hidden_states, cross_mask, cache=cache)
        return ModelOutput(last_hidden_state=self.finish(hidden_states), past_key_values=cache)


class BartModel(BartPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.shared = ScaledWords(config.vocab_size, config.d_model, config.pad_token_id, scale)
        self.encoder = BartEncoder(config, self.shared)
        self.decoder = BartDecoder(config, self.shared)

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
        if decoder_input_ids is None:
            decoder_input_ids = shift_right(input_ids, self.config.pad_token_id, self.config.decoder_start_token_id)
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


class BartForConditionalGeneration(BartPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = BartModel(config)
        self.register_buffer("final_logits_bias", torch.zeros((1, config.vocab_size)))
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.tie_weights()

    def forward(self, input_ids=None, attention_mask=None, decoder_input_ids=None, labels=None, use_cache=None, **kwargs):
        if labels is not None:
            use_cache = False
            if decoder_input_ids is None:
                decoder_input_ids = shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)
        outputs = self.model(input_ids, attention_mask, decoder_input_ids, use_cache=use_cache, **kwargs)
        logits = self.lm_head(outputs.last_hidden_state)
        logits = logits + self.final_logits_bias
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, self.config.vocab_size), labels.view(-1))
        return ModelOutput(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
        )


class BartClassificationHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.dropout = nn.Dropout(p=config.classifier_dropout)
        self.out_proj = nn.Linear(config.d_model, config.num_labels)

    def forward(self, hidden_states):
        hidden_states = self.dropout(hidden_states)
        hidden_states = torch.tanh(self.dense(hidden_states))
        return self.out_proj(self.dropout(hidden_states))


class BartForSequenceClassification(BartPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = BartModel(config)
        self.classification_head = BartClassificationHead(config)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, use_cache=False)
        logits = self.classification_head(outputs.last_hidden_state[:, -1, :])
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits)


class MBartModel(BartModel):
    pass


class MBartForConditionalGeneration(BartForConditionalGeneration):
    pass


class PegasusModel(BartModel):
    pass


class PegasusForConditionalGeneration(BartForConditionalGeneration):
    pass


class MarianModel(BartModel):
    pass


class MarianMTModel(BartForConditionalGeneration):
    pass
