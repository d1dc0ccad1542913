"""DETR: a residual backbone with frozen batch norms, an encoder over its last feature map, a decoder over object queries."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.foundation import ModelOutput, PreTrainedModel, activation, attend


class FrozenBatchNorm(nn.Module):
    """Statistics and affine values are buffers; applied pointwise."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("weight", torch.ones(width))
        self.register_buffer("bias", torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x):
        weight = self.weight.reshape(1, -1, 1, 1)
        scale = weight * (self.running_var.reshape(1, -1, 1, 1) + 1e-5).rsqrt()
        bias = self.bias.reshape(1, -1, 1, 1) - self.running_mean.reshape(1, -1, 1, 1) * scale
        return x * scale + bias


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride=1, dilation=1, project=False):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 1, bias=False)
        self.bn1 = FrozenBatchNorm(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, dilation, dilation, bias=False)
        self.bn2 = FrozenBatchNorm(planes)
        self.conv3 = nn.Conv2d(planes, planes * 4, 1, bias=False)
        self.bn3 = FrozenBatchNorm(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if project:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, planes * 4, 1, stride, bias=False), FrozenBatchNorm(planes * 4))

    def forward(self, x):
        shortcut = x
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        if self.downsample is not None:
            shortcut = self.downsample(shortcut)
        x += shortcut
        return self.relu(x)


