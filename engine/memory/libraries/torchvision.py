"""`torchvision`: models of the catalogue, datasets without pixels, transforms that change sizes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries.by_name import build
from engine.memory.libraries.images import Image
from engine.memory.libraries.published import offered
from engine.memory.libraries.torch_data import Dataset, is_tensor
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

IMAGE_SIZES: dict[str, tuple[int, int, int, int]] = {
    "CIFAR10": (3, 32, 32, 50_000),
    "CIFAR100": (3, 32, 32, 50_000),
    "MNIST": (1, 28, 28, 60_000),
    "FashionMNIST": (1, 28, 28, 60_000),
    "KMNIST": (1, 28, 28, 60_000),
    "EMNIST": (1, 28, 28, 60_000),
    "SVHN": (3, 32, 32, 73_257),
    "STL10": (3, 96, 96, 5_000),
    "ImageFolder": (3, 400, 500, 100_000),
    "ImageNet": (3, 400, 500, 1_281_167),
    "CelebA": (3, 218, 178, 162_770),
    "Flowers102": (3, 500, 600, 1_020),
    "Food101": (3, 512, 512, 75_750),
    "OxfordIIITPet": (3, 400, 500, 3_680),
    "Caltech101": (3, 200, 300, 8_677),
    "DatasetFolder": (3, 400, 500, 100_000),
}
"""Channels, height, width and items of the library's datasets (sizes of photographs vary; a resize is expected)."""


INTERPOLATION_MODES = ("NEAREST", "NEAREST_EXACT", "BILINEAR", "BICUBIC", "BOX", "HAMMING", "LANCZOS")


def _pair(size: Any) -> tuple[int, int]:
    if isinstance(size, (list, tuple)):
        return (int(size[0]), int(size[-1]))
    return int(size), int(size)


def size_of(picture: Any) -> tuple[int, int]:
    """(height, width) of a picture or tensor."""
    return (int(picture.shape[-2]), int(picture.shape[-1])) if is_tensor(picture) else (picture.height, picture.width)


def resized(picture: Any, height: int, width: int) -> Any:
    """The same in another size."""
    if is_tensor(picture):
        return namespace("torch.empty")(*picture.shape[:-2], height, width, dtype=picture.dtype)
    return Image(height, width, picture.channels)


class Transform:
    """A transform that leaves shapes as they are."""

    open_record = True

    def __init__(self, *args: Any, **options: Any) -> None:
        self.args, self.options = args, options

    def __call__(self, picture: Any, *rest: Any) -> Any:
        if isinstance(picture, Unknown):
            return picture
        changed = self.apply(picture)
        return (changed, *rest) if rest else changed

    forward = __call__

    def apply(self, picture: Any) -> Any:
        """The changed picture."""
        return picture


class Resize(Transform):
    """A number sets the shorter side, a pair both."""

    def apply(self, picture: Any) -> Any:
        size = self.args[0] if self.args else self.options["size"]
        height, width = size_of(picture)
        if isinstance(size, (list, tuple)) and len(size) == 2:
            return resized(picture, *_pair(size))
        short = int(size[0]) if isinstance(size, (list, tuple)) else int(size)
        if height <= width:
            return resized(picture, short, max(1, int(width * short / height)))
        return resized(picture, max(1, int(height * short / width)), short)


class Crop(Transform):
    """Crops and random resized crops: the size asked for."""

    def apply(self, picture: Any) -> Any:
        return resized(picture, *_pair(self.args[0] if self.args else self.options["size"]))


class Pad(Transform):
    """Padding on all sides."""

    def apply(self, picture: Any) -> Any:
        border = self.args[0] if self.args else self.options["padding"]
        height, width = size_of(picture)
        sides = border if isinstance(border, (list, tuple)) else (border,) * 4
        sides = sides if len(sides) == 4 else (sides[0], sides[-1]) * 2
        return resized(picture, height + sides[1] + sides[3], width + sides[0] + sides[2])


class ToTensor(Transform):
    """A float tensor (channels, height, width)."""

    def apply(self, picture: Any) -> Any:
        if is_tensor(picture):
            return picture
        return namespace("torch.empty")(picture.channels, picture.height, picture.width)


class Grayscale(Transform):
    """One channel, or as many as asked for."""

    def apply(self, picture: Any) -> Any:
        channels = self.options.get("num_output_channels", self.args[0] if self.args else 1)
        height, width = size_of(picture)
        if is_tensor(picture):
            return namespace("torch.empty")(channels, height, width)
        return Image(height, width, channels)


class ConvertDtype(Transform):
    """`ToDtype`, `ConvertImageDtype`."""

    def apply(self, picture: Any) -> Any:
        dtype = self.args[0] if self.args else self.options.get("dtype", namespace("torch.float32"))
        return picture.to(dtype) if is_tensor(picture) else picture


class Lambda(Transform):
    """`Lambda`."""

    def apply(self, picture: Any) -> Any:
        return self.args[0](picture)


class Compose(Transform):
    """`Compose`, `Sequential`-like."""

    def __init__(self, transforms: Any = (), *args: Any) -> None:
        super().__init__()
        self.transforms = list(transforms) if not isinstance(transforms, Unknown) else []

    def apply(self, picture: Any) -> Any:
        for transform in self.transforms:
            picture = transform(picture)
        return picture


class RandomApply(Compose):
    """`RandomApply`: applied, as sizes must not depend on it."""


_KINDS: dict[str, type[Transform]] = {
    "Resize": Resize,
    "RandomCrop": Crop,
    "CenterCrop": Crop,
    "RandomResizedCrop": Crop,
    "Pad": Pad,
    "ToTensor": ToTensor,
    "PILToTensor": ToTensor,
    "ToImage": ToTensor,
    "Grayscale": Grayscale,
    "RandomGrayscale": Transform,
    "ToDtype": ConvertDtype,
    "ConvertImageDtype": ConvertDtype,
    "Lambda": Lambda,
    "Compose": Compose,
    "RandomApply": RandomApply,
}


