"""Whisper: convolutions over mel frames, pre-norm encoder and decoder."""

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
    causal_mask,
    classification_loss,
    shift_right,
)


class WhisperAttention(nn.Module):
    def __init__(self, config, heads, layer_idx=None, causal=False):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.causal = causal
        self.head_dim = config.d_model // heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.d_model, config.d_model, bias=False)
        self.v_proj = nn.Linear(config.d_model, config.d_model)
        self.q_proj = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)

    def forward(self, hidden_states, keys=None, cache=None, attention_mask=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        query = (self.q_proj(hidden_states) * self.scaling).view(batch, length, -1, self.head_dim).transpose(1, 2).contiguous()
        crossing = keys is not None
        source = keys if crossing else hidden_states
        if crossing and cache is not None and cache.is_updated.get(self.layer_idx):
            key = cache.cross_attention_cache.layers[self.layer_idx].keys
            value = cache.cross_attention_cache.layers[self.layer_idx].values
        else:
            key = self.k_proj(source).view(batch, -1, query.shape[1], self.head_dim).transpose(1, 2).contiguous()
            value = self.v_proj(source).view(batch, -1, query.shape[1], self.head_dim).transpose(1, 2).contiguous()
            if cache is not None:
                if crossing:
                    key, value = cache.cross_attention_cache.update(key, value, self.layer_idx)
                    cache.is_updated[self.layer_idx] = True
                else:
                    key, value = cache.self_attention_cache.update(key, value, self.layer_idx)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, 1.0, causal=self.causal)
        return self.out_proj(output.reshape(batch, length, -1))


