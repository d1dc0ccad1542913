"""Swin Transformer as transformers builds it: attention within windows, every second layer with shifted ones."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, attend, classification_loss
from engine.architectures.models.imaging import path_rates, scaled_drop_path
from engine.architectures.models.vit import pair


class SwinPatchEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        height, width = pair(config.image_size)
        self.patch_size = pair(config.patch_size)
        self.num_patches = (height // self.patch_size[0]) * (width // self.patch_size[1])
        self.projection = nn.Conv2d(
            config.num_channels, config.embed_dim, kernel_size=self.patch_size, stride=self.patch_size
        )

    def forward(self, pixel_values):
        right = -pixel_values.shape[3] % self.patch_size[1]
        bottom = -pixel_values.shape[2] % self.patch_size[0]
        if right:
            pixel_values = F.pad(pixel_values, (0, right))
        if bottom:
            pixel_values = F.pad(pixel_values, (0, 0, 0, bottom))
        embeddings = self.projection(pixel_values)
        size = (embeddings.shape[2], embeddings.shape[3])
        return embeddings.flatten(2).transpose(1, 2), size


class SwinEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.patch_embeddings = SwinPatchEmbeddings(config)
        self.position_embeddings = None
        if config.use_absolute_embeddings:
            self.position_embeddings = nn.Parameter(torch.zeros(1, self.patch_embeddings.num_patches, config.embed_dim))
        self.norm = nn.LayerNorm(config.embed_dim)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, pixel_values):
        embeddings, size = self.patch_embeddings(pixel_values)
        embeddings = self.norm(embeddings)
        if self.position_embeddings is not None:
            embeddings = embeddings + self.position_embeddings
        return self.dropout(embeddings), size


class SwinPatchMerging(nn.Module):
    """Four neighbours become one token of twice the width."""

    def __init__(self, dim):
        super().__init__()
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = nn.LayerNorm(4 * dim)

    def forward(self, x, size):
        height, width = size
        batch, channels = x.shape[0], x.shape[2]
        x = x.view(batch, height, width, channels)
        if height % 2 or width % 2:
            x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
        x = torch.cat([x[:, row::2, column::2, :] for column in range(2) for row in range(2)], dim=-1)
        x = x.view(batch, -1, 4 * channels)
        x = self.norm(x)
        return self.reduction(x)


class SwinRelativePositionBias(nn.Module):
    def __init__(self, heads, window):
        super().__init__()
        self.area = window * window
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        index = torch.zeros(self.area * self.area, dtype=torch.long)
        self.register_buffer("relative_position_index", index, persistent=False)

    def forward(self):
        bias = self.relative_position_bias_table[self.relative_position_index]
        return bias.view(self.area, self.area, -1).permute(2, 0, 1).contiguous().unsqueeze(0)


class SwinAttention(nn.Module):
    def __init__(self, config, width, heads, window):
        super().__init__()
        self.config = config
        self.head_dim = width // heads
        self.scaling = self.head_dim**-0.5
        self.q_proj = nn.Linear(width, width, bias=config.qkv_bias)
        self.k_proj = nn.Linear(width, width, bias=config.qkv_bias)
        self.v_proj = nn.Linear(width, width, bias=config.qkv_bias)
        self.o_proj = nn.Linear(width, width)
        self.relative_position_bias = SwinRelativePositionBias(heads, window)

    def forward(self, hidden_states, shift_mask=None):
        windows, length = hidden_states.shape[0], hidden_states.shape[1]
        shape = (windows, length, -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        bias = self.relative_position_bias()
        mask = bias
        if shift_mask is not None:
            images = windows // shift_mask.shape[0]
            shift_mask = shift_mask.unsqueeze(1).unsqueeze(0).expand(images, -1, -1, -1, -1)
            shift_mask = shift_mask.reshape(-1, 1, length, length)
            mask = bias + shift_mask
        dropout = self.config.attention_probs_dropout_prob if self.training else 0.0
        output = attend(self.config, query, key, value, mask, dropout, self.scaling, causal=False, softmax="float32")
        return self.o_proj(output.reshape(windows, length, -1))


class SwinMLP(nn.Module):
    def __init__(self, config, dim):
        super().__init__()
        self.activation_fn = activation(config.hidden_act)
        self.fc1 = nn.Linear(dim, int(config.mlp_ratio * dim))
        self.fc2 = nn.Linear(int(config.mlp_ratio * dim), dim)

    def forward(self, hidden_states):
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        return self.fc2(hidden_states)


def into_windows(x, window):
    batch, height, width, channels = x.shape
    x = x.view(batch, height // window, window, width // window, window, channels)
    return x.transpose(2, 3).contiguous().view(-1, window, window, channels)


def out_of_windows(windows, window, height, width):
    channels = windows.shape[-1]
    windows = windows.view(-1, height // window, width // window, window, window, channels)
    return windows.transpose(2, 3).contiguous().view(-1, height, width, channels)


class SwinLayer(nn.Module):
    def __init__(self, config, dim, heads, rate, shift):
        super().__init__()
        self.attention = SwinAttention(config, dim, heads, config.window_size)
        self.layernorm_before = nn.LayerNorm(dim, eps=config.layer_norm_eps)
        self.layernorm_after = nn.LayerNorm(dim, eps=config.layer_norm_eps)
        self.mlp = SwinMLP(config, dim)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.window_size = config.window_size
        self.shift_size = shift
        self.drop_path = scaled_drop_path(rate)

    def shift_mask(self, height, width, dtype, device):
        """Which tokens of a shifted window were neighbours before; (windows, area, area)."""
        if self.shift_size <= 0:
            return None
        rows = torch.arange(height, device=device)
        columns = torch.arange(width, device=device)
        rows = (rows >= height - self.window_size).long() + (rows >= height - self.shift_size).long()
        columns = (columns >= width - self.window_size).long() + (columns >= width - self.shift_size).long()
        regions = (rows[None, :, None, None] * 3 + columns[None, None, :, None]).to(dtype)
        windows = into_windows(regions, self.window_size).view(-1, self.window_size * self.window_size)
        mask = windows.unsqueeze(1) - windows.unsqueeze(2)
        return mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)

    def shifted(self, x, direction):
        if self.shift_size > 0:
            return torch.roll(x, shifts=(direction * self.shift_size, direction * self.shift_size), dims=(1, 2))
        return x

    def forward(self, hidden_states, size):
        height, width = size
        if min(size) <= self.window_size:
            self.shift_size = 0
            self.window_size = min(size)
        batch, channels = hidden_states.shape[0], hidden_states.shape[2]
        shortcut = hidden_states
        hidden_states = self.layernorm_before(hidden_states)
        hidden_states = hidden_states.view(batch, height, width, channels)
        right, bottom = -width % self.window_size, -height % self.window_size
        hidden_states = F.pad(hidden_states, (0, 0, 0, right, 0, bottom))
        windows = into_windows(self.shifted(hidden_states, -1), self.window_size)
        windows = windows.view(-1, self.window_size * self.window_size, channels)
        mask = self.shift_mask(height + bottom, width + right, hidden_states.dtype, hidden_states.device)
        attended = self.attention(windows, mask)
        attended = self.dropout(attended)
        attended = attended.view(-1, self.window_size, self.window_size, channels)
        attended = self.shifted(out_of_windows(attended, self.window_size, height + bottom, width + right), 1)
        if right or bottom:
            attended = attended[:, :height, :width, :].contiguous()
        attended = attended.view(batch, height * width, channels)
        hidden_states = shortcut + self.drop_path(attended)
        residual = hidden_states
        hidden_states = self.layernorm_after(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return self.dropout(hidden_states) + residual


class SwinStage(nn.Module):
    """Also lays its output out as an image, which is computed whether or not it is asked for."""

    def __init__(self, config, dim, depth, heads, rates, last):
        super().__init__()
        self.blocks = nn.ModuleList(
            [SwinLayer(config, dim, heads, rates[i], config.window_size // 2 if i % 2 else 0) for i in range(depth)]
        )
        self.downsample = None if last else SwinPatchMerging(dim)

    def forward(self, hidden_states, size):
        for layer in self.blocks:
            hidden_states = layer(hidden_states, size)
        height, width = size
        if self.downsample is not None:
            hidden_states = self.downsample(hidden_states, size)
            height, width = (height + 1) // 2, (width + 1) // 2
        image = hidden_states.view(hidden_states.shape[0], height, width, -1).permute(0, 3, 1, 2).contiguous()
        return hidden_states, image


class SwinEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        rates = path_rates(config.drop_path_rate, sum(config.depths))
        stages = []
        done = 0
        for index, depth in enumerate(config.depths):
            last = index == len(config.depths) - 1
            dim = config.embed_dim * 2**index
            stages.append(SwinStage(config, dim, depth, config.num_heads[index], rates[done : done + depth], last))
            done = done + depth
        self.layers = nn.ModuleList(stages)


class SwinPreTrainedModel(PreTrainedModel):
    base_model_prefix = "swin"


class SwinModel(SwinPreTrainedModel):
    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.num_features = config.embed_dim * 2 ** (len(config.depths) - 1)
        self.embeddings = SwinEmbeddings(config)
        self.encoder = SwinEncoder(config)
        self.layernorm = nn.LayerNorm(self.num_features, eps=config.layer_norm_eps)
        self.pooler = nn.AdaptiveAvgPool1d(1) if add_pooling_layer else None
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.patch_embeddings

    def forward(self, pixel_values=None, output_hidden_states=None, **kwargs):
        hidden_states, size = self.embeddings(pixel_values)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = (hidden_states,)
        images = ()
        for stage in self.encoder.layers:
            hidden_states, image = self.layer_call(stage, hidden_states, size=size)
            if wanted:
                kept = kept + (hidden_states,)
                images = images + (image,)
            size = ((size[0] + 1) // 2, (size[1] + 1) // 2)
        output = self.layernorm(hidden_states)
        pooled = None
        if self.pooler is not None:
            pooled = torch.flatten(self.pooler(output.transpose(1, 2)), 1)
        return ModelOutput(
            last_hidden_state=output,
            pooler_output=pooled,
            hidden_states=kept if wanted else None,
            reshaped_hidden_states=images if wanted else None,
        )


class SwinForImageClassification(SwinPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.swin = SwinModel(config)
        self.classifier = nn.Linear(self.swin.num_features, config.num_labels) if config.num_labels else nn.Identity()

    def forward(self, pixel_values=None, labels=None, **kwargs):
        outputs = self.swin(pixel_values, **kwargs)
        logits = self.classifier(outputs.pooler_output)
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
