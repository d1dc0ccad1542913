"""Swin Transformer as torchvision (versions 1 and 2) and timm (version 1) build it: attention within shifted windows."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import DropPath, ImageModel, classifier, path_rates

SHIFTED = 1
WINDOWED = 0


def regions(mask, window, shift):
    """Numbers the parts of an image that a cyclic shift brings together."""
    borders = ((0, -window), (-window, -shift), (-shift, None))
    count = 0
    for top, bottom in borders:
        for left, right in borders:
            mask[top:bottom, left:right] = count
            count = count + 1
    return mask


def separated(windows):
    """-100 between tokens of one window that lie in different regions; (windows, area, area)."""
    mask = windows.unsqueeze(1) - windows.unsqueeze(2)
    return mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)


def partition(x, window):
    batch, height, width, channels = x.shape
    x = x.view(batch, height // window, window, width // window, window, channels)
    return x.permute(0, 1, 3, 2, 4, 5)


def merge(windows, window, height, width, channels):
    windows = windows.view(-1, height // window, width // window, window, window, channels)
    return windows.permute(0, 1, 3, 2, 4, 5)


class PositionBias(nn.Module):
    """What both libraries keep: a table of biases, or in version 2 a small network that makes it."""

    def bias(self, window, heads):
        area = window * window
        self.window_size = window
        self.num_heads = heads
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        return torch.zeros(area * area, dtype=torch.long)

    def biases(self, table):
        area = self.window_size * self.window_size
        found = table[self.relative_position_index.view(-1)].view(area, area, -1)
        return found.permute(2, 0, 1).contiguous().unsqueeze(0)


# torchvision


class ShiftedWindowAttention(PositionBias):
    def __init__(self, dim, window, shifted, heads):
        super().__init__()
        self.shifted = shifted
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.build(window, heads)

    def build(self, window, heads):
        self.register_buffer("relative_position_index", self.bias(window, heads))

    def position_bias(self):
        return self.biases(self.relative_position_bias_table)

    def qkv_bias(self):
        return self.qkv.bias

    def scores(self, query, key):
        query = query * query.shape[-1] ** -0.5
        return query.matmul(key.transpose(-2, -1))

    def shift_mask(self, x, height, width, shift):
        window = self.window_size
        mask = regions(x.new_zeros((height, width)), window, shift)
        mask = mask.view(height // window, window, width // window, window)
        mask = mask.permute(0, 2, 1, 3).reshape(-1, window * window)
        return separated(mask)

    def forward(self, input):
        position_bias = self.position_bias()
        batch, height, width, channels = input.shape
        window, heads = self.window_size, self.num_heads
        x = F.pad(input, (0, 0, 0, -width % window, 0, -height % window))
        padded_height, padded_width = x.shape[1], x.shape[2]
        shift = window // 2 if self.shifted else 0
        rows = 0 if window >= padded_height else shift
        columns = 0 if window >= padded_width else shift
        moved = rows + columns > 0
        if moved:
            x = torch.roll(x, shifts=(-rows, -columns), dims=(1, 2))
        count = (padded_height // window) * (padded_width // window)
        area = window * window
        x = partition(x, window).reshape(batch * count, area, channels)
        qkv = F.linear(x, self.qkv.weight, self.qkv_bias())
        qkv = qkv.reshape(x.size(0), area, 3, heads, channels // heads).permute(2, 0, 3, 1, 4)
        query, key, value = qkv[0], qkv[1], qkv[2]
        weights = self.scores(query, key)
        weights = weights + position_bias
        if moved:
            mask = self.shift_mask(x, padded_height, padded_width, shift)
            weights = weights.view(batch, count, heads, area, area)
            weights = weights + mask.unsqueeze(1).unsqueeze(0)
            weights = weights.view(-1, heads, area, area)
        weights = F.softmax(weights, dim=-1)
        x = weights.matmul(value).transpose(1, 2).reshape(x.size(0), area, channels)
        x = F.linear(x, self.proj.weight, self.proj.bias)
        x = merge(x, window, padded_height, padded_width, channels).reshape(batch, padded_height, padded_width, channels)
        if moved:
            x = torch.roll(x, shifts=(rows, columns), dims=(1, 2))
        return x[:, :height, :width, :].contiguous()


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Cosine attention, and biases from a small network over the offsets."""

    def build(self, window, heads):
        index = self.bias(window, heads)
        del self.relative_position_bias_table
        self.register_buffer("relative_coords_table", torch.zeros(1, 2 * window - 1, 2 * window - 1, 2))
        self.register_buffer("relative_position_index", index)
        self.logit_scale = nn.Parameter(torch.ones(heads, 1, 1))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, heads, bias=False))

    def position_bias(self):
        found = self.biases(self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads))
        return 16 * torch.sigmoid(found)

    def qkv_bias(self):
        bias = self.qkv.bias.clone()
        length = bias.numel() // 3
        bias[length : 2 * length].zero_()
        return bias

    def scores(self, query, key):
        weights = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
        scale = torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        return weights * scale


