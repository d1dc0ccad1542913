"""CogVideoX: one stream of text and video tokens, modulated norms."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.diffusion import (
    DiffusionPreTrainedModel,
    FeedForward,
    TimestepEmbedding,
    timestep_embedding,
)


class CogVideoXLayerNormZero(nn.Module):
    def __init__(self, conditioning, width):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(conditioning, 6 * width)
        self.norm = nn.LayerNorm(width, eps=1e-5)

    def forward(self, hidden_states, encoder_hidden_states, temb):
        parts = self.linear(self.silu(temb)).chunk(6, dim=1)
        shift, scale, gate, text_shift, text_scale, text_gate = parts
        hidden_states = self.norm(hidden_states) * (1 + scale)[:, None, :] + shift[:, None, :]
        text = self.norm(encoder_hidden_states) * (1 + text_scale)[:, None, :] + text_shift[:, None, :]
        return hidden_states, text, gate[:, None, :], text_gate[:, None, :]


def rotate(x, cos, sin):
    pairs = x.reshape(x.shape[0], x.shape[1], x.shape[2], -1, 2)
    real, imaginary = pairs.unbind(-1)
    turned = torch.stack([-imaginary, real], dim=-1).flatten(3)
    return (x.float() * cos + turned.float() * sin).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.heads = config.num_attention_heads
        self.norm_q = nn.LayerNorm(config.attention_head_dim, eps=1e-6)
        self.norm_k = nn.LayerNorm(config.attention_head_dim, eps=1e-6)
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.to_out = nn.ModuleList([nn.Linear(width, width), nn.Dropout(0.0)])

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, hidden_states, encoder_hidden_states, rotary=None):
        text_length = encoder_hidden_states.size(1)
        hidden_states = torch.cat([encoder_hidden_states, hidden_states], dim=1)
        query = self.split(self.to_q(hidden_states))
        key = self.split(self.to_k(hidden_states))
        value = self.split(self.to_v(hidden_states))
        query = self.norm_q(query)
        key = self.norm_k(key)
        if rotary is not None:
            cos, sin = rotary
            query[:, :, text_length:] = rotate(query[:, :, text_length:], cos, sin)
            key[:, :, text_length:] = rotate(key[:, :, text_length:], cos, sin)
        output = F.scaled_dot_product_attention(query, key, value, dropout_p=0.0, is_causal=False)
        output = output.transpose(1, 2).reshape(output.shape[0], -1, hidden_states.shape[2])
        output = self.to_out[1](self.to_out[0](output))
        text, video = output.split([text_length, output.size(1) - text_length], dim=1)
        return video, text


class CogVideoXBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm1 = CogVideoXLayerNormZero(config.time_embed_dim, width)
        self.attn1 = Attention(config, width)
        self.norm2 = CogVideoXLayerNormZero(config.time_embed_dim, width)
        self.ff = FeedForward(width)

    def forward(self, hidden_states, encoder_hidden_states, temb, rotary=None):
        text_length = encoder_hidden_states.size(1)
        normed, text, gate, text_gate = self.norm1(hidden_states, encoder_hidden_states, temb)
        attended, text_attended = self.attn1(normed, text, rotary)
        hidden_states = hidden_states + gate * attended
        encoder_hidden_states = encoder_hidden_states + text_gate * text_attended
        normed, text, gate, text_gate = self.norm2(hidden_states, encoder_hidden_states, temb)
        output = self.ff(torch.cat([text, normed], dim=1))
        hidden_states = hidden_states + gate * output[:, text_length:]
        encoder_hidden_states = encoder_hidden_states + text_gate * output[:, :text_length]
        return hidden_states, encoder_hidden_states


class CogVideoXPatchEmbed(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.patch_size = config.patch_size
        self.proj = nn.Conv2d(config.in_channels, width, kernel_size=config.patch_size, stride=config.patch_size)
        self.text_proj = nn.Linear(config.text_embed_dim, width)
        self.fixed = not config.use_rotary_positional_embeddings
        if self.fixed:
            frames = (config.sample_frames - 1) // config.temporal_compression_ratio + 1
            patches = (config.sample_height // config.patch_size) * (config.sample_width // config.patch_size) * frames
            table = torch.zeros(1, config.max_text_seq_length + patches, width)
            self.register_buffer("pos_embedding", table, persistent=False)

    def forward(self, text_embeds, image_embeds):
        text_embeds = self.text_proj(text_embeds)
        batch, frames, channels, height, width = image_embeds.shape
        image_embeds = self.proj(image_embeds.reshape(-1, channels, height, width))
        image_embeds = image_embeds.view(batch, frames, *image_embeds.shape[1:])
        image_embeds = image_embeds.flatten(3).transpose(2, 3).flatten(1, 2)
        embeds = torch.cat([text_embeds, image_embeds], dim=1).contiguous()
        if self.fixed:
            embeds = embeds + self.pos_embedding[:, : embeds.shape[1]].to(dtype=embeds.dtype)
        return embeds


class AdaLayerNorm(nn.Module):
    def __init__(self, conditioning, width):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(conditioning, 2 * width)
        self.norm = nn.LayerNorm(width, eps=1e-5)

    def forward(self, x, temb):
        shift, scale = self.linear(self.silu(temb)).chunk(2, dim=1)
        return self.norm(x) * (1 + scale[:, None, :]) + shift[:, None, :]


class CogVideoXTransformer3DModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        width = config.num_attention_heads * config.attention_head_dim
        self.width = width
        self.patch_embed = CogVideoXPatchEmbed(config, width)
        self.embedding_dropout = nn.Dropout(config.dropout)
        self.time_embedding = TimestepEmbedding(width, config.time_embed_dim)
        self.transformer_blocks = nn.ModuleList([CogVideoXBlock(config, width) for _ in range(config.num_layers)])
        self.norm_final = nn.LayerNorm(width, eps=1e-5)
        self.norm_out = AdaLayerNorm(config.time_embed_dim, width)
        self.proj_out = nn.Linear(width, config.patch_size * config.patch_size * config.out_channels)

    def forward(
        self, hidden_states, encoder_hidden_states, timestep, image_rotary_emb=None, return_dict=True, **kwargs
    ):
        batch, frames, channels, height, width = hidden_states.shape
        temb = self.time_embedding(timestep_embedding(timestep, self.width).to(dtype=hidden_states.dtype))
        hidden_states = self.patch_embed(encoder_hidden_states, hidden_states)
        hidden_states = self.embedding_dropout(hidden_states)
        text_length = encoder_hidden_states.shape[1]
        encoder_hidden_states = hidden_states[:, :text_length]
        hidden_states = hidden_states[:, text_length:]
        for block in self.transformer_blocks:
            hidden_states, encoder_hidden_states = self.call(
                block, hidden_states, encoder_hidden_states, temb, image_rotary_emb
            )
        if self.config.use_rotary_positional_embeddings:
            hidden_states = torch.cat([encoder_hidden_states, hidden_states], dim=1)
            hidden_states = self.norm_final(hidden_states)
            hidden_states = hidden_states[:, text_length:]
        else:
            hidden_states = self.norm_final(hidden_states)
        hidden_states = self.norm_out(hidden_states, temb)
        hidden_states = self.proj_out(hidden_states)
        patch = self.config.patch_size
        output = hidden_states.reshape(batch, frames, height // patch, width // patch, -1, patch, patch)
        output = output.permute(0, 1, 4, 2, 5, 3, 6).flatten(5, 6).flatten(3, 4)
        return self.answer(output, return_dict)
