"""DiT: a vision transformer over latent patches whose blocks take shifts, scales and gates from the step and the class."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.diffusion import DiffusionPreTrainedModel, FeedForward, TimestepEmbedding, timestep_embedding


class ClassEmbedding(nn.Module):
    """One row more than classes: the row of "no class", to which labels fall by chance in training."""

    def __init__(self, classes, width, dropout=0.1):
        super().__init__()
        self.embedding_table = nn.Embedding(classes + 1, width)
        self.classes = classes
        self.dropout = dropout

    def forward(self, labels):
        if self.training:
            dropped = torch.rand(labels.shape[0], device=labels.device) < self.dropout
            labels = torch.where(dropped, self.classes, labels)
        return self.embedding_table(labels)


class StepAndClassEmbedding(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.timestep_embedder = TimestepEmbedding(256, width)
        self.class_embedder = ClassEmbedding(classes, width)

    def forward(self, timestep, labels, dtype):
        return self.timestep_embedder(timestep_embedding(timestep, 256).to(dtype)) + self.class_embedder(labels)


class ModulatedNorm(nn.Module):
    """Every block embeds the step and the class anew."""

    def __init__(self, config, width):
        super().__init__()
        self.emb = StepAndClassEmbedding(config.num_embeds_ada_norm, width)
        self.silu = nn.SiLU()
        self.linear = nn.Linear(width, 6 * width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)

    def forward(self, x, timestep, labels):
        parts = self.linear(self.silu(self.emb(timestep, labels, x.dtype))).chunk(6, dim=1)
        return self.norm(x) * (1 + parts[1][:, None]) + parts[0][:, None], parts[2:]


class DiTAttention(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.heads = config.num_attention_heads
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.to_out = nn.ModuleList([nn.Linear(width, width), nn.Dropout(0.0)])

    def heads_of(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        query, key, value = self.to_q(x), self.to_k(x), self.to_v(x)
        output = F.scaled_dot_product_attention(self.heads_of(query), self.heads_of(key), self.heads_of(value))
        output = output.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return self.to_out[1](self.to_out[0](output))


class DiTBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm1 = ModulatedNorm(config, width)
        self.attn1 = DiTAttention(config, width)
        self.norm3 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-5)
        self.ff = FeedForward(width)

    def forward(self, x, timestep, labels):
        normed, (gate, shift, scale, mlp_gate) = self.norm1(x, timestep, labels)
        attended = gate.unsqueeze(1) * self.attn1(normed)
        x = attended + x
        normed = self.norm3(x)
        normed = normed * (1 + scale[:, None]) + shift[:, None]
        return mlp_gate.unsqueeze(1) * self.ff(normed) + x


class PatchEmbedding(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        side = config.sample_size // config.patch_size
        self.proj = nn.Conv2d(config.in_channels, width, config.patch_size, config.patch_size)
        self.register_buffer("pos_embed", torch.zeros(1, side * side, width), persistent=False)

    def forward(self, latent):
        patches = self.proj(latent).flatten(2).transpose(1, 2)
        return (patches + self.pos_embed).to(patches.dtype)


class DiTTransformer2DModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        width = config.num_attention_heads * config.attention_head_dim
        self.patch = config.patch_size
        self.channels = config.in_channels if config.out_channels is None else config.out_channels
        self.pos_embed = PatchEmbedding(config, width)
        self.transformer_blocks = nn.ModuleList([DiTBlock(config, width) for _ in range(config.num_layers)])
        self.norm_out = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.proj_out_1 = nn.Linear(width, 2 * width)
        self.proj_out_2 = nn.Linear(width, self.patch * self.patch * self.channels)

    def forward(self, hidden_states, timestep=None, class_labels=None, return_dict=True, **kwargs):
        side = hidden_states.shape[-1] // self.patch
        x = self.pos_embed(hidden_states)
        for block in self.transformer_blocks:
            x = self.call(block, x, timestep, class_labels)
        condition = self.transformer_blocks[0].norm1.emb(timestep, class_labels, x.dtype)
        shift, scale = self.proj_out_1(F.silu(condition)).chunk(2, dim=1)
        x = self.norm_out(x) * (1 + scale[:, None]) + shift[:, None]
        x = self.proj_out_2(x)
        x = x.reshape(-1, side, side, self.patch, self.patch, self.channels)
        x = torch.einsum("nhwpqc->nchpwq", x)
        x = x.reshape(-1, self.channels, side * self.patch, side * self.patch)
        return self.answer(x, return_dict)
