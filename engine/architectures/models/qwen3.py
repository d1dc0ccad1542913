"""Qwen 3: Llama with a norm over each query and key head."""

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
    RMSNorm,
)


class Qwen3Attention(DecoderAttention):
    head_norm = RMSNorm


class Qwen3MLP(DecoderMLP):
    pass


class Qwen3DecoderLayer(DecoderLayer):
    attention_class = Qwen3Attention
    mlp_class = Qwen3MLP


class Qwen3PreTrainedModel(DecoderPreTrainedModel):
    pass


class Qwen3Model(DecoderModel):
    layer_class = Qwen3DecoderLayer


class Qwen3ForCausalLM(DecoderForCausalLM):
    model_class = Qwen3Model


class Qwen3ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Qwen3Model


class Qwen3ForTokenClassification(DecoderForTokenClassification):
    model_class = Qwen3Model


class Qwen3ForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = Qwen3Model