class Backbone(nn.Module):
    """ResNet up to its last stage; the stem and the first stage are not trained."""

    def __init__(self, config):
        super().__init__()
        self.conv1 = nn.Conv2d(config.num_channels, 64, 7, 2, 3, bias=False)
        self.bn1 = FrozenBatchNorm(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for index, (planes, count) in enumerate(zip((64, 128, 256, 512), config.backbone_layers)):
            dilated = config.dilation and index == 3
            stride = 1 if index == 0 or dilated else 2
            blocks = [Bottleneck(inputs, planes, stride, 1, True)]
            inputs = planes * 4
            for _ in range(count - 1):
                blocks.append(Bottleneck(inputs, planes, 1, 2 if dilated else 1))
            setattr(self, f"layer{index + 1}", nn.Sequential(*blocks))
        for name, parameter in self.named_parameters():
            if "layer2" not in name and "layer3" not in name and "layer4" not in name:
                parameter.requires_grad_(False)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


class DetrAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.d_model
        self.config = config
        self.heads = config.encoder_attention_heads
        self.scaling = (width // self.heads) ** -0.5
        self.dropout = config.attention_dropout
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.q_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, queries, keys, values):
        query = self.split(self.q_proj(queries))
        key = self.split(self.k_proj(keys))
        value = self.split(self.v_proj(values))
        dropout = self.dropout if self.training else 0.0
        output = attend(self.config, query, key, value, None, dropout, self.scaling, causal=False)
        return self.o_proj(output.reshape(output.shape[0], output.shape[1], -1))


class DetrLayer(nn.Module):
    def __init__(self, config, feed_forward):
        super().__init__()
        self.dropout = config.dropout
        self.self_attn = DetrAttention(config)
        self.self_attn_layer_norm = nn.LayerNorm(config.d_model)
        self.activation_fn = activation(config.activation_function)
        self.fc1 = nn.Linear(config.d_model, feed_forward)
        self.fc2 = nn.Linear(feed_forward, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)

    def drop(self, x):
        return F.dropout(x, p=self.dropout, training=self.training)

    def feed(self, x):
        return self.final_layer_norm(x + self.drop(self.fc2(self.activation_fn(self.fc1(x)))))


class DetrEncoderLayer(DetrLayer):
    def forward(self, x, places):
        placed = x + places
        x = self.self_attn_layer_norm(x + self.drop(self.self_attn(placed, placed, x)))
        return self.feed(x)


class DetrDecoderLayer(DetrLayer):
    def __init__(self, config, feed_forward):
        super().__init__(config, feed_forward)
        self.encoder_attn = DetrAttention(config)
        self.encoder_attn_layer_norm = nn.LayerNorm(config.d_model)

    def forward(self, x, queries, memory, places):
        placed = x + queries
        x = self.self_attn_layer_norm(x + self.drop(self.self_attn(placed, placed, x)))
        attended = self.encoder_attn(x + queries, memory + places, memory)
        x = self.encoder_attn_layer_norm(x + self.drop(attended))
        return self.feed(x)


class DetrEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([DetrEncoderLayer(config, config.encoder_ffn_dim) for _ in range(config.encoder_layers)])


class DetrDecoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([DetrDecoderLayer(config, config.decoder_ffn_dim) for _ in range(config.decoder_layers)])
        self.layernorm = nn.LayerNorm(config.d_model)


class DetrPreTrainedModel(PreTrainedModel):
    base_model_prefix = "model"


class DetrModel(DetrPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.backbone = Backbone(config)
        self.input_projection = nn.Conv2d(2048, config.d_model, 1)
        self.query_position_embeddings = nn.Embedding(config.num_queries, config.d_model)
        self.encoder = DetrEncoder(config)
        self.decoder = DetrDecoder(config)
        self.gradient_checkpointing = False

    def positions(self, features):
        """Sines and cosines of rows and columns, (batch, height * width, width of the model) in float32."""
        batch, _, height, width = features.shape
        counts = torch.ones(batch, height, width, device=features.device).cumsum(1)
        halves = []
        for _ in range(2):
            angles = counts[:, :, :, None] / torch.ones(self.config.d_model // 2, device=features.device)
            halves.append(torch.stack((angles[..., 0::2].sin(), angles[..., 1::2].cos()), dim=4).flatten(3))
        return torch.cat(halves, dim=3).permute(0, 3, 1, 2).flatten(2).permute(0, 2, 1).to(features.dtype)

    def forward(self, pixel_values=None, pixel_mask=None, **kwargs):
        features = self.backbone(pixel_values)
        places = self.positions(features)
        x = self.input_projection(features).flatten(2).permute(0, 2, 1)
        for layer in self.encoder.layers:
            x = self.layer_call(layer, x, places)
        queries = self.query_position_embeddings.weight.unsqueeze(0).repeat(x.shape[0], 1, 1)
        hidden_states = torch.zeros_like(queries)
        kept = ()
        for layer in self.decoder.layers:
            hidden_states = self.layer_call(layer, hidden_states, queries, x, places)
            if self.config.auxiliary_loss:
                kept = kept + (self.decoder.layernorm(hidden_states),)
        hidden_states = self.decoder.layernorm(hidden_states)
        return ModelOutput(last_hidden_state=hidden_states, encoder_last_hidden_state=x, intermediate_hidden_states=kept)


class BoxHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 4)])

    def forward(self, x):
        for layer in self.layers[:2]:
            x = F.relu(layer(x))
        return self.layers[2](x)


class DetrForObjectDetection(DetrPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.model = DetrModel(config)
        self.class_labels_classifier = nn.Linear(config.d_model, config.num_labels + 1)
        self.bbox_predictor = BoxHead(config.d_model)

    def detection_loss(self, logits, boxes):
        """Which box answers for which query depends on data; the losses are as wide for any match."""
        wanted = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
        labels = F.cross_entropy(logits.transpose(1, 2), wanted)
        return labels + 5.0 * F.l1_loss(boxes, torch.zeros_like(boxes))

    def forward(self, pixel_values=None, pixel_mask=None, labels=None, **kwargs):
        outputs = self.model(pixel_values, pixel_mask)
        logits = self.class_labels_classifier(outputs.last_hidden_state)
        boxes = self.bbox_predictor(outputs.last_hidden_state).sigmoid()
        loss = None
        if labels is not None:
            loss = self.detection_loss(logits, boxes)
            for hidden_states in outputs.intermediate_hidden_states[:-1]:
                other = self.class_labels_classifier(hidden_states)
                loss = loss + self.detection_loss(other, self.bbox_predictor(hidden_states).sigmoid())
        return ModelOutput(loss=loss, logits=logits, pred_boxes=boxes, last_hidden_state=outputs.last_hidden_state)
