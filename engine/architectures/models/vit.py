"""ViT as transformers builds it, and DeiT (a second, distillation token)."""

import torch
import torch.nn as nn

from engine.architectures.models.foundation import (
    ModelOutput,
    PreTrainedModel,
    activation,
    attend,
    classification_loss,
)


def pair(value):
    return value if isinstance(value, (tuple, list)) else (value, value)


class ViTPatchEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        height, width = pair(config.image_size)
        patch_height, patch_width = pair(config.patch_size)
        self.num_patches = (height // patch_height) * (width // patch_width)
        self.projection = nn.Conv2d(
            config.num_channels, config.hidden_size, kernel_size=config.patch_size, stride=config.patch_size
        )

    def forward(self, pixel_values):
        return self.projection(pixel_values).flatten(2).transpose(1, 2)


class ViTEmbeddings(nn.Module):
    extra_tokens = 1

    def __init__(self, config):
        super().__init__()
        self.cls_token = nn.Parameter(torch.randn(1, 1, config.hidden_size))
        if self.extra_tokens == 2:
            self.distillation_token = nn.Parameter(torch.zeros(1, 1, config.hidden_size))
        self.patch_embeddings = ViTPatchEmbeddings(config)
        count = self.patch_embeddings.num_patches + self.extra_tokens
        self.position_embeddings = nn.Parameter(torch.randn(1, count, config.hidden_size))
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, pixel_values):
        batch = pixel_values.shape[0]
        embeddings = self.patch_embeddings(pixel_values)
        cls_tokens = self.cls_token.expand(batch, -1, -1)
        if self.extra_tokens == 2:
            embeddings = torch.cat((cls_tokens, self.distillation_token.expand(batch, -1, -1), embeddings), dim=1)
        else:
            embeddings = torch.cat((cls_tokens, embeddings), dim=1)
        embeddings = embeddings + self.position_embeddings
        return self.dropout(embeddings)


class ViTAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.scaling = self.head_dim**-0.5
        self.attention_dropout = config.attention_probs_dropout_prob
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=config.qkv_bias)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        shape = (hidden_states.shape[0], hidden_states.shape[1], -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        dropout = self.attention_dropout if self.training else 0.0
        output = attend(self.config, query, key, value, None, dropout, self.scaling, causal=False, softmax="float32")
        return self.o_proj(output.reshape(hidden_states.shape[0], hidden_states.shape[1], -1))


class ViTMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation_fn = activation(config.hidden_act)
        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size)
        self.fc2 = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states):
        hidden_states = self.fc1(hidden_states)
        hidden_states = self.activation_fn(hidden_states)
        return self.fc2(hidden_states)


class ViTLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = ViTAttention(config)
        self.layernorm_before = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.layernorm_after = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.mlp = ViTMLP(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.layernorm_before(hidden_states)
        hidden_states = self.attention(hidden_states)
        hidden_states = self.dropout(hidden_states)
        hidden_states = hidden_states + residual
        residual = hidden_states
        hidden_states = self.layernorm_after(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.dropout(hidden_states)
        return hidden_states + residual


class ViTPooler(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = getattr(config, "pooler_output_size", None)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size if width is None else width)
        self.activation = activation(getattr(config, "pooler_act", "tanh"))

    def forward(self, hidden_states):
        return self.activation(self.dense(hidden_states[:, 0]))


class ViTPreTrainedModel(PreTrainedModel):
    base_model_prefix = "vit"


class ViTModel(ViTPreTrainedModel):
    embeddings_class = ViTEmbeddings
    layer_class = ViTLayer

    def __init__(self, config, add_pooling_layer=True):
        super().__init__(config)
        self.embeddings = self.embeddings_class(config)
        self.layers = nn.ModuleList([self.layer_class(config) for _ in range(config.num_hidden_layers)])
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.pooler = ViTPooler(config) if add_pooling_layer else None
        self.gradient_checkpointing = False

    def get_input_embeddings(self):
        return self.embeddings.patch_embeddings

    def forward(self, pixel_values=None, output_hidden_states=None, **kwargs):
        pixel_values = pixel_values.to(self.embeddings.patch_embeddings.projection.weight.dtype)
        hidden_states = self.embeddings(pixel_values)
        wanted = self.wants_hidden_states(output_hidden_states)
        kept = ()
        for layer in self.layers:
            if wanted:
                kept = kept + (hidden_states,)
            hidden_states = self.layer_call(layer, hidden_states)
        if wanted:
            kept = kept + (hidden_states,)
        output = self.layernorm(hidden_states)
        pooled = self.pooler(output) if self.pooler is not None else None
        return ModelOutput(last_hidden_state=output, pooler_output=pooled, hidden_states=kept if wanted else None)


class ViTForImageClassification(ViTPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.vit = ViTModel(config, add_pooling_layer=False)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, pixel_values=None, labels=None, **kwargs):
        outputs = self.vit(pixel_values, **kwargs)
        logits = self.classifier(outputs.last_hidden_state[:, 0, :])
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class DeiTEmbeddings(ViTEmbeddings):
    extra_tokens = 2


class DeiTLayer(ViTLayer):
    pass


class DeiTModel(ViTModel):
    base_model_prefix = "deit"
    embeddings_class = DeiTEmbeddings
    layer_class = DeiTLayer


class DeiTForImageClassification(PreTrainedModel):
    base_model_prefix = "deit"

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.deit = DeiTModel(config, add_pooling_layer=False)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, pixel_values=None, labels=None, **kwargs):
        outputs = self.deit(pixel_values, **kwargs)
        logits = self.classifier(outputs.last_hidden_state[:, 0, :])
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)
