"""ViT, DeiT and DINOv2 as timm builds them: fused query-key-value projection, sdpa."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import DropPath, ImageModel, classifier, path_rates


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_heads
        self.head_dim = config.embed_dim // config.num_heads
        self.qkv = nn.Linear(config.embed_dim, config.embed_dim * 3, bias=config.qkv_bias)
        self.attn_drop = nn.Dropout(config.attn_drop_rate)
        self.proj = nn.Linear(config.embed_dim, config.embed_dim)
        self.proj_drop = nn.Dropout(config.proj_drop_rate)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        dropout = self.attn_drop.p if self.training else 0.0
        x = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        x = x.transpose(1, 2).reshape(batch, length, width)
        x = self.proj(x)
        return self.proj_drop(x)


class Mlp(nn.Module):
    def __init__(self, width, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(drop)
        self.fc2 = nn.Linear(hidden, width)
        self.drop2 = nn.Dropout(drop)

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x = self.drop1(x)
        x = self.fc2(x)
        return self.drop2(x)


class SwiGLUPacked(nn.Module):
    """Gate and value in one projection; `hidden` counts both."""

    def __init__(self, width, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.SiLU()
        self.drop1 = nn.Dropout(drop)
        self.fc2 = nn.Linear(hidden // 2, width)
        self.drop2 = nn.Dropout(drop)

    def forward(self, x):
        x = self.fc1(x)
        gate, value = x.chunk(2, dim=-1)
        x = self.act(gate) * value
        x = self.drop1(x)
        x = self.fc2(x)
        return self.drop2(x)


class LayerScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    def __init__(self, config, rate):
        super().__init__()
        width = config.embed_dim
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(config)
        self.ls1 = LayerScale(width) if config.init_values else nn.Identity()
        self.drop_path1 = DropPath(rate) if rate > 0.0 else nn.Identity()
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        mlp = SwiGLUPacked if config.mlp_layer == "swiglu" else Mlp
        self.mlp = mlp(width, int(width * config.mlp_ratio), config.proj_drop_rate)
        self.ls2 = LayerScale(width) if config.init_values else nn.Identity()
        self.drop_path2 = DropPath(rate) if rate > 0.0 else nn.Identity()

    def forward(self, x):
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        x = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return x


class PatchEmbed(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = config.img_size if isinstance(config.img_size, (tuple, list)) else (config.img_size, config.img_size)
        self.num_patches = (size[0] // config.patch_size) * (size[1] // config.patch_size)
        self.proj = nn.Conv2d(
            config.in_chans, config.embed_dim, kernel_size=config.patch_size, stride=config.patch_size, bias=not config.pre_norm
        )

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class VisionTransformer(ImageModel):
    classifier_name = "head"

    def __init__(self, config):
        super().__init__(config)
        width = config.embed_dim
        self.embed_dim = width
        self.num_features = width
        self.global_pool = config.global_pool
        self.no_embed_class = config.no_embed_class
        self.patch_embed = PatchEmbed(config)
        prefix = 0
        self.cls_token = None
        self.dist_token = None
        self.reg_token = None
        if config.class_token:
            self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
            prefix = prefix + 1
        if config.distilled:
            self.dist_token = nn.Parameter(torch.zeros(1, 1, width))
            prefix = prefix + 1
        if config.reg_tokens:
            self.reg_token = nn.Parameter(torch.zeros(1, config.reg_tokens, width))
            prefix = prefix + config.reg_tokens
        self.num_prefix_tokens = prefix
        count = self.patch_embed.num_patches if config.no_embed_class else self.patch_embed.num_patches + prefix
        self.pos_embed = nn.Parameter(torch.zeros(1, count, width))
        self.pos_drop = nn.Dropout(config.pos_drop_rate)
        self.norm_pre = nn.LayerNorm(width, eps=1e-6) if config.pre_norm else nn.Identity()
        rates = path_rates(config.drop_path_rate, config.depth)
        self.blocks = nn.Sequential(*[Block(config, rates[index]) for index in range(config.depth)])
        pooled = config.global_pool == "avg"
        self.norm = nn.Identity() if pooled else nn.LayerNorm(width, eps=1e-6)
        self.fc_norm = nn.LayerNorm(width, eps=1e-6) if pooled else nn.Identity()
        self.head_drop = nn.Dropout(config.drop_rate)
        self.head = classifier(width, config.num_classes)
        self.head_dist = classifier(width, config.num_classes) if config.distilled else None

    def embed(self, x):
        x = self.patch_embed(x)
        tokens = []
        if self.cls_token is not None:
            tokens.append(self.cls_token.expand(x.shape[0], -1, -1))
        if self.dist_token is not None:
            tokens.append(self.dist_token.expand(x.shape[0], -1, -1))
        if self.reg_token is not None:
            tokens.append(self.reg_token.expand(x.shape[0], -1, -1))
        if self.no_embed_class:
            x = x + self.pos_embed
            if tokens:
                x = torch.cat(tokens + [x], dim=1)
        else:
            if tokens:
                x = torch.cat(tokens + [x], dim=1)
            x = x + self.pos_embed
        return self.norm_pre(self.pos_drop(x))

    def forward_features(self, x):
        x = self.embed(x)
        if self.grad_checkpointing and self.training:
            x = self.run(self.blocks, x)
        else:
            x = self.blocks(x)
        return self.norm(x)

    def forward_head(self, x):
        if self.head_dist is not None:
            first = self.head(x[:, 0])
            second = self.head_dist(x[:, 1])
            return (first + second) / 2
        if self.global_pool == "avg":
            x = x[:, self.num_prefix_tokens :].mean(dim=1)
        elif self.global_pool == "token":
            x = x[:, 0]
        x = self.fc_norm(x)
        x = self.head_drop(x)
        return self.head(x)

    def forward(self, x):
        x = self.forward_features(x)
        return self.forward_head(x)
