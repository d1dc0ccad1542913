"""The post-norm text encoder that BERT and its relatives share, and its heads."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    bidirectional_mask,
    causal_lm_loss,
    causal_mask,
    classification_loss,
    masked_lm_loss,
    span_loss,
    token_loss,
)


class EncoderEmbeddings(nn.Module):
    """Words, segments and positions, summed; positions count tokens that are not padding where `counted`."""

    counted = False

    def __init__(self, config):
        super().__init__()
        width = getattr(config, "embedding_size", None)
        if width is None:
            width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.padding_idx = config.pad_token_id
        positions = torch.arange(config.max_position_embeddings).expand((1, -1))
        self.register_buffer("position_ids", positions, persistent=False)
        self.register_buffer("token_type_ids", torch.zeros(positions.size(), dtype=torch.long), persistent=False)

    def positions(self, input_ids, length):
        if self.counted and input_ids is not None:
            kept = input_ids.ne(self.padding_idx).int()
            counted = torch.cumsum(kept, dim=1).type_as(kept) * kept
            return counted.long() + self.padding_idx
        return self.position_ids[:, :length]

    def forward(self, input_ids=None, token_type_ids=None, position_ids=None, inputs_embeds=None):
        shape = input_ids.size() if input_ids is not None else inputs_embeds.size()[:-1]
        batch, length = shape[0], shape[1]
        if position_ids is None:
            position_ids = self.positions(input_ids, length)
        if token_type_ids is None:
            buffered = self.token_type_ids.expand(position_ids.shape[0], -1)
            buffered = torch.gather(buffered, dim=1, index=position_ids)
            token_type_ids = buffered.expand(batch, length)
        if inputs_embeds is None:
            inputs_embeds = self.word_embeddings(input_ids)
        embeddings = inputs_embeds + self.token_type_embeddings(token_type_ids)
        position_embeddings = self.position_embeddings(position_ids)
        embeddings = embeddings + position_embeddings
        embeddings = self.LayerNorm(embeddings)
        return self.dropout(embeddings)


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.scaling = self.attention_head_size**-0.5
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, hidden_states, attention_mask=None, keys=None):
        source = hidden_states if keys is None else keys
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.attention_head_size)
        key_shape = (source.shape[0], source.shape[1], -1, self.attention_head_size)
        query = self.query(hidden_states).view(shape).transpose(1, 2)
        key = self.key(source).view(key_shape).transpose(1, 2)
        value = self.value(source).view(key_shape).transpose(1, 2)
        dropout = self.dropout.p if self.training else 0.0
        causal = self.config.is_decoder and keys is None
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, causal=causal)
        return output.reshape(hidden_states.shape[0], hidden_states.shape[1], -1)


class ResidualOutput(nn.Module):
    """Project, drop, add and normalise."""

    def __init__(self, config, width):
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states, residual):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.dropout(hidden_states)
        return self.LayerNorm(hidden_states + residual)


class EncoderAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self = SelfAttention(config)
        self.output = ResidualOutput(config, config.hidden_size)

    def forward(self, hidden_states, attention_mask=None, keys=None):
        attended = self.self(hidden_states, attention_mask, keys)
        return self.output(attended, hidden_states)


class Intermediate(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate_act_fn = activation(config.hidden_act)

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = EncoderAttention(config)
        if config.add_cross_attention:
            self.crossattention = EncoderAttention(config)
        self.intermediate = Intermediate(config)
        self.output = ResidualOutput(config, config.intermediate_size)

    def forward(self, hidden_states, attention_mask=None, encoder_hidden_states=None, encoder_attention_mask=None):
        attended = self.attention(hidden_states, attention_mask)
        if encoder_hidden_states is not None:
            attended = self.crossattention(attended, encoder_attention_mask, encoder_hidden_states)
        return self.output(self.intermediate(attended), attended)


class EncoderStack(nn.Module):
    def __init__(self, config, layer_class):
        super().__init__()
        self.layer = nn.ModuleList([layer_class(config) for _ in range(config.num_hidden_layers)])


class Pooler(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = nn.Tanh()

    def forward(self, hidden_states):
        first = hidden_states[:, 0]
        return self.activation(self.dense(first))


class EncoderPreTrainedModel(PreTrainedModel):
    base_model_prefix = "bert"
    model_class = None
    pooled_classifier = True
    """Whether sentence classification reads the pooler; else a head of its own on the first token."""

    def attach(self, pooler=True):
        """Builds the encoder under the family's own attribute name."""
        setattr(self, self.base_model_prefix, self.model_class(self.config, add_pooling_layer=pooler))

    def encode(self, input_ids, attention_mask, inputs):
        return self.base_model(input_ids, attention_mask, **inputs)

    def classifier_dropout(self):
        rate = getattr(self.config, "classifier_dropout", None)
        return nn.Dropout(self.config.hidden_dropout_prob if rate is None else rate)


