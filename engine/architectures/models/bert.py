"""BERT."""

import torch.nn as nn

from engine.architectures.models.encoder import (
    EncoderEmbeddings,
    EncoderForCausalLM,
    EncoderForMaskedLM,
    EncoderForMultipleChoice,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
    EncoderLayer,
    EncoderModel,
    EncoderPreTrainedModel,
    LMPredictionHead,
)
from engine.architectures.models.foundation import ModelOutput


class BertEmbeddings(EncoderEmbeddings):
    pass


class BertLayer(EncoderLayer):
    pass


class BertPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "bert"


class BertModel(EncoderModel):
    base_model_prefix = "bert"
    embeddings_class = BertEmbeddings
    layer_class = BertLayer


class BertPreTrainingHeads(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.predictions = LMPredictionHead(config)
        self.seq_relationship = nn.Linear(config.hidden_size, 2)


class BertForPreTraining(BertPreTrainedModel):
    model_class = BertModel

    def __init__(self, config):
        super().__init__(config)
        self.attach()
        self.cls = BertPreTrainingHeads(config)
        self.tie_weights()

    def get_output_embeddings(self):
        return self.cls.predictions.decoder

    def forward(self, input_ids=None, attention_mask=None, labels=None, next_sentence_label=None, **kwargs):
        outputs = self.encode(input_ids, attention_mask, kwargs)
        prediction_logits = self.cls.predictions(outputs.last_hidden_state)
        relation_logits = self.cls.seq_relationship(outputs.pooler_output)
        loss = None
        if labels is not None and next_sentence_label is not None:
            loss = nn.functional.cross_entropy(prediction_logits.view(-1, self.config.vocab_size), labels.view(-1))
            loss = loss + nn.functional.cross_entropy(relation_logits.view(-1, 2), next_sentence_label.view(-1))
        return ModelOutput(loss=loss, prediction_logits=prediction_logits, seq_relationship_logits=relation_logits)


class BertForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "bert"
    model_class = BertModel


class BertLMHeadModel(EncoderForCausalLM):
    base_model_prefix = "bert"
    model_class = BertModel


class BertForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "bert"
    model_class = BertModel


class BertForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "bert"
    model_class = BertModel


class BertForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "bert"
    model_class = BertModel


class BertForMultipleChoice(EncoderForMultipleChoice):
    base_model_prefix = "bert"
    model_class = BertModel
