"""Llama 1 to 3."""

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


class LlamaAttention(DecoderAttention):
    pass


class LlamaMLP(DecoderMLP):
    pass


class LlamaDecoderLayer(DecoderLayer):
    attention_class = LlamaAttention
    mlp_class = LlamaMLP


class LlamaPreTrainedModel(DecoderPreTrainedModel):
    pass


class LlamaModel(DecoderModel):
    layer_class = LlamaDecoderLayer


class LlamaForCausalLM(DecoderForCausalLM):
    model_class = LlamaModel


class LlamaForSequenceClassification(DecoderForSequenceClassification):
    model_class = LlamaModel


class LlamaForTokenClassification(DecoderForTokenClassification):
    model_class = LlamaModel


class LlamaForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = LlamaModel
