"""Gemma 3, text: norms over query and key heads, five windowed layers to one global."""

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


class Gemma3Attention(DecoderAttention):
    head_norm = OffsetRMSNorm

    def project(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        return self.q_norm(query), self.k_norm(key), value


class Gemma3MLP(DecoderMLP):
    pass


class Gemma3DecoderLayer(SandwichLayer):
    attention_class = Gemma3Attention
    mlp_class = Gemma3MLP


class Gemma3TextPreTrainedModel(DecoderPreTrainedModel):
    pass


class Gemma3TextModel(DecoderModel):
    layer_class = Gemma3DecoderLayer
    norm_class = OffsetRMSNorm
    scaled_embedding = True


class Gemma3ForCausalLM(DecoderForCausalLM):
    model_class = Gemma3TextModel


    def shape_logits(self, logits):
        cap = self.config.final_logit_softcapping
        if cap is None:
            return logits
        logits = logits / cap
        logits = torch.tanh(logits)
        return logits * cap


class Gemma3TextForSequenceClassification(DecoderForSequenceClassification):
    model_class = Gemma3TextModel


class Gemma3TextForTokenClassification(DecoderForTokenClassification):
    model_class = Gemma3TextModel


class Gemma3TextForQuestionAnswering(DecoderForQuestionAnswering):
    model_class = Gemma3TextModel
