"""OLMo: Llama's decoder with layer norms that have neither weight nor bias, computed in float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.decoder import DecoderForCausalLM, DecoderLayer, DecoderModel


class OlmoLayerNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-5):
        super().__init__()
        self.shape = (hidden_size,)

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        return F.layer_norm(hidden_states.to(dtype=torch.float32), self.shape, None, None, eps=1e-5).to(dtype)


class OlmoDecoderLayer(DecoderLayer):
    norm_class = OlmoLayerNorm


class OlmoModel(DecoderModel):
    layer_class = OlmoDecoderLayer
    norm_class = OlmoLayerNorm


class OlmoForCausalLM(DecoderForCausalLM):
    model_class = OlmoModel