class EncoderModel(EncoderPreTrainedModel):
    embeddings_class = EncoderEmbeddings
    layer_class = EncoderLayer
    has_pooler = True

    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.embeddings = self.embeddings_class(config)
        if getattr(config, "embedding_size", None) is not None and config.embedding_size != config.hidden_size:
            self.embeddings_project = nn.Linear(config.embedding_size, config.hidden_size)
        else:
            self.embeddings_project = None
        self.encoder = EncoderStack(config, self.layer_class)
        self.pooler = Pooler(config) if add_pooling_layer and self.has_pooler else None
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        token_type_ids=None,
        position_ids=None,
        inputs_embeds=None,
        encoder_hidden_states=None,
        encoder_attention_mask=None,
        output_hidden_states=None,
        **kwargs,
    ):
        hidden_states = self.embeddings(input_ids, token_type_ids, position_ids, inputs_embeds)
        if self.config.is_decoder:
            mask = causal_mask(self.config, hidden_states, attention_mask)
        else:
            mask = bidirectional_mask(self.config, hidden_states, attention_mask)
        cross_mask = None
        if encoder_hidden_states is not None:
            cross_mask = bidirectional_mask(self.config, hidden_states, encoder_attention_mask, encoder_hidden_states)
        if self.embeddings_project is not None:
            hidden_states = self.embeddings_project(hidden_states)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.encoder.layer:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(
                layer,
                hidden_states,
                attention_mask=mask,
                encoder_hidden_states=encoder_hidden_states,
                encoder_attention_mask=cross_mask,
            )
        if wanted:
            kept = kept + (hidden_states,)
        pooled = self.pooler(hidden_states) if self.pooler is not None else None
        return ModelOutput(last_hidden_state=hidden_states, pooler_output=pooled, hidden_states=kept if wanted else None)


class PredictionTransform(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.transform_act_fn = activation(config.hidden_act)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden_states):
        return self.LayerNorm(self.transform_act_fn(self.dense(hidden_states)))


class LMPredictionHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transform = PredictionTransform(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size, bias=True)
        self.bias = self.decoder.bias

    def forward(self, hidden_states):
        return self.decoder(self.transform(hidden_states))


class MLMHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.predictions = LMPredictionHead(config)

    def forward(self, hidden_states):
        return self.predictions(hidden_states)


class RobertaStyleLMHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = self.decoder.bias

    def forward(self, features):
        return self.decoder(self.layer_norm(F.gelu(self.dense(features))))


class ClassificationHead(nn.Module):
    """Two layers on the first token."""

    def __init__(self, config, act):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        rate = getattr(config, "classifier_dropout", None)
        self.dropout = nn.Dropout(config.hidden_dropout_prob if rate is None else rate)
        self.activation = activation(act)
        self.out_proj = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, features):
        x = features[:, 0, :]
        x = self.dropout(x)
        x = self.dense(x)
        x = self.activation(x)
        x = self.dropout(x)
        return self.out_proj(x)


class EncoderForMaskedLM(EncoderPreTrainedModel):
    language_loss = "masked"

    def __init__(self, config):
        super().__init__(config)
        self.attach(pooler=False)
        self.head(config)
        self.tie_weights()

    def head(self, config):
        self.cls = MLMHead(config)

    def get_output_embeddings(self):
        return self.cls.predictions.decoder

    def predict(self, hidden_states):
        return self.cls(hidden_states)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        logits = self.predict(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            over = causal_lm_loss if self.language_loss == "causal" else masked_lm_loss
            loss = over(logits, labels, self.config.vocab_size)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class EncoderForCausalLM(EncoderForMaskedLM):
    language_loss = "causal"


class EncoderForSequenceClassification(EncoderPreTrainedModel):
    head_activation = "tanh"

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.attach(pooler=self.pooled_classifier)
        if self.pooled_classifier:
            self.dropout = self.classifier_dropout()
            self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        else:
            self.classifier = ClassificationHead(config, self.head_activation)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        if self.pooled_classifier:
            logits = self.classifier(self.dropout(outputs.pooler_output))
        else:
            logits = self.classifier(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class EncoderForTokenClassification(EncoderPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.attach(pooler=False)
        self.dropout = self.classifier_dropout()
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None
        if labels is not None:
            loss = token_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class EncoderForQuestionAnswering(EncoderPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.attach(pooler=False)
        self.qa_outputs = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids=None, attention_mask=None, start_positions=None, end_positions=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).split(1, dim=-1)
        start_logits = start_logits.squeeze(-1).contiguous()
        end_logits = end_logits.squeeze(-1).contiguous()
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = span_loss(start_logits, end_logits, start_positions, end_positions)
        return ModelOutput(loss=loss, start_logits=start_logits, end_logits=end_logits, hidden_states=outputs.hidden_states)


class EncoderForMultipleChoice(EncoderPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.attach()
        self.dropout = self.classifier_dropout()
        self.classifier = nn.Linear(config.hidden_size, 1)

    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, labels=None, **kwargs):
        choices = input_ids.shape[1]
        input_ids = input_ids.view(-1, input_ids.size(-1))
        if attention_mask is not None:
            attention_mask = attention_mask.view(-1, attention_mask.size(-1))
        if token_type_ids is not None:
            token_type_ids = token_type_ids.view(-1, token_type_ids.size(-1))
        outputs = self.base_model(input_ids, attention_mask, token_type_ids=token_type_ids, **kwargs)
        logits = self.classifier(self.dropout(outputs.pooler_output)).view(-1, choices)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits, labels)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