class PatchMerging(nn.Module):
    """Four neighbours become one token of twice the width; version 2 normalises after the reduction."""

    def __init__(self, dim, version):
        super().__init__()
        self.norm_first = version == 1
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = nn.LayerNorm(4 * dim if self.norm_first else 2 * dim, eps=1e-5)

    def forward(self, x):
        height, width = x.shape[1], x.shape[2]
        x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
        x = torch.cat([x[..., 0::2, 0::2, :], x[..., 1::2, 0::2, :], x[..., 0::2, 1::2, :], x[..., 1::2, 1::2, :]], -1)
        if self.norm_first:
            return self.reduction(self.norm(x))
        return self.norm(self.reduction(x))


class SwinTransformerBlock(nn.Module):
    def __init__(self, dim, heads, config, shifted, rate):
        super().__init__()
        self.norm_first = config.version == 1
        attention = ShiftedWindowAttention if self.norm_first else ShiftedWindowAttentionV2
        self.norm1 = nn.LayerNorm(dim, eps=1e-5)
        self.attn = attention(dim, config.window_size, shifted, heads)
        self.stochastic_depth = DropPath(rate)
        self.norm2 = nn.LayerNorm(dim, eps=1e-5)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(4 * dim, dim), nn.Dropout(0.0)
        )

    def forward(self, x):
        if self.norm_first:
            x = x + self.stochastic_depth(self.attn(self.norm1(x)))
            return x + self.stochastic_depth(self.mlp(self.norm2(x)))
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


class SwinTransformer(ImageModel):
    classifier_name = "head"

    def __init__(self, config):
        super().__init__(config)
        width = config.embed_dim
        patch = config.patch_size
        layers = [
            nn.Sequential(
                nn.Conv2d(3, width, kernel_size=patch, stride=patch), Permute([0, 2, 3, 1]), nn.LayerNorm(width, eps=1e-5)
            )
        ]
        rates = path_rates(config.stochastic_depth_prob, sum(config.depths))
        done = 0
        for stage, depth in enumerate(config.depths):
            dim = width * 2**stage
            blocks = []
            for index in range(depth):
                shifted = SHIFTED if index % 2 else WINDOWED
                blocks.append(SwinTransformerBlock(dim, config.num_heads[stage], config, shifted, rates[done + index]))
            done = done + depth
            layers.append(nn.Sequential(*blocks))
            if stage < len(config.depths) - 1:
                layers.append(PatchMerging(dim, config.version))
        self.features = nn.Sequential(*layers)
        features = width * 2 ** (len(config.depths) - 1)
        self.norm = nn.LayerNorm(features, eps=1e-5)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = classifier(features, config.num_classes)

    def forward(self, x):
        x = self.features(x)
        x = self.norm(x)
        x = self.permute(x)
        x = self.avgpool(x)
        x = self.flatten(x)
        return self.head(x)


# timm


