"""Gemma 2: norms on both sides of each half, capped scores and logits, alternating windows."""

import torch

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForQuestionAnswering,
    DecoderForSequenceClassification,
    DecoderForTokenClassification,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
    OffsetRMSNorm,
    SandwichLayer,
)


class Gemma2Attention(DecoderAttention):
    pass


class Gemma2MLP(DecoderMLP):
    pass


class Gemma2DecoderLayer(SandwichLayer):
    attention_class = Gemma2Attention
    mlp_class = Gemma2MLP


class Gemma2PreTrainedModel(DecoderPreTrainedModel):
    pass


class Gemma2Model(DecoderModel):
    layer_class = Gemma2DecoderLayer
    norm_class = OffsetRMSNorm
    scaled_embedding = True


class Gemma2ForCausalLM(DecoderForCausalLM):
    model_class = Gemma2Model


    def shape_logits(self, logits):
        cap = self.config.final_logit_softcapping
        if cap is None:
            return logits
        logits = logits / cap
        logits = torch.tanh(logits)
        return logits * cap


class Gemma2ForSequenceClassification(DecoderForSequenceClassification):
    model_class = Gemma2Model


class Gemma2ForTokenClassification(DecoderForTokenClassification):
    model_class = Gemma2Model


class Gemma2ForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = Gemma2Model
