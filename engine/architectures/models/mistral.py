"""Mistral: Llama with a sliding window."""

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
)


class MistralAttention(DecoderAttention):
    qkv_bias = False
    output_bias = False


class MistralMLP(DecoderMLP):
    pass


class MistralDecoderLayer(DecoderLayer):
    attention_class = MistralAttention
    mlp_class = MistralMLP


class MistralPreTrainedModel(DecoderPreTrainedModel):
    pass


class MistralModel(DecoderModel):
    layer_class = MistralDecoderLayer


class MistralForCausalLM(DecoderForCausalLM):
    model_class = MistralModel


class MistralForSequenceClassification(DecoderForSequenceClassification):
    model_class = MistralModel


class MistralForTokenClassification(DecoderForTokenClassification):
    model_class = MistralModel


class MistralForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = MistralModel
