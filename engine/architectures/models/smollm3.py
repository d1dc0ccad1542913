"""SmolLM 3: Llama with some layers left unrotated."""

from engine.architectures.models.decoder import (
    DecoderAttention,
    DecoderForCausalLM,
    DecoderForSequenceClassification,
    DecoderLayer,
    DecoderMLP,
    DecoderModel,
    DecoderPreTrainedModel,
)


class SmolLM3Attention(DecoderAttention):
    def turn(self, query, key, position_embeddings):
        if (self.layer_idx + 1) % 4 == 0:
            return query, key
        return super().turn(query, key, position_embeddings)


class SmolLM3MLP(DecoderMLP):
    pass


class SmolLM3DecoderLayer(DecoderLayer):
    attention_class = SmolLM3Attention
    mlp_class = SmolLM3MLP


class SmolLM3PreTrainedModel(DecoderPreTrainedModel):
    pass


class SmolLM3Model(DecoderModel):
    layer_class = SmolLM3DecoderLayer


class SmolLM3ForCausalLM(DecoderForCausalLM):
    model_class = SmolLM3Model


class SmolLM3ForSequenceClassification(DecoderForSequenceClassification):
    model_class = SmolLM3Model
