"""ELECTRA: embeddings narrower than the layers, and no pooler."""

import torch.nn as nn

from engine.architectures.models.encoder import (
    EncoderEmbeddings,
    EncoderForMaskedLM,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderLayer,
    EncoderModel,
    EncoderPreTrainedModel,
)
from engine.architectures.models.foundation import ModelOutput, activation


class ElectraEmbeddings(EncoderEmbeddings):
    pass


class ElectraLayer(EncoderLayer):
    pass


class ElectraPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "electra"


class ElectraModel(EncoderModel):
    base_model_prefix = "electra"
    embeddings_class = ElectraEmbeddings
    layer_class = ElectraLayer
    has_pooler = False


class ElectraGeneratorPredictions(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation = activation("gelu")
        self.LayerNorm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)

    def forward(self, hidden_states):
        return self.LayerNorm(self.activation(self.dense(hidden_states)))


class ElectraDiscriminatorPredictions(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = activation(config.hidden_act)
        self.dense_prediction = nn.Linear(config.hidden_size, 1)

    def forward(self, hidden_states):
        return self.dense_prediction(self.activation(self.dense(hidden_states))).squeeze(-1)


class ElectraForPreTraining(ElectraPreTrainedModel):
    model_class = ElectraModel

    def __init__(self, config):
        super().__init__(config)
        self.attach()
        self.discriminator_predictions = ElectraDiscriminatorPredictions(config)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        logits = self.discriminator_predictions(outputs.last_hidden_state)
        loss = None
        if labels is not None:
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels.float())
        return ModelOutput(loss=loss, logits=logits)


class ElectraForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "electra"
    model_class = ElectraModel


    def head(self, config):
        self.generator_predictions = ElectraGeneratorPredictions(config)
        self.generator_lm_head = nn.Linear(config.embedding_size, config.vocab_size)

    def get_output_embeddings(self):
        return self.generator_lm_head

    def predict(self, hidden_states):
        return self.generator_lm_head(self.generator_predictions(hidden_states))


class ElectraForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "electra"
    model_class = ElectraModel

    pooled_classifier = False
    head_activation = "gelu"


class ElectraForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "electra"
    model_class = ElectraModel


class ElectraForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "electra"
    model_class = ElectraModel