class WindowAttention(PositionBias):
    def __init__(self, dim, heads, window):
        super().__init__()
        self.scale = (dim // heads) ** -0.5
        area = window * window
        index = self.bias(window, heads).view(area, area)
        self.register_buffer("relative_position_index", index, persistent=False)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.attn_drop = nn.Dropout(0.0)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(0.0)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, mask=None):
        windows, length, channels = x.shape
        qkv = self.qkv(x).reshape(windows, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        query = query * self.scale
        weights = query @ key.transpose(-2, -1)
        weights = weights + self.biases(self.relative_position_bias_table)
        if mask is not None:
            count = mask.shape[0]
            weights = weights.view(-1, count, self.num_heads, length, length) + mask.unsqueeze(1).unsqueeze(0)
            weights = weights.view(-1, self.num_heads, length, length)
        weights = self.softmax(weights)
        weights = self.attn_drop(weights)
        x = weights @ value
        x = x.transpose(1, 2).reshape(windows, length, -1)
        return self.proj_drop(self.proj(x))


class TimmMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(0.0)
        self.fc2 = nn.Linear(4 * dim, dim)
        self.drop2 = nn.Dropout(0.0)

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x = self.drop1(x)
        x = self.fc2(x)
        return self.drop2(x)


class TimmSwinBlock(nn.Module):
    def __init__(self, dim, size, heads, window, shifted, rate):
        super().__init__()
        self.window_size = min(size, window)
        self.shift_size = window // 2 if shifted and size > self.window_size else 0
        self.norm1 = nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, heads, self.window_size)
        self.drop_path1 = DropPath(rate) if rate > 0.0 else nn.Identity()
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = TimmMlp(dim)
        self.drop_path2 = DropPath(rate) if rate > 0.0 else nn.Identity()
        mask = None
        if self.shift_size:
            side = -(-size // self.window_size) * self.window_size
            mask = torch.zeros((side // self.window_size) ** 2, self.window_size**2, self.window_size**2)
        self.register_buffer("attn_mask", mask, persistent=False)

    def attend(self, x):
        batch, height, width, channels = x.shape
        window, shift = self.window_size, self.shift_size
        moved = torch.roll(x, shifts=(-shift, -shift), dims=(1, 2)) if shift else x
        moved = F.pad(moved, (0, 0, 0, -width % window, 0, -height % window))
        padded_height, padded_width = moved.shape[1], moved.shape[2]
        windows = partition(moved, window).contiguous().view(-1, window * window, channels)
        attended = self.attn(windows, self.attn_mask)
        moved = merge(attended, window, padded_height, padded_width, channels).contiguous()
        moved = moved.view(-1, padded_height, padded_width, channels)
        moved = moved[:, :height, :width, :].contiguous()
        return torch.roll(moved, shifts=(shift, shift), dims=(1, 2)) if shift else moved

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = x + self.drop_path1(self.attend(self.norm1(x)))
        x = x.reshape(batch, -1, channels)
        x = x + self.drop_path2(self.mlp(self.norm2(x)))
        return x.reshape(batch, height, width, channels)


class TimmPatchMerging(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
        batch, height, width, channels = x.shape
        x = x.reshape(batch, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 4, 2, 5).flatten(3)
        x = self.norm(x)
        return self.reduction(x)


class TimmSwinStage(nn.Module):
    def __init__(self, dim, size, heads, window, rates, first):
        super().__init__()
        self.downsample = nn.Identity() if first else TimmPatchMerging(dim // 2)
        blocks = []
        for index, rate in enumerate(rates):
            blocks.append(TimmSwinBlock(dim, size, heads, window, SHIFTED if index % 2 else WINDOWED, rate))
        self.blocks = nn.Sequential(*blocks)


class TimmPatchEmbed(nn.Module):
    def __init__(self, config):
        super().__init__()
        patch = config.patch_size
        self.proj = nn.Conv2d(config.in_chans, config.embed_dim, kernel_size=patch, stride=patch)
        self.norm = nn.LayerNorm(config.embed_dim)

    def forward(self, x):
        x = self.proj(x)
        x = x.permute(0, 2, 3, 1)
        return self.norm(x)


class TimmHead(nn.Module):
    def __init__(self, features, config):
        super().__init__()
        self.drop = nn.Dropout(config.drop_rate)
        self.fc = classifier(features, config.num_classes)

    def forward(self, x):
        x = x.mean((1, 2))
        x = self.drop(x)
        return self.fc(x)


class TimmSwinTransformer(ImageModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_features = config.embed_dim * 2 ** (len(config.depths) - 1)
        self.patch_embed = TimmPatchEmbed(config)
        rates = path_rates(config.drop_path_rate, sum(config.depths))
        size = config.img_size // config.patch_size
        stages = []
        done = 0
        for index, depth in enumerate(config.depths):
            if index:
                size = (size + 1) // 2
            dim = config.embed_dim * 2**index
            heads = config.num_heads[index]
            stages.append(TimmSwinStage(dim, size, heads, config.window_size, rates[done : done + depth], index == 0))
            done = done + depth
        self.layers = nn.Sequential(*stages)
        self.norm = nn.LayerNorm(self.num_features)
        self.head = TimmHead(self.num_features, config)

    def get_classifier(self):
        return self.head.fc

    def reset_classifier(self, num_classes, global_pool=None):
        self.head.fc = classifier(self.num_features, num_classes)

    def forward_features(self, x):
        x = self.patch_embed(x)
        for stage in self.layers:
            x = self.run(stage.blocks, stage.downsample(x))
        return self.norm(x)

    def forward(self, x):
        return self.head(self.forward_features(x))
