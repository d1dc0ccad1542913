"""ResNet, ResNeXt and Wide ResNet, as torchvision and timm build them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import ImageModel, classifier


def conv3x3(inputs, outputs, stride=1, groups=1, dilation=1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        self.conv1 = conv3x3(inputs, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inputs, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width, stride, groups)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv1x1(width, planes * 4)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        out = self.relu(out)
        out = self.conv3(out)
        out = self.bn3(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(ImageModel):
    classifier_name = "fc"

    def __init__(self, config):
        super().__init__(config)
        block = Bottleneck if config.block == "bottleneck" else BasicBlock
        self.inplanes = 64
        self.drop_rate = config.drop_rate
        self.conv1 = nn.Conv2d(config.in_chans, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self.stage(block, 64, config.layers[0], 1, config)
        self.layer2 = self.stage(block, 128, config.layers[1], 2, config)
        self.layer3 = self.stage(block, 256, config.layers[2], 2, config)
        self.layer4 = self.stage(block, 512, config.layers[3], 2, config)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.num_features = 512 * block.expansion
        self.fc = classifier(self.num_features, config.num_classes)

    def stage(self, block, planes, count, stride, config):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride), nn.BatchNorm2d(planes * block.expansion)
            )
        blocks = [block(self.inplanes, planes, stride, downsample, config.groups, config.base_width)]
        self.inplanes = planes * block.expansion
        for _ in range(1, count):
            blocks.append(block(self.inplanes, planes, groups=config.groups, base_width=config.base_width))
        return nn.Sequential(*blocks)

    def forward_features(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.maxpool(x)
        if self.grad_checkpointing and self.training:
            x = self.run(self.layer1, x)
            x = self.run(self.layer2, x)
            x = self.run(self.layer3, x)
            return self.run(self.layer4, x)
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        return self.layer4(x)

    def forward(self, x):
        x = self.forward_features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        if self.drop_rate:
            x = F.dropout(x, p=self.drop_rate, training=self.training)
        return self.fc(x)
