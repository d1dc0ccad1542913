"""aMUSEd: a U-shaped transformer over image tokens, and the tokenizer that makes them (diffusers uvit_2d, vq_model)."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.autoencoder_kl import Decoder, Encoder
from engine.architectures.models.diffusion import DiffusionPreTrainedModel, TimestepEmbedding, timestep_embedding


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.eps)
        if self.weight.dtype in (torch.float16, torch.bfloat16):
            x = x.to(self.weight.dtype)
        return x * self.weight


class Attention(nn.Module):
    def __init__(self, width, heads, source):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(source, width, bias=False)
        self.to_v = nn.Linear(source, width, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(width, width, bias=False), nn.Dropout(0.0)])

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def forward(self, x, source=None):
        source = x if source is None else source
        query, key, value = self.split(self.to_q(x)), self.split(self.to_k(source)), self.split(self.to_v(source))
        output = F.scaled_dot_product_attention(query, key, value)
        output = output.transpose(1, 2).reshape(x.shape[0], -1, x.shape[2]).to(query.dtype)
        return self.to_out[1](self.to_out[0](output))


class AdaptiveNorm(nn.Module):
    def __init__(self, width, condition):
        super().__init__()
        self.silu = nn.SiLU()
        self.linear = nn.Linear(condition, 2 * width, bias=False)
        self.norm = nn.LayerNorm(width, eps=1e-6, bias=False)

    def forward(self, x, condition):
        scale, shift = self.linear(self.silu(condition).to(x.dtype)).chunk(2, dim=1)
        return self.norm(x) * (1 + scale)[:, None, :] + shift[:, None, :]


class GEGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, 2 * inner, bias=False)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.hidden_size
        self.norm1 = AdaptiveNorm(width, width)
        self.attn1 = Attention(width, config.num_attention_heads, width)
        self.norm2 = AdaptiveNorm(width, width)
        self.attn2 = Attention(width, config.num_attention_heads, width)
        self.norm3 = AdaptiveNorm(width, width)
        self.net = nn.ModuleList(
            [
                GEGLU(width, config.intermediate_size),
                nn.Dropout(0.0),
                nn.Linear(config.intermediate_size, width, bias=False),
            ]
        )

    def forward(self, x, context, condition):
        x = self.attn1(self.norm1(x, condition)) + x
        x = self.attn2(self.norm2(x, condition), context) + x
        hidden = self.norm3(x, condition)
        for layer in self.net:
            hidden = layer(hidden)
        return hidden + x


class ResponseNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, 1, width))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, width))

    def forward(self, x):
        size = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        relative = size / (size.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * relative) + self.beta + x


class ConvNextBlock(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm = RMSNorm(channels)
        self.channelwise_linear_1 = nn.Linear(channels, 4 * channels, bias=False)
        self.channelwise_act = nn.GELU()
        self.channelwise_norm = ResponseNorm(4 * channels)
        self.channelwise_linear_2 = nn.Linear(4 * channels, channels, bias=False)
        self.cond_embeds_mapper = nn.Linear(hidden, 2 * channels, bias=False)

    def forward(self, x, condition):
        residual = x
        x = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        x = self.channelwise_norm(self.channelwise_act(self.channelwise_linear_1(x)))
        x = self.channelwise_linear_2(x).permute(0, 3, 1, 2) + residual
        scale, shift = self.cond_embeds_mapper(F.silu(condition)).chunk(2, dim=1)
        return x * (1 + scale[:, :, None, None]) + shift[:, :, None, None]


class SkipBlock(nn.Module):
    def __init__(self, width, heads, source):
        super().__init__()
        self.kv_mapper = nn.Linear(source, width, bias=False) if source != width else None
        self.norm1 = RMSNorm(width)
        self.attn1 = Attention(width, heads, width)
        self.norm2 = RMSNorm(width)
        self.attn2 = Attention(width, heads, width)

    def forward(self, x, context):
        if self.kv_mapper is not None:
            context = self.kv_mapper(F.silu(context))
        x = self.attn1(self.norm1(x), context) + x
        return self.attn2(self.norm2(x), context) + x


class Down(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = RMSNorm(channels)
        self.conv = nn.Conv2d(channels, channels, 2, stride=2, bias=False)

    def forward(self, x):
        return self.conv(self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


class Up(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = RMSNorm(channels)
        self.conv = nn.ConvTranspose2d(channels, channels, 2, stride=2, bias=False)

    def forward(self, x):
        return self.conv(self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


class UVitBlock(nn.Module):
    def __init__(self, config, down, up):
        super().__init__()
        channels = config.block_out_channels
        self.downsample = Down(channels) if down else None
        self.res_blocks = nn.ModuleList(
            [ConvNextBlock(channels, config.hidden_size) for _ in range(config.num_res_blocks)]
        )
        self.attention_blocks = nn.ModuleList(
            [SkipBlock(channels, config.block_num_heads, config.hidden_size) for _ in range(config.num_res_blocks)]
        )
        self.upsample = Up(channels) if up else None

    def forward(self, x, condition, context):
        if self.downsample is not None:
            x = self.downsample(x)
        for convolution, attention in zip(self.res_blocks, self.attention_blocks):
            x = convolution(x, condition)
            batch, channels, height, width = x.shape
            x = attention(x.view(batch, channels, height * width).permute(0, 2, 1), context)
            x = x.permute(0, 2, 1).view(batch, channels, height, width)
        return x if self.upsample is None else self.upsample(x)


class UVit2DModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        hidden, channels = config.hidden_size, config.block_out_channels
        self.encoder_proj = nn.Linear(config.encoder_hidden_size, hidden, bias=False)
        self.encoder_proj_layer_norm = RMSNorm(hidden)
        self.embeddings = nn.Embedding(config.vocab_size, config.in_channels)
        self.embedding_norm = RMSNorm(config.in_channels)
        self.embedding_conv = nn.Conv2d(config.in_channels, channels, 1, bias=False)
        self.cond_embed = TimestepEmbedding(config.micro_cond_embed_dim + config.cond_embed_dim, hidden, bias=False)
        self.down_block = UVitBlock(config, config.downsample, False)
        self.project_to_hidden_norm = RMSNorm(channels)
        self.project_to_hidden = nn.Linear(channels, hidden, bias=False)
        self.transformer_layers = nn.ModuleList([TransformerBlock(config) for _ in range(config.num_hidden_layers)])
        self.project_from_hidden_norm = RMSNorm(hidden)
        self.project_from_hidden = nn.Linear(hidden, channels, bias=False)
        self.up_block = UVitBlock(config, False, config.upsample)
        self.head_conv1 = nn.Conv2d(channels, config.in_channels, 1, bias=False)
        self.head_norm = RMSNorm(config.in_channels)
        self.head_conv2 = nn.Conv2d(config.in_channels, config.codebook_size, 1, bias=False)

    def forward(self, input_ids, encoder_hidden_states, pooled_text_emb, micro_conds, cross_attention_kwargs=None):
        context = self.encoder_proj_layer_norm(self.encoder_proj(encoder_hidden_states))
        sizes = timestep_embedding(micro_conds.flatten(), self.config.micro_cond_encode_dim)
        sizes = sizes.reshape((input_ids.shape[0], -1))
        condition = torch.cat([pooled_text_emb, sizes], dim=1).to(dtype=self.dtype)
        condition = self.cond_embed(condition).to(context.dtype)
        x = self.embedding_norm(self.embeddings(input_ids)).permute(0, 3, 1, 2)
        x = self.down_block(self.embedding_conv(x), condition, context)
        batch, channels, height, width = x.shape
        x = x.permute(0, 2, 3, 1).reshape(batch, height * width, channels)
        x = self.project_to_hidden(self.project_to_hidden_norm(x))
        # Not self.call: up to diffusers 0.32 the switch is an empty method of this class, and from 0.33 its checkpointed
        # layer refuses the keywords it is called with: a run that steps keeps every layer's tensors.
        for layer in self.transformer_layers:
            x = layer(x, context, condition)
        x = self.project_from_hidden(self.project_from_hidden_norm(x))
        x = x.reshape(batch, height, width, channels).permute(0, 3, 1, 2)
        x = self.head_conv1(self.up_block(x, condition, context))
        return self.head_conv2(self.head_norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


class Latents:
    def __init__(self, latents):
        self.latents = latents


class VQModel(DiffusionPreTrainedModel):
    """Images to tokens and back."""

    def __init__(self, config):
        super().__init__(config)
        self.encoder = Encoder(config)
        self.encoder.conv_out = nn.Conv2d(config.block_out_channels[-1], config.latent_channels, 3, padding=1)
        self.quant_conv = nn.Conv2d(config.latent_channels, config.latent_channels, 1)
        self.codebook = nn.Embedding(config.num_vq_embeddings, config.latent_channels)
        self.post_quant_conv = nn.Conv2d(config.latent_channels, config.latent_channels, 1)
        self.decoder = Decoder(config)

    def encode(self, x, return_dict=True):
        return Latents(self.quant_conv(self.encoder(x, self.call)))

    def quantize(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, self.config.latent_channels)
        tokens = torch.argmin(torch.cdist(flat, self.codebook.weight), dim=1)
        return z, None, (None, None, tokens)
