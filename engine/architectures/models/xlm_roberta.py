"""XLM-RoBERTa."""

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


class XLMRobertaEmbeddings(EncoderEmbeddings):
    counted = True


class XLMRobertaLayer(EncoderLayer):
    pass


class XLMRobertaPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "roberta"


class XLMRobertaModel(EncoderModel):
    base_model_prefix = "roberta"
    embeddings_class = XLMRobertaEmbeddings
    layer_class = XLMRobertaLayer


class XLMRobertaForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel


    def head(self, config):
        self.lm_head = RobertaStyleLMHead(config)

    def get_output_embeddings(self):
        return self.lm_head.decoder

    def predict(self, hidden_states):
        return self.lm_head(hidden_states)


class XLMRobertaForCausalLM(EncoderForCausalLM):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel


    def head(self, config):
        self.lm_head = RobertaStyleLMHead(config)

    def get_output_embeddings(self):
        return self.lm_head.decoder

    def predict(self, hidden_states):
        return self.lm_head(hidden_states)


class XLMRobertaForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel

    pooled_classifier = False


class XLMRobertaForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel


class XLMRobertaForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel


class XLMRobertaForMultipleChoice(EncoderForMultipleChoice):
    base_model_prefix = "roberta"
    model_class = XLMRobertaModel
