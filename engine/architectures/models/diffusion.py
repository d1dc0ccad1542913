"""What the diffusion models share."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class Sample:
    """A model's output: `.sample`, or by position."""

    def __init__(self, sample):
        self.sample = sample

    def __getitem__(self, index):
        return (self.sample,)[index]


class DiffusionPreTrainedModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.gradient_checkpointing = False

    @property
    def device(self):
        return next(self.parameters()).device

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def enable_gradient_checkpointing(self):
        self.gradient_checkpointing = True

    def disable_gradient_checkpointing(self):
        self.gradient_checkpointing = False

    def enable_xformers_memory_efficient_attention(self):
        return None

    def call(self, block, *inputs):
        if self.gradient_checkpointing and torch.is_grad_enabled():
            return torch.utils.checkpoint.checkpoint(block, *inputs, use_reentrant=False)
        return block(*inputs)

    def answer(self, output, return_dict):
        return Sample(output) if return_dict else (output,)


def timestep_embedding(timesteps, width):
    """Sines and cosines of the step, (batch, width) in float32."""
    half = width // 2
    exponent = -math.log(10000) * torch.arange(0, half, dtype=torch.float32, device=timesteps.device)
    frequencies = torch.exp(exponent / half)
    angles = timesteps[:, None].float() * frequencies[None, :]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


class TimestepEmbedding(nn.Module):
    def __init__(self, inputs, width, bias=True):
        super().__init__()
        self.linear_1 = nn.Linear(inputs, width, bias=bias)
        self.act = nn.SiLU()
        self.linear_2 = nn.Linear(width, width, bias=bias)

    def forward(self, sample):
        return self.linear_2(self.act(self.linear_1(sample)))


class GELUProjection(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.proj = nn.Linear(inputs, outputs)

    def forward(self, x):
        return F.gelu(self.proj(x), approximate="tanh")


class FeedForward(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.net = nn.ModuleList(
            [GELUProjection(width, 4 * width), nn.Dropout(dropout), nn.Linear(4 * width, width), nn.Dropout(dropout)]
        )

    def forward(self, x):
        for layer in self.net:
            x = layer(x)
        return x
