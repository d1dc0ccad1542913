"""FLUX.2: two streams, then one, with modulations shared by all blocks and no biases."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.diffusion import DiffusionPreTrainedModel, TimestepEmbedding, timestep_embedding


class SwiGLU(nn.Module):
    def forward(self, x):
        gate, value = x.chunk(2, dim=-1)
        return F.silu(gate) * value


class Flux2FeedForward(nn.Module):
    def __init__(self, width, ratio):
        super().__init__()
        inner = int(width * ratio)
        self.linear_in = nn.Linear(width, inner * 2, bias=False)
        self.act_fn = SwiGLU()
        self.linear_out = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        x = self.linear_in(x)
        x = self.act_fn(x)
        return self.linear_out(x)


def rotate(x, cos, sin):
    """(batch, length, heads, head_dim), in float32."""
    real, imaginary = x.reshape(x.shape[0], x.shape[1], x.shape[2], -1, 2).unbind(-1)
    turned = torch.stack([-imaginary, real], dim=-1).flatten(3)
    return (x.float() * cos[None, :, None, :] + turned.float() * sin[None, :, None, :]).to(x.dtype)


def mix(query, key, value):
    query, key, value = query.permute(0, 2, 1, 3), key.permute(0, 2, 1, 3), value.permute(0, 2, 1, 3)
    output = F.scaled_dot_product_attention(query, key, value)
    return output.permute(0, 2, 1, 3).flatten(2, 3).to(query.dtype)


class Flux2Attention(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.heads = config.num_attention_heads
        head = config.attention_head_dim
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)
        self.norm_q = nn.RMSNorm(head, eps=config.eps)
        self.norm_k = nn.RMSNorm(head, eps=config.eps)
        self.to_out = nn.ModuleList([nn.Linear(width, width, bias=False), nn.Dropout(0.0)])
        self.norm_added_q = nn.RMSNorm(head, eps=config.eps)
        self.norm_added_k = nn.RMSNorm(head, eps=config.eps)
        self.add_q_proj = nn.Linear(width, width, bias=False)
        self.add_k_proj = nn.Linear(width, width, bias=False)
        self.add_v_proj = nn.Linear(width, width, bias=False)
        self.to_add_out = nn.Linear(width, width, bias=False)

    def forward(self, hidden_states, encoder_hidden_states, rotary):
        query = self.to_q(hidden_states)
        key = self.to_k(hidden_states)
        value = self.to_v(hidden_states)
        text_query = self.add_q_proj(encoder_hidden_states)
        text_key = self.add_k_proj(encoder_hidden_states)
        text_value = self.add_v_proj(encoder_hidden_states)
        query = self.norm_q(query.unflatten(-1, (self.heads, -1)))
        key = self.norm_k(key.unflatten(-1, (self.heads, -1)))
        value = value.unflatten(-1, (self.heads, -1))
        text_query = self.norm_added_q(text_query.unflatten(-1, (self.heads, -1)))
        text_key = self.norm_added_k(text_key.unflatten(-1, (self.heads, -1)))
        text_value = text_value.unflatten(-1, (self.heads, -1))
        query = rotate(torch.cat([text_query, query], dim=1), rotary[0], rotary[1])
        key = rotate(torch.cat([text_key, key], dim=1), rotary[0], rotary[1])
        value = torch.cat([text_value, value], dim=1)
        output = mix(query, key, value)
        length = encoder_hidden_states.shape[1]
        text, image = output.split([length, output.shape[1] - length], dim=1)
        return self.to_out[1](self.to_out[0](image)), self.to_add_out(text)


class Flux2TransformerBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=config.eps)
        self.norm1_context = nn.LayerNorm(width, elementwise_affine=False, eps=config.eps)
        self.attn = Flux2Attention(config, width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=config.eps)
        self.ff = Flux2FeedForward(width, config.mlp_ratio)
        self.norm2_context = nn.LayerNorm(width, elementwise_affine=False, eps=config.eps)
        self.ff_context = Flux2FeedForward(width, config.mlp_ratio)

    def forward(self, hidden_states, encoder_hidden_states, image_parts, text_parts, rotary):
        shift, scale, gate, mlp_shift, mlp_scale, mlp_gate = image_parts
        text_shift, text_scale, text_gate, text_mlp_shift, text_mlp_scale, text_mlp_gate = text_parts
        normed = self.norm1(hidden_states)
        normed = (1 + scale) * normed + shift
        text = self.norm1_context(encoder_hidden_states)
        text = (1 + text_scale) * text + text_shift
        attended, text_attended = self.attn(normed, text, rotary)
        attended = gate * attended
        hidden_states = hidden_states + attended
        normed = self.norm2(hidden_states)
        normed = normed * (1 + mlp_scale) + mlp_shift
        hidden_states = hidden_states + mlp_gate * self.ff(normed)
        text_attended = text_gate * text_attended
        encoder_hidden_states = encoder_hidden_states + text_attended
        text = self.norm2_context(encoder_hidden_states)
        text = text * (1 + text_mlp_scale) + text_mlp_shift
        encoder_hidden_states = encoder_hidden_states + text_mlp_gate * self.ff_context(text)
        return encoder_hidden_states, hidden_states


class Flux2ParallelSelfAttention(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.heads = config.num_attention_heads
        self.width = width
        hidden = int(width * config.mlp_ratio)
        self.hidden = hidden
        self.to_qkv_mlp_proj = nn.Linear(width, 3 * width + 2 * hidden, bias=False)
        self.mlp_act_fn = SwiGLU()
        self.norm_q = nn.RMSNorm(config.attention_head_dim, eps=config.eps)
        self.norm_k = nn.RMSNorm(config.attention_head_dim, eps=config.eps)
        self.to_out = nn.Linear(width + hidden, width, bias=False)

    def forward(self, hidden_states, rotary):
        projected = self.to_qkv_mlp_proj(hidden_states)
        qkv, mlp = torch.split(projected, [3 * self.width, 2 * self.hidden], dim=-1)
        query, key, value = qkv.chunk(3, dim=-1)
        query = self.norm_q(query.unflatten(-1, (self.heads, -1)))
        key = self.norm_k(key.unflatten(-1, (self.heads, -1)))
        value = value.unflatten(-1, (self.heads, -1))
        query = rotate(query, rotary[0], rotary[1])
        key = rotate(key, rotary[0], rotary[1])
        attended = mix(query, key, value)
        mlp = self.mlp_act_fn(mlp)
        return self.to_out(torch.cat([attended, mlp], dim=-1))


class Flux2SingleTransformerBlock(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=config.eps)
        self.attn = Flux2ParallelSelfAttention(config, width)

    def forward(self, hidden_states, parts, rotary):
        shift, scale, gate = parts
        normed = self.norm(hidden_states)
        normed = (1 + scale) * normed + shift
        return hidden_states + gate * self.attn(normed, rotary)


class Flux2Modulation(nn.Module):
    def __init__(self, width, sets):
        super().__init__()
        self.sets = sets
        self.linear = nn.Linear(width, width * 3 * sets, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, temb):
        parts = self.linear(self.act_fn(temb))
        return torch.chunk(parts.unsqueeze(1), 3 * self.sets, dim=-1)


class Flux2TimestepGuidanceEmbeddings(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.channels = config.timestep_guidance_channels
        self.timestep_embedder = TimestepEmbedding(self.channels, width, bias=False)
        self.guidance_embedder = TimestepEmbedding(self.channels, width, bias=False) if config.guidance_embeds else None

    def forward(self, timestep, guidance):
        temb = self.timestep_embedder(timestep_embedding(timestep, self.channels).to(timestep.dtype))
        if guidance is not None and self.guidance_embedder is not None:
            temb = temb + self.guidance_embedder(timestep_embedding(guidance, self.channels).to(guidance.dtype))
        return temb


class AdaLayerNormContinuous(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(width, eps=eps, elementwise_affine=False)

    def forward(self, x, temb):
        scale, shift = torch.chunk(self.linear(self.silu(temb).to(x.dtype)), 2, dim=1)
        return self.norm(x) * (1 + scale)[:, None, :] + shift[:, None, :]


class Flux2Transformer2DModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        width = config.num_attention_heads * config.attention_head_dim
        self.time_guidance_embed = Flux2TimestepGuidanceEmbeddings(config, width)
        self.double_stream_modulation_img = Flux2Modulation(width, 2)
        self.double_stream_modulation_txt = Flux2Modulation(width, 2)
        self.single_stream_modulation = Flux2Modulation(width, 1)
        self.x_embedder = nn.Linear(config.in_channels, width, bias=False)
        self.context_embedder = nn.Linear(config.joint_attention_dim, width, bias=False)
        self.transformer_blocks = nn.ModuleList([Flux2TransformerBlock(config, width) for _ in range(config.num_layers)])
        self.single_transformer_blocks = nn.ModuleList(
            [Flux2SingleTransformerBlock(config, width) for _ in range(config.num_single_layers)]
        )
        self.norm_out = AdaLayerNormContinuous(width, config.eps)
        self.proj_out = nn.Linear(width, config.patch_size * config.patch_size * config.out_channels, bias=False)

    def forward(
        self,
        hidden_states,
        encoder_hidden_states=None,
        timestep=None,
        img_ids=None,
        txt_ids=None,
        guidance=None,
        return_dict=True,
        **kwargs,
    ):
        text_length = encoder_hidden_states.shape[1]
        timestep = timestep.to(hidden_states.dtype) * 1000
        temb = self.time_guidance_embed(timestep, guidance)
        image_parts = self.double_stream_modulation_img(temb)
        text_parts = self.double_stream_modulation_txt(temb)
        single_parts = self.single_stream_modulation(temb)
        hidden_states = self.x_embedder(hidden_states)
        encoder_hidden_states = self.context_embedder(encoder_hidden_states)
        total = text_length + hidden_states.shape[1]
        cos = torch.ones(total, self.config.attention_head_dim, device=hidden_states.device)
        sin = torch.ones(total, self.config.attention_head_dim, device=hidden_states.device)
        for block in self.transformer_blocks:
            encoder_hidden_states, hidden_states = self.call(
                block, hidden_states, encoder_hidden_states, image_parts, text_parts, (cos, sin)
            )
        hidden_states = torch.cat([encoder_hidden_states, hidden_states], dim=1)
        for block in self.single_transformer_blocks:
            hidden_states = self.call(block, hidden_states, single_parts, (cos, sin))
        hidden_states = hidden_states[:, text_length:]
        hidden_states = self.norm_out(hidden_states, temb)
        return self.answer(self.proj_out(hidden_states), return_dict)
