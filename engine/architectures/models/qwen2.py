"""Qwen 1.5, 2 and 2.5: Llama with biases on queries, keys and values."""

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


class Qwen2Attention(DecoderAttention):
    qkv_bias = True
    output_bias = False


class Qwen2MLP(DecoderMLP):
    pass


class Qwen2DecoderLayer(DecoderLayer):
    attention_class = Qwen2Attention
    mlp_class = Qwen2MLP


class Qwen2PreTrainedModel(DecoderPreTrainedModel):
    pass


class Qwen2Model(DecoderModel):
    layer_class = Qwen2DecoderLayer


class Qwen2ForCausalLM(DecoderForCausalLM):
    model_class = Qwen2Model


class Qwen2ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Qwen2Model


class Qwen2ForTokenClassification(DecoderForTokenClassification):
    model_class = Qwen2Model


class Qwen2ForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = Qwen2Model
