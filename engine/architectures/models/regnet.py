"""RegNet X and Y, as torchvision and timm build them. A stage row is [width, depth, channels a group]."""

import torch.nn as nn

from engine.architectures.models.imaging import DropPath, ImageModel, classifier, path_rates
from engine.architectures.models.torchvision_classics import SqueezeExcitation


def conv_norm_act(inputs, outputs, kernel, stride=1, groups=1, act=True):
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    if act:
        layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


class SqueezeExcite(nn.Module):
    """timm's: a mean instead of pooling, and the input stands first in the product."""

    def __init__(self, channels, reduced):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, reduced, 1)
        self.act = nn.ReLU(inplace=True)
        self.fc2 = nn.Conv2d(reduced, channels, 1)
        self.gate = nn.Sigmoid()

    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        scale = self.fc1(scale)
        scale = self.act(scale)
        scale = self.fc2(scale)
        return x * self.gate(scale)


class ResBottleneckBlock(nn.Module):
    def __init__(self, inputs, width, stride, group, se_ratio, rate=0.0):
        super().__init__()
        self.proj = None
        if inputs != width or stride != 1:
            self.proj = conv_norm_act(inputs, width, 1, stride, act=False)
        layers = [conv_norm_act(inputs, width, 1), conv_norm_act(width, width, 3, stride, width // group)]
        if se_ratio:
            layers.append(self.squeeze(width, round(se_ratio * inputs)))
        layers.append(conv_norm_act(width, width, 1, act=False))
        self.f = nn.Sequential(*layers)
        self.activation = nn.ReLU(inplace=True)
        self.drop_path = DropPath(rate)

    def squeeze(self, width, reduced):
        return SqueezeExcitation(width, reduced, "relu", False)

    def forward(self, x):
        if self.proj is not None:
            x = self.proj(x) + self.f(x)
        else:
            x = x + self.f(x)
        return self.activation(x)


class Bottleneck(ResBottleneckBlock):
    """timm's: the branch is computed before the shortcut."""

    def squeeze(self, width, reduced):
        return SqueezeExcite(width, reduced)

    def forward(self, x):
        shortcut = x
        x = self.f(x)
        x = self.drop_path(x) + (shortcut if self.proj is None else self.proj(shortcut))
        return self.activation(x)


class RegNet(ImageModel):
    classifier_name = "fc"
    block_class = ResBottleneckBlock

    def __init__(self, config):
        super().__init__(config)
        self.stem = conv_norm_act(getattr(config, "in_chans", 3), config.stem_width, 3, 2)
        rates = path_rates(getattr(config, "drop_path_rate", 0.0), sum([depth for _, depth, _ in config.stages]))
        inputs = config.stem_width
        stages = []
        done = 0
        for width, depth, group in config.stages:
            blocks = []
            for index in range(depth):
                blocks.append(self.block_class(inputs, width, 1 if index else 2, group, config.se_ratio, rates[done]))
                inputs = width
                done = done + 1
            stages.append(nn.Sequential(*blocks))
        self.trunk_output = nn.Sequential(*stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.num_features = inputs
        self.drop = nn.Dropout(getattr(config, "drop_rate", 0.0))
        self.fc = classifier(inputs, config.num_classes)

    def forward_features(self, x):
        x = self.stem(x)
        for stage in self.trunk_output:
            x = self.run(stage, x)
        return x

    def forward(self, x):
        x = self.avgpool(self.forward_features(x))
        x = x.flatten(start_dim=1)
        return self.fc(self.drop(x))


class TimmRegNet(RegNet):
    block_class = Bottleneck
