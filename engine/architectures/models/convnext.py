"""ConvNeXt, versions 1 and 2, as timm builds them; and version 1 as torchvision does."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from engine.architectures.models.imaging import DropPath, ImageModel, LayerNorm2d, classifier, path_rates


class GlobalResponseNorm(nn.Module):
    def __init__(self, width, channels_last):
        super().__init__()
        self.spatial = (1, 2) if channels_last else (2, 3)
        self.channel = -1 if channels_last else 1
        self.shape = (1, 1, 1, -1) if channels_last else (1, -1, 1, 1)
        self.weight = nn.Parameter(torch.zeros(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        spread = x.norm(p=2, dim=self.spatial, keepdim=True)
        relative = spread / (spread.mean(dim=self.channel, keepdim=True) + 1e-6)
        return x + torch.addcmul(self.bias.view(self.shape), self.weight.view(self.shape), x * relative)


class Mlp(nn.Module):
    def __init__(self, width, hidden, use_grn, conv_mlp):
        super().__init__()
        self.fc1 = nn.Conv2d(width, hidden, 1) if conv_mlp else nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.drop1 = nn.Dropout(0.0)
        self.grn = GlobalResponseNorm(hidden, not conv_mlp) if use_grn else nn.Identity()
        self.fc2 = nn.Conv2d(hidden, width, 1) if conv_mlp else nn.Linear(hidden, width)
        self.drop2 = nn.Dropout(0.0)

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        x = self.drop1(x)
        x = self.grn(x)
        x = self.fc2(x)
        return self.drop2(x)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width, config, rate):
        super().__init__()
        self.conv_dw = nn.Conv2d(width, width, kernel_size=7, padding=3, groups=width)
        self.conv_mlp = config.conv_mlp
        self.norm = LayerNorm2d(width) if config.conv_mlp else nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width, 4 * width, config.use_grn, config.conv_mlp)
        self.gamma = nn.Parameter(torch.ones(width)) if config.ls_init_value is not None else None
        self.drop_path = DropPath(rate) if rate > 0.0 else nn.Identity()

    def forward(self, x):
        shortcut = x
        x = self.conv_dw(x)
        if self.conv_mlp:
            x = self.norm(x)
            x = self.mlp(x)
        else:
            x = x.permute(0, 2, 3, 1)
            x = self.norm(x)
            x = self.mlp(x)
            x = x.permute(0, 3, 1, 2)
        if self.gamma is not None:
            x = x.mul(self.gamma.reshape(1, -1, 1, 1))
        return self.drop_path(x) + shortcut


class ConvNeXtStage(nn.Module):
    def __init__(self, inputs, width, depth, config, rates, first):
        super().__init__()
        if first:
            self.downsample = nn.Identity()
        else:
            self.downsample = nn.Sequential(LayerNorm2d(inputs), nn.Conv2d(inputs, width, kernel_size=2, stride=2))
        self.blocks = nn.Sequential(*[ConvNeXtBlock(width, config, rates[index]) for index in range(depth)])

    def forward(self, x):
        return self.blocks(self.downsample(x))


class Head(nn.Module):
    def __init__(self, width, config):
        super().__init__()
        self.norm = LayerNorm2d(width)
        self.drop = nn.Dropout(config.drop_rate)
        self.fc = classifier(width, config.num_classes)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(x, 1)
        x = self.norm(x)
        x = x.flatten(1)
        return self.fc(self.drop(x))


class ConvNeXt(ImageModel):
    def __init__(self, config):
        super().__init__(config)
        dims = config.dims
        self.stem = nn.Sequential(nn.Conv2d(config.in_chans, dims[0], kernel_size=4, stride=4), LayerNorm2d(dims[0]))
        rates = path_rates(config.drop_path_rate, sum(config.depths))
        stages = []
        done = 0
        for index in range(4):
            depth = config.depths[index]
            inputs = dims[index - 1] if index else dims[0]
            stages.append(ConvNeXtStage(inputs, dims[index], depth, config, rates[done : done + depth], index == 0))
            done = done + depth
        self.stages = nn.Sequential(*stages)
        self.num_features = dims[3]
        self.head = Head(dims[3], config)

    def get_classifier(self):
        return self.head.fc

    def reset_classifier(self, num_classes, global_pool=None):
        self.head.fc = classifier(self.num_features, num_classes)

    def forward_features(self, x):
        x = self.stem(x)
        if self.grad_checkpointing and self.training:
            for stage in self.stages:
                x = self.run(stage.blocks, stage.downsample(x))
            return x
        return self.stages(x)

    def forward(self, x):
        return self.head(self.forward_features(x))


class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


class CNBlock(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(width, width, kernel_size=7, padding=3, groups=width),
            Permute([0, 2, 3, 1]),
            nn.LayerNorm(width, eps=1e-6),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(torch.ones(width, 1, 1))
        self.stochastic_depth = DropPath(rate)

    def forward(self, input):
        result = self.layer_scale * self.block(input)
        result = self.stochastic_depth(result)
        result += input
        return result


class TorchvisionConvNeXt(ImageModel):
    classifier_name = "classifier"

    def __init__(self, config):
        super().__init__(config)
        dims = config.dims
        layers = [nn.Sequential(nn.Conv2d(3, dims[0], kernel_size=4, stride=4), LayerNorm2d(dims[0]))]
        total = sum(config.depths)
        done = 0
        for index in range(4):
            if index:
                layers.append(
                    nn.Sequential(LayerNorm2d(dims[index - 1]), nn.Conv2d(dims[index - 1], dims[index], kernel_size=2, stride=2))
                )
            blocks = []
            for _ in range(config.depths[index]):
                blocks.append(CNBlock(dims[index], config.stochastic_depth_prob * done / (total - 1.0)))
                done = done + 1
            layers.append(nn.Sequential(*blocks))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(LayerNorm2d(dims[3]), nn.Flatten(1), classifier(dims[3], config.num_classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)))