class WhisperLayer(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.config = config
        self.self_attn_layer_norm = nn.LayerNorm(config.d_model)
        self.activation_fn = activation(config.activation_function)
        self.fc1 = nn.Linear(config.d_model, width)
        self.fc2 = nn.Linear(width, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)

    def drop(self, hidden_states):
        return F.dropout(hidden_states, p=self.config.dropout, training=self.training)

    def feed_forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.final_layer_norm(hidden_states)
        hidden_states = self.activation_fn(self.fc1(hidden_states))
        hidden_states = F.dropout(hidden_states, p=self.config.activation_dropout, training=self.training)
        hidden_states = self.drop(self.fc2(hidden_states))
        return residual + hidden_states


class WhisperEncoderLayer(WhisperLayer):
    def __init__(self, config):
        super().__init__(config, config.encoder_ffn_dim)
        self.self_attn = WhisperAttention(config, config.encoder_attention_heads)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.drop(self.self_attn(hidden_states))
        hidden_states = residual + hidden_states
        hidden_states = self.feed_forward(hidden_states)
        if hidden_states.dtype == torch.float16:
            limit = torch.finfo(hidden_states.dtype).max - 1000
            hidden_states = torch.clamp(hidden_states, min=-limit, max=limit)
        return hidden_states


class WhisperDecoderLayer(WhisperLayer):
    def __init__(self, config, layer_idx):
        super().__init__(config, config.decoder_ffn_dim)
        self.self_attn = WhisperAttention(config, config.decoder_attention_heads, layer_idx, causal=True)
        self.encoder_attn = WhisperAttention(config, config.decoder_attention_heads, layer_idx)
        self.encoder_attn_layer_norm = nn.LayerNorm(config.d_model)

    def forward(self, hidden_states, attention_mask=None, encoder_hidden_states=None, cache=None):
        residual = hidden_states
        hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.drop(self.self_attn(hidden_states, cache=cache, attention_mask=attention_mask))
        hidden_states = residual + hidden_states
        if encoder_hidden_states is not None:
            residual = hidden_states
            hidden_states = self.encoder_attn_layer_norm(hidden_states)
            hidden_states = self.drop(self.encoder_attn(hidden_states, encoder_hidden_states, cache=cache))
            hidden_states = residual + hidden_states
        return self.feed_forward(hidden_states)


class WhisperPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class WhisperEncoder(WhisperPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.conv1 = nn.Conv1d(config.num_mel_bins, config.d_model, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(config.d_model, config.d_model, kernel_size=3, stride=2, padding=1)
        self.embed_positions = nn.Embedding(config.max_source_positions, config.d_model)
        self.embed_positions.requires_grad_(False)
        self.layers = nn.ModuleList([WhisperEncoderLayer(config) for _ in range(config.encoder_layers)])
        self.layer_norm = nn.LayerNorm(config.d_model)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.conv1

    def forward(self, input_features=None, **kwargs):
        inputs_embeds = F.gelu(self.conv1(input_features))
        inputs_embeds = F.gelu(self.conv2(inputs_embeds))
        inputs_embeds = inputs_embeds.permute(0, 2, 1)
        positions = torch.arange(self.embed_positions.num_embeddings, device=inputs_embeds.device)
        hidden_states = inputs_embeds + self.embed_positions(positions)
        hidden_states = F.dropout(hidden_states, p=self.config.dropout, training=self.training)
        for layer in self.layers:
            hidden_states = self.layer_call(layer, hidden_states)
        return ModelOutput(last_hidden_state=self.layer_norm(hidden_states))


class WhisperDecoder(WhisperPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.d_model, config.pad_token_id)
        self.embed_positions = nn.Embedding(config.max_target_positions, config.d_model)
        self.layers = nn.ModuleList([WhisperDecoderLayer(config, index) for index in range(config.decoder_layers)])
        self.layer_norm = nn.LayerNorm(config.d_model)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        encoder_hidden_states=None,
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
        position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device) + past
        position_ids = position_ids.unsqueeze(0).repeat(inputs_embeds.shape[0], 1)
        positions = self.embed_positions.weight[position_ids]
        hidden_states = inputs_embeds + positions
        hidden_states = F.dropout(hidden_states, p=self.config.dropout, training=self.training)
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        for layer in self.layers:
            hidden_states = self.layer_call(layer, hidden_states, mask, encoder_hidden_states, cache=cache)
        return ModelOutput(last_hidden_state=self.layer_norm(hidden_states), past_key_values=cache)


class WhisperModel(WhisperPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.encoder = WhisperEncoder(config)
        self.decoder = WhisperDecoder(config)

    def get_input_embeddings(self):
        return self.decoder.embed_tokens

    def freeze_encoder(self):
        for parameter in self.encoder.parameters():
            parameter.requires_grad = False

    def forward(
        self,
        input_features=None,
        attention_mask=None,
        decoder_input_ids=None,
        decoder_attention_mask=None,
        encoder_outputs=None,
        past_key_values=None,
        use_cache=None,
        **kwargs,
    ):
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_features)
        encoded = encoder_outputs[0]
        outputs = self.decoder(
            decoder_input_ids, decoder_attention_mask, encoded, past_key_values=past_key_values, use_cache=use_cache
        )
        return ModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            encoder_last_hidden_state=encoded,
        )


class WhisperForConditionalGeneration(WhisperPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = WhisperModel(config)
        self.proj_out = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.proj_out

    def get_encoder(self):
        return self.model.encoder

    def freeze_encoder(self):
        self.model.freeze_encoder()

    def forward(self, input_features=None, attention_mask=None, decoder_input_ids=None, labels=None, **kwargs):
        if labels is not None and decoder_input_ids is None:
            decoder_input_ids = shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)
        outputs = self.model(input_features, attention_mask, decoder_input_ids, **kwargs)
        logits = self.proj_out(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, self.config.vocab_size), labels.reshape(-1))
        return ModelOutput(
            loss=loss,
            logits=logits,
            past_key_values=outputs.past_key_values,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
        )


class WhisperForAudioClassification(WhisperPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.encoder = WhisperEncoder(config)
        self.projector = nn.Linear(config.d_model, config.classifier_proj_size)
        self.classifier = nn.Linear(config.classifier_proj_size, config.num_labels)

    def forward(self, input_features=None, labels=None, **kwargs):
        hidden_states = self.encoder(input_features).last_hidden_state
        hidden_states = self.projector(hidden_states)
        logits = self.classifier(hidden_states.mean(dim=1))
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits)
