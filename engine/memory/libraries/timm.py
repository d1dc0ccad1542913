"""`timm`: models of the catalogue by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries.by_name import build
from engine.memory.libraries.torchvision import sized_transform
from engine.memory.program.namespaces import Namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


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
