"""CamemBERT."""

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
    RobertaStyleLMHead,
)


class CamembertEmbeddings(EncoderEmbeddings):
    counted = True


class CamembertLayer(EncoderLayer):
    pass


class CamembertPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "roberta"


class CamembertModel(EncoderModel):
    base_model_prefix = "roberta"
    embeddings_class = CamembertEmbeddings
    layer_class = CamembertLayer


class CamembertForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "roberta"
    model_class = CamembertModel


    def head(self, config):
        self.lm_head = RobertaStyleLMHead(config)

    def get_output_embeddings(self):
        return self.lm_head.decoder

    def predict(self, hidden_states):
        return self.lm_head(hidden_states)


class CamembertForCausalLM(EncoderForCausalLM):
    base_model_prefix = "roberta"
    model_class = CamembertModel


    def head(self, config):
        self.lm_head = RobertaStyleLMHead(config)

    def get_output_embeddings(self):
        return self.lm_head.decoder

    def predict(self, hidden_states):
        return self.lm_head(hidden_states)


class CamembertForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "roberta"
    model_class = CamembertModel

    pooled_classifier = False


class CamembertForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "roberta"
    model_class = CamembertModel


class CamembertForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "roberta"
    model_class = CamembertModel


class CamembertForMultipleChoice(EncoderForMultipleChoice):
    base_model_prefix = "roberta"
    model_class = CamembertModel