def sized_transform(size: int) -> Compose:
    """Crop to a size and make a tensor."""
    return Compose([Crop(size), ToTensor()])


def make_dataset(name: str) -> Any:
    """A dataset class of the library."""
    channels, height, width, items = IMAGE_SIZES.get(name, (3, 224, 224, 50_000))

    class Pictures(Dataset):
        """A dataset of pictures that were never read."""

        open_record = True

        def __init__(self, *args: Any, transform: Any = None, target_transform: Any = None, **options: Any) -> None:
            callables = [item for item in args if callable(item)]
            self.transform = transform if transform is not None else (callables[0] if callables else None)
            self.target_transform = target_transform
            self.classes = [
                str(index) for index in range(100 if name == "CIFAR100" else 1000 if "Image" in name else 10)
            ]
            self.class_to_idx = {label: index for index, label in enumerate(self.classes)}
            self.targets = range(items)
            self.samples = range(items)
            shape = options.get("image_size") or options.get("size")
            self.shape = (
                tuple(shape) if isinstance(shape, (tuple, list)) and len(shape) == 3 else (channels, height, width)
            )
            count = options.get("size")
            self.items = count if isinstance(count, int) else items

        def __len__(self) -> int:
            return int(self.items)

        def __getitem__(self, index: Any) -> Any:
            picture: Any = Image(self.shape[1], self.shape[2], self.shape[0])
            if self.transform is not None:
                picture = self.transform(picture)
            target: Any = 1
            if self.target_transform is not None:
                target = self.target_transform(target)
            return picture, target

    Pictures.__name__ = Pictures.__qualname__ = name
    return Pictures


def _functional(name: str) -> Callable[..., Any]:
    kind = {
        "resize": Resize,
        "center_crop": Crop,
        "to_tensor": ToTensor,
        "pil_to_tensor": ToTensor,
        "pad": Pad,
        "rgb_to_grayscale": Grayscale,
        "resized_crop": None,
        "crop": None,
    }.get(name, Transform)

    def apply(picture: Any, *args: Any, **options: Any) -> Any:
        if kind is None:
            size = options.get("size", args[-1]) if name == "resized_crop" else args[2:4]
            return Crop(size)(picture)
        return kind(*args, **options)(picture)

    return apply


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`torchvision` and its submodules."""
    built: dict[str, Any] = interpreter.state.setdefault("torchvision names", {})
    if not built:

        def model(name: str) -> Any:
            if name.startswith("__"):
                return None
            if name.endswith("_Weights"):
                return Namespace(name, {"DEFAULT": "DEFAULT", "IMAGENET1K_V1": "V1", "IMAGENET1K_V2": "V2"})
            block = offered(interpreter, _BLOCKS.get(name, ()), name)
            if block is not None:
                return block
            if architectures.lookup(name, library="torchvision") is None:
                return Namespace(f"torchvision.models.{name}", {}, missing=model) if name in _MODEL_MODULES else None

            def make(*args: Any, **options: Any) -> Any:
                return build(interpreter, "torchvision", name, options)

            return make

        def get_model(name: str, **options: Any) -> Any:
            return build(interpreter, "torchvision", name, options)

        interpolation = Namespace("InterpolationMode", {mode: mode.lower() for mode in INTERPOLATION_MODES})

        def transform(name: str) -> Any:
            if name.startswith("__"):
                return None
            if name == "InterpolationMode":
                return interpolation
            return type(name, (_KINDS.get(name, Transform),), {})

        functional = Namespace(
            "torchvision.transforms.functional",
            {"InterpolationMode": interpolation},
            missing=lambda n: None if n.startswith("__") else _functional(n),
        )
        transforms = Namespace("torchvision.transforms", {"functional": functional}, missing=transform)
        transforms.v2 = transforms
        built["transforms"] = transforms
        built["models"] = Namespace("torchvision.models", {"get_model": get_model}, missing=model)
        built["ops"] = operators = Namespace(
            "torchvision.ops",
            {},
            missing=lambda n: operators if n in _OPERATOR_MODULES else offered(interpreter, ("torchvision_ops",), n),
        )
        built["datasets"] = Namespace(
            "torchvision.datasets", {}, missing=lambda n: None if n.startswith("__") else make_dataset(n)
        )
        built["utils"] = Namespace(
            "torchvision.utils", {"save_image": lambda *a, **k: None, "make_grid": lambda images, *a, **k: images}
        )
    value: Any = Namespace("torchvision", built)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value


_MODEL_MODULES = (
    "resnet",
    "vgg",
    "segmentation",
    "detection",
    "video",
    "efficientnet",
    "vision_transformer",
    "densenet",
    "mobilenet",
    "_utils",
    "feature_extraction",
)

_BLOCKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ResNet", "BasicBlock", "Bottleneck", "conv1x1", "conv3x3"), ("resnet",)),
    **dict.fromkeys(("VGG", "make_layers"), ("torchvision_classics",)),
    **dict.fromkeys(
        (
            "IntermediateLayerGetter",
            "create_feature_extractor",
            "ConvBNReLU",
            "ConvBNActivation",
            "Conv2dNormActivation",
            "MLPBlock",
        ),
        ("torchvision_ops",),
    ),
}
"""Building blocks of `torchvision.models` and the model file that stands for each."""

_OPERATOR_MODULES = (
    "misc",
    "boxes",
    "stochastic_depth",
    "feature_pyramid_network",
    "permute",
    "focal_loss",
)
"""Files of `torchvision.ops`; their names are found in the package as well."""
