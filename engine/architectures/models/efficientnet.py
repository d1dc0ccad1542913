"""EfficientNet, MobileNet V2 and MobileNet V3 as timm builds them: stages of blocks read from the configuration.

A block row is [kind, repeats, kernel, stride, expansion, channels, squeeze ratio, activation]; kind "ds" is depthwise-separable,
"ir" an inverted residual, "er" an edge residual, "cn" a plain convolution.
"""

import math

import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import DropPath, ImageModel, classifier, divisible


def act(name):
    if name == "silu":
        return nn.SiLU(inplace=True)
    if name == "hard_swish":
        return nn.Hardswish(inplace=True)
    if name == "relu6":
        return nn.ReLU6(inplace=True)
    return nn.ReLU(inplace=True)


class SameConv2d(nn.Conv2d):
    """Pads as TensorFlow does, to the input's own size."""

    def forward(self, x):
        height, width = x.shape[-2], x.shape[-1]
        kernel, stride = self.kernel_size[0], self.stride[0]
        pad_h = max((math.ceil(height / stride) - 1) * stride + kernel - height, 0)
        pad_w = max((math.ceil(width / stride) - 1) * stride + kernel - width, 0)
        x = F.pad(x, (pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2))
        return F.conv2d(x, self.weight, self.bias, self.stride, (0, 0), self.dilation, self.groups)


def conv(config, inputs, outputs, kernel, stride=1, groups=1):
    if config.pad_type == "same" and stride > 1:
        return SameConv2d(inputs, outputs, kernel, stride=stride, groups=groups, bias=False)
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=(kernel - 1) // 2, groups=groups, bias=False)


class BatchNormAct2d(nn.BatchNorm2d):
    def __init__(self, channels, config, name=None):
        super().__init__(channels, eps=config.bn_eps)
        self.act = act(name) if name is not None else nn.Identity()

    def forward(self, x):
        return self.act(super().forward(x))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced, name, hard):
        super().__init__()
        self.conv_reduce = nn.Conv2d(channels, reduced, 1)
        self.act1 = act(name)
        self.conv_expand = nn.Conv2d(reduced, channels, 1)
        self.gate = nn.Hardsigmoid() if hard else nn.Sigmoid()

    def forward(self, x):
        squeezed = x.mean((2, 3), keepdim=True)
        squeezed = self.conv_reduce(squeezed)
        squeezed = self.act1(squeezed)
        squeezed = self.conv_expand(squeezed)
        return x * self.gate(squeezed)


def squeeze(config, channels, inputs, ratio, name):
    if not ratio:
        return nn.Identity()
    if config.hard_gate:
        return SqueezeExcite(channels, divisible(channels * ratio), "relu", True)
    return SqueezeExcite(channels, round(inputs * ratio), name, False)


class DepthwiseSeparableConv(nn.Module):
    def __init__(self, config, inputs, outputs, kernel, stride, ratio, name, rate):
        super().__init__()
        self.has_skip = stride == 1 and inputs == outputs
        self.conv_dw = conv(config, inputs, inputs, kernel, stride, inputs)
        self.bn1 = BatchNormAct2d(inputs, config, name)
        self.se = squeeze(config, inputs, inputs, ratio, name)
        self.conv_pw = conv(config, inputs, outputs, 1)
        self.bn2 = BatchNormAct2d(outputs, config)
        self.drop_path = DropPath(rate) if rate else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv_dw(x)
        x = self.bn1(x)
        x = self.se(x)
        x = self.conv_pw(x)
        x = self.bn2(x)
        if self.has_skip:
            x = self.drop_path(x) + shortcut
        return x


class InvertedResidual(nn.Module):
    def __init__(self, config, inputs, outputs, kernel, stride, expansion, ratio, name, rate):
        super().__init__()
        middle = divisible(inputs * expansion)
        self.has_skip = stride == 1 and inputs == outputs
        self.conv_pw = conv(config, inputs, middle, 1)
        self.bn1 = BatchNormAct2d(middle, config, name)
        self.conv_dw = conv(config, middle, middle, kernel, stride, middle)
        self.bn2 = BatchNormAct2d(middle, config, name)
        self.se = squeeze(config, middle, inputs, ratio, name)
        self.conv_pwl = conv(config, middle, outputs, 1)
        self.bn3 = BatchNormAct2d(outputs, config)
        self.drop_path = DropPath(rate) if rate else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv_pw(x)
        x = self.bn1(x)
        x = self.conv_dw(x)
        x = self.bn2(x)
        x = self.se(x)
        x = self.conv_pwl(x)
        x = self.bn3(x)
        if self.has_skip:
            x = self.drop_path(x) + shortcut
        return x


