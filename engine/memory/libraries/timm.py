"""`timm`: models of the catalogue by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries.by_name import build
from engine.memory.libraries.published import offered
from engine.memory.libraries.torchvision import sized_transform
from engine.memory.program.namespaces import Namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`timm` and its submodules."""

    def create_model(model_name: Any, pretrained: Any = False, **options: Any) -> Any:
        own = interpreter.state.get("timm registered", {}).get(model_name) if isinstance(model_name, str) else None
        if own is not None:
            return own(pretrained=False, **{key: value for key, value in options.items() if value is not None})
        return build(interpreter, "timm", model_name, {**options, **(options.get("model_kwargs") or {})})

    def resolve_data_config(*args: Any, **options: Any) -> dict[str, Any]:
        return {
            "input_size": (3, 224, 224),
            "mean": (0.5,) * 3,
            "std": (0.5,) * 3,
            "crop_pct": 0.9,
            "interpolation": "bicubic",
        }

    def create_transform(input_size: Any = 224, *args: Any, **options: Any) -> Any:
        size = input_size if isinstance(input_size, int) else input_size[-1]
        return sized_transform(size)

    members: dict[str, Any] = {
        "create_model": create_model,
        "list_models": lambda *a, **k: [],
        "is_model": lambda name: architectures.lookup(name, library="timm") is not None,
        "resolve_data_config": resolve_data_config,
        "resolve_model_data_config": resolve_data_config,
        "create_transform": create_transform,
    }

    def register_model(function: Any) -> Any:
        """`create_model` finds what a program registers."""
        interpreter.state.setdefault("timm registered", {})[getattr(function, "__name__", "")] = function
        return function

    def block(name: str) -> Any:
        return offered(interpreter, _LAYERS, name)

    def model_part(name: str) -> Any:
        if name in ("layers", *_LAYER_FILES):
            return layers
        if name in _MODEL_FILES:
            return models
        if name == "register_model":
            return register_model
        return offered(interpreter, _MODELS, name)

    built: dict[str, Any] = interpreter.state.setdefault("timm names", {})
    if not built:
        layers = Namespace("timm.layers", {}, missing=lambda name: layers if name in _LAYER_FILES else block(name))
        models = Namespace("timm.models", {"create_model": create_model}, missing=model_part)
        training = Namespace("timm.loss", dict(members), missing=lambda name: offered(interpreter, _TRAINING, name))
        training.mixup = training
        built.update(members, layers=layers, models=models, data=training, loss=training)
    value: Any = Namespace("timm", built)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value


_TRAINING = ("timm_training",)
_LAYERS = ("timm_layers",)
_MODELS = ("timm_transformer", "timm_layers")
"""Model files that stand for losses and mixing, for the layers, and for `timm.models`."""

_LAYER_FILES = (
    "drop",
    "weight_init",
    "helpers",
    "mlp",
    "patch_embed",
    "norm",
    "squeeze_excite",
    "attention",
    "layer_scale",
    "conv_bn_act",
    "create_act",
    "patch_dropout",
    "config",
)
_MODEL_FILES = ("vision_transformer", "registry", "_registry", "factory", "_factory")
"""Files whose names their package offers as well."""
