"""ModernBERT: pre-norm encoder with rotary positions, gated feed-forward, and a local window in two layers of three."""

import torch
import torch.nn as nn

from engine.architectures.models.decoder import rotate_half
from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    bidirectional_mask,
    classification_loss,
    masked_lm_loss,
    span_loss,
    token_loss,
)


def layer_kinds(config):
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        return kinds
    every = getattr(config, "global_attn_every_n_layers", 3)
    return ["sliding_attention" if index % every else "full_attention" for index in range(config.num_hidden_layers)]


def norm(config):
    return nn.LayerNorm(config.hidden_size, eps=config.norm_eps, bias=config.norm_bias)


class ModernBertEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.norm = norm(config)
        self.drop = nn.Dropout(config.embedding_dropout)

    def forward(self, input_ids=None, inputs_embeds=None):
        if inputs_embeds is not None:
            return self.drop(self.norm(inputs_embeds))
        return self.drop(self.norm(self.tok_embeddings(input_ids)))


class ModernBertMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.Wi = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=config.mlp_bias)
        self.act = activation(config.hidden_activation)
        self.drop = nn.Dropout(config.mlp_dropout)
        self.Wo = nn.Linear(config.intermediate_size, config.hidden_size, bias=config.mlp_bias)

    def forward(self, hidden_states):
        values, gate = self.Wi(hidden_states).chunk(2, dim=-1)
        return self.Wo(self.drop(self.act(values) * gate))


class ModernBertRotaryEmbedding(nn.Module):
    """One table of frequencies for each kind of layer."""

    def __init__(self, config):
        super().__init__()
        dim = config.hidden_size // config.num_attention_heads
        for kind in sorted(set(layer_kinds(config))):
            frequencies = 1.0 / (10000.0 ** (torch.arange(0, dim, 2, dtype=torch.float) / dim))
            self.register_buffer(f"{kind}_inv_freq", frequencies, persistent=False)
            self.register_buffer(f"{kind}_original_inv_freq", frequencies.clone(), persistent=False)

    def forward(self, x, position_ids, kind):
        frequencies = getattr(self, f"{kind}_inv_freq").to(device=x.device, dtype=torch.float)
        angles = position_ids[..., None].float() * frequencies
        emb = torch.cat((angles, angles), dim=-1)
        cos = emb.cos() * 1.0
        sin = emb.sin() * 1.0
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


def rotate_in_float32(q, k, cos, sin):
    kept = q.dtype
    cos = cos.unsqueeze(1)
    sin = sin.unsqueeze(1)
    q_embed = (q.float() * cos) + (rotate_half(q.float()) * sin)
    k_embed = (k.float() * cos) + (rotate_half(k.float()) * sin)
    return q_embed.to(kept), k_embed.to(kept)


class ModernBertAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.Wqkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=config.attention_bias)
        self.Wo = nn.Linear(config.hidden_size, config.hidden_size, bias=config.attention_bias)
        self.out_drop = nn.Dropout(config.attention_dropout) if config.attention_dropout > 0.0 else nn.Identity()

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None):
        batch, length = hidden_states.shape[0], hidden_states.shape[1]
        qkv = self.Wqkv(hidden_states)
        qkv = qkv.view(batch, length, 3, -1, self.head_dim)
        query, key, value = qkv.unbind(dim=-3)
        query = query.transpose(1, 2)
        key = key.transpose(1, 2)
        value = value.transpose(1, 2)
        cos, sin = position_embeddings
        query, key = rotate_in_float32(query, key, cos, sin)
        dropout = self.config.attention_dropout if self.training else 0.0
        output = attend(
            self.config, query, key, value, attention_mask, dropout, self.head_dim**-0.5, causal=False, softmax="float32"
        )
        return self.out_drop(self.Wo(output.reshape(batch, length, -1)))


class ModernBertEncoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.attn_norm = nn.Identity() if layer_idx == 0 else norm(config)
        self.attn = ModernBertAttention(config, layer_idx)
        self.mlp_norm = norm(config)
        self.mlp = ModernBertMLP(config)

    def forward(self, hidden_states, attention_mask=None, position_embeddings=None):
        attended = self.attn(self.attn_norm(hidden_states), position_embeddings, attention_mask)
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.mlp_norm(hidden_states))


class ModernBertPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class ModernBertModel(ModernBertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.kinds = layer_kinds(config)
        self.embeddings = ModernBertEmbeddings(config)
        self.layers = nn.ModuleList([ModernBertEncoderLayer(config, i) for i in range(config.num_hidden_layers)])
        self.final_norm = norm(config)
        self.rotary_emb = ModernBertRotaryEmbedding(config)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.tok_embeddings

    def forward(
        self, input_ids=None, attention_mask=None, position_ids=None, inputs_embeds=None, output_hidden_states=None, **kwargs
    ):
        hidden_states = self.embeddings(input_ids, inputs_embeds)
        if position_ids is None:
            position_ids = torch.arange(hidden_states.shape[1], device=hidden_states.device).unsqueeze(0)
        masks = {
            "full_attention": bidirectional_mask(self.config, hidden_states, attention_mask),
            "sliding_attention": bidirectional_mask(
                self.config, hidden_states, attention_mask, window=self.config.local_attention // 2
            ),
        }
        positions = {}
        for kind in sorted(set(self.kinds)):
            positions[kind] = self.rotary_emb(hidden_states, position_ids, kind)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for kind, layer in zip(self.kinds, self.layers):
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(
                layer, hidden_states, attention_mask=masks[kind], position_embeddings=positions[kind]
            )
        hidden_states = self.final_norm(hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        return ModelOutput(last_hidden_state=hidden_states, hidden_states=kept if wanted else None)


class ModernBertPredictionHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size, config.classifier_bias)
        self.act = activation(config.classifier_activation)
        self.norm = norm(config)

    def forward(self, hidden_states):
        return self.norm(self.act(self.dense(hidden_states)))


class ModernBertForMaskedLM(ModernBertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = ModernBertModel(config)
        self.head = ModernBertPredictionHead(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size, bias=config.decoder_bias)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.decoder

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        logits = self.decoder(self.head(outputs.last_hidden_state))
        loss = None
        if labels is not None:
            loss = masked_lm_loss(logits, labels, self.config.vocab_size)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class ModernBertClassifier(ModernBertPreTrainedModel):
    """What the heads that classify share: the prediction head, dropout and a linear layer."""

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ModernBertModel(config)
        self.head = ModernBertPredictionHead(config)
        self.drop = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, self.outputs())

    def outputs(self):
        return self.config.num_labels

    def pool(self, hidden_states, attention_mask):
        if self.config.classifier_pooling == "cls":
            return hidden_states[:, 0]
        if attention_mask is None:
            attention_mask = torch.ones(hidden_states.shape[:2], device=hidden_states.device, dtype=torch.bool)
        summed = (hidden_states * attention_mask.unsqueeze(-1)).sum(dim=1)
        return summed / attention_mask.sum(dim=1, keepdim=True)

    def classify(self, hidden_states):
        return self.classifier(self.drop(self.head(hidden_states)))


class ModernBertForSequenceClassification(ModernBertClassifier):
    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        logits = self.classify(self.pool(outputs.last_hidden_state, attention_mask))
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class ModernBertForTokenClassification(ModernBertClassifier):
    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        logits = self.classify(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            loss = token_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class ModernBertForQuestionAnswering(ModernBertClassifier):
    def forward(self, input_ids=None, attention_mask=None, start_positions=None, end_positions=None, **kwargs):
        outputs = self.model(input_ids, attention_mask, **kwargs)
        start_logits, end_logits = self.classify(outputs.last_hidden_state).split(1, dim=-1)
        start_logits = start_logits.squeeze(-1).contiguous()
        end_logits = end_logits.squeeze(-1).contiguous()
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = span_loss(start_logits, end_logits, start_positions, end_positions)
        return ModelOutput(loss=loss, start_logits=start_logits, end_logits=end_logits, hidden_states=outputs.hidden_states)


class ModernBertForMultipleChoice(ModernBertClassifier):
    def outputs(self):
        return 1

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        choices = input_ids.shape[1]
        input_ids = input_ids.view(-1, input_ids.size(-1))
        if attention_mask is not None:
            attention_mask = attention_mask.view(-1, attention_mask.size(-1))
        outputs = self.model(input_ids, attention_mask, **kwargs)
        logits = self.classify(self.pool(outputs.last_hidden_state, attention_mask)).view(-1, choices)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits, labels)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
