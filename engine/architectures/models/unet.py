"""The conditional UNet of Stable Diffusion 1, 2 and XL."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.diffusion import DiffusionPreTrainedModel, TimestepEmbedding, timestep_embedding


class ResnetBlock2D(nn.Module):
    def __init__(self, inputs, outputs, temb):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs, eps=1e-5)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time_emb_proj = nn.Linear(temb, outputs)
        self.norm2 = nn.GroupNorm(32, outputs, eps=1e-5)
        self.dropout = nn.Dropout(0.0)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.nonlinearity = nn.SiLU()
        self.conv_shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x, temb):
        hidden = self.norm1(x)
        hidden = self.nonlinearity(hidden)
        hidden = self.conv1(hidden)
        temb = self.time_emb_proj(self.nonlinearity(temb))[:, :, None, None]
        hidden = hidden + temb
        hidden = self.norm2(hidden)
        hidden = self.nonlinearity(hidden)
        hidden = self.dropout(hidden)
        hidden = self.conv2(hidden)
        if self.conv_shortcut is not None:
            x = self.conv_shortcut(x)
        return (x + hidden) / 1.0


class Attention(nn.Module):
    def __init__(self, width, heads, source):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(source, width, bias=False)
        self.to_v = nn.Linear(source, width, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(width, width), nn.Dropout(0.0)])

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def forward(self, x, context=None):
        source = x if context is None else context
        query = self.to_q(x)
        key = self.to_k(source)
        value = self.to_v(source)
        output = F.scaled_dot_product_attention(self.split(query), self.split(key), self.split(value))
        output = output.transpose(1, 2).reshape(x.shape[0], -1, x.shape[2])
        return self.to_out[1](self.to_out[0](output)) / 1.0


class GEGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.proj = nn.Linear(width, inner * 2)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.ModuleList([GEGLU(width, 4 * width), nn.Dropout(0.0), nn.Linear(4 * width, width)])

    def forward(self, x):
        for layer in self.net:
            x = layer(x)
        return x


class BasicTransformerBlock(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn1 = Attention(width, heads, width)
        self.norm2 = nn.LayerNorm(width)
        self.attn2 = Attention(width, heads, context)
        self.norm3 = nn.LayerNorm(width)
        self.ff = FeedForward(width)

    def forward(self, x, context):
        x = self.attn1(self.norm1(x)) + x
        x = self.attn2(self.norm2(x), context) + x
        return self.ff(self.norm3(x)) + x


class Transformer2DModel(nn.Module):
    def __init__(self, width, heads, depth, config):
        super().__init__()
        self.linear = config.use_linear_projection
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.proj_in = nn.Linear(width, width) if self.linear else nn.Conv2d(width, width, 1)
        self.transformer_blocks = nn.ModuleList(
            [BasicTransformerBlock(width, heads, config.cross_attention_dim) for _ in range(depth)]
        )
        self.proj_out = nn.Linear(width, width) if self.linear else nn.Conv2d(width, width, 1)

    def forward(self, x, context, run):
        batch, width, height, breadth = x.shape
        residual = x
        x = self.norm(x)
        if not self.linear:
            x = self.proj_in(x)
        x = x.permute(0, 2, 3, 1).reshape(batch, height * breadth, width)
        if self.linear:
            x = self.proj_in(x)
        for block in self.transformer_blocks:
            x = run(block, x, context)
        if self.linear:
            x = self.proj_out(x)
        x = x.reshape(batch, height, breadth, width).permute(0, 3, 1, 2).contiguous()
        if not self.linear:
            x = self.proj_out(x)
        return x + residual


class Downsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x)


class Upsample2D(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class DownBlock(nn.Module):
    def __init__(self, inputs, outputs, temb, count, heads, depth, last, config):
        super().__init__()
        self.resnets = nn.ModuleList([ResnetBlock2D(inputs if i == 0 else outputs, outputs, temb) for i in range(count)])
        self.attentions = None
        if depth:
            self.attentions = nn.ModuleList([Transformer2DModel(outputs, heads, depth, config) for _ in range(count)])
        self.downsamplers = None if last else nn.ModuleList([Downsample2D(outputs)])

    def forward(self, x, temb, context, run):
        kept = ()
        for index, resnet in enumerate(self.resnets):
            x = run(resnet, x, temb)
            if self.attentions is not None:
                x = self.attentions[index](x, context, run)
            kept = kept + (x,)
        if self.downsamplers is not None:
            x = self.downsamplers[0](x)
            kept = kept + (x,)
        return x, kept


class MidBlock(nn.Module):
    def __init__(self, width, temb, heads, depth, config):
        super().__init__()
        self.attentions = nn.ModuleList([Transformer2DModel(width, heads, depth, config)])
        self.resnets = nn.ModuleList([ResnetBlock2D(width, width, temb), ResnetBlock2D(width, width, temb)])

    def forward(self, x, temb, context, run):
        x = run(self.resnets[0], x, temb)
        x = self.attentions[0](x, context, run)
        return run(self.resnets[1], x, temb)


class UpBlock(nn.Module):
    def __init__(self, skip, before, outputs, temb, count, heads, depth, last, config):
        super().__init__()
        resnets = []
        for index in range(count):
            skipped = skip if index == count - 1 else outputs
            resnets.append(ResnetBlock2D((before if index == 0 else outputs) + skipped, outputs, temb))
        self.resnets = nn.ModuleList(resnets)
        self.attentions = None
        if depth:
            self.attentions = nn.ModuleList([Transformer2DModel(outputs, heads, depth, config) for _ in range(count)])
        self.upsamplers = None if last else nn.ModuleList([Upsample2D(outputs)])

    def forward(self, x, kept, temb, context, run):
        for index, resnet in enumerate(self.resnets):
            x = torch.cat([x, kept[-1]], dim=1)
            kept = kept[:-1]
            x = run(resnet, x, temb)
            if self.attentions is not None:
                x = self.attentions[index](x, context, run)
        if self.upsamplers is not None:
            x = self.upsamplers[0](x)
        return x


class UNet2DConditionModel(DiffusionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        widths = config.block_out_channels
        heads = config.attention_heads
        depths = config.transformer_depths
        temb = widths[0] * 4
        count = config.layers_per_block
        self.conv_in = nn.Conv2d(config.in_channels, widths[0], 3, padding=1)
        self.time_embedding = TimestepEmbedding(widths[0], temb)
        self.add_embedding = None
        if config.projection_class_embeddings_input_dim:
            self.add_embedding = TimestepEmbedding(config.projection_class_embeddings_input_dim, temb)
        down = []
        before = widths[0]
        for index, width in enumerate(widths):
            last = index == len(widths) - 1
            down.append(DownBlock(before, width, temb, count, heads[index], depths[index], last, config))
            before = width
        self.down_blocks = nn.ModuleList(down)
        self.mid_block = MidBlock(widths[-1], temb, heads[-1], max(depths[-1], config.mid_depth), config)
        up = []
        before = widths[-1]
        for index in range(len(widths)):
            place = len(widths) - 1 - index
            skip = widths[max(place - 1, 0)]
            last = index == len(widths) - 1
            width = widths[place]
            up.append(UpBlock(skip, before, width, temb, count + 1, heads[place], depths[place], last, config))
            before = width
        self.up_blocks = nn.ModuleList(up)
        self.conv_norm_out = nn.GroupNorm(32, widths[0], eps=1e-5)
        self.conv_act = nn.SiLU()
        self.conv_out = nn.Conv2d(widths[0], config.out_channels, 3, padding=1)

    def forward(self, sample, timestep, encoder_hidden_states=None, added_cond_kwargs=None, return_dict=True, **kwargs):
        width = self.config.block_out_channels[0]
        if not torch.is_tensor(timestep):
            timestep = torch.tensor([timestep], dtype=torch.long, device=sample.device)
        timestep = timestep.expand(sample.shape[0])
        temb = self.time_embedding(timestep_embedding(timestep, width).to(dtype=sample.dtype))
        if self.add_embedding is not None:
            ids = added_cond_kwargs["time_ids"].flatten()
            ids = timestep_embedding(ids, 256).reshape(sample.shape[0], -1)
            joined = torch.cat([added_cond_kwargs["text_embeds"], ids], dim=-1).to(temb.dtype)
            temb = temb + self.add_embedding(joined)
        sample = self.conv_in(sample)
        kept = (sample,)
        for block in self.down_blocks:
            sample, more = block(sample, temb, encoder_hidden_states, self.call)
            kept = kept + more
        sample = self.mid_block(sample, temb, encoder_hidden_states, self.call)
        for block in self.up_blocks:
            count = len(block.resnets)
            taken = kept[-count:]
            kept = kept[:-count]
            sample = block(sample, taken, temb, encoder_hidden_states, self.call)
        sample = self.conv_norm_out(sample)
        sample = self.conv_act(sample)
        return self.answer(self.conv_out(sample), return_dict)
