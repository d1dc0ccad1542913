"""Gemma: scaled embeddings, offset norms in float32, wide heads."""

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForQuestionAnswering,
    DecoderForSequenceClassification,
    DecoderForTokenClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
    OffsetRMSNorm,
)


class GemmaAttention(DecoderAttention):
    pass


class GemmaMLP(DecoderMLP):
    pass


class GemmaDecoderLayer(DecoderLayer):
    attention_class = GemmaAttention
    mlp_class = GemmaMLP
    norm_class = OffsetRMSNorm


class GemmaPreTrainedModel(DecoderPreTrainedModel):
    pass


class GemmaModel(DecoderModel):
    layer_class = GemmaDecoderLayer
    norm_class = OffsetRMSNorm
    scaled_embedding = True


class GemmaForCausalLM(DecoderForCausalLM):
    model_class = GemmaModel


class GemmaForSequenceClassification(DecoderForSequenceClassification):
    model_class = GemmaModel


class GemmaForTokenClassification(DecoderForTokenClassification):
    model_class = GemmaModel


class GemmaForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = GemmaModel
