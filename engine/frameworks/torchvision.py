"""What torchvision's classification models end with: https://docs.pytorch.org/vision/stable/models.html#classification.

Each returns what its last linear layer gives, without an activation. SqueezeNet (its last layer is a ReLU and a mean),
and GoogLeNet and Inception (in training they return a tuple) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

CLASSIFIER_HEADS: Mapping[str, str] = {
    "alexnet": "classifier",
    "convnext_": "classifier",
    "densenet": "classifier",
    "efficientnet_": "classifier",
    "maxvit_t": "classifier",
    "mnasnet": "classifier",
    "mobilenet_": "classifier",
    "regnet_": "fc",
    "resnet": "fc",
    "resnext": "fc",
    "shufflenet_": "fc",
    "swin_": "head",
    "vgg": "classifier",
    "vit_": "heads",
    "wide_resnet": "fc",
}
"""How the names of the functions begin, and the attribute that holds the last layers."""


_NORMALISED = """densenet efficientnet_ googlenet inception mnasnet mobilenet_ regnet_ resnet resnext shufflenet_
vgg11_bn vgg13_bn vgg16_bn vgg19_bn wide_resnet"""

NORMALISED: Mapping[str, frozenset[str]] = {
    f"torchvision.models.{start}": frozenset({"BatchNorm2d"}) for start in _NORMALISED.split()
}
"""Models with batch norm in their body, unless another `norm_layer` is asked for."""


def classifier_head(qualified: str) -> str | None:
    """The attribute that holds the last layers of the model that a function makes, if it is one of these."""
    package, _, name = qualified.rpartition(".")
    if package != "torchvision.models" and not package.startswith("torchvision.models."):
        return None
    if package.startswith(
        ("torchvision.models.detection", "torchvision.models.segmentation", "torchvision.models.vid")
    ):
        return None
    return next((head for prefix, head in CLASSIFIER_HEADS.items() if name.startswith(prefix)), None)
