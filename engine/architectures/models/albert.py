"""ALBERT: one layer's weights used by every layer, and embeddings narrower than the hidden states."""

import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.encoder import (
    EncoderEmbeddings,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderPreTrainedModel,
)
from engine.architectures.models.foundation import ModelOutput, activation, attend, bidirectional_mask


class AlbertAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.attention_dropout = nn.Dropout(config.attention_probs_dropout_prob)
        self.output_dropout = nn.Dropout(config.hidden_dropout_prob)
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden_states, attention_mask=None):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.query(hidden_states).view(shape).transpose(1, 2)
        key = self.key(hidden_states).view(shape).transpose(1, 2)
        value = self.value(hidden_states).view(shape).transpose(1, 2)
        dropout = self.attention_dropout.p if self.training else 0.0
        output = attend(self.config, query, key, value, attention_mask, dropout, self.scaling, causal=False)
        output = self.dense(output.reshape(output.shape[0], output.shape[1], -1))
        output = self.output_dropout(output)
        return self.LayerNorm(hidden_states + output)


class AlbertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.full_layer_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.attention = AlbertAttention(config)
        self.ffn = nn.Linear(config.hidden_size, config.intermediate_size)
        self.ffn_output = nn.Linear(config.intermediate_size, config.hidden_size)
        self.activation = activation(config.hidden_act)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def feed_forward(self, attended):
        fed_forward = self.ffn(attended)
        fed_forward = self.activation(fed_forward)
        return self.ffn_output(fed_forward)

    def forward(self, hidden_states, attention_mask=None):
        attended = self.attention(hidden_states, attention_mask)
        fed_forward = self.feed_forward(attended)
        return self.full_layer_layer_norm(fed_forward + attended)


class AlbertLayerGroup(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.albert_layers = nn.ModuleList([AlbertLayer(config) for _ in range(config.inner_group_num)])

    def forward(self, hidden_states, attention_mask=None):
        for layer in self.albert_layers:
            hidden_states = layer(hidden_states, attention_mask)
        return hidden_states


class AlbertTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding_hidden_mapping_in = nn.Linear(config.embedding_size, config.hidden_size)
        self.albert_layer_groups = nn.ModuleList([AlbertLayerGroup(config) for _ in range(config.num_hidden_groups)])

    def group(self, index):
        return self.albert_layer_groups[int(index / (self.config.num_hidden_layers / self.config.num_hidden_groups))]


class AlbertPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "albert"


class AlbertModel(AlbertPreTrainedModel):
    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.embeddings = EncoderEmbeddings(config)
        self.encoder = AlbertTransformer(config)
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if add_pooling_layer else None
        self.pooler_activation = nn.Tanh()

    def get_input_embeddings(self):
        return self.embeddings.word_embeddings

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        token_type_ids=None,
        position_ids=None,
        inputs_embeds=None,
        output_hidden_states=None,
        **kwargs,
    ):
        embedded = self.embeddings(input_ids, token_type_ids, position_ids, inputs_embeds)
        mask = bidirectional_mask(self.config, embedded, attention_mask)
        hidden_states = self.encoder.embedding_hidden_mapping_in(embedded)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for index in range(self.config.num_hidden_layers):
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.encoder.group(index)(hidden_states, mask)
        if wanted:
            kept = kept + (hidden_states,)
        pooled = None
        if self.pooler is not None:
            pooled = self.pooler_activation(self.pooler(hidden_states[:, 0]))
        return ModelOutput(last_hidden_state=hidden_states, pooler_output=pooled, hidden_states=kept if wanted else None)


class AlbertMLMHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.LayerNorm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)
        self.decoder = nn.Linear(config.embedding_size, config.vocab_size)
        self.bias = self.decoder.bias
        self.activation = activation(config.hidden_act)

    def forward(self, hidden_states):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.activation(hidden_states)
        hidden_states = self.LayerNorm(hidden_states)
        return self.decoder(hidden_states)


class AlbertForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "albert"
    model_class = AlbertModel

    def head(self, config):
        self.predictions = AlbertMLMHead(config)

    def get_output_embeddings(self):
        return self.predictions.decoder

    def predict(self, hidden_states):
        return self.predictions(hidden_states)


class AlbertSOPHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dropout = nn.Dropout(config.classifier_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, pooled):
        return self.classifier(self.dropout(pooled))


class AlbertForPreTraining(AlbertPreTrainedModel):
    model_class = AlbertModel

    def __init__(self, config):
        super().__init__(config)
        self.attach()
        self.predictions = AlbertMLMHead(config)
        self.sop_classifier = AlbertSOPHead(config)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.predictions.decoder

    def forward(self, input_ids=None, attention_mask=None, labels=None, sentence_order_label=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        prediction_logits = self.predictions(outputs.last_hidden_state)
        sop_logits = self.sop_classifier(outputs.pooler_output)
        loss = None
        if labels is not None and sentence_order_label is not None:
            loss = F.cross_entropy(prediction_logits.view(-1, self.config.vocab_size), labels.view(-1))
            loss = loss + F.cross_entropy(sop_logits.view(-1, 2), sentence_order_label.view(-1))
        return ModelOutput(loss=loss, prediction_logits=prediction_logits, sop_logits=sop_logits)


class AlbertForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "albert"
    model_class = AlbertModel

    def classifier_dropout(self):
        return nn.Dropout(self.config.classifier_dropout_prob)


class AlbertForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "albert"
    model_class = AlbertModel

    def classifier_dropout(self):
        return nn.Dropout(self.config.classifier_dropout_prob)


class AlbertForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "albert"
    model_class = AlbertModel


class AlbertForMultipleChoice(EncoderForMultipleChoice):
    base_model_prefix = "albert"
    model_class = AlbertModel

    def classifier_dropout(self):
        return nn.Dropout(self.config.classifier_dropout_prob)
