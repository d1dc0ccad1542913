"""ConvNeXt, versions 1 and 2, as transformers builds them."""

import torch
import torch.nn as nn

from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, classification_loss
from engine.architectures.models.imaging import path_rates, scaled_drop_path


class ConvNextLayerNorm(nn.LayerNorm):
    """Over the channels of (batch, channels, height, width)."""

    def forward(self, features):
        return super().forward(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextV2GRN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, 1, 1, dim))
        self.bias = nn.Parameter(torch.zeros(1, 1, 1, dim))

    def forward(self, features):
        spread = torch.linalg.vector_norm(features, ord=2, dim=(1, 2), keepdim=True)
        relative = spread / (spread.mean(dim=-1, keepdim=True) + 1e-6)
        features = self.weight * (features * relative) + self.bias + features
        return features


class ConvNextEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.patch_embeddings = nn.Conv2d(
            config.num_channels, config.hidden_sizes[0], kernel_size=config.patch_size, stride=config.patch_size
        )
        self.layernorm = ConvNextLayerNorm(config.hidden_sizes[0], eps=1e-6)

    def forward(self, pixel_values):
        return self.layernorm(self.patch_embeddings(pixel_values))


class ConvNextLayer(nn.Module):
    def __init__(self, config, dim, rate):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.layernorm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.act = activation(config.hidden_act)
        self.layer_scale_parameter = None
        self.build(config, dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.drop_path = scaled_drop_path(rate)

    def build(self, config, dim):
        self.grn = None
        if config.layer_scale_init_value > 0:
            self.layer_scale_parameter = nn.Parameter(config.layer_scale_init_value * torch.ones(dim))

    def forward(self, features):
        residual = features
        features = self.dwconv(features)
        features = features.permute(0, 2, 3, 1)
        features = self.layernorm(features)
        features = self.pwconv1(features)
        features = self.act(features)
        if self.grn is not None:
            features = self.grn(features)
        features = self.pwconv2(features)
        if self.layer_scale_parameter is not None:
            features = self.layer_scale_parameter * features
        features = features.permute(0, 3, 1, 2)
        return residual + self.drop_path(features)


class ConvNextV2Layer(ConvNextLayer):
    def build(self, config, dim):
        self.grn = ConvNextV2GRN(4 * dim)


class ConvNextStage(nn.Module):
    def __init__(self, config, layer_class, inputs, width, rates, first):
        super().__init__()
        down = []
        if not first:
            down = [ConvNextLayerNorm(inputs, eps=1e-6), nn.Conv2d(inputs, width, kernel_size=2, stride=2)]
        self.downsampling_layer = nn.ModuleList(down)
        self.layers = nn.ModuleList([layer_class(config, width, rate) for rate in rates])

    def forward(self, features):
        for layer in self.downsampling_layer:
            features = layer(features)
        for layer in self.layers:
            features = layer(features)
        return features


class ConvNextEncoder(nn.Module):
    def __init__(self, config, layer_class):
        super().__init__()
        rates = path_rates(config.drop_path_rate, sum(config.depths))
        stages = []
        done = 0
        inputs = config.hidden_sizes[0]
        for index, depth in enumerate(config.depths):
            width = config.hidden_sizes[index]
            stages.append(ConvNextStage(config, layer_class, inputs, width, rates[done : done + depth], index == 0))
            done = done + depth
            inputs = width
        self.stages = nn.ModuleList(stages)


class ConvNextPreTrainedModel(PreTrainedModel):
    base_model_prefix = "convnext"


class ConvNextModel(ConvNextPreTrainedModel):
    layer_class = ConvNextLayer

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = ConvNextEmbeddings(config)
        self.encoder = ConvNextEncoder(config, self.layer_class)
        self.layernorm = nn.LayerNorm(config.hidden_sizes[-1], eps=config.layer_norm_eps)

    def get_input_embeddings(self):
        return self.embeddings.patch_embeddings

    def forward(self, pixel_values=None, output_hidden_states=None, **kwargs):
        features = self.embeddings(pixel_values)
        kept = (features,)
        wanted = self.wants_hidden_states(output_hidden_states)
        for stage in self.encoder.stages:
            features = stage(features)
            if wanted:
                kept = kept + (features,)
        pooled = self.layernorm(features.mean([-2, -1]))
        return ModelOutput(last_hidden_state=features, pooler_output=pooled, hidden_states=kept if wanted else None)


class ConvNextForImageClassification(ConvNextPreTrainedModel):
    model_class = ConvNextModel

    def __init__(self, config):
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.model_class(config))
        self.classifier = nn.Linear(config.hidden_sizes[-1], config.num_labels) if config.num_labels else nn.Identity()

    def forward(self, pixel_values=None, labels=None, **kwargs):
        outputs = self.base_model(pixel_values, **kwargs)
        logits = self.classifier(outputs.pooler_output)
        loss = None
        if labels is not None:
            loss = classification_loss(logits, labels, self.config)
        return ModelOutput(loss=loss, logits=logits, hidden_states=outputs.hidden_states)


class ConvNextV2Model(ConvNextModel):
    base_model_prefix = "convnextv2"
    layer_class = ConvNextV2Layer


class ConvNextV2ForImageClassification(ConvNextForImageClassification):
    base_model_prefix = "convnextv2"
    model_class = ConvNextV2Model
