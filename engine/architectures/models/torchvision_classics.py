"""VGG, AlexNet, DenseNet, MobileNet V2 and V3, EfficientNet as torchvision builds them."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import Classifier, DropPath, ImageModel, divisible


def make_layers(cfg, batch_norm=False):
    layers = []
    inputs = 3
    for width in cfg:
        if width in ("M", 0):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        else:
            layers.append(nn.Conv2d(inputs, width, kernel_size=3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(width))
            layers.append(nn.ReLU(inplace=True))
            inputs = width
    return nn.Sequential(*layers)


class VGG(Classifier):
    """With the arguments that torchvision's class takes."""

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.num_classes = num_classes
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


class NamedVGG(VGG):
    """One of the catalogue."""

    def __init__(self, config):
        super().__init__(
            make_layers(config.widths, config.batch_norm), num_classes=config.num_classes, dropout=config.dropout
        )


class AlexNet(ImageModel):
    def __init__(self, config):
        super().__init__(config)
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=config.dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=config.dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, config.num_classes),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth, bottleneck):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(inputs, bottleneck * growth, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bottleneck * growth)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bottleneck * growth, growth, kernel_size=3, padding=1, bias=False)

    def forward(self, features):
        joined = torch.cat(features, 1)
        narrow = self.conv1(self.relu1(self.norm1(joined)))
        return self.conv2(self.relu2(self.norm2(narrow)))


class DenseBlock(nn.Module):
    def __init__(self, count, inputs, growth, bottleneck):
        super().__init__()
        self.layers = nn.ModuleList([DenseLayer(inputs + index * growth, growth, bottleneck) for index in range(count)])

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(ImageModel):
    classifier_name = "classifier"

    def __init__(self, config):
        super().__init__(config)
        width = config.num_init_features
        layers = [
            nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        ]
        for index, count in enumerate(config.block_config):
            layers.append(DenseBlock(count, width, config.growth_rate, config.bn_size))
            width = width + count * config.growth_rate
            if index != len(config.block_config) - 1:
                layers.append(nn.BatchNorm2d(width))
                layers.append(nn.ReLU(inplace=True))
                layers.append(nn.Conv2d(width, width // 2, kernel_size=1, bias=False))
                layers.append(nn.AvgPool2d(kernel_size=2, stride=2))
                width = width // 2
        layers.append(nn.BatchNorm2d(width))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(width, config.num_classes)

    def forward(self, x):
        features = self.features(x)
        out = F.relu(features, inplace=True)
        out = F.adaptive_avg_pool2d(out, (1, 1))
        return self.classifier(torch.flatten(out, 1))


def named_activation(name):
    if name == "silu":
        return nn.SiLU(inplace=True)
    if name == "hardswish":
        return nn.Hardswish(inplace=True)
    if name == "relu6":
        return nn.ReLU6(inplace=True)
    return nn.ReLU(inplace=True)


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, act=None, eps=1e-5):
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=(kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=eps),
    ]
    if act is not None:
        layers.append(named_activation(act))
    return nn.Sequential(*layers)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeezed, act, hard):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)
        self.activation = named_activation(act)
        self.scale_activation = nn.Hardsigmoid(inplace=True) if hard else nn.Sigmoid()

    def forward(self, x):
        scale = self.avgpool(x)
        scale = self.activation(self.fc1(scale))
        scale = self.scale_activation(self.fc2(scale))
        return scale * x


class InvertedResidual(nn.Module):
    def __init__(self, inputs, middle, outputs, kernel, stride, squeezed, act, hard, eps, rate, expand):
        super().__init__()
        self.skips = stride == 1 and inputs == outputs
        layers = []
        if expand:
            layers.append(conv_norm(inputs, middle, 1, act=act, eps=eps))
        layers.append(conv_norm(middle, middle, kernel, stride, middle, act, eps))
        if squeezed:
            layers.append(SqueezeExcitation(middle, squeezed, "relu" if hard else act, hard))
        layers.append(conv_norm(middle, outputs, 1, eps=eps))
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = DropPath(rate) if rate else None

    def forward(self, x):
        result = self.block(x)
        if not self.skips:
            return result
        if self.stochastic_depth is not None:
            result = self.stochastic_depth(result)
            result += x
            return result
        return x + result


class EfficientNet(ImageModel):
    """Rows are [expansion, kernel, stride, channels, repeats]."""

    def __init__(self, config):
        super().__init__(config)
        eps = config.bn_eps
        act = config.act
        inputs = self.scaled(32, config)
        layers = [conv_norm(3, inputs, 3, 2, act=act, eps=eps)]
        counts = [math.ceil(row[4] * config.depth_mult) for row in config.rows]
        total = sum(counts)
        done = 0
        for index, row in enumerate(config.rows):
            outputs = self.scaled(row[3], config)
            stage = []
            for repeat in range(counts[index]):
                middle = divisible(inputs * row[0])
                squeezed = max(1, inputs // 4) if config.squeeze else 0
                rate = config.stochastic_depth_prob * done / total
                stride = row[2] if repeat == 0 else 1
                stage.append(
                    InvertedResidual(inputs, middle, outputs, row[1], stride, squeezed, act, False, eps, rate, middle != inputs)
                )
                inputs = outputs
                done = done + 1
            layers.append(nn.Sequential(*stage))
        last = 4 * inputs if config.last_channel == 0 else config.last_channel
        layers.append(conv_norm(inputs, last, 1, act=act, eps=eps))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=config.dropout, inplace=config.squeeze), nn.Linear(last, config.num_classes))

    def scaled(self, channels, config):
        return divisible(channels * config.width_mult)

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


class MobileNetV3(ImageModel):
    """Rows are [inputs, kernel, expanded, outputs, squeeze, activation, stride]."""

    def __init__(self, config):
        super().__init__(config)
        layers = [conv_norm(3, config.rows[0][0], 3, 2, act="hardswish", eps=0.001)]
        outputs = config.rows[0][0]
        for row in config.rows:
            inputs, kernel, middle, outputs = row[0], row[1], row[2], row[3]
            squeezed = divisible(middle // 4) if row[4] else 0
            layers.append(
                InvertedResidual(inputs, middle, outputs, kernel, row[6], squeezed, row[5], True, 0.001, 0.0, middle != inputs)
            )
        layers.append(conv_norm(outputs, 6 * outputs, 1, act="hardswish", eps=0.001))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * outputs, config.last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=config.dropout, inplace=True),
            nn.Linear(config.last_channel, config.num_classes),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))