class EdgeResidual(nn.Module):
    def __init__(self, config, inputs, outputs, kernel, stride, expansion, ratio, name, rate):
        super().__init__()
        middle = divisible(inputs * expansion)
        self.has_skip = stride == 1 and inputs == outputs
        self.conv_exp = conv(config, inputs, middle, kernel, stride)
        self.bn1 = BatchNormAct2d(middle, config, name)
        self.se = squeeze(config, middle, inputs, ratio, name)
        self.conv_pwl = conv(config, middle, outputs, 1)
        self.bn2 = BatchNormAct2d(outputs, config)
        self.drop_path = DropPath(rate) if rate else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv_exp(x)
        x = self.bn1(x)
        x = self.se(x)
        x = self.conv_pwl(x)
        x = self.bn2(x)
        if self.has_skip:
            x = self.drop_path(x) + shortcut
        return x


class ConvBnAct(nn.Module):
    def __init__(self, config, inputs, outputs, kernel, stride, name, skip, rate):
        super().__init__()
        self.has_skip = skip and stride == 1 and inputs == outputs
        self.conv = conv(config, inputs, outputs, kernel, stride)
        self.bn1 = BatchNormAct2d(outputs, config, name)
        self.drop_path = DropPath(rate) if rate else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv(x)
        x = self.bn1(x)
        if self.has_skip:
            x = self.drop_path(x) + shortcut
        return x


def build_block(config, row, inputs, outputs, stride, rate):
    kind, kernel, expansion, ratio = row[0], row[2], row[4], row[6]
    name = row[7] if row[7] else config.act_layer
    if kind == "ds":
        return DepthwiseSeparableConv(config, inputs, outputs, kernel, stride, ratio, name, rate)
    if kind == "ir":
        return InvertedResidual(config, inputs, outputs, kernel, stride, expansion, ratio, name, rate)
    if kind == "er":
        return EdgeResidual(config, inputs, outputs, kernel, stride, expansion, ratio, name, rate)
    return ConvBnAct(config, inputs, outputs, kernel, stride, name, kind == "cs", rate)


class EfficientNet(ImageModel):
    """`pool_first` (MobileNet V3) pools before the last convolution, which then has a bias and no norm."""

    classifier_name = "classifier"

    def __init__(self, config):
        super().__init__(config)
        self.drop_rate = config.drop_rate
        self.pool_first = config.pool_first
        stem = config.stem_size if config.fixed_stem else self.scaled(config, config.stem_size)
        self.conv_stem = conv(config, config.in_chans, stem, 3, 2)
        self.bn1 = BatchNormAct2d(stem, config, config.act_layer)
        counts = []
        for index, row in enumerate(config.stages):
            last = config.fix_first_last and (index == 0 or index == len(config.stages) - 1)
            counts.append(row[1] if last else math.ceil(row[1] * config.depth_multiplier))
        total = sum(counts)
        done = 0
        inputs = stem
        stages = []
        current = []
        for index, row in enumerate(config.stages):
            outputs = self.scaled(config, row[5])
            for repeat in range(counts[index]):
                rate = config.drop_path_rate * done / total
                current.append(build_block(config, row, inputs, outputs, row[3] if repeat == 0 else 1, rate))
                inputs = outputs
                done = done + 1
            if not config.joined[index]:
                stages.append(nn.Sequential(*current))
                current = []
        self.blocks = nn.Sequential(*stages)
        self.num_features = config.num_features if config.fixed_head else self.scaled(config, config.num_features)
        if self.pool_first:
            self.conv_head = nn.Conv2d(inputs, self.num_features, 1)
            self.act2 = act(config.act_layer)
        else:
            self.conv_head = conv(config, inputs, self.num_features, 1)
            self.bn2 = BatchNormAct2d(self.num_features, config, config.act_layer)
        self.classifier = classifier(self.num_features, config.num_classes)

    def scaled(self, config, channels):
        return divisible(channels * config.channel_multiplier) if config.channel_multiplier != 1.0 else channels

    def forward_features(self, x):
        x = self.conv_stem(x)
        x = self.bn1(x)
        if self.grad_checkpointing and self.training:
            for stage in self.blocks:
                x = self.run(stage, x)
        else:
            x = self.blocks(x)
        if not self.pool_first:
            x = self.conv_head(x)
            x = self.bn2(x)
        return x

    def forward(self, x):
        x = self.forward_features(x)
        x = F.adaptive_avg_pool2d(x, 1)
        if self.pool_first:
            x = self.conv_head(x)
            x = self.act2(x)
        x = x.flatten(1)
        if self.drop_rate > 0.0:
            x = F.dropout(x, p=self.drop_rate, training=self.training)
        return self.classifier(x)
