"""What the image families share."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class DropPath(nn.Module):
    """Drops the residual branch of whole samples."""

    def __init__(self, rate=0.0):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.rate == 0.0 or not self.training:
            return x
        kept = x.new_empty((x.shape[0],) + (1,) * (x.dim() - 1)).bernoulli_(1.0 - self.rate)
        kept.div_(1.0 - self.rate)
        return x * kept


class ScaledDropPath(nn.Module):
    """The same, the branch scaled before it is dropped: one more result of its size is kept."""

    def __init__(self, rate=0.0):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.rate == 0.0 or not self.training:
            return x
        drawn = torch.rand((x.shape[0],) + (1,) * (x.dim() - 1), dtype=x.dtype, device=x.device)
        kept = torch.floor(drawn + (1.0 - self.rate))
        return x.div(1.0 - self.rate) * kept


def scaled_drop_path(rate):
    return ScaledDropPath(rate) if rate > 0.0 else nn.Identity()


def path_rates(rate, depth):
    """Linearly growing rates, one a block."""
    return [rate * index / max(1, depth - 1) for index in range(depth)]


def divisible(value, divisor=8, limit=0.9):
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    if rounded < limit * value:
        rounded = rounded + divisor
    return rounded


class LayerNorm2d(nn.LayerNorm):
    """Over the channels of (batch, channels, height, width)."""

    def __init__(self, channels, eps=1e-6):
        super().__init__(channels, eps=eps)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class Classifier(nn.Module):
    """A classifier of images: takes (batch, channels, height, width), gives logits."""

    grad_checkpointing = False

    def set_grad_checkpointing(self, enable=True):
        self.grad_checkpointing = enable

    def run(self, blocks, x):
        for block in blocks:
            if self.grad_checkpointing and self.training:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x

    def get_classifier(self):
        return getattr(self, self.classifier_name)

    def reset_classifier(self, num_classes, global_pool=None):
        self.num_classes = num_classes
        head = self.get_classifier()
        if num_classes > 0:
            setattr(self, self.classifier_name, nn.Linear(head.in_features, num_classes))
        else:
            setattr(self, self.classifier_name, nn.Identity())


class ImageModel(Classifier):
    """One of the catalogue: built from a configuration."""

    def __init__(self, config):
        super().__init__()
        self.num_classes = config.num_classes


def classifier(features, count):
    return nn.Linear(features, count) if count > 0 else nn.Identity()
