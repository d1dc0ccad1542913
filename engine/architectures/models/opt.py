"""OPT: learned positions counted from the attention mask, pre- or post-norm."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    causal_lm_loss,
    causal_mask,
    classification_loss,
    keep_last,
    last_token_logits,
)


class OPTAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.enable_bias)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.enable_bias)
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.enable_bias)
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.enable_bias)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], -1, self.head_dim).transpose(1, 2)

    def forward(self, hidden_states, cache=None, attention_mask=None):
        query = self.heads(self.q_proj(hidden_states) * self.scaling)
        key = self.k_proj(hidden_states)
        value = self.v_proj(hidden_states)
        key = self.heads(key)
        value = self.heads(value)
        if cache is not None:
            key, value = cache.update(key, value, self.layer_idx)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, 1.0, softmax="float32")
        return self.out_proj(output.reshape(output.shape[0], output.shape[1], -1))


class OPTDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = OPTAttention(config, layer_idx)
        self.before = config.do_layer_norm_before
        self.rate = config.dropout
        self.activation_fn = activation(config.activation_function)
        self.self_attn_layer_norm = nn.LayerNorm(config.hidden_size, elementwise_affine=config.layer_norm_elementwise_affine)
        self.fc1 = nn.Linear(config.hidden_size, config.ffn_dim, bias=config.enable_bias)
        self.fc2 = nn.Linear(config.ffn_dim, config.hidden_size, bias=config.enable_bias)
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, elementwise_affine=config.layer_norm_elementwise_affine)

    def forward(self, hidden_states, attention_mask=None, cache=None):
        residual = hidden_states
        if self.before:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        hidden_states = self.self_attn(hidden_states, cache, attention_mask)
        hidden_states = F.dropout(hidden_states, p=self.rate, training=self.training)
        hidden_states = residual + hidden_states
        if not self.before:
            hidden_states = self.self_attn_layer_norm(hidden_states)
        shape = hidden_states.shape
        hidden_states = hidden_states.reshape(-1, hidden_states.size(-1))
        residual = hidden_states
        if self.before:
            hidden_states = self.final_layer_norm(hidden_states)
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        hidden_states = self.fc2(hidden_states)
        hidden_states = F.dropout(hidden_states, p=self.rate, training=self.training)
        hidden_states = (residual + hidden_states).view(shape)
        if not self.before:
            hidden_states = self.final_layer_norm(hidden_states)
        return hidden_states


class OPTPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class OPTDecoder(OPTPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.word_embed_proj_dim, config.pad_token_id)
        self.embed_positions = nn.Embedding(config.max_position_embeddings + 2, config.hidden_size)
        self.project_out = None
        self.project_in = None
        if config.word_embed_proj_dim != config.hidden_size:
            self.project_out = nn.Linear(config.hidden_size, config.word_embed_proj_dim, bias=False)
            self.project_in = nn.Linear(config.word_embed_proj_dim, config.hidden_size, bias=False)
        self.final_layer_norm = None
        if config.do_layer_norm_before:
            self.final_layer_norm = nn.LayerNorm(config.hidden_size, elementwise_affine=config.layer_norm_elementwise_affine)
        self.layers = nn.ModuleList([OPTDecoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        past_key_values=None,
        inputs_embeds=None,
        use_cache=None,
        output_hidden_states=None,
        **kwargs,
    ):
        cache = self.new_cache(past_key_values, use_cache)
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        past = cache.get_seq_length() if cache is not None else 0
        counted = attention_mask
        if counted is None:
            counted = torch.ones(inputs_embeds.shape[0], past + inputs_embeds.shape[1], device=inputs_embeds.device)
        position_ids = torch.cumsum(counted, dim=1)
        position_ids = (position_ids * counted - 1).long()
        position_ids = position_ids[:, past:]
        mask = causal_mask(self.config, inputs_embeds, attention_mask, past)
        positions = self.embed_positions(position_ids + 2)
        if self.project_in is not None:
            inputs_embeds = self.project_in(inputs_embeds)
        hidden_states = inputs_embeds + positions
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.layers:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(layer, hidden_states, attention_mask=mask, cache=cache)
        if self.final_layer_norm is not None:
            hidden_states = self.final_layer_norm(hidden_states)
        if self.project_out is not None:
            hidden_states = self.project_out(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, past_key_values=cache, hidden_states=kept if wanted else None)


class OPTModel(OPTPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.decoder = OPTDecoder(config)

    def get_input_embeddings(self):
        return self.decoder.embed_tokens

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        return self.decoder(input_ids, attention_mask, **kwargs)


class OPTForCausalLM(OPTPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = OPTModel(config)
        self.lm_head = nn.Linear(config.word_embed_proj_dim, config.vocab_size, bias=False)
        self.tie_weights()

    def forward(self, input_ids=None, attention_mask=None, labels=None, logits_to_keep=0, num_items_in_batch=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        logits = self.lm_head(keep_last(outputs.last_hidden_state, logits_to_keep)).contiguous()
        loss = None
        if labels is not None:
            loss = causal_lm_loss(logits, labels, self.config.vocab_size, num_items_in_batch)
        return ModelOutput(
            loss=loss, logits=logits, past_key_values=outputs.past_key_values, hidden_states=outputs.hidden_states
        )


class OPTForSequenceClassification(OPTPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = OPTModel(config)
        self.score = nn.Linear(config.word_embed_proj_dim, config.num_labels, bias=False)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        pooled = last_token_logits(self.score(outputs.last_hidden_state), input_ids, self.config)
        loss = None
        if labels is not None:
            loss = classification_loss(pooled, labels, self.config)
        return ModelOutput(loss=loss, logits=pooled, past_key_values=outputs.past_key_values)
