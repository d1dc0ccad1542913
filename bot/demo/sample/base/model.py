"""The classifier: a ResNet-50 with a head for our diseases."""

from torch import nn
from torchvision.models import resnet50


def build(classes: int) -> nn.Module:
    return resnet50(num_classes=classes)
