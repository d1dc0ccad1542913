"""RoBERTa, XLM-RoBERTa and CamemBERT: BERT without segments, positions counted past the padding index."""

from engine.architectures.models.encoder import (
    EncoderEmbeddings,
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


class RobertaEmbeddings(EncoderEmbeddings):
    counted = True


class RobertaLayer(EncoderLayer):
    pass


class RobertaPreTrainedModel(EncoderPreTrainedModel):
    base_model_prefix = "roberta"


class RobertaModel(EncoderModel):
    base_model_prefix = "roberta"
    embeddings_class = RobertaEmbeddings
    layer_class = RobertaLayer


class RobertaForMaskedLM(EncoderForMaskedLM):
    base_model_prefix = "roberta"
    model_class = RobertaModel

    def head(self, config):
        self.lm_head = RobertaStyleLMHead(config)

    def get_output_embeddings(self):
        return self.lm_head.decoder

    def predict(self, hidden_states):
        return self.lm_head(hidden_states)


class RobertaForCausalLM(RobertaForMaskedLM):
    language_loss = "causal"


class RobertaForSequenceClassification(EncoderForSequenceClassification):
    base_model_prefix = "roberta"
    model_class = RobertaModel
    pooled_classifier = False


class RobertaForTokenClassification(EncoderForTokenClassification):
    base_model_prefix = "roberta"
    model_class = RobertaModel


class RobertaForQuestionAnswering(EncoderForQuestionAnswering):
    base_model_prefix = "roberta"
    model_class = RobertaModel


class RobertaForMultipleChoice(EncoderForMultipleChoice):
    base_model_prefix = "roberta"
    model_class = RobertaModel


class XLMRobertaLayer(RobertaLayer):
    pass


class XLMRobertaPreTrainedModel(RobertaPreTrainedModel):
    pass


class XLMRobertaModel(RobertaModel):
    pass


class XLMRobertaForMaskedLM(RobertaForMaskedLM):
    pass


class XLMRobertaForCausalLM(RobertaForCausalLM):
    pass


class XLMRobertaForSequenceClassification(RobertaForSequenceClassification):
    pass


class XLMRobertaForTokenClassification(RobertaForTokenClassification):
    pass


class XLMRobertaForQuestionAnswering(RobertaForQuestionAnswering):
    pass


class XLMRobertaForMultipleChoice(RobertaForMultipleChoice):
    pass


class CamembertLayer(RobertaLayer):
    pass


class CamembertPreTrainedModel(RobertaPreTrainedModel):
    pass


class CamembertModel(RobertaModel):
    pass


class CamembertForMaskedLM(RobertaForMaskedLM):
    pass


class CamembertForCausalLM(RobertaForCausalLM):
    pass


class CamembertForSequenceClassification(RobertaForSequenceClassification):
    pass


class CamembertForTokenClassification(RobertaForTokenClassification):
    pass


class CamembertForQuestionAnswering(RobertaForQuestionAnswering):
    pass


class CamembertForMultipleChoice(RobertaForMultipleChoice):
    pass
