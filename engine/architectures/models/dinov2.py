"""DINOv2: ViT whose branches are scaled, pre-norm; the largest size has a gated feed-forward."""

import torch
import torch.nn as nn

from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, attend, classification_loss
from engine.architectures.models.imaging import scaled_drop_path
from engine.architectures.models.vit import ViTPatchEmbeddings, pair


class Dinov2PatchEmbeddings(ViTPatchEmbeddings):
    pass


class Dinov2Embeddings(nn.Module):
    registers = 0

    def __init__(self, config):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, config.hidden_size))
        self.mask_token = nn.Parameter(torch.zeros(1, config.hidden_size)) if getattr(config, "use_mask_token", True) else None
        if self.registers:
            self.register_tokens = nn.Parameter(torch.zeros(1, config.num_register_tokens, config.hidden_size))
        self.patch_embeddings = Dinov2PatchEmbeddings(config)
        count = self.patch_embeddings.num_patches + 1
        self.position_embeddings = nn.Parameter(torch.randn(1, count, config.hidden_size))
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.patch_size = pair(config.patch_size)
        self.image_size = pair(config.image_size)

    def positions(self, height, width):
        """The learned positions, resampled in float32 for another size of image."""
        if (height, width) == tuple(self.image_size):
            return self.position_embeddings
        first = self.position_embeddings[:, :1]
        grid = self.position_embeddings[:, 1:]
        dim = grid.shape[-1]
        side = int((grid.shape[1]) ** 0.5)
        grid = grid.reshape(1, side, side, dim).permute(0, 3, 1, 2)
        size = (height // self.patch_size[0], width // self.patch_size[1])
        kept = grid.dtype
        grid = nn.functional.interpolate(grid.to(torch.float32), size=size, mode="bicubic", align_corners=False).to(dtype=kept)
        grid = grid.permute(0, 2, 3, 1).view(1, -1, dim)
        return torch.cat((first, grid), dim=1)

    def forward(self, pixel_values):
        batch = pixel_values.shape[0]
        embeddings = self.patch_embeddings(pixel_values.to(self.patch_embeddings.projection.weight.dtype))
        embeddings = torch.cat((self.cls_token.expand(batch, -1, -1), embeddings), dim=1)
        embeddings = embeddings + self.positions(pixel_values.shape[-2], pixel_values.shape[-1])
        if self.registers:
            tokens = self.register_tokens.expand(batch, -1, -1)
            embeddings = torch.cat((embeddings[:, :1], tokens, embeddings[:, 1:]), dim=1)
        return self.dropout(embeddings)


class Dinov2WithRegistersEmbeddings(Dinov2Embeddings):
    registers = 1


class Dinov2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        dropout = self.config.attention_probs_dropout_prob if self.training else 0.0
        output = attend(self.config, query, key, value, None, dropout, self.scaling, causal=False)
        return self.o_proj(output.reshape(output.shape[0], output.shape[1], -1))


class Dinov2LayerScale(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.lambda1 = nn.Parameter(config.layerscale_value * torch.ones(config.hidden_size))

    def forward(self, hidden_states):
        return hidden_states * self.lambda1


class Dinov2MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation_fn = activation(config.hidden_act)
        self.fc1 = nn.Linear(config.hidden_size, int(config.hidden_size * config.mlp_ratio))
        self.fc2 = nn.Linear(int(config.hidden_size * config.mlp_ratio), config.hidden_size)

    def forward(self, hidden_states):
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        return self.fc2(hidden_states)


class Dinov2SwiGLUFFN(nn.Module):
    """Two thirds of the plain width, rounded up to a multiple of 8."""

    def __init__(self, config):
        super().__init__()
        width = (int(int(config.hidden_size * config.mlp_ratio) * 2 / 3) + 7) // 8 * 8
        self.gate_proj = nn.Linear(config.hidden_size, width)
        self.up_proj = nn.Linear(config.hidden_size, width)
        self.down_proj = nn.Linear(width, config.hidden_size)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Dinov2Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.attention = Dinov2Attention(config)
        self.layer_scale1 = Dinov2LayerScale(config)
        self.drop_path = scaled_drop_path(config.drop_path_rate)
        self.norm2 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.mlp = Dinov2SwiGLUFFN(config) if config.use_swiglu_ffn else Dinov2MLP(config)
        self.layer_scale2 = Dinov2LayerScale(config)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.norm1(hidden_states)
        hidden_states = self.attention(hidden_states)
        hidden_states = self.layer_scale1(hidden_states)
        hidden_states = self.drop_path(hidden_states) + residual
        residual = hidden_states
        hidden_states = self.norm2(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.layer_scale2(hidden_states)
        return self.drop_path(hidden_states) + residual


class Dinov2Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.ModuleList([Dinov2Layer(config) for _ in range(config.num_hidden_layers)])


class Dinov2PreTrainedModel(PreTrainedModel):
    base_model_prefix = "dinov2"


class Dinov2Model(Dinov2PreTrainedModel):
    embeddings_class = Dinov2Embeddings

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = self.embeddings_class(config)
        self.encoder = Dinov2Encoder(config)
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.patch_embeddings

    def forward(self, pixel_values=None, output_hidden_states=None, **kwargs):
        hidden_states = self.embeddings(pixel_values)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.encoder.layer:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(layer, hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        output = self.layernorm(hidden_states)
        return ModelOutput(
            last_hidden_state=output, pooler_output=output[:, 0, :], hidden_states=kept if wanted else None
        )


class Dinov2ForImageClassification(Dinov2PreTrainedModel):
    model_class = Dinov2Model
    first_patch = 1

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.model_class(config))
        self.classifier = nn.Linear(config.hidden_size * 2, config.num_labels) if config.num_labels else nn.Identity()

    def forward(self, pixel_values=None, labels=None, **kwargs):
        outputs = self.base_model(pixel_values, **kwargs)
        output = outputs.last_hidden_state
        patches = output[:, self.first_patch :]
        joined = torch.cat([output[:, 0], patches.mean(dim=1)], dim=1)
        logits = self.classifier(joined)
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class Dinov2WithRegistersModel(Dinov2Model):
    base_model_prefix = "dinov2_with_registers"
    embeddings_class = Dinov2WithRegistersEmbeddings


class Dinov2WithRegistersForImageClassification(Dinov2ForImageClassification):
    base_model_prefix = "dinov2_with_registers"
    model_class = Dinov2WithRegistersModel
