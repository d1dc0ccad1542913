"""ResNet, ResNeXt and Wide ResNet, as torchvision and timm build them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import Classifier, classifier


def conv3x3(inputs, outputs, stride=1, groups=1, dilation=1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

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

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

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


class ResNet(Classifier):
    """With the arguments that torchvision's class takes; `in_chans` and `drop_rate` are timm's."""

    classifier_name = "fc"

    def __init__(
        self,
        block,
        layers,
        num_classes=1000,
        zero_init_residual=False,
        groups=1,
        width_per_group=64,
        replace_stride_with_dilation=None,
        norm_layer=None,
        in_chans=3,
        drop_rate=0.0,
    ):
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        dilated = replace_stride_with_dilation or (False, False, False)
        self.num_classes = num_classes
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.drop_rate = drop_rate
        self.conv1 = nn.Conv2d(in_chans, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilated[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilated[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.num_features = 512 * block.expansion
        self.fc = classifier(self.num_features, num_classes)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        norm = self._norm_layer
        before = self.dilation
        if dilate:
            self.dilation = self.dilation * stride
            stride = 1
        outputs = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(conv1x1(self.inplanes, outputs, stride), norm(outputs))
        made = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, before, norm)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            made.append(
                block(
                    self.inplanes,
                    planes,
                    groups=self.groups,
                    base_width=self.base_width,
                    dilation=self.dilation,
                    norm_layer=norm,
                )
            )
        return nn.Sequential(*made)

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

    def _forward_impl(self, x):
        x = self.forward_features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        if self.drop_rate:
            x = F.dropout(x, p=self.drop_rate, training=self.training)
        return self.fc(x)

    def forward(self, x):
        return self._forward_impl(x)


class NamedResNet(ResNet):
    """One of the catalogue."""

    def __init__(self, config):
        super().__init__(
            Bottleneck if config.block == "bottleneck" else BasicBlock,
            config.layers,
            num_classes=config.num_classes,
            groups=config.groups,
            width_per_group=config.base_width,
            replace_stride_with_dilation=getattr(config, "replace_stride_with_dilation", None),
            norm_layer=getattr(config, "norm_layer", None),
            in_chans=config.in_chans,
            drop_rate=config.drop_rate,
        )


class FeatureInfo:
    """Widths and strides of the feature maps that are given back."""

    def __init__(self, widths, indices):
        self.out_indices = indices
        self.widths = widths

    def channels(self, index=None):
        return [self.widths[each] for each in self.out_indices] if index is None else self.widths[index]

    def reduction(self, index=None):
        return [2 ** (each + 1) for each in self.out_indices] if index is None else 2 ** (index + 1)


class FeatureResNet(NamedResNet):
    """`timm.create_model(..., features_only=True)`: a list of feature maps; what only the classifier needs is gone."""

    def __init__(self, config):
        super().__init__(config)
        indices = getattr(config, "out_indices", None) or (0, 1, 2, 3, 4)
        self.wanted = [index % 5 for index in indices]
        expansion = self.num_features // 512
        self.feature_info = FeatureInfo([64] + [width * expansion for width in (64, 128, 256, 512)], self.wanted)
        del self.avgpool
        del self.fc
        for stage in range(max(self.wanted) + 1, 5):
            delattr(self, f"layer{stage}")

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        found = [x] if 0 in self.wanted else []
        if max(self.wanted) > 0:
            x = self.maxpool(x)
        for stage in range(1, max(self.wanted) + 1):
            x = getattr(self, f"layer{stage}")(x)
            if stage in self.wanted:
                found.append(x)
        return found
