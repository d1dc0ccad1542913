"""`timm`: models of the catalogue by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries import published
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_PASSED = frozenset(
    [
        "num_classes",
        "drop_rate",
        "drop_path_rate",
        "img_size",
        "in_chans",
        "global_pool",
        "features_only",
        "out_indices",
        "patch_size",
        "embed_dim",
        "depth",
    ]
)


def build(interpreter: Interpreter, library: Any, name: Any, options: dict[str, Any]) -> Any:
    """A named architecture with overrides of its configuration."""
    if not isinstance(name, str):
        return name if isinstance(name, Unknown) else Unknown("a model whose name is not known")
    checkpoint = architectures.lookup(name, library=library)
    found = architectures.class_for(checkpoint.model_type, "image_classification") if checkpoint is not None else None
    if checkpoint is None or found is None:
        close = architectures.suggestions(name)
        hint = f"; known names like it: {', '.join(close)}" if close else ""
        interpreter.note(f"the {library} model {name} is not in the catalogue{hint}")
        return Unknown(f"the {library} model {name} is not in the catalogue")
    interpreter.state["model name"], interpreter.state["model evidence"] = name, "catalogue"
    overrides = {key: value for key, value in options.items() if key in _PASSED and value is not None}
    config = published.PretrainedConfig(**{**checkpoint.configuration(overrides), "model_type": checkpoint.model_type})
    return published.model_class(interpreter, found)(config)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`timm` and its submodules."""

    def create_model(model_name: Any, pretrained: Any = False, **options: Any) -> Any:
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
        from engine.memory.libraries.torchvision import sized_transform

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
    members["data"] = Namespace("timm.data", members)
    members["models"] = Namespace("timm.models", {"create_model": create_model})
    value: Any = Namespace("timm", members)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value


__all__ = ["SimpleNamespace", "build", "provide"]
