"""FLUX.1: two streams, then one; every block makes its own modulations from the step's embedding."""

import torch
import torch.nn as nn

from engine.architectures.models.diffusion import DiffusionPreTrainedModel, FeedForward, TimestepEmbedding, timestep_embedding
from engine.architectures.models.flux2 import mix, rotate


class Modulation(nn.Module):
    """Shifts, scales and gates of one block, (batch, 1, width) each."""

    def __init__(self, width, parts):
        super().__init__()
        self.parts = parts
        self.silu = nn.SiLU()
        self.linear = nn.Linear(width, parts * width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)

    def forward(self, x, temb):
        parts = self.linear(self.silu(temb)).chunk(self.parts, dim=1)
        normed = self.norm(x) * (1 + parts[1][:, None]) + parts[0][:, None]
        return normed, parts[2:]


class FluxAttention(nn.Module):
    def __init__(self, config, width, joint):
        super().__init__()
        self.heads = config.num_attention_heads
        head = config.attention_head_dim
        self.joint = joint
        self.to_q = nn.Linear(width, width)
        self.to_k = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.norm_q = nn.RMSNorm(head, eps=1e-6)
        self.norm_k = nn.RMSNorm(head, eps=1e-6)
        if joint:
            self.to_out = nn.ModuleList([nn.Linear(width, width), nn.Dropout(0.0)])
            self.norm_added_q = nn.RMSNorm(head, eps=1e-6)
            self.norm_added_k = nn.RMSNorm(head, eps=1e-6)
            self.add_q_proj = nn.Linear(width, width)
            self.add_k_proj = nn.Linear(width, width)
            self.add_v_proj = nn.Linear(width, width)
            self.to_add_out = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, hidden_states, encoder_hidden_states, rotary):
        query = self.to_q(hidden_states)
        key = self.to_k(hidden_states)
        value = self.to_v(hidden_states)
        if self.joint:
            text_query = self.add_q_proj(encoder_hidden_states)
            text_key = self.add_k_proj(encoder_hidden_states)
            text_value = self.add_v_proj(encoder_hidden_states)
        query = self.norm_q(self.split(query))
        key = self.norm_k(self.split(key))
        value = self.split(value)
        if self.joint:
            text_query = self.norm_added_q(self.split(text_query))
            text_key = self.norm_added_k(self.split(text_key))
            query = torch.cat([text_query, query], dim=1)
            key = torch.cat([text_key, key], dim=1)
            value = torch.cat([self.split(text_value), value], dim=1)
        query = rotate(query, rotary[0], rotary[1])
        key = rotate(key, rotary[0], rotary[1])
        output = mix(query, key, value)
        if not self.joint:
            return output
        length = encoder_hidden_states.shape[1]
        text, image = output.split([length, output.shape[1] - length], dim=1)
        return self.to_out[1](self.to_out[0](image)), self.to_add_out(text)


class FluxTransformerBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm1 = Modulation(width, 6)
        self.norm1_context = Modulation(width, 6)
        self.attn = FluxAttention(config, width, True)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.ff = FeedForward(width)
        self.norm2_context = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.ff_context = FeedForward(width)

    def half(self, stream, attended, parts, norm, feed_forward):
        gate, shift, scale, mlp_gate = parts
        attended = gate.unsqueeze(1) * attended
        stream = stream + attended
        normed = norm(stream)
        normed = normed * (1 + scale[:, None]) + shift[:, None]
        return stream + mlp_gate.unsqueeze(1) * feed_forward(normed)

    def forward(self, hidden_states, encoder_hidden_states, temb, rotary):
        normed, parts = self.norm1(hidden_states, temb)
        text, text_parts = self.norm1_context(encoder_hidden_states, temb)
        attended, text_attended = self.attn(normed, text, rotary)
        hidden_states = self.half(hidden_states, attended, parts, self.norm2, self.ff)
        encoder_hidden_states = self.half(
            encoder_hidden_states, text_attended, text_parts, self.norm2_context, self.ff_context
        )
        return encoder_hidden_states, hidden_states


class FluxSingleTransformerBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm = Modulation(width, 3)
        self.proj_mlp = nn.Linear(width, 4 * width)
        self.act_mlp = nn.GELU(approximate="tanh")
        self.proj_out = nn.Linear(5 * width, width)
        self.attn = FluxAttention(config, width, False)

    def forward(self, hidden_states, encoder_hidden_states, temb, rotary):
        length = encoder_hidden_states.shape[1]
        hidden_states = torch.cat([encoder_hidden_states, hidden_states], dim=1)
        residual = hidden_states
        normed, parts = self.norm(hidden_states, temb)
        mlp = self.act_mlp(self.proj_mlp(normed))
        attended = self.attn(normed, None, rotary)
        hidden_states = torch.cat([attended, mlp], dim=2)
        hidden_states = parts[0].unsqueeze(1) * self.proj_out(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states[:, :length], hidden_states[:, length:]


class TextProjection(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.linear_1 = nn.Linear(inputs, width)
        self.act_1 = nn.SiLU()
        self.linear_2 = nn.Linear(width, width)

    def forward(self, text):
        return self.linear_2(self.act_1(self.linear_1(text)))


class StepAndTextEmbedding(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.timestep_embedder = TimestepEmbedding(256, width)
        self.guidance_embedder = TimestepEmbedding(256, width) if config.guidance_embeds else None
        self.text_embedder = TextProjection(config.pooled_projection_dim, width)

    def forward(self, timestep, guidance, pooled):
        embedded = self.timestep_embedder(timestep_embedding(timestep, 256).to(pooled.dtype))
        if self.guidance_embedder is not None and guidance is not None:
            embedded = embedded + self.guidance_embedder(timestep_embedding(guidance, 256).to(pooled.dtype))
        return embedded + self.text_embedder(pooled)


class LastNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(width, 2 * width)
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)

    def forward(self, x, temb):
        scale, shift = torch.chunk(self.linear(self.silu(temb).to(x.dtype)), 2, dim=1)
        return self.norm(x) * (1 + scale)[:, None, :] + shift[:, None, :]


class FluxTransformer2DModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        width = config.num_attention_heads * config.attention_head_dim
        self.time_text_embed = StepAndTextEmbedding(config, width)
        self.context_embedder = nn.Linear(config.joint_attention_dim, width)
        self.x_embedder = nn.Linear(config.in_channels, width)
        self.transformer_blocks = nn.ModuleList([FluxTransformerBlock(config, width) for _ in range(config.num_layers)])
        self.single_transformer_blocks = nn.ModuleList(
            [FluxSingleTransformerBlock(config, width) for _ in range(config.num_single_layers)]
        )
        self.norm_out = LastNorm(width)
        channels = config.in_channels if config.out_channels is None else config.out_channels
        self.proj_out = nn.Linear(width, config.patch_size * config.patch_size * channels)

    def forward(
        self,
        hidden_states,
        encoder_hidden_states=None,
        pooled_projections=None,
        timestep=None,
        img_ids=None,
        txt_ids=None,
        guidance=None,
        return_dict=True,
        **kwargs,
    ):
        hidden_states = self.x_embedder(hidden_states)
        timestep = timestep.to(hidden_states.dtype) * 1000
        if guidance is not None:
            guidance = guidance.to(hidden_states.dtype) * 1000
        temb = self.time_text_embed(timestep, guidance, pooled_projections)
        encoder_hidden_states = self.context_embedder(encoder_hidden_states)
        total = encoder_hidden_states.shape[1] + hidden_states.shape[1]
        cos = torch.ones(total, self.config.attention_head_dim, device=hidden_states.device)
        sin = torch.ones(total, self.config.attention_head_dim, device=hidden_states.device)
        for block in self.transformer_blocks:
            encoder_hidden_states, hidden_states = self.call(block, hidden_states, encoder_hidden_states, temb, (cos, sin))
        for block in self.single_transformer_blocks:
            encoder_hidden_states, hidden_states = self.call(block, hidden_states, encoder_hidden_states, temb, (cos, sin))
        hidden_states = self.norm_out(hidden_states, temb)
        return self.answer(self.proj_out(hidden_states), return_dict)
