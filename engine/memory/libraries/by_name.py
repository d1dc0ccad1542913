"""Vision models of the catalogue by the names that timm and torchvision give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries import published
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

_LAYERS = ("norm_layer", "replace_stride_with_dilation")
"""Arguments of torchvision's builders that change the layers themselves; read by the families that take them."""


def build(interpreter: Interpreter, library: Any, name: Any, options: dict[str, Any]) -> Any:
    """A named architecture with overrides of its configuration."""
    if not isinstance(name, str):
        return name if isinstance(name, Unknown) else Unknown("a model whose name is not known")
    checkpoint = architectures.lookup(name, library=library)
    kind = "features" if options.get("features_only") else "image_classification"
    found = architectures.class_for(checkpoint.model_type, kind) if checkpoint is not None else None
    if checkpoint is not None and found is None:
        interpreter.note(f"the feature maps of the {library} model {name} are not modelled")
        return Unknown(f"the feature maps of the {library} model {name} are not modelled")
    if checkpoint is None or found is None:
        close = architectures.suggestions(name)
        hint = f"; known names like it: {', '.join(close)}" if close else ""
        interpreter.note(f"the {library} model {name} is not in the catalogue{hint}")
        return Unknown(f"the {library} model {name} is not in the catalogue")
    interpreter.state["model name"], interpreter.state["model evidence"] = name, "catalogue"
    overrides = {key: value for key, value in options.items() if key in _PASSED and value is not None}
    config = published.PretrainedConfig(**{**checkpoint.configuration(overrides), "model_type": checkpoint.model_type})
    for key in _LAYERS:
        if options.get(key) is not None:
            setattr(config, key, options[key])
    return published.model_class(interpreter, found)(config)
